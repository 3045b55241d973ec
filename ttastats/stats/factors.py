"""By which factor does each term of a sum change that sum, from one side to another?

The factors multiply to the ratio of the sums, and their logs are shares of its log: the additive
logarithmic mean Divisia index (Ang 2005, "The LMDI approach to decomposition analysis", Energy
Policy 33), which leaves no residual and is inverted where the sides change places.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from ttastats.stats.logratio import LogTerm, ratio_of_log
from ttastats.stats.results import Floats, Ratio

#: Sums that differ by less than this share of them are equal, but for rounding.
_EQUAL = 1e-6


def sum_factors(a: ArrayLike, b: ArrayLike, *, confidence: float = 0.95) -> list[Ratio]:
    """Return by which factor each term changes a sum from A to B, and last that of the sum.

    `a` has shape (n_a, terms) and `b` (n_b, terms): samples of terms that are not below 0, and
    whose sums are above. Intervals are Welch's, of the log, by the delta method; a side of one
    sample leaves none.
    """
    first, second = (np.column_stack((x, x.sum(axis=1))) for x in map(np.asarray, (a, b)))
    means = first.mean(axis=0), second.mean(axis=0)
    logs = ((means[0] - means[1]) * _inverse_log_mean(means[0][-1], means[1][-1])[0]).tolist()
    slopes = [_influence(first, *means), -_influence(second, *means[::-1])]
    ratios = []
    for log, *sides in zip(logs, *(slope.T for slope in slopes), strict=True):
        terms = [
            LogTerm(1.0, float(x.var(ddof=1)) / x.size if x.size > 1 else None, x.size - 1.0)
            for x in sides
        ]
        ratios.append(ratio_of_log(log, terms, confidence, sides[0].size, sides[1].size))
    return ratios


def remaining_factor(whole: Ratio, part: Ratio) -> Ratio:
    """Return the part of a ratio that another factor, measured separately, does not explain."""
    if not whole.estimate or not part.estimate:
        return Ratio(None, None, None, whole.confidence, None, None, None, whole.n_a, whole.n_b)
    terms = [
        LogTerm(1.0, None if ratio.se_log is None else ratio.se_log**2, ratio.df or math.inf)
        for ratio in (whole, part)
    ]
    log = math.log(whole.estimate / part.estimate)
    return ratio_of_log(log, terms, whole.confidence, whole.n_a, whole.n_b)


def _inverse_log_mean(total: float, other_total: float) -> tuple[float, float]:
    """Return the inverse of the logarithmic mean of two sums, and its derivative."""
    gap = total - other_total
    if abs(gap) < _EQUAL * total:
        return 2 / (total + other_total), -2 / (total + other_total) ** 2
    inverse = math.log(total / other_total) / gap
    return inverse, (1 / total - inverse) / gap


def _influence(samples: Floats, means: Floats, other_means: Floats) -> Floats:
    """Return each sample's contribution to the log of each factor, up to a constant."""
    inverse, slope = _inverse_log_mean(means[-1], other_means[-1])
    influence: Floats = samples * inverse + (means - other_means) * slope * samples[:, -1:]
    return influence
