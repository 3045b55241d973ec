"""Tables at URLs: they answer as local ones do, and are replaced whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import polars as pl
import pytest
import xxhash

import ttastats as tta
from tests.programs import python
from tests.test_cli import run
from ttastats.base import stores
from ttastats.base.errors import TtastatsError
from ttastats.base.stores import ReplacedError, parse_place
from ttastats.ingestion.ingest import ingest
from ttastats.table import kind, schema, store

#: A table as one object and as a folder of parts.
TABLES = ("runs.parquet", "runs/")


@pytest.fixture(autouse=True)
def memory() -> Iterator[Any]:
    """Return the store in memory, empty."""
    bucket = fsspec.filesystem("memory")
    yield bucket
    bucket.store.clear()
    bucket.pseudo_dirs[:] = [""]
    stores._ANSWERS.clear()


@pytest.fixture
def local(tables: Path) -> Path:
    return tables / "both.parquet"


@pytest.mark.parametrize("name", TABLES)
def test_filter_reads_and_writes_tables_in_a_store(name: str, local: Path, memory: Any) -> None:
    part = tta.filter(local, output=f"memory://bucket/{name}", where=["entry=Example/one_gpu"])
    assert 0 < part.runs < part.all_runs
    both = tta.filter(f"memory://bucket/{name}", local, output="memory://bucket/both/")
    assert both.runs == part.all_runs
    assert [path for path in memory.find("/bucket/both") if path.endswith("_ttastats.parquet")]
    same = f"memory://bucket/{name}"
    with pytest.raises(TtastatsError, match="is an input"):
        tta.filter(same, output=same, where=["entry=Example/one_gpu"])


def test_a_store_that_fails_while_it_is_read_is_no_fault_of_ours(
    local: Path, memory: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stores, "_SMALL_OBJECTS", 0)
    tta.filter(local, output="memory://bucket/runs.parquet")
    rows = tta.read("memory://bucket/runs.parquet")

    def lost(*_: Any) -> bytes:
        raise ConnectionResetError("the connection was reset")

    monkeypatch.setattr("fsspec.implementations.memory.MemoryFile.read", lost)
    with pytest.raises(TtastatsError, match=r"memory://bucket/runs.parquet: cannot be reached"):
        rows.collect()


def test_only_the_columns_and_row_groups_in_question_are_read(
    local: Path, memory: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kind, "_GROUP_ROWS", 2_000)
    monkeypatch.setattr(stores, "_SMALL_OBJECTS", 0)
    every = pl.concat([tta.read(local).collect()] * 40)
    long = [xxhash.xxh3_128_hexdigest(b"%d" % number) * 2 for number in range(every.height)]
    rows = every.with_columns(extra=pl.Series(long)).sort(schema.ORDER).lazy()
    store.write(rows, parse_place("memory://bucket/runs/"), in_parts=True)
    read: list[int] = []
    seen = store.read_tables([parse_place("memory://bucket/runs/")])
    ask = type(memory).open

    def counted(self: Any, *words: Any, **more: Any) -> Any:
        file = ask(self, *words, **more)
        of = file.read
        file.read = lambda *size: read.append(len(data := of(*size))) or data
        return file

    monkeypatch.setattr(type(memory), "open", counted)
    last = rows.select(pl.col("source").max()).collect().item()
    few = seen.filter(pl.col("source") == last).select("value").collect()
    of_few = sum(read)
    read.clear()
    assert 0 < few.height < seen.collect().height
    assert of_few < sum(read) / 2


@pytest.mark.parametrize("root", ["", "memory://bucket/"])
@pytest.mark.parametrize("name", TABLES)
def test_a_writer_does_not_replace_what_another_wrote_meanwhile(
    root: str, name: str, local: Path, tmp_path: Path
) -> None:
    table = parse_place(f"{root or f'{tmp_path}/'}{name}")
    in_parts = name.endswith("/")
    rows = tta.read(local)
    before = store.table_state(table)
    store.write(rows, table, in_parts=in_parts, expected=[before])
    for stale in (before, "another"):
        with pytest.raises(ReplacedError, match="was replaced by another writer"):
            store.write(rows.head(3), table, in_parts=in_parts, expected=[stale])
        assert store.read_tables([table]).collect().equals(rows.collect())
    store.write(rows.head(3), table, in_parts=in_parts, expected=[store.table_state(table)])
    assert store.read_tables([table]).collect().height == 3
    assert not in_parts or len(kind.parquet_files(table)) == 2


@pytest.mark.parametrize("name", TABLES)
def test_an_ingest_begins_anew_where_the_table_was_replaced(
    name: str, local: Path, two_systems: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, write, others = parse_place(f"memory://bucket/{name}"), store.write, [1, 2]

    def interrupted(*words: Any, **more: Any) -> None:
        if others and others.pop():
            write(tta.read(local).head(1), table, in_parts=name.endswith("/"))
        write(*words, **more)

    monkeypatch.setattr(store, "write", interrupted)
    account = ingest([two_systems.parent], str(table))
    assert (account.written, account.tries) == (True, 3)
    assert not others
    assert store.read_tables([table]).collect().equals(tta.read(local).collect())
    others[:] = [1] * 9
    with pytest.raises(ReplacedError):
        ingest([two_systems], str(table))


@pytest.mark.parametrize("name", TABLES)
def test_a_table_that_is_being_replaced_is_not_taken_for_a_foreign_one(
    name: str, two_systems: Path, memory: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was listed is gone when it is fetched, once; a store that is gone is named."""
    table, fetch, lost = f"memory://bucket/{name}", stores._fetch_sized, [1]
    ingest([two_systems], table)

    def replaced(url: stores.Url, *words: Any) -> Any:
        if lost:
            lost.pop()
            raise ReplacedError(url)
        return fetch(url, *words)

    monkeypatch.setattr(stores, "_fetch_sized", replaced)
    assert not ingest([two_systems], table).written
    assert not lost
    lost[:] = [1]
    assert store.is_ttastats_table(parse_place("memory://bucket/none.parquet")) is False
    lost[:] = [1] * 9
    with pytest.raises(ReplacedError):
        ingest([two_systems], table)

    def gone(*_: Any) -> Any:
        raise OSError("Connection reset by peer")

    monkeypatch.setattr(stores, "_fetch_sized", gone)
    with pytest.raises(TtastatsError, match="cannot be reached: Connection reset"):
        ingest([two_systems], table)


