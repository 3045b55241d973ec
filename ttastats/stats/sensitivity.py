"""Which quality targets to ask about, and over which of them an answer holds."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from decimal import Decimal

import numpy as np
from msgspec import Struct

from ttastats.stats.results import Floats


class TargetRange(Struct, frozen=True):
    """Targets around one of them over which the verdict stays the same, ends included."""

    word: str
    lowest: float
    highest: float


def stable_range(words: Mapping[float, str], target: float) -> TargetRange:
    """Return the range of targets around ``target`` over which its verdict holds.

    ``words``: the verdict at each target compared.
    """
    ordered = sorted(words)
    low = high = ordered.index(target)
    while low > 0 and words[ordered[low - 1]] == words[target]:
        low -= 1
    while high + 1 < len(ordered) and words[ordered[high + 1]] == words[target]:
        high += 1
    return TargetRange(words[target], ordered[low], ordered[high])


def hardest_common_target(
    curves: Sequence[Floats], *, higher_is_better: bool = True
) -> float | None:
    """Return the best value that every run reached, None if unknown.

    ``curves``: the values of each run in the order of its evaluations, NaN where not a number.
    """
    known = [curve[np.isfinite(curve)] for curve in curves]
    if not known or not all(values.size for values in known):
        return None
    if higher_is_better:
        return min(float(values.max()) for values in known)
    return max(float(values.min()) for values in known)


def target_grid(
    curves: Sequence[Floats], points: int = 20, *, higher_is_better: bool = True
) -> tuple[float, ...]:
    """Return round targets between the worst first value and the best value all runs reached.

    The multiples of 1, 2 or 5 times a power of ten, of the smallest such step that makes no more
    than ``points`` of them, easiest first; the best value alone when no such multiple lies between.
    """
    hardest = hardest_common_target(curves, higher_is_better=higher_is_better)
    if hardest is None:
        return ()
    starts = [float(curve[np.isfinite(curve)][0]) for curve in curves]
    easiest = min(starts) if higher_is_better else max(starts)
    rising = _round_values(min(easiest, hardest), max(easiest, hardest), points) or [hardest]
    return tuple(rising if higher_is_better else rising[::-1])


def _round_values(low: float, high: float, most: int) -> list[float]:
    """Return the multiples of the smallest round step with at most so many from low to high."""
    # Decimals, by their shortest form: 0.15 is three times 0.05, and no range overflows.
    first, last = Decimal(repr(low)), Decimal(repr(high))
    if first == last:
        return []
    chosen: list[float] = []
    for exponent in itertools.count(-(last - first).adjusted()):
        for factor in (10, 5, 2):
            step = Decimal(factor).scaleb(-exponent)
            numbers = range(math.ceil(first / step), math.floor(last / step) + 1)
            if len(numbers) > most:
                return chosen
            # Between neighbouring floats several multiples are the same number.
            chosen = [*dict.fromkeys(float(number * step) for number in numbers)]
    return chosen
