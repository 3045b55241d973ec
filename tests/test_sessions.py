"""What sessions, seeds and stalls of the runs keep from a verdict."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl
import pytest

from tests.made_curves import judged
from tests.test_compare import compared, side
from tests.test_judging import note
from ttastats import api
from ttastats.report.answer import Report

BEGIN = datetime(2026, 11, 2, 9, tzinfo=UTC)
#: Times of runs that vary by 2 % around 300 s, in epochs that vary.
NOISE: list[float] = np.random.default_rng(1).normal(0, 0.02, 60).tolist()


def made(days: Sequence[int], speed: float = 1.0, *, first: int = 0) -> pl.DataFrame:
    """Return one run for each number of a day, 20 minutes after the one before it."""
    runs = []
    for number, day in enumerate(days):
        seconds = 300 / speed * (1 + NOISE[first + number])
        when = BEGIN + timedelta(days=day, minutes=20 * number + first)
        runs.append(side([(seconds, 3 + number % 2)], started_at=when))
    return pl.concat(runs)


def test_sessions_whose_own_spread_still_shows_the_difference_are_only_noted() -> None:
    days = ([0] * 3 + [2] * 3 + [4] * 3 + [6] * 3, [1] * 3 + [3] * 3 + [5] * 3 + [7] * 3)
    (row,) = compared(made(days[0]), made(days[1], 1.2, first=20)).rows
    assert row["conditions"] == []
    assert "separate_sessions" in row["flags"]


class TestBlocks:
    """A verdict within blocks is for other blocks only where these differ little."""

    @staticmethod
    def in_days(leads: Sequence[float]) -> Report:
        a = made(sorted(list(range(len(leads))) * 3))
        b = pl.concat([made([day] * 3, lead, first=20 + 3 * day) for day, lead in enumerate(leads)])
        return api.compare(a, b, block=("day",))

    def test_that_agree_leave_no_condition(self) -> None:
        report = self.in_days([1.1, 1.1, 1.1, 1.1])
        assert (report.rows[0]["verdict"], report.rows[0]["conditions"]) == ("faster", [])

    def test_that_differ_are_a_condition(self) -> None:
        report = self.in_days([1.25, 1.0, 1.25, 1.02])
        (row,) = report.rows
        assert (row["verdict"], row["conditions"]) == ("faster", ["these_blocks"])
        assert "B faster, in these blocks" in str(report)
        assert "these_blocks" in row["flags"]


class TestStalls:
    """Time in which a run stood still is part of its result, and is named."""

    @staticmethod
    def runs(seed: int, still: float = 0.0) -> pl.DataFrame:
        rng = np.random.default_rng(seed)
        rows = []
        for run in range(5):
            pace, met = 60 * (1 + 0.02 * rng.standard_normal()), 8 + run % 3
            rows += [
                {
                    "id": f"{seed}-{run}",
                    "epoch": epoch,
                    "t": pace * epoch + still * (run == 2 and epoch > 5),
                    "acc": 0.8 * (epoch >= met),
                }
                for epoch in range(1, met + 1)
            ]
        return judged(rows)

    @pytest.mark.parametrize(("still", "clock"), [(3600.0, True), (7200.0, False)])
    def test_of_a_side_are_in_the_answer(self, still: float, clock: bool) -> None:
        report = api.compare(self.runs(1), self.runs(2, still))
        text = note(report, "stalled_runs")
        assert "1 run of B stood still" in text
        assert ("summer time" in text) is clock
        assert report.rows[0]["flags"].count("stalled_runs") == 1
