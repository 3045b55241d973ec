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
    """Return a run that recorded its settings, started after those before it."""
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


def rows(report: Report, kind: str = "effect") -> list[dict[str, Any]]:
    return [dict(row) for row in report.rows if row["row"] == kind]


def texts(report: Report, code: str) -> list[str]:
    return [note.text for note in report.notes if note.code == code]


def asked(runs: list[dict[str, Any]], *on: str, **more: Any) -> Callable[[], Report]:
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
    made = []
    for number in range(6 * days):
        day, place = divmod(number, 6)
        level = day % 2 if nested else place % 2
        slow = (1.0, 1.3, 0.8, 1.1)[day % 4]
        seconds = 100 * slow * (1 - 0.1 * level) * (1 + 0.004 * (place // 2))
        run = trained(seconds, 5 + place % 2, number, precision=("fp32", "bf16")[level])
        when = START + timedelta(days=day, hours=place)
        made.append(run.with_columns(started_at=pl.lit(when)))
    return lambda: api.effects(pl.concat(made), on=["precision"], **more)


HOSTS = [
    {"seconds": 100 * 1.5**k * (1 + 0.004 * n), "epochs": 5, "host": f"host {k}"}
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
    "each setting is found in the part that it changes": asked(of_a()),
    "of many effects the sentence tells four": asked(HOSTS, "host"),
    "progress of several units stands in one table": lambda: api.effects(
        pl.concat([table(of_a()), of_bert()]), on=["batch", "lr"]
    ),
    "a number of three values acts by doublings": asked(SIZES, "batch"),
    "its values may be levels": asked(SIZES, "batch", levels="batch"),
    "what bends is noted": asked(BENT, "batch"),
    "settings that were changed together are one": asked(WIDTHS, "batch", "lr", "width"),
    "failed runs are counted by level": asked(FAILED),
    "a level with one success has no time": asked(ONE_SUCCESS, levels=["batch"]),
    "a base is that of the first run": asked(PRECISIONS, "precision"),
    "a base can be named": asked(PRECISIONS, "precision=bf16"),
    "a base that is none is refused": asked(PRECISIONS, "precision=fp8"),
    "days hide what varies in each": in_days(nested=False),
    "it is seen within days": in_days(nested=False, block=["day"]),
    "what is constant in each day is judged by days": in_days(nested=True, block=["day"]),
    "one day of a level is no interval": in_days(nested=True, days=2, block=["day"]),
    "few runs have ratios without intervals": asked([of_a()[n] for n in (0, 1, 3, 6, 9)]),
    "an interaction without a cell is named": asked(
        [run for run in of_a() if not (run["batch"] == 64 and run["lr"] == 0.3)], interactions=True
    ),
    "an interaction": asked(of_a(), interactions=True),
    "no setting has two levels": asked(of_a(lr=0.1, epochs_planned=3), "epochs_planned", "lr"),
    "no such setting": asked(of_a(), "lrr"),
    "no setting given": lambda: api.effects(table(of_a()), on=[]),
    "one setting is constant": asked(of_a(width=16), "batch", "width"),
    "epochs have no parts": asked(of_a(), unit="epochs"),
}


@accepted_answers("effects_of_settings", QUESTIONS)
@pytest.mark.usefixtures("in_codes")
def test_effects_are_as_accepted(case: Case) -> None:
    assert case.is_as_accepted()


def test_effects_are_those_of_a_study() -> None:
    found = {(row["setting"], row["part"]): row for row in rows(QUESTIONS[next(iter(QUESTIONS))]())}
    batch = [found["batch", part] for part in ("tta", "epochs", "time_per_epoch")]
    assert [row["ratio"] for row in batch] == pytest.approx([0.66425562, 1.04061857, 0.63832766])
    assert [row["plain_low"] for row in batch] == pytest.approx(
        [0.60930776, 0.95526763, 0.63458169]
    )
    shares = {row["setting"]: row for row in rows(asked(of_a())(), "share")}
    assert shares["batch"]["omega2_tta"] == pytest.approx(0.69875695)
    assert shares["lr"]["omega2_progress"] == pytest.approx(0.7599143)
    assert shares["residual"]["share_tta"] == pytest.approx(1 - 0.94443270)


def test_the_command_line_prints_effects_shares_and_levels(tmp_path: Path) -> None:
    from tests.made_curves import evaluation, logs, of

    made = []
    for number, row in enumerate(of_a()):
        aim = {"metric": "top1_accuracy", "higher_is_better": True, "target_value": 0.7}
        each = [
            evaluation(k, 0.71 if k == row["epochs"] - 1 else 0.5,
                       seconds=row["seconds"] * (k + 1) / row["epochs"], epoch=k + 1.0, **aim)
            for k in range(row["epochs"])
        ]  # fmt: skip
        facts = {"benchmark": "toy", "entry": "one", "run_status": "success"}
        extra = {"settings": {"values": {"batch": row["batch"], "lr": row["lr"]}}}
        made.append(of(*each, seed=number, extra=extra, run_seconds=row["seconds"], **facts))
    store.write(logs(made), tmp_path / "runs.parquet")
    done = run("effects", "runs.parquet", "--on", "batch,lr", "--confidence", "90%", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "batch 64 vs 32  time to target" in done.stdout
    assert "ratio [90%]" in done.stdout
    assert re.search(r"batch 64 .* 6 \+ 6  0\.664 \[0\.61\d, 0\.71\d\]  <\.001", done.stdout)
    assert "of it: 2 × covariance" in done.stdout
    failed = run("effects", "runs.parquet", cwd=tmp_path)
    assert failed.returncode == 2
    assert "no setting given" in failed.stderr
    asked = run("effects", "runs.parquet", "--on", "batch", "--format", "csv", cwd=tmp_path)
    assert asked.stdout.startswith("suite,round,benchmark")


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
    assert table["ratio"].to_list() == [row["ratio"] for row in rows(report)]
    assert table["ratio_low"].to_list() == [row["ratio_low"] for row in rows(report)]
    (one,) = {row for panel in api.plot("effects", sweep, on="lr") for row in panel.data}
    assert api.plot("effects", sweep, on="lr")[0].data[one]["row"].unique().to_list() == [
        "lr 0.3 vs 0.1"
    ]


def test_only_a_table_that_records_settings_is_drawn_unasked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = api.html_report(made.swept())
    assert "<h2>Effects of settings</h2>" in page.html
    store.write(made.swept(), tmp_path / "sweep.parquet")
    drawn = run("plot", "effects", tmp_path / "sweep.parquet", "--on", "lr", "--confidence", ".9",
                "-o", tmp_path / "lr.svg")  # fmt: skip
    assert "lr 0.3 vs 0.1" in drawn.stderr
    assert "90% intervals" in drawn.stderr
    other = run("plot", "tta", tmp_path / "sweep.parquet", "--on", "lr", "-o", tmp_path / "a.svg")
    assert "Supported by: effects." in other.stderr
    monkeypatch.setattr("ttastats.answers.effects.report", None)  # would end in a TypeError
    assert "Effects of settings" not in api.html_report(made.two_entries()).html
    with pytest.raises(TtastatsError, match="no setting was varied in enough runs"):
        api.plot("effects", made.two_entries())
