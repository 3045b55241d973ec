"""Runs of an MLflow server: read as those of its files, paged, only what is new, without secrets.

What the server tells is asked of a client in memory here. A real server, which the test starts and
ends, is asked by MLflow's own client where both are installed: `dev.py writers`.
"""

from __future__ import annotations

import os
import pickle
import socket
import subprocess
import sys
import types
import urllib.request
import warnings
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

import pytest
from typer.testing import CliRunner

from tests.programs import wait_until
from tests.test_real_writers import has
from ttastats.base import stores
from ttastats.base.errors import TtastatsError
from ttastats.cli import app
from ttastats.ingestion import tracking
from ttastats.ingestion.ingest import ingest
from ttastats.ingestion.tracking import Tracking
from ttastats.table import store

URL = "mlflow+http://127.0.0.1:5000#digits"
SETUPS = [(name, seed) for name in ("adam", "sgd") for seed in range(3)]


class Page(list[Any]):
    token: str | None = None


class RestError(Exception):
    """The error that the client raises for an error of the server."""


class Client:
    """A client of a server in memory, which records requests and returns pages of two."""

    runs: ClassVar[dict[str, Any]] = {}
    requests: ClassVar[list[str]] = []
    uris: ClassVar[list[str]] = []
    fails: ClassVar[dict[str, Exception]] = {}

    def __init__(self, tracking_uri: str) -> None:
        self.uris.append(tracking_uri)

    def _page(self, of: list[Any], token: str | None) -> Page:
        start = int(token or 0)
        page = Page(of[start : start + 2])
        page.token = str(start + 2) if len(of) > start + 2 else None
        return page

    def search_experiments(self, *, max_results: int, page_token: str | None) -> Page:
        self.requests.append("experiments")
        names = ["Default", "letters", "digits"]
        every = [
            types.SimpleNamespace(experiment_id=str(n), name=title) for n, title in enumerate(names)
        ]
        return self._page(every, page_token)

    def search_runs(self, experiment_ids: list[str], page_token: str | None, **_: Any) -> Page:
        self.requests.append("runs")
        chosen = [run for run in self.runs.values() if run.info.experiment_id in experiment_ids]
        return self._page(chosen, page_token)

    def get_run(self, number: str) -> Any:
        self.requests.append(number)
        if number in self.fails:
            raise self.fails[number]
        return self.runs[number]

    def get_metric_history(self, number: str, metric: str) -> list[Any]:
        return self.runs[number].logged[metric]


def put(
    number: str, optimizer: str, seed: int, values: list[float], status: str = "FINISHED"
) -> None:
    """Add a run to the server, or change the values of one."""
    logged = [
        types.SimpleNamespace(
            key="val/acc", value=value, timestamp=1_000_000 + 1_000 * step, step=step
        )
        for step, value in enumerate(values)
    ]
    info = types.SimpleNamespace(
        run_id=number, run_name=f"{optimizer}-{seed}", status=status, start_time=1_000_000,
        end_time=1_100_000, lifecycle_stage="active", experiment_id="2",
    )  # fmt: skip
    data = types.SimpleNamespace(
        params={"optimizer": optimizer, "seed": str(seed)}, tags={}, _metric_objs=logged[-1:],
        metrics={"val/acc": values[-1]},
    )  # fmt: skip
    state = {"info": dict(vars(info)), "data": {"params": dict(data.params), "last": values[-1]}}
    Client.runs[number] = types.SimpleNamespace(
        info=info, data=data, logged={"val/acc": logged}, to_dictionary=lambda: state
    )


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Replace MLflow's client by one in memory with six runs, and return the list of requests."""
    named = {
        "mlflow": types.SimpleNamespace(MlflowClient=Client),
        "mlflow.entities": types.SimpleNamespace(ViewType=types.SimpleNamespace(ALL=3)),
        "mlflow.exceptions": types.SimpleNamespace(RestException=RestError),
    }
    for name, module in named.items():
        monkeypatch.setitem(sys.modules, name, module)
    for number, (optimizer, seed) in enumerate(SETUPS):
        put(f"{number:032x}", optimizer, seed, [0.5, 0.7, 0.8 + seed / 100])
    yield Client.requests
    for state in (Client.runs, Client.requests, Client.uris, Client.fails):
        state.clear()


