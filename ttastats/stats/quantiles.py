"""Which quantiles and tails the intervals need.

``scipy.special`` has them all and imports in a tenth of the time of ``scipy.stats``.
"""

from __future__ import annotations

import math

from scipy import special


def two_sided_t(df: float, confidence: float) -> float:
    """Return Student's critical value of a two-sided interval, 1.96 for infinite ``df``, 0.95.

    ValueError unless the confidence lies strictly between 0 and 1.
    """
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence must lie between 0 and 1, not {confidence}")
    if math.isinf(df):
        return float(special.ndtri(0.5 + confidence / 2))
    return -float(special.stdtrit(df, (1 - confidence) / 2))


def t_tail(df: float, t: float) -> float:
    """Return P(T > t) of Student's distribution, accurate far out, also for infinite ``df``."""
    if math.isinf(df):
        return float(special.ndtr(-t))
    return float(special.stdtr(df, -t))


def chi2_quantile(probability: float, df: float) -> float:
    """Return a quantile of the chi-squared distribution."""
    return 2.0 * float(special.gammaincinv(df / 2, probability))
