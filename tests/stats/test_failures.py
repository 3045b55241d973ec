"""Expected running time and comparisons when some runs fail."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.stats.made import ert_ratio
from ttastats.stats.outcomes import expected_time
from ttastats.stats.permutation import pair_wins
from ttastats.stats.speedup import ratio_of_means


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


def test_the_variance_of_the_log_is_that_over_repetitions() -> None:
    rng = np.random.default_rng(2)
    logs, variances = [], []
    for _ in range(4000):
        hit = rng.random(40) < 0.8
        times = np.where(hit, rng.lognormal(3, 0.2, 40), 50.0)
        found = expected_time(times, hit)
        assert found.estimate is not None
        assert found.variance is not None
        logs.append(math.log(found.estimate))
        variances.append(found.variance)
    assert np.mean(variances) == pytest.approx(np.var(logs), rel=0.08)


def test_without_failures_the_expected_time_ratio_is_the_speedup() -> None:
    rng = np.random.default_rng(4)
    a, b = rng.lognormal(3, 0.2, 5), rng.lognormal(3, 0.1, 8)
    plain = ratio_of_means(a, b)
    ert = ert_ratio(a, np.ones(5, bool), b, np.ones(8, bool))
    for name in ("estimate", "low", "high", "p_value", "df", "se_log"):
        assert getattr(ert, name) == pytest.approx(getattr(plain, name))


def test_a_side_without_successes_has_no_ert_ratio() -> None:
    lost = ert_ratio([5.0, 6.0], [True, True], [300.0, 300.0], [False, False])
    assert (lost.estimate, lost.low, lost.high, lost.p_value) == (0.0, None, None, None)
    assert lost.flags[0].message == "B: 0/2 runs reached the target, 600 s spent"
    won = ert_ratio([300.0], [False], [5.0], [True])
    assert won.estimate == math.inf
    neither = ert_ratio([300.0], [False], [300.0], [False])
    assert neither.estimate is None
    assert [flag.code for flag in neither.flags] == ["no_success"] * 2
    alone = expected_time([300.0, 200.0], [False, False])
    assert (alone.estimate, alone.variance) == (math.inf, None)


def test_one_run_or_none_has_no_variance() -> None:
    one = expected_time([5.0], [True])
    assert (one.estimate, one.variance) == (5.0, None)
    assert ert_ratio([5.0], [True], [4.0, 5.0], [True, True]).low is None


def test_a_run_that_failed_at_once_counts_with_its_zero_seconds() -> None:
    found = expected_time([10.0, 0.0, 10.0], [True, False, True])
    assert found.estimate == pytest.approx(10.0)
    assert found.variance is not None
    wins = pair_wins([10.0], [20.0, 0.0], reached_a=[True], reached_b=[True, False])
    assert wins.wins == 0
