"""Which targets are asked about, and where the answer changes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ttastats.stats.sensitivity import hardest_common_target, stable_range, target_grid


def curves(*values: list[float]) -> list[np.ndarray]:
    return [np.array(run) for run in values]


def test_the_stable_range_ends_where_the_word_changes() -> None:
    words = {0.8: "slower", 0.3: "faster", 0.4: "faster", 0.5: "faster", 0.85: "slower"}
    found = stable_range(words, 0.4)
    assert (found.word, found.lowest, found.highest) == ("faster", 0.3, 0.5)
    beyond = stable_range(words, 0.85)
    assert (beyond.word, beyond.lowest, beyond.highest) == ("slower", 0.8, 0.85)
    with pytest.raises(ValueError, match=r"0\.45 was not compared"):
        stable_range(words, 0.45)


def test_a_word_that_comes_back_does_not_belong_to_the_range() -> None:
    words = {1.0: "same", 2.0: "faster", 3.0: "same", 4.0: "faster", 5.0: "same"}
    found = stable_range(words, 3.0)
    assert (found.lowest, found.highest) == (3.0, 3.0)


def test_the_hardest_common_target_is_the_last_that_every_run_meets() -> None:
    runs = curves([0.2, 0.9, 0.8], [0.3, math.nan, 0.7])
    assert hardest_common_target(runs) == 0.7
    assert hardest_common_target(runs, higher_is_better=False) == 0.3
    assert hardest_common_target([*runs, np.array([math.nan])]) is None
    assert hardest_common_target([]) is None


def test_the_grid_runs_from_the_worst_start_to_the_hardest_common_target() -> None:
    runs = curves([0.2, 0.9], [0.3, 0.7])
    assert target_grid(runs, 3) == pytest.approx((0.2, 0.45, 0.7))
    falling = curves([0.9, 0.2], [0.7, 0.3])
    assert target_grid(falling, 2, higher_is_better=False) == pytest.approx((0.9, 0.3))
    assert target_grid(curves([0.4])) == (0.4,)
    assert target_grid(curves([math.nan])) == ()


@pytest.mark.filterwarnings("error")
def test_a_grid_over_all_floats_is_one_of_numbers() -> None:
    assert target_grid(curves([-1.6e308, 1.6e308]), 3) == (-1.6e308, 0.0, 1.6e308)
