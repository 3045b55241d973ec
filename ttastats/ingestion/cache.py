"""Which table holds the logs that a question is about, read on the way to its answer?

Tables of logs are kept in the user's cache folder: one folder for the paths as they were given,
and in it `STATE.CONTENT.parquet`. The state is a digest of name, size and time of change of every
file that the paths mean, the content one of the table itself. So a damaged table, or one of logs
that have changed since, has another name than the one looked for. No table is ever replaced: a
process that reads one is not disturbed by others.
"""

from __future__ import annotations

import atexit
import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, suppress
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import xxhash

from ttastats.base import __version__, atomic
from ttastats.base.atomic import user_folder
from ttastats.base.errors import TtastatsError, raise_if
from ttastats.formats.config import FILE
from ttastats.ingestion import sources
from ttastats.table import schema

if TYPE_CHECKING:
    from ttastats.ingestion.account import Account
    from ttastats.ingestion.guessed import Ask
    from ttastats.ingestion.ingest import Progress

    #: What shows the progress of reading while it lasts.
    Watched = Callable[[], AbstractContextManager[Progress | None]]

#: Seconds after which an unused table is removed, and one of logs as they were before.
_UNUSED = 30 * 24 * 3600
_OUTDATED = 3600


def table(
    paths: Sequence[str],
    *,
    keep: bool,
    watched: Watched,
    guess: object = None,
    ask: Ask | None = None,
    tells: Callable[[Path], bool] = lambda _table: True,
) -> tuple[Path, Account | None]:
    """Return the table of some logs, and the account of the ingest if one was necessary.

    With `keep`, the table is kept for later questions if the cache folder can be written to. Files
    at a URL are read once per process where the store does not tell whether they have changed.
    Files that are all traces are an error. `guess` and `ask` are those of `ingest`. A table that
    does not tell what it should, of which `tells` is asked, is made anew.
    """
    key = _paths_digest(paths, guessed=bool(guess))
    ingest_to = partial(_ingest_to_cache, paths, watched=watched, guess=guess, ask=ask)
    state, is_known = _state(paths)
    caches = [folder / key for folder in _cache_folders(keep=keep and is_known)]
    for cache_folder in caches:
        if (path := _find_cached(cache_folder, state, tells)) is not None:
            return path, None
    *lasting, temporary = caches
    for cache_folder in lasting:
        try:
            return ingest_to(cache_folder, state)
        except OSError:
            pass  # it is read-only, or full
        except TtastatsError as error:
            if error.__cause__ is None:
                raise
    with atomic.write_errors_named(temporary.parent):
        return ingest_to(temporary, state)


def is_cached(path: str) -> bool:
    """Return whether the cache holds a table of the logs at a path in their present state."""
    state, _ = _state([path])
    return any(
        _find_cached(folder / _paths_digest([path]), state) for folder in _cache_folders(keep=True)
    )


def _cache_folders(*, keep: bool) -> Iterator[Path]:
    """Yield the folders of cached tables: the user's if tables are kept, and this process's."""
    if keep:
        with suppress(RuntimeError):  # there is no home folder
            yield user_folder()
    yield _process_folder()


@cache
def _process_folder() -> Path:
    """Return a temporary folder that is removed when this process ends."""
    path = Path(tempfile.gettempdir(), "ttastats")
    atomic.remove_leftovers(path)
    cleanup = ExitStack()
    atexit.register(cleanup.close)
    return cleanup.enter_context(atomic.temporary_folder(path, 0o700))


def _paths_digest(paths: Sequence[str], *, guessed: bool = False) -> str:
    """Return the name of the cache folder of some paths, as given in the working folder."""
    words = [str(Path.cwd()), *paths, *(["--guess"] if guessed else [])]
    versioned = json.dumps([__version__, schema.RUNS.version, words])
    return xxhash.xxh3_128_hexdigest(versioned.encode())


def _state(paths: Sequence[str]) -> tuple[str, bool]:
    """Return a digest of name, size and time of change of the files that some paths mean.

    It covers their configs. Beside it stands whether every store at a URL tells when its files
    change.
    """
    states: list[tuple[str, int, int]] = []
    is_known = True
    for path in paths:
        if "://" in path:
            states_of_files = [
                (source.name, source.file.size, source.file.changed)
                for source in sources.find([path])
            ]
            is_known &= all(changed for _, _, changed in states_of_files)
            states += states_of_files
            continue
        for match in map(Path, sources.matches(path)):
            files: list[tuple[Path, Path | os.DirEntry[str] | OSError]] = []
            if match.is_dir():
                files += ((match / part, entry) for part, entry in sources.walk(str(match)))
            start = match.resolve()
            configs = (folder / FILE for folder in (start, *start.parents))
            files += ((file, file) for file in (match, *configs) if file.is_file())
            for file, entry in files:
                size, changed = -1, 0
                if not isinstance(entry, OSError):
                    with suppress(OSError):
                        status = entry.stat()
                        size, changed = status.st_size, status.st_mtime_ns
                states.append((str(file), size, changed))
    text = "".join(f"{name}\0{size}\0{changed}\n" for name, size, changed in states)
    return xxhash.xxh3_128_hexdigest(text.encode(errors="surrogateescape")), is_known


def _content_digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, xxhash.xxh3_128).hexdigest()


def _find_cached(
    folder: Path, state: str, tells: Callable[[Path], bool] = lambda _table: True
) -> Path | None:
    """Return the complete cached table of a state, or None, and update its time of use."""
    complete = filter(_is_complete, sorted(folder.glob(f"{state}.*.parquet")))
    path = next(filter(tells, complete), None)
    with suppress(OSError):
        if path is not None:
            os.utime(path)
    return path


def _is_complete(path: Path) -> bool:
    try:
        return _content_digest(path) == path.name.split(".")[1]
    except OSError:
        return False


def _ingest_to_cache(
    paths: Sequence[str],
    folder: Path,
    state: str,
    *,
    watched: Watched,
    guess: object,
    ask: Ask | None,
) -> tuple[Path, Account]:
    """Read logs into a new cached table; unchanged logs are taken from the last one."""
    from ttastats.ingestion.ingest import ingest  # the table is mostly there

    fresh = folder / f".{os.urandom(8).hex()}.parquet"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        tables = sorted(folder.glob("[!.]*.parquet"), key=lambda path: path.stat().st_mtime)
        if latest := next(filter(_is_complete, reversed(tables)), None):
            shutil.copyfile(latest, fresh)
        with watched() as on_progress:
            account = ingest(paths, fresh, guess=guess, ask=ask, on_progress=on_progress)
        location, message = ", ".join(paths), "contains traces of a profiler, not logs of runs"
        raise_if(account.traces, message, location, f"Use `ttastats profile {location}`.")
        table_path = folder / f"{state}.{_content_digest(fresh)}.parquet"
        fresh.replace(table_path)
    finally:
        fresh.unlink(missing_ok=True)
        with suppress(OSError):  # refused where there is a table
            folder.rmdir()
    _remove_unused(table_path)
    return table_path, account


def _remove_unused(table_path: Path) -> None:
    """Remove tables not used for a month, and older tables of the same logs."""
    now = time.time()
    for path in table_path.parent.parent.glob("*/*"):
        is_before = path.parent == table_path.parent and not path.name.startswith(".")
        longest = _OUTDATED if is_before else _UNUSED
        with suppress(OSError):
            if path != table_path and now - path.stat().st_mtime > longest:
                shutil.rmtree(path) if path.is_dir() else path.unlink()
                path.parent.rmdir()  # refused while there are others
