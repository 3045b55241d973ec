"""Fractions reached, and the expected time where some runs fail."""

from __future__ import annotations

import math
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from scipy import stats

from tests.stats.made import ert_ratio
from ttastats.stats import outcomes
from ttastats.stats.outcomes import expected_time


def binomial_tail(n: int, p: float, at_least: int) -> float:
    return math.fsum(comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(at_least, n + 1))


@pytest.mark.parametrize(("k", "n"), [(0, 4), (1, 5), (13, 20), (9, 9)])
def test_wilson_ends_are_where_the_score_test_is_just_significant(k: int, n: int) -> None:
    _, low, high = outcomes.wilson_interval(k, n)
    for end, exact in ((low, k > 0), (high, k < n)):
        if exact:
            z = abs(k / n - end) / math.sqrt(end * (1 - end) / n)
            assert z == pytest.approx(stats.norm.ppf(0.975))


def test_no_failure_and_no_success_end_the_interval_at_exactly_one_and_zero() -> None:
    assert outcomes.wilson_interval(7, 7)[2] == 1.0
    assert outcomes.wilson_interval(0, 7)[1] == 0.0
    assert outcomes.reached_at_least(0, 7) == 0.0
    assert outcomes.reached_at_least(0, 0) == 0.0


def test_the_guarantee_without_failures_is_the_rule_of_three_made_exact() -> None:
    for n in (1, 5, 10, 100):
        assert outcomes.reached_at_least(n, n) == pytest.approx(0.05 ** (1 / n))
    assert binomial_tail(10, outcomes.reached_at_least(8, 10), 8) == pytest.approx(0.05)


def rational_fisher(ka: int, na: int, kb: int, nb: int) -> Fraction:
    total = ka + kb
    weight = {
        k: Fraction(comb(na, k) * comb(nb, total - k))
        for k in range(max(0, total - nb), min(na, total) + 1)
    }
    extreme = [w for w in weight.values() if w <= weight[ka]]
    return sum(extreme, Fraction(0)) / sum(weight.values(), Fraction(0))


def test_fisher_is_the_rational_sum_over_all_tables_no_more_likely() -> None:
    for na in (1, 4, 7):
        for nb in (2, 5, 7):
            for ka in range(na + 1):
                for kb in range(nb + 1):
                    found = outcomes.fisher_p(ka, na, kb, nb)
                    assert found == pytest.approx(float(rational_fisher(ka, na, kb, nb)))


def test_fisher_takes_a_hundred_thousand_runs_a_side() -> None:
    found = outcomes.fisher_p(60_000, 100_000, 60_500, 100_000)
    normal = 2 * stats.norm.sf(0.005 / math.sqrt(2 * 0.6025 * 0.3975 / 100_000))
    assert found == pytest.approx(normal, rel=0.02)


def test_the_expected_time_is_the_mean_wait_when_one_restarts_until_success() -> None:
    rng = np.random.default_rng(1)
    times, reached = [10.0, 14.0, 30.0, 25.0, 11.0], [True, True, False, False, True]
    waits = []
    for _ in range(20_000):
        wait, done = 0.0, False
        while not done:
            k = rng.integers(5)
            wait, done = wait + times[k], reached[k]
        waits.append(wait)
    found = expected_time(times, reached)
    assert found.estimate == pytest.approx(90 / 3)
    assert found.estimate == pytest.approx(np.mean(waits), rel=0.02)


def test_a_side_without_successes_bounds_the_ratio_of_expected_times() -> None:
    for reached_a, reached_b, bound in ((True, False, 0.0), (False, True, math.inf)):
        found = ert_ratio([5.0], [reached_a], [300.0], [reached_b])
        assert (found.estimate, found.low, found.p_value) == (bound, None, None)
    assert ert_ratio([300.0], [False], [300.0], [False]).estimate is None
