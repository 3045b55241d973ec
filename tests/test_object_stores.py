"""Logs in an object store: requests, their number, and messages of failures."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import fsspec
import pytest
from fsspec.asyn import AsyncFileSystem

from tests.test_cli import run
from ttastats.base import stores
from ttastats.base.errors import TtastatsError
from ttastats.ingestion.ingest import ingest
from ttastats.table import store

URL = "counted://bucket/runs"
LOGS = 20


class Counted(AsyncFileSystem):
    """A store in memory that counts requests, and answers as slowly as a real one."""

    protocol = "counted"
    objects: ClassVar[dict[str, bytes]] = {}
    changes: ClassVar[dict[str, int]] = {}
    requests: ClassVar[list[str]] = []
    gone: ClassVar[set[str]] = set()
    under_way: ClassVar[list[int]] = [0, 0]

    async def _answer(self, what: str) -> None:
        self.requests.append(what)
        self.under_way[0] += 1
        self.under_way[1] = max(self.under_way)
        await asyncio.sleep(0.01)
        self.under_way[0] -= 1

    async def _find(self, path: str, *_: Any, detail: bool = False, **__: Any) -> Any:
        await self._answer("list")
        if not path.startswith("bucket"):
            raise FileNotFoundError("The specified bucket does not exist")
        if path == "bucket/secret":
            raise PermissionError("Access Denied")
        entries = {
            name: {"name": name, "size": len(content), "type": "file", **self._state(name)}
            for name, content in self.objects.items()
            if name.startswith(path)
        }
        return entries if detail else list(entries)

    def _state(self, name: str) -> dict[str, str]:
        return {"ETag": f"{self.changes[name]:x}"} if name in self.changes else {}

    async def _cat_file(
        self, path: str, start: int | None = None, end: int | None = None, **_: Any
    ) -> bytes:
        await self._answer(path)
        if path in self.gone or path not in self.objects:
            raise FileNotFoundError(path)
        return self.objects[path][start:end]

    async def _info(self, path: str, **_: Any) -> dict[str, Any]:
        await self._answer(f"look {path}")
        if path in self.gone or path not in self.objects:
            raise FileNotFoundError(path)
        return {"name": path, "size": len(self.objects[path]), "type": "file", **self._state(path)}

    async def _ls(self, path: str, *_: Any, **__: Any) -> Any:
        await self._answer(f"list {path}")
        raise FileNotFoundError(path)


def put(name: str, content: bytes) -> None:
    Counted.objects[name] = content
    Counted.changes[name] = Counted.changes.get(name, 0) + 1


@pytest.fixture(autouse=True)
def bucket(two_systems: Path) -> Iterator[list[str]]:
    """Fill the store with the example's logs, and return the list of requests."""
    fsspec.register_implementation("counted", Counted, clobber=True)
    for path in sorted(two_systems.parent.rglob("*")):
        if path.is_file():
            below = path.relative_to(two_systems.parent).as_posix()
            put(f"bucket/runs/Example/{below}", path.read_bytes())
    yield Counted.requests
    for state in (Counted.objects, Counted.changes, Counted.requests, Counted.gone):
        state.clear()
    Counted.under_way[:] = [0, 0]


def test_listed_objects_are_fetched_once_and_in_parallel(
    bucket: list[str], two_systems: Path, tmp_path: Path
) -> None:
    assert ingest([URL], tmp_path / "x.parquet").runs == LOGS
    assert bucket[0] == "list"
    assert sorted(bucket[1:]) == sorted(Counted.objects)
    assert Counted.under_way[1] == 16
    local = ingest([two_systems.parent], tmp_path / "local.parquet").output
    names = ("source", "entry", "run_id")
    there, here = (
        store.read_tables([path]).drop(names).sort("source_digest", "eval_index").collect()
        for path in (tmp_path / "x.parquet", local)
    )
    assert there.equals(here)


