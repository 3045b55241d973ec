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
    columns: Numbers, order: Ints, costs: Ints, is_costed: Bools, grain: float
) -> Iterator[Operators]:
    """Yield the operators in batches, cut where every operator that has begun has ended.

    `costs` are those of the calls, `is_costed` is a mask of names with a cost, and
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
                gaps = np.flatnonzero((start[1:] >= reached[:-1]) & (start[1:] > start[:-1]))
                cut = begin + int(gaps[-1]) + 1 if len(gaps) else end
                size *= 2
            yield _nested_operators(columns, order[begin:cut], begin, costs, is_costed, grain)
            begin = cut


def _nested_operators(
    columns: Numbers, part: Ints, first: int, costs: Ints, is_costed: Bools, grain: float
) -> Operators:
    """Return the operators of a part of a thread, nested and with their FLOPs and bytes."""
    start, length, name = columns["start"][part], columns["length"][part], columns["name"][part]
    # Neighbours share a moment, but for rounding.
    nested = intervals.find_callers(start, np.maximum(length - grain, grain))
    is_counted = is_costed[name]
    outer = intervals.outermost_marked(is_counted, nested)
    itself = np.arange(len(part))
    account = np.where(outer == NONE, itself, outer)
    operations, moved = costs[columns["call"][part]].T
    is_account = account == itself
    below = intervals.calls_marked((moved != UNKNOWN) & is_account, nested)
    return Operators(
        int(columns["thread"][part[0]]),
        first,
        start,
        length,
        name,
        nested,
        account,
        intervals.self_time(length, nested),
        np.where(is_counted & is_account, operations, 0),
        np.where(is_account & (is_counted | ~below), moved, UNKNOWN),
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
        external, operator = device["external"], np.full(count, NONE)
        # Ids that merely repeat the correlation lead to no operator, as in traces of 2022.
        if (external == device["correlation"]).sum() * 2 <= count:
            operator = _find_ids(external, columns["external"], order)
        self._by_id = np.argsort(operator, kind="stable").astype(np.int32)
        self._operator = operator[self._by_id]
        self._unassigned = np.flatnonzero((operator == NONE) & (call != NONE))
        self._unassigned = self._unassigned[
            np.argsort(self._called[self._unassigned], kind="stable")
        ]

    def add(self, operators: Operators) -> None:
        """Record which device events some operators launched, by their ids or else by time."""
        first = operators.first
        low, high = np.searchsorted(self._operator, (first, first + len(operators.start)))
        self._assign_operators(self._by_id[low:high], self._operator[low:high] - first, operators)
        ends = operators.start[0], (operators.start + operators.length).max()
        low, high = np.searchsorted(self._called[self._unassigned], ends, side="left")
        events = self._unassigned[low:high]
        events = events[self._thread[events] == operators.thread]
        operator = intervals.enclosing(
            self._called[events], operators.start, operators.length, operators.nest
        )
        is_assigned = operator != NONE
        self._assign_operators(events[is_assigned], operator[is_assigned], operators)

    def _assign_operators(self, events: Ints, operator: Ints, operators: Operators) -> None:
        account = operators.account[operator]
        self.name[events] = operators.name[operator]
        self.start[events] = operators.start[operator]
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
        assigned = np.flatnonzero(self.account != NONE)
        order = assigned[np.lexsort((-length[assigned], self.account[assigned]))]
        _, first = np.unique(self.account[order], return_index=True)
        longest = order[first]
        per_kernel[longest] = np.maximum(self.flops[longest], 0)
        return per_kernel


def _find_ids(values: Ints, ids: Ints, order: Ints | None = None) -> Ints:
    """Return the index of each wanted id among some, or NONE; negative ids are not found.

    The ids are looked at some at a time, in an `order` if there is one: there may be millions.
    """
    distinct, inverse = np.unique(values, return_inverse=True)
    indices = np.full(len(distinct), NONE, np.int32)
    for begin in range(0, len(ids) if len(distinct) else 0, _BATCH):
        batch = slice(begin, begin + _BATCH)
        part = ids[batch] if order is None else ids[order[batch]]
        index = np.minimum(np.searchsorted(distinct, part), len(distinct) - 1)
        matches = np.flatnonzero((distinct[index] == part) & (part >= 0))
        indices[index[matches]] = matches + begin
    return indices[inverse]
