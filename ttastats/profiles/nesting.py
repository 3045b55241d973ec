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

    `levels` are those that somebody called, level by level from the outside.
    """

    parent: Ints
    levels: tuple[Ints, ...]


def nest(start: Floats, length: Floats) -> Nest:
    """Find the caller of each operator.

    An operator ends before a later one begins, or else is its caller. Depths are found by counting
    what has begun and not ended at each start.
    """
    end = start + length
    place = np.arange(len(start))
    ended = np.searchsorted(np.sort(end), start, side="right")
    depth = place - np.minimum(ended, place)
    parent = np.full(len(start), NONE)
    levels = []
    above = np.flatnonzero(depth == 0)
    for level in range(1, int(depth.max(initial=0)) + 1):
        here = np.flatnonzero(depth == level)
        before = np.searchsorted(above, here) - 1
        found = above[np.maximum(before, 0)] if len(above) else here
        inside = (before >= 0) & (end[found] >= start[here])
        parent[here[inside]] = found[inside]
        levels.append(here[inside])
        above = here
    return Nest(parent, tuple(levels))


def own_time(length: Floats, nested: Nest) -> Floats:
    """Give the time of each operator without that of those it called."""
    called = np.flatnonzero(nested.parent != NONE)
    inside = np.bincount(nested.parent[called], weights=length[called], minlength=len(length))
    return np.maximum(length - inside, 0.0)


def outermost(marked: Bools, nested: Nest) -> Ints:
    """Give the outermost marked operator each lies in, which may be itself, or NONE."""
    found = np.where(marked, np.arange(len(marked)), NONE)
    for level in nested.levels:
        above = found[nested.parent[level]]
        found[level] = np.where(above != NONE, above, found[level])
    return found


def has_below(marked: Bools, nested: Nest) -> Bools:
    """Tell of which operators something they called, however indirectly, is marked."""
    below = np.zeros(len(marked), bool)
    for level in reversed(nested.levels):
        some = level[marked[level] | below[level]]
        below[nested.parent[some]] = True
    return below


def enclosing(moment: Floats, start: Floats, length: Floats, nested: Nest) -> Ints:
    """Give the innermost operator under way at each moment, or NONE."""
    found = np.searchsorted(start, moment, side="right") - 1
    waiting = np.flatnonzero(found != NONE)
    while len(waiting):
        now = found[waiting]
        waiting = waiting[start[now] + length[now] < moment[waiting]]
        found[waiting] = nested.parent[found[waiting]]
        waiting = waiting[found[waiting] != NONE]
    return found
