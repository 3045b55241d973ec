"""The slope of the speedup over accelerators."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ttastats.stats.outcomes import make_outcomes
from ttastats.stats.results import Estimate
from ttastats.stats.speedup import loglog_slope


def times_at(n: int) -> Any:
    rng = np.random.default_rng(n)
    epochs = rng.integers(40, 44, 5) * (1 + 0.05 * np.log2(n))
    return epochs * rng.lognormal(0, 0.01, 5) * 100 / n**0.9


def slope(accelerators: list[int], times: list[Any]) -> Estimate:
    return loglog_slope(accelerators, [make_outcomes(each) for each in times])


def test_the_slope_is_the_least_squares_line_through_the_log_means() -> None:
    scales = [1, 4, 16, 64]
    times = [times_at(n) for n in scales]
    found = slope(scales, times)
    line = np.polyfit(np.log(scales), -np.log([each.mean() for each in times]), 1)
    assert found.estimate == pytest.approx(line[0])
    assert found.low is not None
    assert found.high is not None
    assert found.low < line[0] < found.high


def test_a_slope_needs_two_scales_and_an_interval_two_runs_at_each() -> None:
    assert slope([4, 4], [[1.0, 2.0], [1.0, 2.0]]).estimate is None
    single = slope([1, 2], [[10.0], [5.0, 5.1]])
    assert single.estimate is not None
    assert single.low is None
