"""How uncertain a coefficient of variation is."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ttastats.stats.means import RUNS_FOR_INTERVAL
from ttastats.stats.moments import as_sample, constant_groups, deviations, means
from ttastats.stats.outliers import grubbs_limit
from ttastats.stats.quantiles import chi2_quantile, two_sided_t
from ttastats.stats.results import Bools, Estimate, Floats, Withheld, none_for_nan
from ttastats.stats.unseen import cv_epochs_high

RUNS_FOR_MOMENTS = 10
"""From here on a rare value has shown up often enough for the moment-based intervals."""

RUNS_FOR_REPEATS = 5
"""Of fewer runs, equal times may hide most of the spread: rounding to 1 SD leaves 80 % coverage."""

_UNUSUAL = 0.05
"""Level of the test for one run that is unlike the others."""


def cv_interval(
    times: ArrayLike,
    *,
    epochs: ArrayLike | None = None,
    evaluation_interval: float | None = None,
    confidence: float = 0.95,
    ddof: int = 1,
) -> Estimate:
    """Return the coefficient of variation (a fraction) of times with its interval.

    Modified McKay limits; from 10 runs on their union with the moment-based limits, of which the
    delta method's hold for two-valued times and Bonett's for heavy tails; when every run took the
    same ``epochs``, an upper limit that allows for epochs not yet seen (``evaluation_interval``:
    the epochs between two evaluations). ``ddof`` changes the estimate only.

    No interval below 3 runs, of fewer than 5 of which two took the same time, of times that are
    all equal, and of fewer than 10 runs of which one is unlike the others: how often such a run
    comes is then unknown.
    """
    sample = as_sample(times)
    progress = None if epochs is None else as_sample(epochs)[None]
    step = math.nan if evaluation_interval is None else float(evaluation_interval)
    of_one = cv_intervals(
        sample[None], progress, np.array([step]), confidence=confidence, ddof=ddof
    )
    (estimate,), (low,), (high,) = map(none_for_nan, (of_one.estimate, of_one.low, of_one.high))
    return Estimate(estimate, low, high, confidence, sample.size, of_one.withheld[0])


@dataclass(frozen=True, slots=True, eq=False)
class Spreads:
    """Coefficients of variation of groups with their intervals, shape (groups,); NaN is unknown."""

    estimate: Floats
    low: Floats
    high: Floats
    withheld: tuple[Withheld | None, ...]


def cv_intervals(
    times: Floats,
    epochs: Floats | None,
    evaluation_interval: Floats,
    *,
    confidence: float = 0.95,
    ddof: int = 1,
) -> Spreads:
    """Return the CV and interval of each group of positive times, shape (groups, n).

    ``epochs``, of that shape, and ``evaluation_interval``, shape (groups,), are NaN where unknown.
    """
    n = times.shape[1]
    progress = np.full(times.shape, np.nan) if epochs is None else epochs
    bounded = constant_groups(progress) & ~np.isnan(evaluation_interval)
    estimate = deviations(times, ddof) / means(times) if n else np.full(len(times), np.nan)
    if n < RUNS_FOR_INTERVAL:
        nothing = np.full(len(times), np.nan)
        few: list[Withheld | None] = ["few_runs"] * len(times)
        return Spreads(estimate, nothing, nothing, tuple(few))
    repeated = ~bounded & constant_groups(times)
    if n < RUNS_FOR_REPEATS:
        repeated |= ~bounded & np.any(np.diff(np.sort(times, axis=1), axis=1) == 0.0, axis=1)
    unusual = np.zeros(len(times), dtype=np.bool_)
    if RUNS_FOR_REPEATS <= n < RUNS_FOR_MOMENTS:
        # One evaluation interval is the least by which epochs differ.
        near = np.ptp(progress, axis=1) <= np.nan_to_num(evaluation_interval) * (1 + 1e-9)
        unusual = has_outlier(np.where(near[:, None], times / progress, times))
    low, plain = vangel_limits(deviations(times) / means(times), n, confidence)
    unseen = cv_epochs_high(progress[:, 0], n, evaluation_interval, confidence)
    # Time is epochs times time per epoch, independent: 1 + CV^2 multiplies (Goodman 1960).
    safe = np.sqrt((1 + unseen**2) * (1 + plain**2) - 1)
    high = np.where(bounded, np.maximum(plain, safe), plain)
    if n >= RUNS_FOR_MOMENTS:
        for other in (delta_limits(times, confidence), bonett_limits(times, confidence)):
            low, high = np.minimum(low, other[0]), np.maximum(high, other[1])
    hidden = repeated | unusual
    withheld: list[Withheld | None] = [
        "repeated_times" if same else "unusual_run" if odd else None
        for same, odd in zip(repeated.tolist(), unusual.tolist(), strict=True)
    ]
    return Spreads(
        estimate, np.where(hidden, np.nan, low), np.where(hidden, np.nan, high), tuple(withheld)
    )


def has_outlier(values: Floats) -> Bools:
    """Return whether each group has an outlier by Grubbs' test (1950) of the logs.

    ``values``: shape (n,), or (groups, n) for an answer of each group.
    """
    logs, n = np.log(values), values.shape[-1]
    with np.errstate(divide="ignore", invalid="ignore"):  # of equal values
        away = np.abs(logs - logs.mean(axis=-1, keepdims=True)).max(axis=-1)
        furthest = away / logs.std(axis=-1, ddof=1)
    odd: Bools = ~constant_groups(values) & (furthest > grubbs_limit(n, _UNUSUAL))
    return odd


def vangel_limits(cv: ArrayLike, n: int, confidence: float = 0.95) -> tuple[Floats, Floats]:
    """Return limits of CVs (ddof=1) by the modified McKay method (Vangel 1996); high may be inf."""
    tail, cv = (1 - confidence) / 2, np.asarray(cv, dtype=np.float64)

    def limit(chi2: float) -> Floats:
        radicand = ((chi2 + 2) / n - 1) * cv**2 + chi2 / (n - 1)
        roots = np.sqrt(np.maximum(radicand, 0.0))
        infinite = np.full(cv.shape, np.inf)
        limits: Floats = np.divide(cv, roots, out=infinite, where=radicand > 0)
        return limits

    return limit(chi2_quantile(1 - tail, n - 1)), limit(chi2_quantile(tail, n - 1))


def delta_limits(times: Floats, confidence: float = 0.95) -> tuple[Floats, Floats]:
    """Return limits of the CV by the delta method on its log, with Student's t.

    ``times``: shape (n,), or (groups, n).
    """
    cv, n = deviations(times) / means(times), times.shape[-1]
    centre = times.mean(axis=-1, keepdims=True)
    deviation = times - centre
    second = np.mean(deviation**2, axis=-1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):  # of equal times
        influence = (deviation**2 / second - 1) / 2 - deviation / centre
    se = np.sqrt(np.mean(influence**2, axis=-1) / n)
    half = two_sided_t(n - 1, confidence) * se
    return _log_limits(cv, cv, half)


def bonett_limits(times: Floats, confidence: float = 0.95) -> tuple[Floats, Floats]:
    """Return limits of the CV of 5 or more times, which may have heavy tails.

    Bonett's limits of a standard deviation (2006, Comput. Stat. Data Anal. 50, 775), with a t
    quantile in place of the normal one and the variance of the log mean added.
    """
    n, cv = times.shape[-1], deviations(times) / means(times)
    # About a trimmed mean the kurtosis of skewed times is less underestimated.
    cut = int(n / (2 * math.sqrt(n - 4)))
    centre = np.sort(times, axis=-1)[..., cut : n - cut].mean(axis=-1, keepdims=True)
    second = np.sum((times - times.mean(axis=-1, keepdims=True)) ** 2, axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):  # of equal times
        kurtosis = n * np.sum((times - centre) ** 4, axis=-1) / second**2
    correction = n / (n - two_sided_t(math.inf, confidence))
    variance = np.maximum(kurtosis - (n - 3) / n, 0.0) / (n - 1)
    se = np.hypot(correction * np.sqrt(variance) / 2, cv / math.sqrt(n))
    half = two_sided_t(n - 1, confidence) * se
    return _log_limits(cv, cv * math.sqrt(correction), half)


def _log_limits(cv: Floats, middle: Floats, half: Floats) -> tuple[Floats, Floats]:
    """Return the limits of CVs from half-widths on the log scale; 0 of equal times."""
    low, high = middle * np.exp(-half), middle * np.exp(half)
    return np.where(cv == 0.0, 0.0, low), np.where(cv == 0.0, 0.0, high)
