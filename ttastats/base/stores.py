"""Where may a table lie, on the disk or at a URL in a store, and which user asks for it?

Nothing here keeps credentials or shows them: a store finds its own where its package looks for
them, and what a URL holds of them is left out of every message.
"""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import IO, Any, TypeAlias
from urllib.parse import urlsplit, urlunsplit

import xxhash

from ttastats.base.errors import TtastatsError

#: What stores call the state of an object: an ETag, a digest, a time of change.
_STATES = (
    "ETag", "etag", "LastModified", "last_modified", "Last-Modified", "updated", "mtime",
    "modified", "created", "generation", "content_md5", "md5Hash", "sha", "blob_id",
)  # fmt: skip
#: Up to this size s3fs puts an object in one request, which may carry a condition.
_AT_ONCE = 100_000_000
#: A table of up to this size is fetched whole: to ask for its ranges would take longer.
_WHOLE = 16 * 1024 * 1024
#: Objects that are fetched at the same time.
SIDE_BY_SIDE = 16


class ReplacedError(TtastatsError):
    """Somebody else has replaced what was about to be replaced."""

    def __init__(self, place: Place) -> None:
        super().__init__(
            "was replaced by another writer meanwhile; nothing was written",
            where=str(place),
            remedy="Run the command again: it begins with the table of the other writer.",
        )


@dataclass(frozen=True, slots=True)
class Url:
    """A place in a store: one object if its name ends with .parquet, else a folder of objects."""

    text: str

    def __str__(self) -> str:
        return without_secrets(self.text)

    def __truediv__(self, name: str) -> Url:
        parts = urlsplit(self.text)
        return Url(urlunsplit(parts._replace(path=f"{parts.path.rstrip('/')}/{name}")))

    @property
    def name(self) -> str:
        """Return the last part of the path, or the bucket if there is no path."""
        parts = urlsplit(self.text)
        return parts.path.rstrip("/").rpartition("/")[2] or parts.netloc.rpartition("@")[2]

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
        if beside := _cached(folder):
            listed: Mapping[str, Any] | None = beside[1].get(name)
            if listed is None or {"ETag", "etag"} & listed.keys():  # a time may be told otherwise
                return listed

        def look(store: Any, place: str) -> Any:
            with suppress(FileNotFoundError):
                return store.info(place)

        metadata: Mapping[str, Any] | None = self._cached_request(look)
        return metadata

    def list_folder(self) -> dict[str, Mapping[str, Any]]:
        """Return the store's metadata of all objects in a folder, by their relative names."""

        def look(store: Any, place: str) -> dict[str, Mapping[str, Any]]:
            start = f"{place.strip('/')}/"
            try:
                every = store.find(place, detail=True)
            except FileNotFoundError:
                return {}
            names = {name.lstrip("/"): entry for name, entry in every.items()}
            below = {name.removeprefix(start): names[name] for name in names if start in name}
            return {name: entry for name, entry in below.items() if name}

        listed: dict[str, Mapping[str, Any]] = self._cached_request(look)
        return listed

    def _cached_request(self, look: Callable[[Any, str], Any]) -> Any:
        """Return the answer to a request to the store, from the cache for a few seconds."""
        seen = _cached(key := self.text.rstrip("/"))
        if seen is None:
            now = time.monotonic()
            with store_errors_named(self):
                store, name = self.store_and_path()
                store.invalidate_cache()
                seen = _SEEN[key] = now, look(store, name)
        return seen[1]

    def read_small(self, names: Sequence[str] = ()) -> list[bytes] | None:
        """Return the content of the object or of objects in the folder; None if too large.

        A ReplacedError says that they are others than those that were listed.
        """
        entries = [self.list_folder().get(name) for name in names] if names else [self.metadata()]
        sized = [entry for entry in entries if entry and entry.get("size")]
        known = [(entry["size"], _state_in(entry)) for entry in sized]
        if len(known) < len(entries) or sum(size for size, _ in known) > _WHOLE:
            return None
        with store_errors_named(self):
            return _fetch_known(self, tuple(names), tuple(known))

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
            _SEEN.clear()
            if not expected:
                raise
            if self.read_small() != [local.read_bytes()]:  # else only the answer was lost
                self._expect_state(expected[0])
                raise
        finally:
            _SEEN.clear()

    def _expect_state(self, state: str | None) -> None:
        """Raise ReplacedError if the object is no longer in a state."""
        _SEEN.clear()
        now = state_of(self)
        if (now and now.strip('"')) != (state and state.strip('"')):  # Azure lists them without
            raise ReplacedError(self)

    def remove(self, names: Sequence[str]) -> None:
        """Delete objects of this folder."""
        if names:
            self.store_and_path()[0].rm([(self / name).store_and_path()[1] for name in names])
            _SEEN.clear()

    @contextmanager
    def aborting_old_uploads(self, largest: int) -> Iterator[None]:
        """Abort multipart uploads to this place that were unfinished when the block began.

        Only whoever uploads in pieces, as they did, looks for them.
        """
        store, name = self.store_and_path()
        left: list[dict[str, Any]] = []
        if "s3" in store.protocol and largest >= _AT_ONCE:
            bucket, key, _ = store.split_path(name)
            listed = store.call_s3("list_multipart_uploads", Bucket=bucket, Prefix=key)
            left = [
                {"Bucket": bucket, "Key": upload["Key"], "UploadId": upload["UploadId"]}
                for upload in listed.get("Uploads", ())
            ]
        yield
        with suppress(Exception):  # what was to be put is there
            for upload in left:
                store.call_s3("abort_multipart_upload", **upload)

    def store_and_path(self) -> tuple[Any, str]:
        """Return the fsspec file system of the URL and the path in it."""
        import fsspec  # only URLs need it

        store, name = fsspec.core.url_to_fs(self.text)
        return store, name


