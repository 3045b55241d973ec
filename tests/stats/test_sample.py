"""Summaries of one sample, and the official score."""

from __future__ import annotations

import math
import statistics

import numpy as np
import pytest
from scipy import stats

from ttastats.stats.sample import (
    mean_interval,
    olympic_mean,
    summarise,
)


def test_a_summary_says_what_the_standard_library_says() -> None:
    rng = np.random.default_rng(1)
    for n in (3, 8, 41):
        times = rng.lognormal(6, 0.3, n)
        found, x = summarise(times), times.tolist()
        assert found.mean.estimate == pytest.approx(statistics.fmean(x))
        assert found.median == pytest.approx(statistics.median(x))
        assert found.standard_deviation == pytest.approx(statistics.stdev(x))
        assert found.cv == pytest.approx(statistics.stdev(x) / statistics.fmean(x))
        assert summarise(times, ddof=0).standard_deviation == pytest.approx(statistics.pstdev(x))
        assert found.n == n


def test_the_interval_of_the_mean_is_students() -> None:
    times = [10.0, 12.0, 9.0, 15.0]
    low, high = stats.t.interval(0.9, 3, np.mean(times), stats.sem(times))
    found = mean_interval(times, confidence=0.9)
    assert (found.low, found.high) == pytest.approx((low, high))


def test_one_or_two_runs_have_a_mean_but_no_interval_and_say_how_many_would_do() -> None:
    one, two = summarise([5.0]), summarise([4.0, 6.0])
    assert (one.mean.estimate, one.mean.low, one.mean.high) == (5.0, None, None)
    assert (one.standard_deviation, one.cv) == (None, None)
    assert summarise([5.0], ddof=0).cv is None
    assert one.flags[0].code == "one_run"
    assert (two.mean.estimate, two.mean.high) == (5.0, None)
    assert two.cv == pytest.approx(math.sqrt(2) / 5)
    assert two.flags[0].code == "few_runs"
    assert two.flags[0].message == "3 runs needed for an interval, have 2"


def test_no_run_at_all_is_unknown_not_zero() -> None:
    found = summarise([])
    assert (found.n, found.mean.estimate, found.median, found.cv) == (0, None, None, None)
    assert found.flags[0].code == "no_runs"
    assert mean_interval([]).estimate is None


def test_equal_times_have_zero_spread_exactly() -> None:
    found = summarise([0.1] * 7)
    assert (found.mean.estimate, found.standard_deviation, found.cv) == (0.1, 0.0, 0.0)
    assert (found.mean.low, found.mean.high) == (0.1, 0.1)


@pytest.mark.parametrize("bad", [[1.0, math.nan], [1.0, 0.0], [1.0, -2.0], [1.0, math.inf]])
def test_times_that_are_not_positive_numbers_are_refused_not_averaged(bad: list[float]) -> None:
    with pytest.raises(ValueError, match="finite and positive"):
        summarise(bad)


def test_a_table_of_times_is_refused() -> None:
    with pytest.raises(ValueError, match="one-dimensional"):
        summarise([[1.0, 2.0], [3.0, 4.0]])


def test_the_official_score_drops_failures_as_slowest_and_refuses_too_many() -> None:
    assert olympic_mean([10, 20, 30, 40]) == 25
    assert olympic_mean([10, 20, 30, 40], n_failed=1) == 30
    assert olympic_mean([10, 20, 30], n_failed=2) is None
    assert olympic_mean([10, 20]) is None
    assert olympic_mean(range(1, 10), drop=4) == 5
    assert olympic_mean(range(1, 9), drop=4) is None


def test_the_interval_of_the_mean_covers_it() -> None:
    rng = np.random.default_rng(3)
    covered = 0
    for _ in range(800):
        found = mean_interval(rng.normal(100, 15, 5))
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= 100 <= found.high
    assert 0.93 < covered / 800 < 0.97
