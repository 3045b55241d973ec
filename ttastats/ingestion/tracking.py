"""What does a tracking server of MLflow hold of runs? Asked through its REST interface.

Each run is a file: a line of JSON that describes it, then lines for every metric, which the
dialect `mlflow` reads. A server is an input too: its answers are bounded, in bytes, pages and time
without progress, and of what it says in an error no more is shown than the status and the length.
"""

from __future__ import annotations

import base64
import io
import os
import ssl
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYetError
from contextlib import suppress
from functools import cache
from http import HTTPStatus
from http.client import HTTPException
from threading import Thread
from typing import IO, Any, Generic, TypeVar
from urllib.error import HTTPError, URLError
from urllib.parse import quote, unquote
from urllib.request import (
    HTTPDefaultErrorHandler,
    HTTPErrorProcessor,
    HTTPHandler,
    HTTPSHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
)

import msgspec
import xxhash

from ttastats.base import stores, streams
from ttastats.base.errors import TtastatsError, suggestion
from ttastats.ingestion.containers import Fetched, File
from ttastats_parsers.mlflow import SERVED

#: Runs and experiments of a page, and values of one, which servers allow.
_PAGE, _VALUES = 200, 25_000
#: Pages of one answer: two million runs.
_PAGES = 10_000
#: Bytes that the values of a metric are taken for before they are fetched.
_HISTORY = 32 * 1024
#: Seconds before a server that is busy or gone is asked again.
_PAUSES = (1.0, 2.0, 4.0)
_BUSY = {429, 502, 503, 504}


class Tracking(Fetched):
    """A tracking server of MLflow, each run of which is a file.

    Runs are fetched before they are read: some at a time, and the last read is kept. Of a server
    that was lost nothing more is asked.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self._waiting: deque[str] = deque()
        self._under_way: dict[str, _Task[bytes]] = {}
        self._last = ("", b"")
        self._lost = ""  # the reason

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tracking) and self.url == other.url

    def __hash__(self) -> int:
        return hash(self.url)

    def open(self, name: str) -> IO[bytes]:
        """Return the content of a run, requested from the server."""
        if self._last[0] != name:
            if self._lost:
                raise OSError(self._lost)
            try:
                task = self._under_way.pop(name, None) or _Task(content, self.url, name)
                self._last = name, task.result()
            except LostError as error:
                self._lost = str(error)
                raise
            finally:
                self._fetch_next()
        return io.BytesIO(self._last[1])

    def fetch(self, files: Iterable[File]) -> None:
        """Start fetching runs in parallel, ahead of their use."""
        self._waiting.extend(file.name for file in files)
        self._fetch_next()

    def _fetch_next(self) -> None:
        """Fetch the next runs while fewer than the limit are under way."""
        while self._waiting and len(self._under_way) < stores.SIDE_BY_SIDE:
            name = self._waiting.popleft()
            if not self._lost:
                self._under_way[name] = _Task(content, self.url, name)

    def release(self) -> None:
        """Stop fetching."""
        self._waiting.clear()
        for task in self._under_way.values():
            task.is_wanted = False
        self._under_way.clear()

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how another process makes it, which is told who asks."""
        return _tracking, (self.url, stores.secrets_of(self.url))


def _tracking(url: str, secrets: tuple[dict[str, str], dict[str, str]]) -> Tracking:
    stores.remember(*secrets)
    return Tracking(url)


class RefusedError(OSError):
    """The server does not give what was asked for, or gives what is not read."""


class LostError(RefusedError):
    """The server does not answer, or refuses to: nothing more is asked."""


class _BusyError(LostError):
    """To ask again may help."""


_T = TypeVar("_T")


class _Task(Generic[_T]):
    """Questions to a server, asked in a thread that nobody waits for once it makes no progress.

    An interrupt ends the wait, whatever the thread waits for; it dies with the process.
    """

    def __init__(self, ask: Callable[..., _T], *words: str) -> None:
        self.progress, self.is_wanted = time.monotonic(), True
        self._future: Future[_T] = Future()
        Thread(target=self._run, args=(ask, *words), daemon=True).start()

    def _run(self, ask: Callable[..., _T], *words: str) -> None:
        try:
            self._future.set_result(ask(self, *words))
        except BaseException as error:  # handed to whoever waits
            self._future.set_exception(error)

    def result(self) -> _T:
        """Return the answer; a LostError says that the server makes no progress."""
        while True:
            try:
                return self._future.result(timeout=min(1.0, stores.PATIENCE))
            except NotYetError:
                if self._future.done():
                    raise
                if time.monotonic() > self.progress + stores.PATIENCE:
                    self.is_wanted = False
                    message = f"the server made no progress for {stores.PATIENCE:g} s"
                    raise LostError(message) from None

    def advance(self) -> None:
        """Note progress; end the thread if nobody waits for it."""
        self.progress = time.monotonic()
        if not self.is_wanted:
            raise LostError("is not wanted any more")


