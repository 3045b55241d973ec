"""How many runs reach the target, and whether two sides differ in that."""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from ttastats.stats.quantiles import beta_quantile, check_confidence, two_sided_z
from ttastats.stats.results import Difference, Estimate, Floats


def _check_counts(successes: int, n: int) -> None:
    if not 0 <= successes <= n:
        raise ValueError(f"{successes} of {n} runs cannot have reached the target")


def wilson(successes: int, n: int, *, confidence: float = 0.95) -> Estimate:
    """Fraction of runs that reached the target with Wilson's score interval (1927)."""
    _check_counts(successes, n)
    check_confidence(confidence)
    if n == 0:
        raise ValueError("no runs")
    z2 = two_sided_z(confidence) ** 2
    p = successes / n
    centre = p + z2 / (2 * n)
    half = math.sqrt(z2 * (p * (1 - p) / n + z2 / (4 * n**2)))
    scale = 1 + z2 / n
    # The ends are exact by definition; rounding would leave 0.9999999999999999.
    low = (centre - half) / scale if successes else 0.0
    high = (centre + half) / scale if successes < n else 1.0
    return Estimate(p, low, high, confidence, n)


def reached_at_least(successes: int, n: int, *, confidence: float = 0.95) -> float:
    """Fraction that at least reach the target: the one-sided bound of Clopper and Pearson.

    "Fails at most x of the time" with x = 1 minus it: 0.45 for 5 of 5, 0.26 for 10 of 10.
    """
    _check_counts(successes, n)
    check_confidence(confidence)
    return beta_quantile(1 - confidence, successes, n - successes + 1) if successes else 0.0


def newcombe(
    successes_a: int, n_a: int, successes_b: int, n_b: int, *, confidence: float = 0.95
) -> Difference:
    """Fraction reached of A minus that of B with Newcombe's hybrid score interval (1998)."""
    _check_sides(successes_a, n_a, successes_b, n_b)
    a = wilson(successes_a, n_a, confidence=confidence)
    b = wilson(successes_b, n_b, confidence=confidence)
    (p_a, low_a, high_a), (p_b, low_b, high_b) = _known(a), _known(b)
    difference = p_a - p_b
    return Difference(
        estimate=difference,
        low=difference - math.hypot(p_a - low_a, high_b - p_b),
        high=difference + math.hypot(high_a - p_a, p_b - low_b),
        confidence=confidence,
    )


def _known(fraction: Estimate) -> tuple[float, float, float]:
    if fraction.estimate is None or fraction.low is None or fraction.high is None:
        raise ValueError("no runs")
    return fraction.estimate, fraction.low, fraction.high


def _check_sides(successes_a: int, n_a: int, successes_b: int, n_b: int) -> None:
    for name, successes, n in (("A", successes_a, n_a), ("B", successes_b, n_b)):
        if n == 0:
            raise ValueError(f"no runs for side {name}")
        _check_counts(successes, n)


def fisher(successes_a: int, n_a: int, successes_b: int, n_b: int) -> float:
    """P of Fisher's exact test of equal fractions reached, two-sided: exact, conservative.

    Two-sided in R's sense: all tables no more likely than the one observed, with its
    relative tolerance of 1e-7 for ties.
    """
    _check_sides(successes_a, n_a, successes_b, n_b)
    total = successes_a + successes_b
    fewest = max(0, total - n_b)
    possible = np.arange(fewest, min(n_a, total) + 1, dtype=np.float64)
    log_p = _log_choose(n_a, possible) + _log_choose(n_b, total - possible)
    weights = np.exp(log_p - log_p.max())
    extreme = log_p <= log_p[successes_a - fewest] + 1e-7
    return min(1.0, float(weights[extreme].sum() / weights.sum()))


def fails_more(successes_a: int, n_a: int, successes_b: int, n_b: int) -> float:
    """P of Fisher's exact test of "B fails no more often than A": one-sided, conservative.

    It is the share of the tables with these margins in which B succeeds no more often than it did
    (Fisher 1935).
    """
    _check_sides(successes_a, n_a, successes_b, n_b)
    total = successes_a + successes_b
    possible = np.arange(max(0, total - n_a), min(n_b, total) + 1, dtype=np.float64)
    log_p = _log_choose(n_b, possible) + _log_choose(n_a, total - possible)
    weights = np.exp(log_p - log_p.max())
    return min(1.0, float(weights[possible <= successes_b].sum() / weights.sum()))


def _log_choose(n: int, k: Floats) -> Floats:
    logs: Floats = special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(n - k + 1)
    return logs
