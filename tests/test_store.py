"""Parquet files: whole or not at all, and refused by name when they are not ours."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq
import pytest

from ttastats.base import atomic
from ttastats.base.errors import TtastatsError
from ttastats.base.records import Evaluation, Problem, Run
from ttastats.table import kind, schema, store, tables

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
    return tables.table_of_runs([tables.SourcedRun(RUN, "a.txt", "ab" * 16, 0, "test")])


def test_every_column_describes_itself_to_other_programs(
    frame: pl.DataFrame, tmp_path: Path
) -> None:
    path = tmp_path / "x.parquet"
    store.write(frame, path)
    written = pl.read_parquet_metadata(path)
    columns = json.loads(written["ttastats.columns"])
    assert list(columns) == pq.read_schema(path).names == list(schema.NAMES)
    assert all(columns.values())
    about = json.loads(written["ttastats"])
    assert about["schema"] == schema.RUNS.version
    age = datetime.now(UTC) - datetime.fromisoformat(about["created"])
    assert age < timedelta(hours=1)


def test_rows_read_twice_count_once(frame: pl.DataFrame, tmp_path: Path) -> None:
    for name in ("x.parquet", "y.parquet"):
        store.write(frame, tmp_path / name)
    both = store.read_tables([tmp_path / "x.parquet", tmp_path / "y.parquet"]).collect()
    assert both.height == frame.height


@pytest.mark.parametrize(
    ("version", "lost", "reason"),
    [
        (schema.RUNS.version, ["seconds"], "lacks columns: seconds"),
        (schema.RUNS.version + 1, [], r"written by ttastats 99\.0 with schema"),
        *((never, [], f"(states|with) schema {never}") for never in (0, -3, True, None, "2", 2.5)),
    ],
)
def test_a_table_of_another_schema_or_without_a_column_it_needs_is_refused(
    version: Any, lost: list[str], reason: str, frame: pl.DataFrame, tmp_path: Path
) -> None:
    about = {"schema": version, "writer": "ttastats 99.0", "table": "runs"}
    metadata = {"ttastats": json.dumps(about)}
    frame.drop(lost).write_parquet(tmp_path / "x.parquet", metadata=metadata)
    with pytest.raises(TtastatsError, match=reason):
        store.read_tables([tmp_path / "x.parquet"])


def test_a_table_of_the_first_schema_has_its_columns_by_their_names_of_today(
    frame: pl.DataFrame, tmp_path: Path
) -> None:
    frame = frame.with_columns(round=pl.lit("v0.7"))
    about = {"ttastats": json.dumps({"schema": 1, "writer": "ttastats 0.1.0"})}
    frame.rename({"round": "edition"}).write_parquet(tmp_path / "x.parquet", metadata=about)
    assert store.read_tables([tmp_path / "x.parquet"]).collect().equals(frame)


def test_files_of_others_are_refused(frame: pl.DataFrame, tmp_path: Path) -> None:
    foreign, text = tmp_path / "foreign.parquet", tmp_path / "text.parquet"
    pl.DataFrame({"name": ["a"], "losses": [0.5]}).write_parquet(foreign)
    text.write_text("no Parquet at all")
    for path, reason in (
        (foreign, "not written by ttastats"),
        (text, "not a Parquet file"),
        (tmp_path / "none.parquet", "no such file"),
        (tmp_path, "no such file"),  # a folder without the part that says what it is
    ):
        with pytest.raises(TtastatsError, match=reason) as caught:
            store.read_tables([path])
        assert str(path) in str(caught.value)


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
    (tmp_path / "file").touch()
    for name, why in ("x" * 300, "File name too"), ("file/x", "Not a dir"), ("none/x", "No such"):
        refused = pytest.raises(TtastatsError, match=f"cannot write: {why}")
        with refused, atomic.replacing(tmp_path / name):
            pass


class TestFolders:
    @pytest.fixture
    def many(self, frame: pl.DataFrame) -> pl.DataFrame:
        return pl.concat([frame] * 50).with_columns(seed=pl.int_range(50, dtype=pl.Int64))

    @pytest.fixture(autouse=True)
    def _small_parts(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(kind, "_PART_ROWS", 20)
        monkeypatch.setattr(kind, "_GROUP_ROWS", 10)

    def test_a_table_without_rows_has_a_part(self, many: pl.DataFrame, tmp_path: Path) -> None:
        store.write(many.clear(), tmp_path / "d", in_parts=True)
        assert store.read_tables([tmp_path / "d"]).collect().equals(many.clear())

    def test_other_programs_read_it_and_each_part_by_itself(
        self, many: pl.DataFrame, tmp_path: Path
    ) -> None:
        folder = tmp_path / "d"
        store.write(many, folder, in_parts=True)
        assert pl.scan_parquet(folder).select(schema.NAMES).collect().equals(many)
        assert pl.scan_parquet(folder / "*.parquet").collect().height == many.height
        assert pq.read_table(folder).num_rows == many.height
        for part in folder.iterdir():
            written = pl.read_parquet_metadata(part)
            assert json.loads(written["ttastats"])["schema"] == schema.RUNS.version
            assert all(json.loads(written["ttastats.columns"]).values())
        groups = [pq.read_metadata(part).num_row_groups for part in sorted(folder.iterdir())]
        assert groups == [2, 2, 1, 0]
        parts = sorted(folder.glob("0*.parquet"))
        assert store.read_tables(parts[:1]).collect().equals(many.head(20))

    def test_a_table_takes_the_place_of_another(self, many: pl.DataFrame, tmp_path: Path) -> None:
        (tmp_path / "d").mkdir()
        for rows, parts in ((many, 3), (many.head(10), 1), (many.head(30), 2)):
            store.write(rows, tmp_path / "d", in_parts=True)
            assert store.read_tables([tmp_path / "d"]).collect().equals(rows)
            assert pl.scan_parquet(tmp_path / "d").collect().height == rows.height
            assert len(list((tmp_path / "d").iterdir())) == parts + 1
            assert [path.name for path in tmp_path.iterdir()] == ["d"]

    def test_files_beside_the_parts_stay(self, many: pl.DataFrame, tmp_path: Path) -> None:
        folder = tmp_path / "d"
        store.write(many, folder, in_parts=True)
        beside = {"notes.txt": b"mine", "00000007.parquet": b"mine too", "sub/deep/x": b"deep"}
        for name, text in beside.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(text)
        for rows in (many.head(10), many):
            store.write(rows, folder, in_parts=True)
            assert store.read_tables([folder]).collect().equals(rows)
            assert {name: (folder / name).read_bytes() for name in beside} == beside
        assert len(list(folder.iterdir())) == len(beside) + 3 + 1

    def test_leftovers_of_a_killed_writer_are_removed_by_the_next(
        self, many: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folder = tmp_path / "d"
        store.write(many, folder, in_parts=True)
        with monkeypatch.context() as patch:
            patch.setattr(Path, "unlink", lambda *_, **__: None)
            store.write(many, folder, in_parts=True)
        assert len(list(folder.iterdir())) == 3 + 3 + 1
        store.write(many, folder, in_parts=True)
        assert len(list(folder.iterdir())) == 3 + 1
        assert pl.scan_parquet(folder).collect().height == many.height

    @pytest.mark.parametrize(
        ("listed", "reason"),
        [
            ('{"a": 1}', "holds no list of parts"),
            ("[null]", "holds no list of parts"),
            ("[", "holds no list of parts"),
            ('["../x.parquet"]', r"is no file of the folder: '\.\./x\.parquet'"),
            ('["/etc/passwd"]', "is no file of the folder"),
            ('[".."]', "is no file of the folder"),
            ('["C:x"]', "is no file of the folder"),
            ('["_ttastats.parquet"]', "is no file of the folder"),
        ],
    )
    @pytest.mark.parametrize("key", ["ttastats.parts", "ttastats.replaced_parts"])
    def test_a_list_of_parts_that_leads_elsewhere_is_refused(
        self, key: str, listed: str, reason: str, frame: pl.DataFrame, tmp_path: Path
    ) -> None:
        folder, outside = tmp_path / "d", tmp_path / "x.parquet"
        outside.write_text("mine")
        store.write(frame, folder, in_parts=True)
        head = folder / "_ttastats.parquet"
        metadata = {k: v for k, v in pl.read_parquet_metadata(head).items() if k != "ARROW:schema"}
        pl.read_parquet(head).write_parquet(head, metadata=metadata | {key: listed})
        if key == "ttastats.parts":
            with pytest.raises(TtastatsError, match=reason):
                store.read_tables([folder])
        with pytest.raises(TtastatsError, match=reason):
            store.expect_output(folder, in_parts=True)
        with pytest.raises(TtastatsError, match=reason):
            store.write(frame, folder, in_parts=True)
        assert outside.read_text() == "mine"

    def test_a_folder_that_lost_a_part_is_refused(self, many: pl.DataFrame, tmp_path: Path) -> None:
        store.write(many, tmp_path / "d", in_parts=True)
        part = sorted((tmp_path / "d").glob("0*.parquet"))[1]
        part.unlink()
        with pytest.raises(TtastatsError, match=f"part files are missing: {part.name}"):
            store.read_tables([tmp_path / "d"])


class TestPlaces:
    def test_files_of_others_are_left_alone(self, frame: pl.DataFrame, tmp_path: Path) -> None:
        (tmp_path / "home").mkdir()
        (tmp_path / "home" / "letter.txt").write_text("dear")
        with pytest.raises(TtastatsError, match="already exists and was not created by ttastats"):
            store.expect_output(tmp_path / "home", in_parts=True)
        store.write(frame, tmp_path / "x.parquet")
        with pytest.raises(TtastatsError, match="is a file"):
            store.expect_output(tmp_path / "x.parquet", in_parts=True)
