"""Which operator called which, and how long did each take by itself?

The operators of a thread are intervals of time that lie within each other or apart. All functions
take and give arrays with one entry for each operator, in the order of their starts, callers before
what they call.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.signedinteger[Any]]
Bools = NDArray[np.bool_]

#: Where there is no parent.
NONE = -1


@dataclass(frozen=True, slots=True)
class Nest:
    """Operators by who called them: `parent` is NONE for those nobody called.

    What an operator called, however indirectly, stands behind it, up to the place `last`.
    """

    parent: Ints
    last: Ints


def nest(start: Floats, length: Floats) -> Nest:
    """Find the caller of each operator.

    An operator ends before a later one begins, or else is its caller. Depths are found by counting
    what has begun and not ended at each start; the caller is the last before that is one less deep.
    """
    count, end = len(start), start + length
    place = np.arange(count)
    ended = np.searchsorted(np.sort(end), start, side="right")
    depth = place - np.minimum(ended, place)
    order = np.lexsort((place, depth))
    keys = depth[order] * count + order
    before = np.searchsorted(keys, (depth - 1) * count + place) - 1
    found = order[np.maximum(before, 0)]
    is_called = (before >= 0) & (depth > 0) & (depth[found] == depth - 1) & (end[found] >= start)
    last = np.searchsorted(start, end, side="left") - 1
    return Nest(np.where(is_called, found, NONE), np.maximum(last, place))


def own_time(length: Floats, nested: Nest) -> Floats:
    """Return the time of each operator without that of those it called."""
    called = np.flatnonzero(nested.parent != NONE)
    inside = np.bincount(nested.parent[called], weights=length[called], minlength=len(length))
    return np.maximum(length - inside, 0.0)


def outermost(marked: Bools, nested: Nest) -> Ints:
    """Return the outermost marked operator each lies in, which may be itself, or NONE."""
    places = np.flatnonzero(marked)
    reached = np.maximum.accumulate(nested.last[places])
    is_outer = np.ones(len(places), bool)
    is_outer[1:] = places[1:] > reached[:-1]
    outer = places[is_outer]
    if not len(outer):
        return np.full(len(marked), NONE)
    own = np.arange(len(marked))
    found = outer[np.maximum(np.searchsorted(outer, own, side="right") - 1, 0)]
    return np.where((found <= own) & (own <= nested.last[found]), found, NONE)


def has_below(marked: Bools, nested: Nest) -> Bools:
    """Return which operators called something marked, however indirectly."""
    before = np.concatenate(([0], np.cumsum(marked)))
    found: Bools = before[nested.last + 1] > before[1:]
    return found


def enclosing(moment: Floats, start: Floats, length: Floats, nested: Nest) -> Ints:
    """Return the innermost operator under way at each moment, or NONE."""
    found = np.searchsorted(start, moment, side="right") - 1
    waiting = np.flatnonzero(found != NONE)
    while len(waiting):
        now = found[waiting]
        waiting = waiting[start[now] + length[now] < moment[waiting]]
        found[waiting] = nested.parent[found[waiting]]
        waiting = waiting[found[waiting] != NONE]
    return found