def test_errors_are_shown_without_credentials(tmp_path: Path, memory: Any) -> None:
    memory.pipe("/bucket/note.parquet", b"dear")
    memory.pipe("/bucket/other/x.txt", b"mine")
    for url, what in {
        "memory://bucket/none.parquet": "no such file",
        "memory://bucket/note.parquet": "not a Parquet file",
        "nosuch://user:secret@bucket/x.parquet?token=secret": "Protocol not known: nosuch",
    }.items():
        result = run("summary", url, cwd=tmp_path)
        assert result.returncode == 2
        assert what in result.stderr
        assert "secret" not in result.stderr
        assert "Check the URL" in result.stderr or "not a Parquet" in what
    for url, what in {
        "memory://bucket/note.parquet": "already exists and was not created by ttastats",
        "memory://bucket/other/": "already exists and was not created by ttastats",
    }.items():
        with pytest.raises(TtastatsError, match=what):
            store.expect_output(parse_place(url), in_parts=not url.endswith("parquet"))


def test_parts_of_a_writer_who_was_killed_at_the_first_are_in_nobodys_way(
    two_systems: Path, memory: Any
) -> None:
    memory.pipe("/bucket/runs/round=v5.0/00000000-0a1b2c3d.parquet", b"PAR1")
    assert ingest([two_systems], "memory://bucket/runs/").written
    assert len(memory.find("/bucket/runs")) == 2


