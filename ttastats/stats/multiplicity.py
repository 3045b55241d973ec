"""What holds over many benchmarks: adjusted p values, a mean speedup, how systems compare?"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike

from ttastats.stats.logratio import combine_terms, interval_around, safe_exp, term_of
from ttastats.stats.results import Floats, Ratio

PValues = Sequence[float | None]
Case = TypeVar("Case")


class MeanSpeedup(Struct, frozen=True):
    """Geometric mean of the speedups of ``n`` benchmarks, each weighing the same."""

    estimate: float | None
    low: float | None
    high: float | None
    n: int


def adjust_p_values(p_values: PValues, *, fdr: bool = False) -> tuple[float | None, ...]:
    """Return p values adjusted for multiple tests (Holm 1979), None where there was no test.

    With ``fdr`` they are adjusted to the false discovery rate (Benjamini and Hochberg 1995).
    """
    known = [p for p in p_values if p is not None]
    order, m = np.argsort(known, kind="stable"), len(known)
    ascending = np.asarray(known, dtype=np.float64)[order]
    if fdr:
        steps = np.minimum.accumulate((ascending * m / np.arange(1, m + 1))[::-1])[::-1]
    else:
        steps = np.maximum.accumulate(ascending * (m - np.arange(m)))
    in_order = np.empty(m)
    in_order[order] = steps
    values = iter(np.minimum(in_order, 1.0).tolist())
    return tuple(None if p is None else next(values) for p in p_values)


def step_down(
    cases: Sequence[Case], shown: Callable[[Case, float], bool], alpha: float
) -> list[bool]:
    """Return which claims hold together at ``alpha``, by Holm's step-down without p values.

    ``shown(case, level)`` says whether a case's claim holds at a level; a claim that holds at
    one level holds at every larger one.
    """
    rejected = [False] * len(cases)
    while True:
        left = rejected.count(False)
        new = [k for k, case in enumerate(cases) if not rejected[k] and shown(case, alpha / left)]
        if not new:
            return rejected
        for k in new:
            rejected[k] = True


def geometric_mean_speedup(ratios: Sequence[Ratio], *, confidence: float = 0.95) -> MeanSpeedup:
    """Return the geometric mean of speedups over matched benchmarks, with its interval.

    SE = sqrt(sum SE_k^2) / K: for these benchmarks, not for others one might have chosen.
    """
    speedups = [ratio.estimate for ratio in ratios]
    known = [s for s in speedups if s is not None and 0 < s < math.inf]
    if not known or len(known) < len(ratios):
        return MeanSpeedup(None, None, None, len(ratios))
    terms = [term_of(ratio, 1 / len(ratios)) for ratio in ratios]
    scale = combine_terms(float(np.mean(np.log(known))), terms, confidence)
    estimate = safe_exp(scale.value)
    low, high = interval_around(estimate, scale)
    return MeanSpeedup(estimate, low, high, len(ratios))


class PerformanceProfile(Struct, frozen=True, eq=False):
    """Share of benchmarks, one row per system, solved within so many times the best.

    ``scores`` integrate that over [1, tau_max], scaled to [0, 1].
    """

    shares: Floats
    scores: Floats


def performance_profile(
    times: ArrayLike, taus: ArrayLike, *, tau_max: float = 4.0
) -> PerformanceProfile:
    """Return the performance profile of Dolan and More (2002) and AlgoPerf's score.

    ``times``: shape (systems, benchmarks), seconds, infinite where the target was missed;
    ``taus``: factors of 1 or more. A benchmark nobody solved counts for nobody.
    """
    table = np.asarray(times, dtype=np.float64)
    factors = np.asarray(taus, dtype=np.float64)
    best = table.min(axis=0)
    solved = np.isfinite(best)
    ratios = np.full(table.shape, math.inf)
    ratios[:, solved] = table[:, solved] / best[solved]
    # Rounding of a quotient must not push a system past a factor it meets exactly.
    within = ratios[:, :, np.newaxis] <= factors * (1 + 1e-12)
    left = np.maximum(tau_max - ratios, 0.0)
    return PerformanceProfile(shares=within.mean(axis=1), scores=left.mean(axis=1) / (tau_max - 1))
