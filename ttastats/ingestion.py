"""From logs to one table: plan units of work, read each, collect, and give an honest account."""

from __future__ import annotations

import gc
import os
import posixpath
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from pathlib import Path, PurePosixPath

import polars as pl
import xxhash
from msgspec import structs

from ttastats import ledger, registry, store, tables
from ttastats.blocks import UnreadableError
from ttastats.cluster import processes
from ttastats.containers import Container, File, Memory, printable
from ttastats.dialect import Dialect, Log
from ttastats.errors import TtastatsError
from ttastats.records import Problem, Run
from ttastats.sources import Source, find

#: A unit of work is about this many bytes, or this many files: enough to make the cost of a frame
#: and of a message between processes small, little enough to keep memory bounded.
_UNIT_BYTES = 32 * 1024 * 1024
_UNIT_FILES = 1_000
#: From here on more processes pay for their start.
_PARALLEL_BYTES = 400 * 1024 * 1024
#: Units that may be under way or wait for an earlier one: enough for a cluster of many cores.
_AHEAD = 256

#: No log, to be read by a process that has nothing to do yet.
_EMPTY = Source(Memory(b""), File("empty"), "empty", "empty")

Progress = Callable[[int, int], None]
Companion = Callable[[PurePosixPath], bytes | None]


@dataclass(frozen=True, slots=True)
class Account:
    """What an ingest saw and made.

    `problems` are those of whole files and of runs, each with its source; `other_files` were seen
    in folders and are of no known format; `unchanged` were taken over from the file's last ingest;
    `written` is false where that held all there is.
    """

    files: int
    other_files: int
    runs: int
    evaluations: int
    problems: tuple[Problem, ...]
    output: Path
    unchanged: int = 0
    written: bool = True

    @property
    def rejected(self) -> tuple[Problem, ...]:
        """Give the problems for which something the logs should hold is missing."""
        return tuple(problem for problem in self.problems if problem.severity == "error")

    def problem_counts(self) -> dict[str, int]:
        """Give how many problems of each code there are, most frequent first."""
        return dict(Counter(problem.code for problem in self.problems).most_common())


@dataclass(frozen=True, slots=True)
class Reading:
    """How logs are read: the dialect and edition that the user named, if any."""

    dialect: str | None = None
    edition: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """What one unit of work gave: rows, problems, and which files were no logs."""

    frame: pl.DataFrame
    problems: tuple[Problem, ...]
    others: tuple[str, ...]
    files: int


def ingest(
    paths: Sequence[str | Path],
    output: str | Path | None = None,
    *,
    dialect: str | None = None,
    edition: str | None = None,
    workers: int | None = None,
    executor: Executor | None = None,
    on_progress: Progress | None = None,
) -> Account:
    """Read every log that `paths` mean and write one table.

    Where the output is from an earlier ingest, only logs that have changed since are read.

    Parameters
    ----------
    paths
        Files, folders, archives, patterns, `-` for standard input, URLs.
    output
        Where to write: a Parquet file, or a folder of them if this is a folder or ends with a
        slash; by default a file with the name of the one path, in the working directory.
    dialect
        Reads every file as this dialect instead of recognising each.
    edition
        The edition of the suite, where the logs lie in no folder that names it.
    workers
        Processes; by default one, and every core where there is much to read.
    executor
        Runs the units of work instead of processes of this call.
    on_progress
        Called with the number of bytes done and of bytes in all.

    Raises
    ------
    TtastatsError
        A path is missing, there is no log at all, or the output cannot be written.
    """
    target = Path(output or default_output(paths))
    in_parts = str(output or "").endswith(("/", os.sep)) or target.is_dir()
    store.expect_place(target, in_parts=in_parts)
    reading = Reading(registry.named(dialect).name if dialect else None, edition)
    # Processes take a while to start; where everything will be read, they do while files are found.
    early = None if target.exists() else workers
    with _executor(early, executor) as pool:
        return _ingest(paths, target, reading, workers, pool, on_progress, in_parts=in_parts)


