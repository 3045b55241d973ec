"""How much runs of one side vary, how sure that is, and whether in epochs or in time per epoch."""

from __future__ import annotations

import math

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike

from ttastats.stats.means import RUNS_FOR_INTERVAL
from ttastats.stats.moments import (
    as_sample,
    chi2_quantile,
    constant_groups,
    deviations,
    grubbs_limit,
    means,
    two_sided_t,
)
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
    confidence: float,
    ddof: int,
) -> Estimate:
    """Return the coefficient of variation (a fraction) of times with its interval.

    Modified McKay limits; from 10 runs on their union with those of the delta method (for
    two-valued times) and of Bonett (for heavy tails); where every run took the same ``epochs``, an
    upper limit that allows for epochs not seen. ``ddof`` changes the estimate only.

    No interval below 3 runs, of fewer than 5 of which two took the same time, of equal times, and
    of fewer than 10 of which one is unlike the others: how often such a run comes is unknown.
    """
    sample = as_sample(times)
    progress = None if epochs is None else as_sample(epochs)[None]
    step = math.nan if evaluation_interval is None else float(evaluation_interval)
    of_one = cv_intervals(
        sample[None], progress, np.array([step]), confidence=confidence, ddof=ddof
    )
    (estimate,), (low,), (high,) = map(none_for_nan, (of_one.estimate, of_one.low, of_one.high))
    return Estimate(estimate, low, high, confidence, sample.size, of_one.withheld[0])


class Spreads(Struct, frozen=True, eq=False):
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
    confidence: float,
    ddof: int,
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
        reasons: list[Withheld | None] = ["few_runs"] * len(times)
        return Spreads(estimate, nothing, nothing, tuple(reasons))
    repeated = ~bounded & constant_groups(times)
    if n < RUNS_FOR_REPEATS:
        repeated |= ~bounded & np.any(np.diff(np.sort(times, axis=1), axis=1) == 0.0, axis=1)
    unusual = np.zeros(len(times), dtype=np.bool_)
    if RUNS_FOR_REPEATS <= n < RUNS_FOR_MOMENTS:
        # One evaluation interval is the least by which epochs differ.
        same_length = np.ptp(progress, axis=1) <= np.nan_to_num(evaluation_interval) * (1 + 1e-9)
        unusual = has_outlier(np.where(same_length[:, None], times / progress, times))
    low, vangel_high = vangel_limits(deviations(times) / means(times), n, confidence)
    unseen = cv_epochs_high(progress[:, 0], n, evaluation_interval, confidence)
    # Time is epochs times time per epoch, independent: 1 + CV^2 multiplies (Goodman 1960).
    safe = np.sqrt((1 + unseen**2) * (1 + vangel_high**2) - 1)
    high = np.where(bounded, np.maximum(vangel_high, safe), vangel_high)
    if n >= RUNS_FOR_MOMENTS:
        for limits in (delta_limits(times, confidence), bonett_limits(times, confidence)):
            low, high = np.minimum(low, limits[0]), np.maximum(high, limits[1])
    hidden = repeated | unusual
    withheld: list[Withheld | None] = [
        "repeated_times" if is_repeated else "unusual_run" if is_unusual else None
        for is_repeated, is_unusual in zip(repeated.tolist(), unusual.tolist(), strict=True)
    ]
    return Spreads(
        estimate, np.where(hidden, np.nan, low), np.where(hidden, np.nan, high), tuple(withheld)
    )


def has_outlier(values: Floats) -> Bools:
    """Return whether each group, shape (..., n), has an outlier by Grubbs' test of the logs."""
    logs, n = np.log(values), values.shape[-1]
    with np.errstate(divide="ignore", invalid="ignore"):  # of equal values
        largest_deviation = np.abs(logs - logs.mean(axis=-1, keepdims=True)).max(axis=-1)
        furthest = largest_deviation / logs.std(axis=-1, ddof=1)
    return np.asarray(~constant_groups(values) & (furthest > grubbs_limit(n, _UNUSUAL)))


def vangel_limits(cv: ArrayLike, n: int, confidence: float) -> tuple[Floats, Floats]:
    """Return limits of CVs (ddof=1) by the modified McKay method (Vangel 1996); high may be inf."""
    tail, cv = (1 - confidence) / 2, np.asarray(cv, dtype=np.float64)

    def limit(chi2: float) -> Floats:
        radicand = ((chi2 + 2) / n - 1) * cv**2 + chi2 / (n - 1)
        roots = np.sqrt(np.maximum(radicand, 0.0))
        infinite = np.full(np.shape(cv), np.inf)
        return np.asarray(np.divide(cv, roots, out=infinite, where=radicand > 0), np.float64)

    return limit(chi2_quantile(1 - tail, n - 1)), limit(chi2_quantile(tail, n - 1))


def delta_limits(times: Floats, confidence: float) -> tuple[Floats, Floats]:
    """Return limits of the CV of times, shape (..., n), by the delta method on its log."""
    cv, n = deviations(times) / means(times), times.shape[-1]
    centre = times.mean(axis=-1, keepdims=True)
    deviation = times - centre
    second = np.mean(deviation**2, axis=-1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):  # of equal times
        influence = (deviation**2 / second - 1) / 2 - deviation / centre
    se = np.sqrt(np.mean(influence**2, axis=-1) / n)
    half = two_sided_t(n - 1, confidence) * se
    return _log_limits(cv, cv, half)


