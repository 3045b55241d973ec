"""Expected running time and comparisons when some runs fail."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.stats.made import ert_ratio
from ttastats.stats.outcomes import expected_time


def test_the_expected_time_is_the_mean_wait_when_one_restarts_until_success() -> None:
    rng = np.random.default_rng(1)
    times, reached = [10.0, 14.0, 30.0, 25.0, 11.0], [True, True, False, False, True]
    waits = []
    for _ in range(20_000):
        wait, done = 0.0, False
        while not done:
            k = rng.integers(5)
            wait, done = wait + times[k], reached[k]
        waits.append(wait)
    found = expected_time(times, reached)
    assert found.estimate == pytest.approx(90 / 3)
    assert found.estimate == pytest.approx(np.mean(waits), rel=0.02)


def test_a_side_without_successes_has_no_ert_ratio() -> None:
    lost = ert_ratio([5.0, 6.0], [True, True], [300.0, 300.0], [False, False])
    assert (lost.estimate, lost.low, lost.high, lost.p_value) == (0.0, None, None, None)
    assert lost.flags[0].message == "B: 0/2 runs reached the target, 600 s spent"
    won = ert_ratio([300.0], [False], [5.0], [True])
    assert won.estimate == math.inf
    neither = ert_ratio([300.0], [False], [300.0], [False])
    assert neither.estimate is None
    assert [flag.code for flag in neither.flags] == ["no_success"] * 2
    alone = expected_time([300.0, 200.0], [False, False])
    assert (alone.estimate, alone.variance) == (math.inf, None)
