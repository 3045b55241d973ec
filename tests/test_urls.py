"""URLs with users and tokens: what outputs hold of them, and what a web server may do."""

from __future__ import annotations

import random
import string
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote

import polars as pl
import pytest

from ttastats.base import stores, streams
from ttastats.base.errors import TtastatsError
from ttastats.ingestion.ingest import ingest
from ttastats.table import store

WORD = "SECRET"
CSV = b"epoch,time,val_acc\n" + b"".join(b"%d,%d,0.%d\n" % (n, 10 * n, 5 + n) for n in range(4))
BLOCK = {"metric": "val_acc", "seconds": "time s", "epoch": "epoch"}
PLACES = (
    "http://ada:{}@host/x.csv", "https://{}@host:80/x", "mlflow+http://ada:{}@host:5000#a/b",
    "s3://ada:{}@bucket/x/y@1", "simplecache::https://ada:{}@host/x.csv",
    "zip://a@b.csv::https://ada:{}@host/x.zip", "ftp://ada:{}@[::1]:21/x",
)  # fmt: skip


@pytest.fixture(autouse=True)
def nothing_is_known() -> Iterator[None]:
    """Forget the users and queries of a test."""
    yield
    stores._users.clear()
    stores._queries.clear()


def test_a_url_is_cut_so_that_only_its_store_gets_the_secret() -> None:
    """A secret that is written as in a URL is put back; any other is refused unseen."""
    draw = random.Random(52)
    refused = 0
    for _ in range(3_000):
        parts = ["".join(draw.choices(f"{string.printable}é€@@//::##??", k=2)) for _ in range(3)]
        secret = f"{parts[0]}{WORD}{parts[1]}{WORD}{parts[2]}"
        template = draw.choice(PLACES)
        url = template.format(quote(secret, safe=""))
        if "zip" not in url and "s3" not in url:
            shown = stores.without_secrets(url)
            assert WORD not in shown
            assert stores.without_secrets(shown) == shown
            assert stores.with_secrets(shown) == url
        query = "" if "#" in template else draw.choice(["", f"?a={quote(secret)}&b=1"])
        raw = template.format(secret) + query
        try:
            shown = stores.without_secrets(raw)
        except TtastatsError as error:
            shown = f"{error} {error!r} {traceback.format_exception(error)}"
            refused += 1
        assert WORD not in shown, raw
    assert 0 < refused < 3_000


def test_a_place_without_secrets_is_the_same() -> None:
    for text in (
        "logs/a@b:c", "s3://bucket/a@b/x.csv", "abfs://container@account/x", "memory://m/a b#1",
        "hf://datasets/me/x@main/y.csv", "https://host:80/x", "mlflow+http://host:5000#a?b", "-",
        "why? see https://x/y?z", "a::b", "",
    ):  # fmt: skip
        assert stores.without_secrets(text) == stores.with_secrets(text) == text


def test_queries_of_one_place_stay_apart() -> None:
    one, other = (f"https://host/get?{WORD}={n}" for n in range(2))
    shown = [stores.without_secrets(url) for url in (one, other, one)]
    assert shown[0] == shown[2] != shown[1]
    assert [stores.with_secrets(url) for url in shown] == [one, other, one]


class Handler(BaseHTTPRequestHandler):
    """Answers as it is told."""

    def answer(self) -> None:
        raise NotImplementedError

    def do_GET(self) -> None:
        with suppress(OSError):
            self.answer()

    do_HEAD = do_GET  # noqa: N815 - as the base class has it

    def begin(self, status: int = 200, phrase: str | None = None, length: int = -1) -> None:
        self.send_response(status, phrase)
        if length >= 0:
            self.send_header("Content-Length", str(length))
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""


@pytest.fixture
def web() -> Iterator[str]:
    """Return the host of a web server, which answers as `Handler` is told."""
    pytest.importorskip("aiohttp")
    stores._web_limits.cache_clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        http.daemon_threads, http.block_on_close = True, False
        thread = threading.Thread(target=partial(http.serve_forever, 0.01))
        thread.start()
        yield f"127.0.0.1:{http.server_port}"
        http.shutdown()
        thread.join()


def test_a_token_in_a_query_goes_to_its_server_alone(
    web: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def give(to: Handler) -> None:
        asked.append(to.path)
        to.begin(length=len(CSV))
        to.wfile.write(CSV if to.command == "GET" else b"")

    monkeypatch.setattr(Handler, "answer", give)
    urls = [f"http://ada:{WORD}@{web}/{name}.csv?token={WORD}" for name in "ab"]
    account = ingest(urls, tmp_path / "x.parquet", block=BLOCK)
    assert account.runs == 2
    assert {path.partition("?")[2] for path in asked} == {f"token={WORD}"}
    rows = store.read_tables([tmp_path / "x.parquet"])
    sources = rows.select(pl.col("source").unique().sort()).collect()["source"]
    assert sources.to_list() == [f"http://{web}/{name}.csv?***" for name in "ab"]

    def echo(to: Handler) -> None:
        to.begin(403, f"no {to.headers['Authorization']} {to.path}", 0)

    monkeypatch.setattr(Handler, "answer", echo)
    with pytest.raises(TtastatsError, match="ClientResponseError 403") as caught:
        ingest([f"{urls[0]}2"], tmp_path / "y.parquet", block=BLOCK)
    texts = [str(account), "".join(traceback.format_exception(caught.value))]
    texts += [str(path.read_bytes()) for path in tmp_path.iterdir()]
    for secret in (WORD, "YWRhOlNFQ1JFVA=="):
        assert not [text for text in texts if secret in text]


def _endless(to: Handler) -> None:
    to.begin()
    while to.command == "GET":
        to.wfile.write(b"A" * 65536)


def _slow(to: Handler) -> None:
    to.begin()
    while to.command == "GET":
        to.wfile.write(b"A")
        threading.Event().wait(0.05)


@pytest.mark.parametrize(
    ("answer", "ends"), [(_endless, "larger than 0.25 MB"), (_slow, "no progress for 0.3 s")]
)
@pytest.mark.parametrize("name", ["folder/", "x.csv"])
def test_what_a_web_server_does_is_bounded(
    answer: Callable[[Handler], None],
    ends: str,
    name: str,
    web: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Handler, "answer", answer)
    monkeypatch.setattr(streams, "whole_file_limit", lambda: 2**18)
    monkeypatch.setattr(stores, "PATIENCE", 0.3)
    with pytest.raises(TtastatsError, match=ends):
        ingest([f"http://{web}/{name}"], tmp_path / "x.parquet", block=BLOCK)


@pytest.mark.parametrize("more", [0, 1], ids=["at the limit", "above it"])
def test_an_object_of_a_web_server_is_as_large_as_its_limit(
    more: int, web: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = CSV.ljust(2**18 + more, b"\n")

    def give(to: Handler) -> None:
        to.begin()
        to.wfile.write(content if to.command == "GET" else b"")

    monkeypatch.setattr(Handler, "answer", give)
    monkeypatch.setattr(streams, "whole_file_limit", lambda: 2**18)
    if not more:
        assert ingest([f"http://{web}/x.csv"], tmp_path / "x.parquet", block=BLOCK).runs == 1
        return
    with pytest.raises(TtastatsError, match=r"larger than 0\.25 MB"):
        ingest([f"http://{web}/x.csv"], tmp_path / "x.parquet", block=BLOCK)
