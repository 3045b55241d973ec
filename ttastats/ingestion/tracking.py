"""What does a tracking server of MLflow hold of runs? Asked through MLflow's own client.

Each run is a file: a line of JSON that describes it, then a line for every metric, which the
dialect `mlflow` reads.
"""

from __future__ import annotations

import io
import os
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import IO, Any
from urllib.parse import unquote

import msgspec
import xxhash

from ttastats.base import stores
from ttastats.base.errors import TtastatsError, suggestion
from ttastats.ingestion.containers import Fetched, File
from ttastats_parsers.mlflow import SERVED

#: Runs and experiments of a page, which servers allow.
_PAGE = 1_000
#: Bytes that the values of a metric are taken for before they are fetched.
_HISTORY = 32 * 1024
#: The client tries again with pauses that double: seven times take minutes where nobody listens.
_RETRIES = ("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "3")


class Tracking(Fetched):
    """A tracking server of MLflow, each run of which is a file.

    Runs are fetched before they are read: some at a time, and the last read is kept. Of a server
    that was lost nothing more is asked.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self._waiting: deque[str] = deque()
        self._under_way: dict[str, Future[bytes]] = {}
        self._last = ("", b"")
        self._lost = ""  # the reason
        self._pool: ThreadPoolExecutor | None = None

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
                fetched = self._under_way.pop(name, None)
                self._last = name, fetched.result() if fetched else content(self.url, name)
            except LostError as error:
                self._lost = str(error)
                raise
            finally:
                self._fetch_next()
        return io.BytesIO(self._last[1])

    def fetch(self, files: Iterable[File]) -> None:
        """Start fetching runs in parallel, ahead of their use."""
        self._waiting.extend(file.name for file in files)
        self._pool = ThreadPoolExecutor(stores.SIDE_BY_SIDE)
        self._fetch_next()

    def _fetch_next(self) -> None:
        """Fetch the next runs while fewer than the limit are under way."""
        while self._pool and self._waiting and len(self._under_way) < stores.SIDE_BY_SIDE:
            name = self._waiting.popleft()
            if not self._lost:
                self._under_way[name] = self._pool.submit(content, self.url, name)

    def release(self) -> None:
        """Stop fetching."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
        self._waiting.clear()
        self._under_way.clear()

    def __reduce__(self) -> tuple[Any, tuple[str, str]]:
        """Return how another process makes it, which is told who asks."""
        return _tracking_for, (self.url, stores.user_of(self.url))


def _tracking_for(url: str, user: str) -> Tracking:
    """Return a server, asked in the name of the user that another process knows."""
    stores.remember_user(url, user)
    return Tracking(url)


class LostError(OSError):
    """The server does not answer, or refuses to."""


def address(url: str) -> tuple[str, str]:
    """Return the server and the experiment in a URL, if any."""
    place, _, experiment = url.removeprefix("mlflow+").partition("#")
    return place.rstrip("/"), experiment


def runs(url: str) -> list[File]:
    """Return the runs of an experiment or of all as files: how large they may be, their state."""
    named = address(url)[1]
    try:
        with _client(url) as client:
            from mlflow.entities import ViewType

            experiments = {
                experiment.experiment_id: experiment.name
                for experiment in _all_pages(client.search_experiments)
            }
            chosen = {id_: name for id_, name in experiments.items() if named in {"", name}}
            chosen = chosen or {id_: name for id_, name in experiments.items() if id_ == named}
            if not chosen:
                known = suggestion(named, sorted(experiments.values()), "Experiments", most=12)
                raise TtastatsError(f"no experiment {named!r}", where=url, remedy=known)
            listed = [
                File(
                    f"{chosen[run.info.experiment_id]}/{run.info.run_id}",
                    _HISTORY * (1 + len(run.data.metrics)),
                    _state_digest(run),
                )
                for run in _all_pages(
                    client.search_runs,
                    experiment_ids=list(chosen),
                    run_view_type=ViewType.ALL,
                    order_by=["attributes.start_time ASC"],  # what is begun meanwhile comes last
                )
            ]
    except ImportError as error:
        what = "is read through MLflow's client, which is not installed"
        remedy = "Install it: pip install mlflow-skinny"
        raise TtastatsError(what, where=url, remedy=remedy) from error
    except OSError as error:
        raise TtastatsError(
            f"cannot be read: {error}",
            where=url,
            remedy="Check the URL and the server. Who asks is told by MLFLOW_TRACKING_TOKEN, or "
            "MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD.",
        ) from error
    return listed


def content(url: str, name: str) -> bytes:
    """Return the content of a run by its name in `runs`.

    An OSError says that the server does not give it, a LostError that it gives no other either.
    """
    experiment, _, number = name.rpartition("/")
    with _client(url) as client:
        run = client.get_run(number)
        about = {key: getattr(run.info, key, None) for key in _ABOUT}
        described = {
            SERVED: about,
            "experiment": experiment,
            "params": dict(run.data.params),
            "tags": dict(run.data.tags),
        }
        deleted = about["lifecycle_stage"] == "deleted"
        metrics = [] if deleted else sorted(run.data.metrics)
        lines: list[dict[str, Any]] = [described]
        for metric in metrics:
            values = client.get_metric_history(number, metric)  # by pages
            logged = [[point.timestamp, point.value, point.step] for point in values]
            lines.append({"metric": metric, "logged": logged})
    return msgspec.json.Encoder().encode_lines(lines)


_ABOUT = ("run_id", "run_name", "status", "start_time", "end_time", "lifecycle_stage")


def _state_digest(run: Any) -> int:
    """Return a digest of all that a search returns about a run.

    A value that is logged for an earlier step, behind the end of a run, changes nothing there.
    """
    last = [
        (metric.key, metric.value, metric.timestamp, metric.step)
        for metric in getattr(run.data, "_metric_objs", ())  # with steps and times
    ]
    state = [run.to_dictionary(), sorted(last, key=repr)]
    return xxhash.xxh3_64_intdigest(msgspec.json.encode(state, order="sorted")) >> 1 or 1


def _all_pages(ask: Callable[..., Any], **options: Any) -> Iterator[Any]:
    """Yield what a search returns, page by page."""
    token = None
    while True:
        page = ask(max_results=_PAGE, page_token=token, **options)
        yield from page
        token = page.token
        if not token:
            return


@contextmanager
def _client(url: str) -> Iterator[Any]:
    """Yield the client of a server; its errors become an OSError without secrets."""
    from mlflow import MlflowClient  # only servers need it, and it costs seconds
    from mlflow.exceptions import RestException

    place = address(url)[0]
    user = stores.user_of(url)
    variable, number = _RETRIES
    is_set = variable in os.environ
    os.environ.setdefault(variable, number)
    try:
        yield MlflowClient(tracking_uri=place.replace("://", f"://{user}@", 1) if user else place)
    except TtastatsError:
        raise
    except Exception as error:  # of the client, and of what it asks with
        kind = OSError if isinstance(error, RestException) else LostError
        raise kind(_error_reason(error, user)) from None
    finally:
        if not is_set:
            os.environ.pop(variable, None)


def _error_reason(error: Exception, user: str) -> str:
    """Return the reason in a server's error as one line, without the user."""
    text = " ".join(str(error).split()) or type(error).__name__
    if cause := re.search(r"\[Errno -?\d+\] ([\w ]+)", text):  # behind all that was tried
        text = cause[1]
    secrets = [user, *user.split(":", 1)]
    secrets += [os.environ.get(f"MLFLOW_TRACKING_{name}", "") for name in ("TOKEN", "PASSWORD")]
    for secret in filter(None, [*secrets, *map(unquote, secrets)]):
        text = text.replace(secret, "***")
    return text[:300]
