"""Which runs count: none beside result files, no inference, no copy; and a run of no length."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests import made_logs
from ttastats import api
from ttastats.ingestion.ingest import ingest
from ttastats.outcomes import time_to_target
from ttastats.report.answer import Report

BOX = "v0.7/Example/results/box/minigo"
MINIGO = {"benchmark": "minigo"}


def notes(report: Report) -> dict[str, str]:
    return {note.code: note.text for note in report.notes}


@pytest.fixture
def submission(tmp_path: Path) -> Path:
    """Return a submission of three results, with a worker's log of nine times the time of each."""
    return submitted(tmp_path)


def submitted(folder: Path, hour: int = 0, **more: Any) -> Path:
    logs = {}
    for n in range(3):
        seed = hour + n
        logs[f"{BOX}/result_{n}.txt"] = made_logs.reaching(3 + n, seed=seed, **MINIGO, **more)
        logs[f"{BOX}/workers/{n}.log"] = made_logs.reaching(30 + n, seed=seed, **MINIGO)
    return ingest([made_logs.write(folder, logs)], folder / "runs.parquet").output


@pytest.mark.parametrize("large", [time_to_target._LARGE, 0])
def test_logs_beside_result_files_are_kept_marked_and_named(
    submission: Path, large: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time_to_target, "_LARGE", large)
    monkeypatch.setattr(time_to_target, "_AT_ONCE", 1)  # a log is judged apart from the results
    report = api.runs(submission)
    marked = {Path(row["source"]).name: row["set_aside"] for row in report.rows}
    assert marked == {f"result_{n}.txt": None for n in range(3)} | {
        f"{n}.log": "side_log" for n in range(3)
    }
    assert "3 logs outside the result files" in notes(report)["side_log"]
    shown = str(report.tables[0].rows)
    assert shown.count("not counted: side log") == 3


def test_logs_beside_result_files_count_in_no_command(submission: Path, tmp_path: Path) -> None:
    for command in (api.summary, api.variance, api.power, api.score):
        report = command(submission)
        (row,) = report.rows
        assert row["n"] == 3, command
        assert notes(report)["side_log"].startswith("3 logs"), command
    (row,) = api.summary(submission).rows
    assert (row["reached"], row["tta_mean_seconds"]) == (3, 40.0)
    other = submitted(tmp_path / "other", hour=10, epoch_seconds=20.0)
    (compared,) = api.compare(submission, other).rows
    assert (compared["n_a"], compared["n_b"], compared["speedup"]) == (3, 3, 0.5)


def test_logs_beside_result_files_are_in_no_plot_and_not_on_the_page(submission: Path) -> None:
    made = api.material(submission)
    assert [panel.runs.height for panel in made.panels] == [3]
    page = api.html_report(submission)
    assert "3 runs, 3 reached the target" in page.html
    assert "3 logs outside the result files" in page.html


def test_a_log_of_any_name_counts_where_an_entry_has_no_result_files(tmp_path: Path) -> None:
    logs = {f"{BOX}/mine/{n}.log": made_logs.reaching(3, seed=n, **MINIGO) for n in range(3)}
    made_logs.write(tmp_path, logs)
    report = api.summary(ingest([tmp_path], tmp_path / "runs.parquet").output)
    assert report.rows[0]["n"] == 3
    assert "side_log" not in notes(report)


def test_result_files_of_one_entry_say_nothing_of_another(tmp_path: Path) -> None:
    logs = {f"{BOX}/result_0.txt": made_logs.reaching(3, **MINIGO)}
    logs["v0.7/Example/results/other/minigo/my.log"] = made_logs.reaching(4, **MINIGO)
    made_logs.write(tmp_path, logs)
    rows = api.summary(ingest([tmp_path], tmp_path / "runs.parquet").output).rows
    assert [row["n"] for row in rows] == [1, 1]


def test_copies_count_once_in_every_group_and_again_in_another(tmp_path: Path) -> None:
    logs = {f"a/{n}.log": made_logs.reaching(3) for n in range(2)}
    logs |= {"b/0.log": made_logs.reaching(3)}
    made_logs.write(tmp_path, logs)
    output = ingest([tmp_path], tmp_path / "runs.parquet").output
    assert [row["n"] for row in api.summary(output).rows] == [1, 1]
    (together,) = api.summary(output, by=["benchmark"]).rows
    assert together["n"] == 1


