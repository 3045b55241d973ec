"""Where may something be written, under which name, and so that a reader sees all or nothing?"""

from __future__ import annotations

import glob
import os
import re
import shutil
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from hashlib import sha256
from pathlib import Path, PurePath

from ttastats.base import stores
from ttastats.base.errors import TtastatsError, raise_if
from ttastats.base.stores import Place, Url

#: What to do where a result cannot stand.
REMEDY = "Choose another path with -o."


def expect_no_input(path: Place, inputs: Iterable[Place]) -> None:
    """Raise an error if the output path is also an input."""
    target = path.resolve()
    message = "is an input; the output would overwrite it"
    raise_if(any(target == source.resolve() for source in inputs), message, str(path), REMEDY)


def expect_file_place(path: Path, *, remedy: str = REMEDY) -> None:
    """Raise an error if no file can be written at a path: a folder, or no parent folder."""
    raise_if(path.is_dir(), "is a folder", str(path), remedy)
    lacks_folder = not path.resolve().parent.is_dir()
    raise_if(lacks_folder, f"folder does not exist: {path.parent}", str(path), REMEDY)


def expect_writable(path: Place) -> None:
    """Raise an error if no file can be created in the folder of a path."""
    if isinstance(path, Url):
        return  # whoever may not write learns it from the store
    expect_no_stream(path)
    with write_errors_named(path):
        probe = _temporary_name(path.resolve())
        probe.touch(exist_ok=False)
        probe.unlink(missing_ok=True)  # another writer may have taken it for a leftover


def expect_no_stream(path: Path) -> None:
    """Raise an error if the output path is `-`, standard output in other commands."""
    raise_if(str(path) == "-", "standard output is not supported here", "-o -", REMEDY)


def overwrite_error(path: Place, what: str) -> TtastatsError:
    """Return the error for a path that must not be overwritten; `what` is the reason."""
    return TtastatsError(f"{what}; refusing to overwrite", where=str(path), remedy=REMEDY)


def is_empty(path: Place) -> bool:
    """Return whether a path is an empty folder."""
    return isinstance(path, Path) and path.is_dir() and not any(path.iterdir())


@contextmanager
def write_errors_named(path: Place) -> Iterator[None]:
    """Turn errors raised while writing into one TtastatsError that names the path."""
    try:
        yield
    except TtastatsError:
        raise
    except Exception as error:
        polars = sys.modules.get("polars")  # which is not imported for this
        expected = (OSError, polars.exceptions.PolarsError) if polars else OSError
        if isinstance(path, Path) and not isinstance(error, expected):
            raise  # the package for a store may raise anything
        reason = getattr(error, "strerror", None) or str(error)
        remedy = "Nothing was changed. Choose a writable path with -o."
        raise TtastatsError(f"cannot write: {reason}", where=str(path), remedy=remedy) from error


@contextmanager
def replacing(path: Place, expected: Sequence[str | None] = ()) -> Iterator[Path]:
    """Yield a temporary file beside `path` that replaces it if the block succeeds.

    With `expected`, only if what is there is still in that state (`stores.state_of`).
    """
    with write_errors_named(path):
        if isinstance(path, Path):
            with _replacing_local(path, expected) as temporary:
                yield temporary
            return
        with temporary_folder(path) as folder:
            yield (copy := folder / path.name)
            with path.aborting_old_uploads(copy.stat().st_size):
                _put(copy, path, expected)


@contextmanager
def _replacing_local(path: Path, expected: Sequence[str | None] = ()) -> Iterator[Path]:
    """Yield a temporary local file that replaces `path` if the block succeeds."""
    with _temporary(path, lambda file: file.touch(exist_ok=False)) as temporary:  # as any new file
        yield temporary
        _sync(temporary)
        _put(temporary, path, expected)


@contextmanager
def _temporary(path: Path, make: Callable[[Path], None]) -> Iterator[Path]:
    """Yield a new file or folder beside a path, locked, so that nobody takes it for a leftover."""
    remove_leftovers(path)
    while True:
        make(temporary := _temporary_name(path))
        with _file_lock(temporary, wait=True):
            if not temporary.exists():
                continue  # somebody has taken it for one before it was locked
            try:
                yield temporary
            finally:
                _remove(temporary)
            return


def _put(temporary: Path, target: Place, expected: Sequence[str | None]) -> None:
    """Upload or move a file to a place, if what is there is still in the expected state."""
    if isinstance(target, Url):
        target.upload(temporary, *expected)
        return
    with _file_lock(target.resolve().parent, wait=True):
        if expected and stores.state_of(target) != expected[0]:
            raise stores.ReplacedError(target)
        temporary.replace(target)


