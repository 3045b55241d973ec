"""What mean and spread a sample has, and which of its values lie far from the others.

Five times 0.1 does not sum to exactly 0.5, so that the variance of equal numbers would come out as
1e-34 and a t statistic as 1e16. Equal values are therefore recognised before any arithmetic.

``scipy.special`` imports in a tenth of the time of ``scipy.stats`` or ``scipy.optimize``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from ttastats.stats.results import Bools, Floats


def as_sample(values: ArrayLike) -> Floats:
    """Return times or epochs as a float array; ValueError if one is not finite and positive."""
    sample = np.asarray(values, dtype=np.float64)
    if not bool(np.all(np.isfinite(sample) & (sample > 0))):
        raise ValueError("times and epochs must be finite and positive")
    return sample


def constant_groups(values: Floats) -> Bools:
    """Return a mask of constant groups of values, shape (..., n): no clock resolves less."""
    if values.shape[-1] == 0:
        return np.zeros(values.shape[:-1], dtype=np.bool_)
    low, high = values.min(axis=-1), values.max(axis=-1)
    mask: Bools = high - low <= 1e-14 * np.maximum(np.abs(low), np.abs(high))
    return mask


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
    """Return the number of flagged values of each group."""
    numbers = np.repeat(np.arange(sizes.size), sizes)
    return np.bincount(numbers[flags], minlength=sizes.size).astype(np.int64)


def two_sided_t(df: float, confidence: float) -> float:
    """Return Student's critical value of a two-sided interval; ``df`` may be infinite."""
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence must lie between 0 and 1, not {confidence}")
    if math.isinf(df):
        return float(special.ndtri(0.5 + confidence / 2))
    return -float(special.stdtrit(df, (1 - confidence) / 2))


def positive_limits(centre: Floats, half_width: Floats) -> tuple[Floats, Floats]:
    """Return the limits of positive estimates: centre ± half-width, or on the log scale.

    Where the lower one were not positive, they are centre × exp(±half / centre) by the delta
    method, which cover no less.
    """
    factors = np.exp(np.minimum(half_width / centre, _LARGEST_LOG))
    is_positive = half_width < centre
    low = np.where(is_positive, centre - half_width, centre / factors)
    return low, np.where(is_positive, centre + half_width, centre * factors)


#: exp of more overflows.
_LARGEST_LOG = 700.0


def t_tail(df: float, t: float) -> float:
    """Return P(T > t) of Student's distribution, accurate far out, also for infinite ``df``."""
    if math.isinf(df):
        return float(special.ndtr(-t))
    return float(special.stdtr(df, -t))


def chi2_quantile(probability: float, df: float) -> float:
    """Return a quantile of the chi-squared distribution."""
    return 2.0 * float(special.gammaincinv(df / 2, probability))


def bisect_root(increasing: Callable[[float], float], low: float, high: float) -> float:
    """Return the root of an increasing function, an end if it has none in between."""
    for _ in range(100):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (middle, high) if increasing(middle) < 0 else (low, middle)
    return high


@lru_cache
def gauss_nodes(count: int) -> tuple[Floats, Floats]:
    """Return the nodes of Gauss and Legendre between -1 and 1, and their weights."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return np.asarray(nodes, np.float64), np.asarray(weights, np.float64)


#: Below this many values none can be called far from the others.
LEAST = 5
#: Modified z-scores beyond this are outliers.
LIMIT = 3.5
#: Nor is anything called an outlier that is less than this share away from the median: five runs
#: that agree to a tenth of a percent have one that is furthest away.
LEAST_AWAY = 0.05

#: Fewest runs of either speed: a single slow run is an outlier, not a second machine.
_LEAST_OF_A_SPEED = 2
#: Nor are speeds called different whose nearest runs differ by less than this factor.
_LEAST_GAP = 1.1


def modified_z(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the modified z-score of the logarithms of groups, shape (..., n); 0 where undefined.

    It is 0.6745 (x - median) / MAD (Iglewicz & Hoaglin 1993, How to Detect and Handle Outliers,
    section 3.3). Where more than half of the values are equal, the mean absolute deviation takes
    the place of the median's, with 1 / 1.2533.
    """
    if values.shape[-1] < LEAST:
        return np.zeros(values.shape)
    logs = np.log(values)
    away = logs - np.median(logs, axis=-1, keepdims=True)
    middle = np.median(np.abs(away), axis=-1, keepdims=True)
    mean = np.mean(np.abs(away), axis=-1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):  # of equal values, which get 0
        factor = np.where(middle > 0.0, 0.6745 / middle, 1.0 / (1.2533 * mean))
        return np.where(mean > 0.0, away * factor, 0.0)


