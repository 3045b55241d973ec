"""Why do runs of one side vary: in epochs, or in time per epoch?

Time = epochs x time per epoch, so on the log scale a variance splits into parts that add up
exactly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ttastats.stats.moments import constant_groups, deviations, means
from ttastats.stats.quantiles import two_sided_t
from ttastats.stats.results import Floats, Withheld
from ttastats.stats.variation import has_outlier

RUNS_FOR_SHARES = 3
"""Two runs always give one part all of the variance but for the other's noise."""

RUNS_FOR_INTERVAL = 10
"""Below, a jackknife of a share rests on too few values of epochs."""

FARTHEST_SHARE = 2.0
"""Beyond, or below its mirror image -1, parts cancel each other and a share of their sum means
nothing: the sum varies less than either part."""

#: That of the intervals of shares.
_CONFIDENCE = 0.95

#: An interval of a share that leaves less than this open on either side says nothing.
_NEARLY_NONE = 0.05


@dataclass(frozen=True, slots=True, eq=False)
class VarianceShares:
    """The variance of log time of groups, split by covariance; NaN is unknown.

    ``shares`` are those of epochs and of time per epoch, shape (2, groups), with their limits. They
    may leave [0, 1] where the parts move against each other, and are unknown where the epochs or
    the times did not vary, of 2 runs, and where the parts cancel each other. ``cv_ratio`` is
    CV(epochs) over CV(time per epoch), the last column of the paper's Table 4. All with ddof=1.
    """

    shares: Floats
    low: Floats
    high: Floats
    cv_ratio: Floats
    withheld: tuple[Withheld | None, ...]


def variance_shares(times: Floats, epochs: Floats) -> VarianceShares:
    """Return the shares of epochs and time per epoch in the variance of log time, by group.

    share_e = Cov(log e, log T) / Var(log T). Times and epochs are positive, shape (groups, n). From
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
    far = (shares[0] < 1 - FARTHEST_SHARE) | (shares[0] > FARTHEST_SHARE)
    codes[far] = "parts_cancel"
    shares[:, far] = np.nan
    limited = ~np.isnan(shares[0])
    if n < RUNS_FOR_INTERVAL:
        codes[limited] = "few_runs"
    else:
        low, high = jackknife_limits(logs, _CONFIDENCE)
        odd = limited & (has_outlier(epoch_time) | np.isnan(low[0]))
        empty = limited & ~odd & (low[0] <= _NEARLY_NONE) & (high[0] >= 1 - _NEARLY_NONE)
        codes[odd], codes[empty] = "unusual_run", "no_information"
        low, high = (np.where(limited & ~odd & ~empty, ends, np.nan) for ends in (low, high))
    return VarianceShares(shares, low, high, _cv_ratios(epochs, epoch_time), tuple(codes))


def _cv_ratios(epochs: Floats, epoch_time: Floats) -> Floats:
    """Return the CV of the epochs over that of the time per epoch; NaN where neither varies."""
    if not epochs.shape[1]:
        return np.full(len(epochs), np.nan)
    of_epochs, of_time = (deviations(each) / means(each) for each in (epochs, epoch_time))
    nothing = np.where(of_epochs > 0, np.inf, np.nan)
    ratios: Floats = np.divide(of_epochs, of_time, out=nothing, where=of_time > 0)
    return ratios


def covariance_shares(logs: Floats) -> Floats:
    """Return each part's share in the variance of its sum: (parts, groups, n) -> (parts, groups).

    They add up to 1. NaN where the sum of the parts does not vary.
    """
    products, squares = _centred_products(logs)
    whole = squares.sum(axis=-1)
    # Below this, what is left of the variance is rounding.
    real = whole > 1e-24 * logs.shape[-1]
    shares: Floats = products.sum(axis=-1) / np.where(real, whole, np.nan)
    return shares


def jackknife_limits(logs: Floats, confidence: float) -> tuple[Floats, Floats]:
    """Return the confidence limits of each share by the jackknife and Student's t.

    ``logs``: as above. With n - 1 degrees of freedom (Tukey 1958; Efron and Stein 1981).
    NaN where the sum does not vary without one of the runs.
    """
    shares = covariance_shares(logs)
    products, squares = _centred_products(logs)
    n, whole = logs.shape[-1], squares.sum(axis=-1, keepdims=True)
    # Without a run, a sum of centred products loses its own times n / (n - 1).
    left = whole - n / (n - 1) * squares
    left = np.where(np.all(left > 1e-12 * whole, axis=-1, keepdims=True), left, np.nan)
    without = (products.sum(axis=-1, keepdims=True) - n / (n - 1) * products) / left
    away = without - without.mean(axis=-1, keepdims=True)
    half = two_sided_t(n - 1, confidence) * np.sqrt((n - 1) / n * np.sum(away**2, axis=-1))
    return shares - half, shares + half


def _centred_products(logs: Floats) -> tuple[Floats, Floats]:
    """Return the products of each part with the sum, both centred, and the sum's squares.

    All about their means.
    """
    centred = logs - logs.mean(axis=-1, keepdims=True)
    total = centred.sum(axis=0)
    return centred * total, total**2
