"""Where may a table lie, on the disk or at a URL in a store, and which user asks for it?

A store finds its own credentials where its package looks for them. What a URL holds of them is cut
out where it enters and put back only for the store: no text holds it that could be shown or kept.
"""

from __future__ import annotations

import os
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import IO, Any, TypeAlias, TypeVar
from urllib.parse import urlsplit, urlunsplit

import xxhash

from ttastats.base import streams
from ttastats.base.errors import TtastatsError

#: What stores call the state of an object: an ETag, a digest, a time of change.
_STATES = (
    "ETag", "etag", "LastModified", "last_modified", "Last-Modified", "updated", "mtime",
    "modified", "created", "generation", "content_md5", "md5Hash", "sha", "blob_id",
)  # fmt: skip
#: Up to this size s3fs puts an object in one request, which may carry a condition.
_AT_ONCE = 100_000_000
#: A table of up to this size is fetched whole: to ask for its ranges would take longer.
_SMALL_OBJECTS = 16 * 1024 * 1024
#: Objects that are fetched at the same time.
SIDE_BY_SIDE = 16
#: Seconds that a server may let pass without progress.
PATIENCE = 60.0
#: Bytes that are progress; so is a whole answer.
PROGRESS = 64 * 1024


class ReplacedError(TtastatsError):
    """Somebody else has replaced what was about to be replaced."""

    def __init__(self, path: Place) -> None:
        super().__init__(
            "was replaced by another writer meanwhile; nothing was written",
            where=str(path),
            remedy="Run the command again: it begins with the table of the other writer.",
        )


class UnreachableError(TtastatsError):
    """A store does not answer, or refuses to: what lies there is not known."""