def _server_and_experiment(url: str) -> tuple[str, str]:
    """Return the server and the experiment in a URL, if any."""
    server, _, experiment = url.removeprefix("mlflow+").partition("#")
    return server.rstrip("/"), unquote(experiment)


def runs(url: str) -> list[File]:
    """Return the runs of an experiment or of all as files: how large they may be, their state."""
    try:
        return _Task(_runs, url).result()
    except OSError as error:
        raise TtastatsError(
            f"cannot be read: {error}",
            where=url,
            remedy="Check the URL and the server. Who asks is told by MLFLOW_TRACKING_TOKEN, or "
            "MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD.",
        ) from None


def _runs(task: _Task[Any], url: str) -> list[File]:
    experiment_name = _server_and_experiment(url)[1]
    body: dict[str, Any] = {"max_results": _PAGE}
    experiments = {
        experiment.experiment_id: experiment.name
        for page in _pages(task, url, "experiments/search", body, _Experiments)
        for experiment in page.experiments
    }
    names = {id_: name for id_, name in experiments.items() if experiment_name in {"", name}}
    names = names or {id_: name for id_, name in experiments.items() if id_ == experiment_name}
    if not names:
        remedy = suggestion(experiment_name, sorted(experiments.values()), "Experiments", most=12)
        raise TtastatsError(f"no experiment {experiment_name!r}", where=url, remedy=remedy)
    body |= {
        "experiment_ids": [*names],
        "run_view_type": "ALL",
        "order_by": ["attributes.start_time ASC"],  # what is begun meanwhile comes last
    }
    return [
        File(
            f"{names.get(run.info.experiment_id, experiment_name)}/{run.info.run_id}",
            _HISTORY * (1 + len(run.data.metrics)),
            xxhash.xxh3_64_intdigest(_encode(run.sorted())) >> 1 or 1,
        )
        for page in _pages(task, url, "runs/search", body, _Runs)
        for run in page.runs
    ]


def content(task: _Task[Any], url: str, name: str) -> bytes:
    """Return the content of a run by its name in `runs`.

    An OSError says that the server does not give it, a LostError that it gives no other either.
    """
    experiment, _, number = name.rpartition("/")
    run = _answer(task, url, "runs/get", {"run_id": number}, _OneRun).run
    params, tags = (
        {pair.key: pair.value for pair in pairs} for pairs in (run.data.params, run.data.tags)
    )
    described = {SERVED: run.info, "experiment": experiment, "params": params, "tags": tags}
    lines, size = [_encode(described)], 0
    deleted = run.info.lifecycle_stage == "deleted"
    for metric in () if deleted else sorted({metric.key for metric in run.data.metrics}):
        query = {"run_id": number, "metric_key": metric, "max_results": _VALUES}
        for page in _pages(task, url, "metrics/get-history", query, _History, in_url=True):
            logged = [(point.timestamp, point.value, point.step) for point in page.metrics]
            lines.append(_encode({"metric": metric, "logged": logged}))
            size += len(lines[-1])
            _expect_size(size, streams.document_limit())
    return b"\n".join(lines)


_encode = msgspec.json.encode


class _Experiment(msgspec.Struct):
    experiment_id: str
    name: str


class _Info(msgspec.Struct):
    run_id: str
    experiment_id: str = ""
    run_name: str | None = None
    status: str | None = None
    start_time: int | None = None
    end_time: int | None = None
    lifecycle_stage: str | None = None


class _Metric(msgspec.Struct):
    key: str = ""
    value: float | None = None
    timestamp: int = 0
    step: int = 0


class _Pair(msgspec.Struct):
    key: str
    value: str = ""


class _Data(msgspec.Struct):
    metrics: list[_Metric] = []
    params: list[_Pair] = []
    tags: list[_Pair] = []


class _Run(msgspec.Struct):
    info: _Info
    data: _Data = msgspec.field(default_factory=_Data)

    def sorted(self) -> list[Any]:
        """Return all that a search tells of the run, in an order that does not change.

        A value that is logged for an earlier step, behind the end of a run, changes nothing here.
        """
        parts = (self.data.params, self.data.tags, self.data.metrics)
        return [self.info, *(sorted(map(_encode, part)) for part in parts)]


class _OneRun(msgspec.Struct):
    run: _Run


class _Page(msgspec.Struct):
    next_page_token: str | None = None


class _Experiments(_Page):
    experiments: list[_Experiment] = []


class _Runs(_Page):
    runs: list[_Run] = []


class _History(_Page):
    metrics: list[_Metric] = []


_P = TypeVar("_P", bound=_Page)


