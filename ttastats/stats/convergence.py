"""How does a setup converge, held against runs of the reference?

Convergence is counted in samples or epochs until the target was met, on the grid of evaluations. A
reference is either measured at the batch size in question, or interpolated between two of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from msgspec import Struct

from ttastats.stats.logratio import LogTerm, ratio_of, satterthwaite
from ttastats.stats.moments import mean
from ttastats.stats.outcomes import Epochs, Outcomes, make_outcomes, time_term
from ttastats.stats.results import Floats
from ttastats.stats.speedup import Speedup
from ttastats.stats.unseen import Bounded, epoch_shift

_ROUNDING_ERROR = 1e-6
"""Values closer than this share of the largest lie on one point of the grid."""


class WeightedRuns(Struct, frozen=True, eq=False):
    """Measured runs of a reference, shape (n,), and the weight of their mean in it."""

    values: Floats
    weight: float = 1.0


class Reference(Struct, frozen=True, eq=False):
    """Runs a setup is held against: one measured part, or two to interpolate between.

    ``interval``: progress between two evaluations, None if unknown. ``misfit``: variance and df of
    the log of an interpolated mean besides the scatter of its runs.
    """

    parts: tuple[WeightedRuns, ...]
    interval: float | None = None
    misfit: tuple[float | None, int] | None = None

    @property
    def mean(self) -> float:
        """Return the mean convergence of the reference."""
        return math.fsum(part.weight * mean(part.values) for part in self.parts)

    @property
    def n(self) -> int:
        """Return the number of measured reference runs."""
        return sum(part.values.size for part in self.parts)

    def pool(self) -> tuple[Floats, Floats]:
        """Return the values of runs of the reference, and the probability of each.

        Those of an interpolated one are the runs of both parts, brought to its mean.
        """
        parts, centre = self.parts, self.mean
        values = [part.values * (centre / mean(part.values)) for part in parts]
        chances = [np.full(part.values.size, part.weight / part.values.size) for part in parts]
        pooled = parts[0].values if len(parts) == 1 else np.concatenate(values)
        return pooled, np.concatenate(chances)


def interpolate_reference(low: Floats, high: Floats, position: float, misfits: Floats) -> Reference:
    """Return the reference at a batch size between two measured ones.

    ``position``: from 0 at the low to 1 at the high batch size. The mean square of ``misfits`` is
    taken for half way; towards the ends it falls off as the error of a chord of a parabola.
    """
    bend = 4 * position * (1 - position)
    square = float(np.mean(np.square(misfits))) * bend**2 if misfits.size else None
    intervals = [step for step in map(smallest_step, (low, high)) if step is not None]
    return Reference(
        (WeightedRuns(low, 1 - position), WeightedRuns(high, position)),
        max(intervals, default=None),
        (square, misfits.size),
    )


def interpolation_errors(sizes: Sequence[float], means: Sequence[float]) -> Floats:
    """Return the log of each inner mean over the interpolation of its neighbours.

    ``sizes``: ascending batch sizes. Empty where fewer than three were measured.
    """
    deviations = []
    for i in range(1, len(sizes) - 1):
        ends = (sizes[i - 1], sizes[i + 1]), (means[i - 1], means[i + 1])
        deviations.append(math.log(means[i] / float(np.interp(sizes[i], *ends))))
    return np.array(deviations, dtype=np.float64)


def smallest_step(values: Floats) -> float | None:
    """Return the smallest difference between two values: the evaluation interval, if known."""
    steps = np.diff(np.sort(values))
    real_steps = steps[steps > _ROUNDING_ERROR * float(np.max(values, initial=0.0))]
    return float(real_steps.min()) if real_steps.size else None


def convergence_ratio(entry: Outcomes, reference: Reference, *, confidence: float) -> Speedup:
    """Return the entry's mean convergence over the reference's, below 1 if it needs less.

    ``entry``: samples or epochs in the place of times.
    """
    entry_mean, reference_mean = time_term(entry, "mean"), _reference_term(reference)
    shifts = epoch_shift(entry), _reference_shift(reference)
    of_entry = Bounded(entry_mean, entry.n, entry.n_reached, shifts[0])
    fewest = min(part.values.size for part in reference.parts)
    of_reference = Bounded(reference_mean, fewest, fewest, shifts[1])
    ratio = ratio_of(entry_mean, reference_mean, confidence, entry.n, reference.n)
    return Speedup(ratio, of_entry, of_reference, any(shifts), ratio.flags)


@lru_cache(maxsize=128)
def _reference_term(reference: Reference) -> LogTerm:
    """Return the mean of a reference with the variance of its log from runs and interpolation."""
    centre, variances, dfs = reference.mean, [], []
    for part in reference.parts:
        term = time_term(make_outcomes(part.values), "mean")
        share = part.weight * term.estimate / centre
        variances.append(None if term.variance is None else share**2 * term.variance)
        dfs.append(term.df)
    if reference.misfit is not None:
        variances.append(reference.misfit[0])
        dfs.append(reference.misfit[1])
    parts = [variance for variance in variances if variance is not None]
    if len(parts) < len(variances):
        return LogTerm(centre, None, 0)
    return LogTerm(centre, math.fsum(parts), satterthwaite(parts, dfs))


@lru_cache(maxsize=128)
def _reference_shift(reference: Reference) -> float:
    """Return the relative change of the mean if all runs that never varied stopped one later."""
    return math.fsum(
        epoch_shift(make_outcomes(part.values, progress=Epochs(part.values, reference.interval)))
        * (part.weight * mean(part.values) / reference.mean)
        for part in reference.parts
    )


def stopped_early(values: Floats, reference: Reference) -> int:
    """Return the number of values at least one evaluation before the reference's median run."""
    pool, chances = reference.pool()
    order = np.argsort(pool, kind="stable")
    middle = np.searchsorted(np.cumsum(chances[order]), 0.5 - _ROUNDING_ERROR)
    median = float(pool[order][middle])
    half = (reference.interval or 0.0) / 2
    return int(np.count_nonzero(values < median - max(half, _ROUNDING_ERROR * median)))


def pass_rate(
    reference: Reference,
    limit: float,
    n: int,
    *,
    dropped: int,
    faster: float = 0.0,
    draws: int,
    rng: np.random.Generator,
) -> float | None:
    """Return the share of draws of ``n`` runs whose olympic mean is not below a limit.

    Runs are drawn from the reference, with replacement. ``faster``: the share by which the mean
    convergence is truly lower; each run then stops at one of the two evaluations around its value.
    The ``dropped`` lowest and highest values leave the mean. None where no run would be left.
    """
    if n <= 2 * dropped:
        return None
    pool, chances = reference.pool()
    drawn = rng.choice(pool, size=(draws, n), p=chances)
    if faster:
        shifted = drawn * (1 - faster)
        if reference.interval is not None:
            evaluations = (drawn - shifted) / reference.interval
            full_intervals = np.floor(evaluations)
            n_intervals = full_intervals + (rng.random(drawn.shape) < evaluations - full_intervals)
            shifted = drawn - reference.interval * n_intervals
        drawn = shifted
    drawn.sort(axis=1)
    means = drawn[:, dropped : n - dropped].mean(axis=1)
    return float(np.mean(means >= limit * (1 - 1e-12)))
