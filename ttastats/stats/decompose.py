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
from ttastats.stats.results import Estimate, Ratio
from ttastats.stats.shares import RUNS_FOR_BOOTSTRAP, Limits, bootstrap_limits, covariance_shares
from ttastats.stats.speedup import ratio_of_geometric_means


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
    epochs or the times did not vary. ``cv_ratio`` is CV(epochs) over CV(time
    per epoch), the last column of the paper's Table 4. All with ddof=1.
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


def decompose_variance(
    times: ArrayLike, epochs: ArrayLike, *, rng: np.random.Generator | None = None
) -> VarianceParts:
    """Split the variance of log time into the shares of epochs and of time per epoch.

    share_e = Cov(log e, log T) / Var(log T). Times in seconds, shape (n,). With ``rng`` and
    at least 10 runs the shares get a percentile bootstrap interval over runs; below, the
    estimate alone. ValueError for lengths that differ.
    """
    total, progress = as_pair(times, epochs)
    epoch_time = total / progress
    logs = np.log(np.stack([progress, epoch_time]))
    n = total.size
    varies = n > 1 and not is_constant(progress) and not is_constant(total)
    known = covariance_shares(logs[:, np.newaxis, :]) if varies else None
    limits: list[Limits] = [(None, None)] * len(logs)
    if known is not None and rng is not None and n >= RUNS_FOR_BOOTSTRAP:
        limits = bootstrap_limits(logs, rng, _CONFIDENCE)
    found = [None] * len(logs) if known is None else known[:, 0].tolist()
    share_epochs, share_epoch_time = (
        Estimate(None if share is None or math.isnan(share) else share, *ends, _CONFIDENCE, n)
        for share, ends in zip(found, limits, strict=True)
    )
    cvs = (coefficient_of_variation(progress), coefficient_of_variation(epoch_time))
    return VarianceParts(share_epochs, share_epoch_time, _cv_ratio(*cvs))


#: That of the intervals of shares.
_CONFIDENCE = 0.95


def _cv_ratio(cv_epochs: float | None, cv_epoch_time: float | None) -> float | None:
    if cv_epochs is None or cv_epoch_time is None:
        return None
    if cv_epoch_time == 0.0:
        return None if cv_epochs == 0.0 else math.inf
    return cv_epochs / cv_epoch_time
