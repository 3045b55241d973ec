"""Which operator called which, and how long did each take by itself?

The operators of a thread are intervals of time that lie within each other or apart. All functions
take and give arrays with one entry for each operator.
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
    """Operators by who called them.

    `order` sorts them by thread and start, callers before what they call; `parent` is NONE for
    those nobody called; `depth` counts callers.
    """

    order: Ints
    parent: Ints
    depth: Ints


def nest(start: Floats, length: Floats, thread: Ints) -> Nest:
    """Find the caller of each operator."""
    order = np.lexsort((-length, start, thread)).astype(np.int32)
    parent = np.full(len(start), NONE, np.int32)
    depth = np.zeros(len(start), np.int16)
    changes = np.flatnonzero(np.diff(thread[order])) + 1
    for own in np.split(order, changes):
        _nest_thread(own, start[own], length[own], parent, depth)
    return Nest(order, parent, depth)


def _nest_thread(own: Ints, start: Floats, length: Floats, parent: Ints, depth: Ints) -> None:
    """Find the callers in one thread; `own` are its operators in order.

    An operator ends before a later one begins, or else is its caller. Depths are found by counting
    what has begun and not ended at each start.
    """
    if len(own) < 2:
        return
    end = start + length
    ended = np.searchsorted(np.sort(end), start, side="right")
    deep = np.arange(len(own)) - np.minimum(ended, np.arange(len(own)))
    above = np.flatnonzero(deep == 0)
    for level in range(1, int(deep.max(initial=0)) + 1):
        here = np.flatnonzero(deep == level)
        place = np.searchsorted(above, here) - 1
        found = above[np.maximum(place, 0)]
        inside = (place >= 0) & (end[found] >= start[here])
        parent[own[here[inside]]] = own[found[inside]]
        above = here
    depth[own] = deep


def by_level(nested: Nest) -> list[Ints]:
    """Give the operators that somebody called, level by level from the outside."""
    deepest = int(nested.depth.max(initial=0))
    called = np.flatnonzero(nested.parent != NONE)
    levels = nested.depth[called]
    return [called[levels == level] for level in range(1, deepest + 1)]


def own_time(length: Floats, nested: Nest) -> Floats:
    """Give the time of each operator without that of those it called."""
    called = np.flatnonzero(nested.parent != NONE)
    inside = np.bincount(nested.parent[called], weights=length[called], minlength=len(length))
    return np.maximum(length - inside[: len(length)], 0.0)


def outermost(marked: Bools, nested: Nest) -> Ints:
    """Give the outermost marked operator each lies in, which may be itself, or NONE."""
    found = np.where(marked, np.arange(len(marked)), NONE)
    for level in by_level(nested):
        above = found[nested.parent[level]]
        found[level] = np.where(above != NONE, above, found[level])
    return found


def has_below(marked: Bools, nested: Nest) -> Bools:
    """Tell of which operators something they called, however indirectly, is marked."""
    below = np.zeros(len(marked), bool)
    for level in reversed(by_level(nested)):
        some = level[marked[level] | below[level]]
        below[nested.parent[some]] = True
    return below


def enclosing(
    moment: Floats, of_thread: Ints, start: Floats, length: Floats, thread: Ints, nested: Nest
) -> Ints:
    """Give the innermost operator under way in a thread at each moment, or NONE."""
    found = np.full(len(moment), NONE, np.int64)
    for one in np.unique(of_thread):
        own = nested.order[thread[nested.order] == one]
        asked = np.flatnonzero(of_thread == one)
        if not len(own):
            continue
        place = np.searchsorted(start[own], moment[asked], side="right") - 1
        found[asked] = np.where(place >= 0, own[np.maximum(place, 0)], NONE)
    waiting = np.flatnonzero(found != NONE)
    while len(waiting):
        now = found[waiting]
        waiting = waiting[start[now] + length[now] < moment[waiting]]
        found[waiting] = nested.parent[found[waiting]]
        waiting = waiting[found[waiting] != NONE]
    return found
