"""Which quantiles and tails the intervals need.

From the standard library alone: SciPy would bring 143 MB for these few functions, and is what
the tests hold them against.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from statistics import NormalDist


def check_confidence(confidence: float) -> float:
    """Return the confidence; ValueError unless it lies strictly between 0 and 1."""
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence must lie between 0 and 1, not {confidence}")
    return confidence


def normal_quantile(probability: float) -> float:
    """Quantile of the standard normal distribution."""
    return NormalDist().inv_cdf(probability)


def normal_tail(z: float) -> float:
    """P(Z > z) of the standard normal distribution, accurate far out."""
    return math.erfc(z / math.sqrt(2)) / 2


def two_sided_z(confidence: float) -> float:
    """Critical value of a two-sided normal interval: 1.96 for 0.95."""
    return normal_quantile(0.5 + check_confidence(confidence) / 2)


#: From here on the series in 1 / df (Abramowitz and Stegun 26.7.5) is exact to ten digits.
_LARGE = 1000


@lru_cache(maxsize=1024)
def two_sided_t(df: float, confidence: float) -> float:
    """Student's critical value of a two-sided interval."""
    tail = (1 - check_confidence(confidence)) / 2
    z = -normal_quantile(tail)
    if math.isinf(df) or z == 0:
        return z
    if df > _LARGE:
        return z * (1 + _student_series(z**2, df))
    log_scale = math.lgamma((df + 1) / 2) - math.lgamma(df / 2) - math.log(df * math.pi) / 2
    t = z
    # Newton's method for the logarithm of the tail over that of t, a concave function.
    for _ in range(100):
        density = math.exp(log_scale - (df + 1) / 2 * math.log1p(t**2 / df))
        above = t_tail(df, t)
        step = math.log(above / tail) * above / (density * t)
        t *= math.exp(step)
        if not abs(step) > 1e-13:
            break
    return t


def _student_series(y: float, df: float) -> float:
    terms = (
        (y + 1) / 4,
        ((5 * y + 16) * y + 3) / 96,
        (((3 * y + 19) * y + 17) * y - 15) / 384,
        ((((79 * y + 776) * y + 1482) * y - 1920) * y - 945) / 92160,
    )
    return sum(term / df**power for power, term in enumerate(terms, 1))


def t_tail(df: float, t: float) -> float:
    """P(T > t) of Student's distribution, accurate far out; any ``df`` > 0, also infinite."""
    if math.isinf(df):
        return normal_tail(t)
    if t < 0:
        return 1 - t_tail(df, -t)
    if t < 1:  # the share of the middle keeps the digits
        return 0.5 - _beta_share(0.5, df / 2, t**2 / (df + t**2)) / 2
    return _beta_share(df / 2, 0.5, df / (df + t**2)) / 2


@lru_cache(maxsize=1024)
def chi2_quantile(probability: float, df: float) -> float:
    """Quantile of the chi-squared distribution."""
    half = df / 2
    most = half + 40 * math.sqrt(half) + 40
    return 2 * _solved(lambda x: _gamma_share(half, x) > probability, most)


@lru_cache(maxsize=1024)
def beta_quantile(probability: float, a: float, b: float) -> float:
    """Quantile of the beta distribution."""
    return _solved(lambda x: _beta_share(a, b, x) > probability, 1.0)


def _solved(above: Callable[[float], bool], high: float) -> float:
    """Bisect between 0 and `high` until no number lies between what is too low and too high."""
    low = 0.0
    while low < (middle := (low + high) / 2) < high:
        low, high = (low, middle) if above(middle) else (middle, high)
    return high


def _gamma_share(a: float, x: float) -> float:
    """Regularised incomplete gamma function P(a, x), by its series (DLMF 8.11.4)."""
    total = term = 1.0
    n = a
    while term > 1e-17 * total:
        n += 1
        term *= x / n
        total += term
    return math.exp(a * math.log(x) - x - math.lgamma(a + 1)) * total


def _beta_share(a: float, b: float, x: float) -> float:
    """Regularised incomplete beta function, by its continued fraction (DLMF 8.17.22)."""
    if not 0 < x < 1:
        return x
    if x > (a + 1) / (a + b + 2):
        return 1 - _beta_share(b, a, 1 - x)
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, 100_000):
        before = value
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for part in (even, odd):
            c, d = 1 + part / c, 1 / (1 + part * d)
            value *= c * d
        if not abs(value - before) > 1e-16 * value:
            break
    log_gammas = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    return math.exp(log_gammas + a * math.log(x) + b * math.log1p(-x)) * value / a
