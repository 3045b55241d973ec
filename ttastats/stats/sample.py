"""How long a run takes: what the times of one sample say."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from ttastats.stats.moments import as_sample, mean, standard_deviation
from ttastats.stats.quantiles import check_confidence, two_sided_t
from ttastats.stats.results import Estimate, Flag, Floats

RUNS_FOR_INTERVAL = 3
"""With two runs a t interval spans a factor of thousands in the CV: none is shown."""


def size_flags(n: int) -> tuple[Flag, ...]:
    """Advice when a sample is too small for an interval."""
    needed = RUNS_FOR_INTERVAL
    if n == 0:
        return (Flag("no_runs", f"no runs: {needed} runs needed for an interval"),)
    if n == 1:
        message = f"no variance with one run: {needed} runs needed for an interval"
        return (Flag("one_run", message),)
    if n < needed:
        return (Flag("few_runs", f"{needed} runs needed for an interval, have {n}"),)
    return ()


def mean_interval(times: ArrayLike, *, confidence: float = 0.95) -> Estimate:
    """Arithmetic mean in seconds with Student's t interval; no interval below 3 runs.

    Its lower end may be negative when the runs vary wildly: the interval is for the mean of
    a roughly normal sample.
    """
    return _t_interval(as_sample(times), confidence)


def _t_interval(values: Floats, confidence: float) -> Estimate:
    check_confidence(confidence)
    flags = size_flags(values.size)
    if values.size == 0:
        return Estimate(None, None, None, confidence, 0, flags=flags)
    centre, spread = mean(values), standard_deviation(values)
    if spread is None or flags:
        return Estimate(centre, None, None, confidence, values.size, flags=flags)
    half = two_sided_t(values.size - 1, confidence) * spread / math.sqrt(values.size)
    return Estimate(centre, centre - half, centre + half, confidence, values.size)


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
