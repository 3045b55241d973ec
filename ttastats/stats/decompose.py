"""Why B is faster, and why runs of one side vary: epochs, or time per epoch.

Time = epochs x time per epoch, so on the log scale both a speedup and a variance split into
parts that add up exactly. Where measured epoch durations are given, what they leave over
(start-up, evaluation) is a third part, overhead.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ttastats.stats.logratio import ratio_of
from ttastats.stats.moments import (
    as_pair,
    as_side,
    coefficient_of_variation,
    is_constant,
    log_standard_deviation,
    mean,
)
from ttastats.stats.outcomes import outcomes, time_term
from ttastats.stats.quantiles import check_confidence
from ttastats.stats.results import Estimate, Flag, Floats, Ratio
from ttastats.stats.sample import size_flags
from ttastats.stats.shares import RUNS_FOR_BOOTSTRAP, Limits, bootstrap_limits, covariance_shares

STEADY_CV = 0.03
"""CV of time per epoch up to which the hardware counts as steady (Coleman et al. 2019)."""


@dataclass(frozen=True, slots=True)
class SpeedupParts:
    """A speedup in geometric means: ``total`` = ``throughput`` x ``epochs`` x ``overhead``.

    Each part is A over B, above 1 where B gains. ``overhead`` is None unless epoch
    durations were measured. ``interaction`` is what the ratios of arithmetic means leave
    over: mean ratio = ``throughput_of_means`` x ``epochs_of_means`` x ``interaction``.
    """

    total: Ratio
    throughput: Ratio
    epochs: Ratio
    overhead: Ratio | None
    total_of_means: float
    throughput_of_means: float
    epochs_of_means: float
    interaction: float
    flags: tuple[Flag, ...]


@dataclass(frozen=True, slots=True)
class VarianceParts:
    """The variance of log time of one side, split by covariance; shares sum to 1.

    A share may leave [0, 1] where the parts move against each other. Shares are None and
    flagged where the epochs or the times did not vary. ``covariances`` is the remainder of
    the variances of the parts: twice the sum of their covariances. All with ddof=1.
    """

    n: int
    share_epochs: Estimate
    share_epoch_time: Estimate
    share_overhead: Estimate | None
    variance_log_time: float | None
    variance_log_epochs: float | None
    variance_log_epoch_time: float | None
    covariances: float | None
    cv_epochs: float | None
    cv_epoch_time: float | None
    cv_ratio: float | None
    flags: tuple[Flag, ...]


def decompose_speedup(
    times_a: ArrayLike,
    epochs_a: ArrayLike,
    times_b: ArrayLike,
    epochs_b: ArrayLike,
    *,
    epoch_seconds_a: ArrayLike | None = None,
    epoch_seconds_b: ArrayLike | None = None,
    confidence: float = 0.95,
) -> SpeedupParts:
    """Split the speedup of B over A into throughput and epochs, each with a Welch interval.

    Times in seconds and epochs to target of the successful runs, shapes (n_A,) and (n_B,).
    Optional measured seconds per epoch on both sides add the overhead part. ValueError for
    an empty side or lengths that differ.
    """
    check_confidence(confidence)
    if (epoch_seconds_a is None) != (epoch_seconds_b is None):
        raise ValueError("epoch durations are needed for both sides or neither")
    a = _side_parts(as_side(times_a, "A"), epochs_a, epoch_seconds_a, "A")
    b = _side_parts(as_side(times_b, "B"), epochs_b, epoch_seconds_b, "B")

    def part(key: str) -> Ratio:
        x, y = a[key], b[key]
        one, other = (time_term(outcomes(side), "geomean") for side in (x, y))
        return ratio_of(one, other, confidence, x.size, y.size)

    means = {key: mean(a[key]) / mean(b[key]) for key in ("total", "epochs", "epoch time")}
    return SpeedupParts(
        total=part("total"),
        throughput=part("epoch time"),
        epochs=part("epochs"),
        overhead=part("overhead") if "overhead" in a else None,
        total_of_means=means["total"],
        throughput_of_means=means["epoch time"],
        epochs_of_means=means["epochs"],
        interaction=means["total"] / (means["epochs"] * means["epoch time"]),
        flags=_constant_flags(a["epochs"], " of side A")
        + _constant_flags(b["epochs"], " of side B"),
    )


def _side_parts(
    times: ArrayLike, epochs: ArrayLike, epoch_seconds: ArrayLike | None, name: str
) -> dict[str, Floats]:
    total, progress = as_pair(times, epochs, name)
    if epoch_seconds is None:
        return {"total": total, "epochs": progress, "epoch time": total / progress}
    _, measured = as_pair(total, epoch_seconds, name, "epoch durations")
    return {
        "total": total,
        "epochs": progress,
        "epoch time": measured,
        "overhead": total / (progress * measured),
    }


def _constant_flags(epochs: Floats, where: str = "") -> tuple[Flag, ...]:
    if epochs.size < 2 or not is_constant(epochs):
        return ()
    message = f"epochs did not vary in {epochs.size} runs{where}: {epochs[0]:g} in every run"
    return (Flag("constant_epochs", message),)


def decompose_variance(
    times: ArrayLike,
    epochs: ArrayLike,
    *,
    epoch_seconds: ArrayLike | None = None,
    rng: np.random.Generator | None = None,
    resamples: int | None = None,
    confidence: float = 0.95,
) -> VarianceParts:
    """Split the variance of log time into the shares of epochs and of time per epoch.

    share_e = Cov(log e, log T) / Var(log T). Times in seconds, shape (n,). With ``rng`` and
    at least 10 runs the shares get a percentile bootstrap interval over runs (2000
    ``resamples``, fewer beyond 10 000 runs); below, the estimate alone and a flag.
    ValueError for lengths that differ.
    """
    check_confidence(confidence)
    values = _side_parts(times, epochs, epoch_seconds, "")
    total, progress = values["total"], values["epochs"]
    logs = np.stack([np.log(values[name]) for name in _part_names(values)])
    n = total.size
    flags = _variance_flags(n, total, progress)
    known = covariance_shares(logs[:, np.newaxis, :]) if not flags else None
    limits: list[Limits] = [(None, None)] * len(logs)
    if known is not None and n < RUNS_FOR_BOOTSTRAP:
        message = f"{RUNS_FOR_BOOTSTRAP} runs needed for an interval of the shares, have {n}"
        flags += (Flag("few_runs", message),)
    elif known is not None and rng is not None:
        limits = bootstrap_limits(logs, rng, resamples, confidence)
    found = [None] * len(logs) if known is None else known[:, 0].tolist()
    shares = [
        Estimate(None if share is None or math.isnan(share) else share, *ends, confidence, n)
        for share, ends in zip(found, limits, strict=True)
    ]
    return _variance_parts(values, shares, flags)


def _variance_flags(n: int, total: Floats, epochs: Floats) -> tuple[Flag, ...]:
    """Why there are no shares; empty when there are."""
    if n < 2:
        return size_flags(n, 2)
    flags = _constant_flags(epochs)
    if is_constant(total):
        flags += (Flag("zero_variance", f"all {n} runs took the same time: nothing to share"),)
    return flags


def _variance_parts(
    values: dict[str, Floats], shares: list[Estimate], flags: tuple[Flag, ...]
) -> VarianceParts:
    n = values["total"].size
    of_parts = [_variance(values[name]) for name in _part_names(values)]
    whole = _variance(values["total"])
    cv_epochs = coefficient_of_variation(values["epochs"])
    cv_epoch_time = coefficient_of_variation(values["epoch time"])
    return VarianceParts(
        n=n,
        share_epochs=shares[0],
        share_epoch_time=shares[1],
        share_overhead=shares[2] if len(shares) > 2 else None,
        variance_log_time=whole,
        variance_log_epochs=of_parts[0],
        variance_log_epoch_time=of_parts[1],
        covariances=None if whole is None else whole - sum(v for v in of_parts if v is not None),
        cv_epochs=cv_epochs,
        cv_epoch_time=cv_epoch_time,
        cv_ratio=_cv_ratio(cv_epochs, cv_epoch_time),
        flags=flags + _stability_flags(cv_epochs, cv_epoch_time),
    )


def _stability_flags(cv_epochs: float | None, cv_epoch_time: float | None) -> tuple[Flag, ...]:
    """Advice where time per epoch varies more than in 92 % of published entries."""
    if cv_epoch_time is None or cv_epoch_time <= STEADY_CV:
        return ()
    message = (
        f"time per epoch varies by {100 * cv_epoch_time:.1f}%: unstable hardware, "
        "or start-up time in the time to accuracy"
    )
    unstable = Flag("unstable_epoch_time", message)
    if cv_epochs != 0.0:
        return (unstable,)
    message = "epochs constant but not their duration: probably not the progress counter"
    return unstable, Flag("suspect_epochs", message)


def _part_names(values: dict[str, Floats]) -> list[str]:
    return [name for name in ("epochs", "epoch time", "overhead") if name in values]


def _variance(values: Floats) -> float | None:
    spread = log_standard_deviation(values)
    return None if spread is None else spread**2


def _cv_ratio(cv_epochs: float | None, cv_epoch_time: float | None) -> float | None:
    """CV(epochs) over CV(time per epoch), the last column of the paper's Table 4."""
    if cv_epochs is None or cv_epoch_time is None:
        return None
    if cv_epoch_time == 0.0:
        return None if cv_epochs == 0.0 else math.inf
    return cv_epochs / cv_epoch_time