def find_outliers(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return a mask of positive values that are outliers by all three limits above."""
    if values.shape[-1] < LEAST:
        return np.zeros(values.shape, dtype=bool)
    relative_deviations = np.abs(values / np.median(values, axis=-1, keepdims=True) - 1.0)
    return (np.abs(modified_z(values)) > LIMIT) & (relative_deviations > LEAST_AWAY)


def count_faster(times: NDArray[np.float64]) -> int | None:
    """Return the number of times, shape (n,), at the faster of two speeds, None of one speed."""
    return int(speed_splits(times[None])[0]) or None


def speed_splits(times: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the number of times of each group, (groups, n), at the faster of two speeds, or 0.

    The times are split where the gap between neighbouring logarithms is largest beside the pooled
    standard deviation of the logarithms of the two parts (denominator n - 2). They have two speeds
    if that ratio exceeds 32 / (n - 2), and 3, and the gap is a factor of 1.1 or more: of simulated
    lognormal times 1.3 % pass at n = 4, at most 1 % from n = 5. Times per epoch or step show the
    hardware better than whole runs, which stop at one evaluation or the next.
    """
    n = times.shape[1]
    faster = np.zeros(len(times), dtype=np.intp)
    if n < 2 * _LEAST_OF_A_SPEED:
        return faster
    groups = np.flatnonzero(np.all(np.isfinite(times) & (times > 0.0), axis=1))
    logs = np.sort(np.log(times[groups]), axis=1)
    splits = np.arange(_LEAST_OF_A_SPEED, n - _LEAST_OF_A_SPEED + 1)
    has_gap = (logs[:, splits] - logs[:, splits - 1]).max(axis=1) >= np.log(_LEAST_GAP)
    groups, logs = groups[has_gap], logs[has_gap]
    gaps = logs[:, splits] - logs[:, splits - 1]
    residuals = logs - logs.mean(axis=1, keepdims=True)
    sums = np.cumsum(residuals, axis=1)[:, splits - 1]  # of the faster part: the slower's negative
    ss_between = sums**2 * (1 / splits + 1 / (n - splits))
    squares = np.sum(residuals**2, axis=1, keepdims=True)
    spread = np.sqrt(np.maximum(squares - ss_between, 0.0) / (n - 2))
    with np.errstate(divide="ignore", invalid="ignore"):  # of times that agree exactly
        ratios = np.where(gaps > 0.0, gaps / spread, 0.0)
    best, rows = np.argmax(ratios, axis=1), np.arange(len(logs))
    is_clear = (ratios[rows, best] > max(3.0, 32.0 / (n - 2))) & (
        gaps[rows, best] >= np.log(_LEAST_GAP)
    )
    faster[groups[is_clear]] = splits[best[is_clear]]
    return faster


def has_straggler(values: NDArray[np.float64]) -> bool:
    """Return whether the largest of some positive values, shape (n,), is far above the others.

    Grubbs' one-sided test of the logarithms at 1 % (Grubbs 1969, Technometrics 11, 1-21).
    """
    n = values.size
    if n < 3 or values.max() <= float(np.median(values)) * (1.0 + LEAST_AWAY):
        return False
    logs = np.log(values)
    largest = float(logs.max() - logs.mean()) / float(logs.std(ddof=1))
    return largest > grubbs_limit(n, 0.02)


def grubbs_limit(n: int, level: float) -> float:
    """Return the critical value of Grubbs' test of n values, two-sided."""
    t = two_sided_t(n - 2, 1.0 - level / n)
    return (n - 1) / math.sqrt(n) * math.sqrt(t**2 / (n - 2 + t**2))
