"""Adjusted p values and mean speedups."""

from __future__ import annotations

import math

import numpy as np
import pytest
from msgspec.structs import replace
from statsmodels.stats.multitest import multipletests

from ttastats.stats.multiplicity import adjust_p_values, geometric_mean_speedup
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


def test_unknown_p_values_stay_unknown_and_cost_nothing() -> None:
    assert adjust_p_values([0.02, None, 0.03, None]) == (0.04, None, 0.04, None)
    assert adjust_p_values([None], fdr=True) == (None,)
    assert adjust_p_values([]) == ()


def test_a_mean_needs_every_speedup_and_its_interval_every_interval() -> None:
    good, single = ratio_of_means([2.0, 2.1], [1.0, 1.1]), ratio_of_means([2.0], [1.0])
    half = geometric_mean_speedup([good, single])
    assert half.estimate is not None
    assert half.low is None
    assert geometric_mean_speedup([]).estimate is None
    for bad in (None, 0.0, math.inf):
        found = geometric_mean_speedup([good, replace(good, estimate=bad)])
        assert found.estimate is None