@pytest.fixture
def dawnbench(tmp_path: Path) -> Path:
    """Return one training and one inference entry of DAWNBench."""
    fields = {"author": "x", "framework": "y", "hardware": "z"}
    curve = "epoch\thours\ttop1Accuracy\ttop5Accuracy\n1\t0.5\t95.0\t99.0\n"
    logs = {
        "CIFAR10/train/one.json": json.dumps(fields),
        "CIFAR10/train/one.tsv": curve,
        "CIFAR10/inference/two.json": json.dumps(fields | {"latency": 3.0}),
    }
    made_logs.write(tmp_path, logs)
    return ingest([tmp_path], tmp_path / "runs.parquet").output


def test_an_inference_entry_is_no_failed_run(dawnbench: Path) -> None:
    report = api.summary(dawnbench)
    assert [(row["n"], row["reached"]) for row in report.rows] == [(1, 1)]
    assert notes(report)["inference"].startswith("1 inference entry without training excluded")
    assert "failed_runs" not in notes(report)
    marked = {row["benchmark"]: row["set_aside"] for row in api.runs(dawnbench).rows}
    assert marked == {"cifar10": None, "cifar10_inference": "inference"}


@pytest.mark.parametrize("command", [api.summary, api.variance, api.power, api.score, api.runs])
def test_a_table_in_which_nothing_counts_is_answered(
    command: Callable[..., Report], dawnbench: Path
) -> None:
    report = command(dawnbench, where=["benchmark=*_inference"])
    assert "inference" in notes(report)


def with_a_crash(folder: Path, first_seed: int) -> Path:
    """Return five runs, one of which ended when it started."""
    seeds = range(first_seed, first_seed + 4)
    logs = {f"{seed}.log": made_logs.reaching(3 + seed % 2, seed=seed) for seed in seeds}
    logs["crashed.log"] = made_logs.log([], status="aborted", seed=first_seed)
    return ingest([made_logs.write(folder, logs)], folder / "runs.parquet").output


@pytest.fixture
def crashed(tmp_path: Path) -> Path:
    return with_a_crash(tmp_path / "a", 0)


def test_a_run_of_no_length_failed_at_once_and_is_named(crashed: Path) -> None:
    report = api.summary(crashed)
    (row,) = report.rows
    assert (row["n"], row["reached"], row["tta_mean_seconds"]) == (5, 4, 35.0)
    assert row["ert_seconds"] == 35.0  # 140 s in all, for 4 successes
    assert "crashed.log" in notes(report)["no_length"]


@pytest.mark.parametrize("command", [api.summary, api.variance, api.power, api.targets])
def test_every_command_answers_on_a_run_of_no_length(
    command: Callable[..., Report], crashed: Path
) -> None:
    assert command(crashed).rows


def test_sides_with_a_run_of_no_length_are_compared(crashed: Path, tmp_path: Path) -> None:
    other = with_a_crash(tmp_path / "b", 10)
    (row,) = api.compare(crashed, other, by=["benchmark"]).rows
    assert (row["n_a"], row["reached_a"], row["ert_a_seconds"]) == (5, 4, 35.0)
    assert api.targets(crashed, other).rows


def test_a_run_of_no_length_is_drawn_and_stands_on_the_page(crashed: Path, tmp_path: Path) -> None:
    other = with_a_crash(tmp_path / "b", 10)
    assert api.plots(crashed)
    assert api.plots(crashed, other, by=["benchmark"])
    assert "crashed.log" in api.html_report(crashed).html


@pytest.mark.parametrize("target", [float("nan"), float("inf")])
def test_a_target_that_is_no_number_is_none(target: float, tmp_path: Path) -> None:
    tables = []
    for hour in (0, 10):
        logs = {f"{n}.log": made_logs.reaching(3 + n, seed=hour + n) for n in range(3)}
        folder = made_logs.write(tmp_path / str(hour), logs)
        table = api.read(ingest([folder], folder / "runs.parquet").output).collect()
        tables.append(table.with_columns(target_value=pl.lit(target)))
    assert api.summary(tables[0], by=["benchmark"]).rows[0]["reached"] == 3  # success decides
    assert api.compare(*tables, by=["benchmark"]).rows
    assert api.html_report(*tables, by=["benchmark"]).html


def test_evaluations_of_no_metric_have_no_target(crashed: Path, tmp_path: Path) -> None:
    a, b = (api.read(path).collect() for path in (crashed, with_a_crash(tmp_path / "b", 10)))
    nameless = pl.when(pl.int_range(pl.len()) % 2 == 0).then("metric").alias("metric")
    (row,) = api.compare(a, b.with_columns(nameless), by=["benchmark"]).rows
    assert row["n_b"] == 5
