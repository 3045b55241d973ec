"""How long was something under way, of several that may overlap, and what lies within what?

A set of intervals is an array of shape (n, 2) with starts and ends, sorted and apart from each
other; `merge` makes one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.signedinteger[Any]]
Bools = NDArray[np.bool_]
NOTHING: Floats = np.empty((0, 2))
#: Where there is no parent.
NONE = -1


def merge_intervals(start: Floats, end: Floats) -> Floats:
    """Return disjoint intervals that cover the same time as some that may overlap."""
    if not (keep := end > start).all():
        start, end = start[keep], end[keep]
    if not len(start):
        return NOTHING
    if (start[1:] < start[:-1]).any():
        order = np.argsort(start, kind="stable")
        start, end = start[order], end[order]
    end = np.maximum.accumulate(end)
    gaps = np.flatnonzero(start[1:] > end[:-1])
    merged = np.empty((len(gaps) + 1, 2))
    merged[0, 0], merged[1:, 0] = start[0], start[gaps + 1]
    merged[:-1, 1], merged[-1, 1] = end[gaps], end[-1]
    return merged


def union_all(sets: list[Floats]) -> Floats:
    """Return the time in any of some sets, which are removed from their list to free memory."""
    all_spans = np.empty((sum(map(len, sets)), 2))
    end = len(all_spans)
    while sets:
        last = sets.pop()
        all_spans[end - len(last) : end] = last
        end -= len(last)
    return merge_intervals(*all_spans.T)


class Nest(Struct, frozen=True):
    """The operators of a thread by who called them: `parent` is NONE for those without a caller.

    They lie within each other or apart, in the order of their starts, callers first. What an
    operator called, however indirectly, stands behind it, up to the place `last`.
    """

    parent: Ints
    last: Ints


def find_callers(start: Floats, length: Floats) -> Nest:
    """Return the caller of each operator, by their starts and lengths.

    An operator ends before a later one begins, or else is its caller. Depths are found by counting
    what has begun and not ended at each start; the caller is the last before that is one less deep.
    """
    count, end = len(start), start + length
    index = np.arange(count)
    ended = np.searchsorted(np.sort(end), start, side="right")
    depth = index - np.minimum(ended, index)
    order = np.lexsort((index, depth))
    keys = depth[order] * count + order
    before = np.searchsorted(keys, (depth - 1) * count + index) - 1
    caller = order[np.maximum(before, 0)]
    is_called = (before >= 0) & (depth > 0) & (depth[caller] == depth - 1) & (end[caller] >= start)
    last = np.searchsorted(start, end, side="left") - 1
    return Nest(np.where(is_called, caller, NONE), np.maximum(last, index))


def self_time(length: Floats, nested: Nest) -> Floats:
    """Return the time of each operator without that of the operators it called."""
    inner = nested.parent != NONE
    inside = np.bincount(nested.parent[inner], weights=length[inner], minlength=len(length))
    return np.maximum(length - inside, 0.0)


def outermost_marked(marked: Bools, nested: Nest) -> Ints:
    """Return the outermost marked operator that contains each operator, or NONE."""
    indices = np.flatnonzero(marked)
    reached = np.maximum.accumulate(nested.last[indices])
    is_outer = np.ones(len(indices), bool)
    is_outer[1:] = indices[1:] > reached[:-1]
    outer = indices[is_outer]
    if not len(outer):
        return np.full(len(marked), NONE)
    index = np.arange(len(marked))
    candidate = outer[np.maximum(np.searchsorted(outer, index, side="right") - 1, 0)]
    return np.where((candidate <= index) & (index <= nested.last[candidate]), candidate, NONE)


def calls_marked(marked: Bools, nested: Nest) -> Bools:
    """Return a mask of the operators that called a marked one, directly or not."""
    before = np.concatenate(([0], np.cumsum(marked)))
    calls_marked: Bools = before[nested.last + 1] > before[1:]
    return calls_marked


def enclosing(moment: Floats, start: Floats, length: Floats, nested: Nest) -> Ints:
    """Return the innermost operator that runs at each moment, or NONE."""
    operator = np.searchsorted(start, moment, side="right") - 1
    waiting = np.flatnonzero(operator != NONE)
    while len(waiting):
        current = operator[waiting]
        waiting = waiting[start[current] + length[current] < moment[waiting]]
        operator[waiting] = nested.parent[operator[waiting]]
        waiting = waiting[operator[waiting] != NONE]
    return operator
