"""Scaling efficiency and its slope."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ttastats.stats.outcomes import make_outcomes
from ttastats.stats.results import Estimate
from ttastats.stats.scaling import ScalePoint, compare_scale, loglog_slope
from ttastats.stats.speedup import ratio_of_geometric_means, ratio_of_means


def point(n: int, seed: int, runs: int = 5) -> ScalePoint:
    rng = np.random.default_rng(seed)
    epochs = rng.integers(40, 44, runs) * (1 + 0.05 * np.log2(n))
    return ScalePoint(n, epochs * rng.lognormal(0, 0.01, runs) * 100 / n**0.9, epochs)


def slope(accelerators: list[int], times: list[Any]) -> Estimate:
    return loglog_slope(accelerators, [make_outcomes(each) for each in times])


def test_efficiency_is_speedup_per_accelerator_with_the_speedups_interval() -> None:
    one, eight = point(1, 1), point(8, 2)
    found = compare_scale(one, eight)
    plain = ratio_of_means(one.times, eight.times)
    assert found.speedup == plain
    assert found.efficiency.estimate == pytest.approx((plain.estimate or 0) / 8)
    assert found.efficiency.low == pytest.approx((plain.low or 0) / 8)
    assert found.efficiency.high == pytest.approx((plain.high or 0) / 8)
    assert found.efficiency.p_value is None


def test_throughput_and_statistical_efficiency_multiply_to_the_efficiency() -> None:
    base, large = point(2, 3), point(64, 4)
    found = compare_scale(base, large)
    product = (found.throughput_efficiency.estimate or 0) * (
        found.statistical_efficiency.estimate or 0
    )
    speedup = ratio_of_geometric_means(base.times, large.times).estimate or 0
    assert product == pytest.approx(speedup * 2 / 64)


def test_the_slope_is_the_least_squares_line_through_the_log_means() -> None:
    points = [point(n, n) for n in (1, 4, 16, 64)]
    found = slope([p.accelerators for p in points], [p.times for p in points])
    line = np.polyfit(np.log([1, 4, 16, 64]), -np.log([p.times.mean() for p in points]), 1)
    assert found.estimate == pytest.approx(line[0])
    assert found.low is not None
    assert found.high is not None
    assert found.low < line[0] < found.high


def test_the_slope_interval_covers_the_true_slope() -> None:
    rng = np.random.default_rng(7)
    covered = 0
    for _ in range(500):
        times = [rng.gamma(30, 10 / n**0.8, 5) for n in (1, 2, 4, 8)]
        found = slope([1, 2, 4, 8], times)
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= 0.8 <= found.high
    assert 0.925 < covered / 500 < 0.985


def test_a_slope_needs_two_scales_and_an_interval_two_runs_at_each() -> None:
    assert slope([4, 4], [[1.0, 2.0], [1.0, 2.0]]).estimate is None
    single = slope([1, 2], [[10.0], [5.0, 5.1]])
    assert single.estimate is not None
    assert single.low is None
