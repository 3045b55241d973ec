"""How far apart do means of one setup lie that were made in different sessions?

Each set of runs has a mean (a log of time, a quality) and its variance from the spread of its runs.
What means differ by beyond that is between sessions. Of two sets only an upper bound is honest; of
more there is an estimate too. The bound is the largest variance at which means so close together
still come in 5 of 100 cases (the Q profile: Viechtbauer 2007).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ttastats.stats.quantiles import chi2_quantile, two_sided_t
from ttastats.stats.results import Floats


@dataclass(frozen=True, slots=True)
class Set:
    """The mean of a set of runs, its variance and degrees of freedom."""

    mean: float
    variance: float
    df: float


@dataclass(frozen=True, slots=True)
class Between:
    """The standard deviation between sessions, and the smallest difference worth claiming.

    ``deviation`` is None of two sets; ``highest`` bounds it, one-sided. Two setups that are alike,
    of as many runs in one session each, differ by more than ``smallest_claim`` in at most 1 minus
    the confidence of the cases.
    """

    sets: int
    deviation: float | None
    highest: float
    smallest_claim: float


def variance_between_sets(sets: Sequence[Set], *, confidence: float = 0.95) -> Between:
    """Return how much the means of sets of runs of one setup vary beyond their own noise.

    The smallest claim rests on the spread of the means, with one degree of freedom less than there
    are sets, and is no less than what runs of one session would need.
    """
    means, variances = (
        np.array([getattr(each, name) for each in sets]) for name in ("mean", "variance")
    )
    spread, typical = float(means.var(ddof=1)), float(variances.mean())
    claims = [
        two_sided_t(df, confidence) * math.sqrt(2 * variance)
        for df, variance in ((len(sets) - 1, spread), (sum(each.df for each in sets), typical))
    ]
    highest = max(_largest_variance(means, variances, 1 - confidence), typical)
    deviation = math.sqrt(max(spread - typical, 0.0)) if len(sets) > 2 else None
    return Between(len(sets), deviation, math.sqrt(highest), max(claims))


def _largest_variance(means: Floats, variances: Floats, alpha: float) -> float:
    """Return the largest between-set variance that the spread of the means does not rule out."""
    least = chi2_quantile(alpha, means.size - 1)

    def weighted_spread(extra: float) -> float:
        total = variances + extra
        centre = float(np.average(means, weights=1 / total))
        return float(((means - centre) ** 2 / total).sum())

    low, high = 0.0, means.size * float(np.ptp(means)) ** 2 / least
    for _ in range(100 if high else 0):
        middle = (low + high) / 2
        low, high = (middle, high) if weighted_spread(middle) > least else (low, middle)
    return high
