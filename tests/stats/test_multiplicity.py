"""Adjusted p values, mean speedups and performance profiles of many benchmarks."""

from __future__ import annotations

import math

import numpy as np
import pytest
from msgspec.structs import replace
from statsmodels.stats.multitest import multipletests

from ttastats.stats.multiplicity import (
    adjust_p_values,
    geometric_mean_speedup,
    performance_profile,
)
from ttastats.stats.speedup import ratio_of_means


@pytest.mark.parametrize("seed", range(5))
def test_adjusted_p_values_are_those_of_statsmodels(seed: int) -> None:
    rng = np.random.default_rng(seed)
    p = np.round(rng.random(7) ** 3, 2)
    p[2] = p[5]
    assert adjust_p_values(p.tolist()) == pytest.approx(multipletests(p, method="holm")[1])
    assert adjust_p_values(p.tolist(), fdr=True) == pytest.approx(
        multipletests(p, method="fdr_bh")[1]
    )


def test_a_mean_needs_every_speedup_and_its_interval_every_interval() -> None:
    good, single = ratio_of_means([2.0, 2.1], [1.0, 1.1]), ratio_of_means([2.0], [1.0])
    half = geometric_mean_speedup([good, single])
    assert half.estimate is not None
    assert half.low is None
    assert geometric_mean_speedup([]).estimate is None
    for bad in (None, 0.0, math.inf):
        found = geometric_mean_speedup([good, replace(good, estimate=bad)])
        assert found.estimate is None


def test_the_score_is_the_area_under_the_profile() -> None:
    rng = np.random.default_rng(1)
    times = rng.lognormal(0, 1, (4, 7))
    times[2, 3] = math.inf
    fine = np.linspace(1, 4, 30_001)
    found = performance_profile(times, (fine[1:] + fine[:-1]) / 2)
    assert found.scores == pytest.approx(found.shares.mean(axis=1), abs=1e-4)


def test_the_profile_counts_benchmarks_within_a_factor_of_the_best() -> None:
    rng = np.random.default_rng(2)
    times = rng.integers(1, 9, (3, 10)).astype(float)
    taus = [1.0, 1.5, 2.0, 3.0]
    found = performance_profile(times, taus)
    for s in range(3):
        for k, tau in enumerate(taus):
            count = sum(times[s, j] <= tau * min(times[:, j]) for j in range(10))
            assert found.shares[s, k] == pytest.approx(count / 10)


def test_a_factor_met_exactly_is_met_despite_rounding() -> None:
    found = performance_profile([[0.1], [0.1 * 3]], [3.0])
    assert found.shares.tolist() == [[1.0], [1.0]]
