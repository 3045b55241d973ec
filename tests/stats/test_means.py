"""Means of times and of a quality: against a number, of two sides, and of several sets of runs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special, stats

from ttastats.stats.means import (
    Set,
    compare_exact,
    compare_with_number,
    mean_difference,
    mean_interval,
    mean_limits,
    smallest_change,
    variance_between_sets,
)
from ttastats.stats.power import runs_for_mean
from ttastats.stats.variation import cv_interval

#: Final losses of two records of the NanoGPT speedrun, as their authors' logs have them.
RECORD_88 = [
    3.2821, 3.2802, 3.2758, 3.2769, 3.2775, 3.2768, 3.2780, 3.2778, 3.2817, 3.2767, 3.2796, 3.2775,
    3.2766,
]  # fmt: skip
RECORD_89 = [
    3.2775, 3.2779, 3.2793, 3.2791, 3.2769, 3.2781, 3.2772, 3.2775, 3.2783, 3.2775, 3.2806, 3.2816,
    3.2773,
]  # fmt: skip


def test_the_p_values_that_the_authors_state() -> None:
    for losses, p_value in ((RECORD_88, 0.0042976481), (RECORD_89, 0.0006690604)):
        test = compare_with_number(losses, 3.28, higher_is_better=False, level=0.05)
        assert test.p_value == pytest.approx(p_value, rel=1e-6)
        assert test.holds
    difference = mean_difference(RECORD_88, RECORD_89, confidence=0.95)
    assert difference.p_value == pytest.approx(0.8587465222, rel=1e-8)


def test_a_difference_is_that_of_another_program() -> None:
    rng = np.random.default_rng(3)
    a, b = rng.normal(-0.3, 1.0, 5), rng.normal(0.4, 3.0, 9)
    theirs = stats.ttest_ind(b, a, equal_var=False)
    limits = theirs.confidence_interval(0.9)
    difference = mean_difference(a, b, confidence=0.9)
    assert difference.p_value == pytest.approx(theirs.pvalue, rel=1e-9)
    assert (difference.low, difference.high) == pytest.approx((limits.low, limits.high), rel=1e-9)
    assert difference.estimate == pytest.approx(b.mean() - a.mean())


@pytest.mark.parametrize("higher", [True, False])
def test_a_claim_is_the_one_sided_test_of_another_program(higher: bool) -> None:
    values = np.array([0.93, 0.941, 0.939, 0.944])
    theirs = stats.ttest_1samp(values, 0.935, alternative="greater" if higher else "less")
    test = compare_with_number(values, 0.935, higher_is_better=higher, level=0.01)
    assert test.p_value == pytest.approx(theirs.pvalue, rel=1e-9)
    limits = stats.ttest_1samp(values, 0.935).confidence_interval(0.98)
    assert (test.low, test.high) == pytest.approx((limits.low, limits.high), rel=1e-9)


def test_a_known_deviation_makes_it_a_z_test() -> None:
    test = compare_with_number(
        [3.2785] * 20, 3.28, higher_is_better=False, sigma=0.0013, level=0.001
    )
    assert test.p_value == pytest.approx(stats.norm.sf(0.0015 * math.sqrt(20) / 0.0013))
    of_one_run = compare_with_number([3.27], 3.28, higher_is_better=False, sigma=0.0013, level=0.05)
    assert (of_one_run.n, of_one_run.holds) == (1, True)


def test_without_any_spread_exact_tests_stand_in() -> None:
    bare = mean_difference([0.94] * 5, [0.95] * 5, confidence=0.95)
    assert (bare.low, bare.high) == (bare.estimate, bare.estimate)
    assert bare.p_value == pytest.approx(2 / math.comb(10, 5))
    assert mean_difference([0.94] * 5, [0.94] * 5, confidence=0.95).p_value == 1.0


@pytest.mark.parametrize("seed", range(6))
def test_equal_values_have_no_p_and_a_claim_holds_only_if_no_run_differs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    value, n, step = rng.normal(0, 10 ** rng.uniform(-3, 3)), int(rng.integers(2, 30)), 0.01
    for higher in (True, False):
        better = value - abs(value) if higher else value + abs(value)
        for resolution in (0.0, step):
            test = compare_with_number(
                [value] * n, better, higher_is_better=higher, resolution=resolution, level=0.05
            )
            assert (test.holds, test.conditions) == (True, ("equal_values",))
            assert (test.p_value, test.low, test.high) == (None, None, None)
        same = compare_with_number([value] * n, value, higher_is_better=higher, level=0.05)
        assert (same.holds, same.conditions) == (False, ())


@pytest.mark.parametrize("n", [2, 3, 5, 10, 20])
@pytest.mark.parametrize("kind", ["exponential", "lognormal", "one in ten far", "two values"])
@pytest.mark.parametrize("higher", [True, False])
def test_few_false_claims_hold_without_a_condition_where_the_worse_tail_is_long(
    n: int, kind: str, higher: bool
) -> None:
    rng, count = np.random.default_rng([n, len(kind)]), 600
    noise = {
        "exponential": lambda: rng.exponential(1.0, (count, n)) - 1,
        "lognormal": lambda: np.exp(rng.normal(0, 0.5, (count, n))) - math.exp(0.125),
        "one in ten far": lambda: (
            rng.normal(-0.4, 1, (count, n)) + 4 * (rng.random((count, n)) < 0.1)
        ),
        "two values": lambda: (rng.random((count, n)) < 0.1) - 0.1,
    }[kind]() * (-1 if higher else 1)
    tests = [
        compare_with_number(values, 0.0, higher_is_better=higher, level=0.05) for values in noise
    ]
    held = sum(test.holds for test in tests)
    assert sum(test.holds and not test.conditions for test in tests) <= 0.08 * count
    assert held > 0.06 * count  # else there is nothing to mark


@pytest.mark.parametrize(("n", "kept"), [(10, 0.8), (20, 0.8), (40, 0.85)])
def test_most_right_claims_of_normal_samples_have_no_condition(n: int, kept: float) -> None:
    rng = np.random.default_rng(n)
    better = special.nctdtrinc(n - 1, 0.05, stats.t.isf(0.05, n - 1))  # at 95 % power
    tests = [
        compare_with_number(
            rng.normal(5, 2, n), 5 + 2 * better / math.sqrt(n), higher_is_better=False, level=0.05
        )
        for _ in range(600)
    ]
    right = [test for test in tests if test.holds]
    assert len(right) > 540
    assert sum(not test.conditions for test in right) >= kept * len(right)


@pytest.mark.parametrize("seed", range(4))
def test_epochs_that_no_run_showed_are_allowed_for_or_named(seed: int) -> None:
    rng = np.random.default_rng(seed)
    times = rng.normal(100, 0.5, 6) * 10 ** rng.uniform(-2, 4)
    centre = times.mean()
    for longer, margin, expected in (
        (0.15, 0.3, ()), (0.15, 0.1, ("constant_epochs",)), (math.inf, 9.0, ("constant_epochs",)),
    ):  # fmt: skip
        limit = centre * (1 + margin)
        test = compare_with_number(
            times, limit, higher_is_better=False, longer=longer * centre, level=0.05
        )
        assert (test.holds, test.conditions) == (True, expected)
    equal = [compare_with_number([7.0] * 5, limit, higher_is_better=False, longer=2.0, level=0.05)
             for limit in (8.0, 10.0)]  # fmt: skip
    assert [test.conditions for test in equal] == [("constant_epochs",), ()]


def test_the_smallest_change_between_values() -> None:
    assert smallest_change([0.5, 0.25, 0.7512, 0.7513]) == pytest.approx((1e-4,))
    assert smallest_change([0.1 + 0.2, 0.3, 0.4]) == pytest.approx((0.1,)), "rounding in binary"
    assert smallest_change([7.0]) == smallest_change([]) == ()


def test_pooled_setups_are_the_unit_of_evidence() -> None:
    rng = np.random.default_rng(2)
    setups = np.repeat(np.arange(4), 5)
    a = np.repeat(rng.normal(0, 1, 4), 5) + rng.normal(0, 0.01, 20)
    b = np.repeat(rng.normal(0, 1, 4), 5) + rng.normal(0, 0.01, 20)
    difference = mean_difference(a, b, clusters=(setups, setups), confidence=0.95)
    theirs = stats.ttest_ind(*(x.reshape(4, 5).mean(axis=1) for x in (b, a)), equal_var=False)
    assert difference.p_value == pytest.approx(theirs.pvalue)
    assert difference.df == pytest.approx(theirs.df)


def test_what_was_chosen_is_held_against_a_limit_as_it_is() -> None:
    assert compare_exact(3, 300.0, 300.0, 0.05).holds
    assert not compare_exact(3, 300.0, 299.0, 0.05).holds


def test_fewer_runs_are_needed_where_the_deviation_is_known() -> None:
    known = runs_for_mean(0.5, 1.0, samples=1, level=0.05, sigma_known=True)
    assert known == 25
    assert runs_for_mean(0.5, 1.0, samples=1, level=0.05) == 27
    assert runs_for_mean(1e-9, 1.0, samples=1, level=0.05) is None


def test_the_interval_of_pooled_setups_is_that_of_their_means() -> None:
    rng = np.random.default_rng(5)
    setups = np.repeat(np.arange(4), 5)
    times = 100 + 10 * np.repeat(rng.standard_normal(4), 5) + 0.1 * rng.standard_normal(20)
    pooled = mean_interval(times, setups=setups, confidence=0.95)
    of_means = mean_interval([times[setups == n].mean() for n in range(4)], confidence=0.95)
    assert (pooled.low, pooled.high) == pytest.approx((of_means.low, of_means.high))
    assert mean_interval(times, setups=np.arange(20), confidence=0.95) == mean_interval(
        times, confidence=0.95
    )


def test_means_that_are_known_exactly_give_their_own_deviation() -> None:
    result = variance_between_sets(
        [Set(1.0, 0.0001, 4), Set(2.0, 0.0001, 4), Set(4.5, 0.0001, 4)], confidence=0.95
    )
    assert result.deviation == pytest.approx(math.sqrt(3.25 - 0.0001))
    assert result.smallest_claim == pytest.approx(stats.t.ppf(0.975, 2) * math.sqrt(2 * 3.25))
    # For equal variances the bound is that of a chi-squared variance.
    bound = 2 * 3.25 / stats.chi2.ppf(0.05, 2) - 0.0001
    assert result.highest == pytest.approx(math.sqrt(bound))


def test_two_sets_have_a_bound_and_no_estimate() -> None:
    result = variance_between_sets([Set(1.0, 0.01, 4), Set(1.5, 0.04, 9)], confidence=0.95)
    assert result.deviation is None
    bound = (0.25 / stats.chi2.ppf(0.05, 1) - 0.05) / 2
    assert result.highest == pytest.approx(math.sqrt(bound))
    assert result.smallest_claim == pytest.approx(stats.t.ppf(0.975, 1) * 0.5)


def test_what_sets_hide_is_no_less_than_what_their_runs_leave_open() -> None:
    result = variance_between_sets(
        [Set(1.0, 0.04, 4), Set(1.0, 0.04, 4), Set(1.0, 0.04, 4)], confidence=0.95
    )
    assert (result.deviation, result.highest) == (0.0, 0.2)
    assert result.smallest_claim == pytest.approx(stats.t.ppf(0.975, 12) * math.sqrt(0.08))
    assert variance_between_sets([Set(1.0, 0.0, 4)] * 2, confidence=0.95).smallest_claim == 0.0


def test_one_or_two_runs_have_a_mean_but_no_interval() -> None:
    single, two, none = (
        mean_interval([5.0], confidence=0.95),
        mean_interval([4.0, 6.0], confidence=0.95),
        mean_interval([], confidence=0.95),
    )
    assert (single.estimate, single.low) == (5.0, None)
    assert (two.estimate, two.high) == (5.0, None)
    assert none.estimate is None


@pytest.mark.parametrize("seed", range(40))
def test_an_interval_of_a_positive_quantity_is_positive(seed: int) -> None:
    """Samples of 2 to 12 runs with CVs from 0.1 % to far above 100 %."""
    rng = np.random.default_rng(seed)
    n, spread = int(rng.integers(2, 13)), float(rng.choice([0.001, 0.3, 1.0, 3.0, 8.0]))
    times = 10 ** rng.uniform(-4, 6) * rng.lognormal(0, spread, n)
    mean = mean_interval(times, confidence=0.95)
    setups = mean_interval(times, setups=np.arange(n) % 3, confidence=0.95)
    lows, highs = mean_limits(times[None], confidence=0.99)
    spent = compare_with_number(times, 1.0, higher_is_better=False, level=0.05, positive=True)
    cv = cv_interval(times, confidence=0.95, ddof=1)
    for low, middle, high in (
        (mean.low, times.mean(), mean.high),
        (setups.low, times.mean(), setups.high),
        (*lows.tolist(), times.mean(), *highs.tolist()),
        (spent.low, times.mean(), spent.high),
        (cv.low, cv.estimate, cv.high),
    ):
        if low is not None and high is not None and middle is not None and low == low:
            assert 0 < low < middle < high, (n, spread)
    assert n == 2 or mean.low is not None


@pytest.mark.parametrize("times", [[3.0, 5.0, 10.0], [5.0, 5.5, 6.5]])
def test_the_limits_of_a_mean_are_students_or_on_the_log_scale(times: list[float]) -> None:
    centre = sum(times) / 3
    half = stats.t.ppf(0.975, 2) * stats.sem(times)
    expected = (centre - half, centre + half)
    if half >= centre:
        expected = (centre * math.exp(-half / centre), centre * math.exp(half / centre))
    (low,), (high,) = mean_limits(np.array([times]), confidence=0.95)
    assert (low, high) == pytest.approx(expected)
    made = mean_interval(times, confidence=0.95)
    assert (made.low, made.high) == pytest.approx(expected)
