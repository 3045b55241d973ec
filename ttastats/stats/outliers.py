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
        Positive, shape (n,).
    """
    if len(values) < LEAST:
        return np.zeros(len(values))
    logs = np.log(values)
    away = logs - np.median(logs)
    middle, mean = float(np.median(np.abs(away))), float(np.mean(np.abs(away)))
    if mean == 0.0:
        return np.zeros(len(values))
    factor = 0.6745 / middle if middle > 0.0 else 1.0 / (1.2533 * mean)
    return np.asarray(away * factor, dtype=np.float64)


def outliers(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Tell which positive values, shape (n,), are outliers by all three limits above."""
    if len(values) < LEAST:
        return np.zeros(len(values), dtype=bool)
    away = np.abs(values / np.median(values) - 1.0)
    return (np.abs(modified_z(values)) > LIMIT) & (away > LEAST_AWAY)
