"""Runs of an MLflow server: read as those of its files, paged, only what is new, without secrets.

A server on the loopback address tells what is asked here. A real one, which the test starts and
ends, is asked where MLflow is installed: `dev.py writers`.
"""

from __future__ import annotations

import base64
import json
import os
import pickle
import random
import signal
import socket
import string
import subprocess
import sys
import threading
import time
import traceback
import urllib.request
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote

import pytest

from tests.programs import finish, start, wait_until
from tests.test_real_writers import has
from ttastats.base import stores, streams
from ttastats.base.errors import TtastatsError
from ttastats.cli import main
from ttastats.ingestion import tracking
from ttastats.ingestion.ingest import ingest
from ttastats.ingestion.tracking import Tracking
from ttastats.table import store

SETUPS = [(name, seed) for name in ("adam", "sgd") for seed in range(3)]


class Server:
    """A tracking server on the loopback address, with pages of two.

    It records what is asked, and who asks; `answers` says otherwise for a question or a run.
    """

    def __init__(self) -> None:
        self.runs: dict[str, Any] = {}
        self.requests: list[str] = []
        self.users: set[str | None] = set()
        self.answers: dict[str, Callable[[Handler], object]] = {}
        self.names = ["Default", "letters", "digits"]
        self.place = self.url = ""
        self.ended = threading.Event()

    def answer(self, what: str, asked: dict[str, Any]) -> Any:
        if what == "experiments/search":
            every = [{"experiment_id": str(n), "name": name} for n, name in enumerate(self.names)]
            return self._page("experiments", every, asked)
        if what == "runs/search":
            chosen = [
                run
                for run in self.runs.values()
                if run["info"]["experiment_id"] in asked["experiment_ids"]
            ]
            told = [{"info": run["info"], "data": run["data"]} for run in chosen]
            return self._page("runs", told, asked)
        if "run_id" not in asked:
            return {}
        run = self.runs[asked["run_id"]]
        if what == "runs/get":
            return {"run": {"info": run["info"], "data": run["data"]}}
        return self._page("metrics", run["logged"], asked)

    def _page(self, name: str, of: list[Any], asked: dict[str, Any]) -> Any:
        start = int(asked.get("page_token", 0))
        more = {"next_page_token": str(start + 2)} if len(of) > start + 2 else {}
        return {name: of[start : start + 2]} | more

    def put(
        self, number: str, optimizer: str, seed: int, values: list[float], status: str = "FINISHED"
    ) -> None:
        """Add a run to the server, or change the values of one."""
        logged = [
            {"key": "val/acc", "value": value, "timestamp": 1_000_000 + 1_000 * step, "step": step}
            for step, value in enumerate(values)
        ]
        info = {
            "run_id": number, "run_name": f"{optimizer}-{seed}", "status": status,
            "start_time": 1_000_000, "end_time": 1_100_000, "lifecycle_stage": "active",
            "experiment_id": "2",
        }  # fmt: skip
        params = [{"key": "optimizer", "value": optimizer}, {"key": "seed", "value": str(seed)}]
        data = {"params": params, "metrics": logged[-1:]}
        self.runs[number] = {"info": info, "data": data, "logged": logged}


class Handler(BaseHTTPRequestHandler):
    """Answers what a `Server` says."""

    of: Server

    def do_GET(self) -> None:
        place, _, query = self.path.partition("?")
        asked: dict[str, Any] = dict(parse_qsl(query))
        if length := int(self.headers.get("Content-Length", 0)):
            asked |= json.loads(self.rfile.read(length))
        what = place.removeprefix("/api/2.0/mlflow/")
        number = asked.get("run_id", "") if what == "runs/get" else ""
        self.of.requests.append(number or what.partition("/")[0])
        self.of.users.add(self.headers.get("Authorization"))
        with suppress(ConnectionError):
            if other := self.of.answers.get(number) or self.of.answers.get(what):
                other(self)
                return
            self.say(self.of.answer(what, asked))

    do_POST = do_GET  # noqa: N815 - as the base class has it

    def say(self, value: Any, status: int = 200, **headers: str) -> None:
        text = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send_response(status)
        for name, content in {"Content-Length": str(len(text)), **headers}.items():
            self.send_header(name, content)
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""


