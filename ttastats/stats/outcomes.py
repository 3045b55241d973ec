"""What came of the runs of one side, and whether two sides differ in how many reach the target."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike, NDArray
from scipy import special

from ttastats.stats.logratio import LogTerm
from ttastats.stats.moments import as_sample, geometric_mean, is_constant, mean, means, two_sided_t
from ttastats.stats.results import Bools, Difference, Floats

Estimand = Literal["mean", "geomean"]


class Epochs(Struct, frozen=True, eq=False):
    """Epochs (or another unit) to target of the runs of one side that reached it, (n_reached,).

    ``evaluation_interval``: epochs between two evaluations where the time ends, None if unknown.
    """

    epochs: Floats
    evaluation_interval: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Outcomes:
    """Seconds until success, or until the run stopped, and whether it reached; shape (n,).

    ``clusters`` numbers the setup of each run where several are pooled and are what is independent;
    ``blocks`` its session (or machine, day), alike on both sides, to compare within these.
    """

    times: Floats
    reached: Bools
    progress: Epochs | None = None
    clusters: NDArray[np.intp] | None = None
    blocks: NDArray[np.intp] | None = None

    @property
    def n(self) -> int:
        """Return the number of runs."""
        return int(self.times.size)

    @property
    def n_reached(self) -> int:
        """Return the number of runs that reached the target."""
        return int(np.count_nonzero(self.reached))

    @property
    def all_reached(self) -> bool:
        """Return whether no run failed."""
        return self.n_reached == self.n


def make_outcomes(
    times: ArrayLike,
    reached: ArrayLike | None = None,
    *,
    progress: Epochs | None = None,
    clusters: ArrayLike | None = None,
    blocks: NDArray[np.intp] | None = None,
) -> Outcomes:
    """Return the outcomes of the runs of one side; by default all reached the target.

    ``clusters``: a label per run, shape (n,). ValueError for times (but 0 of a run that failed) and
    progress that are not positive.
    """
    sample = np.asarray(times, dtype=np.float64)
    success = np.full(sample.shape, True) if reached is None else np.asarray(reached, np.bool_)
    as_sample(sample[success | (sample != 0)])
    if progress is not None:
        as_sample(progress.epochs)
    return Outcomes(sample, success, progress, number_clusters(clusters, sample.size), blocks)


def number_clusters(clusters: ArrayLike | None, n: int) -> NDArray[np.intp] | None:
    """Return cluster labels as numbers from 0; None if they separate no runs or all."""
    if clusters is None:
        return None
    names, numbers = np.unique(np.asarray(clusters), return_inverse=True)
    return None if names.size in {1, n} else numbers


@lru_cache(maxsize=128)  # a league asks for that of each entry beside every other
def time_term(side: Outcomes, estimand: Estimand) -> LogTerm:
    """Return the mean, geometric mean or, if a run failed, expected time to a success of a side.

    The variance of its log is the delta method's, from the influence of every run; where setups are
    pooled, from the sums over each (with K/(K-1): Liang and Zeger 1986), with K-1 df.
    """
    if side.all_reached and estimand == "geomean":
        logs = np.log(side.times)
        estimate, influence = geometric_mean(side.times), logs - logs.mean()
    else:
        hits = side.reached.astype(np.float64)
        estimate = mean(side.times) / mean(hits)
        influence = side.times / mean(side.times) - hits / mean(hits)
    if side.all_reached and is_constant(side.times):
        influence = np.zeros(side.n)  # rounding would leave 1e-34 in place of no variance
    return LogTerm(estimate, *variance_of_mean(influence, side.clusters))


def expected_time(times: ArrayLike, reached: ArrayLike) -> LogTerm:
    """Return the expected time to a success with failures paid for, with its variance.

    The seconds of all runs over the number of successes, infinite without one: one would start
    again until a run succeeds (Auger and Hansen 2005). With s_i the successes, the variance of its
    log is sum(IF^2)/(n(n-1)) of IF_i = T_i/mean(T) - s_i/mean(s).
    """
    side = make_outcomes(times, reached)
    return time_term(side, "mean") if side.n_reached else LogTerm(math.inf, None, 0.0)


def expected_times(times: Floats, reached: Bools) -> Floats:
    """Return the expected time to a success of each group, shape (groups, n)."""
    hits = means(reached.astype(np.float64))
    infinite = np.where(np.isnan(times).any(axis=-1), np.nan, np.inf)
    return np.divide(means(times), hits, out=infinite, where=hits > 0)


def variance_of_mean(
    influence: Floats, clusters: NDArray[np.intp] | None = None
) -> tuple[float | None, float]:
    """Return variance and degrees of freedom of a mean from the influence of each run."""
    totals = influence if clusters is None else np.bincount(clusters, weights=influence)
    k = totals.size
    if k < 2:
        return None, 0
    return float(math.fsum(totals**2)) * k / (k - 1) / influence.size**2, k - 1


def wilson_interval(successes: int, n: int, confidence: float) -> tuple[float, float, float]:
    """Return the fraction of runs that reached, and the ends of Wilson's score interval (1927)."""
    z2, p = two_sided_t(math.inf, confidence) ** 2, successes / n
    centre = p + z2 / (2 * n)
    half = math.sqrt(z2 * (p * (1 - p) / n + z2 / (4 * n**2)))
    scale = 1 + z2 / n
    # The ends are exact by definition; rounding would leave 0.9999999999999999.
    low = (centre - half) / scale if successes else 0.0
    high = (centre + half) / scale if successes < n else 1.0
    return p, low, high


