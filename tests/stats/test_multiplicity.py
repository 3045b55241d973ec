"""Adjusted p values, mean speedups and performance profiles of many benchmarks."""

from __future__ import annotations

import math

from msgspec.structs import replace

from ttastats.stats.multiplicity import (
    geometric_mean_speedup,
    performance_profile,
)
from ttastats.stats.speedup import ratio_of_means


def test_a_mean_needs_every_speedup_and_its_interval_every_interval() -> None:
    good, single = (
        ratio_of_means([2.0, 2.1], [1.0, 1.1], confidence=0.95),
        ratio_of_means([2.0], [1.0], confidence=0.95),
    )
    half = geometric_mean_speedup([good, single], confidence=0.95)
    assert half.estimate is not None
    assert half.low is None
    assert geometric_mean_speedup([], confidence=0.95).estimate is None
    for bad in (None, 0.0, math.inf):
        mean = geometric_mean_speedup([good, replace(good, estimate=bad)], confidence=0.95)
        assert mean.estimate is None


def test_a_factor_met_exactly_is_met_despite_rounding() -> None:
    profile = performance_profile([[0.1], [0.1 * 3]], [3.0])
    assert profile.shares.tolist() == [[1.0], [1.0]]
