"""Where the tests find their logs and tables, and how accepted expectations are renewed."""

from __future__ import annotations

import atexit
import dataclasses
import gc
import math
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import typer.main
import typer.testing
from hypothesis import HealthCheck, settings
from msgspec import Struct, structs

if TYPE_CHECKING:
    from ttastats.ingestion.account import Account

ROOT = Path(__file__).resolve().parent.parent
FIXTURES = ROOT / "fixtures"

# Else what DuckDB does not free is listed after the result.
atexit.register(lambda: os.dup2(os.open(os.devnull, os.O_WRONLY), 2))

# Else each process of pytest takes 6 seconds to compile the tests, and each program that a test
# starts a tenth to a third of one for the product.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Tables of tests are small, and every core has a process of tests already: threads that wait for
# work cost a fifteenth of the CPU time.
os.environ.setdefault("POLARS_MAX_THREADS", "1")

# Else each table and log of a test waits for the disk.
os.fsync = lambda _: None

# Typer makes all commands anew for each call, which takes longer than most of them do.
typer.main.get_command = cache(typer.main.get_command)
typer.testing._get_command = typer.main.get_command

# Else an example that takes 0.2 seconds of a busy machine fails its test.
settings.register_profile(
    "patient", deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("patient")


def pytest_configure(config: pytest.Config) -> None:
    """Run files of tests in the order given here, not the longest first."""
    config.option.loadscopereorder = False


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put slow files first and short ones last: no core is idle at the end."""
    places = {"page": 0, "trainer": 0, "stats": 2}  # one browser is opened
    items.sort(key=lambda item: places.get(item.path.parent.name, 1))


def pytest_collection_finish() -> None:
    """Freeze long-lived objects, and run the garbage collector only after each file.

    It would go through modules, tests and accepted texts hundreds of times, and through what a
    test makes thousands of times: a twentieth and up to a tenth of the CPU time. What is alive
    after a file is frozen too: it is mostly modules, which all files behind it would go through.
    """
    gc.collect()
    gc.freeze()
    gc.disable()


@pytest.fixture(scope="module", autouse=True)
def _without_garbage() -> Iterator[None]:
    yield
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of the tests in which commands cache tables of logs."""
    folder = tmp_path_factory.mktemp("cache")
    os.environ["XDG_CACHE_HOME"] = str(folder)
    return folder / "ttastats"


@pytest.fixture(scope="session")
def real_logs() -> Path:
    """Return the folder of the public logs, or skip."""
    default = Path(os.environ.get("TMPDIR", tempfile.gettempdir()), "ttastats-data")
    folder = Path(os.environ.get("TTASTATS_DATA", default))
    if not (folder / "v0.5").is_dir():
        pytest.skip(f"the public logs are not in {folder}: set TTASTATS_DATA")
    return folder


@pytest.fixture(scope="session")
def wild(real_logs: Path) -> Path:
    """Return the folder of the public logs of other kinds, or skip."""
    folder = real_logs / "wild"
    if not folder.is_dir():
        pytest.skip(f"no logs of other kinds in {real_logs}")
    return folder


@pytest.fixture(scope="session")
def ingested_round(
    real_logs: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Account]:
    """Return a function that ingests a folder of the public logs once for all processes."""
    from ttastats.ingestion.ingest import ingest  # tests of what may be imported come without it

    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    accounts: dict[str, Account] = {}

    def account(name: str) -> Account:
        if name not in accounts:
            table = folder / "rounds" / f"{name}.parquet"
            table.parent.mkdir(exist_ok=True)
            with _alone(table.with_suffix(".lock")):
                accounts[name] = ingest([real_logs / name], table)  # the second time is a look
        return accounts[name]

    return account


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """Hold a lock, so that one process at a time does work that all share."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


@pytest.fixture(scope="session")
def worker_output(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file with the output of the workers that this process starts."""
    import multiprocessing.forkserver  # of which they are forked: it imports torch for all tests

    from ttastats.trainer import parallel

    path = tmp_path_factory.mktemp("workers") / "said"
    multiprocessing.set_forkserver_preload(list(parallel.IMPORTED_ONCE))
    copies = [os.dup(number) for number in (1, 2)]
    with path.open("a") as stream:
        try:
            for number in (1, 2):
                os.dup2(stream.fileno(), number)
            multiprocessing.forkserver.ensure_running()
        finally:
            for number, copy in zip((1, 2), copies, strict=True):
                os.dup2(copy, number)
                os.close(copy)
    return path


@pytest.fixture
def two_systems() -> Path:
    """Return the results folder of the embedded example."""
    return ROOT / "examples" / "two_systems" / "Example" / "results"


@pytest.fixture(scope="session")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the tables of the embedded example: of each system, and of both."""
    from ttastats.ingestion.ingest import ingest

    folder = tmp_path_factory.mktemp("tables")
    logs = ROOT / "examples" / "two_systems" / "Example" / "results"
    for name in ("one_gpu", "eight_gpus"):
        ingest([logs / name], folder / f"{name}.parquet")
    ingest([logs], folder / "both.parquet")
    return folder


@pytest.fixture
def in_codes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Show keys and fields in place of the texts of notes, flags and problems."""
    from tests import accepted
    from ttastats.base import codes
    from ttastats.outcomes import at_budget  # takes words of the table when it is imported

    assert at_budget.SHORT
    monkeypatch.setattr(codes, "TEXTS", accepted.in_codes())


def matches_accepted(path: Path, text: str) -> bool:
    """Compare a text with its accepted file, or accept it where TTASTATS_ACCEPT is set."""
    if os.environ.get("TTASTATS_ACCEPT"):
        path.write_text(text, "utf-8")
    return path.exists() and path.read_text("utf-8") == text


def plain(value: Any) -> Any:
    """Return a value for JSON: numbers to six digits, records without default values."""
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else str(value)
    if isinstance(value, Struct) or dataclasses.is_dataclass(value):
        fields = structs.fields(value) if isinstance(value, Struct) else dataclasses.fields(value)
        values = {field.name: (getattr(value, field.name), field.default) for field in fields}
        return {name: plain(item) for name, (item, usual) in values.items() if item is not usual}
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, str | int | None):
        return value
    return [plain(item) for item in value]


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Start an S3 server on the loopback address, with an empty bucket named `bucket`."""
    moto = pytest.importorskip("moto.server", reason="moto is not installed")
    s3fs = pytest.importorskip("s3fs", reason="s3fs is not installed")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "any")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        s3fs.S3FileSystem.clear_instance_cache()
        store = s3fs.S3FileSystem()
        store.mkdir("bucket")
        yield store
    finally:
        server.stop()
        s3fs.S3FileSystem.clear_instance_cache()
        requests = pytest.importorskip("moto.backends").get_backend("s3")
        requests.reset()
