"""Where do files lie, and how are they opened?

A *container* is the local disk, an archive or an object store: it opens its files and what lies
beside them. Archives are read in place and no member is unpacked, so none can write anywhere.
"""

from __future__ import annotations

import io
import os
import stat
import struct
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import PurePosixPath
from typing import IO, Any, TypeAlias

import msgspec

from ttastats.base import stores, streams
from ttastats.base.streams import DAMAGED, decompressed

#: What opening and reading a file may raise. Beside its own errors the reader of tar files raises
#: what its conversions raise where a header is broken (ValueError, IndexError, struct.error), that
#: of zip files RuntimeError for a member that is encrypted and for a method it does not know.
UNUSABLE = (
    *DAMAGED, streams.TooLargeError, MemoryError, zipfile.BadZipFile, tarfile.TarError, ValueError,
    LookupError, RuntimeError, ArithmeticError, struct.error,
)  # fmt: skip

#: Archives by the end of their names, and how each is compressed as a whole.
_WRAPPED = {
    ".tar.gz": ".gz", ".tgz": ".gz", ".tar.xz": ".xz", ".txz": ".xz", ".tar.bz2": ".bz2",
    ".tbz2": ".bz2", ".tar.zst": ".zst",
}  # fmt: skip
ARCHIVES = (*_WRAPPED, ".tar", ".zip")


class File(msgspec.Struct, frozen=True, gc=False):
    """A file in a container: its name there, and its size and time of change where known.

    Of an object in a store, `changed` is a digest of its ETag and time, as far as there are any.
    `stored` are the bytes that it takes in an archive which compresses each member, else 0.
    """

    name: str
    size: int = 0
    changed: int = 0
    stored: int = 0


#: What lies directly in a folder, in order; the names of folders end with a slash.
Names: TypeAlias = tuple[str, ...]


def _visible(names: Iterable[str]) -> Names:
    return tuple(sorted(name for name in names if name[0] != "."))


def _names_by_folder(paths: Iterable[str]) -> dict[str, set[str]]:
    """Return the names directly in each folder of some paths, by folders without a last slash."""
    folders: dict[str, set[str]] = {}
    for path in paths:
        ending = ""
        while path:
            folder, _, name = path.rpartition("/")
            names = folders.setdefault(folder, set())
            if name + ending in names:
                break
            names.add(name + ending)
            path, ending = folder, "/"
    return folders


class Container:
    """Where files lie; here, in no folder but that of their names, and with nothing beside them.

    Containers travel to other processes, so they hold names and no handles; those of the same place
    are equal.
    """

    __slots__ = ()

    def open(self, name: str, /) -> IO[bytes]:
        """Open a file, not decompressed."""
        raise NotImplementedError

    def folder(self, name: str) -> PurePosixPath:
        """Return the absolute folder of a file; its parts may name a submitter or a system."""
        return PurePosixPath("/", name).parent

    def companion(self, _place: PurePosixPath) -> bytes | None:
        """Return the bytes of another file by its absolute path, or None if it does not exist.

        A TooLargeError says that it has more bytes than are read whole of a file with its name.
        """
        return None

    def listing(self, _folder: PurePosixPath) -> Names:
        """Return the names directly in an absolute folder, none if it does not exist."""
        return ()