@dataclass(frozen=True, slots=True)
class Url:
    """A place in a store: one object if its name ends with .parquet, else a folder of objects.

    Its text is one `without_secrets`.
    """

    text: str

    def __str__(self) -> str:
        return self.text

    def __truediv__(self, name: str) -> Url:
        parts = urlsplit(self.text)
        return Url(urlunsplit(parts._replace(path=f"{parts.path.rstrip('/')}/{name}")))

    @property
    def name(self) -> str:
        """Return the last part of the path, or the bucket if there is no path."""
        parts = urlsplit(self.text)
        return parts.path.rstrip("/").rpartition("/")[2] or parts.netloc

    @property
    def suffix(self) -> str:
        """Return the file extension, with its dot."""
        return Path(self.name).suffix

    def resolve(self) -> Url:
        """Return the URL itself, as `Path.resolve` does for an absolute path."""
        return self

    def is_dir(self) -> bool:
        """Return whether the URL names a folder, by its name alone; no request is made."""
        return self.suffix != ".parquet"

    def is_file(self) -> bool:
        """Return whether the object exists."""
        return not self.is_dir() and self.exists()

    def exists(self) -> bool:
        """Return whether the object exists, or the folder holds anything."""
        return bool(self.list_folder()) if self.is_dir() else self.metadata() is not None

    def metadata(self) -> Mapping[str, Any] | None:
        """Return the store's metadata of the object, or None if it does not exist."""
        folder, _, name = self.text.rpartition("/")
        if folder_listing := _cached(folder):
            entry: Mapping[str, Any] | None = folder_listing[1].get(name)
            if entry is None or {"ETag", "etag"} & entry.keys():  # a time may be told otherwise
                return entry

        def look(store: Any, path: str) -> Any:
            with suppress(FileNotFoundError):
                return store.info(path)

        metadata: Mapping[str, Any] | None = self._cached_request(look)
        return metadata

    def list_folder(self) -> dict[str, Mapping[str, Any]]:
        """Return the store's metadata of all objects in a folder, by their relative names."""

        def look(store: Any, prefix: str) -> dict[str, Mapping[str, Any]]:
            start = f"{prefix.strip('/')}/"
            try:
                entries = store.find(prefix, detail=True)
            except FileNotFoundError:
                return {}
            names = {name.lstrip("/"): entry for name, entry in entries.items()}
            relative = {name.removeprefix(start): names[name] for name in names if start in name}
            return {name: entry for name, entry in relative.items() if name}

        entries_by_name: dict[str, Mapping[str, Any]] = self._cached_request(look)
        return entries_by_name

    def _cached_request(self, look: Callable[[Any, str], Any]) -> Any:
        """Return the answer to a request to the store, from the cache for a few seconds."""
        answer = _cached(key := self.text.rstrip("/"))
        if answer is None:
            asked_at = time.monotonic()
            with store_errors_named(self):
                store, name = self.store_and_path()
                store.invalidate_cache()
                answer = _ANSWERS[key] = asked_at, look(store, name)
        return answer[1]

    def read_small(self, names: Sequence[str] = ()) -> list[bytes] | None:
        """Return the content of the object or of objects in the folder; None if too large.

        A ReplacedError says that they are others than those that were listed.
        """
        entries = [self.list_folder().get(name) for name in names] if names else [self.metadata()]
        sized = [entry for entry in entries if entry and entry.get("size")]
        sizes = [(entry["size"], _state_in(entry)) for entry in sized]
        if len(sizes) < len(entries) or sum(size for size, _ in sizes) > _SMALL_OBJECTS:
            return None
        with store_errors_named(self):
            return _fetch_sized(self, tuple(names), tuple(sizes))

    def open(self, _mode: str = "rb") -> IO[bytes]:
        """Open the object for reading ranges of it."""
        store, name = self.store_and_path()
        handle: IO[bytes] = store.open(name, "rb", cache_type="none")
        return handle

    def upload(self, local: Path, *expected: str | None) -> None:
        """Upload a local file as this object, which appears once it is complete.

        With `expected`, only over an object in that state, or None: over none. S3 looks itself as
        it puts an object of up to 100 MB; for others, this does just before.
        """
        store, name = self.store_and_path()
        condition: dict[str, str] = {}
        if expected and "s3" in store.protocol and local.stat().st_size < _AT_ONCE:
            condition = {"IfMatch": expected[0]} if expected[0] else {"mode": "create"}
        elif expected:
            self._expect_state(expected[0])
        try:
            store.put_file(str(local), name, **condition)
        except Exception:
            _ANSWERS.clear()
            if not expected:
                raise
            if self.read_small() != [local.read_bytes()]:  # else only the answer was lost
                self._expect_state(expected[0])
                raise
        finally:
            _ANSWERS.clear()

    def _expect_state(self, state: str | None) -> None:
        """Raise ReplacedError if the object is no longer in a state."""
        _ANSWERS.clear()
        actual = state_of(self)
        if (actual and actual.strip('"')) != (state and state.strip('"')):  # Azure lists no quotes
            raise ReplacedError(self)

    def remove(self, names: Sequence[str]) -> None:
        """Delete objects of this folder."""
        if names:
            self.store_and_path()[0].rm([(self / name).store_and_path()[1] for name in names])
            _ANSWERS.clear()

    @contextmanager
    def aborting_old_uploads(self, largest: int) -> Iterator[None]:
        """Abort multipart uploads to this place that were unfinished when the block began.

        Only whoever uploads in pieces, as they did, looks for them.
        """
        store, name = self.store_and_path()
        uploads: list[dict[str, Any]] = []
        if "s3" in store.protocol and largest >= _AT_ONCE:
            bucket, key, _ = store.split_path(name)
            answer = store.call_s3("list_multipart_uploads", Bucket=bucket, Prefix=key)
            uploads = [
                {"Bucket": bucket, "Key": upload["Key"], "UploadId": upload["UploadId"]}
                for upload in answer.get("Uploads", ())
            ]
        yield
        with suppress(Exception):  # what was to be put is there
            for upload in uploads:
                store.call_s3("abort_multipart_upload", **upload)

    def store_and_path(self) -> tuple[Any, str]:
        """Return the fsspec file system of the URL and the path in it."""
        import fsspec  # only URLs need it

        protocols = [
            name for name in ("http", "https") if re.search(rf"(^|::){name}://", self.text)
        ]
        limits = {name: {"client_kwargs": _web_limits()} for name in protocols}
        store, name = fsspec.core.url_to_fs(with_secrets(self.text), **limits)
        return store, name


@cache
def _web_limits() -> dict[str, Any]:
    """Return how a web server is asked: for so long, and for no body that does not end."""
    import aiohttp  # what fsspec asks with

    class Bounded(aiohttp.ClientResponse):  # type: ignore[misc] # unknown to types
        """An answer that is read whole up to the limit of a file, and while it makes progress."""

        async def read(self) -> bytes:
            blocks, size, noted, end = [], 0, 0, time.monotonic() + PATIENCE
            async for block in self.content.iter_any():
                streams.expect_size(size := size + len(block), streams.whole_file_limit())
                blocks.append(block)
                if size >= noted + PROGRESS:
                    noted, end = size, time.monotonic() + PATIENCE
                elif time.monotonic() > end:
                    raise streams.UnreadableError(f"no progress for {PATIENCE:g} s")
            self._body = b"".join(blocks)
            return self._body

    timeout = aiohttp.ClientTimeout(total=300, sock_connect=PATIENCE, sock_read=PATIENCE)
    return {"response_class": Bounded, "timeout": timeout}


