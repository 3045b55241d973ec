"""Parquet files: whole or not at all, and refused by name when they are not ours."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest

from tests.programs import python
from ttastats import atomic, schema, store, tables
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


def test_a_table_of_the_first_schema_has_its_columns_by_their_names_of_today(
    frame: pl.DataFrame, tmp_path: Path
) -> None:
    frame = frame.with_columns(round=pl.lit("v0.7"))
    about = {"ttastats": json.dumps({"schema": 1, "writer": "ttastats 0.1.0"})}
    frame.rename({"round": "edition"}).write_parquet(tmp_path / "x.parquet", metadata=about)
    assert store.read([tmp_path / "x.parquet"]).collect().equals(frame)


def test_what_is_not_ours_is_refused(frame: pl.DataFrame, tmp_path: Path) -> None:
    foreign, text = tmp_path / "foreign.parquet", tmp_path / "text.parquet"
    pl.DataFrame({"name": ["a"], "losses": [0.5]}).write_parquet(foreign)
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


def test_a_table_that_lost_a_column_it_needs_is_refused(
    frame: pl.DataFrame, tmp_path: Path
) -> None:
    about = {"ttastats": json.dumps({"schema": schema.VERSION, "writer": "x"})}
    frame.drop("seconds").write_parquet(tmp_path / "x.parquet", metadata=about)
    with pytest.raises(TtastatsError, match="lacks columns: seconds"):
        store.read([tmp_path / "x.parquet"])


def test_a_failed_write_leaves_the_old_file(frame: pl.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    store.write(frame, path)
    before = path.read_bytes()

    def fill_the_disk() -> None:
        with atomic.replacing(path) as temporary:
            temporary.write_bytes(b"half")
            raise OSError(28, "No space left on device")

    with pytest.raises(TtastatsError, match="No space left"):
        fill_the_disk()
    assert path.read_bytes() == before
    assert [found.name for found in tmp_path.iterdir()] == ["x.parquet"]


def test_what_is_written_has_the_permissions_of_any_new_file(tmp_path: Path) -> None:
    (tmp_path / "usual").touch()
    (tmp_path / "folder").mkdir()
    with atomic.replacing(tmp_path / "x") as temporary:
        temporary.write_bytes(b"new")
    with atomic.replacing_folder(tmp_path / "d") as folder:
        (folder / "inside").mkdir()
        (folder / "inside" / "x").write_bytes(b"new")
    assert (tmp_path / "x").stat().st_mode == (tmp_path / "usual").stat().st_mode
    assert (tmp_path / "d").stat().st_mode == (tmp_path / "folder").stat().st_mode
    assert (tmp_path / "d" / "inside" / "x").read_bytes() == b"new"


def test_a_name_that_no_file_can_have_is_a_clear_error(tmp_path: Path) -> None:
    for name in ("x" * 300, "file/x"):
        (tmp_path / "file").touch()
        with (
            pytest.raises(TtastatsError, match=r"cannot write: (File name too|Not a directory)"),
            atomic.replacing(tmp_path / name),
        ):
            pass


def test_a_missing_folder_is_a_clear_error(frame: pl.DataFrame, tmp_path: Path) -> None:
    with pytest.raises(TtastatsError, match="cannot write: No such file or directory"):
        store.write(frame, tmp_path / "none" / "x.parquet")


KILLED = """
import os, signal, sys
from pathlib import Path
from ttastats import atomic
with atomic.replacing(Path(sys.argv[1])) as temporary:
    temporary.write_bytes(b"half of the new file")
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(os.name == "nt", reason="no SIGKILL here")
def test_a_killed_writer_leaves_the_old_file(frame: pl.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    store.write(frame, path)
    before = path.read_bytes()
    assert python("-c", KILLED, path).returncode < 0
    assert path.read_bytes() == before


class TestFolders:
    @pytest.fixture
    def many(self, frame: pl.DataFrame) -> pl.DataFrame:
        numbered = pl.concat([frame] * 50).with_row_index("_number")
        return numbered.with_columns(seed=pl.col("_number").cast(pl.Int64)).select(schema.NAMES)

    @pytest.fixture(autouse=True)
    def _small_parts(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(store, "_PART_ROWS", 20)

    def test_a_folder_is_read_like_a_file(self, many: pl.DataFrame, tmp_path: Path) -> None:
        store.write(many, tmp_path / "d", in_parts=True, manifest="kept")
        assert len(list((tmp_path / "d").iterdir())) == 4
        assert store.read([tmp_path / "d"]).collect().equals(many)
        assert store.manifest_of(tmp_path / "d") == "kept"
        assert store.is_ours(tmp_path / "d")
        assert [path.name for path in tmp_path.iterdir()] == ["d"]

    def test_other_programs_read_it_and_each_part_by_itself(
        self, many: pl.DataFrame, tmp_path: Path
    ) -> None:
        folder = tmp_path / "d"
        store.write(many, folder, in_parts=True)
        assert pl.scan_parquet(folder).select(schema.NAMES).collect().equals(many)
        assert pl.scan_parquet(folder / "*.parquet").collect().height == many.height
        assert pq.read_table(folder).num_rows == many.height
        for part in folder.iterdir():
            written = pq.read_schema(part)
            assert json.loads(written.metadata[b"ttastats"])["schema"] == schema.VERSION
            assert all(field.metadata[b"description"] for field in written)
        parts = sorted(folder.glob("0*.parquet"))
        assert store.read(parts[:1]).collect().equals(many.head(20))

    @pytest.mark.parametrize("in_one_step", [True, False])
    def test_a_folder_takes_the_place_of_another_as_a_whole(
        self,
        in_one_step: bool,
        many: pl.DataFrame,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        if not in_one_step:
            monkeypatch.setattr(atomic, "_swapped", lambda _one, _other: False)
        (tmp_path / "d").mkdir()
        for rows in (many, many.head(10), many.head(30)):
            store.write(rows, tmp_path / "d", in_parts=True)
            assert store.read([tmp_path / "d"]).collect().equals(rows)
            assert [path.name for path in tmp_path.iterdir()] == ["d"]

    def test_a_failed_write_leaves_the_old_folder(self, many: pl.DataFrame, tmp_path: Path) -> None:
        store.write(many, tmp_path / "d", in_parts=True)

        def fill_the_disk() -> None:
            with atomic.replacing_folder(tmp_path / "d") as temporary:
                (temporary / "half").write_bytes(b"half")
                raise OSError(28, "No space left on device")

        with pytest.raises(TtastatsError, match="No space left"):
            fill_the_disk()
        assert store.read([tmp_path / "d"]).collect().equals(many)
        assert [path.name for path in tmp_path.iterdir()] == ["d"]

    @pytest.mark.skipif(os.name == "nt", reason="no SIGKILL here")
    def test_a_killed_writer_leaves_the_old_folder(
        self, many: pl.DataFrame, tmp_path: Path
    ) -> None:
        store.write(many, tmp_path / "d", in_parts=True)
        code = KILLED.replace("replacing(", "replacing_folder(").replace(
            "temporary.write", "(temporary / 'part').write"
        )
        assert python("-c", code, tmp_path / "d").returncode < 0
        assert store.read([tmp_path / "d"]).collect().equals(many)

    def test_a_folder_that_lost_a_part_is_refused(self, many: pl.DataFrame, tmp_path: Path) -> None:
        store.write(many, tmp_path / "d", in_parts=True)
        part = sorted((tmp_path / "d").glob("0*.parquet"))[1]
        part.unlink()
        with pytest.raises(TtastatsError, match=f"part files are missing: {part.name}"):
            store.read([tmp_path / "d"])


class TestPlaces:
    def test_what_is_not_ours_is_left_as_it_is(self, frame: pl.DataFrame, tmp_path: Path) -> None:
        (tmp_path / "home").mkdir()
        (tmp_path / "home" / "letter.txt").write_text("dear")
        with pytest.raises(TtastatsError, match="already exists and was not created by ttastats"):
            store.expect_place(tmp_path / "home", in_parts=True)
        store.write(frame, tmp_path / "x.parquet")
        with pytest.raises(TtastatsError, match="is a file"):
            store.expect_place(tmp_path / "x.parquet", in_parts=True)

    def test_free_places_and_ours_may_be_written(self, frame: pl.DataFrame, tmp_path: Path) -> None:
        (tmp_path / "empty").mkdir()
        store.write(frame, tmp_path / "d", in_parts=True)
        for name in ("empty", "d", "new"):
            store.expect_place(tmp_path / name, in_parts=True)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["d", "empty"]
