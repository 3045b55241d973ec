"""When runs reach the target, with failed runs as right-censored observations.

Censoring by a budget that all runs share is not what survival analysis was made for, and
hazards of training runs are spikes: the curve describes, the expected time decides.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ttastats.stats.moments import as_outcomes
from ttastats.stats.permutation import DRAWS, permute_scores
from ttastats.stats.quantiles import check_confidence, chi2_tail, two_sided_z
from ttastats.stats.results import Bools, Estimate, Flag, Floats, Significance

HALF = 0.5 + 1e-12
"""A product of fractions that is one half comes out as 0.5 + 1 ulp; it still is one half."""


@dataclass(frozen=True, slots=True, eq=False)
class SurvivalCurve:
    """Kaplan-Meier: share of runs still without success just after each of ``seconds``.

    All arrays have one entry per distinct time, successes and censorings. ``std_error`` is
    Greenwood's (0 where the share is 0 or 1); ``low`` and ``high`` are log-log limits.
    ``median`` is the first time at which half of the runs are done.
    """

    seconds: Floats
    survival: Floats
    std_error: Floats
    low: Floats
    high: Floats
    at_risk: Floats
    median: Estimate
    confidence: float
    n: int
    n_censored: int
    flags: tuple[Flag, ...]


@dataclass(frozen=True, slots=True)
class RestrictedMean:
    """Mean seconds spent up to ``horizon``, a run that is done spending no more."""

    estimate: float | None
    low: float | None
    high: float | None
    std_error: float | None
    horizon: float
    confidence: float
    n: int
    n_censored: int
    flags: tuple[Flag, ...]


@dataclass(frozen=True, slots=True)
class LogRank:
    """Log-rank test: chi-squared and its p, and the permutation p of the log-rank scores."""

    chi2: float | None
    p_asymptotic: float
    permutation: Significance
    n_a: int
    n_b: int
    n_censored_a: int
    n_censored_b: int


@dataclass(frozen=True, slots=True)
class _Table:
    """Distinct times, and at each: runs not yet done or stopped before, and successes."""

    seconds: Floats
    at_risk: Floats
    successes: Floats


def _life_table(times: Floats, success: Bools) -> _Table:
    seconds, inverse = np.unique(times, return_inverse=True)
    leaving = np.bincount(inverse, minlength=seconds.size).astype(np.float64)
    done = np.bincount(inverse[success], minlength=seconds.size).astype(np.float64)
    return _Table(seconds, np.cumsum(leaving[::-1])[::-1], done)


def survival_curve(
    times: ArrayLike, reached: ArrayLike, *, confidence: float = 0.95
) -> SurvivalCurve:
    """Kaplan-Meier curve (1958) with Greenwood errors and log-log limits.

    Seconds and booleans, shape (n,). Two ends where the log-log limits do not exist are
    filled by what is known: before the first success the lower limit is Clopper-Pearson's
    for 0 successes of the runs at risk; once no run is left the limits are 0 and the last
    upper limit. ValueError for no runs.
    """
    z = two_sided_z(check_confidence(confidence))
    sample, success = as_outcomes(times, reached)
    if sample.size == 0:
        raise ValueError("no runs")
    table = _life_table(sample, success)
    survival = np.multiply.accumulate(1 - table.successes / table.at_risk)
    greenwood = np.cumsum(_greenwood_terms(table))
    low, high = _log_log_limits(survival, greenwood, z)
    untouched = survival == 1.0
    low[untouched] = ((1 - confidence) / 2) ** (1 / table.at_risk[untouched])
    finished = survival == 0.0
    low[finished] = 0.0
    high[finished] = high[~finished][-1] if not finished.all() else 1.0
    median = _median(table.seconds, survival, low, high, confidence, success)
    return SurvivalCurve(
        seconds=table.seconds,
        survival=survival,
        std_error=survival * np.sqrt(greenwood),
        low=low,
        high=high,
        at_risk=table.at_risk,
        median=median,
        confidence=confidence,
        n=sample.size,
        n_censored=int(np.sum(~success)),
        flags=median.flags,
    )


def _greenwood_terms(table: _Table) -> Floats:
    """D / (n (n - d)), and 0 where the last runs all succeed: nothing is uncertain after."""
    left = table.at_risk - table.successes
    terms: Floats = np.divide(
        table.successes, table.at_risk * left, out=np.zeros_like(left), where=left > 0
    )
    return terms


def _log_log_limits(survival: Floats, greenwood: Floats, z: float) -> tuple[Floats, Floats]:
    """Limits exp(-exp(log(-log S) +- z SE)); 1 where S is 0 or 1, to be replaced."""
    inside = (survival > 0) & (survival < 1)
    log_s = np.log(np.where(inside, survival, 0.5))
    half = z * np.sqrt(greenwood) / np.abs(log_s)
    low = np.where(inside, np.exp(log_s * np.exp(half)), 1.0)
    high = np.where(inside, np.exp(log_s * np.exp(-half)), 1.0)
    return low, high


def _median(
    seconds: Floats,
    survival: Floats,
    low: Floats,
    high: Floats,
    confidence: float,
    success: Bools,
) -> Estimate:
    """First time with S <= 1/2; limits where the curve's limits pass 1/2 (Brookmeyer 1982)."""

    def first(curve: Floats) -> float | None:
        below = np.flatnonzero(curve <= HALF)
        return float(seconds[below[0]]) if below.size else None

    middle, early, late = first(survival), first(low), first(high)
    flags: tuple[Flag, ...] = ()
    if middle is None:
        share = f"{int(success.sum())}/{success.size}"
        flags = (Flag("median_not_reached", f"no median: {share} runs reached the target"),)
    return Estimate(
        estimate=middle,
        low=early,
        high=math.inf if late is None and early is not None else late,
        confidence=confidence,
        n=success.size,
        n_censored=int(np.sum(~success)),
        flags=flags,
    )


