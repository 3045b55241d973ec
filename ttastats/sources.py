"""Which files did the user mean, and how are their bytes read?

A *container* is where files lie: the local disk, an archive, an object store. It lists its files
and opens them; everything else sees bytes in blocks that end at a line end. Archives are read in
place and no member is unpacked, so none can write anywhere.
"""

from __future__ import annotations

import bz2
import glob
import gzip
import io
import lzma
import os
import sys
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePosixPath
from typing import IO, Any, Protocol

from ttastats.errors import TtastatsError

BLOCK = 8 * 1024 * 1024

#: A compressed log may grow this many times, once it is larger than `_HARMLESS` bytes. Logs grow
#: ten to a hundred times; a bomb grows thousands of times.
MOST_GROWTH = 1_000
_HARMLESS = 1024**3
#: A longer line is handed on in pieces: no event is so long, and memory must stay bounded.
LONGEST_LINE = 64 * 1024 * 1024

#: Archives by the end of their names, and how each is compressed as a whole.
_WRAPPED = {
    ".tar.gz": ".gz",
    ".tgz": ".gz",
    ".tar.xz": ".xz",
    ".txz": ".xz",
    ".tar.bz2": ".bz2",
    ".tbz2": ".bz2",
    ".tar.zst": ".zst",
}
_ARCHIVES = (*_WRAPPED, ".tar", ".zip")
_COMPRESSED = (".gz", ".xz", ".bz2", ".zst")


class UnreadableError(Exception):
    """A file that cannot be read, with the reason."""


#: What the readers of compressed files and archives raise for damaged ones.
_DAMAGED = (
    OSError,
    EOFError,
    zlib.error,
    lzma.LZMAError,
    zipfile.BadZipFile,
    tarfile.TarError,
)


@dataclass(frozen=True, slots=True)
class File:
    """A file in a container: its name there, and its size and time of change where known."""

    name: str
    size: int = 0
    changed: int = 0


class Container(Protocol):
    """Where files lie. Containers travel to other processes, so they hold names and no handles."""

    def __hash__(self) -> int:
        """Containers of the same place are the same."""

    def open(self, name: str, /) -> IO[bytes]:
        """Give the bytes of a file, not decompressed."""

    def place(self, name: str, /) -> PurePosixPath:
        """Give the absolute place of a file, whose folders may name a submitter or a system."""

    def companion(self, place: PurePosixPath, /) -> bytes | None:
        """Give the bytes of the file at a place, or None where there is none."""


@dataclass(frozen=True, slots=True)
class Source:
    """One file that may be a log.

    `name` is how the user knows it, `entry` the folder its runs share; `named` says that the user
    gave this very file, so that it is an error if it is no log.
    """

    container: Container
    file: File
    name: str
    entry: str
    named: bool = False

    def blocks(self) -> Iterator[bytes]:
        """Give the bytes, decompressed, in blocks that end at a line feed.

        Raises
        ------
        UnreadableError
            The file cannot be opened, is damaged, or grows beyond all measure.
        """
        try:
            with self.container.open(self.file.name) as raw:
                yield from _line_blocks(_decompressed(raw, self.file))
        except _DAMAGED as error:
            raise UnreadableError(getattr(error, "strerror", None) or str(error)) from error

    def is_at(self, place: str) -> bool:
        """Tell whether this is the local file at an absolute place, or lies in the folder there."""
        if not isinstance(self.container, Disk) or not place.startswith(self.container.root):
            return False
        own = os.path.join(self.container.root, self.file.name)
        return own == place or own.startswith(place + os.sep)

    def has_changed(self) -> bool:
        """Tell whether a local file has been written to since it was found."""
        if not isinstance(self.container, Disk) or not self.file.changed:
            return False
        try:
            found = os.stat(os.path.join(self.container.root, self.file.name))
        except OSError:  # removed, but it was read
            return False
        return (found.st_size, found.st_mtime_ns) != (self.file.size, self.file.changed)


