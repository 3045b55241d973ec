"""What do means say: of times, and of a quality against a number or another mean?

A quality may have any sign: differences are compared, by Student's and Welch's t (Welch 1947). It
is logged in steps, and few runs often agree in it, so that no spread is taken to be less than that
of rounding alone, ``resolution`` / sqrt(12).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import ArrayLike

from ttastats.stats.blocks import Labels, difference_within_blocks
from ttastats.stats.logratio import LogTerm, combine_terms, too_few_runs, unbalanced_flag
from ttastats.stats.moments import (
    as_sample,
    bisect_root,
    chi2_quantile,
    deviations,
    is_constant,
    mean,
    means,
    positive_limits,
    standard_deviation,
    t_tail,
    two_sided_t,
)
from ttastats.stats.outcomes import number_clusters, variance_of_mean
from ttastats.stats.permutation import smallest_p
from ttastats.stats.power import runs_for_mean
from ttastats.stats.results import Estimate, Flag, Floats
from ttastats.stats.speedup import equivalence_confidence

RUNS_FOR_INTERVAL = 3
"""With two runs a t interval spans a factor of thousands in the CV: none is shown."""


class MeanDifference(Struct, frozen=True):
    """Mean of B minus mean of A, with its interval and its two-sided p."""

    estimate: float
    low: float | None
    high: float | None
    confidence: float
    p_value: float | None
    se: float | None
    df: float | None
    n_a: int
    n_b: int
    flags: tuple[Flag, ...] = ()

    def one_sided(self, slack: tuple[float, float] = (0.0, 0.0)) -> tuple[float, float] | None:
        """Return the bounds that each hold one-sided at the confidence, moved by ``slack``."""
        if self.se is None:
            return None
        half = 0.0
        if self.df is not None:
            half = two_sided_t(self.df, equivalence_confidence(self.confidence)) * self.se
        return self.estimate - half + slack[0], self.estimate + half + slack[1]

    @property
    def runs_needed(self) -> int | None:
        """Return the runs a side that detect a difference as large as this one at 80 % power."""
        if not self.se or not self.estimate:
            return None
        spread = self.se / math.sqrt(1 / self.n_a + 1 / self.n_b)
        level = (1 - self.confidence) / 2
        return runs_for_mean(abs(self.estimate), spread, samples=2, level=level)


Condition = Literal["constant_epochs", "equal_values", "rare_runs"]
"""Under what a claim about a mean holds: no run takes other epochs, differs, or ends far worse."""


class AgainstNumber(Struct, frozen=True):
    """A mean against a threshold: the one-sided p of "it is not better".

    ``margin`` is above 0 where the mean is better than the threshold. The confidence of ``low`` and
    ``high`` is 1 - 2 ``level``; ``spread`` is the standard deviation that the test uses. Where it
    ``holds`` under ``conditions``, the runs cannot exclude that it is false.
    """

    n: int
    threshold: float
    level: float
    mean: float | None = None
    sd: float | None = None
    low: float | None = None
    high: float | None = None
    margin: float | None = None
    p_value: float | None = None
    holds: bool = False
    conditions: tuple[Condition, ...] = ()
    spread: float | None = None
    sigma_known: bool = False
    flags: tuple[Flag, ...] = ()

    @property
    def runs_needed(self) -> int | None:
        """Return the runs that detect this margin at 80 % power; None if the mean is no better."""
        if not self.spread or self.margin is None or self.margin <= 0:
            return None
        return runs_for_mean(
            self.margin, self.spread, samples=1, level=self.level, sigma_known=self.sigma_known
        )


def smallest_change(values: ArrayLike) -> tuple[float, ...]:
    """Return the smallest difference between two values as a tuple, empty if all are equal."""
    sizes = np.unique(values)
    gaps = np.diff(sizes)
    # What rounding in binary leaves is no difference.
    gaps = gaps[gaps > 1e-12 * np.abs(sizes).max(initial=0.0)]
    return (float(gaps.min()),) if gaps.size else ()


def mean_interval(
    times: ArrayLike, *, confidence: float, setups: ArrayLike | None = None
) -> Estimate:
    """Return the mean in seconds with its positive t interval; none below 3 runs.

    ``setups``: a label per run, shape (n,). Where several are pooled, they and not the runs are
    independent: the interval is that of their sums, as for a verdict.
    """
    values = as_sample(times)
    lacks_runs = values.size < RUNS_FOR_INTERVAL
    variance, df = (None, 0.0) if lacks_runs else _variance_of_mean(values, setups, 0.0)
    interval = _interval(values, variance, df, confidence)
    if interval.estimate is None or interval.high is None:
        return interval
    centre = np.array(interval.estimate)
    low, high = positive_limits(centre, interval.high - centre)
    return replace(interval, low=float(low), high=float(high))


def mean_quality(values: ArrayLike, *, resolution: float = 0.0, confidence: float) -> Estimate:
    """Return the mean of a sample with Student's t interval; none below 2 runs."""
    sample = np.asarray(values, np.float64)
    return _interval(sample, *_variance_of_mean(sample, None, resolution), confidence)


