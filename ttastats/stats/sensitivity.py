"""Which quality targets to ask about, and over which of them an answer holds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ttastats.stats.results import Floats


@dataclass(frozen=True, slots=True)
class TargetRange:
    """Targets around one of them over which the verdict stays the same, ends included."""

    word: str
    lowest: float
    highest: float


def stable_range(words: Mapping[float, str], target: float) -> TargetRange:
    """Range of targets around ``target`` over which its verdict holds.

    ``words``: the verdict at each target compared. ValueError when ``target`` is none of them.
    """
    ordered = sorted(words)
    if target not in words:
        raise ValueError(f"target {target} was not compared")
    low = high = ordered.index(target)
    while low > 0 and words[ordered[low - 1]] == words[target]:
        low -= 1
    while high + 1 < len(ordered) and words[ordered[high + 1]] == words[target]:
        high += 1
    return TargetRange(words[target], ordered[low], ordered[high])


def hardest_common_target(
    curves: Sequence[Floats], *, higher_is_better: bool = True
) -> float | None:
    """Best value that every run reached; a harder target makes a run fail. None if unknown.

    ``curves``: the values of each run in the order of its evaluations, NaN where not a number.
    """
    best = [_best(curve, higher_is_better) for curve in curves]
    known = [value for value in best if value is not None]
    if not known or len(known) < len(best):
        return None
    return min(known) if higher_is_better else max(known)


def _best(curve: Floats, higher_is_better: bool) -> float | None:
    finite = curve[np.isfinite(curve)]
    if finite.size == 0:
        return None
    return float(finite.max() if higher_is_better else finite.min())


def target_grid(
    curves: Sequence[Floats], points: int = 20, *, higher_is_better: bool = True
) -> tuple[float, ...]:
    """Evenly spaced targets from the worst first value to the best value all runs reached.

    Empty when a run has no finite value, one target when there is no range.
    """
    hardest = hardest_common_target(curves, higher_is_better=higher_is_better)
    if hardest is None:
        return ()
    starts = [float(curve[np.isfinite(curve)][0]) for curve in curves]
    easiest = min(starts) if higher_is_better else max(starts)
    if easiest == hardest or not math.isfinite(easiest):
        return (hardest,)
    # By halves, which are exact: the range of two values near the largest float is no float.
    return tuple((2 * np.linspace(easiest / 2, hardest / 2, points)).tolist())
