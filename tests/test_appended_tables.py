"""Tables that grow by parts and are cut by columns: the same rows, the same answers."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow.dataset
import pytest

import ttastats as tta
from tests.programs import finish, start
from tests.test_cli import run
from ttastats.base import stores
from ttastats.base.errors import TtastatsError
from ttastats.base.stores import parse_place
from ttastats.ingestion import manifest
from ttastats.ingestion.ingest import ingest
from ttastats.table import schema, store

SYSTEMS = ("eight_gpus", "one_gpu")


def rows_of(table: Path | str) -> pl.DataFrame:
    return tta.read(table).sort(schema.ORDER, maintain_order=True).collect()


def parts_of(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("0*.parquet"))


@pytest.fixture
def alone(two_systems: Path, tmp_path: Path) -> Path:
    """Return the table of all logs, read at once."""
    paths = [two_systems / name for name in SYSTEMS]
    return Path(str(ingest(paths, tmp_path / "alone.parquet").output))


def test_new_logs_become_new_parts(alone: Path, two_systems: Path, tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    for name in SYSTEMS:
        before = parts_of(folder)
        result = run("ingest", two_systems / name, "-o", f"{folder}/", "--append", cwd=tmp_path)
        assert result.returncode == 0, result.stderr
        assert f"wrote {folder}" in result.stderr
        assert set(before) < set(parts_of(folder))
    assert rows_of(folder).equals(rows_of(alone))
    again = ingest([two_systems / SYSTEMS[0]], f"{folder}/", append=True)
    assert (again.written, again.unchanged) == (False, again.files)
    for words in (("summary",), ("runs", "--format", "csv"), ("problems",)):
        whole, parts = (run(words[0], at, *words[1:], cwd=tmp_path) for at in (alone, folder))
        assert sorted(parts.stdout.splitlines()) == sorted(whole.stdout.splitlines())


def test_filter_makes_one_part_of_many_and_keeps_what_was_read(
    alone: Path, two_systems: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "runs"
    for name in SYSTEMS:
        ingest([two_systems / name], f"{folder}/", append=True)
    assert run("filter", folder, "-o", f"{folder}/", cwd=tmp_path).returncode == 0
    assert len(parts_of(folder)) == 1
    assert tta.read(folder).collect().equals(tta.read(alone).collect())
    assert not ingest([two_systems / SYSTEMS[0]], f"{folder}/", append=True).written
    with pytest.raises(TtastatsError, match="is an input"):
        tta.filter(folder, output=f"{folder}/", where=["seed>1"])


@pytest.mark.parametrize("cut", [(), ("entry",)])
def test_a_log_that_changed_takes_the_place_of_its_rows(
    cut: tuple[str, ...], two_systems: Path, tmp_path: Path
) -> None:
    logs, folder = tmp_path / "logs", tmp_path / "runs"
    for name in SYSTEMS:
        shutil.copytree(two_systems / name / "digits", logs / name)
        ingest([logs / name], f"{folder}/", append=True, partition=cut)
    untouched = parts_of(folder)[0]
    changed, other = sorted((logs / SYSTEMS[1]).iterdir())[:2]
    changed.write_bytes(other.read_bytes().replace(b'"seed"', b'"seeds"'))
    account = ingest([logs], f"{folder}/", append=True)
    assert (account.written, account.runs) == (True, 1)
    assert parts_of(folder)[0] == untouched
    assert len(parts_of(folder)) == 2
    ingest([logs / name for name in SYSTEMS], tmp_path / "whole.parquet")
    drop = ("duplicate_of",)
    assert rows_of(folder).drop(drop).equals(rows_of(tmp_path / "whole.parquet").drop(drop))


def test_a_table_among_the_logs_is_no_log(two_systems: Path, tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    for name in SYSTEMS:
        shutil.copytree(two_systems / name, logs / name)
        assert ingest([logs], f"{logs}/runs/", append=True).other_files == 0
    again = ingest([logs], f"{logs}/runs/", append=True)
    assert (again.written, again.files) == (False, 20)


def test_a_copy_of_a_run_in_an_earlier_part_is_marked(two_systems: Path, tmp_path: Path) -> None:
    folder, copies = tmp_path / "runs", tmp_path / "copies" / SYSTEMS[0]
    ingest([two_systems / SYSTEMS[0]], f"{folder}/", append=True)
    shutil.copytree(two_systems / SYSTEMS[0] / "digits", copies)
    ingest([copies], f"{folder}/", append=True)
    runs = tta.read(folder).unique(schema.RUN).collect()
    of = runs.filter(pl.col("duplicate_of").is_not_null())
    assert of.height == runs.height / 2
    assert of["duplicate_of"].str.starts_with(str(two_systems)).all()


@pytest.mark.parametrize("url", [None, "memory://bucket/cut/"])
def test_a_folder_cut_by_columns_is_read_by_others_as_it_is(
    url: str | None, alone: Path, two_systems: Path, tmp_path: Path
) -> None:
    folder = url or f"{tmp_path}/runs/"
    paths = [two_systems / name for name in SYSTEMS]
    words = ("--partition", "benchmark,entry", "-o", folder)
    assert run("ingest", *paths, *words, cwd=tmp_path).returncode == 0
    assert rows_of(folder).equals(rows_of(alone))
    assert run("summary", folder, cwd=tmp_path).stdout == run("summary", alone).stdout
    assert not ingest(paths, folder).written
    if url:
        return
    parts = parts_of(Path(folder))
    assert len(parts) == 2
    assert all(part.startswith("benchmark=") and "/entry=" in part for part in parts)
    number = rows_of(alone).height
    pattern = f"{folder}*/*/*.parquet"
    assert pl.scan_parquet(pattern, hive_partitioning=True).collect().height == number
    query = f"select count(entry) from read_parquet('{pattern}', hive_partitioning = true)"
    assert duckdb.sql(query).fetchall() == [(number,)]
    assert pyarrow.dataset.dataset(folder, partitioning="hive").count_rows() == number
    for part in parts:
        assert not {"benchmark", "entry"} & set(pl.read_parquet_schema(f"{folder}{part}"))
    # What is read and cut again stays cut; so does what joins it, and what is put together.
    ingest(paths[:1], folder)
    ingest(paths[1:], folder, append=True)
    assert rows_of(folder).equals(rows_of(alone))
    tta.filter(folder, output=folder)
    assert len(parts_of(Path(folder))) == 2
    assert rows_of(folder).equals(rows_of(alone))


@pytest.mark.parametrize("root", ["", "memory://bucket/"])
def test_a_condition_on_such_a_column_opens_its_parts_only(
    root: str, alone: Path, two_systems: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = parse_place(f"{root or f'{tmp_path}/'}runs/")
    entry = rows_of(alone)["entry"].min()
    monkeypatch.setattr(stores, "_SMALL_OBJECTS", 0)
    store.write(tta.read(alone), folder, in_parts=True, partition=["entry"])
    assert store.read_tables([folder]).collect().height == rows_of(alone).height
    stores._ANSWERS.clear()
    (lost,) = [part for part in schema.RUNS.part_names(folder) if "one" in part]
    if isinstance(folder, Path):
        (folder / lost).write_bytes(b"PAR1 and no more")
    else:
        store_, name = (folder / lost).store_and_path()
        store_.pipe(name, b"PAR1 and no more")
    few = store.read_tables([folder]).filter(pl.col("entry") == entry).collect()
    assert 0 < few.height < rows_of(alone).height


def test_values_that_are_no_names_of_folders(alone: Path, tmp_path: Path) -> None:
    names = ["a/b", "..", "x=1", "", None, "ä [*] %"]
    rows = (
        rows_of(alone)
        .head(len(names))
        .with_columns(
            source=pl.Series([str(n) for n in range(len(names))]),
            system=pl.Series(names),
            seed=pl.Series([None, 1, 2, 3, 4, 5]),
        )
    )
    store.write(rows, tmp_path / "runs", in_parts=True, partition=["system", "seed"])
    back = store.read_tables([tmp_path / "runs"]).sort("source").collect()
    expected = rows.with_columns(system=pl.col("system").replace("", None))
    assert back.equals(expected)


def test_impossible_additions_and_cuts_are_refused(two_systems: Path, tmp_path: Path) -> None:
    for words, what in (
        (("--append", "-o", "x.parquet"), "--append: needs a folder of parts"),
        (("--partition", "round", "-o", "x.parquet"), "--partition: needs a folder of parts"),
        (("--partition", "rund", "-o", "x/"), "--partition: rund is no column of runs"),
    ):
        result = run("ingest", two_systems, *words, cwd=tmp_path)
        assert (result.returncode, what in result.stderr) == (2, True), result.stderr
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("root", ["", "s3://bucket/"])
def test_two_writers_at_once_lose_nothing(
    root: str, alone: Path, two_systems: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if root:
        request.getfixturevalue("s3")
    folder = f"{root or f'{tmp_path}/'}runs/"
    writers = [
        start("-m", "ttastats", "ingest", two_systems / name, "-o", folder, "--append")
        for name in SYSTEMS
    ]
    for writer in writers:
        code, _, complaint = finish(writer)
        assert code == 0, complaint
    assert rows_of(folder).equals(rows_of(alone))


def test_a_writer_that_another_overtook_begins_anew(
    alone: Path, two_systems: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, append, overtaken = f"{tmp_path}/runs/", manifest.append, []
    first, second = (two_systems / name for name in SYSTEMS)
    tta.filter(alone, output=folder, where=["seed=1000"])

    def late(*words: Any) -> None:
        if not overtaken:
            overtaken.append(True)
            other = threading.Thread(target=ingest, args=([first], folder), kwargs={"append": True})
            other.start()
            other.join()
        append(*words)

    monkeypatch.setattr(manifest, "append", late)
    assert ingest([second], folder, append=True).written
    assert overtaken
    assert rows_of(folder).drop("duplicate_of").equals(rows_of(alone).drop("duplicate_of"))


@pytest.mark.parametrize("name", ["runs.parquet", "runs/"])
def test_a_table_that_is_replaced_while_it_is_read_is_read_anew(
    name: str, two_systems: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader may open the old file and find the new one when it reads on."""
    output, before = f"{tmp_path}/{name}", store.rows_of_sources
    first, second = (two_systems / name for name in SYSTEMS)
    ingest([first], output)
    tries = []

    def torn(*words: Any) -> pl.LazyFrame:
        tries.append(len(tries))
        if len(tries) == 1:
            monkeypatch.setattr(store, "rows_of_sources", before)
            ingest([second], output)
            monkeypatch.setattr(store, "rows_of_sources", torn)
            raise pl.exceptions.ComputeError("parquet: File out of specification")
        return before(*words)

    monkeypatch.setattr(store, "rows_of_sources", torn)
    account = ingest([first, second], output)
    assert (account.runs, account.tries, tries) == (20, 2, [0, 1])


def test_what_a_killed_export_left_is_removed_by_the_next(alone: Path, tmp_path: Path) -> None:
    (left := tmp_path / ".logs.0123abcd.tmp").mkdir()
    (left / "a.txt").touch()
    tta.export(alone, tmp_path / "logs")
    assert not left.exists()


def test_a_probe_may_be_taken_for_a_leftover(
    two_systems: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    touch = Path.touch

    def taken(path: Path, *words: Any, **others: Any) -> None:
        touch(path, *words, **others)
        monkeypatch.undo()
        path.unlink()

    monkeypatch.setattr(Path, "touch", taken)
    assert ingest([two_systems], tmp_path / "runs.parquet").runs == 20
