"""From folders of logs to one table: walk, recognise, parse, and give an honest account."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path, PurePosixPath

import polars as pl
import xxhash

from ttastats import registry, store, tables
from ttastats.dialect import Dialect, Log
from ttastats.errors import TtastatsError
from ttastats.records import Problem

_BLOCK = 8 * 1024 * 1024
#: Runs held before they become columns; bounds memory however many logs there are.
_BATCH = 2_000


@dataclass(frozen=True, slots=True)
class Account:
    """What an ingest saw and made.

    `problems` are those of whole files and of runs, each with its source; `other_files` were seen
    in folders and are of no known format.
    """

    files: int
    other_files: int
    runs: int
    evaluations: int
    problems: tuple[Problem, ...]
    output: Path

    @property
    def rejected(self) -> tuple[Problem, ...]:
        """Give the problems for which something the logs should hold is missing."""
        return tuple(problem for problem in self.problems if problem.severity == "error")

    def problem_counts(self) -> dict[str, int]:
        """Give how many problems of each code there are, most frequent first."""
        return dict(Counter(problem.code for problem in self.problems).most_common())


@dataclass(frozen=True, slots=True)
class _Found:
    path: Path
    source: str
    root: Path
    named: bool  # given by the user, not found in a folder


def ingest(
    paths: Sequence[Path],
    output: Path | None = None,
    *,
    dialect: str | None = None,
    edition: str | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> Account:
    """Read every log under `paths` and write one Parquet file.

    Parameters
    ----------
    output
        Where to write; by default the name of the one path, in the working directory.
    dialect
        Reads every file as this dialect instead of recognising each.
    edition
        The edition of the suite, where the logs lie in no folder that names it.
    on_progress
        Called with the number of files done and of files in all.

    Raises
    ------
    TtastatsError
        A path is missing, there is no log at all, or the output cannot be written.
    """
    target = output or default_output(paths)
    if target.exists() and not store.is_ours(target):
        raise TtastatsError(
            "exists and was not written by ttastats; it is left as it is",
            where=str(target),
            remedy="Name another place with -o.",
        )
    chosen = registry.named(dialect) if dialect else None
    files = list(_walk(paths))
    frames: list[pl.DataFrame] = []
    batch: list[tables.SourcedRun] = []
    problems: list[Problem] = []
    others = 0
    for done, found in enumerate(files):
        if on_progress:
            on_progress(done, len(files))
        result = _read(found, chosen, edition)
        if result is None:
            others += 1
            continue
        batch += result.runs
        problems += result.problems
        if len(batch) >= _BATCH:
            frames.append(tables.frame_of(batch))
            batch.clear()
    frames.append(tables.frame_of(batch))
    table = pl.concat(frames)
    if table.is_empty():
        raise _nothing(paths, len(files), problems)
    store.write(table, target)
    if on_progress:
        on_progress(len(files), len(files))
    return Account(
        files=len(files),
        other_files=others,
        runs=table.select(pl.struct("run_id", "source").n_unique()).item(),
        evaluations=int(table.get_column("eval_index").is_not_null().sum()),
        problems=tuple(problems),
        output=target,
    )


def default_output(paths: Sequence[Path]) -> Path:
    """Give the name of the one path with `.parquet`, or `runs.parquet` for several."""
    name = paths[0].resolve().name if len(paths) == 1 else ""
    stem = name if len(paths) == 1 and paths[0].is_dir() else Path(name).stem
    return Path(f"{stem or 'runs'}.parquet")


def _walk(paths: Iterable[Path]) -> Iterator[_Found]:
    for path in paths:
        if not path.exists():
            raise TtastatsError("no such file or folder", where=str(path), remedy="Check the path.")
        if path.is_file():
            yield _Found(path, str(path), path.parent, named=True)
            continue
        for folder, folders, names in os.walk(path):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            for name in sorted(names):
                if not name.startswith("."):
                    file = Path(folder, name)
                    yield _Found(file, str(file), path, named=False)


@dataclass(frozen=True, slots=True)
class _Result:
    runs: list[tables.SourcedRun]
    problems: list[Problem]


def _read(found: _Found, chosen: Dialect | None, edition: str | None) -> _Result | None:
    """Give the runs of a file, or None for a file in a folder that is no log."""
    try:
        head = _head(found.path)
        dialect = chosen or registry.recognise(head)
        if dialect is None:
            return _unknown(found) if found.named else None
        whole = len(head) < _BLOCK
        blocks = partial(_once, head) if whole else partial(_blocks, found.path)
        digest = xxhash.xxh3_128_hexdigest(head) if whole else _digest(blocks())
        place = PurePosixPath(found.path.resolve())
        log = Log(place, blocks, _companion, edition)
        return _parse(log, dialect, found, digest)
    except OSError as error:
        return _rejected(found, "unreadable_file", error.strerror or str(error))
    except TtastatsError as error:
        return _rejected(found, "ambiguous_dialect", f"{error.what}. {error.remedy}")


def _parse(log: Log, dialect: Dialect, found: _Found, digest: str) -> _Result:
    runs: list[tables.SourcedRun] = []
    problems: list[Problem] = []
    for item in dialect.parse(log):
        if isinstance(item, Problem):
            problems.append(replace(item, source=found.source))
            continue
        run = item if item.entry else replace(item, entry=_folder_entry(found))
        runs.append(tables.SourcedRun(run, found.source, digest, len(runs), dialect.name))
        problems += (replace(problem, source=found.source) for problem in run.problems)
    return _Result(runs, problems)


def _folder_entry(found: _Found) -> str:
    """Give the log's folder, seen from the given one: what repeated runs share elsewhere."""
    below = found.path.parent.relative_to(found.root).as_posix()
    return found.root.resolve().name if below == "." else below


def _unknown(found: _Found) -> _Result:
    known = ", ".join(sorted(registry.dialects()))
    return _rejected(found, "unknown_format", f"not a log of a known dialect ({known})")


def _rejected(found: _Found, code: str, message: str) -> _Result:
    return _Result([], [Problem(code, message, "error", source=found.source)])


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_BLOCK)


def _once(data: bytes) -> Iterator[bytes]:
    yield data


def _blocks(path: Path) -> Iterator[bytes]:
    """Give the bytes of a file in blocks that end at a line feed."""
    rest = b""
    with path.open("rb") as file:
        while chunk := file.read(_BLOCK):
            cut = chunk.rfind(b"\n") + 1
            if cut:
                yield rest + chunk[:cut]
                rest = chunk[cut:]
            else:
                rest += chunk
    if rest:
        yield rest


def _digest(blocks: Iterable[bytes]) -> str:
    state = xxhash.xxh3_128()
    for block in blocks:
        state.update(block)
    return state.hexdigest()


@lru_cache(maxsize=4096)
def _companion(path: PurePosixPath) -> bytes | None:
    try:
        return Path(path).read_bytes()
    except OSError:
        return None


def _nothing(paths: Sequence[Path], files: int, problems: Sequence[Problem]) -> TtastatsError:
    where = ", ".join(str(path) for path in paths)
    if problems:
        first = problems[0]
        return TtastatsError(f"no run could be read: {first.message}", where=first.source)
    seen = f"{files} file(s), none of them a log" if files else "the folder is empty"
    known = ", ".join(sorted(registry.dialects()))
    return TtastatsError(f"no logs found: {seen}", where=where, remedy=f"Known formats: {known}.")