def find(paths: Sequence[str]) -> Iterator[Source]:
    """Give every file that some paths mean, in a fixed order.

    A path is a file, a folder, an archive, a pattern, `-` for standard input, or a URL.

    Raises
    ------
    TtastatsError
        A path means nothing.
    """
    for path in paths:
        if path == "-":
            yield _standard_input()
        elif "://" in path:
            yield from _remote(path)
        elif os.path.exists(path):
            yield from _local(path)
        else:
            found = sorted(glob.glob(path, recursive=True))
            if not found:
                raise TtastatsError("no such file or folder", where=path, remedy="Check the path.")
            for match in found:
                yield from _local(match)


# -------------------------------------------------------------------------------- the local disk


@dataclass(frozen=True, slots=True)
class Disk:
    """The local disk. `root` is the absolute folder that relative names start from."""

    root: str

    def open(self, name: str) -> IO[bytes]:
        """Open a file; `name` is relative to the root."""
        return open(os.path.join(self.root, name), "rb", buffering=0)

    def place(self, name: str) -> PurePosixPath:
        """Give the absolute place of a file."""
        folder, _, base = name.rpartition("/")
        return _folder(self.root, folder) / _printable(base)

    def companion(self, place: PurePosixPath) -> bytes | None:
        """Give the bytes of a file anywhere on the disk, or None."""
        return _read_if_there(str(place))


@lru_cache(maxsize=1024)
def _folder(root: str, below: str) -> PurePosixPath:
    return PurePosixPath(_printable(os.path.join(root, below)))


