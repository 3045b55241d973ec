"""Fractions reached, and the expected time where some runs fail."""

from __future__ import annotations

import math

import pytest
from scipy import stats

from ttastats.stats import outcomes


def test_no_failure_and_no_success_end_the_interval_at_exactly_one_and_zero() -> None:
    assert outcomes.wilson_interval(7, 7, confidence=0.95)[2] == 1.0
    assert outcomes.wilson_interval(0, 7, confidence=0.95)[1] == 0.0
    assert outcomes.reached_at_least(0, 7, confidence=0.95) == 0.0
    assert outcomes.reached_at_least(0, 0, confidence=0.95) == 0.0
    # The guarantee without failures is the rule of three made exact.
    assert outcomes.reached_at_least(7, 7, confidence=0.95) == pytest.approx(0.05 ** (1 / 7))


def test_fisher_takes_a_hundred_thousand_runs_a_side() -> None:
    p_value = outcomes.fisher_p(60_000, 100_000, 60_500, 100_000)
    normal = 2 * stats.norm.sf(0.005 / math.sqrt(2 * 0.6025 * 0.3975 / 100_000))
    assert p_value == pytest.approx(normal, rel=0.02)
