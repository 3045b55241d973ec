"""Splitting a speedup and a variance into epochs and time per epoch."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from tests.stats.made import decompose_variance
from ttastats.stats.variation import variance_shares


def sides(seed: int, n_a: int = 6, n_b: int = 8) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    e_a, e_b = rng.integers(3, 7, n_a) * 1.0, rng.integers(4, 9, n_b) * 1.0
    return e_a * rng.lognormal(4, 0.02, n_a), e_a, e_b * rng.lognormal(3, 0.02, n_b), e_b


def test_the_interval_is_that_of_leaving_out_each_run_in_turn() -> None:
    t, e, _, _ = sides(4, n_a=20)
    parts = decompose_variance(t, e)
    without = []
    for run in range(20):
        others = np.arange(20) != run
        covariance = np.cov(np.log(e[others]), np.log(t[others]))
        without.append(covariance[0, 1] / covariance[1, 1])
    error = math.sqrt(19 / 20 * np.sum((np.array(without) - np.mean(without)) ** 2))
    share, half = parts.share_epochs.estimate, stats.t.ppf(0.975, 19) * error
    assert share is not None
    assert parts.share_epochs.low == pytest.approx(share - half)
    assert parts.share_epochs.high == pytest.approx(share + half)
    assert variance_shares(t[None], e[None], 0.95).low[1, 0] == pytest.approx(1 - share - half)


def test_parts_that_cancel_each_other_have_no_shares() -> None:
    epochs = np.array([3.0, 4.0, 5.0, 3.0, 6.0])
    times = np.array([60.0, 60.1, 59.9, 60.05, 60.02])
    share = decompose_variance(times, epochs).share_epochs
    assert (share.estimate, share.withheld) == (None, "parts_cancel")
    start_up = decompose_variance(epochs * 10 + 12, epochs).share_epochs
    assert start_up.estimate is not None
    assert 1 < start_up.estimate < 2


def test_epochs_that_vary_against_a_constant_speed_have_an_infinite_cv_ratio() -> None:
    epochs = np.array([3.0, 4.0, 5.0, 3.0])
    parts = decompose_variance(epochs * 8.0, epochs)
    assert parts.cv_ratio == math.inf
    assert parts.share_epochs.estimate == pytest.approx(1.0)
    # Quotients that are equal on paper only: 0.3/3, 0.4/4, 0.7/7.
    rounded = decompose_variance([0.3, 0.4, 0.7], [3.0, 4.0, 7.0])
    assert rounded.cv_ratio == math.inf
    assert decompose_variance([6.0, 6.0], [3.0, 3.0]).cv_ratio is None


def test_equal_times_one_run_or_none_have_nothing_to_share() -> None:
    same = decompose_variance([12.0, 12.0], [3.0, 4.0])
    assert same.share_epochs.estimate is None
    single, none = decompose_variance([12.0], [3.0]), decompose_variance([], [])
    assert single.share_epochs.estimate is None
    assert (none.share_epochs.estimate, none.cv_ratio) == (None, None)
