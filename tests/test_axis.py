"""The units of the way to a target: time, epochs, steps, samples, money, energy."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import polars as pl
import pytest

import ttastats as tta
from tests.accepted import Case
from tests.questions import Questions, accepted_answers
from ttastats import api
from ttastats.base import units

#: Losses at steps 500, 1000, ...: with a target of 3.0 the runs reach it at 1,500 and so on.
_A = ((3.5, 3.2, 2.9, 2.8), (3.6, 3.1, 3.05, 2.9), (3.4, 3.1, 2.95, 2.9), (3.5, 3.2, 2.9, 2.9))
_B = ((3.2, 2.9, 2.8, 2.7), (3.1, 2.95, 2.9, 2.8), (3.2, 2.9, 2.9, 2.8), (3.2, 2.9, 2.8, 2.8))


def losses(runs: Sequence[Sequence[float]], **columns: Any) -> pl.DataFrame:
    """Return a table of runs without times."""
    rows = [
        {"seed": seed, "step": 500 * (place + 1), "loss": loss}
        for seed, values in enumerate(runs)
        for place, loss in enumerate(values)
    ]
    about: dict[str, Any] = {"benchmark": "lm", "target": 3.0, "higher_is_better": False}
    return tta.from_frame(
        pl.DataFrame(rows), run="seed", metric="loss", step="step", **about, **columns
    )


def timed(seconds: Sequence[float], **columns: Any) -> pl.DataFrame:
    """Return a table of runs that reach their target after so many seconds and 3 epochs."""
    rows = [
        {"seed": seed, "at": time * part / 3, "epoch": part, "score": part / 3}
        for seed, time in enumerate(seconds)
        for part in (1, 2, 3)
    ]
    about: dict[str, Any] = {"seconds": "at", "epoch": "epoch", "benchmark": "digits"}
    return tta.from_frame(
        pl.DataFrame(rows), run="seed", metric="score", target=1.0, **about, **columns
    )


def priced() -> pl.DataFrame:
    return timed((3600.0, 7200.0), cost_per_hour=2.5, accelerators=8)


def totals(extra: str) -> pl.DataFrame:
    return timed((30.0, 33.0)).with_columns(extra=pl.lit(extra))


def aiming(table: pl.DataFrame, target: float) -> pl.DataFrame:
    return table.with_columns(target_value=pl.lit(target))


def untold() -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return runs, one of which reached a common target at an unknown time, and other runs.

    The length of a run is its time to the official target, and tells of no other.
    """
    official: dict[str, Any] = {"suite": "mlperf", "run_status": "success"}
    first = pl.col("source").str.ends_with("0")
    first_three = timed((30.0, 33.0, 36.0), **official).with_columns(
        seconds=pl.when(~first).then("seconds")
    )
    laxer = aiming(timed((60.0, 63.0, 66.0), **official), 0.6)
    timeless = first_three.with_columns(seconds=pl.when(~first).then("seconds"))
    return timeless, laxer.filter(pl.col("eval_index") < 2)


def without_numbers() -> pl.DataFrame:
    frame = pl.DataFrame({"run": ["a"] * 3, "loss": [3.5, 3.2, 2.9]})
    return tta.from_frame(frame, run="run", metric="loss", target=3.0, higher_is_better=False)


def time_of(**more: Any) -> Callable[[], tta.Report]:
    return lambda: tta.summary(timed((30.0, 33.0)), **more)


TOTALS = {
    "energy": '{"energy_joules": 3600000.0}',
    "cpu-seconds": '{"run_totals": {"cpu_seconds": 1, "cpu_seconds_all_workers": 3.6e6}}',
}
QUESTIONS: Questions = {
    "rows without a number are in their order": lambda: tta.runs(without_numbers()),
    "cost is time at a price": lambda: tta.summary(timed((3600.0, 7200.0)), unit="cost", price=10),
    "which may be logged": lambda: tta.summary(priced(), unit="cost"),
    "or stand in a column": lambda: tta.summary(priced(), unit="cost", price="accelerators"),
    **{
        f"{name} {what}": partial(tta.summary, totals(extra), unit=name, target=target)
        for what, target in (
            ("of runs that ended at their target", ()),
            ("to another target", ("score=0.5",)),
        )
        for name, extra in TOTALS.items()
    },
    "energy to several targets": lambda: tta.targets(totals(TOTALS["energy"]), unit="energy"),
    "no unit": time_of(unit="furlongs"),
    "a price of no cost": time_of(price=3),
    "a negative price": time_of(unit="cost", price=-1),
    "a price that is no number": time_of(unit="cost", price="nan"),
    "a column without numbers": time_of(unit="cost", price="system"),
    "no column": time_of(unit="cost", price="prise"),
    "no cost": time_of(unit="cost"),
    "a common target in steps": lambda: tta.compare(losses(_A), aiming(losses(_B), 2.9)),
    "a common target in epochs": lambda: tta.compare(
        timed((30.0, 33.0, 36.0)), aiming(timed((60.0, 63.0, 66.0)), 0.6), unit="epochs"
    ),
    "no common target": lambda: tta.compare(*untold()),
}


@accepted_answers("axis", QUESTIONS)
@pytest.mark.usefixtures("in_codes")
def test_answers_on_an_axis_are_as_accepted(case: Case) -> None:
    assert case.is_as_accepted()


def test_plots_name_the_unit() -> None:
    titles = {plot.kind: plot.title for plot in api.plots(losses(_A), losses(_B))}
    assert titles["tta"] == "Steps to target: lm"
    assert titles["quality-time"] == "Loss over steps: lm"
    assert titles["solved"] == "Fraction of runs at the target over steps: lm"
    chart = json.dumps([plot.chart for plot in tta.plot("tta", losses(_A))])
    assert "time" not in chart.replace("timeunit", "")


def test_the_page_names_the_unit() -> None:
    page = tta.html_report(losses(_A), losses(_B))
    assert "needs 38.5% fewer steps" in page.html
    assert "faster than" not in page.html.partition("<script")[0]


def test_amounts_are_written_with_their_unit() -> None:
    amounts: dict[str, tuple[float, Any]] = {
        "4,200 steps": (4200, "steps"),
        "1 epoch": (1, "epochs"),
        "2.50 epochs": (2.5, "epochs"),
        "3900M samples": (3.9e9, "samples"),
        "$12.50": (12.5, "dollars"),
        "12.0 J": (12, "joules"),
        "$0.012": (0.0123, "dollars"),
        "13.1 MJ": (1.31e7, "joules"),
        "74.0 min": (4440, "seconds"),
    }
    assert [units.amount(*amount) for amount in amounts.values()] == [*amounts]
