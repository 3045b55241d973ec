"""What servers send: answers of MLflow with another value, type, status, header or end."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock
from urllib.parse import parse_qsl

from benchmarks.fuzz import mutations
from ttastats.base import stores
from ttastats.ingestion import tracking

if TYPE_CHECKING:
    from benchmarks.fuzz.around import Drawn

#: Seconds without progress until a server is given up here, and those that an ingest may take.
PATIENCE, SECONDS = 0.3, 10.0
RUNS = [f"{number:032x}" for number in range(3)]
_STATUSES = (100, 204, 206, 301, 302, 400, 401, 403, 404, 418, 429, 500, 503, 599, 999)
_HEADERS = (
    ("Content-Length", "-1"), ("Content-Length", "5"), ("Content-Length", "9" * 30),
    ("Content-Length", "x"), ("Content-Type", "text/html; charset=\xff"), ("Location", "//\x7f"),
    ("Content-Encoding", "gzip"), ("Transfer-Encoding", "chunked"), ("X", "a" * 70_000),
    ("Transfer-Encoding", "gzip"),
)  # fmt: skip
#: Words that an answer may not bring onto a screen.
SECRET = "pa%2Fss SECRET"


def _info(number: str) -> dict[str, Any]:
    return {
        "run_id": number, "run_name": "a", "status": "FINISHED", "start_time": 1_000_000,
        "end_time": 1_100_000, "lifecycle_stage": "active", "experiment_id": "1",
    }  # fmt: skip


def answer(what: str, asked: dict[str, Any]) -> Any:
    """Return what a sound server answers."""
    points = [
        {"key": "acc", "value": n / 4, "timestamp": 1_000_000 + n, "step": n} for n in range(4)
    ]
    runs = [
        {"info": _info(number), "data": {"metrics": points[-1:], "params": [], "tags": []}}
        for number in RUNS
    ]
    answers: dict[str, Any] = {
        "experiments/search": {"experiments": [{"experiment_id": "1", "name": "digits"}]},
        "runs/search": {"runs": runs},
        "runs/get": {"run": runs[0] | {"info": _info(str(asked.get("run_id")))}},
        "metrics/get-history": {"metrics": points},
    }
    return answers.get(what, {})


class Handler(BaseHTTPRequestHandler):
    """Answers a question, mostly as a sound server, with the faults that are drawn."""

    protocol_version = "HTTP/1.1"
    rng: random.Random
    faults: dict[str, Callable[[Handler, bytes], None]]
    changed: Callable[[random.Random, Any], Any]

    def do_GET(self) -> None:
        """Answer a question."""
        place, _, query = self.path.partition("?")
        asked: dict[str, Any] = dict(parse_qsl(query))
        if length := int(self.headers.get("Content-Length", 0)):
            asked |= json.loads(self.rfile.read(length))
        what = place.removeprefix("/api/2.0/mlflow/")
        value = answer(what, asked)
        self.close_connection = True
        with suppress(OSError):
            if fault := self.faults.get(what):
                fault(self, json.dumps(value).encode())
            else:
                self.say(json.dumps(value).encode())

    do_POST = do_GET  # noqa: N815 - as the base class has it

    def say(self, text: bytes, status: int = 200, *headers: tuple[str, str]) -> None:
        """Send an answer."""
        self.send_response(status)
        for name, content in headers or (("Content-Length", str(len(text))),):
            self.send_header(name, content)
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""


def _other_value(to: Handler, text: bytes) -> None:
    to.say(json.dumps(type(to).changed(to.rng, json.loads(text))).encode())


def _other_bytes(to: Handler, text: bytes) -> None:
    to.say(mutations.mutilate(to.rng, [text])[1])


def _other_status(to: Handler, text: bytes) -> None:
    echoed = to.rng.choice((text, str(to.headers).encode()))
    to.say(echoed, to.rng.choice(_STATUSES))


def _other_header(to: Handler, text: bytes) -> None:
    to.say(text, 200, *to.rng.sample(_HEADERS, to.rng.choice((1, 1, 2))))


def _other_protocol(to: Handler, text: bytes) -> None:
    heads = (b"", b"HTTP/1.1 200", b"HTTP/9 abc\r\n\r\n", b"\0" * 9, b"HTTP/1.1 200 OK\r\n" * 200)
    to.wfile.write(to.rng.choice((*heads, b"x: y\r\n" * 5_000)) + text)


def _another_page(to: Handler, text: bytes) -> None:
    token = to.rng.choice(("", "a", str(to.rng.random()), "\ud800", "a" * 9_000, "&x=\r\n"))
    to.say(json.dumps(json.loads(text) | {"next_page_token": token}).encode())


def _without_end(to: Handler, text: bytes) -> None:
    to.send_response(200)
    to.end_headers()
    pieces = (b" ", b"[" * 65_536, b'"', text, b"1" * 65_536)
    piece, end = to.rng.choice(pieces), time.monotonic() + 2 * SECONDS
    to.wfile.write(text[: to.rng.randrange(len(text))])
    while time.monotonic() < end:
        to.wfile.write(piece)
        if len(piece) == 1:
            time.sleep(PATIENCE / 3)


FAULTS = (
    *(_other_value, _other_bytes) * 4, *(_other_status, _other_header, _other_protocol) * 2,
    _another_page, _without_end,
)  # fmt: skip


@contextmanager
def serving(handler: type[Handler]) -> Iterator[str]:
    """Serve on the loopback address; yield the place."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as http:
        http.daemon_threads, http.block_on_close = True, False
        http.handle_error = lambda *_: None  # type: ignore[method-assign]
        thread = threading.Thread(target=partial(http.serve_forever, 0.01))
        thread.start()
        try:
            yield f"127.0.0.1:{http.server_port}"
        finally:
            http.shutdown()
            thread.join()


def served(
    rng: random.Random,
    folder: Path,
    drawn: Drawn,
    changed: Callable[[random.Random, Any], Any],
) -> None:
    """Ingest runs of a server, some answers of which are changed, and ask for their problems."""
    questions = ("experiments/search", "runs/search", "runs/get", "metrics/get-history")
    chosen = rng.sample(questions, rng.choice((1, 1, 2)))
    faults = {what: rng.choice(FAULTS) for what in chosen}
    about = {"rng": rng, "faults": faults, "changed": staticmethod(changed)}
    output = folder / "x.parquet"
    with (
        serving(type("Handler", (Handler,), about)) as place,
        mock.patch.object(stores, "PATIENCE", PATIENCE),
        mock.patch.object(tracking, "_PAUSES", (0.0,)),
        mock.patch.object(tracking, "_PAGES", 50),
    ):
        begun, before = time.monotonic(), len(drawn.findings)
        url = f"mlflow+http://ada:{SECRET.replace(' ', '%20')}@{place}#digits"
        if drawn.ask(["ingest", url, "-o", str(output)]).code in {0, 1}:
            drawn.ask(["problems", str(output), "-f", "json"])
            drawn.ask(["runs", str(output), "-f", "json"])
        if (took := time.monotonic() - begun) > SECONDS:
            drawn.findings.append(f"took {took:.0f} s")
    files = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    if b"SECRET" in files or any("SECRET" in text for text in drawn.findings[before:]):
        drawn.findings.append("the password is shown")
    names = ", ".join(f"{what}: {fault.__name__}" for what, fault in faults.items())
    drawn.findings[before:] = [f"{names}\n  {text}" for text in drawn.findings[before:]]
