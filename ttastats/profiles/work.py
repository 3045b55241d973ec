"""Which operator took which time, FLOPs and bytes, and which of them launched each kernel?

Arrays have one entry for each operator, or for each event of the device. Times are microseconds.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttastats.profiles import categories, flops, nesting
from ttastats.profiles.events import Events, Numbers
from ttastats.profiles.nesting import NONE, Nest

Floats = NDArray[np.float64]
Ints = NDArray[np.signedinteger[Any]]

#: Where FLOPs or bytes are not known.
UNKNOWN = -1


@dataclass(frozen=True, slots=True)
class Operators:
    """The operators of a trace.

    Time, FLOPs and bytes of what a counted operator (a matrix product, a convolution, attention)
    calls are its own: `account` is the operator that each one's time counts for, most often itself.
    """

    start: Floats
    length: Floats
    name: Ints
    thread: Ints
    nest: Nest
    account: Ints
    own: Floats
    flops: Ints
    bytes: Ints


def operators(events: Events, columns: Numbers, names: Sequence[str], grain: float) -> Operators:
    """Give the operators with what each took by itself; `grain` is the smallest step of time."""
    start, length = columns["start"], columns["length"]
    compared = np.maximum(length - grain, grain)  # neighbours share a moment, but for rounding
    nested = nesting.nest(start, compared, columns["thread"])
    is_counted = np.array([name in flops.COUNTED for name in names], bool)[columns["name"]]
    outer = nesting.outermost(is_counted, nested)
    account = np.where(outer == NONE, np.arange(len(start)), outer)
    of_calls = [_told(call) for call in events.calls.all()]
    counted = np.array([one[0] for one in of_calls], np.int64)[columns["call"]]
    moved = np.array([one[1] for one in of_calls], np.int64)[columns["call"]]
    alone = account == np.arange(len(start))
    below = nesting.has_below((moved != UNKNOWN) & alone, nested)
    return Operators(
        start,
        length,
        columns["name"],
        columns["thread"],
        nested,
        account,
        nesting.own_time(length, nested),
        np.where(is_counted & alone, counted, 0),
        np.where(alone & (is_counted | ~below), moved, UNKNOWN),
    )


def _told(call: Any) -> tuple[int, int]:
    """Give FLOPs and bytes of what is told of the inputs of a call."""
    if call is None:
        return UNKNOWN, UNKNOWN
    name, dims, types, concrete = call
    try:
        told = [json.loads(text) if text else () for text in (dims, types, concrete)]
    except ValueError:
        return UNKNOWN, UNKNOWN
    given = flops.Inputs(*told)
    if name not in flops.COUNTED:
        moved = flops.moved(name, given)
        return 0, UNKNOWN if moved is None else moved
    cost = flops.cost(name, given)
    moved = flops.moved(name, given, cost.output if cost else None)
    return cost.flops if cost else UNKNOWN, UNKNOWN if moved is None else moved


def launchers(work: Operators, external: Ints, device: Numbers, host: Numbers) -> Ints:
    """Give the operator that launched each event of the device, or NONE.

    External ids that merely repeat the correlation lead to no operator, as in traces of 2022.
    """
    found = np.full(len(device["start"]), NONE, np.int64)
    own, correlation = device["external"], device["correlation"]
    repeats = (own == correlation).sum() * 2 > len(own)
    if not repeats and len(external):
        found = _with(own, external)
    missing = np.flatnonzero(found == NONE)
    call = _with(correlation[missing], host["correlation"])
    called = missing[call != NONE]
    call = call[call != NONE]
    found[called] = nesting.enclosing(
        host["start"][call], host["thread"][call], work.start, work.length, work.thread, work.nest
    )
    return found


def _with(wanted: Ints, ids: Ints) -> Ints:
    """Give the position of each wanted id among some, or NONE; negative ones are none."""
    if not len(ids):
        return np.full(len(wanted), NONE, np.int64)
    order = np.argsort(ids, kind="stable")
    place = np.minimum(np.searchsorted(ids, wanted, sorter=order), len(ids) - 1)
    found = order[place]
    return np.where((ids[found] == wanted) & (wanted >= 0), found, NONE)


def launched_at(launcher: Ints, work: Operators, device: Numbers, host: Numbers) -> Floats:
    """Give the time at which the host launched each event of the device, as far as is told."""
    moment = device["start"].copy()
    known = launcher != NONE
    moment[known] = work.start[launcher[known]]
    call = _with(device["correlation"], host["correlation"])
    moment[call != NONE] = host["start"][call[call != NONE]]
    return moment


def flops_of_kernels(launcher: Ints, length: Floats, work: Operators) -> Ints:
    """Give each kernel FLOPs: those of a counted operator are of the longest kernel it launched."""
    found = np.zeros(len(length), np.int64)
    known = np.flatnonzero(launcher != NONE)
    account = work.account[launcher[known]]
    order = np.lexsort((-length[known], account))
    _, first = np.unique(account[order], return_index=True)
    longest = order[first]
    found[known[longest]] = np.maximum(work.flops[account[longest]], 0)
    return found


def category_of(names: Sequence[str]) -> NDArray[np.object_]:
    """Give the category of each name."""
    return np.array([categories.of(name) for name in names], dtype=object)
