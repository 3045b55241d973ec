"""The quality of each run at a budget, and who has none."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.made_curves import curve, evaluation, frame, of
from tests.wild_tables import nanogpt
from ttastats.base.errors import TtastatsError
from ttastats.base.records import Run
from ttastats.outcomes import at_budget, time_to_target
from ttastats.outcomes.budget import END, Budget, Lengths, lengths, parse
from ttastats.outcomes.target import parse_all


def found(budget: Budget, *runs: Run, **asked: Any) -> list[dict[str, Any]]:
    return at_budget.runs(frame(*runs), budget, **asked).sort("source").to_dicts()


def qualities(budget: Budget, *runs: Run, **asked: Any) -> list[float | None]:
    return [run["quality"] for run in found(budget, *runs, **asked)]


def step(amount: float, **more: Any) -> Budget:
    return Budget("step", amount, **more)


def test_the_value_is_that_of_the_last_evaluation_at_or_before_the_budget() -> None:
    run = curve(5.0, 4.0, 3.0)
    assert qualities(step(200), run) == [4.0]
    assert qualities(step(299), run) == [4.0]
    assert qualities(step(300), run) == [3.0]
    assert qualities(Budget("seconds", 25.0), run) == [4.0]
    assert qualities(Budget("epoch", 1.0), run) == [5.0]
    assert qualities(END, run) == [3.0]


def test_what_was_spent_is_that_of_the_same_evaluation() -> None:
    (run,) = found(step(250), curve(5.0, 4.0, 3.0, cost_per_hour=3600.0))
    assert (run["tta_seconds"], run["steps"], run["epochs"]) == (20.0, 200.0, 2.0)
    assert (run["cost"], run["evaluations_to_target"], run["quality_seen"]) == (20.0, 2, 2)
    assert run["reached"] is True


def test_at_the_end_a_run_has_taken_its_whole_length() -> None:
    (run,) = found(END, curve(5.0, 4.0, run_seconds=33.0))
    assert (run["tta_seconds"], run["quality"]) == (33.0, 4.0)


def test_the_best_so_far_only_on_request() -> None:
    losses, accuracies = curve(5.0, 3.0, 4.0), of(
        evaluation(0, 0.5, higher_is_better=True), evaluation(1, 0.7, higher_is_better=True),
        evaluation(2, 0.6, higher_is_better=True),
    )  # fmt: skip
    assert qualities(END, losses, accuracies) == [4.0, 0.6]
    assert qualities(Budget(best=True), losses, accuracies) == [3.0, 0.7]
    assert qualities(step(100, best=True), losses) == [5.0]


def test_the_line_between_two_evaluations_only_on_request() -> None:
    (run,) = found(step(250, interpolate=True), curve(5.0, 4.0, 3.0))
    assert run["quality"] == pytest.approx(3.5)
    assert (run["tta_seconds"], run["steps"], run["epochs"]) == pytest.approx((25.0, 250.0, 2.5))
    assert qualities(step(225, interpolate=True), curve(5.0, 4.0, 3.0)) == [3.75]
    assert qualities(step(200, interpolate=True), curve(5.0, 4.0, 3.0)) == [4.0]
    assert qualities(step(300, interpolate=True), curve(5.0, 4.0, 3.0)) == [3.0]


def test_runs_that_have_none_stay_in_the_table_and_say_why() -> None:
    stopped = of(evaluation(0, 5.0), run_seconds=90.0)
    runs = (
        curve(5.0, 4.0),
        curve(5.0),
        of(evaluation(2, 5.0)),
        curve(5.0, math.nan),
        of(),
        of(evaluation(0, 4.0, step=None)),
        stopped,
    )
    reasons = [
        None, "ended_before", "evaluated_later", "not_a_number", "never_evaluated", "no_place",
        "ended_before",
    ]  # fmt: skip
    rows = found(step(200), *runs)
    assert [run["short"] for run in rows] == reasons
    assert [run["quality"] for run in rows] == [4.0] + [None] * 6
    assert [run["reached"] for run in rows] == [True] + [False] * 6
    assert {reason for reason in reasons if reason} < set(at_budget.SHORT)


def test_a_run_got_as_far_as_anything_it_logged() -> None:
    """The last evaluation counts although the budget lies behind it, if the run went on."""
    evaluated_first = of(evaluation(0, 5.0), run_seconds=90.0)
    other = of(evaluation(0, 5.0), evaluation(4, 0.1, metric="other"))
    assert qualities(Budget("seconds", 60.0), evaluated_first) == [5.0]
    assert qualities(step(400), other, metric="val_loss") == [5.0]
    (run,) = found(step(400, interpolate=True), other, metric="val_loss")
    assert (run["quality"], run["short"]) == (None, "evaluated_before")


def test_the_step_in_which_a_quality_was_logged() -> None:
    def step(*values: float) -> float:
        (run,) = found(END, curve(*values))
        return float(run["quality_step"])

    assert step(3.2821, 3.28, 4.5) == pytest.approx(1e-4)
    assert step(4.0, 5.0) == 1.0
    shares = [1700 / 1797, 1711 / 1797, 1712 / 1797]
    assert step(*shares) == pytest.approx(1 / 1797)


def test_diverged_after_its_best_is_still_its_best() -> None:
    assert qualities(Budget(best=True), curve(5.0, 4.0, math.nan)) == [4.0]
    assert qualities(END, curve(5.0, 4.0, math.inf)) == [None]


def test_a_log_without_time_is_taken_in_its_order() -> None:
    run = of(evaluation(0, 5.0, seconds=None), evaluation(1, 4.0, seconds=None))
    (judged,) = found(END, run)
    assert (judged["quality"], judged["tta_seconds"], judged["short"]) == (4.0, None, None)


def test_the_metric_with_a_target_speaks() -> None:
    run = of(evaluation(0, 4.0), evaluation(0, 0.9, metric="accuracy", higher_is_better=True))
    with pytest.raises(TtastatsError, match="several metrics") as error:
        found(END, run)
    assert "--metric accuracy" in (error.value.remedy or "")
    assert qualities(END, run, metric="accuracy") == [0.9]
    (one,) = found(END, run, targets=parse_all(["val_loss<=3.28"]))
    assert (one["quality"], one["target_value"], one["target_metric"]) == (4.0, 3.28, "val_loss")


def test_each_entry_has_the_metric_it_logs() -> None:
    losses = curve(5.0, 4.0, entry="losses")
    accuracies = of(evaluation(0, 0.9, metric="acc", higher_is_better=True), entry="accuracies")
    assert qualities(END, losses, accuracies) == [4.0, 0.9]
    asked = found(END, losses, accuracies, targets=parse_all(["val_loss<=3.28"]))
    assert [run["quality"] for run in asked] == [4.0, None]
    assert [run["set_aside"] for run in asked] == [None, "other_metric"]
    aimed = of(
        evaluation(0, 4.5, target_value=3.0), evaluation(0, 0.8, metric="acc"), entry="third"
    )
    assert qualities(END, aimed, losses, accuracies) == [4.5, 4.0, 0.9]


def test_a_metric_nobody_logs_is_refused_with_the_nearest() -> None:
    with pytest.raises(TtastatsError, match="no benchmark logs") as error:
        found(END, curve(5.0), metric="val_los")
    assert "Nearest: val_loss" in (error.value.remedy or "")


def test_the_table_has_the_columns_of_judged_runs() -> None:
    rows = frame(curve(5.0, 4.0))
    here, there = at_budget.runs(rows, END), time_to_target.runs(rows)
    assert set(there.columns) <= set(here.columns)


# -------------------------------------------------------------------------------------- the options


def test_budgets_are_read() -> None:
    assert parse() is None
    assert parse(at_end=True) == END
    assert parse("step=3325") == parse("steps = 3325") == step(3325.0)
    assert parse("samples=1e6", best=True) == Budget("samples", 1e6, best=True)
    assert parse("epoch=2.5", interpolate=True) == Budget("epoch", 2.5, interpolate=True)


@pytest.mark.parametrize(
    ("asked", "what"),
    [
        ({"at": "3325"}, "not a budget"),
        ({"at": "step=-1"}, "not a budget"),
        ({"at": "hours=2"}, "not a budget"),
        ({"at": "step=50%"}, "not a budget"),
        ({"at": "step=nan"}, "not a budget"),
        ({"at": "step=1", "at_end": True}, "two budgets"),
        ({"best": True}, "no budget given"),
        ({"at_end": True, "interpolate": True}, "cannot interpolate"),
        ({"at": "step=1", "best": True, "interpolate": True}, "cannot interpolate"),
    ],
)
def test_what_is_no_budget_is_refused(asked: dict[str, Any], what: str) -> None:
    with pytest.raises(TtastatsError, match=what) as error:
        parse(**asked)
    assert error.value.remedy


@pytest.mark.parametrize(
    ("budget", "text", "option"),
    [
        (END, "at the end", "--at-end"),
        (step(3325), "at step 3325", "--at step=3325"),
        (Budget("seconds", 600.0), "after 600 s", "--at seconds=600"),
        (Budget("samples", 1e6), "after 1,000,000 samples", "--at samples=1000000"),
        (Budget("epoch", 10.0, best=True), "at epoch 10, best so far", "--at epoch=10"),
        (step(7, interpolate=True), "at step 7, interpolated", "--at step=7"),
    ],
)
def test_budgets_are_said(budget: Budget, text: str, option: str) -> None:
    assert (str(budget), budget.option) == (text, option)


# -------------------------------------------------------------------------------------- the lengths


def length(*runs: Run) -> Lengths:
    return lengths(at_budget.runs(frame(*runs), END))


def test_runs_of_as_many_steps_have_one_length() -> None:
    one = length(curve(5.0, 4.0), curve(5.0, 4.0, run_seconds=40.0))
    assert (one.one, one.unit, one.most) == (True, "step", 200.0)


def test_runs_stopped_by_the_clock_have_one_length_in_seconds() -> None:
    clocked = [
        of(evaluation(0, 4.0, step=steps), run_seconds=seconds)
        for steps, seconds in ((4557, 588.1), (4550, 588.3))
    ]
    one = length(*clocked)
    assert (one.one, one.unit) == (True, "seconds")


def test_a_unit_that_one_run_does_not_tell_is_no_length() -> None:
    stepless = of(evaluation(0, 4.0, step=None), evaluation(1, 4.0, step=None))
    assert length(curve(5.0, 4.0), stepless).unit == "epoch"


def test_of_other_runs_the_largest_budget_that_all_reach_is_known() -> None:
    mixed = length(curve(5.0, 4.0, 3.0), curve(5.0, 4.0, 3.0), curve(5.0, 4.0))
    assert (mixed.one, mixed.n, mixed.n_longest) == (False, 3, 2)
    assert mixed.budget == step(200.0)
    assert (mixed.said(mixed.least), mixed.said(mixed.most)) == ("200 steps", "300 steps")


def test_runs_that_tell_neither_are_as_long_as_their_evaluations() -> None:
    bare = {"seconds": None, "step": None, "epoch": None}
    one = of(evaluation(0, 4.0, **bare))
    two = of(evaluation(0, 4.0, **bare), evaluation(1, 4.0, **bare))
    assert length(one, one).one
    assert not length(one, two).one
    assert length(one, two).budget is None


@pytest.mark.real
def test_records_of_the_nanogpt_speedrun(wild: Path, tmp_path: Path) -> None:
    a, b = (at_budget.runs(pl.scan_parquet(one), END) for one in nanogpt(wild, tmp_path))
    assert a["quality"].mean() == pytest.approx(3.2782461538)
    assert b["quality"].mean() == pytest.approx(3.2783692308)
    assert b["quality"].std() == pytest.approx(0.001415618)
    assert b["tta_seconds"].mean() == pytest.approx(79.684923, abs=1e-6)
    assert lengths(pl.concat([a, b])).one
