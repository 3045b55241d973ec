"""Variances that are shrunk towards those of earlier entries: reference cases, and refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ttastats.stats.sources import (
    Prior,
    consistent_with,
    fit_prior,
    make_prior,
    moderated_ratio,
    too_coarse,
)

A, B = np.log([612.0, 655, 590]), np.log([548.0, 571, 539])


@pytest.mark.parametrize(
    ("d0", "s0", "of_a", "of_b", "df", "p", "limits"),
    [
        (0, 1, None, None, 3.14193043, 0.04582015, None),
        (5, 0.06, 0.05809434, 0.05313542, 13.890006, 0.02661264, (0.81036871, 0.98497332)),
        (20, 0.06, 0.05940028, 0.05790416, 43.971398, 0.02314846, (0.81121061, 0.98395109)),
        (20, 0.02, 0.02488580, 0.02106657, 42.832678, 0.00000039, (0.86013050, 0.92798891)),
    ],
)
def test_a_moderated_ratio_is_that_of_the_reference(d0, s0, of_a, of_b, df, p, limits) -> None:
    prior = Prior(8, df=d0, variance=s0**2)
    ratio = moderated_ratio(A, B, prior, prior, 0.95)
    assert ratio.estimate == pytest.approx(0.89341567, abs=5e-9)
    assert ratio.df == pytest.approx(df, abs=5e-7)
    assert ratio.p_value == pytest.approx(p, abs=5e-9)
    if limits:
        assert (ratio.low, ratio.high) == pytest.approx(limits, abs=5e-9)
        spreads = [math.sqrt(prior.shrink(float(np.var(x, ddof=1)), 2)) for x in (A, B)]
        assert spreads == pytest.approx([of_a, of_b], abs=5e-9)


@pytest.mark.parametrize(
    ("d0", "s0", "p"), [(5, 0.06, 0.731179), (20, 0.06, 0.726884), (20, 0.02, 0.008366)]
)
def test_a_prior_of_another_size_does_not_fit(d0: float, s0: float, p: float) -> None:
    from scipy import stats

    ratio = np.mean([np.var(x, ddof=1) for x in (A, B)]) / s0**2
    assert stats.f.sf(ratio, 4, d0) == pytest.approx(p, abs=5e-7)
    prior = Prior(8, df=d0, variance=s0**2)
    assert consistent_with([A, B], [prior, prior]) == (p >= 0.2)


def test_fits_are_those_of_the_reference() -> None:
    like = np.array([0.051, 0.068, 0.044, 0.072, 0.060, 0.055, 0.039, 0.081]) ** 2
    d0, s02 = fit_prior(like, np.full(8, 9.0))
    assert (d0, s02) == (200, pytest.approx(0.0036315, abs=5e-7))
    assert make_prior(like, [9] * 8).df == 20
    unlike = np.array([0.02, 0.09, 0.03, 0.12, 0.05, 0.01, 0.20, 0.04]) ** 2
    d0, s02 = fit_prior(unlike, np.full(8, 9.0))
    assert d0 == pytest.approx(1.0254, abs=2e-3)
    assert s02 == pytest.approx(0.00074018, rel=2e-3)


@pytest.mark.parametrize(
    ("spreads", "why"),
    [
        ([0, 0, 0, 0, 0.02, 0.05, 0, 0.06], "prior_no_noise"),
        ([0.05] * 4, "prior_few_entries"),
        ([1e-5, 0.3, 1e-4, 0.5, 1e-5, 0.2, 2e-4, 0.4], "prior_worthless"),
        ([0.05, 0.06, 0.04, 0.05, 0.06], ""),
    ],
)
def test_a_prior_is_refused_with_a_reason(spreads: list[float], why: str) -> None:
    assert make_prior([spread**2 for spread in spreads], [4] * len(spreads)).refused == why


def test_few_entries_are_worth_half_of_what_their_likeness_says() -> None:
    spreads = np.array([0.02, 0.09, 0.03, 0.12, 0.05, 0.01, 0.20, 0.04]) ** 2
    assert make_prior(spreads, [9] * 8).df == pytest.approx(1.0254 / 2, abs=5e-5)


def test_runs_that_are_all_equal_are_counted_too_coarsely() -> None:
    zeros, ones = np.zeros(3), np.ones(3)
    assert too_coarse([zeros, ones])
    assert not too_coarse([zeros, np.array([0.0, 1, 0])])
    assert too_coarse([np.zeros(4), np.array([0.0, 1, 0])])
