"""How many runs reach the target, and whether two sides differ in that."""

from __future__ import annotations

import math

from ttastats.stats.quantiles import beta_quantile, two_sided_z
from ttastats.stats.results import Difference


def wilson(successes: int, n: int, confidence: float = 0.95) -> tuple[float, float, float]:
    """Return the fraction of runs that reached, and the ends of Wilson's score interval (1927)."""
    z2, p = two_sided_z(confidence) ** 2, successes / n
    centre = p + z2 / (2 * n)
    half = math.sqrt(z2 * (p * (1 - p) / n + z2 / (4 * n**2)))
    scale = 1 + z2 / n
    # The ends are exact by definition; rounding would leave 0.9999999999999999.
    low = (centre - half) / scale if successes else 0.0
    high = (centre + half) / scale if successes < n else 1.0
    return p, low, high


def reached_at_least(successes: int, n: int, *, confidence: float = 0.95) -> float:
    """Fraction that at least reach the target: the one-sided bound of Clopper and Pearson.

    "Fails at most x of the time" with x = 1 minus it: 0.45 for 5 of 5, 0.26 for 10 of 10.
    """
    return beta_quantile(1 - confidence, successes, n - successes + 1) if successes else 0.0


def newcombe(
    successes_a: int, n_a: int, successes_b: int, n_b: int, *, confidence: float = 0.95
) -> Difference:
    """Fraction reached of A minus that of B with Newcombe's hybrid score interval (1998)."""
    p_a, low_a, high_a = wilson(successes_a, n_a, confidence)
    p_b, low_b, high_b = wilson(successes_b, n_b, confidence)
    difference = p_a - p_b
    return Difference(
        estimate=difference,
        low=difference - math.hypot(p_a - low_a, high_b - p_b),
        high=difference + math.hypot(high_a - p_a, p_b - low_b),
        confidence=confidence,
    )


def fisher(successes_a: int, n_a: int, successes_b: int, n_b: int) -> float:
    """P of Fisher's exact test of equal fractions reached, two-sided: exact, conservative.

    Two-sided: all tables no more likely than the one observed.
    """
    if successes_a + successes_b in {0, n_a + n_b}:
        return 1.0
    from scipy.stats import fisher_exact  # takes a second to import

    tables = [[successes_a, n_a - successes_a], [successes_b, n_b - successes_b]]
    return float(fisher_exact(tables).pvalue)


def fails_more(successes_a: int, n_a: int, successes_b: int, n_b: int) -> float:
    """P of Fisher's exact test of "B fails no more often than A": one-sided, conservative.

    It is the share of the tables with these margins in which B succeeds no more often than it did
    (Fisher 1935).
    """
    from scipy.stats import hypergeom  # takes a second to import

    return float(hypergeom.cdf(successes_b, n_a + n_b, successes_a + successes_b, n_b))
