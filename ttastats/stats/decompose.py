"""Why B is faster, and why runs of one side vary: epochs, or time per epoch.

Time = epochs x time per epoch, so on the log scale both a speedup and a variance split into
parts that add up exactly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ttastats.stats.moments import as_pair, as_side, coefficient_of_variation, is_constant
from ttastats.stats.quantiles import check_confidence, two_sided_t
from ttastats.stats.results import Estimate, Floats, Ratio, Withheld
from ttastats.stats.speedup import ratio_of_geometric_means
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


@dataclass(frozen=True, slots=True)
class SpeedupParts:
    """The parts of a speedup in geometric means: it is ``throughput`` x ``epochs`` exactly.

    Each part is A over B, above 1 where B gains.
    """

    throughput: Ratio
    epochs: Ratio


@dataclass(frozen=True, slots=True)
class VarianceParts:
    """The variance of log time of one side, split by covariance; shares sum to 1.

    A share may leave [0, 1] where the parts move against each other. Shares are None where the
    epochs or the times did not vary, of 2 runs, and where the parts cancel each other.
    ``cv_ratio`` is CV(epochs) over CV(time per epoch), the last column of the paper's Table 4. All
    with ddof=1.
    """

    share_epochs: Estimate
    share_epoch_time: Estimate
    cv_ratio: float | None


def decompose_speedup(
    times_a: ArrayLike,
    epochs_a: ArrayLike,
    times_b: ArrayLike,
    epochs_b: ArrayLike,
    *,
    confidence: float = 0.95,
) -> SpeedupParts:
    """Split the speedup of B over A into throughput and epochs, each with a Welch interval.

    Times in seconds and epochs to target of the successful runs, shapes (n_A,) and (n_B,).
    ValueError for an empty side or lengths that differ.
    """
    check_confidence(confidence)
    t_a, e_a = as_pair(as_side(times_a, "A"), epochs_a, "A")
    t_b, e_b = as_pair(as_side(times_b, "B"), epochs_b, "B")

    return SpeedupParts(
        throughput=ratio_of_geometric_means(t_a / e_a, t_b / e_b, confidence=confidence),
        epochs=ratio_of_geometric_means(e_a, e_b, confidence=confidence),
    )


def decompose_variance(times: ArrayLike, epochs: ArrayLike) -> VarianceParts:
    """Split the variance of log time into the shares of epochs and of time per epoch.

    share_e = Cov(log e, log T) / Var(log T). Times in seconds, shape (n,). From 10 runs on the
    shares get a jackknife interval, unless it holds nearly every share or a run's time per epoch is
    unlike the others'. ValueError for lengths that differ.
    """
    total, progress = as_pair(times, epochs)
    epoch_time = total / progress
    logs = np.log(np.stack([progress, epoch_time]))
    cv_epochs, cv_epoch_time = map(coefficient_of_variation, (progress, epoch_time))
    cv_ratio = None
    if cv_epochs is not None and cv_epoch_time is not None and (cv_epochs or cv_epoch_time):
        cv_ratio = cv_epochs / cv_epoch_time if cv_epoch_time else math.inf
    shares, withheld = _shares(total, progress, logs)
    limits, unlimited = _limits(epoch_time, logs) if shares is not None else (None, withheld)
    of_epochs, of_epoch_time = (
        Estimate(
            None if shares is None else float(shares[part]),
            limits[part][0] if limits else None,
            limits[part][1] if limits else None,
            _CONFIDENCE,
            total.size,
            unlimited,
        )
        for part in range(2)
    )
    return VarianceParts(of_epochs, of_epoch_time, cv_ratio)


def _shares(total: Floats, progress: Floats, logs: Floats) -> tuple[Floats | None, Withheld | None]:
    """Return the shares, or why there are none; neither where nothing varies."""
    if is_constant(progress) or is_constant(total):
        return None, None
    if total.size < RUNS_FOR_SHARES:
        return None, "few_runs"
    shares = covariance_shares(logs)
    if shares is not None and not 1 - FARTHEST_SHARE <= float(shares[0]) <= FARTHEST_SHARE:
        return None, "parts_cancel"  # NaN too
    return shares, None


def _limits(
    epoch_time: Floats, logs: Floats
) -> tuple[list[tuple[float, float]] | None, Withheld | None]:
    """Return the limits of the shares, or why they have none."""
    if epoch_time.size < RUNS_FOR_INTERVAL:
        return None, "few_runs"
    if has_outlier(epoch_time):
        return None, "unusual_run"
    limits = jackknife_limits(logs, _CONFIDENCE)
    if limits is None:
        return None, "unusual_run"
    low, high = limits[0]
    if low <= _NEARLY_NONE and high >= 1 - _NEARLY_NONE:
        return None, "no_information"
    return limits, None


def covariance_shares(logs: Floats) -> Floats | None:
    """Covariance shares of the parts of a sum: ``logs`` (parts, n) -> (parts,), adding up to 1.

    None where the sum of the parts does not vary.
    """
    products, squares = _centred(logs)
    whole = float(squares.sum())
    # Below this, what is left of the variance is rounding.
    if not whole > 1e-24 * logs.shape[1]:
        return None
    shares: Floats = products.sum(axis=1) / whole
    return shares


def jackknife_limits(logs: Floats, confidence: float) -> list[tuple[float, float]] | None:
    """Limits of each share: the share, plus and minus Student's t times its jackknife error.

    ``logs``: shape (parts, n). With n - 1 degrees of freedom (Tukey 1958; Efron and Stein 1981).
    None where the sum does not vary without one of the runs.
    """
    shares = covariance_shares(logs)
    products, squares = _centred(logs)
    n = logs.shape[1]
    # Without a run, a sum of centred products loses its own times n / (n - 1).
    left = squares.sum() - n / (n - 1) * squares
    if shares is None or not bool(np.all(left > 1e-12 * squares.sum())):
        return None
    without = (products.sum(axis=1, keepdims=True) - n / (n - 1) * products) / left
    errors = np.sqrt((n - 1) / n * np.sum((without - without.mean(axis=1, keepdims=True)) ** 2, 1))
    half = two_sided_t(n - 1, confidence) * errors
    return [(float(s - h), float(s + h)) for s, h in zip(shares, half, strict=True)]


def _centred(logs: Floats) -> tuple[Floats, Floats]:
    """Return the products of each part with the sum, (parts, n), and the squares of the sum, (n,).

    All about their means.
    """
    centred = logs - logs.mean(axis=1, keepdims=True)
    total = centred.sum(axis=0)
    return centred * total, total**2
