"""What the way in which runs were made keeps from a verdict."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.made_curves import evaluation, judged, logs, of
from ttastats import api
from ttastats.base.errors import TtastatsError
from ttastats.outcomes.budget import Budget
from ttastats.report.answer import Report
from ttastats.sides.design import checks
from ttastats.sides.options import Options
from ttastats.stats.outcomes import make_outcomes
from ttastats.stats.speedup import compute_speedup


def evaluated(
    every: int, seed: int, *, runs: int = 10, cv: float = 0.01, second: float = 10.0, **unit: Any
) -> pl.DataFrame:
    """Return runs that meet their target at about epoch 60, evaluated at each of so many epochs."""
    rng = np.random.default_rng(seed)
    rows = []
    for run in range(runs):
        met = 60.5 * (1 + cv * rng.standard_normal())
        pace = second * (1 + 0.003 * rng.standard_normal())
        epochs = range(every, every * math.ceil(met / every) + 1, every)
        rows += [
            {"id": f"{seed}-{run}", "epoch": epoch, "t": pace * epoch, "acc": 0.8 * (epoch >= met)}
            for epoch in epochs
        ]
    return judged(rows)


def answer(a: pl.DataFrame, b: pl.DataFrame, **options: Any) -> tuple[dict[str, Any], Report]:
    report = api.compare(a, b, options=Options(**options))
    return dict(report.rows[0]), report


def note(report: Report, code: str) -> str:
    return " ".join(one.text for one in report.notes if one.code == code)


class TestEvaluationIntervals:
    """Of equal setups the one that is evaluated less often seems slower."""

    @pytest.mark.parametrize("swapped", [False, True])
    def test_that_differ_leave_equal_setups_undecided(self, swapped: bool) -> None:
        sides = (evaluated(1, 1), evaluated(4, 2))
        row, report = answer(*sides[:: -1 if swapped else 1])
        assert row["p_value"] < 0.001
        assert not row["speedup_low"] <= 1 <= row["speedup_high"]  # the ratio of mean TTA as it is
        assert (row["verdict"], row["why"]) == ("undecided", "evaluation intervals differ")
        assert "grids_differ" in row["flags"]
        assert "A every 1 epoch, B every 4 epochs" in note(report, "grids_differ") or swapped
        assert "evaluation intervals differ" in report.sentence
        reason = "~ not decided: these runs: evaluation intervals differ. That does not show"
        assert note(report, "undecided").startswith(reason)

    def test_that_differ_are_named_by_an_undecided_gate(self) -> None:
        report = api.compare(evaluated(1, 1), evaluated(4, 2), fail_on="slower:2%")
        (found,) = report.gate.findings if report.gate else ()
        assert (found.outcome, found.runs_needed) == ("undecided", None)
        assert found.text.endswith("; evaluation intervals differ, which the bound allows for")

    def test_count_for_the_share_of_time_that_successes_took(self) -> None:
        """A failed run ends where it ends: only times of successes are late."""
        a, b = make_outcomes([9.0, 10, 11]), make_outcomes([9.0, 11, 20], [True, True, False])
        low, high = compute_speedup(a, b).limits(0.95) or (0.0, 0.0)
        allowed = compute_speedup(a, b, late=(0.0, 0.1)).limits(0.95)
        assert allowed == pytest.approx((low, high / (1 - 0.1 * 20 / 40)))


def curves(
    every: int,
    seed: int,
    *,
    runs: int = 10,
    last: int = 3000,
    sd: float = 0.005,
    pace: float = 0.1,
    flat: bool = False,
) -> pl.DataFrame:
    """Return runs of one falling curve of losses, evaluated at each of so many steps."""
    rng = np.random.default_rng(seed)
    steps = range(every, last + 1, every)
    return logs(
        [
            of(*(
                evaluation(
                    index,
                    3.0 + 2.0 * math.exp(-step / 600) * (not flat) + sd * rng.standard_normal(),
                    step=step, epoch=None, seconds=pace * step,
                )
                for index, step in enumerate(steps)
            ))
            for _ in range(runs)
        ]
    )  # fmt: skip


def at(a: pl.DataFrame, b: pl.DataFrame, text: str, **more: Any) -> tuple[dict[str, Any], Report]:
    report = api.compare(a, b, at=text, **more)
    return dict(report.rows[0]), report


class TestAtABudget:
    """A value belongs to the step at which it was logged."""

    def test_that_a_side_was_not_evaluated_at_there_is_no_verdict(self) -> None:
        row, report = at(curves(400, 1), curves(150, 2), "step=750")
        assert (row["verdict"], row["why"]) == ("unavailable", "values are of different budgets")
        assert "A at 400 steps, B at 750 steps" in note(report, "not_evaluated")
        assert "evaluated at step 1200 (--at step=1200)" in note(report, "not_evaluated")

    @pytest.mark.parametrize(("budget", "noted"), [("step=1200", False), ("step=1100", True)])
    def test_that_is_the_same_on_both_sides_changes_nothing(self, budget: str, noted: bool) -> None:
        row, report = at(curves(400, 1), curves(400, 2), budget)
        assert row["verdict"] == "undecided"
        assert "values are of 800 steps" in note(report, "earlier_values") or not noted
        assert ("earlier_values" in row["flags"]) is noted

    def test_interpolated_allows_for_the_curvature(self) -> None:
        row, report = at(curves(400, 1), curves(150, 2), "step=1000", interpolate=True)
        assert row["p_value"] < 0.001
        assert row["difference"] < -0.01  # the chord of the coarser curve lies above it
        assert (row["verdict"], row["why"]) == ("undecided", "values are interpolated")
        assert row["worse_by_high"] > 0
        assert "curvature" in note(report, "interpolated")
        assert "whether B differs from A is undecided" in report.sentence
        assert "p < .001): values are interpolated." in report.sentence

    @pytest.mark.parametrize(("limit", "holds"), [(3.38, False), (3.41, False), (3.50, True)])
    def test_interpolated_allows_for_the_curvature_in_a_claim(
        self, limit: float, holds: bool
    ) -> None:
        steep = curves(400, 1).with_columns(value=6.8 - pl.col("value"))  # bends to the worse
        report = api.claim(steep, quality=f"val_loss <= {limit}", at="step=1000", interpolate=True)
        row = report.rows[0]
        assert row["mean"] == pytest.approx(3.401, abs=0.005)  # the curve is at 3.422
        assert row["holds"] is holds
        assert (row["why"] == "values are interpolated") is (limit == 3.41)
        assert ("values are interpolated and may be worse by 0.0" in report.sentence) is (
            limit == 3.41
        )
        assert "interpolated" in row["flags"]
        assert "curvature" in note(report, "interpolated")

    def test_interpolated_claims_nothing_of_two_evaluations(self) -> None:
        runs = curves(400, 1, last=800)
        report = api.claim(runs, quality="val_loss <= 9", at="step=600", interpolate=True)
        assert (report.rows[0]["holds"], report.rows[0]["curvature"]) == (False, None)
        assert "not shown: values are interpolated" in str(report)

    def test_of_time_allows_for_values_that_are_older_on_one_side(self) -> None:
        row, report = at(curves(400, 1), curves(50, 2), "seconds=70")
        assert row["p_value"] < 0.001
        assert (row["verdict"], row["why"]) == ("undecided", "evaluation intervals differ")
        assert "A every 40.0 s, B every 5.00 s" in note(report, "grids_differ")

    @pytest.mark.parametrize("claim", [{"quality": "4.0"}, {"seconds": "<=50"}])
    def test_claims_nothing_at_a_step_that_was_not_evaluated(self, claim: dict[str, Any]) -> None:
        with pytest.raises(TtastatsError, match="last evaluated at 400 steps") as raised:
            api.claim(curves(400, 1), at="step=750", **claim)
        assert "at step 400 (--at step=400) and at step 800 (--at step=800)" in str(
            raised.value.remedy
        )
        report = api.claim(curves(150, 1), at="step=750", **claim)
        assert report.rows[0]["holds"] is ("quality" in claim)


class TestTheBestOfEvaluations:
    def test_of_unequal_numbers_is_no_verdict(self) -> None:
        sides = (curves(750, 1, flat=True), curves(75, 2, flat=True))
        report = api.compare(*sides, at_end=True, best=True)
        row = report.rows[0]
        assert (row["verdict"], row["why"]) == (
            "unavailable", "best of unequal numbers of evaluations"
        )  # fmt: skip
        assert "best of 4 evaluations of A and of 40 of B" in note(report, "looks_differ")
        assert api.compare(*sides, at_end=True).rows[0]["verdict"] == "undecided"

    @pytest.mark.parametrize(("every", "differs"), [(65, False), (50, True)])
    def test_of_half_as_many_more_is_no_verdict_and_of_few_more_is_one(
        self, every: int, differs: bool
    ) -> None:
        sides = (curves(75, 1, flat=True), curves(every, 2, flat=True))
        (row,) = api.compare(*sides, at_end=True, best=True).rows
        assert ("looks_differ" in row["flags"]) is differs
        assert row["verdict"] == ("unavailable" if differs else "undecided")


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (0.1, 0.2, (-0.1, 0.2)),
        (-0.1, -0.2, (-0.2, 0.1)),
        (0.1, -0.2, (-0.3, 0.0)),
        (-0.1, 0.2, (0.0, 0.3)),
        (0.0, -0.2, (-0.2, 0.0)),
        (0.1, None, (-math.inf, math.inf)),
    ],
)
def test_what_is_allowed_for_is_what_each_side_may_have_moved(
    a: float, b: float | None, expected: tuple[float, float]
) -> None:
    sides = [
        pl.DataFrame({"bend_before": [9.0, 9.0], "bend_after": [move, move]},
                     schema={"bend_before": pl.Float64, "bend_after": pl.Float64})
        for move in (a, b)
    ]  # fmt: skip
    if b is None:
        sides[1] = sides[1].with_columns(bend_before=None)
    budget = Budget("step", 100.0, interpolate=True)
    assert checks.slack(*sides, budget) == pytest.approx(expected)


class TestTwoSpeeds:
    """Runs of one entry that two machines made have no common mean."""

    def machines(self, *paces: float) -> pl.DataFrame:
        return pl.concat(
            [
                evaluated(1, 10 + number, runs=1, second=pace)
                for number, pace in enumerate(paces)
            ]
        ).with_columns(entry=pl.lit("ours"))  # fmt: skip

    def test_of_an_entry_are_in_its_row_and_a_note(self) -> None:
        report = api.summary(self.machines(1.0, 1.01, 1.0, 0.99, 1.0, 7.7, 7.8))
        assert report.rows[0]["flags"] == ["mixed_speeds"]
        said = note(report, "mixed_speeds")
        assert "5 runs of about 999 ms and 2 of about 7.75 s per epoch" in said
        assert said.startswith("ours: ")
