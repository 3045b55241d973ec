"""How long was something under way, of several that may overlap?

A set of intervals is an array of shape (n, 2) with starts and ends, sorted and apart from each
other; `union` makes one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
NOTHING: Floats = np.empty((0, 2))


def union(start: Floats, end: Floats) -> Floats:
    """Return the time in which at least one of some intervals is under way."""
    if not (keep := end > start).all():
        start, end = start[keep], end[keep]
    if not len(start):
        return NOTHING
    if (start[1:] < start[:-1]).any():
        order = np.argsort(start, kind="stable")
        start, end = start[order], end[order]
    end = np.maximum.accumulate(end)
    apart = np.flatnonzero(start[1:] > end[:-1])
    found = np.empty((len(apart) + 1, 2))
    found[0, 0], found[1:, 0] = start[0], start[apart + 1]
    found[:-1, 1], found[-1, 1] = end[apart], end[-1]
    return found


def either(a: Floats, b: Floats) -> Floats:
    """Return the time in either of two sets."""
    both = np.concatenate((a, b))
    return union(both[:, 0], both[:, 1])


def any_of(sets: list[Floats]) -> Floats:
    """Return time in any of some sets, which are taken out of their list to give memory back."""
    every = np.empty((sum(map(len, sets)), 2))
    end = len(every)
    while sets:
        last = sets.pop()
        every[end - len(last) : end] = last
        end -= len(last)
    return union(every[:, 0], every[:, 1])


def without(a: Floats, b: Floats) -> Floats:
    """Return the time in `a` that is not in `b`; a part at a time, since there may be millions."""
    found = [NOTHING]
    for begin in range(0, len(a), _TOGETHER):
        part = a[begin : begin + _TOGETHER]
        low = np.searchsorted(b[:, 1], part[0, 0], side="right")
        high = np.searchsorted(b[:, 0], part[-1, 1], side="left")
        found.append(_without(part, b[low:high]))
    return np.concatenate(found)


_TOGETHER = 20_000


def _without(a: Floats, b: Floats) -> Floats:
    if not len(b):
        return a
    edges = np.unique(np.concatenate((a.ravel(), b.ravel())))
    start, end = edges[:-1], edges[1:]
    keep = _covered(a, start) & ~_covered(b, start)
    return union(start[keep], end[keep])


def _covered(a: Floats, moment: Floats) -> NDArray[np.bool_]:
    """Return which moments lie in a set, its starts included and its ends not."""
    place = np.searchsorted(a[:, 0], moment, side="right") - 1
    inside: NDArray[np.bool_] = (place >= 0) & (moment < a[np.maximum(place, 0), 1])
    return inside


def within(a: Floats, windows: Floats) -> Floats:
    """Return how long a set is under way in each of some windows."""
    if not len(a):
        return np.zeros(len(windows))
    return _until(a, windows[:, 1]) - _until(a, windows[:, 0])


def _until(a: Floats, moment: Floats) -> Floats:
    """Return how long a set has been under way before each moment."""
    before = np.concatenate(([0.0], np.cumsum(a[:, 1] - a[:, 0])))
    place = np.searchsorted(a[:, 0], moment, side="right")
    last = np.maximum(place - 1, 0)
    inside: Floats = np.clip(moment - a[last, 0], 0.0, a[last, 1] - a[last, 0])
    return inside + before[last]
