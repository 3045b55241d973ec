"""Sides of a comparison made from plain lists."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from ttastats.stats.outcomes import Epochs, outcomes
from ttastats.stats.results import Ratio
from ttastats.stats.speedup import Limits, Speedup, ratio_between, speedup


def ert_ratio(
    times_a: ArrayLike,
    reached_a: ArrayLike,
    times_b: ArrayLike,
    reached_b: ArrayLike,
    **options: Any,
) -> Ratio:
    """Return the ratio of expected times to a success."""
    return ratio_between(outcomes(times_a, reached_a), outcomes(times_b, reached_b), **options)


def compared(
    times_a: ArrayLike,
    times_b: ArrayLike,
    epochs_a: Epochs | None = None,
    epochs_b: Epochs | None = None,
    **options: Any,
) -> Speedup:
    """Return the speedup of sides that all reached; without epochs these cannot vary."""
    fixed = epochs_a is None and epochs_b is None
    a = outcomes(times_a, progress=epochs_a)
    b = outcomes(times_b, progress=epochs_b)
    return speedup(a, b, **{"epochs_fixed": fixed} | options)


def safe_limits(found: Speedup, confidence: float = 0.95) -> Limits:
    """Return the limits that allow for unseen epochs."""
    limits = found.limits(confidence, epochs=True)
    assert limits is not None
    return limits
