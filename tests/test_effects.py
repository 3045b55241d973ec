"""Effects of settings as a user meets them: which runs, which settings, and what is refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.accepted import Case
from tests.plotting import made
from tests.questions import Questions, accepted_answers
from tests.stats import test_effects as cases
from tests.test_cli import run
from tests.test_compare import side
from ttastats import api
from ttastats.base.errors import TtastatsError
from ttastats.report.answer import Report
from ttastats.table import store

START = datetime(2026, 11, 1, 8, tzinfo=UTC)


def trained(seconds: float, epochs: float | None, number: int, **settings: Any) -> pl.DataFrame:
    """Return a run that recorded its settings, started `number` hours after the first."""
    more: dict[str, Any] = {"started_at": START + timedelta(hours=number)}
    return side([(seconds, epochs)], extra=settings, **more).with_columns(
        run_id=pl.lit(f"run {number}"), source=pl.lit(f"{number}.log")
    )


def table(rows: list[dict[str, Any]]) -> pl.DataFrame:
    return pl.concat([trained(number=number, **row) for number, row in enumerate(rows)])


def of_a(**more: Any) -> list[dict[str, Any]]:
    """Return the runs of the first case: a throughput knob and an epochs knob."""
    return [
        {"seconds": row["tta"], "epochs": row["epochs"], "batch": row["batch"], "lr": row["lr"]}
        | more
        for row in cases.A.iter_rows(named=True)
    ]


def effects_of(runs: list[dict[str, Any]], *on: str, **more: Any) -> Callable[[], Report]:
    return lambda: api.effects(table(runs), on=on or ("batch", "lr"), **more)


def of_bert() -> pl.DataFrame:
    """Return the runs of the first case as those of a benchmark that counts samples."""
    return table(of_a()).with_columns(
        benchmark=pl.lit("bert"),
        epochs=pl.lit(None, pl.Float64),
        samples=pl.col("epochs").cast(pl.Int64) * 10,
        run_id=pl.format("bert {}", "run_id"),
        content_digest=pl.lit(None, pl.String),
    )


def in_days(*, nested: bool, days: int = 4, **more: Any) -> Callable[[], Report]:
    """Return the question of a precision that varies in each day, or is constant in each."""
    tables = []
    for number in range(6 * days):
        day, place = divmod(number, 6)
        level = day % 2 if nested else place % 2
        slow = (1.0, 1.3, 0.8, 1.1)[day % 4]
        seconds = 100 * slow * (1 - 0.1 * level) * (1 + 0.004 * (place // 2))
        run = trained(seconds, 5 + place % 2, number, precision=("fp32", "bf16")[level])
        when = START + timedelta(days=day, hours=place)
        tables.append(run.with_columns(started_at=pl.lit(when)))
    return lambda: api.effects(pl.concat(tables), on=["precision"], **more)


HOSTS = [
    {"seconds": 100 * 1.6**k * (1 + 0.004 * n), "epochs": 5, "host": f"host {k}"}
    for k in range(7)
    for n in range(3)
]
SIZES = [
    {"seconds": 100 * 1.2**k * (1 + 0.004 * n), "epochs": 5 + n % 2, "batch": 32 * 2**k}
    for k in range(3)
    for n in range(4)
]
BENT = [run | {"seconds": run["seconds"] * (3 if run["batch"] == 64 else 1)} for run in SIZES]
WIDTHS = [run | {"width": 2 * run["batch"]} for run in of_a()]
FAILED = [
    run | ({"epochs": None} if run["lr"] == 0.3 and n % 6 in (3, 4) else {})
    for n, run in enumerate(of_a())
]
ONE_SUCCESS = of_a() + [
    {"seconds": 70.0, "epochs": epochs, "batch": 128, "lr": 0.1} for epochs in (8, None)
]
PRECISIONS = [
    {"seconds": 100.0 + n, "epochs": 5, "precision": ("fp32", "bf16")[n % 2]} for n in range(8)
]
QUESTIONS: Questions = {
    "each setting is found in the part that it changes": effects_of(of_a()),
    "of many effects the sentence tells four": effects_of(HOSTS, "host"),
    "and counts the one that is left": effects_of(HOSTS[:18], "host"),
    "progress of several units stands in one table": lambda: api.effects(
        pl.concat([table(of_a()), of_bert()]), on=["batch", "lr"]
    ),
    "a number of three values acts by doublings": effects_of(SIZES, "batch"),
    "its values may be levels": effects_of(SIZES, "batch", levels="batch"),
    "what bends is noted": effects_of(BENT, "batch"),
    "settings that were changed together are one": effects_of(WIDTHS, "batch", "lr", "width"),
    "failed runs are counted by level": effects_of(FAILED),
    "a level with one success has no time": effects_of(ONE_SUCCESS, levels=["batch"]),
    "a base is that of the first run": effects_of(PRECISIONS, "precision"),
    "a base can be named": effects_of(PRECISIONS, "precision=bf16"),
    "a base that is none is refused": effects_of(PRECISIONS, "precision=fp8"),
    "days hide what varies in each": in_days(nested=False),
    "it is seen within days": in_days(nested=False, block=["day"]),
    "what is constant in each day is judged by days": in_days(nested=True, block=["day"]),
    "one day of a level is no interval": in_days(nested=True, days=2, block=["day"]),
    "few runs have ratios without intervals": effects_of([of_a()[n] for n in (0, 1, 3, 6, 9)]),
    "an interaction without a cell is named": effects_of(
        [run for run in of_a() if not (run["batch"] == 64 and run["lr"] == 0.3)], interactions=True
    ),
    "an interaction": effects_of(of_a(), interactions=True),
    "no setting has two levels": effects_of(of_a(lr=0.1, epochs_planned=3), "epochs_planned", "lr"),
    "no such setting": effects_of(of_a(), "lrr"),
    "no setting given": lambda: api.effects(table(of_a()), on=[]),
    "one setting is constant": effects_of(of_a(width=16), "batch", "width"),
    "epochs have no parts": effects_of(of_a(), unit="epochs"),
}


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    store.write(made.swept(), tmp_path / "sweep.parquet")
    return tmp_path / "sweep.parquet"


@accepted_answers("effects_of_settings", QUESTIONS)
@pytest.mark.usefixtures("in_codes")
def test_effects_are_as_accepted(case: Case) -> None:
    assert case.is_as_accepted()


def test_without_intervals_there_is_no_table_of_shares() -> None:
    report = effects_of([of_a()[n] for n in (0, 1, 3, 6, 9)])()
    assert [table.title for table in report.tables] == ["effects"]


def test_the_command_line_prints_effects_shares_and_levels(sweep: Path) -> None:
    result = run("effects", sweep, "--on", "batch_size,lr", "--confidence", "90%")
    assert result.returncode == 0, result.stderr
    assert "ratio [90%]" in result.stdout
    assert re.search(r"lr 0.3 vs 0.1 .* 8 \+ 8  \d\.\d+ \[\d\.\d+, \d\.\d+\]", result.stdout)
    assert "of it: 2 × covariance" in result.stdout
    refused = run("effects", sweep)
    assert refused.returncode == 2
    assert "no setting given" in refused.stderr
    table = run("effects", sweep, "--on", "lr", "--format", "csv")
    assert table.stdout.startswith("suite,round,benchmark")


def test_the_plot_has_a_panel_a_part_with_the_ratios_of_the_answer() -> None:
    sweep = made.swept()
    panels = api.plot("effects", sweep)
    assert [panel.title for panel in panels] == [
        "Time to target by setting: resnet", "Epochs by setting: resnet",
        "Time per epoch by setting: resnet",
    ]  # fmt: skip
    report = api.effects(sweep, on=["batch_size", "lr"])
    assert report.sentence in panels[0].caption
    # Two sizes times two rates times four seeds; the runs of the base are counted once.
    assert all(panel.caption.startswith("16 runs that reached the") for panel in panels)
    (table,) = panels[0].data.values()
    assert all(panel.data.keys() == panels[0].data.keys() for panel in panels)
    rows = report.frame.filter(row="effect")
    assert table.select("ratio", "ratio_low").equals(rows.select("ratio", "ratio_low"))
    (of_rate,) = api.plot("effects", sweep, on="lr")[0].data.values()
    assert of_rate["row"].unique().to_list() == ["lr 0.3 vs 0.1"]


def test_only_a_table_that_records_settings_is_drawn_unasked(
    sweep: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "<h2>Effects of settings</h2>" in api.html_report(made.swept()).html
    image = sweep.with_suffix(".svg")
    drawn = run("plot", "effects", sweep, "--on", "lr", "--confidence", ".9", "-o", image)
    assert "lr 0.3 vs 0.1" in drawn.stderr
    assert "90% intervals" in drawn.stderr
    other = run("plot", "tta", sweep, "--on", "lr", "-o", image)
    assert "Supported by: effects." in other.stderr
    monkeypatch.setattr("ttastats.answers.effects.report", None)  # would end in a TypeError
    assert "Effects of settings" not in api.html_report(made.two_entries()).html
    with pytest.raises(TtastatsError, match="no setting was varied in enough runs"):
        api.plot("effects", made.two_entries())
