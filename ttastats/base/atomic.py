"""May something be written there, and how, so that a reader sees all of it or nothing?"""

from __future__ import annotations

import glob
import os
import shutil
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path, PurePath

from ttastats.base import stores
from ttastats.base.errors import TtastatsError
from ttastats.base.stores import Place, Url

#: What to do where a result cannot stand.
REMEDY = "Choose another path with -o."


def expect_no_input(path: Place, inputs: Iterable[Place]) -> None:
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


def expect_writable(path: Place) -> None:
    """Raise before hours of work if nothing can be written beside a place."""
    if isinstance(path, Url):
        return  # whoever may not write learns it from the store
    expect_no_stream(path)
    with naming(path):
        probe = _new_name(path.resolve())
        probe.touch(exist_ok=False)
        probe.unlink()


def expect_no_stream(path: Path) -> None:
    """Refuse `-`, which means standard output elsewhere, as the name of a file or folder."""
    if str(path) == "-":
        raise TtastatsError("standard output is not supported here", where="-o -", remedy=REMEDY)


def occupied(path: Place, what: str) -> TtastatsError:
    """Return the error for a place that holds what must not be replaced; `what` says why."""
    return TtastatsError(f"{what}; refusing to overwrite", where=str(path), remedy=REMEDY)


def is_empty(path: Place) -> bool:
    """Return whether a place is a folder with nothing in it."""
    return isinstance(path, Path) and path.is_dir() and not any(path.iterdir())


def above(path: Path) -> Path:
    """Return the folder in which something lies, also where it is named by a link or as `.`."""
    return path.resolve().parent


@contextmanager
def naming(path: Place) -> Iterator[None]:
    """Turn what goes wrong while something is written into one error that names the place."""
    try:
        yield
    except _failures(path) as error:
        if isinstance(error, TtastatsError):
            raise
        reason = getattr(error, "strerror", None) or str(error)
        raise TtastatsError(
            f"cannot write: {reason}",
            where=str(path),
            remedy="Nothing was changed. Choose a writable path with -o.",
        ) from error


def _failures(path: Place) -> tuple[type[Exception], ...]:
    """Return what may go wrong; polars is not imported for what writes without it."""
    if isinstance(path, Url):
        return (Exception,)  # the package for the store may raise anything
    polars = sys.modules.get("polars")
    return (OSError, polars.exceptions.PolarsError) if polars else (OSError,)


@contextmanager
def replacing(path: Place, expected: Sequence[str | None] = ()) -> Iterator[Path]:
    """Yield a temporary file beside `path` that takes its place if the block ends well.

    With `expected`, only if what is there is still in that state (`stores.state_of`).
    """
    if isinstance(path, Url):
        with naming(path), folder_beside(path) as folder:
            yield (new := folder / path.name)
            with path.uploading(new.stat().st_size):
                path.put(new, *expected)
        return
    with naming(path), _replacing(path, expected) as temporary:
        yield temporary


@contextmanager
def _replacing(path: Path, expected: Sequence[str | None] = ()) -> Iterator[Path]:
    temporary = _new_name(path)
    temporary.touch(exist_ok=False)  # with the permissions of any new file
    try:
        with _held(temporary):
            yield temporary
            _to_disk(temporary)
            _replace(temporary, path, expected)
    finally:
        temporary.unlink(missing_ok=True)


def _replace(new: Path, place: Path, expected: Sequence[str | None]) -> None:
    """Move a file over another, one writer after the other."""
    with _held(place.resolve().parent, wait=True):
        if expected and stores.state_of(place) != expected[0]:
            raise stores.ReplacedError(place)
        new.replace(place)


@contextmanager
def _held(path: Path, *, wait: bool = False) -> Iterator[bool]:
    """Hold a lock on a file or folder, which ends with this process; yield whether there is one.

    Where the system has none, there is none to wait for.
    """
    try:
        import fcntl  # not on Windows

        handle = os.open(path, os.O_RDONLY)
    except (ImportError, OSError):
        yield False
        return
    locked = False
    try:
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            locked = True
        yield locked
    finally:
        os.close(handle)


def sweep(path: Place) -> None:
    """Remove the temporary files and folders of writers of a place who were killed."""
    place = stores.staging(path)
    with suppress(OSError):
        for left in place.parent.glob(f".{glob.escape(place.name)}.????????.tmp"):
            with _held(left) as is_left:
                if is_left:
                    shutil.rmtree(left, ignore_errors=True) if left.is_dir() else left.unlink()


def write_text(path: Path, text: str) -> None:
    """Write a small file: a reader sees the old one, also after an OSError, or the new one."""
    with _replacing(path) as temporary:
        temporary.write_text(text, "utf-8", newline="\n")


@contextmanager
def replacing_folder(
    path: Place, last: str = "", old: Collection[str] = (), expected: Sequence[str | None] = ()
) -> Iterator[Path]:
    """Yield a temporary folder beside `path`, which becomes it or whose files are moved into it.

    Where a folder stands there, the file `last` is moved in the end, over the one that has its
    name: until then a reader who begins with it sees what was there. Then the files `old` are
    removed. All else in the folder stays. `expected` is the state that `last` must be in.
    """
    with naming(path), folder_beside(path) as temporary:
        yield temporary
        files = [part for part in temporary.rglob("*") if part.is_file()]
        if isinstance(path, Path):
            path = path.resolve()
            for part in files:
                _to_disk(part)
            if not path.exists():
                with suppress(OSError):  # somebody else may have made it just now
                    temporary.rename(path)
                    return
        files.sort(key=lambda part: (part.name == last, part))
        names = {part.relative_to(temporary).as_posix(): part for part in files}
        largest = max(part.stat().st_size for part in files)
        with path.uploading(largest) if isinstance(path, Url) else nullcontext():
            _fill(path, names, last, expected)
        with suppress(Exception):  # the new table is there; who writes next may remove them
            _remove(path, sorted(old))


def _fill(
    folder: Place, new: Mapping[str, Path], last: str, expected: Sequence[str | None]
) -> None:
    """Move files into a folder, in their order: all of them or none."""
    moved: list[str] = []
    try:
        for name, file in new.items():
            _put(file, folder / name, expected if name == last else ())
            moved.append(name)
    except BaseException:
        with suppress(Exception):
            _remove(folder, moved)
        raise


def _put(new: Path, place: Place, expected: Sequence[str | None]) -> None:
    if isinstance(place, Url):
        place.put(new, *expected)
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    _replace(new, place, expected)


def _remove(folder: Place, names: Sequence[str]) -> None:
    if isinstance(folder, Url):
        folder.remove(names)
        return
    for name in names:
        with suppress(OSError):
            (folder / name).unlink()
            for above_it in PurePath(name).parents[:-1]:
                (folder / above_it).rmdir()  # refused while there are others


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
def folder_beside(path: Place) -> Iterator[Path]:
    """Yield a temporary folder beside `path`, or on the local disk, which is removed in the end."""
    with naming(path):
        temporary = _new_name(stores.staging(path))
        temporary.mkdir()
    try:
        with _held(temporary):
            yield temporary
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _new_name(path: Path) -> Path:
    """Return a name beside `path` that nothing has; who lists names sees that it is no result."""
    return path.parent / f".{path.name}.{os.urandom(4).hex()}.tmp"


def _to_disk(path: Path) -> None:
    with path.open("rb") as written:
        os.fsync(written.fileno())