def test_runs_are_read_by_pages_with_setup_and_seed(calls: list[str], tmp_path: Path) -> None:
    account = ingest([URL], tmp_path / "x.parquet")
    assert (account.runs, account.evaluations, account.rejected) == (6, 18, ())
    rows = store.read_tables([tmp_path / "x.parquet"]).collect()
    names = rows.select("entry", "seed").unique(maintain_order=True).rows()
    assert names == [(f"optimizer={optimizer}", seed) for optimizer, seed in SETUPS]
    assert rows["seconds"].to_list() == [0.0, 1.0, 2.0] * 6
    assert set(rows["benchmark"]) == {"digits"}
    assert rows["source"][0] == f"{URL}/{0:032x}"
    assert calls[:5] == ["experiments"] * 2 + ["runs"] * 3


def test_only_what_is_new_is_fetched(calls: list[str], tmp_path: Path) -> None:
    table = tmp_path / "x.parquet"
    ingest([URL], table)
    calls.clear()
    assert not ingest([URL], table).written
    assert set(calls) == {"experiments", "runs"}
    put(f"{1:032x}", "adam", 1, [0.5, 0.7, 0.8, 0.8])  # the last value is the same
    put("f" * 32, "adam", 7, [0.5])
    calls.clear()
    assert ingest([URL], table).runs == 7
    assert {call for call in calls if len(call) == 32} == {f"{1:032x}", "f" * 32}


