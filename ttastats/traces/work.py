"""Which operator took which time, FLOPs and bytes, and which of them launched each kernel?

Millions of operators are looked at some thousands at a time, cut where nothing is under way in
their thread. Times are microseconds.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from msgspec import Struct

from ttastats.traces import flops, intervals
from ttastats.traces.events import Numbers
from ttastats.traces.intervals import NONE, Bools, Floats, Ints, Nest

#: Where FLOPs or bytes are not known.
UNKNOWN = -1
#: FLOPs or bytes that no call takes: what tells more is not true.
_MOST = 10**18
#: Operators that are looked at together.
_BATCH = 30_000


class Operators(Struct, frozen=True):
    """Some operators of one thread, in the order of their starts.

    `first` is the place of the first among all. Time, FLOPs and bytes of what a counted operator
    (a matrix product, a convolution, attention) calls are its own: `account` is the operator that
    each one's time counts for, most often itself.
    """

    thread: int
    first: int
    start: Floats
    length: Floats
    name: Ints
    nest: Nest
    account: Ints
    self_time: Floats
    flops: Ints
    bytes: Ints


def call_costs(calls: Iterable[Any]) -> Ints:
    """Return FLOPs and bytes of each distinct call, as two columns."""
    costs = []
    for name, *texts in calls:
        try:
            values = [json.loads(text) if text else () for text in texts]
        except ValueError:
            values = []
        amounts: list[int | None] = [None, None]
        if values and texts[0]:
            inputs = flops.Inputs(*(value if isinstance(value, list) else () for value in values))
            cost = flops.call_cost(name, inputs) if name in flops.COUNTED else flops.Cost(0, 0)
            moved = flops.bytes_moved(name, inputs, cost.output if cost else None)
            amounts = [cost.flops if cost else None, moved]
        costs.append([UNKNOWN if n is None or not 0 <= n <= _MOST else n for n in amounts])
    return np.array(costs, np.int64).reshape(-1, 2)


def operator_order(columns: Numbers) -> Ints:
    """Return the order of the operators by thread and start, the longest first.

    They are sorted by one key after the other: by all at once would take much memory.
    """
    order = np.arange(len(columns["start"]), dtype=np.int32)
    for key in (-columns["length"], columns["start"], columns["thread"]):
        order = order[np.argsort(key[order], kind="stable")]
    return order


def operator_batches(
    columns: Numbers, order: Ints, costs: Ints, counted: Bools, grain: float
) -> Iterator[Operators]:
    """Yield the operators in batches, cut where every operator that has begun has ended.

    `costs` are those of the calls, `counted` tells by name which operators are counted ones, and
    `grain` is the time resolution.
    """
    changes = np.flatnonzero(np.diff(columns["thread"][order])) + 1
    edges = [0, *changes.tolist(), len(order)]
    for begin, end in itertools.pairwise(edges):
        while begin < end:
            cut, size = end, _BATCH
            while cut == end and begin + size < end:
                part = order[begin : begin + size]
                start = columns["start"][part]
                reached = np.maximum.accumulate(start + columns["length"][part])
                apart = np.flatnonzero((start[1:] >= reached[:-1]) & (start[1:] > start[:-1]))
                cut = begin + int(apart[-1]) + 1 if len(apart) else end
                size *= 2
            yield _nested_operators(columns, order[begin:cut], begin, costs, counted, grain)
            begin = cut


def _nested_operators(
    columns: Numbers, part: Ints, first: int, costs: Ints, counted: Bools, grain: float
) -> Operators:
    """Return the operators of a part of a thread, nested and with their FLOPs and bytes."""
    start, length, name = columns["start"][part], columns["length"][part], columns["name"][part]
    # Neighbours share a moment, but for rounding.
    nested = intervals.find_callers(start, np.maximum(length - grain, grain))
    is_counted = counted[name]
    outer = intervals.outermost_marked(is_counted, nested)
    itself = np.arange(len(part))
    account = np.where(outer == NONE, itself, outer)
    operations, moved = costs[columns["call"][part]].T
    alone = account == itself
    below = intervals.calls_marked((moved != UNKNOWN) & alone, nested)
    return Operators(
        int(columns["thread"][part[0]]),
        first,
        start,
        length,
        name,
        nested,
        account,
        intervals.self_time(length, nested),
        np.where(is_counted & alone, operations, 0),
        np.where(alone & (is_counted | ~below), moved, UNKNOWN),
    )


class Launches:
    """Which operator launched each event of the device, as far as the trace tells.

    Arrays have one entry for each event of the device: `name` and `start` are those of the
    operator, `account`, `account_name`, `account_start` and `flops` of the one it counts for;
    where none is known, they are NONE.
    """

    def __init__(self, device: Numbers, host: Numbers, columns: Numbers, order: Ints) -> None:
        count = len(device["start"])
        self.name, self.account, self.account_name = np.full((3, count), NONE, np.int32)
        self.start, self.account_start = np.full((2, count), np.nan)
        self.flops = np.zeros(count, np.int64)
        call = _find_ids(device["correlation"], host["correlation"])
        # NONE stands for the last of each.
        self._called = np.append(host["start"], np.nan)[call]
        self._thread = np.append(host["thread"], NONE)[call]
        external, place = device["external"], np.full(count, NONE)
        # Ids that merely repeat the correlation lead to no operator, as in traces of 2022.
        if (external == device["correlation"]).sum() * 2 <= count:
            place = _find_ids(external, columns["external"], order)
        self._by_id = np.argsort(place, kind="stable").astype(np.int32)
        self._place = place[self._by_id]
        self._rest = np.flatnonzero((place == NONE) & (call != NONE))
        self._rest = self._rest[np.argsort(self._called[self._rest], kind="stable")]

    def add(self, operators: Operators) -> None:
        """Record which device events some operators launched, by their ids or else by time."""
        first = operators.first
        low, high = np.searchsorted(self._place, (first, first + len(operators.start)))
        self._assign_operators(self._by_id[low:high], self._place[low:high] - first, operators)
        ends = operators.start[0], (operators.start + operators.length).max()
        low, high = np.searchsorted(self._called[self._rest], ends, side="left")
        events = self._rest[low:high]
        events = events[self._thread[events] == operators.thread]
        place = intervals.enclosing(
            self._called[events], operators.start, operators.length, operators.nest
        )
        known = place != NONE
        self._assign_operators(events[known], place[known], operators)

    def _assign_operators(self, events: Ints, place: Ints, operators: Operators) -> None:
        account = operators.account[place]
        self.name[events] = operators.name[place]
        self.start[events] = operators.start[place]
        self.account[events] = account + operators.first
        self.account_name[events] = operators.name[account]
        self.account_start[events] = operators.start[account]
        self.flops[events] = operators.flops[account]

    def launch_times(self, device: Numbers) -> Floats:
        """Return the time at which the host launched each event, or else its start."""
        by_operator = np.where(np.isnan(self.start), device["start"], self.start)
        return np.where(np.isnan(self._called), by_operator, self._called)

    def flops_of_kernels(self, length: Floats) -> Ints:
        """Return FLOPs for each kernel: an operator's go to the longest kernel it launched."""
        per_kernel = np.zeros(len(length), np.int64)
        known = np.flatnonzero(self.account != NONE)
        order = known[np.lexsort((-length[known], self.account[known]))]
        _, first = np.unique(self.account[order], return_index=True)
        longest = order[first]
        per_kernel[longest] = np.maximum(self.flops[longest], 0)
        return per_kernel


def _find_ids(wanted: Ints, ids: Ints, order: Ints | None = None) -> Ints:
    """Return the index of each wanted id among some, or NONE; negative ids are not found.

    The ids are looked at some at a time, in an `order` if there is one: there may be millions.
    """
    known, inverse = np.unique(wanted, return_inverse=True)
    places = np.full(len(known), NONE, np.int32)
    for begin in range(0, len(ids) if len(known) else 0, _BATCH):
        batch = slice(begin, begin + _BATCH)
        part = ids[batch] if order is None else ids[order[batch]]
        place = np.minimum(np.searchsorted(known, part), len(known) - 1)
        same = np.flatnonzero((known[place] == part) & (part >= 0))
        places[place[same]] = same + begin
    return places[inverse]