def _interval(values: Floats, variance: float | None, df: float, confidence: float) -> Estimate:
    """Return the mean of a sample with the interval from its variance and df."""
    centre = mean(values) if values.size else None
    if centre is None or variance is None:
        return Estimate(centre, None, None, confidence, values.size)
    half = two_sided_t(df, confidence) * math.sqrt(variance)
    return Estimate(centre, centre - half, centre + half, confidence, values.size)


def mean_limits(values: Floats, *, confidence: float) -> tuple[Floats, Floats]:
    """Return positive t limits of the mean of each group of times, shape (groups, n).

    NaN below 3 runs, and of equal values, which hide how much others differ.
    """
    n = values.shape[-1]
    spread = deviations(values)
    if n < RUNS_FOR_INTERVAL:
        return np.full(spread.shape, np.nan), np.full(spread.shape, np.nan)
    half = two_sided_t(n - 1.0, confidence) * (spread / math.sqrt(n))
    half[spread == 0.0] = np.nan
    return positive_limits(means(values), half)


def olympic_mean(times: ArrayLike, *, n_failed: int = 0, drop: int = 1) -> float | None:
    """Return the official MLPerf score: the mean time without the extremes, or None.

    The ``drop`` fastest and ``drop`` slowest of all runs are left out (4 for unet3d, 1
    elsewhere); failed runs count as the slowest, and more failures than ``drop``, or no run that
    is left, mean no score. A score, not a statistic: trimming hides the rare slow run.
    """
    sample = np.sort(as_sample(times))
    total = sample.size + n_failed
    if n_failed > drop or total <= 2 * drop:
        return None
    return mean(sample[drop : total - drop])


def mean_difference(
    a: ArrayLike,
    b: ArrayLike,
    *,
    clusters: tuple[ArrayLike | None, ArrayLike | None] = (None, None),
    blocks: tuple[Labels, Labels] | None = None,
    resolution: float = 0.0,
    confidence: float,
) -> MeanDifference:
    """Return mean of B minus mean of A by Welch's t; no interval unless both sides have 2 runs.

    ``clusters``: for each side a label per run, where several setups are pooled and are what is
    independent. ``blocks``: the number of the block of each run, to compare within these. Without
    any spread the interval is the point, and p is that of the exact test, or 1 for equal means.
    """
    values_a, values_b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    sizes = (values_a.size, values_b.size)
    if blocks is not None:
        estimate, *parts = difference_within_blocks(values_a, values_b, blocks)
        (of_a, df_a), (of_b, df_b) = (part.variance(resolution**2 / 12) for part in parts)
    else:
        estimate = mean(values_b) - mean(values_a)
        (of_a, df_a), (of_b, df_b) = (
            _variance_of_mean(values, setups, resolution)
            for values, setups in zip((values_a, values_b), clusters, strict=True)
        )
    scale = combine_terms(
        estimate, [LogTerm(1.0, of_a, df_a), LogTerm(1.0, of_b, df_b)], confidence
    )
    p_value, half, flags = scale.p_value, scale.half_width, unbalanced_flag(*sizes)
    if half is None:
        why = "only one block has runs of both sides, with one run per side: no CI"
        flags = (Flag("one_run", too_few_runs(*sizes) if 1 in sizes else why),)
    elif half == 0.0:
        p_value = smallest_p(*sizes) if p_value is None else p_value
        flags = (Flag("zero_variance", "zero variance on both sides: p is from the exact test"),)
    low, high = (None, None) if half is None else (estimate - half, estimate + half)
    return MeanDifference(
        estimate, low, high, confidence, p_value, scale.se, scale.df, *sizes, flags=flags
    )


def compare_with_number(
    values: ArrayLike,
    threshold: float,
    *,
    higher_is_better: bool,
    level: float,
    resolution: float = 0.0,
    sigma: float | None = None,
    longer: float = 0.0,
    positive: bool = False,
) -> AgainstNumber:
    """Return the one-sided t test of whether the mean of these values is better than a threshold.

    ``sigma``: the known standard deviation of one run, for a z test. ``longer``: by how much the
    mean may be worse by epochs that no run showed. ``positive``: values are times or counts, whose
    lower limit, which no test uses, is on the log scale. Equal values have no p: they tell no
    spread.
    """
    sample = np.asarray(values, np.float64)
    if (n := sample.size) == 0:
        return AgainstNumber(0, threshold, level, flags=(Flag("no_runs", "no runs"),))
    centre = mean(sample)
    margin = centre - threshold if higher_is_better else threshold - centre
    spread, df = _rounded_deviation(sample, resolution), n - 1.0
    if sigma is not None:
        spread, df = sigma, math.inf
    result = AgainstNumber(n, threshold, level, centre, standard_deviation(sample), margin=margin)
    if spread is None:
        return replace(result, flags=(Flag("one_run", "no variance with one run: 2 runs needed"),))
    if sigma is None and is_constant(sample):
        equal: tuple[Condition, ...] = ("constant_epochs" if longer else "equal_values",)
        flag = Flag("zero_variance", "zero variance: no p")
        is_within = 0 < longer < margin
        return replace(
            result, holds=margin > 0, conditions=() if is_within or margin <= 0 else equal,
            flags=(flag,),
        )  # fmt: skip
    se = spread / math.sqrt(n)
    half, p_value = two_sided_t(df, 1 - 2 * level) * se, t_tail(df, margin / se)
    holds, conditions = p_value < level, list[Condition]()
    low = centre - half
    if positive:
        low = float(positive_limits(np.array(centre), np.array(half))[0])
    if holds and math.hypot(half, longer) > margin:
        conditions.append("constant_epochs")
    if (
        holds
        and sigma is None
        and _may_be_skewed(sample, p_value / level, higher_is_better=higher_is_better)
    ):
        conditions.append("rare_runs")
    return replace(
        result, spread=spread, sigma_known=sigma is not None, low=low, high=centre + half,
        p_value=p_value, holds=holds, conditions=tuple(conditions),
    )  # fmt: skip