class Fetched(Container):
    """A place far away, whose files are fetched side by side before they are read."""

    __slots__ = ()

    def fetch(self, files: Iterable[File]) -> None:
        """Fetch files, or begin to; an error is raised when the file is opened."""
        raise NotImplementedError

    def release(self) -> None:
        """Free what was fetched, and fetch no more."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Disk(Container):
    """The local disk. `root` is the absolute folder that relative names start from."""

    root: str

    def open(self, name: str) -> IO[bytes]:
        """Open a file by its name below the root."""
        return open(f"{self.root}/{name}", "rb", buffering=0)

    def folder(self, name: str) -> PurePosixPath:
        """Return the absolute folder of a file."""
        return _folder(self.root, name.rpartition("/")[0])

    def companion(self, place: PurePosixPath) -> bytes | None:
        """Return the bytes of any file on the disk."""
        path = str(place)
        try:
            status = os.stat(path)
            if not stat.S_ISREG(status.st_mode):  # reading from a pipe would wait for ever
                return None
            streams.expect_size(status.st_size, streams.limit_for(path))
            with open(path, "rb") as file:
                return file.read(status.st_size)
        except (OSError, ValueError):  # a member of an archive may be called as no file can
            return None

    def listing(self, folder: PurePosixPath) -> Names:
        """Return the names in a folder but for hidden files; links to folders are not followed."""
        try:
            with os.scandir(folder) as entries:
                return _visible(
                    f"{entry.name}/" if entry.is_dir(follow_symlinks=False) else entry.name
                    for entry in entries
                    if entry.is_file() or not entry.is_symlink()
                )
        except (OSError, ValueError):
            return ()


@lru_cache(maxsize=1024)
def _folder(root: str, name: str) -> PurePosixPath:
    return PurePosixPath(printable(os.path.join(root, name)))


def printable(name: str) -> str:
    r"""Return a name as valid text; bytes that are not UTF-8 become `\xff`."""
    if name.isascii():
        return name
    return os.fsencode(name).decode("utf-8", "backslashreplace")


@dataclass(frozen=True, slots=True)
class Refused(Container):
    """A path that could not be opened, with the reason, reported where files are read."""

    reason: str

    def open(self, _name: str, /) -> IO[bytes]:
        """Raise the error for which the file was refused."""
        raise OSError(self.reason)


@dataclass(frozen=True, slots=True)
class Memory(Container):
    """One file that was read from standard input."""

    data: bytes

    def open(self, _name: str, /) -> IO[bytes]:
        """Return the bytes in memory as a file."""
        return io.BytesIO(self.data)


@dataclass(frozen=True, slots=True)
class Archive(Container):
    """A tar or zip file, read in place."""

    path: str

    def open(self, name: str) -> IO[bytes]:
        """Open a member of the archive."""
        return opened(self.path).open(name)

    def folder(self, name: str) -> PurePosixPath:
        """Return the folder of a member, as unpacked beside the archive."""
        return self.place(name).parent

    def place(self, name: str) -> PurePosixPath:
        """Return the path of a member, as unpacked; `..` is ignored."""
        parts = [part for part in PurePosixPath(name).parts if part not in {"..", "/"}]
        return PurePosixPath(self.path.rsplit(".", 1)[0], *parts)

    def companion(self, place: PurePosixPath) -> bytes | None:
        """Return the bytes of another member."""
        try:
            return opened(self.path).read(place)
        except streams.TooLargeError:
            raise
        except UNUSABLE:
            return None

    def listing(self, folder: PurePosixPath) -> Names:
        """Return the names of members directly in an unpacked folder."""
        try:
            return _visible(opened(self.path).folders.get(str(folder).rstrip("/"), ()))
        except UNUSABLE:
            return ()


class _Opened:
    """An archive with its members listed.

    `damage` says why members may be missing from `files`, where it is damaged; `twice` are the
    names that several members have, of which the last is listed, as unpacking would leave it.
    """

    def __init__(self, path: str) -> None:
        self.damage = ""
        self.twice: set[str] = set()
        self._place = Archive(path)
        self._members: dict[str, tuple[File, Any]] = {}  # as ZipInfo or TarInfo
        self._archive: Any
        with ExitStack() as handles:
            if path.endswith(".zip"):
                self._archive = handles.enter_context(zipfile.ZipFile(path))
                for info in self._archive.infolist():
                    if not info.is_dir():
                        stored = max(info.compress_size, 1)
                        self._add(File(info.filename, info.file_size, stored=stored), info)
            else:
                archive_file: IO[bytes] = handles.enter_context(open(path, "rb"))
                ending = next((end for name, end in _WRAPPED.items() if path.endswith(name)), None)
                if ending is not None:
                    # To go back in a compressed stream is to decompress it anew for every member.
                    packed = archive_file
                    archive_file = handles.enter_context(tempfile.TemporaryFile(prefix="ttastats-"))
                    try:
                        for chunk in decompressed(packed, ending, os.path.getsize(path)):
                            archive_file.write(chunk)
                    except DAMAGED as error:
                        self.damage = str(error)
                    archive_file.seek(0)
                headers: Any = _Headers(archive_file)
                self._archive = handles.enter_context(tarfile.open(fileobj=headers, mode="r:"))
                self._list(archive_file)
            self._handles = handles.pop_all()
        self.files = [self._members[name][0] for name in sorted(self._members)]

    def __del__(self) -> None:
        if hasattr(self, "_handles"):
            self._handles.close()

    def _add(self, file: File, member: Any) -> None:
        if file.name in self._members:
            self.twice.add(file.name)
        self._members[file.name] = file, member

    def _list(self, archive_file: IO[bytes]) -> None:
        """List the members of a tar file, up to where it is damaged.

        Its reader takes a header that is none for the end; an archive ends with zeros.
        """
        try:
            for member in self._archive:
                if member.isfile():
                    self._add(File(member.name, member.size), member)
            archive_file.seek(self._archive.offset)
            if archive_file.read(tarfile.BLOCKSIZE).strip(b"\0"):
                self.damage = self.damage or "a header is corrupt"
        except UNUSABLE as error:
            self.damage = self.damage or str(error)

    def open(self, name: str) -> IO[bytes]:
        # Members are not looked up by name: that lists the archive anew, damaged as it may be.
        member = self._members[name][1]
        if isinstance(member, tarfile.TarInfo):
            extracted: IO[bytes] | None = self._archive.extractfile(member)
            if extracted is None:
                raise OSError(f"{name} is not a file")
            return extracted
        content: IO[bytes] = self._archive.open(member)
        if member.compress_type in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
            return content
        return io.BufferedReader(_BoundedReader(content), 256 * 1024)

    def read(self, path: PurePosixPath) -> bytes | None:
        file = self._by_place.get(path)
        if file is None:
            return None
        limit = streams.limit_for(file.name)
        streams.expect_size(file.size, limit)
        with self.open(file.name) as member:
            return streams.read_bounded(member, limit)

    @cached_property
    def _by_place(self) -> dict[PurePosixPath, File]:
        return {self._place.place(file.name): file for file in self.files}

    @cached_property
    def folders(self) -> dict[str, set[str]]:
        return _names_by_folder(map(str, self._by_place))


class _BoundedReader(io.RawIOBase):
    """A member of a zip file whose reader decompresses all requested bytes at once.

    It does so for all methods but the usual one: a piece may grow thousands of times.
    """

    def __init__(self, member: IO[bytes]) -> None:
        self._member = member

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        content = self._member.read(min(len(buffer), 4096))
        buffer[: len(content)] = content
        return len(content)


class _Headers:
    """A tar file of which no header is read whole that is larger than the limit."""

    def __init__(self, archive_file: IO[bytes]) -> None:
        self._plain, self.seek, self.tell = archive_file, archive_file.seek, archive_file.tell

    def read(self, size: int = -1) -> bytes:
        streams.expect_size(size, streams.whole_file_limit() + 1)
        return self._plain.read(size)


def opened(path: str) -> _Opened:
    """Return an archive with its members listed; several are kept open."""
    return _open_version(path, os.stat(path).st_mtime_ns)


#: An archive is opened again if the file has changed.
_open_version = lru_cache(maxsize=4)(lambda path, _changed: _Opened(path))


@dataclass(frozen=True, slots=True)
class Remote(Fetched):
    """A folder of an object store, through fsspec, as it was listed at a time.

    What lies in it is answered from that listing, which each process makes once. `contents` are
    those of files that were fetched side by side and wait to be read.
    """

    url: str
    listed_at: int
    contents: dict[str, bytes] = field(default_factory=dict, compare=False, repr=False)

    def open(self, name: str) -> IO[bytes]:
        """Open an object in the store."""
        if name in self.contents:
            return io.BytesIO(self.contents[name])
        return io.BufferedReader(_Object(self, self.listed().stored.get(name, name)))

    def _store(self) -> Any:
        return stores.Url(self.url).store_and_path()[0]

    def fetch(self, files: Iterable[File]) -> None:
        """Fetch small objects in parallel."""
        files = [file for file in files if 0 < file.size <= _FETCHED]
        names = [self.listed().stored.get(file.name, file.name) for file in files]
        fetched = stores.fetch_parallel(self._store(), names, [file.size for file in files])
        for file, content in zip(files, fetched, strict=True):
            if isinstance(content, bytes) and len(content) <= file.size:
                self.contents[file.name] = content

    def release(self) -> None:
        """Free the fetched objects."""
        self.contents.clear()

    def companion(self, place: PurePosixPath) -> bytes | None:
        """Return the bytes of another object."""
        listing_, path = self.listed(), str(place).lstrip("/")
        names = [str(place), path]
        if listing_.covers(path):
            names = [listing_.files[path].name] if path in listing_.files else []
        for name in names:
            limit = streams.limit_for(name)
            content: bytes | None = self.contents.get(name)
            with suppress(OSError, ValueError):
                if content is None:
                    content = self._store().cat_file(listing_.stored.get(name, name), end=limit + 1)
            if content is not None:
                streams.expect_size(len(content), limit)
                return content
        return None

    def listing(self, folder: PurePosixPath) -> Names:
        """Return the names of the objects directly in a folder."""
        listing_, path = self.listed(), str(folder).lstrip("/")
        if listing_.covers(f"{path}/"):
            return _visible(listing_.folders.get(path, ()))
        for name in (str(folder), path):
            with suppress(OSError, ValueError):
                entries = [
                    (str(entry["name"]).rstrip("/").rpartition("/")[2], entry.get("type"))
                    for entry in self._store().ls(name, detail=True)
                ]
                return _visible(f"{n}/" if kind == "directory" else n for n, kind in entries if n)
        return ()

    def listed(self) -> FolderListing:
        """Return the objects below the place, in the order of their names."""
        return _folder_listing(self.url, self.listed_at)

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how another process makes it: without what waits here to be read."""
        return _remote, (self.url, self.listed_at, stores.secrets_of(self.url))


