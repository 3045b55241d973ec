"""What sessions, seeds and stalls of the runs keep from a verdict."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.made_curves import judged
from tests.test_compare import Outcome, compared, side
from tests.test_judging import note
from ttastats import api
from ttastats.report.answer import Report
from ttastats.sides.design import checks
from ttastats.sides.design import side as side_design
from ttastats.sides.options import Options

BEGIN = datetime(2026, 11, 2, 9, tzinfo=UTC)
#: Times of runs that vary by 2 % around 300 s, in epochs that vary.
NOISE: list[float] = np.random.default_rng(1).normal(0, 0.02, 60).tolist()


def made(days: Sequence[int], speed: float = 1.0, *, first: int = 0, **more: Any) -> pl.DataFrame:
    """Return one run for each number of a day, 20 minutes after the one before it."""
    runs = []
    for number, day in enumerate(days):
        seconds = 300 / speed * (1 + NOISE[first + number])
        when = BEGIN + timedelta(days=day, minutes=20 * number + first)
        runs.append(side([(seconds, 3 + number % 2)], started_at=when, **more))
    return pl.concat(runs)


def codes(report: Report) -> list[str]:
    return [code for code in report.rows[0]["flags"] if code.endswith(("sessions", "seeds"))]


class TestSessions:
    """A difference between sessions is part of the ratio where sides follow sessions."""

    @pytest.mark.parametrize(
        ("a", "b"),
        [([0] * 5, [1] * 5), ([0] * 4 + [1], [0] + [1] * 4), ([0, 0, 2, 2], [1, 1, 3, 3])],
    )
    def test_that_sides_follow_are_a_condition_of_the_claim(
        self, a: list[int], b: list[int]
    ) -> None:
        report = compared(made(a), made(b, 1.06, first=20))
        (row,) = report.rows
        assert (row["verdict"], row["conditions"]) == ("faster", ["separate_sessions"])
        assert "B faster, in these sessions" in str(report)
        assert report.sentence.endswith(", in these sessions.")
        assert "--block day" in note(report, "separate_sessions")

    def test_with_both_sides_each_are_no_condition(self) -> None:
        report = compared(made([0, 0, 1, 1]), made([0, 0, 1, 1], 1.06, first=20))
        assert (report.rows[0]["verdict"], codes(report)) == ("faster", [])

    def test_of_one_run_each_are_no_condition(self) -> None:
        report = compared(made(range(0, 10, 2)), made(range(1, 11, 2), 1.06, first=20))
        assert (report.rows[0]["verdict"], codes(report)) == ("faster", [])

    def test_that_sides_follow_are_a_condition_within_seeds_too(self) -> None:
        a, b = (
            pl.concat([made([day], lead, first=first + k, seed=k) for k in range(5)])
            for day, lead, first in ((0, 1.0, 0), (1, 1.1, 20))
        )
        (row,) = api.compare(a, b, block=("seed",)).rows
        assert (row["verdict"], "separate_sessions" in row["conditions"]) == ("faster", True)

    def test_whose_own_spread_still_shows_the_difference_are_only_noted(self) -> None:
        days = ([0] * 3 + [2] * 3 + [4] * 3 + [6] * 3, [1] * 3 + [3] * 3 + [5] * 3 + [7] * 3)
        report = compared(made(days[0]), made(days[1], 1.2, first=20))
        assert report.rows[0]["conditions"] == []
        assert codes(report) == ["separate_sessions"]

    def test_that_differ_more_than_runs_do_take_the_claim_back_to_them(self) -> None:
        slow = [1.0, 1.08, 1.0, 1.08]
        sides = [
            pl.concat(
                [made([2 * day + odd] * 4, slow[day] * lead, first=5 * day) for day in range(4)]
            )
            for odd, lead in ((0, 1.0), (1, 1.06))
        ]
        report = compared(*sides)
        assert report.rows[0]["conditions"] == ["separate_sessions"]

    def test_of_different_machines_are_only_noted(self) -> None:
        a, b = made([0] * 5, system="old"), made([1] * 5, 1.06, first=20, system="new")
        report = compared(a, b)
        assert (report.rows[0]["conditions"], codes(report)) == ([], ["separate_sessions"])
        assert "--block" not in note(report, "separate_sessions")

    def test_that_no_log_tells_are_not_guessed(self) -> None:
        never = pl.lit(None, pl.Datetime("us", "UTC"))
        unknown = made([1] * 5, 1.06, first=20).with_columns(started_at=never)
        assert codes(compared(made([0] * 5), unknown)) == []

    def test_end_with_a_pause_that_is_long_for_these_runs(self) -> None:
        hourly = made([0] * 5).with_columns(
            started_at=pl.lit(BEGIN) + pl.duration(hours=2 * pl.int_range(pl.len()))
        )
        runs = side_design.design(hourly).runs
        numbers, _ = checks.sessions(runs, runs.head(0))
        assert numbers.tolist() == [0] * 5
        later = runs.with_columns(pl.col("started_at") + pl.duration(days=2))
        one, other = checks.sessions(runs, later)
        assert (set(one), set(other)) == ({0}, {1})


def test_the_design_effect_is_that_of_clusters() -> None:
    def effect(a: Sequence[int], b: Sequence[int]) -> float:
        return checks.design_effect(np.array(a), np.array(b))

    assert effect([0, 1, 2], [3, 4, 5]) == pytest.approx(1.0)
    assert effect([0, 0, 1, 1], [2, 2, 3, 3]) == pytest.approx(2.0)
    assert effect([0, 0, 1, 1], [0, 1]) == 0.0
    assert effect([0] * 4 + [1], [0] + [1] * 4) == pytest.approx(1.8)


class TestSeeds:
    def test_that_repeat_are_a_condition_of_the_claim(self) -> None:
        a = side([(300 * (1 + x), 3 + k % 2) for k, x in enumerate(NOISE[:6])], seed=7)
        b = [side([(250 * (1 + x), 3)], seed=k) for k, x in enumerate(NOISE[10:16])]
        report = compared(a, pl.concat(b))
        (row,) = report.rows
        assert (row["verdict"], row["conditions"]) == ("faster", ["repeated_seeds"])
        assert "the 6 runs of A have 1 seed" in note(report, "repeated_seeds")

    def test_that_both_sides_have_make_pairs(self) -> None:
        def of_seeds(seconds: float, first: int) -> pl.DataFrame:
            own = NOISE[first : first + 5]
            noise = [3 * x + y / 10 for x, y in zip(NOISE[:5], own, strict=True)]
            return pl.concat([side([(seconds * (1 + x), 3)], seed=k) for k, x in enumerate(noise)])

        a, b = of_seeds(300, 10), of_seeds(285, 20)
        report = compared(a, b, epochs_fixed=True)
        within = compared_in_blocks(a, b)
        assert report.rows[0]["verdict"] == "undecided"
        assert within["verdict"] == "faster"
        low, high = within["speedup_low"], within["speedup_high"]
        assert f"(--block seed): {within['speedup']:.3f} [{low:.3f}, {high:.3f}]" in note(
            report, "paired_seeds"
        )

    def test_that_differ_say_nothing(self) -> None:
        a, b = (
            pl.concat([side([(s * (1 + x), 3)], seed=first + k) for k, x in enumerate(NOISE[:5])])
            for s, first in ((300, 0), (250, 3))
        )
        assert codes(compared(a, b)) == []


def compared_in_blocks(a: pl.DataFrame, b: pl.DataFrame) -> dict[str, Any]:
    (row,) = api.compare(a, b, block=("seed",), options=Options(epochs_fixed=True)).rows
    return dict(row)


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

    def test_of_which_there_are_two_are_too_few_to_tell(self) -> None:
        report = self.in_days([1.1, 1.1])
        assert report.rows[0]["conditions"] == ["these_blocks"]
        assert "too few to test" in note(report, "these_blocks")


class TestStarts:
    def test_that_lie_together_may_have_shared_a_machine(self) -> None:
        def at(seconds: Sequence[float], runs: list[Outcome]) -> pl.DataFrame:
            starts = [BEGIN + timedelta(seconds=each) for each in seconds]
            return side(runs).with_columns(
                pl.Series("started_at", starts, dtype=pl.Datetime("us", "UTC"))
            )

        runs: list[Outcome] = [(300 * (1 + x), 3 + k % 2) for k, x in enumerate(NOISE[:5])]
        together, apart = at([0, 1, 2, 3, 4], runs), at([0, 400, 800, 1200, 1600], runs)
        report = compared(apart, together)
        assert "parallel_runs" in report.rows[0]["flags"]
        assert "most runs of B started within 10 s of another" in note(report, "parallel_runs")
        assert (
            "parallel_runs"
            not in compared(apart, at([5, 405, 805, 1205, 1605], runs)).rows[0]["flags"]
        )
        half = at([5, 7, 805, 1205], runs[:4])
        assert "parallel_runs" not in compared(apart, half).rows[0]["flags"], "no more than half"


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

    def test_that_are_none_are_not_mentioned(self) -> None:
        report = api.compare(self.runs(1), self.runs(2))
        assert note(report, "stalled_runs") == ""


def test_two_runs_have_a_first_and_a_last_start_and_one_has_none() -> None:
    days = [datetime(2026, 1, day, tzinfo=UTC) for day in (6, 5)]
    runs = pl.DataFrame({"started_at": days})
    assert side_design.starts(runs) == (days[1], days[0])
    assert side_design.starts(runs[:1]) is None
    assert side_design.starts(runs.with_columns(started_at=pl.lit(None))) is None
