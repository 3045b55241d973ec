"""Power against simulation, R's table and itself."""

from __future__ import annotations

import math

import pytest
from statsmodels.stats.power import TTestIndPower

from ttastats.stats.power import (
    detectable_difference,
    detectable_ratio,
    power_of_effect,
    runs_needed,
)


def test_of_many_runs_it_is_the_power_of_the_pooled_t_test_and_of_few_it_is_less() -> None:
    for n, cv, ratio in ((4, 0.1, 1.1), (10, 0.2, 1.3), (40, 0.4, 1.2)):
        effect = math.log(ratio) / math.sqrt(math.log1p(cv**2))
        theirs = TTestIndPower().power(effect, n, 0.05)
        ours = power_of_effect(math.log(ratio), n, cv, 0.05)
        if n == 40:
            assert ours == pytest.approx(theirs, rel=1e-6)
        else:
            assert 0.8 * theirs < ours < theirs
    assert power_of_effect(0.1, 30, 0.14, 0.05) == pytest.approx(
        power_of_effect(0.1, 31, 0.14, 0.05), abs=0.02
    )


def test_the_published_table_of_runs_per_side() -> None:
    table = {(0.05, 1.01): 397, (0.07, 1.05): 34, (0.14, 1.1): 35, (0.44, 1.01): 28060}
    assert {key: runs_needed(key[1], key[0], power=0.8, alpha=0.05) for key in table} == table


def test_what_cannot_be_reached_is_unknown() -> None:
    assert runs_needed(1.0, 0.1, power=0.8, alpha=0.05) is None
    assert detectable_ratio(1, 0.1, power=0.8, alpha=0.05) is None
    # One evaluation may be twice the whole run: of five, more than half may have taken none.
    assert detectable_ratio(5, 0.1, epoch_shifts=(2.0, 0.0), power=0.8, alpha=0.05) is None
    assert detectable_ratio(5, 0.0, power=0.8, alpha=0.05) == 1.0
    assert power_of_effect(math.log(1.1), 5, 0.0, 0.05) == 1.0
    assert runs_needed(1.001, 0.0, power=0.8, alpha=0.05) == 3
    # SciPy's tail of the noncentral t is NaN there.
    assert power_of_effect(0.38, 200, 0.1, 0.05) == pytest.approx(1.0)


def test_of_many_runs_the_detectable_difference_is_that_of_the_pooled_test() -> None:
    theirs = TTestIndPower().solve_power(nobs1=400, alpha=0.05, power=0.8)
    assert detectable_difference(400, (2.0, 2.0)) == pytest.approx(2 * theirs, rel=1e-3)
