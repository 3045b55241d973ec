"""Which files did the user mean?

A path is a file, a folder, an archive, a pattern, `-` or a URL. Each file found is a *source*,
which gives its bytes in blocks, wherever it lies.
"""

from __future__ import annotations

import glob
import os
import sys
from collections.abc import Iterator, Sequence

import msgspec

from ttastats.blocks import DAMAGED, UnreadableError, line_blocks
from ttastats.containers import (
    ARCHIVES,
    Archive,
    Container,
    Disk,
    File,
    Memory,
    Refused,
    Remote,
    opened,
    printable,
)
from ttastats.errors import TtastatsError


class Source(msgspec.Struct, frozen=True, gc=False):
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
                yield from line_blocks(raw, self.file.name, self.file.size)
        except DAMAGED as error:
            raise UnreadableError(getattr(error, "strerror", None) or str(error)) from error

    def is_at(self, place: str) -> bool:
        """Tell whether this is the local file at an absolute place, or lies in the folder there."""
        if not isinstance(self.container, Disk):
            return False
        root = self.container.root.rstrip("/")
        if not place.startswith(f"{root}/") and place != root:
            return False
        own = f"{root}/{self.file.name}"
        return own == place or own.startswith(f"{place}/")

    def has_changed(self) -> bool:
        """Tell whether a local file has been written to since it was found."""
        if not isinstance(self.container, Disk) or not self.file.changed:
            return False
        try:
            found = os.stat(f"{self.container.root}/{self.file.name}")
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


def _local(path: str) -> Iterator[Source]:
    if path.endswith(ARCHIVES) and os.path.isfile(path):
        yield from _archive(path)
        return
    if not os.path.isdir(path):
        folder, name = os.path.split(path)
        root = os.path.realpath(folder or ".")
        own_name = printable(os.path.basename(root))
        yield Source(Disk(root), _stat(path, name), printable(path), own_name, named=True)
        return
    disk = Disk(os.path.realpath(path))
    own_name = printable(os.path.basename(disk.root))
    for below, entry in _walk(path):
        shown = printable(f"{path.rstrip('/')}/{below}")
        if isinstance(entry, OSError):
            refused = Refused(entry.strerror or str(entry))
            yield Source(refused, File(below), shown, own_name, named=True)
            continue
        if below.endswith(ARCHIVES):
            yield from _archive(os.path.join(path, below))
            continue
        entry_name = printable(below.rpartition("/")[0]) or own_name
        yield Source(disk, _stat_of(entry, below), shown, entry_name)


def _walk(top: str) -> Iterator[tuple[str, os.DirEntry[str] | OSError]]:
    """Give the files below a folder in the order of their names; links to folders are not followed.

    What cannot be listed or looked at is given with the error, so that it is said.
    """
    waiting: list[tuple[str, str | os.DirEntry[str]]] = [("", top)]
    while waiting:
        below, place = waiting.pop()
        if isinstance(place, os.DirEntry) and not place.is_dir(follow_symlinks=False):
            yield below, place
            continue
        try:
            with os.scandir(os.fspath(place)) as listing:
                entries = sorted(listing, key=_name, reverse=True)
        except OSError as error:
            yield below or ".", error
            continue
        prefix = f"{below}/" if below else ""
        waiting += [
            (f"{prefix}{entry.name}", entry)
            for entry in entries
            if entry.name[0] != "." and (entry.is_dir(follow_symlinks=False) or _is_file(entry))
        ]


def _name(entry: os.DirEntry[str]) -> str:
    return entry.name


def _is_file(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file()
    except OSError:  # a link that leads to itself
        return False


def _stat(path: str, name: str) -> File:
    found = os.stat(path)
    return File(name, found.st_size, found.st_mtime_ns)


def _stat_of(entry: os.DirEntry[str], name: str) -> File:
    try:
        found = entry.stat()
    except OSError:
        return File(name)
    return File(name, found.st_size, found.st_mtime_ns)


def _archive(path: str) -> Iterator[Source]:
    archive = Archive(os.path.realpath(path))
    stem = os.path.basename(path).split(".")[0]
    try:
        files = opened(archive.path).files
    except (UnreadableError, *DAMAGED) as error:
        raise TtastatsError(f"cannot be read as an archive: {error}", where=path) from error
    for file in files:
        folder = os.path.dirname(file.name) or stem
        yield Source(archive, file, f"{path}/{file.name}", folder)


def _standard_input() -> Source:
    data = sys.stdin.buffer.read()
    return Source(Memory(data), File("-", len(data)), "-", "stdin", named=True)


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
