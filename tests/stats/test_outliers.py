"""Outliers by the modified z-score of logarithms."""

from __future__ import annotations

import numpy as np
import pytest

from ttastats.stats import moments


def factors(*values: float) -> list[float]:
    array = np.array(values)
    return list(array[moments.find_outliers(array)])


def test_the_score_is_that_of_the_book() -> None:
    """Iglewicz & Hoaglin (1993), section 3.3: their ten values, here as exponents."""
    values = np.array([3.2, 3.3, 8.1, 3.2, 2.9, 3.7, 3.1, 3.5, 3.3])
    median, deviation = 3.3, 0.2  # |x - median|: .1 0 4.8 .1 .4 .4 .2 .2 0
    expected = 0.6745 * (values - median) / deviation
    assert moments.modified_z(np.exp(values)) == pytest.approx(expected)


def test_runs_of_two_machines_have_two_speeds() -> None:
    times = np.array([106.1, 813.0, 105.2, 106.9, 831.0, 106.4, 105.8])
    assert moments.count_faster(times) == 5
    assert moments.count_faster(times / 60) == 5
    assert moments.count_faster(1 / times) == 2
    assert moments.count_faster(np.array([100.0, 100, 100, 150, 150])) == 3


def test_one_slow_run_is_no_second_machine_nor_are_runs_that_nearly_agree() -> None:
    assert moments.count_faster(np.array([106.1, 105.2, 106.9, 106.4, 831.0])) is None
    assert moments.count_faster(np.array([100.0, 100, 100, 105, 105])) is None
    assert moments.count_faster(np.array([100.0, 100, 100, 100])) is None
    assert moments.count_faster(np.array([100.0, 100, 200])) is None
    assert moments.count_faster(np.array([100.0, 100, 200, 200, np.nan])) is None
    assert moments.count_faster(np.array([100.0, 100, 200, 200, 0])) is None


@pytest.mark.parametrize(
    ("values", "straggles"),
    [
        ((100.0, 101.0, 99.0, 100.5, 300.0), True),
        ((100.0, 101.0, 300.0), True),  # of three it takes two that hardly differ
        ((100.0, 110.0, 300.0), False),
        ((100.0, 101.0, 99.0, 100.5, 33.0), False),  # far faster is no straggler
        ((100.0, 100.1, 99.9, 100.0, 104.9), False),  # nor is a difference of 5 %
        ((100.0, 150.0, 80.0, 130.0, 250.0), False),
        ((100.0, 300.0), False),
        ((100.0, 100.0, 100.0, 100.0), False),
        ((), False),
    ],
)
def test_a_straggler_lies_far_above_the_others(values: tuple[float, ...], straggles: bool) -> None:
    assert moments.has_straggler(np.array(values)) is straggles


def test_the_limit_of_a_straggler_is_grubbs() -> None:
    """Grubbs (1969), table I: for five values and for ten, one-sided at 1 %."""
    limits = [moments.grubbs_limit(n, 0.02) for n in (5, 10)]
    assert limits == pytest.approx([1.749, 2.410], abs=5e-4)
