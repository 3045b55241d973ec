"""Waiting for a success with restarts: exact, sampled, and as a profile."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from ttastats.stats import restarts
from ttastats.stats.restarts import restart_distribution, share_done, simulated_restarts


def recursive_cdf(wins: list[int], losses: list[int], x: int) -> Fraction:
    """P(wait <= x) from the renewal equation, in rationals."""
    n = len(wins) + len(losses)
    now = Fraction(sum(t <= x for t in wins), n)
    later = [recursive_cdf(wins, losses, x - t) for t in losses if t < x]
    return now + sum(later, Fraction(0)) / n


def test_the_distribution_solves_the_renewal_equation() -> None:
    wins, losses = [7, 9, 9], [4, 6]
    found = restart_distribution(wins + losses, [True] * 3 + [False] * 2, covered=0.9999)
    for x in (6, 7, 9, 10, 11, 13, 15, 21, 25):
        done = found.cumulative[found.seconds <= x]
        expected = float(recursive_cdf(wins, losses, x))
        assert (done[-1] if done.size else 0.0) == pytest.approx(expected)
    assert found.mean == pytest.approx(35 / 3)
    assert np.all(np.diff(found.seconds) > 0)
    assert found.cumulative[-1] >= 0.9999


def test_sampled_waits_follow_the_exact_distribution() -> None:
    times, reached = [10.0, 12.0, 5.0], [True, True, False]
    waits = simulated_restarts(times, reached, 40_000, rng=np.random.default_rng(1))
    exact = restart_distribution(times, reached)
    assert waits.mean() == pytest.approx(exact.mean, rel=0.01)
    at = exact.seconds[:5]
    assert share_done(waits, at) == pytest.approx(exact.cumulative[:5], abs=0.01)
    again = simulated_restarts(times, reached, 40_000, rng=np.random.default_rng(1))
    assert np.array_equal(waits, again)


def test_without_failures_a_wait_is_a_run() -> None:
    found = restart_distribution([3.0, 1.0, 3.0, 2.0], [True] * 4)
    assert found.seconds.tolist() == [1.0, 2.0, 3.0]
    assert found.cumulative == pytest.approx([0.25, 0.5, 1.0])
    assert found.median == 2.0


def test_without_successes_one_waits_forever() -> None:
    found = restart_distribution([3.0], [False])
    assert (found.mean, found.median) == (math.inf, None)
    assert found.flags[0].code == "no_success"
    waits = simulated_restarts([3.0], [False], 5, rng=np.random.default_rng(0))
    assert np.all(np.isinf(waits))
    assert share_done(waits, [1e9]).tolist() == [0.0]


def test_too_many_sums_end_the_exact_distribution_with_advice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(restarts, "MOST_POINTS", 500)
    rng = np.random.default_rng(2)
    times = rng.uniform(1, 2, 30)
    found = restart_distribution(times, np.arange(30) == 0)
    assert found.flags[0].code == "too_many_restarts"
    assert "simulated_restarts" in found.flags[0].message
    assert found.mean == pytest.approx(times.sum())


def test_misuse_is_refused() -> None:
    with pytest.raises(ValueError, match="no runs"):
        restart_distribution([], [])
    with pytest.raises(ValueError, match="no runs"):
        simulated_restarts([], [], 3, rng=np.random.default_rng(0))
    with pytest.raises(ValueError, match="covered"):
        restart_distribution([1.0], [True], covered=1.0)
    with pytest.raises(ValueError, match="no waiting times"):
        share_done([], [1.0])