def _remote(url: str, listed_at: int, secrets: tuple[dict[str, str], dict[str, str]]) -> Remote:
    stores.remember(*secrets)
    return Remote(url, listed_at)


class _Object(io.RawIOBase):
    """An object in a store, whose errors are those of a file."""

    def __init__(self, remote: Remote, name: str) -> None:
        self._url = remote.url
        with self._errors_of_a_file():
            self._file = remote._store().open(name, "rb")

    @contextmanager
    def _errors_of_a_file(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # the package for the store may raise anything
            raise OSError(stores.error_reason(error, self._url)) from None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        with self._errors_of_a_file():
            content = self._file.read(len(buffer))
        buffer[: len(content)] = content
        return len(content)

    def close(self) -> None:
        if not self.closed and hasattr(self, "_file"):
            self._file.close()
        super().close()


#: Objects up to this size are fetched whole. Of a larger one, fsspec reads at least as much ahead.
_FETCHED = 5 * 1024 * 1024


class FolderListing:
    """What lies in a folder of an object store, by names without a slash at the beginning."""

    def __init__(self, url: str) -> None:
        store, root = stores.Url(url).store_and_path()
        store.invalidate_cache()
        self.root = stores.without_secrets(root.strip("/")).partition("?")[0]
        self.files: dict[str, File] = {}
        self.stored: dict[str, str] = {}  # the name in the store, where that holds a secret
        self.shown: dict[str, str] = {}
        for name, entry in sorted(store.find(root, detail=True).items()):
            path = name.lstrip("/")
            if entry.get("size") is None:  # a web server lists names
                with suppress(OSError):  # gone since: named where it is read
                    entry = store.info(name)
            changed = stores.state_digest(entry)
            if (public := stores.without_secrets(path)) != path:
                path = public.partition("?")[0]
                self.stored[path], self.shown[path], name = name, public, path
                changed *= public == path  # a file of another query may have the same
            self.files[path] = File(name, int(entry.get("size") or 0), changed)
        self.folders = _names_by_folder(self.files)

    def covers(self, path: str) -> bool:
        """Return whether the listing includes everything at a path."""
        return not self.root or path.startswith(f"{self.root}/")


_folder_listing = lru_cache(maxsize=8)(lambda url, _at: FolderListing(url))