@contextmanager
def _file_lock(path: Path, *, wait: bool = False) -> Iterator[bool]:
    """Lock a file or folder while the block runs; yield whether it was locked.

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


def remove_leftovers(path: Place) -> None:
    """Remove temporary files and folders that killed writers of a path left behind."""
    staging = stores.staging_path(path)
    with suppress(OSError):
        for leftover in staging.parent.glob(f".{glob.escape(staging.name)}.????????.tmp"):
            with _file_lock(leftover) as is_left:
                if is_left:
                    _remove(leftover)


def _remove(path: Path) -> None:
    """Remove a file or a folder, if it is there."""
    shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a small text file atomically: a reader sees the old text or the new one."""
    with _replacing_local(path) as temporary:
        temporary.write_text(text, "utf-8", newline="\n")


@contextmanager
def replacing_folder(
    path: Place, last: str = "", old: Collection[str] = (), expected: Sequence[str | None] = ()
) -> Iterator[Path]:
    """Yield a temporary folder beside `path` that becomes it, or whose files are moved into it.

    Where a folder stands there, the file `last` is moved in the end, over the one that has its
    name: until then a reader who begins with it sees what was there. Then the files `old` are
    removed. All else in the folder stays. `expected` is the state that `last` must be in.
    """
    with write_errors_named(path), temporary_folder(path) as temporary:
        yield temporary
        files = [part for part in temporary.rglob("*") if part.is_file()]
        if isinstance(path, Path):
            path = path.resolve()
            for part in files:
                _sync(part)
            if not path.exists():
                with suppress(OSError):  # somebody else may have made it just now
                    temporary.rename(path)
                    return
        files.sort(key=lambda part: (part.name == last, part))
        largest = max(part.stat().st_size for part in files)
        moved: list[str] = []
        try:
            with path.aborting_old_uploads(largest) if isinstance(path, Url) else nullcontext():
                for part in files:
                    name = part.relative_to(temporary).as_posix()
                    if isinstance(path, Path):
                        (path / name).parent.mkdir(parents=True, exist_ok=True)
                    _put(part, path / name, expected if name == last else ())
                    moved.append(name)
        except BaseException:
            with suppress(Exception):
                _remove_files(path, moved)
            raise
        with suppress(Exception):  # the new table is there; who writes next may remove them
            _remove_files(path, sorted(old))


def _remove_files(folder: Place, names: Sequence[str]) -> None:
    """Remove files of a folder, and subfolders that are empty then."""
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
    """Yield a temporary folder that is renamed to `path`, which must not exist or be empty.

    Its files may be many: none is waited for until it is on the disk.
    """
    expect_no_stream(path)
    if path.exists() and not is_empty(path):
        raise overwrite_error(path, "already exists and is not an empty folder")
    with write_errors_named(path), temporary_folder(path) as temporary:
        yield temporary
        temporary.replace(path.resolve())  # refused if somebody has put something there


@contextmanager
def temporary_folder(path: Place, mode: int = 0o777) -> Iterator[Path]:
    """Yield a temporary folder beside `path`, or on the local disk, removed afterwards."""
    staging = stores.staging_path(path)
    with ExitStack() as cleanup:
        with write_errors_named(path):
            folder = cleanup.enter_context(
                _temporary(staging, lambda folder_path: folder_path.mkdir(mode))
            )
        yield folder


def _temporary_name(path: Path) -> Path:
    """Return an unused hidden name in the folder of a path."""
    return path.parent / f".{path.name}.{os.urandom(4).hex()}.tmp"


def _sync(path: Path) -> None:
    """Flush a file to the disk."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,99}")
_UNSAFE = re.compile(r"[^A-Za-z0-9._+-]+")
#: Folders that mean something in the layout of results, and names that Windows keeps for itself.
_RESERVED = re.compile(r"(results|systems|con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
_NAME_LENGTH = 60


def safe_file_name(text: str | None) -> str:
    """Return a text as a file name valid on every system; a changed name gets a digest.

    What has to be changed gets a part of its digest, so that two names never become one.
    """
    text = text or "unknown"
    if _is_safe(text):
        return text
    digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    readable = _UNSAFE.sub("_", text)[:_NAME_LENGTH].strip("._+-")
    return f"{readable or 'name'}-{digest}"


def checked_folder_name(text: str, where: str) -> str:
    """Return a name unchanged if it is a valid folder name; otherwise raise an error."""
    message = f"{text!r} cannot be the name of a folder of results"
    raise_if(
        not _is_safe(text), message, where, "Use letters, digits, dots, dashes and underscores."
    )
    return text


def _is_safe(text: str) -> bool:
    return bool(_SAFE.fullmatch(text)) and not _RESERVED.fullmatch(text) and not text.endswith(".")


def user_folder() -> Path:
    """Return the cache folder by the conventions of the platform."""
    if (base := Path(os.environ.get("XDG_CACHE_HOME", ""))).is_absolute():
        return base / "ttastats"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home(), "ttastats", "cache")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "ttastats"
    return Path.home() / ".cache" / "ttastats"