def _ingest(
    paths: Sequence[str | Path],
    target: Path,
    reading: Reading,
    workers: int | None,
    executor: Executor | None,
    on_progress: Progress | None,
    *,
    in_parts: bool,
) -> Account:
    sources = _unique(find([str(path) for path in paths]), target)
    before = ledger.of(target)
    fresh, kept = ledger.split(before, sources, reading.dialect, reading.edition)
    problems, others = ledger.said(before, kept)
    if ledger.is_whole(before, fresh, kept):  # nothing to write, then
        rows = store.read([target])
        account = _account(rows, tables.counts(rows), sources, problems, others, target, kept)
        return replace(account, written=False)
    with store.Held(target) as held:
        for result in _read_all(fresh, reading, workers, executor, on_progress):
            held.add(result.frame)
            problems += result.problems
            others += result.others
        rows = held.rows()
        if kept:
            rows = tables.merged(rows, store.rows_of(target, kept))
        rows = tables.marked(rows)
        counts = tables.counts(rows)
        if not any(counts):
            raise _nothing(paths, len(sources), problems)
        account = _account(rows, counts, sources, problems, others, target, kept)
        record = ledger.record(sources, problems, others, reading.dialect, reading.edition)
        store.write(rows, target, ledger=record, in_parts=in_parts)
    return account


def _account(
    rows: pl.LazyFrame,
    counts: tuple[int, int],
    sources: Sequence[Source],
    problems: Sequence[Problem],
    others: Sequence[str],
    target: Path,
    kept: Collection[str],
) -> Account:
    return Account(
        files=len(sources),
        other_files=len(others),
        runs=counts[0],
        evaluations=counts[1],
        problems=(*problems, *tables.duplicate_problems(rows)),
        output=target,
        unchanged=len(kept),
    )


def default_output(paths: Sequence[str | Path]) -> Path:
    """Give the name of the one path with `.parquet`, or `runs.parquet` for several."""
    path = Path(str(paths[0])) if len(paths) == 1 else Path("runs")
    if path.is_dir():
        return Path(f"{path.resolve().name or 'runs'}.parquet")
    stem = path.name.split(".")[0]
    return Path(f"{stem}.parquet") if stem.isidentifier() or path.exists() else Path("runs.parquet")


def _unique(sources: Iterator[Source], target: Path) -> list[Source]:
    """Give the sources once each, in the order of their names, which is that of the rows.

    A pattern and a folder may mean the same file. The output is no source, wherever it lies.
    """
    own = str(target.resolve())
    found = {source.name: source for source in sources if not source.is_at(own)}
    return [found[name] for name in sorted(found)]


# --------------------------------------------------------------------------------- units of work


def units(sources: Sequence[Source]) -> Iterator[tuple[Source, ...]]:
    """Pack sources into units of work, in their order."""
    unit: list[Source] = []
    size = 0
    for source in sources:
        if unit and (size + source.file.size > _UNIT_BYTES or len(unit) >= _UNIT_FILES):
            yield tuple(unit)
            unit, size = [], 0
        unit.append(source)
        size += source.file.size
    if unit:
        yield tuple(unit)


def _read_all(
    sources: Sequence[Source],
    reading: Reading,
    workers: int | None,
    executor: Executor | None,
    on_progress: Progress | None,
) -> Iterator[Result]:
    """Read every unit, in order, here or in other processes."""
    total = sum(source.file.size for source in sources)
    if executor is None and workers is None:
        workers = (os.cpu_count() or 1) if total >= _PARALLEL_BYTES else 1
    done = 0
    with _executor(workers, executor) as pool:
        for unit, result in _submitted(pool, list(units(sources)), reading):
            done += sum(source.file.size for source in unit)
            if on_progress:
                on_progress(done, total)
            yield result


@contextmanager
def _executor(workers: int | None, executor: Executor | None) -> Iterator[Executor | None]:
    """Give the executor there is, or one of several processes, or none for a single one."""
    if executor is not None or workers is None or workers <= 1:
        yield executor
        return
    with processes(workers) as pool:
        for _ in range(workers):
            pool.submit(read_unit, (_EMPTY,), Reading())  # starts one, which imports what it needs
        yield pool


def _submitted(
    pool: Executor | None, work: Sequence[tuple[Source, ...]], reading: Reading
) -> Iterator[tuple[tuple[Source, ...], Result]]:
    """Give results in the order of the work; a few units are ahead, so that memory is bounded."""
    if pool is None:
        for unit in work:
            yield unit, read_unit(unit, reading)
        return
    ahead: deque[tuple[tuple[Source, ...], Future[Result]]] = deque()
    rest = iter(work)
    while True:
        for unit in islice(rest, _AHEAD - len(ahead)):
            ahead.append((unit, pool.submit(read_unit, unit, reading)))
        if not ahead:
            return
        unit, future = ahead.popleft()  # a future that is kept would keep its rows
        yield unit, future.result()


