"""Parquet files: whole or not at all, and refused by name when they are not ours."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest

from ttastats import schema, store, tables
from ttastats.errors import TtastatsError
from ttastats.records import Evaluation, Problem, Run

RUN = Run(
    suite="mlperf",
    benchmark="resnet",
    seed=7,
    started_at=datetime(2020, 1, 2, tzinfo=UTC),
    run_seconds=12.5,
    evaluations=(Evaluation(0, "top1_accuracy", 0.5, 0.5, 10.0, epoch=1.5),),
    problems=(Problem("odd", "something odd", line=3),),
    extra={"opt_name": "sgd"},
)


@pytest.fixture
def frame() -> pl.DataFrame:
    return tables.frame_of([tables.SourcedRun(RUN, "a.txt", "ab" * 16, 0, "test")])


def test_what_is_written_is_read_back(frame: pl.DataFrame, tmp_path: Path) -> None:
    store.write(frame, tmp_path / "x.parquet")
    assert store.read([tmp_path / "x.parquet"]).collect().equals(frame)
    assert [path.name for path in tmp_path.iterdir()] == ["x.parquet"]


def test_problems_and_the_rest_of_a_run_are_kept_as_json(frame: pl.DataFrame) -> None:
    row = frame.to_dicts()[0]
    assert json.loads(row["problems"])[0]["line"] == 3
    assert json.loads(row["extra"]) == {"opt_name": "sgd"}


def test_every_column_describes_itself_to_other_programs(
    frame: pl.DataFrame, tmp_path: Path
) -> None:
    path = tmp_path / "x.parquet"
    store.write(frame, path, now=datetime(2020, 1, 1, tzinfo=UTC))
    written = pq.read_schema(path)
    assert written.names == list(schema.NAMES)
    assert all(field.metadata[b"description"] for field in written)
    about = json.loads(written.metadata[b"ttastats"])
    assert about["schema"] == schema.VERSION
    assert about["created"] == "2020-01-01T00:00:00+00:00"


def test_rows_read_twice_count_once(frame: pl.DataFrame, tmp_path: Path) -> None:
    for name in ("x.parquet", "y.parquet"):
        store.write(frame, tmp_path / name)
    both = store.read([tmp_path / "x.parquet", tmp_path / "y.parquet"]).collect()
    assert both.height == frame.height


def test_a_newer_schema_is_refused_by_name(frame: pl.DataFrame, tmp_path: Path) -> None:
    about = {"schema": schema.VERSION + 1, "writer": "ttastats 99.0"}
    frame.write_parquet(tmp_path / "x.parquet", metadata={"ttastats": json.dumps(about)})
    with pytest.raises(TtastatsError, match=r"written by ttastats 99\.0 with schema"):
        store.read([tmp_path / "x.parquet"])


def test_what_is_not_ours_is_refused(frame: pl.DataFrame, tmp_path: Path) -> None:
    foreign, text = tmp_path / "foreign.parquet", tmp_path / "text.parquet"
    frame.write_parquet(foreign)
    text.write_text("no Parquet at all")
    for path, reason in (
        (foreign, "not written by ttastats"),
        (text, "not a Parquet file"),
        (tmp_path / "none.parquet", "no such file"),
        (tmp_path, "is a folder"),
    ):
        with pytest.raises(TtastatsError, match=reason) as caught:
            store.read([path])
        assert str(path) in str(caught.value)


def test_a_table_that_lost_a_column_is_refused(frame: pl.DataFrame, tmp_path: Path) -> None:
    about = {"ttastats": json.dumps({"schema": schema.VERSION, "writer": "x"})}
    frame.drop("seed").write_parquet(tmp_path / "x.parquet", metadata=about)
    with pytest.raises(TtastatsError, match="has no column seed"):
        store.read([tmp_path / "x.parquet"])


def test_a_failed_write_leaves_the_old_file(frame: pl.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    store.write(frame, path)
    before = path.read_bytes()

    def fill_the_disk() -> None:
        with store.replacing(path) as temporary:
            temporary.write_bytes(b"half")
            raise OSError(28, "No space left on device")

    with pytest.raises(TtastatsError, match="No space left"):
        fill_the_disk()
    assert path.read_bytes() == before
    assert [found.name for found in tmp_path.iterdir()] == ["x.parquet"]


def test_a_missing_folder_is_a_clear_error(frame: pl.DataFrame, tmp_path: Path) -> None:
    with pytest.raises(TtastatsError, match="cannot write: No such file or directory"):
        store.write(frame, tmp_path / "none" / "x.parquet")


KILLED = """
import os, signal, sys
from pathlib import Path
from ttastats import store
with store.replacing(Path(sys.argv[1])) as temporary:
    temporary.write_bytes(b"half of the new file")
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(os.name == "nt", reason="no SIGKILL here")
def test_a_killed_writer_leaves_the_old_file(frame: pl.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    store.write(frame, path)
    before = path.read_bytes()
    done = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    assert done.returncode < 0
    assert path.read_bytes() == before
