"""Intervals of a coefficient of variation, and what unseen epochs do to them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import optimize, stats

from ttastats.stats import unseen
from ttastats.stats.variation import (
    bonett_limits,
    cv_interval,
    delta_limits,
    has_outlier,
    vangel_limits,
)


def test_a_huge_cv_has_no_upper_limit() -> None:
    low, high = vangel_limits(2.5, 4, confidence=0.95)
    assert high == math.inf
    assert 0 < low < 2.5


def test_delta_limits_follow_from_the_derivative_of_the_cv_in_each_run() -> None:
    rng = np.random.default_rng(2)
    x = rng.gamma(9, 10, 14)
    n, step = x.size, 1e-6

    def log_cv(weights: np.ndarray) -> float:
        m = np.average(x, weights=weights)
        return float(np.log(np.sqrt(np.average((x - m) ** 2, weights=weights)) / m))

    influence = []
    for k in range(n):  # the Gateaux derivative, numerically
        toward = np.full(n, (1 - step) / n)
        toward[k] += step
        influence.append((log_cv(toward) - log_cv(np.full(n, 1 / n))) / step)
    half = stats.t.ppf(0.975, n - 1) * math.sqrt(np.mean(np.square(influence)) / n)
    cv = np.std(x, ddof=1) / np.mean(x)
    expected = (cv * math.exp(-half), cv * math.exp(half))
    assert delta_limits(x, confidence=0.95) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("n", [8, 12])
def test_bonett_limits_are_those_of_a_standard_deviation_with_the_spread_of_the_mean(
    n: int,
) -> None:
    x = np.random.default_rng(n).gamma(4, 3, n)
    away = x - stats.trim_mean(x, 1 / (2 * math.sqrt(n - 4)))
    kurtosis = np.sum(away**4) / n / np.var(x) ** 2
    correction = n / (n - stats.norm.ppf(0.975))
    of_variance = correction**2 * (kurtosis - (n - 3) / n) / (n - 1)
    cv = stats.variation(x, ddof=1)
    half = stats.t.ppf(0.975, n - 1) * math.sqrt(of_variance / 4 + cv**2 / n)
    middle = cv * math.sqrt(correction)
    assert bonett_limits(x, confidence=0.95) == pytest.approx(
        (middle / math.exp(half), middle * math.exp(half))
    )


@pytest.mark.parametrize(("epochs", "evaluation_interval"), [(3, 1), (62, 4), (2, 2), (1, 1)])
@pytest.mark.parametrize("n", [3, 5, 20])
def test_no_share_of_deviating_runs_allowed_by_the_bound_gives_a_larger_cv(
    epochs: float, evaluation_interval: float, n: int
) -> None:
    other = (
        epochs - evaluation_interval
        if epochs > evaluation_interval
        else epochs + evaluation_interval
    )

    def minus_cv(share: float) -> float:
        mean = (1 - share) * epochs + share * other
        return -math.sqrt(share * (1 - share)) * abs(other - epochs) / mean

    bound = unseen.unseen_share(n, confidence=0.95)
    worst = optimize.minimize_scalar(minus_cv, bounds=(0, min(bound, 0.5)), method="bounded")
    cv = unseen.cv_epochs_high(epochs, n, evaluation_interval, confidence=0.95)
    assert cv == pytest.approx(-worst.fun, rel=1e-3)


def test_where_a_run_is_unlike_the_others_few_runs_have_no_interval() -> None:
    far = [106.0, 106.2, 105.9, 106.1, 813.0]
    assert cv_interval(far, confidence=0.95, ddof=1).withheld == "unusual_run"
    assert has_outlier(np.array(far))
    assert cv_interval(far * 2 + [104.0], confidence=0.95, ddof=1).withheld is None
    # Another evaluation is no unlike run; two more in one step are.
    epochs = [3.0, 3.0, 3.0, 3.0, 4.0]
    times = [30.0, 30.1, 29.9, 30.2, 40.1]
    assert cv_interval(times, confidence=0.95, ddof=1).withheld == "unusual_run"
    assert (
        cv_interval(times, epochs=epochs, evaluation_interval=1, confidence=0.95, ddof=1).withheld
        is None
    )
    twice = [30.0, 30.1, 29.9, 30.2, 60.1]
    cv = cv_interval(twice, epochs=[3, 3, 3, 3, 6], evaluation_interval=1, confidence=0.95, ddof=1)
    assert cv.withheld == "unusual_run"
