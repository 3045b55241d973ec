"""What the way to a target is counted in: time, epochs, steps, samples, money, energy."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import ttastats as tta
from ttastats import api
from ttastats.base import units
from ttastats.base.errors import TtastatsError
from ttastats.outcomes import axis, time_to_target
from ttastats.report.render import as_markdown

#: Losses at steps 500, 1000, ...: with a target of 3.0 the runs reach it at 1,500 and so on.
_A = ((3.5, 3.2, 2.9, 2.8), (3.6, 3.1, 3.05, 2.9), (3.4, 3.1, 2.95, 2.9), (3.5, 3.2, 2.9, 2.9))
_B = ((3.2, 2.9, 2.8, 2.7), (3.1, 2.95, 2.9, 2.8), (3.2, 2.9, 2.9, 2.8), (3.2, 2.9, 2.8, 2.8))


def losses(runs: Sequence[Sequence[float]], **columns: Any) -> pl.DataFrame:
    """Return a table of runs that tell no time."""
    return tta.from_frame(
        pl.DataFrame(
            [
                {"seed": seed, "step": 500 * (place + 1), "loss": loss}
                for seed, values in enumerate(runs)
                for place, loss in enumerate(values)
            ]
        ),
        run="seed",
        metric="loss",
        step="step",
        benchmark="lm",
        target=3.0,
        higher_is_better=False,
        **columns,
    )


def timed(seconds: Sequence[float], **columns: Any) -> pl.DataFrame:
    """Return a table of runs that reach their target after so many seconds and 3 epochs."""
    return tta.from_frame(
        pl.DataFrame(
            [
                {"seed": seed, "at": time * part / 3, "epoch": part, "score": part / 3}
                for seed, time in enumerate(seconds)
                for part in (1, 2, 3)
            ]
        ),
        run="seed",
        metric="score",
        seconds="at",
        epoch="epoch",
        benchmark="digits",
        target=1.0,
        **columns,
    )


def notes(report: tta.Report) -> dict[str, str]:
    return {note.code: note.text for note in report.notes}


def shown(report: tta.Report) -> str:
    return as_markdown.render_markdown(report)


class TestRunsWithoutTime:
    def test_the_first_evaluation_that_meets_the_target_counts(self) -> None:
        runs = time_to_target.runs(losses(_A)).sort("source")
        assert runs["reached"].to_list() == [True] * 4
        assert runs["steps"].to_list() == [1500, 2000, 1500, 1500]
        assert runs["evaluations_to_target"].to_list() == [3, 4, 3, 3]
        assert runs["tta_seconds"].to_list() == [None] * 4
        assert runs["evaluation_interval_steps"].to_list() == [500] * 4

    def test_weights_that_took_no_training_meet_no_target(self) -> None:
        rows = losses(((2.9, 3.1, 2.8),)).with_columns(step=pl.col("step") - 500)
        assert time_to_target.runs(rows)["steps"].to_list() == [1000]

    def test_answers_are_in_the_best_unit_that_all_sides_have_and_say_so(self) -> None:
        report = tta.compare(losses(_A), losses(_B))
        (row,) = report.rows
        assert (row["axis"], row["tta_a_seconds"], row["tta_b_seconds"]) == ("steps", 1625, 1000)
        assert row["speedup"] == pytest.approx(1.625)
        assert row["throughput_speedup"] is None
        assert "steps to target (--in steps)" in notes(report)["axis"]
        assert report.sentence.startswith("B needs 1.62× fewer steps than A on lm")
        assert "time" not in report.sentence
        assert "1,625 steps ±15.4%" in shown(report)
        assert "steps A/B" in shown(report)
        assert "speedup" not in shown(report).partition("Holm")[0]

    def test_epochs_come_before_steps(self) -> None:
        with_epochs = losses(_A).with_columns(epoch=pl.col("step") / 1000)
        assert tta.summary(with_epochs).rows[0]["axis"] == "epochs"
        assert tta.compare(with_epochs, losses(_B)).rows[0]["axis"] == "steps"

    def test_evaluations_are_counted_where_nothing_else_is_told(self) -> None:
        bare = losses(_A).with_columns(step=pl.lit(None, pl.Int64))
        (row,) = tta.summary(bare).rows
        assert (row["axis"], row["tta_mean_seconds"]) == ("evaluations", 3.25)

    def test_a_run_that_failed_is_censored_where_it_ended(self) -> None:
        report = tta.summary(losses((*_A, (3.5, 3.4, 3.3, 3.2))))
        (row,) = report.rows
        assert (row["reached"], row["n"]) == (4, 5)
        assert row["ert_seconds"] == pytest.approx((1500 * 3 + 2000 + 2000) / 4)
        assert "expected steps (ERT)" in notes(report)["failed_runs"]

    def test_rows_without_a_number_are_in_their_order(self) -> None:
        frame = pl.DataFrame({"run": ["a"] * 3, "loss": [3.5, 3.2, 2.9]})
        made = tta.from_frame(frame, run="run", metric="loss", target=3.0, higher_is_better=False)
        assert made["eval_index"].to_list() == [0, 1, 2]
        assert made["run_seconds"].to_list() == [None] * 3
        assert time_to_target.runs(made)["evaluations_to_target"].to_list() == [3]

    def test_constant_steps_carry_the_mark_of_constant_epochs(self) -> None:
        same = [_B[0]] * 5
        (row,) = tta.compare(losses([_A[0]] * 5), losses(same)).rows
        # One evaluation more or less in every run: 1,000 of 1,500 and 500 of 1,000 steps.
        assert (row["verdict"], row["conditions"]) == ("faster", [])
        assert "constant_epochs" in row["flags"]
        assert row["epoch_safe_low"] < row["speedup_low"] == row["speedup_high"] == 1.5

    def test_variance_has_nothing_to_share_out(self) -> None:
        report = tta.variance(losses(_A))
        (row,) = report.rows
        assert (row["axis"], row["tta_mean_seconds"], row["share_epochs"]) == ("steps", 1625, None)
        assert "do not depend on the time per epoch" in notes(report)["no_throughput"]

    def test_targets_and_power_count_steps(self) -> None:
        report = tta.targets(losses(_A), losses(_B))
        official = next(row for row in report.rows if row["official"])
        assert (official["axis"], official["ert_a_seconds"]) == ("steps", 1625)
        assert "expected steps" in shown(report)
        assert "mean steps" in notes(tta.power(losses(_A)))["method"]

    def test_plots_name_the_unit(self) -> None:
        titles = {one.kind: one.title for one in api.plots(losses(_A), losses(_B))}
        assert titles["tta"] == "Steps to target: lm"
        assert titles["quality-time"] == "Loss over steps: lm"
        assert titles["solved"] == "Fraction of runs at the target over steps: lm"
        assert "time" not in json.dumps([one.chart for one in tta.plot("tta", losses(_A))]).replace(
            "timeunit", ""
        )

    def test_the_page_names_the_unit(self, tmp_path: Path) -> None:
        page = tta.html_report(losses(_A), losses(_B), output=tmp_path / "page.html")
        assert "needs 1.62× fewer steps" in page.html
        assert "faster than" not in page.html.partition("<script")[0]


class TestAnAxisAskedFor:
    def test_epochs_are_those_of_the_table_of_runs(self) -> None:
        runs = time_to_target.runs(timed((30.0, 33.0, 36.0)))
        placed = axis.on(runs, axis.AXES["epochs"])
        assert placed["tta_seconds"].to_list() == runs["epochs"].to_list() == [3.0, 3.0, 3.0]
        assert placed["reached"].equals(runs["reached"])

    def test_seconds_change_nothing(self) -> None:
        runs = time_to_target.runs(timed((30.0, 33.0, 36.0)))
        placed = axis.on(runs, axis.SECONDS)
        assert placed.drop("axis").equals(runs)

    def test_cost_is_time_at_a_price(self) -> None:
        rows = timed((3600.0, 7200.0))
        (row,) = tta.summary(rows, unit="cost", price=10).rows
        assert (row["tta_mean_seconds"], row["axis"]) == (15.0, "cost")
        priced = timed((3600.0, 7200.0), cost_per_hour=2.5, accelerators=8)
        assert tta.summary(priced, unit="cost").rows[0]["tta_mean_seconds"] == 3.75
        by_column = tta.summary(priced, unit="cost", price="accelerators")
        assert by_column.rows[0]["tta_mean_seconds"] == 12.0
        assert "$12.00" in shown(by_column)

    @pytest.mark.parametrize("slip", [0.0, -3.0, 1e-9, 1e300, float("nan")])
    def test_a_price_that_is_none_is_unknown(self, slip: float) -> None:
        reached, failed = (
            time_to_target.runs(timed((3600.0, 7200.0), cost_per_hour=2.5)).with_columns(
                axis.priced(pl.DataFrame(), 2.5), reached=pl.lit(value)
            )
            for value in (True, False)
        )
        for runs in (reached, failed):
            first = pl.when(pl.int_range(pl.len()) == 0)
            odd = runs.with_columns(first.then(slip).otherwise(axis.PRICE).alias(axis.PRICE))
            placed = axis.on(odd, axis.AXES["cost"])
            assert placed["observed_seconds"].to_list() == [None, 5.0]

    def test_what_costs_less_is_said_so(self) -> None:
        a = timed((3600.0, 3700.0, 3650.0), cost_per_hour=4.0)
        b = timed((3500.0, 3600.0, 3550.0), cost_per_hour=2.0)
        report = tta.compare(a, b, unit="cost")
        assert report.sentence.startswith("B costs 2.06× less than A on digits")
        assert report.rows[0]["throughput_speedup"] == pytest.approx(2.0563, abs=1e-3)

    def test_a_saving_below_a_tenth_is_a_share(self) -> None:
        a = timed((3600.0, 3601.0, 3602.0), cost_per_hour=1.0)
        b = timed((3400.0, 3401.0, 3402.0), cost_per_hour=1.0)
        assert "costs 5.6% less" in tta.compare(a, b, unit="cost").sentence
        assert "costs 5.9% more" in tta.compare(b, a, unit="cost").sentence

    @pytest.mark.parametrize(
        ("name", "extra"),
        [
            ("energy", '{"energy_joules": 3600000.0}'),
            ("cpu-seconds", '{"run_totals": {"cpu_seconds": 1, "cpu_seconds_all_workers": 3.6e6}}'),
        ],
    )
    def test_totals_of_runs_are_known_where_the_run_ended_at_its_target(
        self, name: str, extra: str
    ) -> None:
        rows = timed((30.0, 33.0)).with_columns(extra=pl.lit(extra))
        (row,) = tta.summary(rows, unit=name).rows
        assert (row["reached"], row["tta_mean_seconds"]) == (2, 3.6e6)
        with pytest.raises(TtastatsError, match=r"known (only )?for whole runs"):
            tta.summary(rows, unit=name, target=["score=0.5"])
        with pytest.raises(TtastatsError, match=r"known (only )?for whole runs"):
            tta.targets(rows, unit=name)

    def test_a_total_that_no_run_takes_is_unknown(self) -> None:
        rows = timed((30.0, 33.0)).with_columns(extra=pl.lit('{"energy_joules": 1e300}'))
        with pytest.raises(TtastatsError, match="no run logs its energy"):
            tta.summary(rows, unit="energy")

    def test_runs_that_reached_nobody_knows_where_are_left_out_and_counted(self) -> None:
        rows = timed((30.0, 33.0, 36.0))
        first = rows["source"].unique().sort()[0]
        epoch = pl.when(pl.col("source") != first).then("epoch")
        report = tta.summary(rows.with_columns(epoch=epoch), unit="epochs")
        assert report.rows[0]["n"] == 2
        assert notes(report)["no_position"] == (
            "1 run reached the target but did not log its epochs to target: excluded."
        )

    def test_what_no_run_tells_is_refused_with_what_there_is(self) -> None:
        with pytest.raises(TtastatsError, match="no run logs its steps to target") as caught:
            tta.summary(timed((30.0, 33.0)), unit="steps")
        assert caught.value.remedy == "Available: seconds, epochs, evaluations."
        with pytest.raises(TtastatsError, match="no run of B logs its steps"):
            tta.compare(losses(_A), timed((30.0, 33.0)), unit="steps")

    @pytest.mark.parametrize(
        ("asked", "message"),
        [
            ({"unit": "furlongs"}, "unknown unit"),
            ({"price": 3}, "needs --in cost"),
            ({"unit": "cost", "price": -1}, "invalid price per hour"),
            ({"unit": "cost", "price": "nan"}, "invalid price per hour"),
            ({"unit": "cost", "price": "system"}, "is not numeric"),
            ({"unit": "cost", "price": "prise"}, "unknown column"),
            ({"unit": "cost"}, "no run logs its cost"),
        ],
    )
    def test_what_makes_no_sense_is_refused(self, asked: dict[str, Any], message: str) -> None:
        with pytest.raises(TtastatsError, match=message):
            tta.summary(timed((30.0, 33.0)), **asked)

    def test_sides_judged_at_a_common_target_stay_on_their_axis(self) -> None:
        stricter = losses(_B).with_columns(target_value=pl.lit(2.9))
        (row,) = tta.compare(losses(_A), stricter).rows
        assert (row["axis"], row["target_value"]) == ("steps", 2.9)
        assert (row["tta_a_seconds"], row["tta_b_seconds"]) == (1750.0, 1125.0)
        laxer = timed((60.0, 63.0, 66.0)).with_columns(target_value=pl.lit(0.6))
        (row,) = tta.compare(timed((30.0, 33.0, 36.0)), laxer, unit="epochs").rows
        assert (row["axis"], row["tta_a_seconds"], row["tta_b_seconds"]) == ("epochs", 3.0, 3.0)

    def test_a_common_target_is_none_that_a_run_reached_nobody_knows_when(self) -> None:
        official: dict[str, Any] = {"suite": "mlperf", "run_status": "success"}
        first = pl.col("source").str.ends_with("0")
        # The length of the run is its time to the official target, and tells of no other.
        untold = timed((30.0, 33.0, 36.0), **official).with_columns(
            seconds=pl.when(~first).then("seconds")
        )
        laxer = timed((60.0, 63.0, 66.0), **official).with_columns(target_value=pl.lit(0.6))
        report = tta.compare(untold, laxer.filter(pl.col("eval_index") < 2))
        assert report.rows[0]["verdict"] == "unavailable"
        assert "the evaluations do not allow a common target" in str(notes(report))

    def test_a_gate_speaks_of_what_is_counted(self) -> None:
        report = tta.compare(losses(_B), losses(_A), fail_on="slower:2%")
        assert report.gate is not None
        assert not report.gate.passed
        assert "more steps" in report.gate.failures[0].text
        assert "slower" not in report.gate.failures[0].text


@pytest.mark.parametrize(
    ("number", "unit", "text"),
    [
        (4200, "steps", "4,200 steps"),
        (1, "epochs", "1 epoch"),
        (2.5, "epochs", "2.50 epochs"),
        (3.9e9, "samples", "3900M samples"),
        (12.5, "dollars", "$12.50"),
        (0.0123, "dollars", "$0.012"),
        (1.31e7, "joules", "13.1 MJ"),
        (12, "joules", "12.0 J"),
        (4440, "seconds", "74.0 min"),
    ],
)
def test_amounts_are_written_with_their_unit(number: float, unit: Any, text: str) -> None:
    assert units.amount(number, unit) == text
