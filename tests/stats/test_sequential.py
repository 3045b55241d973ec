"""Looks of a plan against published boundaries, a slow integral, chance and themselves."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

from ttastats.stats.decision import decide
from ttastats.stats.outcomes import make_outcomes
from ttastats.stats.sequential import (
    FIRST_LOOK,
    MOST_LOOKS,
    Look,
    boundaries,
    critical_values,
    simulate_plan,
    spent_error,
)
from ttastats.stats.speedup import compute_speedup


def test_boundaries_are_the_published_ones_of_five_equal_looks() -> None:
    # Lan and DeMets 1983, spending like O'Brien and Fleming, 2.5 % a side: R's ldbounds.
    shares = np.arange(1, 6) / 5
    spending = 4 * special.ndtr(special.ndtri(0.0125) / np.sqrt(shares))
    published = (4.8769, 3.3569, 2.6803, 2.2898, 2.0310)
    assert critical_values(range(1, 6), spending.tolist()) == pytest.approx(published, abs=2e-4)


def test_the_error_by_each_look_is_what_was_spent_by_a_slow_integral() -> None:
    looks = np.arange(FIRST_LOOK, 8)
    edges = np.array(boundaries(0.05, 7, 10))
    shared = np.sqrt(np.minimum.outer(looks, looks) / np.maximum.outer(looks, looks))
    for count in range(2, looks.size + 1):
        upper, covariance = edges[:count], shared[:count, :count]
        inside = stats.multivariate_normal.cdf(
            upper, cov=covariance, lower_limit=-upper, maxpts=400_000, abseps=1e-7
        )
        assert 1 - inside == pytest.approx(spent_error(0.05, int(looks[count - 1]), 10), rel=0.02)


def test_half_of_the_error_is_spent_at_the_end_of_a_plan_and_in_proportion_before() -> None:
    assert spent_error(0.05, 20, 20) == pytest.approx(0.025)
    assert spent_error(0.05, 5, 20) == pytest.approx(0.025 / 4)
    assert Look(3, 3).level(0.05) == pytest.approx(0.025)


@settings(max_examples=10)
@given(st.integers(3, 12), st.integers(0, 20), st.floats(0.001, 0.3))
def test_a_p_is_below_alpha_where_that_of_one_look_is_below_its_level(
    n: int, more: int, alpha: float
) -> None:
    look = Look(n, n + more)
    level = look.level(alpha)
    assert 0 < level < alpha
    assert look.p_value(level) == pytest.approx(alpha, rel=1e-6)
    assert look.p_value(level * 0.9) < alpha < look.p_value(min(1.0, level * 1.1))


def test_a_longer_plan_asks_for_more_at_each_look() -> None:
    levels = [Look(5, most).level(0.05) for most in (5, 10, 20, 50)]
    assert levels == sorted(levels, reverse=True)


def test_the_ends_of_p_are_finite() -> None:
    look = Look(4, 20)
    assert 0 < look.p_value(0.0) < 1e-9
    assert look.p_value(1.0) == 1.0


def test_the_longest_plan_has_boundaries() -> None:
    edges = boundaries(0.05, MOST_LOOKS, MOST_LOOKS)
    assert len(edges) == MOST_LOOKS - FIRST_LOOK + 1
    assert all(1.9 < edge < 6 for edge in edges)


def _sides(n: int, ratio: float = 1.1) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n)
    return ratio * rng.lognormal(0, 0.02, n), rng.lognormal(0, 0.02, n)


@pytest.mark.parametrize("n", [3, 5, 12])
def test_an_interval_of_a_look_is_that_of_its_level_and_mirrors_when_sides_are_swapped(
    n: int,
) -> None:
    times_a, times_b = _sides(n)
    a, b = make_outcomes(times_a), make_outcomes(times_b)
    look = Look(n, 20)
    found = compute_speedup(a, b, look=look)
    alone = compute_speedup(a, b, confidence=1 - look.level(0.05))
    assert (found.ratio.low, found.ratio.high) == (alone.ratio.low, alone.ratio.high)
    assert found.ratio.confidence == 0.95
    assert found.limits(0.95) == (found.ratio.low, found.ratio.high)
    wide = compute_speedup(a, b, look=look).limits(0.90)
    narrow = compute_speedup(a, b, confidence=1 - look.level(0.1)).ratio
    assert wide == pytest.approx((narrow.low, narrow.high))
    swapped = compute_speedup(b, a, look=look).ratio
    assert found.ratio.low is not None
    assert swapped.high is not None
    assert found.ratio.low == pytest.approx(1 / swapped.high)
    assert found.ratio.p_value == pytest.approx(swapped.p_value)


def test_what_allows_for_stragglers_and_epochs_is_that_of_the_level_too() -> None:
    a, b = (make_outcomes(times) for times in _sides(6))
    look = Look(6, 20)
    level = 1 - look.level(0.05)
    planned, alone = compute_speedup(a, b, look=look), compute_speedup(a, b, confidence=level)
    assert planned.limits(0.95, stragglers=True) == alone.limits(level, stragglers=True)


def test_an_interval_excludes_one_where_p_is_below_alpha() -> None:
    rng = np.random.default_rng(8)
    words = set()
    for ratio in np.linspace(1.0, 1.1, 60):
        a, b = (
            make_outcomes(times)
            for times in (ratio * rng.lognormal(0, 0.02, 5), rng.lognormal(0, 0.02, 5))
        )
        found = compute_speedup(a, b, epochs_fixed=True, look=Look(5, 20))
        assert found.ratio.low is not None
        assert found.ratio.p_value is not None
        excluded = found.ratio.low > 1 or (found.ratio.high or math.inf) < 1
        assert excluded == (found.ratio.p_value < 0.05)
        word = decide(found, p_value=found.ratio.p_value).word
        assert (word in {"faster", "slower"}) == excluded
        words.add(word)
    assert {"faster", "undecided"} <= words


def p_at_looks(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return p of a t test at each look, of pairs of samples (n, runs)."""
    looks = range(FIRST_LOOK, a.shape[1] + 1)
    return np.stack([stats.ttest_ind(a[:, :n], b[:, :n], axis=1).pvalue for n in looks], axis=1)


def test_the_runs_expected_are_those_of_plans_followed_one_by_one() -> None:
    rng = np.random.default_rng(12)
    sigma = math.sqrt(math.log1p(0.05**2))
    a, b = rng.normal(math.log(1.08), sigma, (400, 10)), rng.normal(0, sigma, (400, 10))
    levels = [Look(n, 10).level(0.05) for n in range(FIRST_LOOK, 11)]
    stops = p_at_looks(a, b) < levels
    decided = stops.any(axis=1)
    runs = np.where(decided, FIRST_LOOK + stops.argmax(axis=1), 10)
    found = simulate_plan(1.08, 0.05, 10)
    assert found.runs == pytest.approx(runs.mean(), abs=0.4)
    assert found.decided == pytest.approx(decided.mean(), abs=0.08)
    assert simulate_plan(1 / 1.08, 0.05, 10) == found


def test_runs_expected_at_the_ends() -> None:
    assert (simulate_plan(1.5, 0.0, 20).runs, simulate_plan(1.5, 0.0, 20).decided) == (
        FIRST_LOOK,
        1.0,
    )
    assert (simulate_plan(1.0, 0.0, 20).runs, simulate_plan(1.0, 0.0, 20).decided) == (20, 0.0)
    assert simulate_plan(1.0, 0.1, 20).decided < 0.05
    assert simulate_plan(3.0, 0.01, 20).runs == FIRST_LOOK
