"""Several processes or a Dask cluster give the same result as one process."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import sys
from collections.abc import Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import polars as pl
import pytest

from tests import programs
from tests.programs import PATIENCE
from ttastats.base.errors import TtastatsError
from ttastats.base.stores import parse_place
from ttastats.ingestion import ingest as ingestion
from ttastats.ingestion import workers
from ttastats.ingestion.ingest import ingest
from ttastats.ingestion.reading import Reading, Result
from ttastats.table import store

LOGS = 20
COPIES = 3


@pytest.fixture
def logs(two_systems: Path, tmp_path: Path) -> Path:
    """Return many logs, each a unit of work."""
    for number in range(COPIES):
        shutil.copytree(two_systems.parent, tmp_path / "logs" / f"v{number}" / "Example")
    return tmp_path / "logs"


@pytest.fixture
def one_file_a_unit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingestion, "_UNIT_FILES", 1)


def read(path: Path) -> pl.DataFrame:
    return store.read_tables([path]).collect()


class TestDask:
    @pytest.fixture
    def local(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
        distributed = pytest.importorskip("distributed")
        monkeypatch.setattr(workers, "_PATIENCE", f"{PATIENCE}s")
        with distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
        ) as running:
            yield running

    @pytest.mark.filterwarnings("default")  # those of Dask are not ours
    @pytest.mark.usefixtures("one_file_a_unit")
    @pytest.mark.skipif(os.name == "nt", reason="no SIGKILL here")
    @pytest.mark.parametrize("bucket", [None, "s3://bucket/"])
    def test_a_cluster_that_loses_a_worker_gives_every_row(
        self,
        bucket: str | None,
        logs: Path,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        request: pytest.FixtureRequest,
    ) -> None:
        source, output = f"{logs}/v0", f"{tmp_path}/parts/"
        if bucket:
            request.getfixturevalue("s3").put(f"{source}/", "bucket/logs/", recursive=True)
            source, output = f"{bucket}logs", f"{bucket}table/"
        local = request.getfixturevalue("local")  # its workers inherit the address of `s3`
        alone = ingest([source], tmp_path / "alone.parquet", workers=1)
        before = {worker.pid for worker in local.workers.values()}
        finished: list[int] = []

        def kill_one(number: int, total: int) -> None:
            if not finished:
                os.kill(min(before), signal.SIGKILL)
            finished.append(number)
            assert number <= total

        def none_here(*_: Any, **__: Any) -> None:
            raise AssertionError("the client read a log")

        with workers.dask(local.scheduler_address) as executor:
            monkeypatch.setattr("ttastats.ingestion.containers.Remote.open", none_here)
            account = ingest([source], output, executor=executor, on_progress=kill_one)
        assert len(finished) == account.files
        assert {worker.pid for worker in local.workers.values()} != before
        assert (account.runs, alone.runs) == (LOGS, LOGS)
        assert account.problems == alone.problems
        rows = store.read_tables([parse_place(output)]).collect()
        assert rows.equals(read(Path(str(alone.output))))

    @pytest.mark.parametrize(
        ("scheduler", "worker", "there"),
        [
            ("0.0.1", None, "0.0.1"),
            (None, "9.9.9", "9.9.9"),
            (None, PackageNotFoundError(), "none"),
        ],
    )
    def test_another_version_on_the_cluster_is_refused_at_once(
        self, scheduler: str | None, worker: str | Exception | None, there: str
    ) -> None:
        client = Mock()
        client.run_on_scheduler.return_value = scheduler or version("ttastats")
        client.run.side_effect = [
            worker if isinstance(worker, Exception) else {"tcp://w": worker or version("ttastats")}
        ]
        with pytest.raises(TtastatsError, match=f"the Dask cluster has ttastats {there}, this"):
            workers._expect_same_program(client, "tcp://x")

    def test_a_dead_address_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        pytest.importorskip("distributed")
        monkeypatch.setattr(workers, "_PATIENCE", "1s")
        with socket.socket() as taken:  # a port on which nobody answers
            taken.bind(("127.0.0.1", 0))
            address = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
            for place in (address, "nonsense://x"):
                refused = pytest.raises(TtastatsError, match="cannot connect to the Dask cluster: ")
                with refused as caught, workers.dask(place):
                    pass
                assert str(caught.value).startswith(f"{place}: ")
                assert str(caught.value).count("\n") == 1

    def test_without_the_package_one_line_shows_the_install_command(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, "distributed", None)
        refused = pytest.raises(TtastatsError, match=r'pip install "ttastats\[cluster\]"')
        with refused, workers.dask("tcp://127.0.0.1:1"):
            pass


class TestProcesses:
    @pytest.mark.usefixtures("one_file_a_unit")
    def test_several_processes_give_the_same_rows(self, logs: Path, tmp_path: Path) -> None:
        few = logs / "v0"
        alone = ingest([few], tmp_path / "alone.parquet", workers=1)
        many = ingest([few], tmp_path / "many.parquet", workers=2)
        assert many.runs == LOGS
        assert read(many.output).equals(read(alone.output))

    @pytest.mark.parametrize("started", ["-m script", "-c"])
    def test_a_script_without_a_guard_is_run_once(
        self, started: str, two_systems: Path, tmp_path: Path
    ) -> None:
        text = (
            "import ttastats as tta, sys; print('begun')\n"
            f"print(tta.ingest({str(two_systems)!r}, 'o.parquet', workers=3).runs)\n"
            "print(sys.modules['__main__'].__spec__)\n"
        )
        (tmp_path / "script.py").write_text(text)
        ran = programs.python(*started.split(), *([text] if started == "-c" else []), cwd=tmp_path)
        begun, runs, spec = ran.stdout.splitlines()
        assert (begun, runs, ran.returncode, ran.stderr) == ("begun", "20", 0, "")
        assert ("script" in spec) == (started == "-m script"), "it is as it was"

    @pytest.mark.usefixtures("one_file_a_unit")
    def test_this_process_reads_while_others_start(
        self, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        read_here = Mock(side_effect=workers.read_unit)
        monkeypatch.setattr(workers, "read_unit", read_here)
        monkeypatch.setattr(workers, "processes", lambda _: _never())
        account = ingest([logs], tmp_path / "x.parquet", workers=2)
        assert account.runs == LOGS * COPIES
        assert account.files == read_here.call_count

    @pytest.mark.skipif(os.name == "nt", reason="no SIGKILL here")
    def test_a_killed_process_is_one_clear_error_and_the_old_file_stays(
        self, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        output = tmp_path / "x.parquet"
        ingest([logs / "v0"], output)
        old = output.read_bytes()
        monkeypatch.setattr(workers, "read_unit", _die)
        monkeypatch.setattr(workers, "_steal_work", lambda *_: None)  # or the other may get no work
        with pytest.raises(TtastatsError, match="a worker process was killed"):
            ingest([logs], output, workers=2)
        assert output.read_bytes() == old
        assert list(tmp_path.glob(".*")) == []


def _die(_unit: object, _reading: Reading, _place: object = None) -> Result:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("still alive")


@contextmanager
def _never() -> Iterator[Executor]:
    """Return an executor that begins nothing."""
    executor = Mock()
    executor.submit.side_effect = lambda *_: Future()
    yield executor
