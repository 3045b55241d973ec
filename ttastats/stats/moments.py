"""What mean, spread and relative spread a sample has, rounding noise kept out.

Five times 0.1 does not sum to exactly 0.5, so that the variance of equal numbers would come out as
1e-34 and a t statistic as 1e16. Equal values are therefore recognised before any arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ttastats.stats.results import Bools, Floats


def as_sample(values: ArrayLike) -> Floats:
    """Return times or epochs as a float array; ValueError if one is not finite and positive."""
    sample = np.asarray(values, dtype=np.float64)
    if not bool(np.all(np.isfinite(sample) & (sample > 0))):
        raise ValueError("times and epochs must be finite and positive")
    return sample


def constant_groups(values: Floats) -> Bools:
    """Return which groups of values, shape (..., n), are constant: no clock resolves less."""
    if values.shape[-1] == 0:
        return np.zeros(values.shape[:-1], dtype=np.bool_)
    low, high = values.min(axis=-1), values.max(axis=-1)
    same: Bools = high - low <= 1e-14 * np.maximum(np.abs(low), np.abs(high))
    return same


def means(values: Floats) -> Floats:
    """Return the means of groups, shape (..., n); exactly the common value of constant groups."""
    return np.where(constant_groups(values), values[..., 0], values.mean(axis=-1))


def deviations(values: Floats, ddof: int = 1) -> Floats:
    """Return the standard deviations of groups, shape (..., n): 0 if constant, NaN if too few."""
    if values.shape[-1] <= max(ddof, 1):
        return np.full(values.shape[:-1], np.nan)
    return np.where(constant_groups(values), 0.0, values.std(axis=-1, ddof=ddof))


def is_constant(values: Floats) -> bool:
    """Return whether all values are equal up to rounding; False of no values."""
    return bool(constant_groups(values))


def mean(values: Floats) -> float:
    """Return the arithmetic mean; exactly the common value when all are equal."""
    return float(means(values))


def geometric_mean(values: Floats) -> float:
    """Return the geometric mean of positive values; exactly the common value when all are equal."""
    return float(values[0]) if is_constant(values) else float(np.exp(np.mean(np.log(values))))


def standard_deviation(values: Floats, ddof: int = 1) -> float | None:
    """Return the standard deviation: exactly 0 when all are equal, None below two values."""
    return float(deviations(values, ddof)) if values.size > max(ddof, 1) else None


def coefficient_of_variation(values: Floats) -> float | None:
    """Return standard deviation over mean; None below two values."""
    spread = standard_deviation(values)
    return None if spread is None else spread / mean(values)


Places = NDArray[np.intp]


def groups_by_size(sizes: NDArray[np.int64]) -> Iterator[tuple[Places, Places]]:
    """Yield for each group size the groups and the indices of their values, shape (groups, n).

    The values of a group stand behind those of the group before it. Empty groups are left out.
    """
    starts = np.cumsum(sizes) - sizes
    for size in np.unique(sizes[sizes > 0]):
        groups = np.flatnonzero(sizes == size)
        yield groups, starts[groups, None] + np.arange(size)


def count_by_group(flags: NDArray[np.bool_], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many values of each group have their flag set."""
    numbers = np.repeat(np.arange(sizes.size), sizes)
    return np.bincount(numbers[flags], minlength=sizes.size).astype(np.int64)
