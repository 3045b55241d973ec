"""Power against simulation, R's table and itself."""

from __future__ import annotations

import math

import numpy as np
import pytest
from statsmodels.stats.power import TTestIndPower

from ttastats.stats import power
from ttastats.stats.decision import decide
from ttastats.stats.outcomes import Epochs, Outcomes, make_outcomes
from ttastats.stats.power import (
    Failing,
    detectable_difference,
    detectable_ratio,
    detectable_with_failures,
    failing_like,
    power_of_shift,
    runs_needed,
    runs_with_failures,
    standard_error,
)
from ttastats.stats.results import Verdict
from ttastats.stats.speedup import compute_speedup


def test_of_many_runs_it_is_the_power_of_the_pooled_t_test_and_of_few_it_is_less() -> None:
    for n, cv, ratio in ((4, 0.1, 1.1), (10, 0.2, 1.3), (40, 0.4, 1.2)):
        effect = math.log(ratio) / math.sqrt(math.log1p(cv**2))
        theirs = TTestIndPower().power(effect, n, 0.05)
        ours = power_of_shift(math.log(ratio) / standard_error(n, cv), n, 0.05)
        if n == 40:
            assert ours == pytest.approx(theirs, rel=1e-6)
        else:
            assert 0.8 * theirs < ours < theirs
    assert power_of_shift(2.8, 30, 0.05) == pytest.approx(power_of_shift(2.8, 31, 0.05), abs=0.02)


def test_the_published_table_of_runs_per_side() -> None:
    table = {(0.05, 1.01): 397, (0.07, 1.05): 34, (0.14, 1.1): 35, (0.44, 1.01): 28060}
    assert {key: runs_needed(key[1], key[0], power=0.8, alpha=0.05) for key in table} == table


def test_what_cannot_be_reached_is_unknown() -> None:
    assert runs_needed(1.0, 0.1, power=0.8, alpha=0.05) is None
    assert detectable_ratio(1, 0.1, power=0.8, alpha=0.05) is None
    # One evaluation may be twice the whole run: of five, more than half may have taken none.
    assert detectable_ratio(5, 0.1, epoch_shifts=(2.0, 0.0), power=0.8, alpha=0.05) is None
    assert detectable_ratio(5, 0.0, power=0.8, alpha=0.05) == 1.0
    assert runs_needed(1.001, 0.0, power=0.8, alpha=0.05) == 3
    # SciPy's tail of the noncentral t is NaN there.
    assert power_of_shift(38.0, 200, 0.05) == pytest.approx(1.0)


def test_a_plan_is_the_smallest_number_that_has_the_power_whatever_the_spread() -> None:
    rng = np.random.default_rng(5)
    for cv, effect, alpha in rng.uniform((0.01, 0.02, 0.001), (0.5, 0.5, 0.2), (60, 3)).tolist():
        n = runs_needed(math.exp(effect), cv, power=0.8, alpha=alpha)
        assert n
        powers = [power_of_shift(effect / standard_error(m, cv), m, alpha) for m in (n - 1, n)]
        assert powers[0] < 0.8 or n == 3
        assert powers[1] >= 0.8
        found = detectable_ratio(n, cv, power=0.8, alpha=alpha)
        assert found
        shift = math.log(found) / standard_error(n, cv)
        assert power_of_shift(shift, n, alpha) == pytest.approx(0.8, abs=1e-9)
        # Where epochs not seen could have taken a little longer, a few more are needed.
        guarded = runs_needed(
            math.exp(effect), cv, power=0.8, alpha=alpha, epoch_shifts=(1e-9, 0.0)
        )
        assert guarded == pytest.approx(n, abs=3)


def test_plans_of_many_spreads_ask_for_few_powers_and_samples(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked, drawn = list[int](), list[int]()
    one_power, samples = power.power_of_shift, power._samples

    def counted(shift: float, n: int, alpha: float) -> float:
        asked.append(n)
        return one_power(shift, n, alpha)

    def drawn_of(n: int, side: Failing, rng: np.random.Generator) -> object:
        drawn.append(n)
        return samples(n, side, rng)

    monkeypatch.setattr(power, "power_of_shift", counted)
    monkeypatch.setattr(power, "_samples", drawn_of)
    power._least_shift.cache_clear()
    for cv in np.random.default_rng(6).uniform(0.05, 0.15, 300).tolist():
        for ratio in (1.05, 1.1, 1.2):
            runs_needed(ratio, cv, power=0.8, alpha=0.05)
    assert len(asked) < 12 * len(set(asked)) < 6_000  # each number of runs is solved once
    power._least_of_samples.cache_clear()
    like = Failing(0.85, 0.2, 1.5, 0.2)
    for ratio in (1.01, 1.02, 1.05, 1.1, 1.2):
        runs_with_failures(ratio, (like, like))
    assert len(drawn) / 2 <= 60


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
