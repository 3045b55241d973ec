"""How the answer depends on the quality target."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ttastats.quality import TOLERANCE
from ttastats.stats.failures import expected_time
from ttastats.stats.fraction import wilson
from ttastats.stats.outcomes import Epochs, Outcomes, outcomes
from ttastats.stats.results import Bools, Estimate, Floats
from ttastats.stats.speedup import Speedup, speedup
from ttastats.stats.verdict import Verdict, decide, decide_by_fraction


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """One run: ``values`` of the metric, NaN where not a number, known at ``seconds``.

    Ascending in time, one entry at least. ``run_seconds`` is how long the run was observed,
    by default until its last evaluation. ``epochs`` are those trained at each evaluation;
    with them a comparison can allow for epochs not yet seen.
    """

    seconds: Floats
    values: Floats
    run_seconds: float | None = None
    epochs: Floats | None = None


@dataclass(frozen=True, slots=True)
class TargetPoint:
    """One target: first crossing of every run, fraction reached, expected seconds.

    ``first_seconds`` is None for a run that did not reach it; ``expected_seconds`` is
    infinite when none did.
    """

    target: float
    first_seconds: tuple[float | None, ...]
    fraction: Estimate
    expected_seconds: float


@dataclass(frozen=True, slots=True)
class TargetComparison:
    """Speedup of B over A at one target, in expected time, with its pointwise verdict."""

    target: float
    reached_a: int
    reached_b: int
    speedup: Speedup | None
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class TargetRange:
    """Targets around one of them over which the verdict stays the same, ends included."""

    word: str
    lowest: float
    highest: float


def reaches(values: ArrayLike, target: float, *, higher_is_better: bool = True) -> Bools:
    """Which values meet the target, equality and float32 rounding included; NaN does not."""
    metric = np.asarray(values, dtype=np.float64)
    slack = TOLERANCE * abs(target)
    met: Bools = metric >= target - slack if higher_is_better else metric <= target + slack
    return met


def first_crossing(curve: Curve, target: float, *, higher_is_better: bool = True) -> float | None:
    """Seconds of the first evaluation that meets the target, no interpolation."""
    met = np.flatnonzero(reaches(curve.values, target, higher_is_better=higher_is_better))
    return float(curve.seconds[met[0]]) if met.size else None


def target_sensitivity(
    curves: Sequence[Curve],
    targets: Sequence[float],
    *,
    higher_is_better: bool = True,
    confidence: float = 0.95,
) -> tuple[TargetPoint, ...]:
    """Fraction reached and expected time of one side at each target.

    A run that misses the target counts with all the time it was observed. ValueError for no
    curves, or a curve without evaluations.
    """
    points = []
    for target in targets:
        times, reached = _outcomes(curves, target, higher_is_better)
        expected = expected_time(times, reached, confidence=confidence).estimate
        if expected is None:
            raise ValueError("no curves")
        first = [t if hit else None for t, hit in zip(times.tolist(), reached, strict=True)]
        points.append(
            TargetPoint(
                target=target,
                first_seconds=tuple(first),
                fraction=wilson(int(reached.sum()), reached.size, confidence=confidence),
                expected_seconds=expected,
            )
        )
    return tuple(points)


def _outcomes(
    curves: Sequence[Curve], target: float, higher_is_better: bool
) -> tuple[Floats, Bools]:
    """Seconds to the target or to the end of the run, and whether it was reached."""
    if any(curve.seconds.size == 0 for curve in curves):
        raise ValueError("a curve needs at least one evaluation")
    first = [first_crossing(c, target, higher_is_better=higher_is_better) for c in curves]
    last = [float(c.seconds[-1]) if c.run_seconds is None else c.run_seconds for c in curves]
    times = [b if a is None else a for a, b in zip(first, last, strict=True)]
    return np.asarray(times, dtype=np.float64), np.asarray([a is not None for a in first])


def compare_targets(
    curves_a: Sequence[Curve],
    curves_b: Sequence[Curve],
    targets: Sequence[float],
    *,
    higher_is_better: bool = True,
    margin: float = 0.01,
    confidence: float = 0.95,
) -> tuple[TargetComparison, ...]:
    """Speedup of B over A in expected time, with a verdict, at each target.

    The intervals are pointwise: each target taken alone holds ``confidence``.
    """
    comparisons = []
    for target in targets:
        a, b = (_side(curves, target, higher_is_better) for curves in (curves_a, curves_b))
        found = speedup(a, b, confidence=confidence)
        verdict = (
            decide(found, margin=margin)
            if a.n_reached and b.n_reached
            else decide_by_fraction(
                a.n_reached, a.n, b.n_reached, b.n, alpha=1 - confidence, margin=margin
            )
        )
        comparisons.append(TargetComparison(target, a.n_reached, b.n_reached, found, verdict))
    return tuple(comparisons)


def _side(curves: Sequence[Curve], target: float, higher_is_better: bool) -> Outcomes:
    """Times to a target, with the epochs they took where every run that reached tells them."""
    times, reached = _outcomes(curves, target, higher_is_better)
    told = [
        _epochs_to(curve, target, higher_is_better)
        for curve, hit in zip(curves, reached, strict=True)
        if hit
    ]
    epochs = [progress for progress in told if progress is not None and progress[0] > 0]
    if not told or len(epochs) < len(told):
        return outcomes(times, reached)
    gaps = [gap for _, gap in epochs if gap is not None]
    quantum = max(gaps) if len(gaps) == len(epochs) else None
    progress = Epochs(np.array([number for number, _ in epochs]), quantum)
    return outcomes(times, reached, progress=progress)


def _epochs_to(
    curve: Curve, target: float, higher_is_better: bool
) -> tuple[float, float | None] | None:
    """Epochs to a target that is met, and the wider gap to the evaluations around it."""
    met = reaches(curve.values, target, higher_is_better=higher_is_better)
    if curve.epochs is None:
        return None
    epochs = float(curve.epochs[int(np.argmax(met))])
    if not math.isfinite(epochs):
        return None
    others = curve.epochs[np.isfinite(curve.epochs)]
    before, after = others[others < epochs], others[others > epochs]
    gaps = [epochs - before.max()] if before.size else []
    gaps += [after.min() - epochs] if after.size else []
    return epochs, float(max(gaps)) if gaps else None


def stable_range(comparisons: Sequence[TargetComparison], target: float) -> TargetRange:
    """Range of compared targets around ``target`` over which its verdict holds.

    ValueError when ``target`` is not among those compared.
    """
    ordered = sorted(comparisons, key=lambda comparison: comparison.target)
    places = [k for k, comparison in enumerate(ordered) if comparison.target == target]
    if not places:
        raise ValueError(f"target {target} was not compared")
    word = ordered[places[0]].verdict.word
    low = high = places[0]
    while low > 0 and ordered[low - 1].verdict.word == word:
        low -= 1
    while high + 1 < len(ordered) and ordered[high + 1].verdict.word == word:
        high += 1
    return TargetRange(word, ordered[low].target, ordered[high].target)


def hardest_common_target(
    curves: Sequence[Curve], *, higher_is_better: bool = True
) -> float | None:
    """Best value that every run reached; a harder target makes a run fail. None if unknown."""
    best = [_best(curve, higher_is_better) for curve in curves]
    known = [value for value in best if value is not None]
    if not known or len(known) < len(best):
        return None
    return min(known) if higher_is_better else max(known)


def _best(curve: Curve, higher_is_better: bool) -> float | None:
    finite = curve.values[np.isfinite(curve.values)]
    if finite.size == 0:
        return None
    return float(finite.max() if higher_is_better else finite.min())


def target_grid(
    curves: Sequence[Curve], points: int = 20, *, higher_is_better: bool = True
) -> tuple[float, ...]:
    """Evenly spaced targets from the worst first value to the best value all runs reached.

    Empty when a run has no finite value, one target when there is no range.
    """
    hardest = hardest_common_target(curves, higher_is_better=higher_is_better)
    if hardest is None:
        return ()
    starts = [float(c.values[np.isfinite(c.values)][0]) for c in curves]
    easiest = min(starts) if higher_is_better else max(starts)
    if easiest == hardest or not math.isfinite(easiest):
        return (hardest,)
    return tuple(np.linspace(easiest, hardest, points).tolist())
