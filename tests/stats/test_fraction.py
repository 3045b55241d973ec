"""Fractions reached, and the expected time where some runs fail."""

from __future__ import annotations

import math
from math import comb

import pytest
from scipy import stats

from tests.stats.made import ert_ratio
from ttastats.stats import outcomes


def binomial_tail(n: int, p: float, at_least: int) -> float:
    return math.fsum(comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(at_least, n + 1))


def test_no_failure_and_no_success_end_the_interval_at_exactly_one_and_zero() -> None:
    assert outcomes.wilson_interval(7, 7)[2] == 1.0
    assert outcomes.wilson_interval(0, 7)[1] == 0.0
    assert outcomes.reached_at_least(0, 7) == 0.0
    assert outcomes.reached_at_least(0, 0) == 0.0


def test_the_guarantee_without_failures_is_the_rule_of_three_made_exact() -> None:
    for n in (1, 5, 10, 100):
        assert outcomes.reached_at_least(n, n) == pytest.approx(0.05 ** (1 / n))
    assert binomial_tail(10, outcomes.reached_at_least(8, 10), 8) == pytest.approx(0.05)


def test_fisher_takes_a_hundred_thousand_runs_a_side() -> None:
    found = outcomes.fisher_p(60_000, 100_000, 60_500, 100_000)
    normal = 2 * stats.norm.sf(0.005 / math.sqrt(2 * 0.6025 * 0.3975 / 100_000))
    assert found == pytest.approx(normal, rel=0.02)


def test_a_side_without_successes_bounds_the_ratio_of_expected_times() -> None:
    for reached_a, reached_b, bound in ((True, False, 0.0), (False, True, math.inf)):
        found = ert_ratio([5.0], [reached_a], [300.0], [reached_b])
        assert (found.estimate, found.low, found.p_value) == (bound, None, None)
    assert ert_ratio([300.0], [False], [300.0], [False]).estimate is None
