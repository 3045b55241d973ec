"""How many runs reach the target, and whether two sides differ in that."""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from ttastats.stats.quantiles import two_sided_t
from ttastats.stats.results import Difference, Floats


def wilson_interval(successes: int, n: int, confidence: float = 0.95) -> tuple[float, float, float]:
    """Return the fraction of runs that reached, and the ends of Wilson's score interval (1927)."""
    z2, p = two_sided_t(math.inf, confidence) ** 2, successes / n
    centre = p + z2 / (2 * n)
    half = math.sqrt(z2 * (p * (1 - p) / n + z2 / (4 * n**2)))
    scale = 1 + z2 / n
    # The ends are exact by definition; rounding would leave 0.9999999999999999.
    low = (centre - half) / scale if successes else 0.0
    high = (centre + half) / scale if successes < n else 1.0
    return p, low, high


def reached_at_least(successes: int, n: int, *, confidence: float = 0.95) -> float:
    """Return the one-sided lower bound of the fraction that reaches, by Clopper and Pearson.

    "Fails at most x of the time" with x = 1 minus it: 0.45 for 5 of 5, 0.26 for 10 of 10.
    """
    if not successes:
        return 0.0
    return float(special.betaincinv(successes, n - successes + 1, 1 - confidence))


def newcombe_difference(
    successes_a: int, n_a: int, successes_b: int, n_b: int, *, confidence: float = 0.95
) -> Difference:
    """Return the fraction of A minus that of B with Newcombe's hybrid score interval (1998)."""
    p_a, low_a, high_a = wilson_interval(successes_a, n_a, confidence)
    p_b, low_b, high_b = wilson_interval(successes_b, n_b, confidence)
    difference = p_a - p_b
    return Difference(
        estimate=difference,
        low=difference - math.hypot(p_a - low_a, high_b - p_b),
        high=difference + math.hypot(high_a - p_a, p_b - low_b),
        confidence=confidence,
    )


def fisher_p(successes_a: int, n_a: int, successes_b: int, n_b: int) -> float:
    """Return the two-sided p of Fisher's exact test of equal fractions reached.

    Two-sided: all tables no more likely than the one observed.
    """
    total = successes_a + successes_b
    p = _success_probabilities(total, n_a, n_b)
    return min(1.0, float(p[p <= p[successes_a - max(0, total - n_b)] * (1 + 1e-7)].sum()))


def fails_more_p(successes_a: int, n_a: int, successes_b: int, n_b: int) -> float:
    """Return the one-sided p of Fisher's exact test of "B fails no more often than A".

    It is the share of the tables with these margins in which B succeeds no more often than it did
    (Fisher 1935).
    """
    total = successes_a + successes_b
    return min(
        1.0,
        float(
            _success_probabilities(total, n_b, n_a)[: successes_b - max(0, total - n_a) + 1].sum()
        ),
    )


def _success_probabilities(total: int, n: int, other: int) -> Floats:
    """Return the probability of each number of successes among n, given the total of both sides.

    It is that of `scipy.stats.hypergeom`, whose import takes longer than a comparison.
    """
    k = np.arange(max(0, total - other), min(n, total) + 1, dtype=np.float64)
    counts = np.stack([k, n - k, total - k, other - total + k])
    log_p = -special.gammaln(counts + 1).sum(axis=0)
    weights = np.exp(log_p - log_p.max())
    shares: Floats = weights / weights.sum()
    return shares