def bonett_limits(times: Floats, confidence: float) -> tuple[Floats, Floats]:
    """Return limits of the CV of 5 or more times, which may have heavy tails.

    Bonett's limits of a standard deviation (2006, Comput. Stat. Data Anal. 50, 775), with a t
    quantile in place of the normal one and the variance of the log mean added.
    """
    n, cv = times.shape[-1], deviations(times) / means(times)
    # About a trimmed mean the kurtosis of skewed times is less underestimated.
    trimmed = int(n / (2 * math.sqrt(n - 4)))
    centre = np.sort(times, axis=-1)[..., trimmed : n - trimmed].mean(axis=-1, keepdims=True)
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


RUNS_FOR_SHARES = 3
"""Two runs always give one part all of the variance but for the other's noise."""

RUNS_FOR_JACKKNIFE = 10
"""Below, a jackknife of a share rests on too few values of epochs."""

FARTHEST_SHARE = 2.0
"""Beyond, or below -1, parts cancel each other: their sum varies less than either."""

#: An interval of a share that leaves less than this open on either side says nothing.
_NEARLY_NONE = 0.05


class VarianceShares(Struct, frozen=True, eq=False):
    """The variance of log time of groups, split by covariance; NaN is unknown.

    ``shares`` are those of epochs and of time per epoch, shape (2, groups), with their limits. They
    may leave [0, 1] where the parts move against each other. ``cv_ratio`` is CV(epochs) over
    CV(time per epoch), the last column of the paper's Table 4.
    """

    shares: Floats
    low: Floats
    high: Floats
    cv_ratio: Floats
    withheld: tuple[Withheld | None, ...]


def variance_shares(times: Floats, epochs: Floats, confidence: float) -> VarianceShares:
    """Return the shares of epochs and time per epoch in the variance of log time, by group.

    share_e = Cov(log e, log T) / Var(log T) of positive times and epochs, shape (groups, n). From
    10 runs on the shares get a jackknife interval, unless it holds nearly every share or a run's
    time per epoch is unlike the others'.
    """
    (groups, n), epoch_time = times.shape, times / epochs
    shares, low, high = (np.full((2, groups), np.nan) for _ in range(3))
    varies = ~(constant_groups(epochs) | constant_groups(times))
    codes = np.full(groups, None, dtype=object)
    if n < RUNS_FOR_SHARES:
        codes[varies] = "few_runs"
        return VarianceShares(shares, low, high, _cv_ratios(epochs, epoch_time), tuple(codes))
    logs = np.log(np.stack([epochs, epoch_time]))
    shares = np.where(varies, covariance_shares(logs), np.nan)
    is_extreme = (shares[0] < 1 - FARTHEST_SHARE) | (shares[0] > FARTHEST_SHARE)
    codes[is_extreme] = "parts_cancel"
    shares[:, is_extreme] = np.nan
    limited = ~np.isnan(shares[0])
    if n < RUNS_FOR_JACKKNIFE:
        codes[limited] = "few_runs"
    else:
        low, high = jackknife_limits(logs, confidence)
        doubtful = limited & (has_outlier(epoch_time) | np.isnan(low[0]))
        empty = limited & ~doubtful & (low[0] <= _NEARLY_NONE) & (high[0] >= 1 - _NEARLY_NONE)
        codes[doubtful], codes[empty] = "unusual_run", "no_information"
        low, high = (np.where(limited & ~doubtful & ~empty, ends, np.nan) for ends in (low, high))
    return VarianceShares(shares, low, high, _cv_ratios(epochs, epoch_time), tuple(codes))


def _cv_ratios(epochs: Floats, epoch_time: Floats) -> Floats:
    """Return the CV of the epochs over that of the time per epoch; NaN where neither varies."""
    if not epochs.shape[1]:
        return np.full(len(epochs), np.nan)
    of_epochs, of_time = (deviations(values) / means(values) for values in (epochs, epoch_time))
    nothing = np.where(of_epochs > 0, np.inf, np.nan)
    return np.divide(of_epochs, of_time, out=nothing, where=of_time > 0)


def covariance_shares(logs: Floats) -> Floats:
    """Return each part's share in the variance of its sum: (parts, groups, n) -> (parts, groups).

    They add up to 1. NaN where the sum of the parts does not vary.
    """
    products, squares = _centred_products(logs)
    total = squares.sum(axis=-1)
    # Below this, what is left of the variance is rounding.
    varies = total > 1e-24 * logs.shape[-1]
    shares: Floats = products.sum(axis=-1) / np.where(varies, total, np.nan)
    return shares


def jackknife_limits(logs: Floats, confidence: float) -> tuple[Floats, Floats]:
    """Return the limits of each share by the jackknife and Student's t (Efron and Stein 1981).

    NaN where the sum does not vary without one of the runs.
    """
    shares = covariance_shares(logs)
    products, squares = _centred_products(logs)
    n, total = logs.shape[-1], squares.sum(axis=-1, keepdims=True)
    # Without a run, a sum of centred products loses its own times n / (n - 1).
    totals_without = total - n / (n - 1) * squares
    totals_without = np.where(
        np.all(totals_without > 1e-12 * total, axis=-1, keepdims=True), totals_without, np.nan
    )
    shares_without = (
        products.sum(axis=-1, keepdims=True) - n / (n - 1) * products
    ) / totals_without
    away = shares_without - shares_without.mean(axis=-1, keepdims=True)
    half = two_sided_t(n - 1, confidence) * np.sqrt((n - 1) / n * np.sum(away**2, axis=-1))
    return shares - half, shares + half


def _centred_products(logs: Floats) -> tuple[Floats, Floats]:
    """Return the products of each part with the sum, both centred, and the sum's squares."""
    centred = logs - logs.mean(axis=-1, keepdims=True)
    total = centred.sum(axis=0)
    return centred * total, total**2
