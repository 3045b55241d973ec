"""`summary -v`: every run as a dot, on one axis for a benchmark."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from ttastats import api
from ttastats.ingestion.ingest import ingest


@pytest.fixture
def table(two_systems: Path, tmp_path: Path) -> Path:
    return ingest([two_systems], tmp_path / "runs.parquet").output


def strips(table: Path) -> list[str]:
    report = api.summary(table, dots=True)
    return [line for row in report.tables[0].rows for line in row.details]


def test_every_run_is_a_dot_and_a_failed_one_a_cross(table: Path) -> None:
    fast, slow = strips(table)
    weights = {"·": 1, "∘": 2, "•": 3}  # ● is four or more
    assert sum(weights.get(mark, 0) for mark in slow.split("|")[1]) == 10
    assert fast.split("|")[1].count("×") == 1
    assert "×" not in slow


def test_all_groups_of_a_benchmark_share_an_axis(table: Path) -> None:
    ends = {(line.split("|")[0].strip(), line.split("|")[2].strip()) for line in strips(table)}
    assert ends == {("53.7 s", "2.40 min")}


def test_times_far_apart_stand_on_a_logarithmic_axis_and_it_says_so(table: Path) -> None:
    runs = api.run_table(table).with_columns(
        pl.when(system="one_gpu").then(100.0).otherwise(1.0).alias("factor")
    )
    times = ("tta_seconds", "observed_seconds", "run_seconds")
    far = runs.with_columns(pl.col(name) * pl.col("factor") for name in times)
    lines = [line for row in api.summary(far, dots=True).tables[0].rows for line in row.details]
    assert all(line.endswith("(log)") for line in lines)


def test_without_it_there_are_no_dots_and_programs_never_see_them(table: Path) -> None:
    plain, dotted = api.summary(table), api.summary(table, dots=True)
    assert all(not row.details for row in plain.tables[0].rows)
    assert plain.rows == dotted.rows


@pytest.mark.parametrize(("runs", "noted"), [(2, False), (3, True), (9, True), (10, False)])
def test_an_interval_of_few_runs_says_what_it_assumes(runs: int, noted: bool, table: Path) -> None:
    group = api.run_table(table).filter("reached", pl.col("system") == "one_gpu").head(runs)
    report = api.summary(group)
    assert report.rows[0]["reached"] == runs
    assert ("like_those_seen" in [note.code for note in report.notes]) is noted
