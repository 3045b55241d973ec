"""Where may a table lie: on the disk, or at a URL in a store that fsspec opens?

Nothing here keeps credentials or shows them: a store finds its own where its package looks for
them, and what a URL holds of them is left out of every message.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
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
        return shown(self.text)

    def __truediv__(self, name: str) -> Url:
        parts = urlsplit(self.text)
        return Url(urlunsplit(parts._replace(path=f"{parts.path.rstrip('/')}/{name}")))

    @property
    def name(self) -> str:
        """Return the last part of the name; of a whole bucket, the bucket."""
        parts = urlsplit(self.text)
        return parts.path.rstrip("/").rpartition("/")[2] or parts.netloc.rpartition("@")[2]

    @property
    def suffix(self) -> str:
        """Return the end of the name, from its last dot."""
        return Path(self.name).suffix

    def resolve(self) -> Url:
        """Return what names the same place by other words: itself."""
        return self

    def is_dir(self) -> bool:
        """Return whether the name is that of a folder; no request is made."""
        return self.suffix != ".parquet"

    def is_file(self) -> bool:
        """Return whether there is an object."""
        return not self.is_dir() and self.exists()

    def exists(self) -> bool:
        """Return whether there is such an object, or anything in such a folder."""
        if not self.is_dir():
            return state_of(self) is not None
        with reaching(self):
            store, name = self.opened()
            store.invalidate_cache()
            try:
                inside = store.ls(name, detail=False)
            except FileNotFoundError:
                return False
            return any(each.strip("/") != name.strip("/") for each in inside)

    def open(self, _mode: str = "rb") -> IO[bytes]:
        """Open an object to read ranges of it."""
        store, name = self.opened()
        handle: IO[bytes] = store.open(name, "rb", cache_type="none")
        return handle

    def put(self, local: Path, *expected: str | None) -> None:
        """Write a whole file as an object, which appears when all of it is there.

        With `expected`, only over an object in that state, or None: over none. S3 looks itself as
        it puts an object of up to 100 MB; for others, this does just before.
        """
        store, name = self.opened()
        condition: dict[str, str] = {}
        if expected and "s3" in store.protocol and local.stat().st_size < _AT_ONCE:
            condition = {"IfMatch": expected[0]} if expected[0] else {"mode": "create"}
        elif expected and _looked_up(self) != expected[0]:
            raise self._replaced()
        try:
            store.put_file(str(local), name, **condition)
        except Exception as error:
            if expected and _looked_up(self) != expected[0]:
                raise self._replaced() from error
            raise
        _SEEN.pop(self.text, None)

    def _replaced(self) -> ReplacedError:
        _SEEN.pop(self.text, None)
        return ReplacedError(self)

    def below(self) -> list[str]:
        """Return the names of the objects of a folder, from there on."""
        with reaching(self):
            store, name = self.opened()
            store.invalidate_cache()
            start = f"{name.strip('/')}/"
            return [each.lstrip("/").removeprefix(start) for each in store.find(name)]

    def remove(self, names: list[str]) -> None:
        """Remove objects of a folder; what cannot be removed stays."""
        store, _ = self.opened()
        places = [(self / name).opened()[1] for name in names]
        if places:
            store.rm(places)

    def uploads(self) -> list[tuple[str, str]]:
        """Return key and number of uploads to here that S3 holds and nobody has completed."""
        store, name = self.opened()
        if "s3" not in store.protocol:
            return []  # others forget them by themselves
        bucket, key, _ = store.split_path(name)
        listed = store.call_s3("list_multipart_uploads", Bucket=bucket, Prefix=key)
        return [(each["Key"], each["UploadId"]) for each in listed.get("Uploads", ())]

    def abort(self, uploads: list[tuple[str, str]]) -> None:
        """Let S3 forget uploads."""
        store, name = self.opened()
        for key, number in uploads:
            bucket = store.split_path(name)[0]
            store.call_s3("abort_multipart_upload", Bucket=bucket, Key=key, UploadId=number)

    def opened(self) -> tuple[Any, str]:
        """Return the store, and the name of this place in it."""
        import fsspec  # only URLs need it

        store, name = fsspec.core.url_to_fs(self.text)
        return store, name


Place: TypeAlias = Path | Url


def place(text: str | Path | Url) -> Place:
    """Return the place that a text names."""
    return Url(text) if isinstance(text, str) and "://" in text else Path(str(text))


def state_of(place: Place) -> str | None:
    """Return what tells whether a file or object is still the same, or None where there is none."""
    if isinstance(place, Path):
        try:
            stat = place.stat()
        except OSError:
            return None
        return f"{stat.st_ino} {stat.st_size} {stat.st_mtime_ns}"
    now = time.monotonic()
    seen = _SEEN.get(place.text)
    if seen is None or now > seen[0] + _FRESH:
        seen = _SEEN[place.text] = now, _looked_up(place)
    return seen[1]


#: When the state of an object was looked up, and what it was. A writer who goes by an older one
#: finds that it was replaced, and begins anew.
_SEEN: dict[str, tuple[float, str | None]] = {}
#: Seconds for which one command takes an object for unchanged.
_FRESH = 5.0


def _looked_up(url: Url) -> str | None:
    with reaching(url):
        store, name = url.opened()
        store.invalidate_cache()
        try:
            entry = store.info(name)
        except FileNotFoundError:
            return None
        return str(entry.get("ETag") or stamp(entry) or entry.get("size"))


def stamp(entry: Mapping[str, Any]) -> int:
    """Return a digest of what a store says of the state of an object, 0 if nothing."""
    state = [str(entry[key]) for key in _STATES if entry.get(key)]
    return xxhash.xxh3_64_intdigest("\0".join(state).encode()) >> 1 if state else 0


def staging(place: Place) -> Path:
    """Return the local path beside which what becomes a place is made."""
    if isinstance(place, Path):
        return place.resolve()
    name = f"ttastats-{xxhash.xxh3_64_hexdigest(place.text.rstrip('/').encode())}"
    return Path(tempfile.gettempdir(), name)


def shown(url: str) -> str:
    """Return a URL without what may be a secret: the user in front of the host, and the query."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment=""))


@contextmanager
def reaching(url: Url) -> Iterator[None]:
    """Turn whatever a store's package raises into one error that says what to do."""
    try:
        yield
    except TtastatsError:
        raise
    except Exception as error:  # the package for the store may raise anything
        raise unreachable(url.text, error) from error


def unreachable(url: str, error: Exception) -> TtastatsError:
    """Return the error for a store that cannot be reached."""
    reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
    reason = reason.replace(url, shown(url)).partition("\n")[0]
    return TtastatsError(f"cannot be reached: {reason}", where=shown(url), remedy=_remedy(error))


def _remedy(error: Exception) -> str:
    """Return what to do where a store cannot be reached."""
    if isinstance(error, ImportError):
        return "Install the fsspec package for this kind of URL, such as s3fs."
    if isinstance(error, FileNotFoundError | ValueError):
        return "Check the URL."
    return "Check the URL, the network and your credentials for the store."