def _read_if_there(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return None


def _local(path: str) -> Iterator[Source]:
    if path.endswith(_ARCHIVES) and os.path.isfile(path):
        yield from _archive(path)
        return
    if not os.path.isdir(path):
        folder, name = os.path.split(path)
        root = os.path.realpath(folder or ".")
        own_name = _printable(os.path.basename(root))
        yield Source(Disk(root), _stat(path, name), _printable(path), own_name, named=True)
        return
    disk = Disk(os.path.realpath(path))
    own_name = _printable(os.path.basename(disk.root))
    for below, entry in _walk(path, ""):
        shown = _printable(os.path.join(path, below))
        if isinstance(entry, OSError):
            refused = Refused(entry.strerror or str(entry))
            yield Source(refused, File(below), shown, own_name, named=True)
            continue
        if below.endswith(_ARCHIVES):
            yield from _archive(os.path.join(path, below))
            continue
        entry_name = _printable(os.path.dirname(below)) or own_name
        yield Source(disk, _stat_of(entry, below), shown, entry_name)


def _printable(name: str) -> str:
    r"""Give a name as text: bytes that are not UTF-8 are shown as `\xff`."""
    if name.isascii():
        return name
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def _walk(folder: str, below: str) -> Iterator[tuple[str, os.DirEntry[str] | OSError]]:
    """Give the files below a folder in the order of their names; links to folders are not followed.

    What cannot be listed or looked at is given with the error, so that it is said.
    """
    try:
        with os.scandir(folder) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
    except OSError as error:
        yield below or ".", error
        return
    for entry in entries:
        if entry.name.startswith("."):
            continue
        name = f"{below}/{entry.name}" if below else entry.name
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(entry.path, name)
        elif _is_file(entry):
            yield name, entry


def _is_file(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file()
    except OSError:  # a link that leads to itself
        return False


@dataclass(frozen=True, slots=True)
class Refused:
    """What could not be looked at, with the reason, to be said where files are read."""

    reason: str

    def open(self, _name: str) -> IO[bytes]:
        """Say why not."""
        raise OSError(self.reason)

    def place(self, name: str) -> PurePosixPath:
        """Give a place of no meaning."""
        return PurePosixPath("/", name)

    def companion(self, _place: PurePosixPath) -> bytes | None:
        """Nothing can be seen from here."""
        return None


def _stat(path: str, name: str) -> File:
    found = os.stat(path)
    return File(name, found.st_size, found.st_mtime_ns)


def _stat_of(entry: os.DirEntry[str], name: str) -> File:
    try:
        found = entry.stat()
    except OSError:
        return File(name)
    return File(name, found.st_size, found.st_mtime_ns)


# -------------------------------------------------------------------------------------- archives


@dataclass(frozen=True, slots=True)
class Archive:
    """A tar or zip file, read in place."""

    path: str

    def open(self, name: str) -> IO[bytes]:
        """Open a member."""
        return _opened(self.path).open(name)

    def place(self, name: str) -> PurePosixPath:
        """Give the place a member would have beside the archive; `..` leads nowhere."""
        parts = [part for part in PurePosixPath(name).parts if part not in {"..", "/"}]
        return PurePosixPath(self.path.rsplit(".", 1)[0], *parts)

    def companion(self, place: PurePosixPath) -> bytes | None:
        """Give the bytes of a small member."""
        return _opened(self.path).small.get(place)


#: Members up to this size are kept when an archive is opened: descriptions, not logs.
_SMALL = 1024 * 1024
_DESCRIPTIONS = (".json", ".tsv")


class _Opened:
    """An archive with its members listed and its descriptions read."""

    def __init__(self, path: str) -> None:
        self.small: dict[PurePosixPath, bytes] = {}
        self.files: list[File] = []
        archive = Archive(path)
        self._plain: IO[bytes] | None = None
        self._archive: zipfile.ZipFile | tarfile.TarFile
        if path.endswith(".zip"):
            self._archive = zipfile.ZipFile(path)
            infos = self._archive.infolist()
            members = [(info.filename, info.file_size) for info in infos if not info.is_dir()]
        else:
            self._plain = _unwrapped(path)
            self._archive = tarfile.open(fileobj=self._plain, mode="r:")  # noqa: SIM115 - as above
            members = [(member.name, member.size) for member in self._archive if member.isfile()]
        for name, size in sorted(members):
            self.files.append(File(name, size))
            if name.endswith(_DESCRIPTIONS) and size <= _SMALL:
                with self.open(name) as file:
                    self.small[archive.place(name)] = file.read()

    def __del__(self) -> None:
        if hasattr(self, "_archive"):
            self._archive.close()
        if self._plain is not None:
            self._plain.close()

    def open(self, name: str) -> IO[bytes]:
        if isinstance(self._archive, zipfile.ZipFile):
            return self._archive.open(name)
        member = self._archive.extractfile(name)
        if member is None:
            raise OSError(f"{name} is no file")
        return member


def _unwrapped(path: str) -> IO[bytes]:
    """Give a tar file that can be read in any order.

    Going back in a compressed stream means decompressing it from the start, for every member.
    """
    ending = next((end for name, end in _WRAPPED.items() if path.endswith(name)), None)
    if ending is None:
        return open(path, "rb")
    plain: IO[bytes] = tempfile.TemporaryFile(prefix="ttastats-")  # noqa: SIM115 - it is returned
    try:
        with open(path, "rb") as raw:
            for chunk in _decompressed(raw, File(ending, os.path.getsize(path))):
                plain.write(chunk)
        plain.seek(0)
    except BaseException:
        plain.close()
        raise
    return plain


def _opened(path: str) -> _Opened:
    return _opened_as_of(path, os.stat(path).st_mtime_ns)


@lru_cache(maxsize=4)
def _opened_as_of(path: str, _changed: int) -> _Opened:
    """Keep some archives open; one that has changed since is another."""
    return _Opened(path)


def _archive(path: str) -> Iterator[Source]:
    archive = Archive(os.path.realpath(path))
    stem = os.path.basename(path).split(".")[0]
    try:
        files = _opened(archive.path).files
    except (UnreadableError, *_DAMAGED) as error:
        raise TtastatsError(f"cannot be read as an archive: {error}", where=path) from error
    for file in files:
        folder = os.path.dirname(file.name) or stem
        yield Source(archive, file, f"{path}/{file.name}", folder)


# ----------------------------------------------------------------- standard input, object stores


@dataclass(frozen=True, slots=True)
class Memory:
    """One file that was read from standard input."""

    data: bytes

    def open(self, _name: str) -> IO[bytes]:
        """Give the bytes that were read."""
        return io.BytesIO(self.data)

    def place(self, name: str) -> PurePosixPath:
        """Give a place of no meaning."""
        return PurePosixPath("/", name)

    def companion(self, _place: PurePosixPath) -> bytes | None:
        """Nothing lies beside standard input."""
        return None


def _standard_input() -> Source:
    data = sys.stdin.buffer.read()
    return Source(Memory(data), File("-", len(data)), "-", "stdin", named=True)


@dataclass(frozen=True, slots=True)
class Remote:
    """A folder of an object store, through fsspec."""

    url: str

    def open(self, name: str) -> IO[bytes]:
        """Open an object."""
        handle: IO[bytes] = _filesystem(self.url).open(name, "rb")
        return handle

    def place(self, name: str) -> PurePosixPath:
        """Give the object's path."""
        return PurePosixPath("/", name)

    def companion(self, place: PurePosixPath) -> bytes | None:
        """Give the bytes of another object, or None."""
        store = _filesystem(self.url)
        for name in (str(place), str(place).lstrip("/")):
            try:
                content: bytes = store.cat_file(name)
            except (OSError, ValueError):
                continue
            return content
        return None


@lru_cache(maxsize=8)
def _filesystem(url: str):  # type: ignore[no-untyped-def]
    import fsspec  # only URLs need it

    return fsspec.core.url_to_fs(url)[0]


def _remote(url: str) -> Iterator[Source]:
    import fsspec  # only URLs need it

    try:
        store, root = fsspec.core.url_to_fs(url)
        names = sorted(store.find(root))
    except (ImportError, OSError, ValueError) as error:
        raise TtastatsError(
            f"cannot be reached: {error}",
            where=url,
            remedy="Install the fsspec package for this kind of URL, such as s3fs.",
        ) from error
    if not names:
        raise TtastatsError("nothing lies there", where=url, remedy="Check the URL.")
    remote = Remote(url)
    prefix = url.split("://")[0]
    for name in names:
        folder = os.path.dirname(os.path.relpath(name, root)) or os.path.basename(root)
        size = int(store.size(name) or 0)
        yield Source(remote, File(name, size), f"{prefix}://{name.lstrip('/')}", folder)


# ----------------------------------------------------------------------------------------- bytes


def _decompressed(raw: IO[bytes], file: File) -> Iterator[bytes]:
    """Give the bytes of a file in chunks, decompressed by its name's ending."""
    opener = next((_OPENERS[end] for end in _COMPRESSED if file.name.endswith(end)), None)
    if opener is None:
        yield from _chunks(raw, file.size)
        return
    total = 0
    for chunk in _chunks(opener(raw), 0):
        total += len(chunk)
        if total > _HARMLESS and total > MOST_GROWTH * max(file.size, 1):
            raise UnreadableError(
                f"grows more than {MOST_GROWTH:,} times when decompressed: refused"
            )
        yield chunk


class _Zstandard:
    """A reader of this ending whose complaints are those of a file."""

    def __init__(self, raw: IO[bytes]) -> None:
        import zstandard  # only this ending needs it

        self._damage = zstandard.ZstdError
        decompressor = zstandard.ZstdDecompressor()
        self._reader = decompressor.stream_reader(raw, read_across_frames=True)

    def read(self, size: int) -> bytes:
        try:
            return self._reader.read(size)
        except self._damage as error:
            raise OSError(str(error)) from error


_OPENERS: dict[str, Callable[[IO[bytes]], Any]] = {
    ".gz": gzip.open,
    ".xz": lzma.open,
    ".bz2": bz2.open,
    ".zst": _Zstandard,
}


def _chunks(stream: Any, size: int) -> Iterator[bytes]:
    """Read a stream to its end, in one piece where it is known to be small."""
    at_once = min(BLOCK, size + 1) if size else BLOCK
    while chunk := stream.read(at_once):
        yield chunk
        at_once = BLOCK


def _line_blocks(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Cut chunks after a line feed; the last one ends where the file does."""
    rest, chunk = b"", next(chunks, b"")
    for following in chunks:
        cut = chunk.rfind(b"\n") + 1
        if cut:
            yield rest + chunk[:cut] if rest else chunk[:cut]
            rest = chunk[cut:]
        else:
            rest += chunk
            if len(rest) > LONGEST_LINE:
                yield rest
                rest = b""
        chunk = following
    if rest or chunk:
        yield rest + chunk if rest else chunk
