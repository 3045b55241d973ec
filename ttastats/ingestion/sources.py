"""Which files did the user mean?

A path is a file, a folder, an archive, a pattern, `-` or a URL, of an object store or a tracking
server. Each file found is a *source*, which gives its bytes in blocks, wherever it lies.
"""

from __future__ import annotations

import glob
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from operator import attrgetter
from typing import IO

import msgspec

from ttastats.base import stores, streams
from ttastats.base.errors import TtastatsError, raise_if
from ttastats.base.streams import UnreadableError, decompressed, line_blocks
from ttastats.ingestion.containers import (
    ARCHIVES,
    UNUSABLE,
    Archive,
    Container,
    Disk,
    Fetched,
    File,
    Memory,
    Refused,
    Remote,
    opened,
    printable,
)


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
        """Yield the decompressed bytes in blocks that end at a line feed.

        An UnreadableError says that the file cannot be opened, is damaged, or grows beyond all
        measure.
        """
        return self._read(line_blocks)

    def chunks(self) -> Iterator[bytes]:
        """Yield the decompressed bytes in chunks of any size, up to damage if there is any."""
        return self._read(partial(decompressed, at_once=True))

    def _read(
        self, parts: Callable[[IO[bytes], str, int, int], Iterator[bytes]]
    ) -> Iterator[bytes]:
        file = self.file
        try:
            with self.container.open(file.name) as raw:
                yield from parts(raw, file.name, file.size, file.stored)
        except UNUSABLE as error:
            raise UnreadableError(reason_of(error)) from error

    def is_at(self, place: str) -> bool:
        """Return whether the file is at an absolute path or URL, or below it."""
        if not isinstance(self.container, Disk):
            return self.name == place or self.name.startswith(f"{place.rstrip('/')}/")
        root = self.container.root.rstrip("/")
        if not place.startswith(f"{root}/") and place != root:
            return False
        path = f"{root}/{self.file.name}"
        return path == place or path.startswith(f"{place}/")

    def depth(self) -> int:
        """Return the number of folders between the given path and the file."""
        name = self.file.name
        if isinstance(self.container, Remote):
            name = name.lstrip("/").removeprefix(self.container.listed().root).lstrip("/")
        return name.count("/")

    def has_changed(self) -> bool:
        """Return whether a local file was modified since it was found."""
        if not isinstance(self.container, Disk) or not self.file.changed:
            return False
        try:
            stat = os.stat(f"{self.container.root}/{self.file.name}")
        except OSError:  # removed, but it was read
            return False
        return (stat.st_size, stat.st_mtime_ns) != (self.file.size, self.file.changed)


def find(paths: Sequence[str]) -> Iterator[Source]:
    """Yield every file that some paths mean, in a fixed order; one that means none is an error."""
    for path in paths:
        if path == "-":
            yield _standard_input_source()
        elif stores.is_server(path):
            yield from _tracking_sources(path)
        elif "://" in path:
            yield from _remote_sources(path)
        else:
            matches_ = matches(path)
            raise_if(not matches_, "no such file or folder", path, "Check the path.")
            for match in matches_:
                yield from _local_sources(match)


def matches(path: str) -> list[str]:
    """Return a local path itself if it exists, else the paths that match it as a pattern."""
    return [path] if os.path.exists(path) else sorted(glob.glob(path, recursive=True))


def _local_sources(path: str) -> Iterator[Source]:
    """Yield the files of a local folder or archive, or the one file."""
    if path.endswith(ARCHIVES) and os.path.isfile(path):
        yield from _archive_sources(path)
        return
    is_folder = os.path.isdir(path)
    folder, name = (path, "") if is_folder else os.path.split(path)
    disk = Disk(os.path.realpath(folder or "."))
    folder_name = printable(os.path.basename(disk.root))
    if not is_folder:
        file = _file_with_stat(name, lambda: os.stat(path))
        yield Source(disk, file, printable(path), folder_name, named=True)
        return
    for relative, entry in walk(path):
        label = printable(f"{path.rstrip('/')}/{relative}")
        if isinstance(entry, OSError):
            yield _refused_source(reason_of(entry), label, folder_name)
            continue
        if relative.endswith(ARCHIVES):
            yield from _archive_sources(os.path.join(path, relative))
            continue
        entry_name = printable(relative.rpartition("/")[0]) or folder_name
        yield Source(disk, _file_with_stat(relative, entry.stat), label, entry_name)