Place: TypeAlias = Path | Url
_T = TypeVar("_T")
#: How often somebody begins anew where others write the same table at the same time.
TRIES = 5


def retried(act: Callable[[], _T]) -> tuple[_T, int]:
    """Return the result of an act, repeated after a faster writer, and its number of attempts."""
    for tries in range(1, TRIES):
        with suppress(ReplacedError):
            return act(), tries
    return act(), TRIES


def parse_place(text: str | Path | Url) -> Place:
    """Return the path or URL in a text."""
    if isinstance(text, str) and "://" in text:
        return Url(without_secrets(text))
    return Path(str(text))


def state_of(place: Place) -> str | None:
    """Return the state of a file or object as a text; None if it does not exist."""
    if isinstance(place, Path):
        try:
            stat = place.stat()
        except OSError:
            return None
        return f"{stat.st_ino} {stat.st_size} {stat.st_mtime_ns}"
    entry = place.metadata()
    return None if entry is None else _state_in(entry)


def _state_in(entry: Mapping[str, Any]) -> str:
    """Return the state in a store's metadata of an object: its ETag, or another version."""
    return next((str(entry[key]) for key in (*_STATES, "size") if entry.get(key)), "")


#: What was seen at a URL, and when. A writer who goes by an older state finds that it was
#: replaced, and begins anew.
_ANSWERS: dict[str, tuple[float, Any]] = {}
#: Seconds for which one command takes what it has seen for unchanged.
_CACHE_SECONDS = 10.0


def _cached(url: str) -> tuple[float, Any] | None:
    """Return the time and the answer of a recent request to a URL, or None."""
    answer = _ANSWERS.get(url)
    return answer if answer and time.monotonic() < answer[0] + _CACHE_SECONDS else None


@lru_cache(maxsize=4)
def _fetch_sized(url: Url, names: Sequence[str], sizes: Sequence[tuple[int, str]]) -> list[bytes]:
    """Return the content of objects of known sizes; ReplacedError if a size has changed."""
    store = url.store_and_path()[0]
    paths = [part.store_and_path()[1] for part in ([url / name for name in names] or [url])]
    contents = fetch_parallel(store, paths, [size + 1 for size, _ in sizes])
    for content, (size, _) in zip(contents, sizes, strict=True):
        if isinstance(content, FileNotFoundError) or len(content) != size:
            _ANSWERS.clear()
            raise ReplacedError(url)
    return contents


def fetch_parallel(store: Any, names: Sequence[str], ends: Sequence[int]) -> list[Any]:
    """Return the first bytes of several objects, fetched in parallel; errors take their place."""
    bounded = {"batch_size": SIDE_BY_SIDE} if store.async_impl else {}
    starts = [0] * len(names)
    fetched: list[Any] = store.cat_ranges(names, starts, ends, on_error="return", **bounded)
    return fetched


def state_digest(entry: Mapping[str, Any]) -> int:
    """Return a digest of the state in a store's metadata of an object, 0 if it has none."""
    state = [str(entry[key]) for key in _STATES if entry.get(key)]
    return xxhash.xxh3_64_intdigest("\0".join(state).encode()) >> 1 if state else 0


def staging_path(place: Place) -> Path:
    """Return the local path beside the temporary files of a path or URL."""
    if isinstance(place, Path):
        return place.resolve()
    name = f"ttastats-{xxhash.xxh3_64_hexdigest(place.text.rstrip('/').encode())}"
    return Path(tempfile.gettempdir(), name)


#: A chain of URLs (`zip://a.csv::https://host/a.zip`) is cut into them, and each into its parts.
_CHAINED = re.compile(r"::(?=[A-Za-z][\w+.-]*(?:::|://))")
_PARTS = re.compile(r"([A-Za-z][\w+.-]*)://([^/?#]*)([^?#]*)(\?[^#]*)?(#.*)?", re.DOTALL)
_HOST = re.compile(r"(\[[\da-fA-F:.]+\]|[^\[\]:@\s]+)?(:\d{1,5})?")
_WEB = re.compile(r"(mlflow\+)?https?|s?ftp|ssh|web(hd|da)v?s?", re.IGNORECASE)
#: What stands before the @ is a container, and no user.
_CONTAINERS = ("abfs", "wasb", "adl")
_HIDDEN = "***"
#: The users and queries that URLs of this process named, by what is left of the URL.
_users: dict[str, str] = {}
_queries: dict[str, str] = {}


