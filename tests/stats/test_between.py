"""The spread between sets of runs: by hand, by its bound's definition, and where there is none."""

from __future__ import annotations

import math

import pytest
from scipy import stats

from ttastats.stats.means import Set, variance_between_sets


def test_means_that_are_known_exactly_give_their_own_deviation() -> None:
    found = variance_between_sets([Set(1.0, 0.0001, 4), Set(2.0, 0.0001, 4), Set(4.5, 0.0001, 4)])
    assert found.deviation == pytest.approx(math.sqrt(3.25 - 0.0001))
    assert found.smallest_claim == pytest.approx(stats.t.ppf(0.975, 2) * math.sqrt(2 * 3.25))
    # For equal variances the bound is that of a chi-squared variance.
    bound = 2 * 3.25 / stats.chi2.ppf(0.05, 2) - 0.0001
    assert found.highest == pytest.approx(math.sqrt(bound))


def test_two_sets_have_a_bound_and_no_estimate() -> None:
    found = variance_between_sets([Set(1.0, 0.01, 4), Set(1.5, 0.04, 9)])
    assert found.deviation is None
    bound = (0.25 / stats.chi2.ppf(0.05, 1) - 0.05) / 2
    assert found.highest == pytest.approx(math.sqrt(bound))
    assert found.smallest_claim == pytest.approx(stats.t.ppf(0.975, 1) * 0.5)
