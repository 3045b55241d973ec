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
from ttastats.outcomes import time_to_target
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
    def test_rows_without_a_number_are_in_their_order(self) -> None:
        frame = pl.DataFrame({"run": ["a"] * 3, "loss": [3.5, 3.2, 2.9]})
        made = tta.from_frame(frame, run="run", metric="loss", target=3.0, higher_is_better=False)
        assert made["eval_index"].to_list() == [0, 1, 2]
        assert made["run_seconds"].to_list() == [None] * 3
        assert time_to_target.runs(made)["evaluations_to_target"].to_list() == [3]

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
    def test_cost_is_time_at_a_price(self) -> None:
        rows = timed((3600.0, 7200.0))
        (row,) = tta.summary(rows, unit="cost", price=10).rows
        assert (row["tta_mean_seconds"], row["axis"]) == (15.0, "cost")
        priced = timed((3600.0, 7200.0), cost_per_hour=2.5, accelerators=8)
        assert tta.summary(priced, unit="cost").rows[0]["tta_mean_seconds"] == 3.75
        by_column = tta.summary(priced, unit="cost", price="accelerators")
        assert by_column.rows[0]["tta_mean_seconds"] == 12.0
        assert "$12.00" in shown(by_column)

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