def without_secrets(text: str) -> str:
    """Return a URL without its user and what its query says, which `with_secrets` puts back.

    Any other text is returned as it is. A URL whose user ends elsewhere than who wrote it meant
    is an error that does not show it.
    """
    if not re.match(r"([A-Za-z][\w+.-]*::)*[A-Za-z][\w+.-]*://", text):
        return text
    return "::".join(_without_secrets(url) for url in _CHAINED.split(text))


def _without_secrets(url: str) -> str:
    if not (match := _PARTS.fullmatch(url)):
        return url  # the name of a store that is chained
    scheme, server, path, query, fragment = match.groups(default="")
    user, _, host = server.rpartition("@")
    is_web = bool(_WEB.fullmatch(scheme))
    if scheme.lower().startswith(_CONTAINERS):
        user, host = "", server
    elif (is_web or ":" in server) and (
        not _HOST.fullmatch(host) or "@" in path + query + fragment
    ):
        raise TtastatsError(
            "the user, password or port is not written as in a URL, or an @ stands behind them",
            where=f"{scheme}://{_HIDDEN}",
            remedy="Write % : / ? # @ and spaces there as %25 %3A %2F %3F %23 %40 %20.",
        )
    if is_web and not scheme.startswith("mlflow"):
        query, fragment = query + fragment, ""
    if user:
        _users[f"{scheme}://{host}"] = user
    public = f"{scheme}://{host}{path}"
    if query and not query.startswith(f"?{_HIDDEN}"):
        aliases = [name for name in _queries if name.startswith(f"{public}?{_HIDDEN}")]
        alias = next((name for name in aliases if _queries[name] == query), None)
        public_name = alias or f"{public}?{_HIDDEN}{len(aliases) + 1 if aliases else ''}"
        _queries[public_name] = query
        return public_name + fragment
    return public + query + fragment


def with_secrets(text: str) -> str:
    """Return a URL with the user and query that `without_secrets` cut out, for its store alone."""
    return "::".join(_with_secrets(url) for url in _CHAINED.split(text))


def _with_secrets(url: str) -> str:
    if not (match := _PARTS.fullmatch(url)):
        return url
    scheme, server, path, query, fragment = match.groups(default="")
    query = _queries.get(f"{scheme}://{server}{path}{query}", query)
    user = user_of(url)
    return f"{scheme}://{f'{user}@' if user else ''}{server}{path}{query}{fragment}"


def user_of(url: str) -> str:
    """Return the user and password that were cut out of a URL of the same server, or none."""
    match = _PARTS.fullmatch(url)
    return _users.get(f"{match[1]}://{match[2]}", "") if match else ""


def secrets_of(url: str) -> tuple[dict[str, str], dict[str, str]]:
    """Return the users and queries of a URL, for `remember` in another process."""
    users = {address: user for address, user in _users.items() if address in url}
    return users, {address: query for address, query in _queries.items() if address in url}


def remember(users: Mapping[str, str], queries: Mapping[str, str]) -> None:
    """Take over the `secrets_of` another process."""
    _users.update(users)
    _queries.update(queries)


def is_server(url: str) -> bool:
    """Return whether a URL names a tracking server, not an object store."""
    return re.match("mlflow\\+https?://", url) is not None


def error_reason(error: Exception, url: str) -> str:
    """Return the reason in an error of a store's package as a line.

    Where the URL holds a secret, nothing that a server or the package says is repeated.
    """
    reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
    ours = isinstance(error, ImportError | streams.TooLargeError | streams.UnreadableError)
    if with_secrets(url) == url or ours or reason.startswith("Protocol not known"):
        return reason.partition("\n")[0][:300]
    if isinstance(error, OSError) and error.errno:
        return os.strerror(error.errno)
    status = getattr(error, "status", None)
    return type(error).__name__ + (f" {status}" if type(status) is int else "")


@contextmanager
def store_errors_named(url: Url) -> Iterator[None]:
    """Turn any error of a store's package into one TtastatsError that names the URL."""
    try:
        yield
    except TtastatsError:
        raise
    except Exception as error:  # the package for the store may raise anything
        remedy = "Check the URL, the network and your credentials for the store."
        if isinstance(error, ImportError):
            remedy = "Install the fsspec package for this kind of URL, such as s3fs."
        elif isinstance(error, FileNotFoundError | ValueError):
            remedy = "Check the URL."
        message = f"cannot be reached: {error_reason(error, url.text)}"
        cause = error if with_secrets(url.text) == url.text else None
        raise UnreachableError(message, where=str(url), remedy=remedy) from cause