def walk(top: str) -> Iterator[tuple[str, os.DirEntry[str] | OSError]]:
    """Yield files below a folder, sorted by name; links to folders are not followed.

    What cannot be listed or looked at is given with the error, which is reported.
    """
    stack: list[tuple[str, str | os.DirEntry[str]]] = [("", top)]
    while stack:
        relative, folder = stack.pop()
        if isinstance(folder, os.DirEntry) and not folder.is_dir(follow_symlinks=False):
            broken = folder.is_symlink() and not os.path.exists(folder.path)
            yield relative, OSError("broken link") if broken else folder
            continue
        try:
            with os.scandir(os.fspath(folder)) as listing:
                entries = sorted(listing, key=attrgetter("name"), reverse=True)
        except OSError as error:
            yield relative or ".", error
            continue
        prefix = f"{relative}/" if relative else ""
        stack += [
            (f"{prefix}{entry.name}", entry)
            for entry in entries
            if entry.name[0] != "."
            and (
                entry.is_dir(follow_symlinks=False)
                or entry.is_file(follow_symlinks=False)
                # Pipes, sockets and devices are no logs, and links to folders may lead in circles.
                or (
                    entry.is_symlink()
                    and (os.path.isfile(entry.path) or not os.path.exists(entry.path))
                )
            )
        ]


def _file_with_stat(name: str, look: Callable[[], os.stat_result]) -> File:
    """Return a file with size and time of change; a missing one is reported when read."""
    try:
        file = look()
    except OSError:
        return File(name)
    return File(name, file.st_size, file.st_mtime_ns)


def _archive_sources(path: str) -> Iterator[Source]:
    """Yield the members of an archive, and what is wrong with it as files that are refused."""
    archive = Archive(os.path.realpath(path))
    stem = os.path.basename(path).split(".")[0]
    label = printable(path)
    try:
        content = opened(archive.path)
    except (UnreadableError, *UNUSABLE) as error:
        yield _refused_source(f"cannot be read as an archive: {reason_of(error)}", label, stem)
        return
    if content.damage:
        reason = f"is corrupt ({content.damage}); only {len(content.files):,} of its files could "
        yield _refused_source(f"{reason}be found", label, stem)
    if content.twice:
        name, n_others = printable(min(content.twice)), len(content.twice) - 1
        remainder = f" and {n_others:,} other(s)" if n_others else ""
        reason = f"contains several files named {name}{remainder}; the last of each is read, as "
        yield _refused_source(f"{reason}unpacking leaves it", f"{label}/{name} (earlier)", stem)
    for file in content.files:
        folder = printable(os.path.dirname(file.name)) or stem
        yield Source(archive, file, f"{label}/{printable(file.name)}", folder)


def _refused_source(reason: str, label: str, entry: str) -> Source:
    """Return a source that raises an error when it is read."""
    return Source(Refused(reason), File(os.path.basename(label)), label, entry, named=True)


def reason_of(error: Exception) -> str:
    """Return the reason in an error of reading a file."""
    if isinstance(error, MemoryError):
        return "not enough memory to read it"
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def _standard_input_source() -> Source:
    """Return standard input as a file in memory."""
    remedy = "Pipe a log into it, or name a file."
    raise_if(sys.stdin is None, "standard input is closed", "-", remedy)
    try:
        data = streams.read_bounded(sys.stdin.buffer, streams.whole_file_limit())
    except streams.TooLargeError as error:
        remedy = "Write it to a file, and name that."
        raise TtastatsError(str(error), where="standard input", remedy=remedy) from error
    return Source(Memory(data), File("-", len(data)), "-", "stdin", named=True)


@contextmanager
def prefetch(unit: Iterable[Source]) -> Iterator[None]:
    """Fetch the small objects of a unit in parallel, and free them after the block."""
    by_store: dict[Fetched, list[File]] = {}
    for source in unit:
        if isinstance(source.container, Fetched):
            by_store.setdefault(source.container, []).append(source.file)
    try:
        with suppress(Exception):  # what was not fetched says why where it is opened
            for store, files in by_store.items():
                store.fetch(files)
        yield
    finally:
        for store in by_store:
            store.release()


def _tracking_sources(url: str) -> Iterator[Source]:
    """Yield the runs of a tracking server."""
    from ttastats.ingestion import tracking  # only servers need it

    server, files = tracking.Tracking(url), tracking.runs(url)
    raise_if(not files, "no runs", url, "Check the experiment.")
    server_url = url.partition("#")[0].rstrip("/")
    for file in files:
        name = printable(file.name)
        yield Source(server, file, f"{server_url}#{name}", name.rpartition("/")[0])


def _remote_sources(url: str) -> Iterator[Source]:
    """Yield the objects below a URL, without hidden ones."""
    remote = Remote(url, time.time_ns())
    with stores.store_errors_named(stores.Url(url)):
        objects = remote.listed()
    raise_if(not objects.files, "no files found", url, "Check the URL.")
    for name, file in objects.files.items():
        relative = os.path.relpath(name, objects.root)
        if any(part[0] == "." for part in relative.split("/") if part != "."):
            continue  # as on a disk, where settings may lie in hidden folders
        folder = os.path.dirname(relative)
        label = (
            objects.shown.get(name, name) if "://" in name else f"{url.split('://')[0]}://{name}"
        )
        yield Source(remote, file, label, folder or os.path.basename(objects.root))
