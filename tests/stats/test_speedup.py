"""The speedup, its intervals, constant epochs, and its slope over accelerators."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from tests.stats.made import compared, safe_limits
from ttastats.stats.logratio import safe_exp
from ttastats.stats.outcomes import Epochs, make_outcomes
from ttastats.stats.results import Estimate
from ttastats.stats.speedup import (
    compute_speedup,
    loglog_slope,
    ratio_between,
    ratio_of_means,
)
from ttastats.stats.unseen import unseen_share

CONSTANT = Epochs(np.full(5, 3.0), 1.0)
VARYING = Epochs(np.array([3.0, 3, 4, 3, 3]), 1.0)


def test_the_epoch_safe_limits_hold_for_the_worst_unseen_epochs() -> None:
    """Without other noise the limits are those of the extreme means that 0 of n allows."""
    times = np.full(5, 30.0)
    low, high = safe_limits(compared(times, times, CONSTANT, CONSTANT))
    share = unseen_share(5, confidence=0.95)
    down, up = math.log(1 - share / 3), math.log(1 + share / 3)
    assert low == pytest.approx(math.exp(-math.hypot(down, up)))
    assert high == pytest.approx(math.exp(math.hypot(up, down)))


def test_of_a_side_with_failures_the_time_of_its_successes_alone_can_hold_unseen_epochs() -> None:
    times, reached = [30.0, 30, 30, 30, 30, 60], [True] * 5 + [False]
    failing = make_outcomes(times, reached, progress=CONSTANT)
    steady = make_outcomes(np.full(5, 30.0), progress=Epochs(np.full(5, 3.0), 1e-9))
    speedup = compute_speedup(failing, steady, estimand="mean", confidence=0.95)
    low, _ = speedup.limits(1e-6, epochs=True) or (0, 0)
    # 150 of 210 seconds are of successes, and at a confidence near 0 half the runs may differ.
    share = 1 - (0.5 * (1 - 1e-6)) ** (1 / 5)
    assert speedup.unseen_epochs
    assert low / (speedup.ratio.estimate or 0) == pytest.approx(1 - share / 3 * 150 / 210, abs=1e-5)


def test_a_quantum_as_coarse_as_the_whole_run_leaves_the_speedup_unbounded() -> None:
    times = np.array([30.0, 31, 30, 31, 30])
    coarse = Epochs(np.full(5, 1.0), 2.0)
    assert safe_limits(compared(times, times, coarse, VARYING))[0] == 0.0
    assert safe_limits(compared(times, times, VARYING, coarse))[1] == math.inf


def test_less_knowledge_never_allows_a_stronger_claim() -> None:
    times = np.array([30.0, 31, 30, 31, 30])
    no_interval = compared(times, times, Epochs(np.full(5, 3.0)), VARYING)
    assert {flag.code for flag in no_interval.flags} == {
        "constant_epochs",
        "unknown_evaluation_interval",
    }
    unknown = compute_speedup(
        make_outcomes(times),
        make_outcomes(times, progress=VARYING),
        estimand="mean",
        confidence=0.95,
    )
    assert [flag.code for flag in unknown.flags] == ["unknown_epochs"]
    for speedup in (no_interval, unknown):
        assert speedup.unseen_epochs
        assert safe_limits(speedup) == (0.0, math.inf)


def test_unseen_runs_may_fail_and_fail_again_when_they_are_started_again() -> None:
    """5 of 5 leave up to 45 % of runs: 0.82 failures per success, of two mean times each."""
    times = np.full(5, 30.0)
    speedup = compared(times, times)
    low, high = speedup.limits(0.95, stragglers=True) or (0, 0)
    reached = 0.05 ** (1 / 5)
    worst = 1 + 2 * (1 - reached) / reached
    assert worst == pytest.approx(2.64, abs=0.01)
    assert (low, high) == pytest.approx((1 / worst, worst))


def test_pooled_setups_are_the_unit_of_evidence() -> None:
    """With setups of equal size the interval is that of the means of the setups."""
    rng = np.random.default_rng(8)
    clusters = np.repeat([0, 1, 2], 10)
    setups = np.array([20.0, 30.0, 55.0])
    a = np.repeat(setups, 10) * rng.lognormal(0, 0.01, 30)
    b = rng.lognormal(math.log(10), 0.01, 12)
    pooled = ratio_between(
        make_outcomes(a, clusters=clusters), make_outcomes(b), estimand="mean", confidence=0.95
    )
    means = a.reshape(3, 10).mean(axis=1)
    half = stats.t.ppf(0.975, 2) * means.std(ddof=1) / means.mean() / math.sqrt(3)
    assert pooled.estimate == pytest.approx(a.mean() / b.mean())
    assert math.log((pooled.high or 0) / (pooled.estimate or 0)) == pytest.approx(half, rel=1e-3)
    assert (ratio_of_means(a, b, confidence=0.95).high or 0) < (pooled.high or 0)
    for same in (np.zeros(30), np.arange(30)):
        one = make_outcomes(a, clusters=same)
        ratio = ratio_between(one, make_outcomes(b), estimand="mean", confidence=0.95)
        assert ratio == ratio_of_means(a, b, confidence=0.95)


def times_at(n: int) -> Any:
    rng = np.random.default_rng(n)
    epochs = rng.integers(40, 44, 5) * (1 + 0.05 * np.log2(n))
    return epochs * rng.lognormal(0, 0.01, 5) * 100 / n**0.9


def slope(accelerators: list[int], times: list[Any]) -> Estimate:
    return loglog_slope(accelerators, [make_outcomes(of_size) for of_size in times], 0.95)


def test_the_slope_is_the_least_squares_line_through_the_log_means() -> None:
    scales = [1, 4, 16, 64]
    times = [times_at(n) for n in scales]
    fit = slope(scales, times)
    line = np.polyfit(np.log(scales), -np.log([of_size.mean() for of_size in times]), 1)
    assert fit.estimate == pytest.approx(line[0])
    assert fit.low is not None
    assert fit.high is not None
    assert fit.low < line[0] < fit.high


def test_the_exponential_of_what_is_too_large_is_infinite() -> None:
    assert safe_exp(708.9) == math.exp(708.9)
    assert [safe_exp(exponent) for exponent in (709.0, 800.0, -800.0)] == [math.inf, math.inf, 0.0]