def reached_at_least(successes: int, n: int, *, confidence: float) -> float:
    """Return the one-sided lower bound of the fraction that reaches, by Clopper and Pearson."""
    if not successes:
        return 0.0
    return float(special.betaincinv(successes, n - successes + 1, 1 - confidence))


def newcombe_difference(
    successes_a: int, n_a: int, successes_b: int, n_b: int, *, confidence: float
) -> Difference:
    """Return the fraction of A minus that of B with Newcombe's hybrid score interval (1998)."""
    p_a, low_a, high_a = wilson_interval(successes_a, n_a, confidence)
    p_b, low_b, high_b = wilson_interval(successes_b, n_b, confidence)
    difference = p_a - p_b
    return Difference(
        estimate=difference,
        low=difference - math.hypot(p_a - low_a, high_b - p_b),
        high=difference + math.hypot(high_a - p_a, p_b - low_b),
        confidence=confidence,
    )


def fisher_p(successes_a: int, n_a: int, successes_b: int, n_b: int) -> float:
    """Return the p of Fisher's exact test: of all tables no more likely than the one observed."""
    total = successes_a + successes_b
    p = _success_probabilities(total, n_a, n_b)
    return min(1.0, float(p[p <= p[successes_a - max(0, total - n_b)] * (1 + 1e-7)].sum()))


def fails_more_p(successes_a: int, n_a: int, successes_b: int, n_b: int) -> float:
    """Return the one-sided p of Fisher's exact test of "B fails no more often than A"."""
    total = successes_a + successes_b
    p = _success_probabilities(total, n_b, n_a)
    return min(1.0, float(p[: successes_b - max(0, total - n_a) + 1].sum()))


def _success_probabilities(total: int, n: int, n_other: int) -> Floats:
    """Return the probability of each number of successes among n, given the total of both sides."""
    # As `scipy.stats.hypergeom`, whose import takes longer than a comparison.
    k = np.arange(max(0, total - n_other), min(n, total) + 1, dtype=np.float64)
    counts = np.stack([k, n - k, total - k, n_other - total + k])
    log_p = -special.gammaln(counts + 1).sum(axis=0)
    weights = np.exp(log_p - log_p.max())
    return np.asarray(weights / weights.sum(), np.float64)
