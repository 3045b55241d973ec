"""Outliers by the modified z-score of logarithms."""

from __future__ import annotations

import numpy as np
import pytest

from ttastats.stats import outliers


def found(*values: float) -> list[float]:
    array = np.array(values)
    return list(array[outliers.outliers(array)])


def test_the_score_is_that_of_the_book() -> None:
    """Iglewicz & Hoaglin (1993), section 3.3: their ten values, here as exponents."""
    values = np.array([3.2, 3.3, 8.1, 3.2, 2.9, 3.7, 3.1, 3.5, 3.3])
    median, deviation = 3.3, 0.2  # |x - median|: .1 0 4.8 .1 .4 .4 .2 .2 0
    expected = 0.6745 * (values - median) / deviation
    assert outliers.modified_z(np.exp(values)) == pytest.approx(expected)


def test_a_run_three_times_as_long_is_one() -> None:
    assert found(10, 11, 10.5, 9.8, 30) == [30]
    assert found(10, 11, 10.5, 9.8, 3) == [3]


def test_units_do_not_matter() -> None:
    values = np.random.default_rng(1).lognormal(3, 0.3, 40)
    assert outliers.modified_z(values * 60) == pytest.approx(outliers.modified_z(values))


def test_where_most_are_equal_the_others_are_measured_by_the_mean() -> None:
    assert found(4, 4, 4, 4, 8) == [8]
    assert found(4, 4, 4, 8, 8) == []


def test_few_runs_and_runs_that_agree_have_none() -> None:
    assert found(10, 10, 10, 1000) == []
    assert found(10, 10, 10, 10, 10) == []
    assert found(10, 10.001, 10.002, 10.001, 10.3) == []
    assert found() == []


def test_many_groups_of_one_size_are_judged_as_each_alone() -> None:
    groups = np.array([[4, 4, 4, 4, 8], [10, 10, 10, 10, 10], [10, 11, 10.5, 9.8, 30]])
    for together, group in zip(outliers.modified_z(groups), groups, strict=True):
        assert together.tolist() == outliers.modified_z(group).tolist()
    assert groups[outliers.outliers(groups)].tolist() == [8, 30]
