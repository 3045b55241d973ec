"""Sides of a comparison made from plain lists."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ttastats.stats.outcomes import Epochs, make_outcomes
from ttastats.stats.results import Estimate, Ratio, none_for_nan
from ttastats.stats.speedup import (
    Limits,
    Speedup,
    compute_speedup,
    ratio_between,
    ratio_of_geometric_means,
)
from ttastats.stats.variation import variance_shares


def ert_ratio(
    times_a: ArrayLike,
    reached_a: ArrayLike,
    times_b: ArrayLike,
    reached_b: ArrayLike,
    **options: Any,
) -> Ratio:
    """Return the ratio of expected times to a success."""
    return ratio_between(
        make_outcomes(times_a, reached_a),
        make_outcomes(times_b, reached_b),
        **{"estimand": "ert", "confidence": 0.95} | options,
    )


def compared(
    times_a: ArrayLike,
    times_b: ArrayLike,
    epochs_a: Epochs | None = None,
    epochs_b: Epochs | None = None,
    **options: Any,
) -> Speedup:
    """Return the speedup of sides without failures; without epochs these cannot vary."""
    fixed = epochs_a is None and epochs_b is None
    a = make_outcomes(times_a, progress=epochs_a)
    b = make_outcomes(times_b, progress=epochs_b)
    usual = {"epochs_fixed": fixed, "estimand": "mean", "confidence": 0.95}
    return compute_speedup(a, b, **usual | options)


@dataclass(frozen=True)
class Parts:
    """The share of epochs in the variance of one side, and the ratio of CVs."""

    share_epochs: Estimate
    cv_ratio: float | None


def decompose_speedup(
    times_a: ArrayLike, epochs_a: ArrayLike, times_b: ArrayLike, epochs_b: ArrayLike
) -> SimpleNamespace:
    """Return the parts of a speedup, of as many accelerators on both sides."""
    per_epoch = np.divide(times_a, epochs_a), np.divide(times_b, epochs_b)
    epochs = ratio_of_geometric_means(epochs_a, epochs_b, confidence=0.95)
    return SimpleNamespace(
        throughput=ratio_of_geometric_means(*per_epoch, confidence=0.95), epochs=epochs
    )


def decompose_variance(times: ArrayLike, epochs: ArrayLike) -> Parts:
    """Return the shares of a single group."""
    group = variance_shares(
        *(np.asarray(values, np.float64)[None] for values in (times, epochs)), 0.95
    )
    ends = (none_for_nan(numbers[0])[0] for numbers in (group.shares, group.low, group.high))
    share = Estimate(*ends, 0.95, np.size(times), group.withheld[0])
    return Parts(share, none_for_nan(group.cv_ratio)[0])


def safe_limits(speedup: Speedup, confidence: float = 0.95) -> Limits:
    """Return the limits that allow for unseen epochs."""
    limits = speedup.limits(confidence, epochs=True)
    assert limits is not None
    return limits
