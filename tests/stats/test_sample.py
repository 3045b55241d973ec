"""Summaries of one sample, and the official score."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from ttastats.stats.means import (
    mean_interval,
)


def test_the_interval_of_the_mean_is_students() -> None:
    times = [10.0, 12.0, 9.0, 15.0]
    low, high = stats.t.interval(0.9, 3, np.mean(times), stats.sem(times))
    found = mean_interval(times, confidence=0.9)
    assert (found.low, found.high) == pytest.approx((low, high))


def test_the_interval_of_pooled_setups_is_that_of_their_means() -> None:
    rng = np.random.default_rng(5)
    setups = np.repeat(np.arange(4), 5)
    times = 100 + 10 * np.repeat(rng.standard_normal(4), 5) + 0.1 * rng.standard_normal(20)
    pooled = mean_interval(times, setups=setups)
    of_means = mean_interval([times[setups == n].mean() for n in range(4)])
    assert pooled.low == pytest.approx(of_means.low)
    assert pooled.high == pytest.approx(of_means.high)
    assert mean_interval(times, setups=np.arange(20)) == mean_interval(times)
    alone = mean_interval(times)
    assert alone.low is not None
    assert pooled.low is not None
    assert pooled.low < alone.low