Place: TypeAlias = Path | Url


def parse_place(text: str | Path | Url) -> Place:
    """Return the path or URL that a text names."""
    return Url(text) if isinstance(text, str) and "://" in text else Path(str(text))


def state_of(place: Place) -> str | None:
    """Return a text that changes when a file or object does; None if it does not exist."""
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
_SEEN: dict[str, tuple[float, Any]] = {}
#: Seconds for which one command takes what it has seen for unchanged.
_FRESH = 10.0


def _cached(url: str) -> tuple[float, Any] | None:
    """Return the time and the answer of a recent request to a URL, or None."""
    seen = _SEEN.get(url)
    return seen if seen and time.monotonic() < seen[0] + _FRESH else None


@lru_cache(maxsize=4)
def _fetch_known(url: Url, names: Sequence[str], known: Sequence[tuple[int, str]]) -> list[bytes]:
    """Return the content of objects of known sizes; ReplacedError if a size has changed."""
    store = url.store_and_path()[0]
    places = [place.store_and_path()[1] for place in ([url / name for name in names] or [url])]
    contents = fetch_parallel(store, places, [size + 1 for size, _ in known])
    for content, (size, _) in zip(contents, known, strict=True):
        if isinstance(content, FileNotFoundError) or len(content) != size:
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
    """Return the local path beside which temporary files for a path or URL are made."""
    if isinstance(place, Path):
        return place.resolve()
    name = f"ttastats-{xxhash.xxh3_64_hexdigest(place.text.rstrip('/').encode())}"
    return Path(tempfile.gettempdir(), name)


def without_secrets(url: str) -> str:
    """Return a URL without its user and query, which may hold secrets."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment=""))


@contextmanager
def store_errors_named(url: Url) -> Iterator[None]:
    """Turn any error of a store's package into one TtastatsError that names the URL."""
    try:
        yield
    except TtastatsError:
        raise
    except Exception as error:  # the package for the store may raise anything
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        reason = reason.replace(url.text, str(url)).partition("\n")[0]
        remedy = "Check the URL, the network and your credentials for the store."
        if isinstance(error, ImportError):
            remedy = "Install the fsspec package for this kind of URL, such as s3fs."
        elif isinstance(error, FileNotFoundError | ValueError):
            remedy = "Check the URL."
        what = f"cannot be reached: {reason}"
        raise TtastatsError(what, where=str(url), remedy=remedy) from error


_PLACE = re.compile(r"(mlflow\+https?://)(?:([^/?#]*)@)?([^/?#]*)")
#: The user and password that URLs of this process named for a server.
_known: dict[str, str] = {}


def is_server(url: str) -> bool:
    """Return whether a URL names a tracking server, not an object store."""
    return _PLACE.match(url) is not None


def without_user(url: str) -> str:
    """Return a URL without its user and password, which are remembered for `user_of`."""
    match = _PLACE.match(url)
    if match is None or match[2] is None:
        return url
    place = match[1] + match[3]
    _known[place] = match[2]
    return place + url[match.end() :]


def user_of(url: str) -> str:
    """Return the user and password remembered for the server of a URL, or an empty text."""
    match = _PLACE.match(url)
    return _known.get(match[1] + match[3], "") if match else ""


def remember_user(url: str, user: str) -> None:
    """Remember the user and password of a URL's server, received from another process."""
    if user:
        without_user(url.replace("://", f"://{user}@", 1))
