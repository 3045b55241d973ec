"""How does the speedup grow with the number of accelerators?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ttastats.stats.logratio import combine_terms
from ttastats.stats.outcomes import Outcomes, time_term
from ttastats.stats.results import Estimate


def loglog_slope(accelerators: Sequence[int], sides: Sequence[Outcomes]) -> Estimate:
    """Return the slope of log speedup over log accelerators: 1 is linear scaling, 0 is none.

    Least squares through the log mean times of the runs of each number of accelerators, of which
    failed ones count (ERT). The interval carries
    the variances of those means (delta method, Satterthwaite df) and no lack of fit. None with
    fewer than two different scales.
    """
    confidence = 0.95
    runs = sum(side.n for side in sides)
    if len(set(accelerators)) < 2:
        return Estimate(None, None, None, confidence, runs)
    x = np.log(np.asarray(accelerators, dtype=np.float64))
    weights = -(x - x.mean()) / np.sum((x - x.mean()) ** 2)
    terms = [time_term(side) for side in sides]
    slope = float(np.dot(weights, np.log([term.estimate for term in terms])))
    weighted = [
        replace(term, variance=None if term.variance is None else weight**2 * term.variance)
        for term, weight in zip(terms, weights.tolist(), strict=True)
    ]
    half = combine_terms(slope, weighted, confidence).half_width
    if half is None:
        return Estimate(slope, None, None, confidence, runs)
    return Estimate(slope, slope - half, slope + half, confidence, runs)
