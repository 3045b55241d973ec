"""Which values lie far from the others of their group?"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: Below this many values none can be called far from the others.
LEAST = 5
#: Modified z-scores beyond this are outliers.
LIMIT = 3.5
#: Nor is anything called an outlier that is less than this share away from the median: five runs
#: that agree to a tenth of a percent have one that is furthest away.
LEAST_AWAY = 0.05


def modified_z(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give the modified z-score of every value's logarithm; 0 where nothing can be said.

    It is 0.6745 (x - median) / MAD, with the median absolute deviation in the place of the
    deviation, which an outlier would widen (Iglewicz & Hoaglin 1993, How to Detect and Handle
    Outliers, section 3.3). Where more than half of the values are equal, the mean absolute
    deviation takes its place, with 1 / 1.2533.

    Parameters
    ----------
    values
        Positive, shape (n,), or (groups, n) of groups that have n values each.
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


def outliers(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Tell which values, positive and of such shapes, are outliers by all three limits above."""
    if values.shape[-1] < LEAST:
        return np.zeros(values.shape, dtype=bool)
    away = np.abs(values / np.median(values, axis=-1, keepdims=True) - 1.0)
    return (np.abs(modified_z(values)) > LIMIT) & (away > LEAST_AWAY)
