"""Variances of sources: the cases of a study, an analysis by hand, and what has no variance."""

from __future__ import annotations

import numpy as np
import pytest

from tests.stats.test_effects import OF_B, SESSIONS, B, logs
from ttastats.stats.results import Floats
from ttastats.stats.sources import reml_loss, separable, variance_parts

FIXED = np.column_stack([np.ones(15), *(setting.design_columns for setting in OF_B)])
ONES = np.ones((24, 1))
DAY, SEED = np.repeat(np.arange(6), 4), np.tile(np.arange(4), 6)


def test_sessions_explain_the_time_per_epoch_of_the_study() -> None:
    sessions, left = variance_parts(logs(B)["P"], [SESSIONS], FIXED, 0.95)
    assert (sessions.std or 0) ** 2 == pytest.approx(0.00057494252, rel=1e-4)
    assert (left.std or 0) ** 2 == pytest.approx(3.3240384e-05, rel=1e-4)
    assert sessions.share == pytest.approx(0.9453, abs=1e-4)
    assert (sessions.p or 1) < 1e-5
    assert left.p is None
    loss = reml_loss(logs(B)["P"], [SESSIONS], FIXED)
    assert -loss(np.array([sessions.share, left.share]))[0] / 2 == pytest.approx(35.926764)


def test_sessions_add_nothing_to_the_time_to_target() -> None:
    sessions, left = variance_parts(logs(B)["T"], [SESSIONS], FIXED, 0.95)
    assert (sessions.share, sessions.low, sessions.std, sessions.p) == (0.0, 0.0, 0.0, 1.0)
    assert (left.std or 0) ** 2 == pytest.approx(0.0043335941)
    # That of no session at all is that of least squares.
    assert -reml_loss(logs(B)["T"], [SESSIONS], FIXED)(np.array([0.0, 1.0]))[0] / 2 == (
        pytest.approx(12.952117)
    )


def times() -> Floats:
    rng = np.random.default_rng(3)
    day, seed = rng.normal(0, 0.1, 6), rng.normal(0, 0.04, 4)
    return np.asarray(day[DAY] + seed[SEED] + rng.normal(0, 0.02, 24), dtype=np.float64)


def test_two_sources_that_cross_are_those_of_mean_squares() -> None:
    """In a balanced table without a variance below 0, REML is the analysis of variance."""
    table = times().reshape(6, 4)
    days, seeds = table.mean(axis=1), table.mean(axis=0)
    rest = table - days[:, np.newaxis] - seeds + table.mean()
    error = float((rest**2).sum()) / 15
    known = [np.var(days, ddof=1) - error / 4, np.var(seeds, ddof=1) - error / 6, error]
    ours = [(part.std or 0) ** 2 for part in variance_parts(times(), [DAY, SEED], ONES, 0.95)]
    assert ours == pytest.approx(known, rel=1e-3)


def test_sources_that_cannot_be_told_apart_are_left_out() -> None:
    seed = np.arange(24)
    assert separable([DAY, SEED, DAY[::-1] + 7, seed, DAY % 2], ONES) == [
        True, True, False, False, False,
    ]  # fmt: skip
    # What is the same within each entry is part of its mean.
    assert separable([DAY], np.equal.outer(DAY, np.arange(6)).astype(np.float64)) == [False]


def test_the_interval_of_a_share_is_where_the_likelihood_ratio_is_that_of_chi_square() -> None:
    y, days = times(), variance_parts(times(), [DAY], ONES, 0.95)[0]
    loss = reml_loss(y / y.std(), [DAY], ONES)
    least = loss(np.array([days.share, 1 - days.share]))[0]
    for end in (days.low, days.high):
        assert loss(np.array([end, 1 - end]))[0] - least == pytest.approx(3.8415, abs=0.1)
    assert 0 < days.low < days.share < days.high < 1