def test_unchanged_objects_are_not_read_again(bucket: list[str], tmp_path: Path) -> None:
    table = tmp_path / "x.parquet"
    ingest([URL], table)
    bucket.clear()
    again = ingest([URL], table)
    assert (again.written, again.runs, bucket) == (False, LOGS, ["list"])
    changed, other = sorted(name for name in Counted.objects if name.endswith(".txt"))[:2]
    put(changed, Counted.objects[other])
    bucket.clear()
    account = ingest([URL], table)
    assert account.written
    assert changed in bucket
    assert other not in bucket
    assert len(bucket) <= 8


def test_a_store_that_tells_no_state_is_read_again(bucket: list[str], tmp_path: Path) -> None:
    Counted.changes.clear()
    ingest([URL], tmp_path / "x.parquet")
    bucket.clear()
    assert ingest([URL], tmp_path / "x.parquet").written
    assert len(bucket) == len(Counted.objects) + 1


def test_logs_of_a_store_are_read_once(
    bucket: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert run("runs", URL, cwd=tmp_path).returncode == 0
    bucket.clear()
    assert run("runs", URL, cwd=tmp_path).returncode == 0
    assert [request.partition(" ")[0] for request in bucket] == ["list"]


def test_an_object_that_is_gone_is_named(bucket: list[str], tmp_path: Path) -> None:
    gone = min(name for name in Counted.objects if name.endswith(".txt"))
    Counted.gone.add(gone)
    account = ingest([URL], tmp_path / "x.parquet")
    assert account.runs == LOGS - 1
    assert [problem.source for problem in account.rejected] == [f"counted://{gone}"]


@pytest.mark.parametrize(
    ("url", "what", "remedy"),
    [
        ("counted://nowhere/runs", "The specified bucket does not exist", "Check the URL."),
        ("counted://bucket/secret", "Access Denied", "your credentials"),
        ("counted://bucket/nothing", "no files found", "Check the URL."),
        ("nosuch://bucket/runs", "Protocol not known: nosuch", "Check the URL."),
    ],
)
def test_why_a_store_cannot_be_read(url: str, what: str, remedy: str, tmp_path: Path) -> None:
    with pytest.raises(TtastatsError, match=what) as caught:
        ingest([url], tmp_path / "x.parquet")
    assert remedy in str(caught.value)


def test_a_package_that_is_missing_is_named(tmp_path: Path) -> None:
    fsspec.register_implementation("absent", "no_such_package.Store", clobber=True)
    with pytest.raises(TtastatsError, match="absent") as caught:
        ingest(["absent://bucket/runs"], tmp_path / "x.parquet")
    assert "Install the fsspec package" in str(caught.value)


@pytest.mark.parametrize(
    ("table", "again", "changed"),
    [
        (None, "list", "list get get"),
        ("s3://bucket/runs.parquet", "head get list", "head get list get get put"),
        ("s3://bucket/table/", "list get list get", "list get list get get get put put delete"),
    ],
)
def test_an_s3_server_is_asked_a_few_times_for_logs_that_were_read(
    table: str | None,
    again: str,
    changed: str,
    s3: Any,
    two_systems: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    s3.put(f"{two_systems.parent}/", "bucket/runs/Example/", recursive=True)
    output = table or tmp_path / "x.parquet"
    assert ingest(["s3://bucket/runs"], output).runs == LOGS
    name = max(s3.find("bucket/runs/Example/results/one_gpu"))
    requests: list[str] = []
    ask = type(s3)._call_s3

    def forget() -> None:
        requests.clear()
        stores._ANSWERS.clear()
        stores._fetch_sized.cache_clear()

    async def counted(store: Any, method: str, *args: Any, **options: Any) -> Any:
        requests.append(method.partition("_")[0])
        return await ask(store, method, *args, **options)

    forget()
    with monkeypatch.context() as watched:
        watched.setattr(type(s3), "_call_s3", counted)
        assert not ingest(["s3://bucket/runs"], output).written
    assert requests == again.split()
    s3.pipe(name, s3.cat(name) + b"\n")
    forget()
    monkeypatch.setattr(type(s3), "_call_s3", counted)
    assert ingest(["s3://bucket/runs"], output).runs == LOGS
    assert requests == changed.split()
    with pytest.raises(TtastatsError, match="bucket does not exist"):
        ingest(["s3://nowhere/runs"], tmp_path / "y.parquet")
