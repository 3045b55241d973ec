"""Splitting a speedup and a variance into epochs and time per epoch."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ttastats.stats import shares
from ttastats.stats.decompose import decompose_speedup, decompose_variance


def sides(seed: int, n_a: int = 6, n_b: int = 8) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    e_a, e_b = rng.integers(3, 7, n_a) * 1.0, rng.integers(4, 9, n_b) * 1.0
    return e_a * rng.lognormal(4, 0.02, n_a), e_a, e_b * rng.lognormal(3, 0.02, n_b), e_b


def test_parts_multiply_to_the_speedup() -> None:
    t_a, e_a, t_b, e_b = sides(1)
    parts = decompose_speedup(t_a, e_a, t_b, e_b)
    assert parts.throughput.estimate is not None
    assert parts.epochs.estimate is not None
    product = parts.throughput.estimate * parts.epochs.estimate
    assert product == pytest.approx(math.exp(np.log(t_a).mean() - np.log(t_b).mean()))


def test_shares_add_up_to_one_and_match_the_covariance_formula() -> None:
    t, e, _, _ = sides(3, n_a=12)
    parts = decompose_variance(t, e)
    covariance = np.cov(np.log(e), np.log(t))
    share = parts.share_epochs.estimate
    assert share == pytest.approx(covariance[0, 1] / covariance[1, 1])
    assert share is not None
    assert parts.share_epoch_time.estimate == pytest.approx(1 - share)


def test_the_bootstrap_interval_is_that_of_resampled_runs_and_repeats_with_its_seed() -> None:
    t, e, _, _ = sides(4, n_a=20)
    first = decompose_variance(t, e, rng=np.random.default_rng(1))
    again = decompose_variance(t, e, rng=np.random.default_rng(1))
    assert first == again
    rng = np.random.default_rng(99)
    slow = []
    for _ in range(6000):
        k = rng.integers(0, 20, 20)
        covariance = np.cov(np.log(e[k]), np.log(t[k]))
        slow.append(covariance[0, 1] / covariance[1, 1])
    low, high = np.quantile(slow, [0.025, 0.975])
    width = high - low
    assert first.share_epochs.low == pytest.approx(low, abs=0.1 * width)
    assert first.share_epochs.high == pytest.approx(high, abs=0.1 * width)
    assert first.share_epoch_time.low == pytest.approx(1 - high, abs=0.1 * width)


def test_the_bootstrap_works_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    t, e, _, _ = sides(4, n_a=20)
    whole = decompose_variance(t, e, rng=np.random.default_rng(1)).share_epochs
    monkeypatch.setattr(shares, "RESAMPLED_RUNS_AT_ONCE", 7 * 20)
    pieces = decompose_variance(t, e, rng=np.random.default_rng(1)).share_epochs
    assert pieces == whole


class Counted:
    """A generator that counts the resamples it draws, and how many at most at once."""

    def __init__(self) -> None:
        self.drawn, self.most = 0, 0
        self._rng = np.random.default_rng(1)

    def integers(self, low: int, high: int, size: tuple[int, int]) -> np.ndarray:
        self.drawn, self.most = self.drawn + size[0], max(self.most, size[0])
        return self._rng.integers(low, high, size)


@pytest.mark.parametrize(
    ("runs", "at_once", "drawn", "most"),
    [(12 * 250, 12 * 40, 250, 40), (12 * 199, 1, 200, 1), (10**6, 10**6, 2000, 2000)],
)
def test_of_very_many_runs_fewer_resamples_are_drawn(
    monkeypatch: pytest.MonkeyPatch, runs: int, at_once: int, drawn: int, most: int
) -> None:
    monkeypatch.setattr(shares, "RESAMPLED_RUNS", runs)
    monkeypatch.setattr(shares, "RESAMPLED_RUNS_AT_ONCE", at_once)
    t, e, _, _ = sides(4, n_a=12)
    counted = Counted()
    decompose_variance(t, e, rng=counted)  # type: ignore[arg-type]
    assert (counted.drawn, counted.most) == (drawn, most)


def test_fewer_than_ten_runs_get_shares_without_an_interval() -> None:
    t, e, _, _ = sides(5, n_a=9)
    parts = decompose_variance(t, e, rng=np.random.default_rng(0))
    assert parts.share_epochs.estimate is not None
    assert (parts.share_epochs.low, parts.share_epochs.high) == (None, None)


def test_constant_epochs_have_no_share_rather_than_a_share_of_zero() -> None:
    rng = np.random.default_rng(6)
    parts = decompose_variance(rng.lognormal(4, 0.01, 12), np.full(12, 63.0), rng=rng)
    assert (parts.share_epochs.estimate, parts.share_epoch_time.estimate) == (None, None)
    assert parts.share_epochs.low is None
    assert parts.cv_ratio == 0.0


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
    one, none = decompose_variance([12.0], [3.0]), decompose_variance([], [])
    assert one.share_epochs.estimate is None
    assert (none.share_epochs.estimate, none.cv_ratio) == (None, None)


def test_a_variance_of_rounding_noise_has_no_shares_and_no_nan() -> None:
    times = np.array([20.0, 20.0, 20.0, 20.0, 20.0 * (1 + 5e-14), 20.0])
    parts = decompose_variance(times, [3.0, 4.0, 3.0, 5.0, 3.0, 4.0])
    assert (parts.share_epochs.estimate, parts.share_epoch_time.estimate) == (None, None)


def test_an_empty_side_or_mismatched_epochs_are_refused() -> None:
    with pytest.raises(ValueError, match="no runs for side B"):
        decompose_speedup([1.0], [1.0], [], [])
    with pytest.raises(ValueError, match="2 times but 1 epochs of side A"):
        decompose_speedup([1.0, 2.0], [1.0], [1.0], [1.0])
    with pytest.raises(ValueError, match=r"2 times but 1 epochs$"):
        decompose_variance([1.0, 2.0], [1.0])