def read_unit(unit: Sequence[Source], reading: Reading) -> Result:
    """Read some files; the piece of work that may run in any process or on any machine."""
    chosen = registry.named(reading.dialect) if reading.dialect else None
    runs: list[tables.SourcedRun] = []
    problems: list[Problem] = []
    others: list[str] = []
    companions = _Companions()
    with _no_garbage_collection():
        for source in unit:
            found = _read(source, chosen, reading.edition, companions)
            if found is None:
                others.append(source.name)
                continue
            runs += found[0]
            problems += found[1]
        frame = tables.frame_of(runs)
    return Result(frame, tuple(problems), tuple(others), len(unit))


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Let the collector rest: nothing here makes cycles, and it walks every live object."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


# -------------------------------------------------------------------------------------- one file


Found = tuple[list[tables.SourcedRun], list[Problem]]

_CHANGED = "changed while it was read; ingest again when it is complete"


def _read(
    source: Source, chosen: Dialect | None, edition: str | None, companions: _Companions
) -> Found | None:
    """Give the runs and problems of a file, or None for a file in a folder that is no log."""
    try:
        bytes_of = _Bytes(source)
        head = bytes_of.head()
        dialect = chosen or registry.recognise(head)
        if dialect is None:
            return _unknown(source) if source.named else None
        container, name = source.container, source.file.name
        log = Log(
            container.folder(name),
            printable(posixpath.basename(name)),
            bytes_of.blocks,
            companions.of(container),
            edition,
        )
        items = list(dialect.parse(log))
        digest = bytes_of.digest()
    except UnreadableError as error:
        return _rejected(source, "unreadable_file", str(error))
    except TtastatsError as error:
        return _rejected(source, "ambiguous_dialect", f"{error.what}. {error.remedy}")
    runs, problems = _sourced(items, source, digest, dialect.name)
    if source.has_changed():
        problems.append(Problem("changed_file", _CHANGED, "warning", source=source.name))
    return runs, problems


class _Companions:
    """The files beside logs, each read once for a unit of work and not kept any longer."""

    def __init__(self) -> None:
        self._readers: dict[Container, Companion] = {}

    def of(self, container: Container) -> Companion:
        """Give what reads the companions of a container's logs."""
        reader = self._readers.get(container)
        if reader is None:
            reader = lru_cache(maxsize=1024)(container.companion)
            self._readers[container] = reader
        return reader


class _Bytes:
    """The bytes of a source: its first block is read once, and digested on the way."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._state: xxhash.xxh3_128 | None = xxhash.xxh3_128()
        self._digest = ""
        self._stream = source.blocks()
        self._head = next(self._stream, b"")
        self._second = next(self._stream, None)

    def head(self) -> bytes:
        """Give the first block."""
        return self._head

    def blocks(self) -> Iterator[bytes]:
        """Give all blocks; small files are never read again."""
        if self._second is None:
            yield self._head
            return
        yield from self._digested(self._source.blocks()) if self._state else self._source.blocks()

    def _digested(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        state, self._state = self._state, None
        assert state is not None  # noqa: S101 - for the type checker
        for block in blocks:
            state.update(block)
            yield block
        self._digest = state.hexdigest()

    def digest(self) -> str:
        """Give the digest of all bytes, reading them if nobody has to the end."""
        if self._second is None:
            return xxhash.xxh3_128_hexdigest(self._head)
        if not self._digest:
            self._state = xxhash.xxh3_128()
            for _ in self._digested(self._source.blocks()):
                pass
        return self._digest


def _sourced(items: Sequence[Run | Problem], source: Source, digest: str, dialect: str) -> Found:
    runs: list[tables.SourcedRun] = []
    problems: list[Problem] = []
    for item in items:
        if isinstance(item, Problem):
            problems.append(structs.replace(item, source=source.name))
            continue
        run = item if item.entry else structs.replace(item, entry=source.entry)
        runs.append(tables.SourcedRun(run, source.name, digest, len(runs), dialect))
        problems += (structs.replace(problem, source=source.name) for problem in run.problems)
    return runs, problems


def _unknown(source: Source) -> Found:
    known = ", ".join(sorted(registry.dialects()))
    return _rejected(source, "unknown_format", f"not a log of a known dialect ({known})")


def _rejected(source: Source, code: str, message: str) -> Found:
    return [], [Problem(code, message, "error", source=source.name)]


def _nothing(paths: Sequence[str | Path], files: int, problems: Sequence[Problem]) -> TtastatsError:
    where = ", ".join(str(path) for path in paths)
    if problems:
        first = problems[0]
        return TtastatsError(f"no run could be read: {first.message}", where=first.source)
    seen = f"{files} file(s), none of them a log" if files else "the folder is empty"
    known = ", ".join(sorted(registry.dialects()))
    return TtastatsError(f"no logs found: {seen}", where=where, remedy=f"Known formats: {known}.")