def test_a_list_of_parts_that_arrived_is_not_put_twice(
    local: Path, memory: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = type(memory).put_file

    def unanswered(self: Any, *words: Any, **more: Any) -> None:
        put(self, *words, **more)
        if words[1].endswith(kind.HEAD):
            raise ConnectionResetError

    monkeypatch.setattr(type(memory), "put_file", unanswered)
    table = parse_place("memory://bucket/runs/")
    store.write(tta.read(local), table, in_parts=True, expected=[None])
    assert store.read_tables([table]).collect().equals(tta.read(local).collect())


@pytest.mark.parametrize("root", ["", "memory://bucket/"])
def test_a_part_that_cannot_be_put_leaves_the_old_table(
    root: str, local: Path, memory: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = parse_place(f"{root or f'{tmp_path}/'}runs/")
    store.write(tta.read(local).head(3), table, in_parts=True)
    files, folder = fsspec.core.url_to_fs(str(table))
    before = files.find(folder)
    owner, method = (type(memory), "put_file") if root else (Path, "replace")
    put = getattr(owner, method)

    def full(*words: Any, **more: Any) -> Any:
        """Fail for lack of space: for parts in a store, for their list in a folder."""
        if str(words[-1]).endswith(kind.HEAD) is not bool(root):
            raise OSError(28, "No space left on device")
        return put(*words, **more)

    monkeypatch.setattr(owner, method, full)
    with pytest.raises(TtastatsError, match="cannot write: No space left"):
        store.write(tta.read(local), table, in_parts=True)
    assert files.find(folder) == before
    assert store.read_tables([table]).collect().height == 3


@pytest.mark.parametrize("now", [b"another", None])
def test_a_table_that_is_replaced_while_it_is_fetched_is_not_taken_for_another(
    now: bytes | None, local: Path, memory: Any
) -> None:
    table = parse_place("memory://bucket/runs/")
    store.write(tta.read(local), table, in_parts=True)
    (part,) = schema.RUNS.part_names(table)
    assert part in kind.parquet_files(table)
    memory.pipe(f"/bucket/runs/{part}", now) if now else memory.rm(f"/bucket/runs/{part}")
    with pytest.raises(ReplacedError):
        store.read_tables([table])


#: Ingests half of the logs and all of them in turn, in processes of its own, of each of which it or
#: a worker is killed at a random moment; gives the number of runs that the table has after each.
KILLS = """
import os, pathlib, random, signal, sys, time, traceback
import pyarrow.dataset, pyarrow.parquet
import ttastats.ingestion.cache
from ttastats.ingestion import ingest as ingestion
from ttastats.base.stores import parse_place
from ttastats.table import schema, store
if "://" in sys.argv[2]:
    import s3fs
kills, output, *logs = sys.argv[1:]
ingest, ingestion._UNIT_FILES = ingestion.ingest, 1
workers = 2 if int(kills) > 5 else 1
def started(work):
    child = os.fork()
    if not child:
        try:
            os._exit(work() or 0)
        except BaseException:
            traceback.print_exc()
            os._exit(99)
    return child
def ended(child):
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
def half():
    ingest(logs[:1], output)
def whole():
    ingest(logs, output, workers=workers)
def workers_of(process):
    lists = pathlib.Path(f"/proc/{process}/task").glob("*/children")
    return [int(worker) for each in lists for worker in each.read_text().split()]
def runs():
    return store.read_tables([parse_place(output)]).select(schema.RUN).unique().collect().height
assert ended(started(half)) == 0
began = time.monotonic()
assert ended(started(whole)) == 0
took = time.monotonic() - began
moments = random.Random(7)
for _ in range(int(kills)):
    assert ended(started(half)) == 0
    child = started(whole)
    time.sleep(moments.uniform(0.1, 1.2) * took)
    os.kill(moments.choice([child, *workers_of(child)] if workers > 1 else [child]), signal.SIGKILL)
    ended(child)
    print(ended(started(runs)))
assert ended(started(half)) == 0
"""


#: How many; workers, which take seconds to start, have their turn where there are many.
NUMBER = 20 if os.environ.get("TTASTATS_LONG") else 3


@pytest.mark.skipif(os.name == "nt", reason="no SIGKILL here")
@pytest.mark.parametrize("root", ["", "s3://bucket/"])
@pytest.mark.parametrize("name", TABLES)
def test_writers_killed_at_random_leave_the_old_or_the_new_table(
    name: str,
    root: str,
    two_systems: Path,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place = tmp_path / "out"
    place.mkdir()
    if root:
        bucket = request.getfixturevalue("s3")
        monkeypatch.setenv("TMPDIR", str(place))
    logs = two_systems / "eight_gpus"
    output = f"{root or f'{place}/'}{name}"
    result = python("-c", KILLS, str(NUMBER), output, logs, logs.parent / "one_gpu")
    assert result.returncode == 0, result.stderr
    heights = result.stdout.split()
    assert len(heights) == NUMBER
    assert set(heights) <= {"10", "20"}
    left = [path.name for path in place.rglob("*")]
    if root:
        assert left == []
        bucket.invalidate_cache()
        left = bucket.find("bucket")
    assert not [name for name in left if name.endswith(".tmp")]
    assert len(left) == (1 if name.endswith("parquet") else 2 if root else 3)


@pytest.mark.parametrize("name", TABLES)
def test_uploads_that_a_killed_writer_left_in_s3_are_forgotten(
    name: str, s3: Any, two_systems: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stores, "_AT_ONCE", 0)
    key = f"{name}0000.parquet" if name.endswith("/") else name
    s3.call_s3("create_multipart_upload", Bucket="bucket", Key=key)
    s3.call_s3("create_multipart_upload", Bucket="bucket", Key="others.parquet")
    ingest([two_systems], f"s3://bucket/{name}")
    assert [upload["Key"] for upload in s3.list_multipart_uploads("bucket")] == ["others.parquet"]


def test_s3_itself_refuses_to_replace_what_another_wrote(
    s3: Any, local: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = parse_place("s3://bucket/runs.parquet")
    rows = tta.read(local)
    urls: list[stores.Url] = []
    monkeypatch.setattr(stores, "state_of", lambda url: urls.append(url) or "newer")
    store.write(rows, table, expected=[None])
    assert not urls
    for stale in (None, '"stale"'):
        with pytest.raises(ReplacedError):
            store.write(rows.head(3), table, expected=[stale])