#: At which share of the level a claim is safe from a tail on the worse side: of up to 5 runs a
#: fifth, from 10 on two fifths, and of a sample as skewed as this a twentieth (measured in
#: `benchmarks/coverage`).
_OF_FEW, _OF_MANY, _EACH_RUN, _OF_SKEWED, _SKEWED = 0.2, 0.4, 0.04, 0.05, 0.6


def _may_be_skewed(sample: Floats, share_of_level: float, *, higher_is_better: bool) -> bool:
    """Return whether a tail on the worse side, of which few runs show little, may undo a claim."""
    gaps = sample - sample.mean()
    skewness = float((gaps**3).mean() / (gaps**2).mean() ** 1.5) * (-1 if higher_is_better else 1)
    safe_share = min(_OF_MANY, max(_OF_FEW, _EACH_RUN * sample.size))
    return share_of_level >= (_OF_SKEWED if skewness > _SKEWED else safe_share)


def compare_exact(n: int, value: float, threshold: float, level: float) -> AgainstNumber:
    """Return the comparison with a threshold of a value that was chosen, not measured: no test."""
    return AgainstNumber(
        n, threshold, level, mean=value, sd=0.0, low=value, high=value, margin=threshold - value,
        holds=value <= threshold,
    )  # fmt: skip


def _rounded_deviation(values: Floats, resolution: float) -> float | None:
    """Return the standard deviation, at least that of rounding; None of one value."""
    sd = standard_deviation(values)
    return None if sd is None else max(sd, resolution / math.sqrt(12))


def _variance_of_mean(
    values: Floats, clusters: ArrayLike | None, resolution: float
) -> tuple[float | None, float]:
    """Return the variance of a mean, at least that of rounding, and its degrees of freedom."""
    labels = number_clusters(clusters, values.size)
    if labels is None:
        spread = _rounded_deviation(values, resolution)
        return None if spread is None else spread**2 / values.size, values.size - 1.0
    variance, df = variance_of_mean(values - mean(values), labels)
    floor = resolution**2 / 12 / values.size
    return None if variance is None else max(variance, floor), df


class Set(Struct, frozen=True):
    """The mean of a set of runs, its variance and degrees of freedom."""

    mean: float
    variance: float
    df: float


class Between(Struct, frozen=True):
    """The standard deviation between sessions, and the smallest difference worth claiming.

    ``deviation`` is None of two sets; ``highest`` bounds it, one-sided. Setups that are alike,
    of as many runs in one session each, rarely differ by more than ``smallest_claim``.
    """

    sets: int
    deviation: float | None
    highest: float
    smallest_claim: float


def variance_between_sets(sets: Sequence[Set], *, confidence: float) -> Between:
    """Return the variance between sets of runs of one setup beyond their own noise.

    The bound is the largest variance at which means so close together still come in 5 of 100 cases
    (the Q profile: Viechtbauer 2007). The smallest claim rests on the spread of the means, with one
    degree of freedom less than there are sets, and is no less than runs of one session would need.
    """
    means, variances = (
        np.array([getattr(runs, name) for runs in sets]) for name in ("mean", "variance")
    )
    spread, typical = float(means.var(ddof=1)), float(variances.mean())
    claims = [
        two_sided_t(df, confidence) * math.sqrt(2 * variance)
        for df, variance in ((len(sets) - 1, spread), (sum(runs.df for runs in sets), typical))
    ]
    lower_quantile = chi2_quantile(1 - confidence, len(sets) - 1)

    def excess(variance: float) -> float:
        total = variances + variance
        centre = float(np.average(means, weights=1 / total))
        return lower_quantile - float(((means - centre) ** 2 / total).sum())

    largest = len(sets) * float(np.ptp(means)) ** 2 / lower_quantile
    highest = max(bisect_root(excess, 0.0, largest) if largest else 0.0, typical)
    deviation = math.sqrt(max(spread - typical, 0.0)) if len(sets) > 2 else None
    return Between(len(sets), deviation, math.sqrt(highest), max(claims))