def test_runs_that_a_server_failed_to_give_are_fetched_next_time(
    calls: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that it refuses is left out alone; nothing is asked of one that is gone."""
    table = tmp_path / "x.parquet"
    Client.fails[f"{2:032x}"] = RestError("INTERNAL_ERROR: no such table")
    account = ingest([URL], table)
    assert account.runs == 5
    (problem,) = account.rejected
    assert (problem.code, problem.message) == ("unreadable_file", "INTERNAL_ERROR: no such table")
    monkeypatch.setattr(Tracking, "fetch", lambda *_: None)  # one by one
    table.unlink()
    Client.fails.clear()
    gone = ConnectionError("HTTPConnectionPool(...): [Errno 111] Connection refused')")
    Client.fails[f"{2:032x}"] = gone
    calls.clear()
    assert ingest([URL], table).runs == 2
    assert f"{3:032x}" not in calls
    Client.fails.clear()
    calls.clear()
    account = ingest([URL], table)
    assert (account.runs, account.unchanged, account.rejected) == (6, 2, ())
    assert f"{1:032x}" not in calls


def test_other_processes_read_runs_of_a_server_too() -> None:
    stores.without_user("mlflow+http://ada:secret@elsewhere:1#x")
    packed = pickle.dumps(Tracking("mlflow+http://elsewhere:1#x"))
    stores._known.clear()
    assert pickle.loads(packed) == Tracking("mlflow+http://elsewhere:1#x")
    assert stores.user_of("mlflow+http://elsewhere:1/y") == "ada:secret"
    assert "secret" not in repr(pickle.loads(packed))


def test_credentials_are_sent_to_the_server_alone(
    calls: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_TOKEN", "t0ken")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    url = URL.replace("//", "//ada:s%65cret@")
    shown = CliRunner().invoke(app, ["ingest", url, "-o", "x.parquet"]).output
    shown += CliRunner().invoke(app, ["runs", url]).output
    shown += CliRunner().invoke(app, ["guess", url]).output
    assert set(Client.uris) == {"http://ada:s%65cret@127.0.0.1:5000"}
    Client.fails |= {run: ConnectionError(f"{url} secret t0ken s%65cret") for run in Client.runs}
    failed = CliRunner().invoke(app, ["ingest", url, "-o", "y.parquet"])
    assert failed.exit_code
    assert "***" in str(failed.exception)
    monkeypatch.setattr(Client, "search_runs", lambda *_, **__: 1 / 0)
    with pytest.raises(TtastatsError) as caught:
        ingest([url], "z.parquet")
    assert os.environ.get("MLFLOW_HTTP_REQUEST_MAX_RETRIES") is None
    texts = [shown, str(failed.exception), failed.output, str(caught.value)]
    contents = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    for secret in ("s%65cret", "secret", "t0ken"):
        assert not [text for text in texts if secret in text]
        assert not [content for content in contents if secret.encode() in content]


def test_a_missing_experiment_is_named(calls: list[str], tmp_path: Path) -> None:
    with pytest.raises(TtastatsError, match="no experiment 'digit'") as caught:
        ingest([URL[:-1]], tmp_path / "x.parquet")
    assert "Nearest: digits" in str(caught.value)
    by_number = URL.replace("#digits", "#2")
    assert ingest([by_number], tmp_path / "x.parquet").runs == 6
    assert ingest([URL.partition("#")[0]], tmp_path / "y.parquet").runs == 6
    with pytest.raises(TtastatsError, match="no runs"):
        ingest([URL.replace("digits", "letters")], tmp_path / "z.parquet")


def test_a_missing_client_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.raises(TtastatsError, match="MLflow's client, which is not installed") as caught:
        ingest([URL], tmp_path / "x.parquet")
    assert "pip install mlflow-skinny" in str(caught.value)


@pytest.mark.parametrize("text", [b"1", b'{"metric": 1}\n', b'{"logged":[[1,2]],"metric":"a"}'])
def test_files_that_no_server_wrote_are_refused(text: bytes, tmp_path: Path) -> None:
    path = tmp_path / "run"
    path.write_bytes(b'{"mlflow_run":{"run_id":"a"}}\n' + text)
    with pytest.raises(TtastatsError, match="not a run of an MLflow server"):
        ingest([path], tmp_path / "x.parquet")


# ------------------------------------------------------------------------------- the real server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start a tracking server on the loopback address, and end it."""
    for module in ("mlflow", "sqlalchemy", "flask_cors"):
        if not has(module):
            pytest.skip(f"{module} is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what MLflow imports
        pytest.importorskip("mlflow")
    folder = tmp_path_factory.mktemp("server")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{free.getsockname()[1]}"
    words = [sys.executable, "-m", "mlflow", "server", "--workers", "1", "--host", "127.0.0.1"]
    words += ["--backend-store-uri", f"sqlite:///{folder}/mlflow.db", "--port", place[10:]]
    quiet = {
        **os.environ,
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
    }
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(words, cwd=folder, stdout=log, stderr=log, env=quiet)
    try:
        wait_until(lambda: _answers(place), process)
        yield place
    finally:
        process.terminate()
        process.wait(60)


def _answers(place: str) -> bool:
    with suppress(OSError):
        urllib.request.urlopen(f"http://{place}/health", timeout=5).close()
        return True
    return False


def test_a_real_server_is_asked_for_what_is_new(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mlflow import MlflowClient

    url, table = f"mlflow+http://{server}#digits", tmp_path / "x.parquet"
    client = MlflowClient(tracking_uri=f"http://{server}")
    experiment = client.create_experiment("digits")
    for optimizer, seed in SETUPS:
        run = client.create_run(experiment, start_time=1_000_000).info.run_id
        client.log_param(run, "optimizer", optimizer)
        client.log_param(run, "seed", seed)
        for step in range(3):
            client.log_metric(run, "val/acc", step / 4, 1_000_000 + 1_000 * step, step)
        client.set_terminated(run, "FINISHED", end_time=1_100_000)
    monkeypatch.setattr(tracking, "_PAGE", 2)
    calls: list[str] = []
    get_run = MlflowClient.get_run

    def counted(client: Any, number: str) -> Any:
        calls.append(number)
        return get_run(client, number)

    monkeypatch.setattr(MlflowClient, "get_run", counted)
    assert ingest([url], table).runs == len(calls) == 6
    rows = store.read_tables([table]).collect()
    assert set(rows["entry"]) == {"optimizer=adam", "optimizer=sgd"}
    assert rows["seconds"].to_list() == [0.0, 1.0, 2.0] * 6
    calls.clear()
    assert not ingest([url], table).written
    assert calls == []
    client.log_metric(run, "val/acc", 0.99, step=20)
    new = client.create_run(experiment).info.run_id
    client.log_metric(new, "val/acc", 0.5)
    assert ingest([url], table).runs == 7
    assert set(calls) == {run, new}
    client.delete_run(new)
    account = ingest([url], table)
    assert account.runs == 6
    assert "deleted_run" in account.problem_counts()
