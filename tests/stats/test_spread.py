"""Whether two sides vary equally."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from ttastats.stats.spread import brown_forsythe, equal_spread


def test_it_is_levenes_test_around_the_median_of_the_logs() -> None:
    rng = np.random.default_rng(1)
    for n_a, n_b in ((4, 4), (7, 12)):
        a, b = rng.lognormal(0, 0.1, n_a), rng.lognormal(1, 0.3, n_b)
        theirs = stats.levene(np.log(a), np.log(b), center="median")
        ours = brown_forsythe(a, b)
        assert ours.statistic == pytest.approx(theirs.statistic)
        assert ours.p_value == pytest.approx(theirs.pvalue)


def test_the_permutation_p_permutes_the_deviations() -> None:
    rng = np.random.default_rng(2)
    a, b = rng.lognormal(0, 0.1, 10), rng.lognormal(1, 0.3, 10)
    z = np.concatenate([np.abs(np.log(x) - np.median(np.log(x))) for x in (a, b)])
    rows = np.array(list(itertools.combinations(range(20), 10)))
    f = stats.f_oneway
    observed = abs(z[:10].mean() - z[10:].mean())
    gaps = np.abs(z[rows].mean(axis=1) - (z.sum() - z[rows].sum(axis=1)) / 10)
    found = equal_spread(a, b, rng=rng)
    assert found.p_value == pytest.approx(np.mean(gaps >= observed - 1e-12))
    assert found.statistic == pytest.approx(f(z[:10], z[10:]).statistic)


def test_below_ten_runs_nothing_is_said() -> None:
    rng = np.random.default_rng(3)
    found = equal_spread(rng.lognormal(0, 0.01, 9), rng.lognormal(0, 2, 30), rng=rng)
    assert found.p_value is None
    assert found.flags[0].message == "n too small to compare CVs: 10 runs per side, have 9"


def test_equal_times_on_both_sides_vary_equally() -> None:
    assert brown_forsythe([0.1] * 4, [0.3] * 5).p_value == 1.0
    assert brown_forsythe([1.0], [2.0]).flags[0].code == "few_runs"
    with pytest.raises(ValueError, match="no runs for side B"):
        brown_forsythe([1.0], [])


def test_a_side_that_deviates_by_one_amount_only_against_one_that_never_does() -> None:
    found = brown_forsythe([1.0, 4.0], [3.0, 3.0])
    assert found.p_value == 0.0
    assert found.statistic == float("inf")


def test_a_fourfold_cv_is_found_with_thirty_runs_and_equal_ones_are_not() -> None:
    rng = np.random.default_rng(4)
    unequal = equal_spread(rng.lognormal(0, 0.14, 30), rng.lognormal(0, 0.035, 30), rng=rng)
    assert (unequal.p_value or 1.0) < 0.01
    rejected = [
        (equal_spread(*rng.lognormal(0, 0.14, (2, 12)), rng=rng, draws=199).p_value or 0) < 0.05
        for _ in range(200)
    ]
    assert np.mean(rejected) < 0.1
