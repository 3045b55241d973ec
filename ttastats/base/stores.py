"""Where may a table lie: on the disk, or at a URL in a store that fsspec opens?

Nothing here keeps credentials or shows them: a store finds its own where its package looks for
them, and what a URL holds of them is left out of every message.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import IO, Any, TypeAlias, TypeVar
from urllib.parse import urlsplit, urlunsplit

import xxhash

from ttastats.base.errors import TtastatsError

T = TypeVar("T")
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
        return bool(self.listed()) if self.is_dir() else self.entry() is not None

    def entry(self) -> Mapping[str, Any] | None:
        """Return what the store tells of an object, or None where there is none."""
        folder, _, name = self.text.rpartition("/")
        if beside := _seen(folder):
            listed: Mapping[str, Any] | None = beside[1].get(name)
            if listed is None or {"ETag", "etag"} & listed.keys():  # a time may be told otherwise
                return listed

        def look(store: Any, place: str) -> Mapping[str, Any] | None:
            try:
                entry: Mapping[str, Any] = store.info(place)
            except FileNotFoundError:
                return None
            return entry

        return self._looked(look)

    def listed(self) -> dict[str, Mapping[str, Any]]:
        """Return what the store tells of the objects of a folder, by their names from there on."""

        def look(store: Any, place: str) -> dict[str, Mapping[str, Any]]:
            start = f"{place.strip('/')}/"
            try:
                every = store.find(place, detail=True)
            except FileNotFoundError:
                return {}
            names = {name.lstrip("/"): entry for name, entry in every.items()}
            below = {name.removeprefix(start): names[name] for name in names if start in name}
            return {name: entry for name, entry in below.items() if name}

        return self._looked(look)

    def _looked(self, look: Callable[[Any, str], T]) -> T:
        """Return what a look at a store tells, or told within the last seconds."""
        seen = _seen(key := self.text.rstrip("/"))
        if seen is None:
            now = time.monotonic()
            with reaching(self):
                store, name = self.opened()
                store.invalidate_cache()
                seen = _SEEN[key] = now, look(store, name)
        looked: T = seen[1]
        return looked

    def whole(self, names: Sequence[str] = ()) -> list[bytes] | None:
        """Return an object, or some of a folder, or None where they are too large to be held.

        Raises
        ------
        ReplacedError
            They are others than those that were listed.
        """
        entries = [self.listed().get(name) for name in names] if names else [self.entry()]
        known = [(each["size"], _state(each)) for each in entries if each and each.get("size")]
        if len(known) < len(entries) or sum(size for size, _ in known) > _WHOLE:
            return None
        with reaching(self):
            return _fetched(self, tuple(names), tuple(known))

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
        elif expected:
            self._expect(expected[0])
        try:
            store.put_file(str(local), name, **condition)
        except Exception:
            _SEEN.clear()
            if expected and self.whole() != [local.read_bytes()]:  # only the answer may be lost
                self._expect(expected[0])
                raise
        finally:
            _SEEN.clear()

    def _expect(self, state: str | None) -> None:
        _SEEN.clear()
        now = state_of(self)
        if (now and now.strip('"')) != (state and state.strip('"')):  # Azure lists them without
            raise ReplacedError(self)

    def remove(self, names: Sequence[str]) -> None:
        """Remove objects of a folder."""
        if names:
            self.opened()[0].rm([(self / name).opened()[1] for name in names])
            _SEEN.clear()

    @contextmanager
    def uploading(self, largest: int) -> Iterator[None]:
        """Let S3 forget uploads to here that nobody had completed when the block began.

        Only whoever uploads in pieces, as they did, looks for them.
        """
        store, name = self.opened()
        left: list[dict[str, Any]] = []
        if "s3" in store.protocol and largest >= _AT_ONCE:
            bucket, key, _ = store.split_path(name)
            listed = store.call_s3("list_multipart_uploads", Bucket=bucket, Prefix=key)
            left = [
                {"Bucket": bucket, "Key": each["Key"], "UploadId": each["UploadId"]}
                for each in listed.get("Uploads", ())
            ]
        yield
        with suppress(Exception):  # what was to be put is there
            for each in left:
                store.call_s3("abort_multipart_upload", **each)

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
    entry = place.entry()
    return None if entry is None else _state(entry)


def _state(entry: Mapping[str, Any]) -> str:
    """Return what a store tells of the state of an object: the ETag, where there is one."""
    return next((str(entry[key]) for key in (*_STATES, "size") if entry.get(key)), "")


#: What was seen at a URL, and when. A writer who goes by an older state finds that it was
#: replaced, and begins anew.
_SEEN: dict[str, tuple[float, Any]] = {}
#: Seconds for which one command takes what it has seen for unchanged.
_FRESH = 10.0


def _seen(url: str) -> tuple[float, Any] | None:
    seen = _SEEN.get(url)
    return seen if seen and time.monotonic() < seen[0] + _FRESH else None


@lru_cache(maxsize=4)
def _fetched(url: Url, names: Sequence[str], known: Sequence[tuple[int, str]]) -> list[bytes]:
    """Return objects of known sizes and states; one that has another size now was replaced."""
    store = url.opened()[0]
    places = [place.opened()[1] for place in ([url / name for name in names] or [url])]
    contents = side_by_side(store, places, [size + 1 for size, _ in known])
    for content, (size, _) in zip(contents, known, strict=True):
        if isinstance(content, FileNotFoundError) or len(content) != size:
            raise ReplacedError(url)
    return contents


def side_by_side(store: Any, names: Sequence[str], ends: Sequence[int]) -> list[Any]:
    """Return what lies in objects up to some ends, or the errors in its place."""
    bounded = {"batch_size": SIDE_BY_SIDE} if store.async_impl else {}
    starts = [0] * len(names)
    fetched: list[Any] = store.cat_ranges(names, starts, ends, on_error="return", **bounded)
    return fetched


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
