"""How far apart are two means, and how sure is that?"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from ttastats.stats.logratio import satterthwaite
from ttastats.stats.moments import mean, standard_deviation
from ttastats.stats.quantiles import check_confidence, two_sided_t
from ttastats.stats.results import Estimate


def difference_of_means(a: ArrayLike, b: ArrayLike, *, confidence: float = 0.95) -> Estimate:
    """Mean of b less that of a with Welch's t interval; none where a side has one value.

    Values may have any sign and are independent; `n` counts those of both sides.
    """
    check_confidence(confidence)
    first, second = (np.asarray(values, dtype=np.float64) for values in (a, b))
    if not first.size or not second.size:
        raise ValueError("no values on a side")
    found, n = mean(second) - mean(first), first.size + second.size
    spreads = [standard_deviation(one) for one in (first, second)]
    variances = [
        spread**2 / one.size
        for spread, one in zip(spreads, (first, second), strict=True)
        if spread is not None
    ]
    if len(variances) < 2:
        return Estimate(found, None, None, confidence, n)
    if not sum(variances):
        return Estimate(found, found, found, confidence, n)
    df = satterthwaite(variances, [first.size - 1, second.size - 1])
    half = two_sided_t(df, confidence) * math.sqrt(sum(variances))
    return Estimate(found, found - half, found + half, confidence, n)
