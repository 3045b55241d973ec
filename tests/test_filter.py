"""Parts of tables and several tables as one."""

from __future__ import annotations

import shutil
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import ttastats as tta
from tests.test_cli import run as program
from ttastats.base.errors import TtastatsError
from ttastats.cli import app
from ttastats.table import store

LOGS = 10


@pytest.fixture
def logs(two_systems: Path, tmp_path: Path) -> Path:
    """Return the logs of two systems, one log cut, one there twice, and a file that is no run."""
    shutil.copytree(two_systems, tmp_path / "logs")
    folder = tmp_path / "logs" / "one_gpu" / "digits"
    lines = (folder / "result_0.txt").read_bytes().splitlines(keepends=True)
    (folder / "result_0.txt").write_bytes(b"".join(lines[:-1]))
    shutil.copy(folder / "result_5.txt", tmp_path / "logs" / "eight_gpus" / "digits" / "copy.txt")
    (tmp_path / "logs" / "power.txt").write_bytes(lines[0])
    return tmp_path / "logs"


@pytest.fixture
def table(logs: Path, tmp_path: Path) -> Path:
    return tta.ingest([logs], tmp_path / "all.parquet").output


def rows(path: Path) -> pl.DataFrame:
    return store.read_tables([path]).collect()


def run(*words: str | Path) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, [str(word) for word in words])
    message = "" if result.exception is None else str(result.exception)
    return result.exit_code, result.stdout, result.stderr + message


def test_a_part_is_the_table_of_its_logs(table: Path, tmp_path: Path) -> None:
    result = tta.filter(table, output=tmp_path / "one.parquet", where=["entry=*one_gpu*"])
    assert (result.runs, result.all_runs, result.copies) == (LOGS, 2 * LOGS + 1, 0)
    part, whole = (rows(path).drop("duplicate_of") for path in (result.output, table))
    assert part.equals(whole.filter(pl.col("entry").str.contains("one_gpu")))
    assert result.evaluations == part["eval_index"].count()


def test_parts_put_together_are_the_table(table: Path, tmp_path: Path) -> None:
    for name in ("one", "eight"):
        tta.filter(table, output=tmp_path / f"{name}.parquet", where=[f"entry=*{name}*"])
    parts = [tmp_path / "eight.parquet", tmp_path / "one.parquet"]
    both = tta.filter(*parts, output=tmp_path / "both.parquet")
    assert rows(both.output).equals(rows(table))
    assert set(store.read_problems(both.output)) == set(store.read_problems(table))
    again = tta.filter(table, parts, output=tmp_path / "again.parquet")
    assert (again.runs, again.all_runs) == (2 * LOGS + 1, 2 * LOGS + 1)
    assert rows(again.output).equals(rows(table))


def codes(path: Path) -> set[str]:
    return {problem.code for problem in store.read_problems(path)}


def test_copies_and_problems_are_those_of_the_runs_that_are_left(
    table: Path, tmp_path: Path
) -> None:
    assert rows(table)["duplicate_of"].drop_nulls().n_unique() == 1
    assert codes(table) == {"no_run_stop", "not_a_run"}
    result = tta.filter(table, output=tmp_path / "x.parquet", where=["entry=*one_gpu*"])
    assert rows(result.output)["duplicate_of"].null_count() == rows(result.output).height
    assert codes(result.output) == {"no_run_stop", "not_a_run"}
    eight = tta.filter(table, output=tmp_path / "y.parquet", where=["entry=*eight*"])
    assert (codes(eight.output), eight.problems) == ({"not_a_run"}, 1)
    whole = tta.filter(table, output=tmp_path / "z.parquet")
    assert whole.copies == 1
    assert rows(whole.output).equals(rows(table))


def test_a_run_is_kept_whole(table: Path, tmp_path: Path) -> None:
    result = tta.filter(table, output=tmp_path / "x.parquet", where=["value>=0.97"])
    assert 0 < result.runs < result.all_runs
    expected = rows(table).join(rows(result.output), on=["source"], how="semi")
    assert rows(result.output).drop("duplicate_of").equals(expected.drop("duplicate_of"))


def test_runs_chosen_by_their_results_are_noted(table: Path, tmp_path: Path) -> None:
    code, _, stderr = run("filter", table, "-o", tmp_path / "x.parquet", "-w", "reached=false")
    assert code == 0
    runs = tta.runs(tmp_path / "x.parquet").rows
    assert 0 < len(runs) < 2 * LOGS
    assert not any(row["reached"] for row in runs)
    assert "selected by their result" in stderr


def test_folders_and_frames_are_taken_too(table: Path, tmp_path: Path) -> None:
    parts = tta.filter(table, output=f"{tmp_path}/parts/")
    assert store.read_problems(parts.output) == store.read_problems(table)
    back = tta.filter(parts.output, output=tmp_path / "x.parquet")
    frame = tta.filter(rows(table).to_pandas(), output=tmp_path / "y.parquet")
    assert all(rows(result.output).equals(rows(table)) for result in (parts, back, frame))
    assert codes(frame.output) == {"no_run_stop"}


@pytest.mark.parametrize("place", ["all.parquet", "link.parquet", "../{}/all.parquet"])
def test_an_input_is_never_written_over(place: str, table: Path, tmp_path: Path) -> None:
    (tmp_path / "link.parquet").symlink_to(table)
    before = table.read_bytes()
    with pytest.raises(TtastatsError, match="is an input; the output would overwrite it"):
        tta.filter(table, output=tmp_path / place.format(tmp_path.name), where=["seed=1000"])
    assert table.read_bytes() == before


def test_files_of_others_are_never_replaced_and_no_run_means_no_file(
    table: Path, tmp_path: Path
) -> None:
    (tmp_path / "x.parquet").write_text("mine")
    with pytest.raises(TtastatsError, match="already exists and was not created by ttastats"):
        tta.filter(table, output=tmp_path / "x.parquet")
    assert (tmp_path / "x.parquet").read_text() == "mine"
    with pytest.raises(TtastatsError, match="no run"):
        tta.filter(table, output=tmp_path / "y.parquet", where=["seed=7"])
    assert {path.name for path in tmp_path.glob("*")} == {"logs", "all.parquet", "x.parquet"}


def test_the_command_reports_the_kept_runs(table: Path, tmp_path: Path) -> None:
    code, out, stderr = run("filter", table, "-o", tmp_path / "x.parquet", "-w", "entry=*one_gpu*")
    assert (code, out) == (0, "")
    assert stderr.splitlines() == [
        "kept 10 of 21 runs with 101 evaluations and 2 problems",
        f"wrote {tmp_path / 'x.parquet'}",
    ]
    stderr = run("filter", table, tmp_path / "x.parquet", "-o", tmp_path / "y.parquet")[2]
    assert "1 run: it is a copy of another run, see `duplicate_of`" in stderr
    assert program("filter", table).returncode == 2
