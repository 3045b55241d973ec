"""How far apart do means of one setup lie that were made in different sessions?

Each set of runs has a mean (a log of time, a quality) and its variance from the spread of its runs.
What means differ by beyond that is between sessions. Of two sets nobody knows it: only an upper
bound is given; of more there is an estimate too. The bound is the largest variance at which means
so close together still come in 5 of 100 cases (the Q profile: Viechtbauer 2007).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ttastats.stats.quantiles import chi2_quantile, two_sided_t
from ttastats.stats.results import Floats


@dataclass(frozen=True, slots=True)
class Between:
    """The standard deviation between sessions, and the smallest difference worth claiming.

    ``deviation`` is None of two sets; ``highest`` bounds it. Two setups that are alike, of as many
    runs in one session each, differ by more than ``smallest_claim`` in at most 1 - confidence of
    the cases.
    """

    sets: int
    deviation: float | None
    highest: float
    smallest_claim: float


def between(
    means: Sequence[float],
    variances: Sequence[float],
    dfs: Sequence[float],
    confidence: float = 0.95,
) -> Between | None:
    """Judge means of sets of runs of one setup by the variances of these means.

    None of fewer than two sets. ``dfs`` are the degrees of freedom of the variances. The smallest
    claim rests on the spread of the means, with k - 1 degrees of freedom, and is no less than what
    runs of one session would need.
    """
    k = len(means)
    if k < 2:
        return None
    values, own = np.asarray(means, dtype=np.float64), np.asarray(variances, dtype=np.float64)
    spread = float(values.var(ddof=1))
    typical = float(own.mean())
    df = sum(dfs)
    claim = max(
        two_sided_t(k - 1, confidence) * math.sqrt(2 * spread),
        two_sided_t(df, confidence) * math.sqrt(2 * typical),
    )
    highest = max(_highest(values, own, 1 - confidence), typical)
    deviation = math.sqrt(max(spread - typical, 0.0)) if k > 2 else None
    return Between(k, deviation, math.sqrt(highest), claim)


def _highest(means: Floats, variances: Floats, alpha: float) -> float:
    """Bisect for the variance between sets at which their weighted spread is improbably small."""
    least = chi2_quantile(alpha, means.size - 1)

    def spread(extra: float) -> float:
        total = variances + extra
        if not total.all():
            return math.inf if np.ptp(means) else 0.0
        centre = float(np.average(means, weights=1 / total))
        return float(((means - centre) ** 2 / total).sum())

    low, high = 0.0, max(float(np.ptp(means)) ** 2 / least, 1e-300)
    if spread(low) <= least:
        return 0.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if spread(middle) > least else (low, middle)
    return high
