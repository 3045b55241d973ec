"""Survival curves against slow definitions and other packages."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from statsmodels.duration.survfunc import SurvfuncRight

from ttastats.stats.survival import common_horizon, log_rank, restricted_mean, survival_curve

Side = tuple[list[float], list[bool]]


def sides(seed: int, n: int, values: int = 40) -> Side:
    rng = np.random.default_rng(seed)
    times = rng.integers(1, values, n).astype(float).tolist()
    return times, (rng.random(n) < 0.7).tolist()


def slow_survival(times: list[float], reached: list[bool], at: float) -> Fraction:
    share = Fraction(1)
    for t in sorted({t for t, hit in zip(times, reached, strict=True) if hit and t <= at}):
        done = sum(hit and x == t for x, hit in zip(times, reached, strict=True))
        share *= 1 - Fraction(done, sum(x >= t for x in times))
    return share


@pytest.mark.parametrize("seed", range(4))
def test_the_curve_is_the_product_over_successes(seed: int) -> None:
    times, reached = sides(seed, 15, 12)
    curve = survival_curve(times, reached)
    assert curve.seconds.tolist() == sorted(set(times))
    for t, share in zip(curve.seconds, curve.survival, strict=True):
        assert share == pytest.approx(float(slow_survival(times, reached, t)))
    assert (curve.n, curve.n_censored) == (15, reached.count(False))


@pytest.mark.parametrize("seed", range(4))
def test_greenwood_errors_are_those_of_statsmodels(seed: int) -> None:
    times, reached = sides(seed + 10, 30)
    curve = survival_curve(times, reached)
    theirs = SurvfuncRight(times, np.array(reached, dtype=int))
    for t, share, se in zip(theirs.surv_times, theirs.surv_prob, theirs.surv_prob_se, strict=True):
        at = curve.seconds.tolist().index(t)
        assert curve.survival[at] == pytest.approx(share)
        if share > 1e-9:
            assert curve.std_error[at] == pytest.approx(se)


def test_limits_before_any_success_and_after_the_last_run_are_known_ones() -> None:
    curve = survival_curve([1.0, 2.0, 3.0, 4.0], [False, True, True, True])
    assert curve.survival.tolist() == pytest.approx([1.0, 2 / 3, 1 / 3, 0.0])
    assert (curve.low[0], curve.high[0]) == pytest.approx((0.025 ** (1 / 4), 1.0))
    assert (curve.low[3], curve.high[3]) == (0.0, curve.high[2])
    sure = survival_curve([5.0, 5.0], [True, True])
    assert (sure.low[0], sure.high[0], sure.std_error[0]) == (0.0, 1.0, 0.0)


def test_the_median_is_the_first_time_half_of_the_runs_are_done() -> None:
    even = survival_curve([1.0, 2.0, 3.0, 4.0], [True] * 4).median
    assert even.estimate == 2.0
    few = survival_curve([1.0, 2.0, 3.0, 4.0, 5.0], [True, False, False, False, False])
    assert few.median.estimate is None
    assert few.flags[0].code == "median_not_reached"
    assert "1/5" in few.flags[0].message


def test_the_median_interval_covers_the_median() -> None:
    rng = np.random.default_rng(5)
    covered = 0
    for _ in range(500):
        times = rng.exponential(10, 30) + 1e-6
        limit = rng.uniform(5, 40, 30)
        median = survival_curve(np.minimum(times, limit), times <= limit).median
        high = math.inf if median.high is None else median.high
        covered += (median.low or 0.0) <= 10 * math.log(2) <= high
    assert 0.92 < covered / 500 < 0.99


@pytest.mark.parametrize("seed", range(4))
def test_the_restricted_mean_is_the_area_under_the_curve(seed: int) -> None:
    times, reached = sides(seed + 20, 20)
    horizon = max(times) - 1.5
    found = restricted_mean(times, reached, horizon)
    grid = np.linspace(0, horizon, 40_001)
    middle = (grid[1:] + grid[:-1]) / 2
    curve = survival_curve(times, reached)
    steps = np.concatenate([[1.0], curve.survival])
    area = steps[np.searchsorted(curve.seconds, middle, side="right")].mean() * horizon
    assert found.estimate == pytest.approx(area, rel=1e-3)


def test_the_restricted_mean_error_is_that_over_repetitions() -> None:
    rng = np.random.default_rng(6)
    estimates, errors = [], []
    for _ in range(1500):
        times, limit = rng.exponential(10, 40) + 1e-6, rng.uniform(10, 40, 40)
        found = restricted_mean(np.minimum(times, limit), times <= limit, 9.0)
        estimates.append(found.estimate)
        errors.append(found.std_error)
    assert np.mean([e for e in errors if e is not None]) == pytest.approx(
        np.std([e for e in estimates if e is not None]), rel=0.08
    )


def test_without_censoring_the_restricted_mean_is_the_mean() -> None:
    times = [3.0, 5.0, 10.0, 6.0]
    found = restricted_mean(times, [True] * 4, 10.0)
    assert found.estimate == pytest.approx(np.mean(times))
    assert found.std_error == pytest.approx(np.std(times) / 2)
    beyond = restricted_mean(times, [True] * 4, 99.0)
    assert beyond.estimate == pytest.approx(np.mean(times))


def test_nothing_is_said_beyond_the_last_observation() -> None:
    found = restricted_mean([3.0, 5.0], [True, False], 6.0)
    assert (found.estimate, found.std_error) == (None, None)
    assert found.flags[0].code == "beyond_observation"
    assert restricted_mean([3.0, 5.0], [True, False], 5.0).estimate == pytest.approx(4.0)


@pytest.mark.parametrize("seed", range(4))
def test_log_rank_agrees_with_scipy(seed: int) -> None:
    (a, hit_a), (b, hit_b) = sides(seed, 14, 15), sides(seed + 50, 17, 15)

    def censored(times: list[float], reached: list[bool]) -> stats.CensoredData:
        return stats.CensoredData.right_censored(times, ~np.array(reached))

    theirs = stats.logrank(censored(a, hit_a), censored(b, hit_b))
    ours = log_rank(a, hit_a, b, hit_b, rng=np.random.default_rng(1), draws=19)
    assert ours.chi2 == pytest.approx(theirs.statistic**2)
    assert ours.p_asymptotic == pytest.approx(theirs.pvalue)


def test_the_log_rank_permutation_p_walks_through_all_splits() -> None:
    (a, hit_a), (b, hit_b) = sides(3, 4, 9), sides(4, 5, 9)
    times, reached = a + b, hit_a + hit_b

    def surprise(chosen: tuple[int, ...]) -> Fraction:
        """Observed minus expected successes of the chosen runs, summed over event times."""
        total = Fraction(0)
        for t in {t for t, hit in zip(times, reached, strict=True) if hit}:
            risk = [k for k in range(9) if times[k] >= t]
            done = [k for k in risk if times[k] == t and reached[k]]
            share = Fraction(sum(k in chosen for k in risk), len(risk))
            total += sum(k in chosen for k in done) - len(done) * share
        return abs(total)

    every = [surprise(c) for c in itertools.combinations(range(9), 4)]
    p = sum(value >= surprise(tuple(range(4))) for value in every) / len(every)
    assert log_rank(a, hit_a, b, hit_b).permutation.p_value == pytest.approx(p)


def test_the_common_horizon_is_where_the_shorter_side_ends() -> None:
    assert common_horizon([1.0, 9.0], [4.0, 7.0, 2.0]) == 7.0
    with pytest.raises(ValueError, match="no runs for side B"):
        common_horizon([1.0], [])


def test_no_runs_are_refused() -> None:
    with pytest.raises(ValueError, match="no runs"):
        survival_curve([], [])
    with pytest.raises(ValueError, match="positive horizon"):
        restricted_mean([1.0], [True], 0.0)
    with pytest.raises(ValueError, match="no runs for side A"):
        log_rank([], [], [1.0], [True])
