"""Targets: crossings, comparisons at each, and where the answer changes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.stats.made import ert_ratio
from ttastats.stats.sensitivity import (
    Curve,
    compare_targets,
    first_crossing,
    hardest_common_target,
    reaches,
    stable_range,
    target_grid,
    target_sensitivity,
)


def curve(seconds: list[float], values: list[float], run_seconds: float | None = None) -> Curve:
    return Curve(np.array(seconds), np.array(values), run_seconds)


def saturating(speed: float, seed: int, best: float = 0.9) -> Curve:
    rng = np.random.default_rng(seed)
    steps = np.arange(1, 41)
    values = best * (1 - np.exp(-steps / 8)) + rng.normal(0, 0.002, 40)
    return Curve(steps / speed * rng.lognormal(0, 0.01), values)


def test_a_target_is_met_from_the_right_side_with_float32_rounding() -> None:
    assert reaches([21.799999, 21.8, 21.79], 21.8).tolist() == [True, True, False]
    assert reaches([1.0000005, 1.00001, 0.5], 1.0, higher_is_better=False).tolist() == [
        True,
        False,
        True,
    ]
    assert reaches([-1.0000005], -1.0).tolist() == [True]
    assert reaches([math.nan], 0.0).tolist() == [False]
    assert reaches([math.nan], 0.0, higher_is_better=False).tolist() == [False]


def test_the_first_crossing_counts_even_if_the_metric_falls_again() -> None:
    one = curve([1, 2, 3, 4], [0.1, math.nan, 0.8, 0.5])
    assert first_crossing(one, 0.7) == 3.0
    assert first_crossing(one, 0.4, higher_is_better=False) == 1.0
    assert first_crossing(one, 0.9) is None


def test_a_run_that_misses_counts_with_all_the_time_it_was_observed() -> None:
    runs = [curve([1, 2], [0.5, 0.9]), curve([1, 2], [0.5, 0.6], run_seconds=10.0)]
    (point,) = target_sensitivity(runs, [0.9])
    assert point.first_seconds == (2.0, None)
    assert point.expected_seconds == 12.0
    assert point.fraction.estimate == 0.5
    assert point.fraction.n_censored == 1


def test_the_comparison_at_a_target_is_that_of_the_crossings() -> None:
    a, b = [saturating(1, k) for k in range(6)], [saturating(1.3, 10 + k) for k in range(6)]
    easy, hard = compare_targets(a, b, [0.5, 0.85])
    times = [[first_crossing(c, 0.5) or 0 for c in side] for side in (a, b)]
    expected = ert_ratio(times[0], [True] * 6, times[1], [True] * 6)
    assert easy.speedup.ratio == expected
    assert (easy.reached_a, easy.reached_b) == (6, 6)
    assert easy.verdict.word == "faster"
    assert hard.target == 0.85


def test_targets_beyond_a_sides_best_are_judged_by_the_fraction() -> None:
    a = [saturating(1, k, best=0.9) for k in range(6)]
    b = [saturating(1.3, 10 + k, best=0.7) for k in range(6)]
    at = {c.target: c.verdict.word for c in compare_targets(a, b, [0.5, 0.8, 0.95])}
    assert at[0.8] == "slower"
    assert at[0.95] == "unavailable"


def test_the_stable_range_ends_where_the_word_changes() -> None:
    a = [saturating(1, k, best=0.9) for k in range(6)]
    b = [saturating(2.0, 10 + k, best=0.7) for k in range(6)]
    points = compare_targets(a, b, [0.8, 0.3, 0.4, 0.5, 0.85])
    found = stable_range(points, 0.4)
    assert (found.word, found.lowest, found.highest) == ("faster", 0.3, 0.5)
    beyond = stable_range(points, 0.85)
    assert (beyond.word, beyond.lowest, beyond.highest) == ("slower", 0.8, 0.85)
    with pytest.raises(ValueError, match=r"0\.45 was not compared"):
        stable_range(points, 0.45)


def test_the_hardest_common_target_is_the_last_that_every_run_meets() -> None:
    runs = [curve([1, 2, 3], [0.2, 0.9, 0.8]), curve([1, 2, 3], [0.3, math.nan, 0.7])]
    assert hardest_common_target(runs) == 0.7
    assert [p.fraction.estimate for p in target_sensitivity(runs, [0.7, 0.71])] == [1.0, 0.5]
    assert hardest_common_target(runs, higher_is_better=False) == 0.3
    assert hardest_common_target([*runs, curve([1], [math.nan])]) is None
    assert hardest_common_target([]) is None


def test_the_grid_runs_from_the_worst_start_to_the_hardest_common_target() -> None:
    runs = [curve([1, 2], [0.2, 0.9]), curve([1, 2], [0.3, 0.7])]
    assert target_grid(runs, 3) == pytest.approx((0.2, 0.45, 0.7))
    falling = [curve([1, 2], [0.9, 0.2]), curve([1, 2], [0.7, 0.3])]
    assert target_grid(falling, 2, higher_is_better=False) == pytest.approx((0.9, 0.3))
    assert target_grid([curve([1], [0.4])]) == (0.4,)
    assert target_grid([curve([1], [math.nan])]) == ()


def test_no_curves_or_an_empty_one_are_refused() -> None:
    with pytest.raises(ValueError, match="no curves"):
        target_sensitivity([], [0.5])
    with pytest.raises(ValueError, match="at least one evaluation"):
        target_sensitivity([curve([], [])], [0.5])
    with pytest.raises(ValueError, match="no runs for side B"):
        compare_targets([curve([1], [1])], [], [0.5])