def _pages(
    task: _Task[Any],
    url: str,
    method: str,
    query: Mapping[str, Any],
    kind: type[_P],
    *,
    in_url: bool = False,
) -> Iterator[_P]:
    """Yield the pages of an answer, each of which names the next; none is asked for twice."""
    tokens: set[str] = set()
    token: dict[str, str] = {}
    while True:
        yield (page := _answer(task, url, method, {**query, **token}, kind, in_url=in_url))
        if not page.next_page_token:
            return
        if page.next_page_token in tokens or len(tokens) + 1 >= _PAGES:
            raise LostError(f"the pages of {method} do not end ({len(tokens) + 1:,} read)")
        tokens.add(page.next_page_token)
        token = {"page_token": page.next_page_token}


def _answer(
    task: _Task[Any],
    url: str,
    method: str,
    query: Mapping[str, Any],
    kind: type[_T],
    *,
    in_url: bool = True,
) -> _T:
    """Return an answer of the server, of a kind."""
    address = f"{_server_and_experiment(url)[0]}/api/2.0/mlflow/{method}"
    headers, data = _authorization(url), None
    if in_url:
        address += "?" + "&".join(f"{key}={quote(str(query[key]), safe='')}" for key in query)
    else:
        headers["Content-Type"], data = "application/json", _encode(query)
    request = Request(address, data, headers)  # noqa: S310 - it begins with http
    for pause in _PAUSES:
        try:
            text = _body(task, request)
            break
        except _BusyError:
            time.sleep(pause)
            task.advance()
    else:
        text = _body(task, request)
    try:
        return msgspec.json.decode(text, type=kind, strict=False)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        raise RefusedError(
            f"the answer to {method}, {len(text):,} bytes, is not MLflow's"
        ) from None


@cache
def _opener(certificates: str | None) -> OpenerDirector:
    """Return the opener of requests: it follows no redirect to an unnamed server."""
    opener = OpenerDirector()
    secure = HTTPSHandler(context=ssl.create_default_context(cafile=certificates))
    errors = HTTPErrorProcessor(), HTTPDefaultErrorHandler()
    for handler in (ProxyHandler(), HTTPHandler(), secure, *errors):
        opener.add_handler(handler)
    return opener


def _body(task: _Task[Any], request: Request) -> bytes:
    """Return the body of an answer; nothing of it is in an error."""
    opener = _opener(os.environ.get("MLFLOW_TRACKING_SERVER_CERT_PATH"))
    blocks, size, reported = [], 0, 0
    try:
        with opener.open(request, timeout=stores.PATIENCE) as answer:
            while task.is_wanted and (block := answer.read1(stores.PROGRESS)):
                blocks.append(block)
                _expect_size(size := size + len(block), streams.document_limit() // 4)
                if size >= reported + stores.PROGRESS:
                    reported = size
                    task.advance()
    except RefusedError:
        raise
    except HTTPError as error:
        raise _status_error(error) from None
    except (OSError, HTTPException, ValueError) as error:
        cause = error.reason if isinstance(error, URLError) else error
        reason = cause.strerror if isinstance(cause, OSError) and cause.errno else None
        raise _BusyError(reason or type(cause).__name__) from None
    task.advance()
    return b"".join(blocks)


def _status_error(error: HTTPError) -> RefusedError:
    """Return the error for an answer without a result: its status, and how long it is."""
    error.close()
    length = error.headers.get("Content-Length", "")[:12]
    text = f"the server answers {error.code}"
    with suppress(ValueError):
        text += f" ({HTTPStatus(error.code).phrase})"
    text += f", {int(length):,} bytes" if length.isdecimal() else ""
    if 300 <= error.code < 400:
        return LostError(f"{text}: it leads elsewhere; give that URL")
    if error.code in _BUSY:
        return _BusyError(text)
    return (LostError if error.code == HTTPStatus.UNAUTHORIZED else RefusedError)(text)


def _expect_size(size: int, limit: int) -> None:
    try:
        streams.expect_size(size, limit)
    except streams.TooLargeError as error:
        raise RefusedError(str(error)) from None


def _authorization(url: str) -> dict[str, str]:
    """Return the header of authorization, from the URL or the variables of MLflow."""
    name, password = (
        os.environ.get(f"MLFLOW_TRACKING_{of}", "") for of in ("USERNAME", "PASSWORD")
    )
    if user := stores.user_of(url):
        name, password = map(unquote, user.partition(":")[::2])
    elif token := os.environ.get("MLFLOW_TRACKING_TOKEN"):
        return {"Authorization": f"Bearer {token}"}
    if not name + password:
        return {}
    packed = base64.b64encode(f"{name}:{password}".encode(errors="surrogateescape"))
    return {"Authorization": f"Basic {packed.decode()}"}
