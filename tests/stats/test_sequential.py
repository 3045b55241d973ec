"""Looks of a plan against published boundaries, and their properties."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from ttastats.stats.multiplicity import (
    FIRST_LOOK,
    Look,
    critical_values,
    simulate_plan,
)
from ttastats.stats.outcomes import make_outcomes
from ttastats.stats.speedup import compute_speedup


def test_boundaries_are_the_published_ones_of_five_equal_looks() -> None:
    # Lan and DeMets 1983, spending like O'Brien and Fleming, 2.5 % a side: R's ldbounds.
    shares = np.arange(1, 6) / 5
    spending = 4 * special.ndtr(special.ndtri(0.0125) / np.sqrt(shares))
    published = (4.8769, 3.3569, 2.6803, 2.2898, 2.0310)
    assert critical_values(range(1, 6), spending.tolist()) == pytest.approx(published, abs=2e-4)


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


def test_half_of_the_error_is_spent_at_the_end_of_a_plan() -> None:
    assert Look(3, 3).level(0.05) == pytest.approx(0.025)


def test_an_interval_and_a_p_of_a_look_are_those_of_its_level() -> None:
    rng = np.random.default_rng(5)
    a, b = (make_outcomes(slower * rng.lognormal(0, 0.02, 5)) for slower in (1.1, 1.0))
    look = Look(5, 20)
    ratio = compute_speedup(a, b, look=look, estimand="mean", confidence=0.95).ratio
    alone = compute_speedup(a, b, confidence=1 - look.level(0.05), estimand="mean").ratio
    assert (ratio.low, ratio.high, ratio.confidence) == (alone.low, alone.high, 0.95)
    assert ratio.p_value == look.p_value(alone.p_value or 0.0)


def test_runs_expected_at_the_ends() -> None:
    assert (simulate_plan(1.5, 0.0, 20, 0.05).runs, simulate_plan(1.5, 0.0, 20, 0.05).decided) == (
        FIRST_LOOK,
        1.0,
    )
    assert (simulate_plan(1.0, 0.0, 20, 0.05).runs, simulate_plan(1.0, 0.0, 20, 0.05).decided) == (
        20,
        0.0,
    )
    assert simulate_plan(1.0, 0.1, 20, 0.05).decided < 0.05
    assert simulate_plan(3.0, 0.01, 20, 0.05).runs == FIRST_LOOK
