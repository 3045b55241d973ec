"""Power against simulation, R's table and itself."""

from __future__ import annotations

import math

import numpy as np
import pytest
from statsmodels.stats.power import TTestIndPower

from ttastats.stats.decision import decide
from ttastats.stats.outcomes import Epochs, Outcomes, make_outcomes
from ttastats.stats.power import (
    Failing,
    detectable_difference,
    detectable_ratio,
    detectable_with_failures,
    failing_like,
    power_of_effect,
    runs_needed,
    runs_with_failures,
)
from ttastats.stats.results import Verdict
from ttastats.stats.speedup import compute_speedup


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


def made(like: Failing, n: int, mean: float, rng: np.random.Generator) -> Outcomes:
    """Return runs, one by one, that fail and vary as said."""
    sigma = math.sqrt(math.log1p(like.cv**2))
    reached = rng.random(n) < like.reached
    stopped = like.stopped * (1 + like.stopped_cv * rng.uniform(-(3**0.5), 3**0.5, n))
    times = mean * np.where(reached, rng.lognormal(-(sigma**2) / 2, sigma, n), stopped)
    return make_outcomes(times, reached, progress=Epochs(times[reached], 0.01))


def test_a_plan_for_runs_that_fail_keeps_its_word_about_runs_made_one_by_one() -> None:
    rng = np.random.default_rng(3)
    for certain in (False, True, False):
        like = Failing(*rng.uniform((0.5, 0.02, 0.3, 0), (0.9, 0.2, 2, 0.5)).tolist())
        ratio = float(rng.choice([1.5, 2, 3]))
        n = runs_with_failures(ratio, (like, like), certain=certain)
        assert n
        shown = 0
        for _ in range(150):
            a, b = made(like, n, ratio, rng), made(like, n, 1.0, rng)
            if not (a.n_reached and b.n_reached):
                continue
            verdict = decide(compute_speedup(a, b, estimand="mean", confidence=0.95), margin=0.01)
            shown += verdict.word is Verdict.FASTER and not (certain and verdict.conditions)
        assert 0.72 < shown / 150 < 0.9, (like, ratio, n)


def test_a_plan_without_failures_is_the_usual_one_and_failures_make_it_longer() -> None:
    steady = Failing(1.0, 0.1)
    planned = runs_needed(1.05, 0.1, power=0.8, alpha=0.05)
    assert planned
    assert runs_with_failures(1.05, (steady, steady)) == pytest.approx(planned, rel=0.05)
    assert runs_with_failures(1.05, (steady, steady), certain=True) == runs_with_failures(
        1.05, (steady, steady)
    )
    failing = [Failing(share, 0.1, 1.0) for share in (1, 0.9, 0.7, 0.4)]
    plans = [runs_with_failures(1.5, (like, like)) or 0 for like in failing]
    assert plans == sorted(plans)
    assert plans[0] < plans[-1]


def test_what_a_plan_detects_is_what_it_was_made_for() -> None:
    sides = Failing(0.8, 0.1, 0.5), Failing(0.6, 0.2, 2.0, 0.3)
    for certain in (False, True):
        n = runs_with_failures(1.4, sides, certain=certain)
        assert n
        seen = [detectable_with_failures(m, sides, certain=certain) for m in (n, n - 1)]
        assert seen[0] is not None
        assert seen[1] is not None
        assert seen[0] <= 1.4 < seen[1]
    assert detectable_with_failures(1, sides) is None
    assert detectable_with_failures(5, sides, epoch_shifts=(2.0, 0.0)) is None
    assert runs_with_failures(1.0, sides) is None
    # Of five runs of which one in ten succeeds, most samples have none.
    rare = Failing(0.1, 0.1, 1.0)
    assert detectable_with_failures(5, (rare, rare)) is None


def test_how_runs_end_is_read_from_a_side() -> None:
    side = make_outcomes([10.0, 12.0, 22.0, 11.0], [True, True, False, True])
    like = failing_like(side)
    assert like
    assert (like.reached, like.cv, like.stopped, like.stopped_cv) == pytest.approx(
        (0.75, 1 / 11, 2.0, 0.0)
    )
    assert failing_like(make_outcomes([10.0, 20.0], [True, False])) is None
