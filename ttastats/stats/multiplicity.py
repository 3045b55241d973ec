"""What holds over many benchmarks: adjusted p values and a mean speedup."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from ttastats.stats.logratio import LogTerm, around, combine, safe_exp
from ttastats.stats.quantiles import check_confidence
from ttastats.stats.results import Ratio

PValues = Sequence[float | None]
Case = TypeVar("Case")


@dataclass(frozen=True, slots=True)
class MeanSpeedup:
    """Geometric mean of the speedups of ``n`` benchmarks, each weighing the same."""

    estimate: float | None
    low: float | None
    high: float | None
    n: int


def adjusted(p_values: PValues, *, fdr: bool = False) -> tuple[float | None, ...]:
    """Adjust p values so that all claims below alpha hold together (Holm 1979).

    With ``fdr`` they are adjusted to the false discovery rate (Benjamini and Hochberg 1995).
    Unknown p values stay unknown and do not count as tests.
    """
    known = [p for p in p_values if p is not None]
    if not all(0.0 <= p <= 1.0 for p in known):
        raise ValueError(f"p values lie between 0 and 1: {known}")
    order, m = np.argsort(known, kind="stable"), len(known)
    ascending = np.asarray(known, dtype=np.float64)[order]
    if fdr:
        steps = np.minimum.accumulate((ascending * m / np.arange(1, m + 1))[::-1])[::-1]
    else:
        steps = np.maximum.accumulate(ascending * (m - np.arange(m)))
    found = np.empty(m)
    found[order] = steps
    values = iter(np.minimum(found, 1.0).tolist())
    return tuple(None if p is None else next(values) for p in p_values)


def step_down(
    cases: Sequence[Case], shown: Callable[[Case, float], bool], alpha: float
) -> list[bool]:
    """Return which claims hold together at ``alpha``, by Holm's step-down without p values.

    ``shown(case, level)`` says whether a case's claim holds at a level; a claim that holds at
    one level holds at every larger one.
    """
    found = [False] * len(cases)
    while True:
        left = found.count(False)
        new = [k for k, case in enumerate(cases) if not found[k] and shown(case, alpha / left)]
        if not new:
            return found
        for k in new:
            found[k] = True


def geometric_mean_speedup(ratios: Sequence[Ratio], *, confidence: float = 0.95) -> MeanSpeedup:
    """Geometric mean of speedups over a matched set of benchmarks, with Satterthwaite df.

    SE = sqrt(sum SE_k^2) / K: for these benchmarks, not for others one might have chosen.
    A benchmark without an interval leaves none for the mean, one without a finite speedup
    leaves no mean.
    """
    check_confidence(confidence)
    speedups = [ratio.estimate for ratio in ratios]
    known = [s for s in speedups if s is not None and 0 < s < math.inf]
    if not known or len(known) < len(ratios):
        return MeanSpeedup(None, None, None, len(ratios))
    terms = [_term(ratio, len(ratios)) for ratio in ratios]
    scale = combine(float(np.mean(np.log(known))), terms, confidence)
    estimate = safe_exp(scale.value)
    low, high = around(estimate, scale)
    return MeanSpeedup(estimate, low, high, len(ratios))


def _term(ratio: Ratio, count: int) -> LogTerm:
    variance = None if ratio.se_log is None else (ratio.se_log / count) ** 2
    return LogTerm(1.0, variance, math.inf if ratio.df is None else ratio.df)
