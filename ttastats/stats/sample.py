"""How long a run takes: what the times of one sample say."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from ttastats.stats.moments import as_sample, mean, standard_deviation
from ttastats.stats.outcomes import numbered, variance_of_mean
from ttastats.stats.quantiles import check_confidence, two_sided_t
from ttastats.stats.results import Estimate

RUNS_FOR_INTERVAL = 3
"""With two runs a t interval spans a factor of thousands in the CV: none is shown."""


def mean_interval(
    times: ArrayLike, *, confidence: float = 0.95, setups: ArrayLike | None = None
) -> Estimate:
    """Arithmetic mean in seconds with Student's t interval; no interval below 3 runs.

    Its lower end may be negative when the runs vary wildly: the interval is for the mean of
    a roughly normal sample. ``setups``: a label per run, shape (n,). Where several are pooled, they
    and not the runs are independent: the interval is that of their sums, as for a verdict.
    """
    check_confidence(confidence)
    values = as_sample(times)
    n = values.size
    spread = standard_deviation(values)
    if spread is None or n < RUNS_FOR_INTERVAL:
        return Estimate(mean(values) if n else None, None, None, confidence, n)
    centre, df, se = mean(values), n - 1.0, spread / math.sqrt(n)
    clusters = numbered(setups, n)
    if clusters is not None:
        variance, df = variance_of_mean(values - centre, clusters)
        se = math.sqrt(variance or 0.0)
    half = two_sided_t(df, confidence) * se
    return Estimate(centre, centre - half, centre + half, confidence, n)


def olympic_mean(times: ArrayLike, *, n_failed: int = 0, drop: int = 1) -> float | None:
    """Official MLPerf score from the times of successful runs, in their unit.

    The ``drop`` fastest and ``drop`` slowest of all runs are left out (4 for unet3d, 1
    elsewhere); failed runs count as the slowest, and more failures than ``drop``, or no run that
    is left, mean no score. A score, not a statistic: trimming hides the rare slow run.
    """
    sample = np.sort(as_sample(times))
    total = sample.size + n_failed
    if n_failed > drop or total <= 2 * drop:
        return None
    return mean(sample[drop : total - drop])
