"""How many systems compare over many benchmarks."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ttastats.stats.results import Floats


@dataclass(frozen=True, slots=True, eq=False)
class PerformanceProfile:
    """Share of benchmarks, one row per system, solved within so many times the best.

    ``scores`` integrate that over [1, tau_max], scaled to [0, 1].
    """

    shares: Floats
    scores: Floats


def performance_profile(
    times: ArrayLike, taus: ArrayLike, *, tau_max: float = 4.0
) -> PerformanceProfile:
    """Profile of Dolan and More (2002) with AlgoPerf's score, integrated exactly.

    ``times``: shape (systems, benchmarks), seconds, infinite where the target was missed;
    ``taus``: factors of 1 or more. A benchmark nobody solved counts for nobody. ValueError
    for missing or non-positive times.
    """
    table = np.asarray(times, dtype=np.float64)
    if table.ndim != 2 or table.size == 0:
        raise ValueError("times must have one row per system and one column per benchmark")
    if not bool(np.all(table > 0)):
        raise ValueError("times must be positive, infinite where the target was missed")
    if not 1 < tau_max < math.inf:
        raise ValueError(f"tau_max must exceed 1, not {tau_max}")
    factors = np.asarray(taus, dtype=np.float64)
    ratios = _ratios_to_best(table)
    # Rounding of a quotient must not push a system past a factor it meets exactly.
    within = ratios[:, :, np.newaxis] <= factors * (1 + 1e-12)
    remaining = np.maximum(tau_max - ratios, 0.0)
    return PerformanceProfile(
        shares=within.mean(axis=1), scores=remaining.mean(axis=1) / (tau_max - 1)
    )


def _ratios_to_best(table: Floats) -> Floats:
    best = table.min(axis=0)
    solved = np.isfinite(best)
    ratios = np.full(table.shape, math.inf)
    ratios[:, solved] = table[:, solved] / best[solved]
    return ratios
