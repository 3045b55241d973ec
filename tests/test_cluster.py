"""Who does the work: several processes or a Dask cluster give what one process gives."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from ttastats import cluster, ingestion, store
from ttastats.errors import TtastatsError
from ttastats.ingestion import Reading, Result, ingest

LOGS = 20
COPIES = 15


@pytest.fixture
def logs(two_systems: Path, tmp_path: Path) -> Path:
    """Give many logs, in one unit of work each."""
    for number in range(COPIES):
        shutil.copytree(two_systems.parent, tmp_path / "logs" / f"v{number}" / "Example")
    return tmp_path / "logs"


@pytest.fixture
def one_file_a_unit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingestion, "_UNIT_FILES", 1)


def read(path: Path) -> pl.DataFrame:
    return store.read([path]).collect()


class TestDask:
    @pytest.fixture
    def local(self) -> Iterator[Any]:
        distributed = pytest.importorskip("distributed")
        with distributed.LocalCluster(
            n_workers=3, threads_per_worker=1, dashboard_address=None, silence_logs=50
        ) as running:
            yield running

    @pytest.mark.filterwarnings("default")  # those of Dask are not ours
    @pytest.mark.usefixtures("one_file_a_unit")
    @pytest.mark.skipif(os.name == "nt", reason="no SIGKILL here")
    def test_a_cluster_that_loses_a_worker_gives_every_row(
        self, logs: Path, tmp_path: Path, local: Any
    ) -> None:
        alone = ingest([logs], tmp_path / "alone.parquet", workers=1)
        before = {worker.pid for worker in local.workers.values()}
        killed: list[int] = []

        def kill_one(done: int, total: int) -> None:
            if not killed and done < total / 4:
                killed.append(min(before))
                os.kill(killed[0], signal.SIGKILL)

        with cluster.dask(local.scheduler_address) as executor:
            account = ingest([logs], f"{tmp_path}/parts/", executor=executor, on_progress=kill_one)
        assert killed
        assert {worker.pid for worker in local.workers.values()} != before
        assert (account.runs, alone.runs) == (LOGS * COPIES, LOGS * COPIES)
        assert account.problems == alone.problems
        assert read(account.output).equals(read(alone.output))

    def test_a_dead_address_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        pytest.importorskip("distributed")
        monkeypatch.setattr(cluster, "_PATIENCE", "1s")
        with socket.socket() as taken:  # a port on which nobody answers
            taken.bind(("127.0.0.1", 0))
            address = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
            for place in (address, "nonsense://x"):
                said = pytest.raises(TtastatsError, match="no Dask cluster answers")
                with said as caught, cluster.dask(place):
                    pass
                assert str(caught.value).startswith(f"{place}: ")
                assert str(caught.value).count("\n") == 1

    def test_without_the_package_one_line_says_what_to_install(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, "distributed", None)
        said = pytest.raises(TtastatsError, match=r"pip install 'ttastats\[cluster\]'")
        with said, cluster.dask("tcp://127.0.0.1:1"):
            pass


class TestProcesses:
    @pytest.mark.usefixtures("one_file_a_unit")
    def test_several_processes_give_the_same_rows(self, logs: Path, tmp_path: Path) -> None:
        few = logs / "v0"
        alone = ingest([few], tmp_path / "alone.parquet", workers=1)
        many = ingest([few], tmp_path / "many.parquet", workers=2)
        assert many.runs == LOGS
        assert read(many.output).equals(read(alone.output))

    @pytest.mark.skipif(os.name == "nt", reason="no SIGKILL here")
    def test_a_killed_process_is_one_clear_error_and_the_old_file_stays(
        self, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        output = tmp_path / "x.parquet"
        ingest([logs / "v0"], output)
        old = output.read_bytes()
        monkeypatch.setattr(ingestion, "read_unit", _die)
        with pytest.raises(TtastatsError, match="a process that read logs was killed"):
            ingest([logs], output, workers=2)
        assert output.read_bytes() == old
        assert list(tmp_path.glob(".*")) == []


def _die(_unit: object, _reading: Reading) -> Result:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("still alive")
