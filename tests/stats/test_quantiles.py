"""Quantiles and tails against SciPy's, from half a degree of freedom to ten million."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from ttastats.stats import quantiles
from ttastats.stats.power import _beyond

DF = (0.3, 0.7, 1.0, 1.5, 2.0, 3.3, 7.0, 30.0, 99.5, 999.0, 1001.0, 5e3, 1e5)
CONFIDENCE = (0.01, 0.5, 0.9, 0.95, 0.999, 1 - 1e-6)


@pytest.mark.parametrize("df", [*DF, 2e7])
def test_students_critical_value_is_scipys(df: float) -> None:
    for confidence in CONFIDENCE:
        theirs = -special.stdtrit(df, (1 - confidence) / 2)
        assert quantiles.two_sided_t(df, confidence) == pytest.approx(theirs, rel=1e-10)


@pytest.mark.parametrize("df", [*DF, 2e7])
def test_students_tail_is_scipys_also_far_out(df: float) -> None:
    near = 1e-9 if df <= 1e5 else 1e-7
    for t in (-30.0, -1.0, 0.0, 1e-3, 0.1, 0.99, 1.0, 1.5, 5.0, 30.0):
        theirs = special.stdtr(df, -t)
        assert quantiles.t_tail(df, t) == pytest.approx(theirs, rel=near, abs=1e-300)


@given(st.floats(0.2, 1e4), st.floats(1e-3, 50.0))
def test_tail_and_critical_value_are_inverse(df: float, t: float) -> None:
    tail = quantiles.t_tail(df, t)
    if tail > 1e-14:
        back = quantiles.two_sided_t(df, 1 - 2 * tail)
        assert back == pytest.approx(t, rel=1e-6 + 1e-15 / tail, abs=1e-9)


@pytest.mark.parametrize("df", [1, 2, 3, 9, 99, 1000, 100_000])
def test_the_quantile_of_chi_squared_is_scipys(df: int) -> None:
    for probability in (1e-4, 0.025, 0.5, 0.975, 0.9999):
        theirs = 2 * special.gammaincinv(df / 2, probability)
        assert quantiles.chi2_quantile(probability, df) == pytest.approx(theirs, rel=2e-9)


def test_the_quantile_of_the_beta_distribution_is_scipys() -> None:
    counts = (1, 2, 5, 30, 500, 10_000)
    for a, b, probability in product(counts, counts, (1e-6, 0.025, 0.05, 0.5, 0.975)):
        theirs = special.betaincinv(a, b, probability)
        assert quantiles.beta_quantile(probability, a, b) == pytest.approx(theirs, rel=1e-9)


def test_the_normal_distribution_is_scipys() -> None:
    for z in (-8.0, -1.0, 0.0, 1.96, 8.0, 30.0):
        assert quantiles.normal_tail(z) == pytest.approx(special.ndtr(-z), rel=1e-13)
    for probability in (1e-12, 0.025, 0.5, 0.9, 1 - 1e-9):
        found = quantiles.normal_quantile(probability)
        assert found == pytest.approx(special.ndtri(probability), rel=1e-13, abs=1e-15)


@pytest.mark.parametrize("df", [2, 4, 8, 18, 198, 20_000, 20_000_000])
def test_both_tails_of_the_noncentral_t_are_scipys(df: int) -> None:
    for alpha, shift in product((0.5, 0.05, 0.01, 0.001), (0.0, 0.1, 1.0, 2.8, 5.0, 10.0, 35.0)):
        t = quantiles.two_sided_t(df, 1 - alpha)
        theirs = 1 - special.nctdtr(df, shift, t) + np.nan_to_num(special.nctdtr(df, shift, -t))
        assert _beyond(t, df, shift) == pytest.approx(theirs, rel=1e-6)


def test_what_is_unknown_stays_so() -> None:
    assert math.isnan(quantiles.t_tail(5.0, math.nan))
    assert quantiles.t_tail(5.0, math.inf) == 0.0
    assert quantiles.two_sided_t(math.inf, 0.95) == pytest.approx(1.959964, rel=1e-6)
