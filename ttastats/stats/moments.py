"""What mean, spread and relative spread a sample has, rounding noise kept out.

Five times 0.1 does not sum to exactly 0.5, so the variance of equal numbers comes out as
1e-34 instead of 0 and a t statistic as 1e16 instead of undefined; so does that of quotients
which are equal on paper. Equal values are therefore recognised before any arithmetic.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ttastats.stats.results import Bools, Floats


def as_sample(values: ArrayLike) -> Floats:
    """Return times or epochs as floats.

    ValueError for a value that is missing, not finite or not positive: logs are taken of every
    sample here, and which runs to leave out is for the caller to say.
    """
    sample = np.asarray(values, dtype=np.float64)
    if not bool(np.all(np.isfinite(sample) & (sample > 0))):
        raise ValueError("times and epochs must be finite and positive")
    return sample


def as_outcomes(times: ArrayLike, reached: ArrayLike) -> tuple[Floats, Bools]:
    """Pair the time of every run, until success or until it stopped, with its success.

    A run that reached has a positive time; one that failed may have stopped at 0 seconds.
    """
    sample, success = np.asarray(times, dtype=np.float64), np.asarray(reached, dtype=np.bool_)
    as_sample(sample[success | (sample != 0)])
    return sample, success


ROUNDING = 1e-14
"""Relative differences this small come from arithmetic: no clock resolves them."""


def constant(values: Floats) -> Bools:
    """Which groups of values, shape (..., n), are the same but for rounding; none that is empty."""
    if values.shape[-1] == 0:
        return np.zeros(values.shape[:-1], dtype=np.bool_)
    low, high = values.min(axis=-1), values.max(axis=-1)
    same: Bools = high - low <= ROUNDING * np.maximum(np.abs(low), np.abs(high))
    return same


def means(values: Floats) -> Floats:
    """Arithmetic mean of groups, shape (..., n); the common value where all are equal."""
    return np.where(constant(values), values[..., 0], values.mean(axis=-1))


def deviations(values: Floats, ddof: int = 1) -> Floats:
    """Spread of groups, shape (..., n): exactly 0 where all are equal, NaN of too few values."""
    if values.shape[-1] <= max(ddof, 1):
        return np.full(values.shape[:-1], np.nan)
    return np.where(constant(values), 0.0, values.std(axis=-1, ddof=ddof))


def is_constant(values: Floats) -> bool:
    """Whether all values are the same but for rounding (true of one value, false of none)."""
    return bool(constant(values))


def mean(values: Floats) -> float:
    """Arithmetic mean; exactly the common value when all are equal."""
    return float(means(values))


def geometric_mean(values: Floats) -> float:
    """Geometric mean of positive values; exactly the common value when all are equal."""
    return float(values[0]) if is_constant(values) else float(np.exp(np.mean(np.log(values))))


def standard_deviation(values: Floats, ddof: int = 1) -> float | None:
    """Spread around the mean; exactly 0 when all are equal, None of one value or none."""
    return float(deviations(values, ddof)) if values.size > max(ddof, 1) else None


def coefficient_of_variation(values: Floats) -> float | None:
    """Relative spread, standard deviation over mean; None with too few values."""
    spread = standard_deviation(values)
    return None if spread is None else spread / mean(values)
