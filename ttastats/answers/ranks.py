"""Which ranks may entries have, and which of them cannot be told apart?

Two entries are told apart where a comparison shows one to be faster, all pairs judged together.
An entry then ranks behind those shown to be faster and before those shown to be slower: all these
intervals hold at once, at the confidence of the pairs (Al Mohamad, Goeman and van Zwet 2022).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

#: Places from 0, of the faster and of the slower.
Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Rank:
    """The rank of an entry by its mean, from 1, and the first and the last it may have."""

    rank: int
    first: int
    last: int


def ranks(count: int, apart: Collection[Pair]) -> tuple[Rank, ...]:
    """Return the ranks of so many entries, which stand in the order of their means."""
    faster, slower = [0] * count, [0] * count
    for one, other in apart:
        faster[other] += 1
        slower[one] += 1
    return tuple(
        Rank(place + 1, faster[place] + 1, count - slower[place]) for place in range(count)
    )


def ties(count: int, apart: Collection[Pair]) -> tuple[Pair, ...]:
    """Return the longest stretches of ranks, from 1, in which no two entries are told apart.

    They may overlap: 1 is told apart from 3, and 2 from neither.
    """
    unlike = {frozenset(pair) for pair in apart}
    found: list[Pair] = []
    start = 0
    for end in range(count):
        while any(frozenset((place, end)) in unlike for place in range(start, end)):
            start += 1
        if end > start:
            if found and found[-1][0] == start + 1:
                found.pop()
            found.append((start + 1, end + 1))
    return tuple(found)
