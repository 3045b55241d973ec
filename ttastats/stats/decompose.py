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
from ttastats.stats.quantiles import check_confidence
from ttastats.stats.results import Estimate, Floats, Ratio, Withheld
from ttastats.stats.shares import (
    RUNS_FOR_INTERVAL,
    RUNS_FOR_SHARES,
    cancels,
    covariance_shares,
    jackknife_limits,
)
from ttastats.stats.speedup import ratio_of_geometric_means
from ttastats.stats.variation import has_outlier


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
    cvs = (coefficient_of_variation(progress), coefficient_of_variation(epoch_time))
    shares, withheld = _shares(total, progress, logs)
    limits, unlimited = _limits(epoch_time, logs) if shares is not None else (None, withheld)
    one, other = (
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
    return VarianceParts(one, other, _cv_ratio(*cvs))


def _shares(total: Floats, progress: Floats, logs: Floats) -> tuple[Floats | None, Withheld | None]:
    """Return the shares, or why there are none; neither where nothing varies."""
    if is_constant(progress) or is_constant(total):
        return None, None
    if total.size < RUNS_FOR_SHARES:
        return None, "few_runs"
    shares = covariance_shares(logs)
    if shares is not None and cancels(float(shares[0])):
        return None, "parts_cancel"
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


#: That of the intervals of shares.
_CONFIDENCE = 0.95

#: An interval of a share that leaves less than this open on either side says nothing.
_NEARLY_NONE = 0.05


def _cv_ratio(cv_epochs: float | None, cv_epoch_time: float | None) -> float | None:
    if cv_epochs is None or cv_epoch_time is None:
        return None
    if cv_epoch_time == 0.0:
        return None if cv_epochs == 0.0 else math.inf
    return cv_epochs / cv_epoch_time