def common_horizon(times_a: ArrayLike, times_b: ArrayLike) -> float:
    """Longest time up to which both sides were observed, in seconds."""
    a, b = np.asarray(times_a, dtype=np.float64), np.asarray(times_b, dtype=np.float64)
    for name, times in (("A", a), ("B", b)):
        if times.size == 0:
            raise ValueError(f"no runs for side {name}")
    return min(float(a.max()), float(b.max()))


def restricted_mean(
    times: ArrayLike, reached: ArrayLike, horizon: float, *, confidence: float = 0.95
) -> RestrictedMean:
    """Restricted mean seconds to success: the area under the curve up to ``horizon``.

    Standard error as in Klein and Moeschberger (2003, eq. 4.5.2), normal interval. No
    estimate beyond the longest observation when that one was censored; ValueError for no
    runs or a horizon that is not positive.
    """
    z = two_sided_z(check_confidence(confidence))
    sample, success = as_outcomes(times, reached)
    if sample.size == 0 or not horizon > 0:
        raise ValueError("runs and a positive horizon are needed")
    n, n_censored = sample.size, int(np.sum(~success))
    table = _life_table(sample, success)
    survival = np.multiply.accumulate(1 - table.successes / table.at_risk)
    if horizon > table.seconds[-1] and survival[-1] > 0:
        message = f"nothing observed beyond {table.seconds[-1]:g} s: choose a horizon up to there"
        flags = (Flag("beyond_observation", message),)
        return RestrictedMean(None, None, None, None, horizon, confidence, n, n_censored, flags)
    edges = np.minimum(np.concatenate([[0.0], table.seconds, [horizon]]), horizon)
    areas = np.diff(edges) * np.concatenate([[1.0], survival])
    # The area right of each time: what an error in the curve at that time multiplies.
    ahead = np.cumsum(areas[:0:-1])[::-1]
    variance = float(np.sum(ahead**2 * _greenwood_terms(table)))
    estimate, se = float(np.sum(areas)), math.sqrt(variance)
    return RestrictedMean(
        estimate=estimate,
        low=max(0.0, estimate - z * se),
        high=min(horizon, estimate + z * se),
        std_error=se,
        horizon=horizon,
        confidence=confidence,
        n=n,
        n_censored=n_censored,
        flags=(),
    )


def log_rank(
    times_a: ArrayLike,
    reached_a: ArrayLike,
    times_b: ArrayLike,
    reached_b: ArrayLike,
    *,
    rng: np.random.Generator | None = None,
    draws: int = DRAWS,
) -> LogRank:
    """Log-rank test of equal curves (Mantel 1966), asymptotic and by permutation.

    The permutation p is that of the log-rank scores, event minus cumulative hazard; trust
    it below 10 runs a side, where the asymptotic one rejects 6 to 8 % of equal pairs. When
    nobody succeeded, p is 1. ValueError for an empty side.
    """
    a, hits_a = as_outcomes(times_a, reached_a, "A")
    b, hits_b = as_outcomes(times_b, reached_b, "B")
    pooled, hits = np.concatenate([a, b]), np.concatenate([hits_a, hits_b])
    table = _life_table(pooled, hits)
    at_risk_a = a.size - np.searchsorted(np.sort(a), table.seconds, side="left")
    share_a = at_risk_a / table.at_risk
    surprise = float(hits_a.sum()) - float(np.sum(table.successes * share_a))
    spread = table.successes * share_a * (1 - share_a) * (table.at_risk - table.successes)
    variance = float(np.sum(spread / np.maximum(table.at_risk - 1, 1)))
    chi2 = surprise**2 / variance if variance > 0 else None
    hazard = np.cumsum(table.successes / table.at_risk)
    scores = hits - hazard[np.searchsorted(table.seconds, pooled)]
    return LogRank(
        chi2=chi2,
        p_asymptotic=1.0 if chi2 is None else chi2_tail(chi2, 1),
        permutation=permute_scores(scores, a.size, rng=rng, draws=draws),
        n_a=a.size,
        n_b=b.size,
        n_censored_a=int(np.sum(~hits_a)),
        n_censored_b=int(np.sum(~hits_b)),
    )
