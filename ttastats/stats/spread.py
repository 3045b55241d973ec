"""Whether two sides vary equally."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from ttastats.stats.moments import as_side
from ttastats.stats.permutation import DRAWS, permute_scores
from ttastats.stats.quantiles import f_tail
from ttastats.stats.results import Flag, Floats, Significance

RUNS_TO_COMPARE = 10
"""With 5 runs the tests of equal spread miss a factor of 4, or see one that is not there."""


def _deviations(times: Floats) -> Floats:
    logs = np.log(times)
    deviations: Floats = np.abs(logs - np.median(logs))
    return deviations


def brown_forsythe(times_a: ArrayLike, times_b: ArrayLike) -> Significance:
    """Brown-Forsythe test (1974) of equal spread of log times: F and its tail probability.

    p is 1 when no run deviates from its side's median, None and flagged with fewer than
    three runs in all.
    """
    a, b = as_side(times_a, "A"), as_side(times_b, "B")
    return _f_test(_deviations(a), _deviations(b))


def _f_test(a: Floats, b: Floats) -> Significance:
    df = a.size + b.size - 2
    if df < 1:
        flag = Flag("few_runs", "3 runs needed to compare spreads")
        return Significance(None, None, a.size, b.size, flags=(flag,))
    within = float(np.sum((a - a.mean()) ** 2) + np.sum((b - b.mean()) ** 2)) / df
    between = a.size * b.size / (a.size + b.size) * float(a.mean() - b.mean()) ** 2
    if within == 0.0:
        statistic, p_value = (math.inf, 0.0) if between > 0 else (0.0, 1.0)
    else:
        statistic = between / within
        p_value = f_tail(statistic, 1, df)
    return Significance(statistic, p_value, a.size, b.size, df=float(df))


def equal_spread(
    times_a: ArrayLike,
    times_b: ArrayLike,
    *,
    rng: np.random.Generator,
    draws: int = DRAWS,
) -> Significance:
    """Test whether two sides vary equally, by permuted deviations from the median log.

    The statistic is Brown and Forsythe's F, its p the share of random splits of the
    deviations. Below 10 runs a side p is None and flagged: nothing can be said.
    """
    a, b = as_side(times_a, "A"), as_side(times_b, "B")
    deviations_a, deviations_b = _deviations(a), _deviations(b)
    test = _f_test(deviations_a, deviations_b)
    fewest = min(a.size, b.size)
    if fewest < RUNS_TO_COMPARE:
        message = f"n too small to compare CVs: {RUNS_TO_COMPARE} runs per side, have {fewest}"
        flag = Flag("few_runs", message)
        return Significance(test.statistic, None, a.size, b.size, flags=(flag,))
    # F grows with the difference of the mean deviations alone: their total is fixed.
    pooled = np.concatenate([deviations_a, deviations_b])
    permuted = permute_scores(pooled, a.size, rng=rng, draws=draws)
    return Significance(
        test.statistic,
        permuted.p_value,
        a.size,
        b.size,
        exact=permuted.exact,
        draws=permuted.draws,
        flags=permuted.flags,
    )
