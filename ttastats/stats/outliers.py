"""Which values lie far from the others of their group, and is the group really two groups?"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ttastats.stats.quantiles import two_sided_t

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
    """Return which positive values are outliers by all three limits above."""
    if values.shape[-1] < LEAST:
        return np.zeros(values.shape, dtype=bool)
    away = np.abs(values / np.median(values, axis=-1, keepdims=True) - 1.0)
    return (np.abs(modified_z(values)) > LIMIT) & (away > LEAST_AWAY)


def count_faster(times: NDArray[np.float64]) -> int | None:
    """Return how many times, shape (n,), belong to the faster of two speeds, None of one speed."""
    return int(speed_splits(times[None])[0]) or None


def speed_splits(times: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return how many times of each group, (groups, n), belong to the faster of two speeds, or 0.

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
    places = np.flatnonzero(np.all(np.isfinite(times) & (times > 0.0), axis=1))
    logs = np.sort(np.log(times[places]), axis=1)
    splits = np.arange(_LEAST_OF_A_SPEED, n - _LEAST_OF_A_SPEED + 1)
    far = (logs[:, splits] - logs[:, splits - 1]).max(axis=1) >= np.log(_LEAST_GAP)
    places, logs = places[far], logs[far]
    gaps = logs[:, splits] - logs[:, splits - 1]
    away = logs - logs.mean(axis=1, keepdims=True)
    sums = np.cumsum(away, axis=1)[:, splits - 1]  # of the faster part: the slower's negative
    between = sums**2 * (1 / splits + 1 / (n - splits))
    squares = np.sum(away**2, axis=1, keepdims=True)
    spread = np.sqrt(np.maximum(squares - between, 0.0) / (n - 2))
    with np.errstate(divide="ignore", invalid="ignore"):  # of times that agree exactly
        ratios = np.where(gaps > 0.0, gaps / spread, 0.0)
    best, rows = np.argmax(ratios, axis=1), np.arange(len(logs))
    clear = (ratios[rows, best] > max(3.0, 32.0 / (n - 2))) & (
        gaps[rows, best] >= np.log(_LEAST_GAP)
    )
    faster[places[clear]] = splits[best[clear]]
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
