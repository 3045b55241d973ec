"""May something be written there, and how, so that a reader sees all of it or nothing?"""

from __future__ import annotations

import errno
import os
import shutil
import sys
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ttastats.base.errors import TtastatsError

#: What to do where a result cannot stand.
REMEDY = "Choose another path with -o."


def expect_no_input(path: Path, inputs: Iterable[Path]) -> None:
    """Refuse to write over what is read."""
    place = path.resolve()
    if any(place == source.resolve() for source in inputs):
        raise TtastatsError(
            "is an input; the output would overwrite it", where=str(path), remedy=REMEDY
        )


def expect_file_place(path: Path, *, remedy: str = REMEDY) -> None:
    """Raise before any work if a file cannot stand there."""
    if path.is_dir():
        raise TtastatsError("is a folder", where=str(path), remedy=remedy)
    if not above(path).is_dir():
        what = f"folder does not exist: {path.parent}"
        raise TtastatsError(what, where=str(path), remedy=REMEDY)


def expect_writable(path: Path) -> None:
    """Raise before hours of work if nothing can be written beside a place."""
    expect_no_stream(path)
    with naming(path):
        probe = _new_name(path.resolve())
        probe.touch(exist_ok=False)
        probe.unlink()


def expect_no_stream(path: Path) -> None:
    """Refuse `-`, which means standard output elsewhere, as the name of a file or folder."""
    if str(path) == "-":
        raise TtastatsError("standard output is not supported here", where="-o -", remedy=REMEDY)


def occupied(path: Path, what: str) -> TtastatsError:
    """Return the error for a place that holds what must not be replaced; `what` says why."""
    return TtastatsError(f"{what}; refusing to overwrite", where=str(path), remedy=REMEDY)


def is_empty(path: Path) -> bool:
    """Return whether a place is a folder with nothing in it."""
    return path.is_dir() and not any(path.iterdir())


def above(path: Path) -> Path:
    """Return the folder in which something lies, also where it is named by a link or as `.`."""
    return path.resolve().parent


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Turn what goes wrong while something is written into one error that names the place."""
    try:
        yield
    except _failures() as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise TtastatsError(
            f"cannot write: {reason}",
            where=str(path),
            remedy="Nothing was changed. Choose a writable path with -o.",
        ) from error


def _failures() -> tuple[type[Exception], ...]:
    """Return what may go wrong; polars is not imported for what writes without it."""
    polars = sys.modules.get("polars")
    return (OSError, polars.exceptions.PolarsError) if polars else (OSError,)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary file beside `path` that takes its place if the block ends well."""
    with naming(path), _replacing(path) as temporary:
        yield temporary


@contextmanager
def _replacing(path: Path) -> Iterator[Path]:
    temporary = _new_name(path)
    temporary.touch(exist_ok=False)  # with the permissions of any new file
    try:
        yield temporary
        _to_disk(temporary)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a small file: a reader sees the old one, also after an OSError, or the new one."""
    with _replacing(path) as temporary:
        temporary.write_text(text, "utf-8", newline="\n")


@contextmanager
def replacing_folder(path: Path, last: str = "", old: Collection[str] = ()) -> Iterator[Path]:
    """Yield a temporary folder beside `path`, which becomes it or whose files are moved into it.

    Where a folder stands there, the file `last` is moved in the end, over the one that has its
    name: until then a reader who begins with it sees what was there. Then the files `old` are
    removed. All else in the folder stays.
    """
    place = path.resolve()
    with naming(path), folder_beside(path) as temporary:
        yield temporary
        for part in temporary.rglob("*"):
            if part.is_file():
                _to_disk(part)
        if place.exists():
            _move_into(place, temporary, last, old)
        else:
            temporary.rename(place)


def _move_into(place: Path, new: Path, last: str, old: Collection[str]) -> None:
    moved: list[Path] = []
    try:
        for part in sorted(new.iterdir()):
            if part.name != last:
                if (place / part.name).exists():
                    raise FileExistsError(errno.EEXIST, f"{part.name} exists already")
                moved.append(part.rename(place / part.name))
        (new / last).replace(place / last)
    except OSError:
        for part in moved:
            part.unlink()
        raise
    for name in old:
        with suppress(OSError):  # the new files are in place; who writes next may remove it
            (place / name).unlink()


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Yield a temporary folder beside `path` that becomes it, where nothing stands.

    Its files may be many: none is waited for until it is on the disk.
    """
    expect_no_stream(path)
    if path.exists() and not is_empty(path):
        raise occupied(path, "already exists and is not an empty folder")
    with naming(path), folder_beside(path) as temporary:
        yield temporary
        temporary.replace(path.resolve())  # refused if somebody has put something there


@contextmanager
def folder_beside(path: Path) -> Iterator[Path]:
    """Yield a temporary folder beside `path`, which is removed in the end."""
    with naming(path):
        temporary = _new_name(path.resolve())
        temporary.mkdir()
    try:
        yield temporary
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _new_name(path: Path) -> Path:
    """Return a name beside `path` that nothing has; who lists names sees that it is no result."""
    return path.parent / f".{path.name}.{os.urandom(4).hex()}.tmp"


def _to_disk(path: Path) -> None:
    with path.open("rb") as written:
        os.fsync(written.fileno())