@pytest.fixture
def mlflow(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """Return a server with six runs, which is asked again at once."""
    of = Server()
    for number, (optimizer, seed) in enumerate(SETUPS):
        of.put(f"{number:032x}", optimizer, seed, [0.5, 0.7, 0.8 + seed / 100])
    handler = type("Handler", (Handler,), {"of": of})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as http:
        http.daemon_threads = True
        thread = threading.Thread(target=partial(http.serve_forever, 0.01))
        thread.start()
        monkeypatch.setattr(tracking, "_PAUSES", (0.0, 0.0))
        of.place = f"127.0.0.1:{http.server_port}"
        of.url = f"mlflow+http://{of.place}#digits"
        yield of
        of.ended.set()
        http.shutdown()
        http.block_on_close = False
        thread.join()


def test_runs_are_read_by_pages_with_setup_and_seed(mlflow: Server, tmp_path: Path) -> None:
    account = ingest([mlflow.url], tmp_path / "x.parquet")
    assert (account.runs, account.evaluations, account.rejected) == (6, 18, ())
    rows = store.read_tables([tmp_path / "x.parquet"]).collect()
    names = rows.select("entry", "seed").unique(maintain_order=True).rows()
    assert names == [(f"optimizer={optimizer}", seed) for optimizer, seed in SETUPS]
    assert rows["seconds"].to_list() == [0.0, 1.0, 2.0] * 6
    assert set(rows["benchmark"]) == {"digits"}
    assert rows["source"][0] == f"{mlflow.url}/{0:032x}"
    assert mlflow.requests[:5] == ["experiments"] * 2 + ["runs"] * 3


def test_only_what_is_new_is_fetched(mlflow: Server, tmp_path: Path) -> None:
    table = tmp_path / "x.parquet"
    ingest([mlflow.url], table)
    mlflow.requests.clear()
    assert not ingest([mlflow.url], table).written
    assert set(mlflow.requests) == {"experiments", "runs"}
    mlflow.put(f"{1:032x}", "adam", 1, [0.5, 0.7, 0.8, 0.8])  # the last value is the same
    mlflow.put("f" * 32, "adam", 7, [0.5])
    mlflow.requests.clear()
    assert ingest([mlflow.url], table).runs == 7
    assert {call for call in mlflow.requests if len(call) == 32} == {f"{1:032x}", "f" * 32}


def test_runs_that_a_server_failed_to_give_are_fetched_next_time(
    mlflow: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that it refuses is left out alone; nothing is asked of one that is gone."""
    table = tmp_path / "x.parquet"
    mlflow.answers[f"{2:032x}"] = lambda to: to.say({"message": "no such table"}, 500)
    account = ingest([mlflow.url], table)
    assert account.runs == 5
    (problem,) = account.rejected
    what = "the server answers 500 (Internal Server Error), 28 bytes"
    assert (problem.code, problem.message) == ("unreadable_file", what)
    monkeypatch.setattr(Tracking, "fetch", lambda *_: None)  # one by one
    table.unlink()
    mlflow.answers[f"{2:032x}"] = lambda to: to.connection.shutdown(socket.SHUT_RDWR)
    mlflow.requests.clear()
    assert ingest([mlflow.url], table).runs == 2
    assert f"{3:032x}" not in mlflow.requests
    mlflow.answers.clear()
    mlflow.requests.clear()
    account = ingest([mlflow.url], table)
    assert (account.runs, account.unchanged, account.rejected) == (6, 2, ())
    assert f"{1:032x}" not in mlflow.requests


def test_other_processes_read_runs_of_a_server_too() -> None:
    stores.without_secrets("mlflow+http://ada:secret@elsewhere:1#x")
    packed = pickle.dumps(Tracking("mlflow+http://elsewhere:1#x"))
    stores._users.clear()
    assert pickle.loads(packed) == Tracking("mlflow+http://elsewhere:1#x")
    assert stores.user_of("mlflow+http://elsewhere:1/y") == "ada:secret"
    assert "secret" not in repr(pickle.loads(packed))


def passwords(number: int) -> Iterator[str]:
    """Yield passwords of all characters, each with two words that outputs are searched for."""
    draw = random.Random(52)
    for _ in range(number):
        text = ["".join(draw.choices(f"{string.printable}é€::@@//", k=3)) for _ in range(3)]
        yield f"{text[0]}SECRETa{text[1]}SECRETb{text[2]}"


def echo(to: Handler) -> None:
    """Answer with what was sent, as proxies do that look for a fault."""
    text = str(to.headers["Authorization"])
    to.say({"message": f"boom {text}", "error_code": text}, 403, Location=f"http://{text}/")


@pytest.mark.parametrize("password", [*passwords(5)], ids=range(5))
def test_no_output_holds_a_password(
    password: str,
    mlflow: Server,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    header = base64.b64encode(f"ada:{password}".encode()).decode()
    quoted = mlflow.url.replace("//", f"//ada:{quote(password, safe='')}@")
    texts = []

    def asked(*words: str) -> None:
        monkeypatch.setattr(sys, "argv", ["ttastats", *words])
        with pytest.raises(SystemExit):
            main()
        texts.append("".join(capfd.readouterr()))

    asked("ingest", quoted, "-o", "x.parquet")
    assert mlflow.users == {f"Basic {header}"}
    assert (tmp_path / "x.parquet").exists()
    asked("summary", quoted)
    asked("report", quoted, "-o", "x.html")
    mlflow.answers |= dict.fromkeys([*mlflow.runs][:2], echo)
    asked("ingest", quoted, "-o", "y.parquet")
    asked("problems", "y.parquet", "-f", "json")
    assert "403 (Forbidden)" in texts[-1]
    mlflow.answers["runs/search"] = echo
    raw = mlflow.url.replace("//", f"//ada:{password}@")
    for url in (quoted, raw, raw.replace("mlflow+", ""), f"s3://ada:{password}@bucket/x"):
        asked("ingest", url, "-o", "z.parquet")
        with pytest.raises(TtastatsError) as caught:
            ingest([url], "z.parquet")
        texts += traceback.format_exception(caught.value), repr(caught.value)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {path.suffix for path in files} >= {".parquet", ".html"}
    texts += [f"{path} {path.read_bytes()!r}" for path in files]
    for secret in ("SECRET", header, quote(password, safe=""), quote(password)):
        assert not [text for text in texts if secret in str(text)]


#: What a server may send in the place of an answer, and how each ends.
TRAPS: dict[str, tuple[Callable[[Handler], object], str]] = {}


def trap(ends: str) -> Callable[[Callable[[Handler], object]], Callable[[Handler], object]]:
    def kept(answer: Callable[[Handler], object]) -> Callable[[Handler], object]:
        TRAPS[answer.__name__] = answer, ends
        return answer

    return kept


@trap("larger than 0.0625 MB")
def a_body_without_end(to: Handler) -> None:
    to.send_response(200)
    to.end_headers()
    with suppress(OSError):
        to.wfile.write(b'{"experiments":[{"name":"')
        while True:
            to.wfile.write(b"A" * 65536)


@trap("pages of experiments/search do not end")
def one_page_for_ever(to: Handler) -> None:
    to.say({"next_page_token": "again"})


@trap("pages of experiments/search do not end")
def pages_without_end(to: Handler) -> None:
    to.say({"next_page_token": str(len(to.of.requests))})


@trap("no progress for 0.3 s")
def a_byte_now_and_then(to: Handler) -> None:
    to.send_response(200)
    to.end_headers()
    with suppress(OSError):
        while not to.of.ended.wait(0.05):
            to.wfile.write(b" ")


@trap("no progress for 0.3 s")
def a_header_now_and_then(to: Handler) -> None:
    with suppress(OSError):
        while not to.of.ended.wait(0.05):
            to.wfile.write(b"H")


@trap("no progress for 0.3 s")
def no_answer(to: Handler) -> None:
    to.of.ended.wait()


@trap(r"answers 302 \(Found\), 0 bytes: it leads elsewhere")
def a_redirect(to: Handler) -> None:
    to.say(b"", 302, Location=f"http://{to.of.place}/stolen")


@trap("is not MLflow's")
def other_types(to: Handler) -> None:
    values: list[Any] = [77, [], {"experiments": 5}, {"experiments": [[]]}, b"[" * 50_000, b"\xff"]
    to.say(values[len(to.of.requests) % len(values)])


@pytest.mark.parametrize("name", TRAPS)
def test_what_a_server_does_is_bounded(
    name: str, mlflow: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer, ends = TRAPS[name]
    mlflow.answers["experiments/search"] = answer
    monkeypatch.setattr(stores, "PATIENCE", 0.3)
    monkeypatch.setattr(tracking, "_PAGES", 30)
    monkeypatch.setattr(streams, "MEGABYTE", 1024**2)
    monkeypatch.setattr(streams, "document_limit", lambda: 2**18)
    for _ in range(6 if name == "other_types" else 1):
        with pytest.raises(TtastatsError, match=ends):
            ingest([mlflow.url], tmp_path / "x.parquet")
    assert "stolen" not in mlflow.requests


@pytest.mark.parametrize("more", [0, 1], ids=["at the limit", "above it"])
class TestLimits:
    """What meets a limit of a server is read, and no more; `test_limits.py` has their numbers."""

    def expect(self, more: int, what: str, mlflow: Server, path: Path) -> None:
        if not more:
            assert ingest([mlflow.url], path / "x.parquet").runs == 6
            return
        with pytest.raises(TtastatsError, match=what):
            ingest([mlflow.url], path / "x.parquet")

    def test_of_an_answer(
        self, more: int, mlflow: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(streams, "document_limit", lambda: 2**18)
        known = json.dumps(mlflow.answer("experiments/search", {"page_token": 2})).encode()
        answer = known.ljust(2**16 + more)
        mlflow.answers["experiments/search"] = lambda to: to.say(answer)
        self.expect(more, "larger than 0.0625 MB", mlflow, tmp_path)

    def test_of_pages(
        self, more: int, mlflow: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(tracking, "_PAGES", 5)
        mlflow.names = [*mlflow.names, *map(str, range(7 + more))]  # two on a page
        self.expect(more, "pages of experiments/search do not end", mlflow, tmp_path)

    def test_of_a_run(
        self, more: int, mlflow: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        mlflow.put("6".zfill(32), "adam", 9, [0.5] * 600)
        task = tracking._Task[None](lambda _: None)
        _, *lines = tracking.content(task, mlflow.url, f"digits/{'6'.zfill(32)}").split(b"\n")
        size = sum(map(len, lines))
        monkeypatch.setattr(streams, "document_limit", lambda: size - more)
        account = ingest([mlflow.url], tmp_path / "x.parquet")
        assert (account.runs, len(account.rejected)) == (7 - more, more)

    def test_of_time(
        self, more: int, mlflow: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Each piece comes in half of the time, the answer in more than it; or none comes."""
        monkeypatch.setattr(stores, "PATIENCE", 0.5 if more else 6.0)
        known = json.dumps(mlflow.answer("experiments/search", {"page_token": 2})).encode()

        def slowly(to: Handler) -> None:
            to.send_response(200)
            to.end_headers()
            with suppress(OSError):
                for _ in range(3):
                    to.of.ended.wait(60 if more else 2.5)
                    to.wfile.write(b" " * stores.PROGRESS)
                to.wfile.write(known)

        mlflow.answers["experiments/search"] = slowly
        self.expect(more, "no progress for 0.5 s", mlflow, tmp_path)


def test_a_run_without_end_leaves_the_others(
    mlflow: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "document_limit", lambda: 2**18)
    mlflow.answers["5".zfill(32)] = a_body_without_end
    account = ingest([mlflow.url], tmp_path / "x.parquet")
    assert (account.runs, len(account.rejected)) == (5, 1)


def test_a_run_without_a_number_leaves_the_others(mlflow: Server, tmp_path: Path) -> None:
    mlflow.put("", "adam", 9, [0.5])
    del mlflow.runs[""]["logged"]
    account = ingest([mlflow.url], tmp_path / "x.parquet")
    assert (account.runs, len(account.rejected)) == (6, 1)


@pytest.mark.skipif(os.name == "nt", reason="no SIGINT to one process here")
@pytest.mark.parametrize("question", ["experiments/search", "runs/search", "runs", "history"])
def test_an_interrupt_ends_a_wait_for_a_server(
    question: str, mlflow: Server, tmp_path: Path
) -> None:
    waits = threading.Event()

    def wait(to: Handler) -> None:
        waits.set()
        to.of.ended.wait()

    places = {"runs": [*mlflow.runs], "history": ["metrics/get-history"]}
    mlflow.answers |= dict.fromkeys(places.get(question, [question]), wait)
    process = start("-m", "ttastats", "ingest", mlflow.url, "-o", tmp_path / "x.parquet")
    wait_until(waits.is_set, process)
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    code, _, stderr = finish(process)
    assert code == 130, stderr
    assert "Traceback" not in stderr
    assert time.monotonic() - began < stores.PATIENCE / 2
    assert not [*tmp_path.iterdir()]


def test_a_missing_experiment_is_named(mlflow: Server, tmp_path: Path) -> None:
    with pytest.raises(TtastatsError, match="no experiment 'digit'") as caught:
        ingest([mlflow.url[:-1]], tmp_path / "x.parquet")
    assert "Nearest: digits" in str(caught.value)
    by_number = mlflow.url.replace("#digits", "#2")
    assert ingest([by_number], tmp_path / "x.parquet").runs == 6
    assert ingest([mlflow.url.partition("#")[0]], tmp_path / "y.parquet").runs == 6
    with pytest.raises(TtastatsError, match="no runs"):
        ingest([mlflow.url.replace("digits", "letters")], tmp_path / "z.parquet")
    mlflow.names[2] = "a@b"
    with pytest.raises(TtastatsError, match="an @ stands behind"):
        ingest([mlflow.url.replace("digits", "a@b")], tmp_path / "z.parquet")
    assert ingest([mlflow.url.replace("digits", "a%40b")], tmp_path / "z.parquet").runs == 6


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
    content = tracking.content

    def counted(task: Any, url: str, name: str) -> bytes:
        calls.append(name.rpartition("/")[2])
        return content(task, url, name)

    monkeypatch.setattr(tracking, "content", counted)
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
