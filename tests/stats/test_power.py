"""Power against simulation, R's table and itself."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import integrate, special, stats
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


@pytest.mark.parametrize(
    ("n", "shift"),
    [(2, 5.0), (3, 0.5), (10, 20.0), (10, 300.0), (200, 0.5), (200, 38.0)],
)
def test_power_is_finite_and_right_far_out_where_library_tails_are_nan(
    n: int, shift: float
) -> None:
    cv = 0.1
    effect = shift * math.sqrt(2 * math.log1p(cv**2) / n)
    df = 2 * (n - 1)

    def missed(ratio: float) -> float:
        """Return the chance to miss the effect where the sample variances have this ratio."""
        critical = stats.t.ppf(0.975, (n - 1) * (1 + ratio) ** 2 / (1 + ratio**2))

        def integrand(s: float) -> float:
            inside = special.ndtr(critical * s - shift) - special.ndtr(-critical * s - shift)
            return float(inside * stats.chi.pdf(s * math.sqrt(df), df) * math.sqrt(df))

        return integrate.quad(integrand, 0, 30, limit=500, points=[0.5, 1, 2])[0]

    ratios = stats.f.ppf((np.arange(40) + 0.5) / 40, n - 1, n - 1)
    mean = float(np.mean([missed(ratio) for ratio in ratios])) if n < 30 else missed(1.0)
    assert power_of_effect(effect, n, cv, 0.05) == pytest.approx(
        1 - mean, abs=3e-3 if n < 30 else 1e-6
    )


def test_the_published_table_of_runs_per_side() -> None:
    table = {(0.05, 1.01): 397, (0.07, 1.05): 34, (0.14, 1.1): 35, (0.44, 1.01): 28060}
    assert {key: runs_needed(key[1], key[0]) for key in table} == table


def test_what_cannot_be_reached_is_unknown() -> None:
    assert runs_needed(1.0, 0.1) is None
    assert detectable_ratio(1, 0.1) is None
    # One evaluation may be twice the whole run: of five, more than half may have taken none.
    assert detectable_ratio(5, 0.1, epoch_shifts=(2.0, 0.0)) is None
    assert detectable_ratio(5, 0.0) == 1.0
    assert power_of_effect(math.log(1.1), 5, 0.0, 0.05) == 1.0
    assert runs_needed(1.001, 0.0) == 3


def test_of_many_runs_the_detectable_difference_is_that_of_the_pooled_test() -> None:
    theirs = TTestIndPower().solve_power(nobs1=400, alpha=0.05, power=0.8)
    assert detectable_difference(400, (2.0, 2.0)) == pytest.approx(2 * theirs, rel=1e-3)
