"""From some logs to rows: the piece of work that may be done in any process, on any machine."""

from __future__ import annotations

import os
import posixpath
import re
import tempfile
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache, partial
from pathlib import Path, PurePosixPath

import polars as pl
import xxhash
from msgspec import Struct, structs

from ttastats.base import atomic, slow, streams
from ttastats.base.errors import TtastatsError
from ttastats.base.records import (
    TIMES_ALONE,
    Problem,
    Run,
    Severity,
    without_garbage_collection,
)
from ttastats.base.stores import Place
from ttastats.base.streams import UnreadableError
from ttastats.formats import config, patterns
from ttastats.formats.block import FIELDS, Block, has_layout, merge_block, run_fields
from ttastats.formats.config import DOUBT
from ttastats.formats.dialect import PART_OF_A_RUN, Dialect, Log, Metrics
from ttastats.formats.setups import MARK
from ttastats.ingestion import inferred, proof, registry, together, traces
from ttastats.ingestion.containers import Container, printable
from ttastats.ingestion.described import block_for
from ttastats.ingestion.sources import Source, prefetch, reason_of
from ttastats.table import tables
from ttastats.traces import kineto
from ttastats_parsers import tfevents
from ttastats_parsers.payloads import as_float

#: Rows of a piece of the file in which those of a unit wait.
_PIECE_ROWS = 4_000
#: Larger companions are not kept: a thousand of them would fill the memory.
_SMALL, _MOST_KEPT = 1024 * 1024, 1024
#: Bytes of the end of a file that are looked at again.
_TAIL = 100
#: How a pointer begins that git-lfs leaves where a file should be.
LFS_POINTER = b"version https://git-lfs.github.com/spec/v1"
#: Dialects that read what a block describes; others know their logs, and a block refines them.
_DRIVEN = ("table", "lines")
#: What a file is called that may well have been meant, where a block names no files.
_TABLES = (".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".parquet")
#: Problems that say of a file that it may be no log of a block at all.
NO_LOG = ("no_metric", "no_column", "no_line", "no_table", "no_header", "unreadable_file")
#: A number where a text ends without a line feed, as a writer leaves it that was killed.
_OPEN_END = re.compile(rb"(?<![\w.])[-+]?\d[\d.eE+-]*\Z")


class Reading(Struct, frozen=True):
    """How logs are read: what the user named, which metrics, and blocks of own logs."""

    dialect: str | None = None
    round: str | None = None
    metrics: Metrics = "evaluations"
    blocks: tuple[Block, ...] = ()


class Spool(Struct, frozen=True):
    """A folder beside an output that holds rows until all logs are read.

    Every process of this machine may write there.
    """

    folder: Path
    output: Place

    def write(self, rows: pl.DataFrame) -> Path:
        """Write rows into a new file and return its path."""
        with atomic.write_errors_named(self.output):
            handle, name = tempfile.mkstemp(suffix=".arrow", dir=self.folder)
            os.close(handle)
            # Thrice as fast to write as Parquet.
            rows.write_ipc(name, compression="lz4", record_batch_size=_PIECE_ROWS)
        return Path(name)


class Result(Struct, frozen=True, eq=False):
    """What one unit of work gave: rows or the file that holds them, and problems.

    By name: `others` are no logs, `parts` belong to runs that other files tell, and `together`
    are files whose meaning depends on which files lie around them. `marked` are runs whose entries
    are to be inferred.
    """

    rows: pl.DataFrame | Path
    problems: tuple[Problem, ...]
    others: tuple[str, ...]
    parts: tuple[str, ...] = ()
    together: tuple[str, ...] = ()
    marked: tuple[pl.DataFrame, ...] = ()


Contents = tuple[list[tables.SourcedRun], list[Problem]]


def read_unit(unit: Sequence[Source], reading: Reading, spool: Spool | None = None) -> Result:
    """Read the files of a unit, and write their rows into `spool` if there is one."""
    runs: list[tables.SourcedRun] = []
    problems: list[Problem] = []
    other_files: list[str] = []
    parts: list[str] = []
    readers: dict[Container, _Reader] = {}
    with without_garbage_collection(), prefetch(unit):
        for source in unit:
            if source.container not in readers:
                readers[source.container] = _Reader(source.container, reading)
            slow.begin(source.name)
            contents = readers[source.container].read(source)
            in_file, of_file = contents or ([], [])
            runs += in_file
            problems += of_file
            if in_file:
                continue
            if contents and all(problem.code == PART_OF_A_RUN for problem in of_file):
                parts.append(source.name)
            elif all(problem.severity == "info" for problem in of_file):
                other_files.append(source.name)
        slow.begin("")
        for reader in readers.values():
            problems += reader.problems.values()
        try:
            rows = tables.table_of_runs(runs)
        except Exception:  # what comes with ttastats fits; other dialects may give anything
            problems += filter(None, map(_misfit, runs))
            rows = tables.table_of_runs(run for run in runs if not _misfit(run))
    is_marked = any(MARK in sourced.run.extra for sourced in runs)  # of most units, no entry is
    return Result(
        rows if spool is None else spool.write(rows),
        tuple(problems),
        tuple(other_files),
        tuple(parts),
        tuple(name for reader in readers.values() for name in reader.listed_for),
        (inferred.marked_runs(rows),) if is_marked else (),
    )


def _misfit(sourced: tables.SourcedRun) -> Problem | None:
    """Return the problem of a run that does not fit the schema, or None."""
    try:
        tables.table_of_runs([sourced])
    except Exception as error:
        return _dialect_failure(sourced.dialect, error, sourced.source)
    return None


def _dialect_failure(dialect: str, error: Exception, source: str) -> Problem:
    """Return the problem of a file whose dialect raised an error."""
    message = f"{type(error).__name__}: {error}".partition("\n")[0]
    return Problem(
        "dialect_failed", f"the dialect {dialect} failed: {message}", "error", None, source
    )


def _rejected(source: Source, code: str, message: str, severity: Severity = "error") -> Contents:
    """Return no runs and the one problem of a file."""
    return [], [Problem(code, message, severity, source=source.name)]


class _Reader:
    """Reads the logs of a container, and looks only once at what lies beside them.

    `listed_for` are the logs for which folders were listed, since other files may affect them;
    `problems` name logs beside which a file is too large. All logs are given the same reader of
    companions, by which dialects know what they have read.
    """

    def __init__(self, container: Container, reading: Reading) -> None:
        self.listed_for: dict[str, None] = {}
        self.problems: dict[tuple[str, PurePosixPath], Problem] = {}
        self._container, self._reading = container, reading
        self._chosen = registry.named(reading.dialect) if reading.dialect else None
        self._log = ""  # the one that is read now
        self._listing = lru_cache(maxsize=1024)(container.listing)
        self._event_files = lru_cache(maxsize=1024)(partial(tfevents.event_files, self._listing))
        self._settings = cache(partial(inferred.settings_in, self._listing, self._companion))
        self._contents: dict[PurePosixPath, bytes | None] = {}
        self._too_large: dict[PurePosixPath, str] = {}

    def read(self, source: Source) -> Contents | None:
        """Return the runs and problems of a file, or None if it is no log in a folder."""
        self._log = source.name
        try:
            return self._read_readable(source, _Bytes(source))
        except (UnreadableError, streams.TooLargeError, MemoryError) as error:
            if traces.is_trace(source):
                return _rejected(source, traces.CODE, traces.MESSAGE, "info")
            return _rejected(source, "unreadable_file", reason_of(error))
        except TtastatsError as error:
            return _rejected(source, "ambiguous_dialect", f"{error.what}. {error.remedy}")

    def _read_readable(self, source: Source, content: _Bytes) -> Contents | None:
        """Return the result of `read` for a readable file."""
        reading, head = self._reading, content.head
        folder = source.container.folder(source.file.name)
        name = printable(posixpath.basename(source.file.name))
        if head.startswith(LFS_POINTER):
            path = f"{folder}/{name}"
            is_meant = block_for(path, reading.blocks, with_pattern=True) is not None
            is_log = source.named or is_meant or registry.recognise(b"", path) is not None
            text = "a Git LFS pointer, not the file itself: run `git lfs pull` in its repository"
            return _rejected(source, "lfs_pointer", text, "error" if is_log else "info")
        dialect, block, groups = choose_dialect(head, folder, name, self._chosen, reading)
        if dialect is None:
            return _unrecognised(source, head)
        if block is not None and dialect.name in _DRIVEN and (wide := streams.wide_text(head)):
            return _rejected(source, "unreadable_file", wide)
        log = Log(
            folder,
            name,
            content.blocks,
            self._companion,
            reading.round,
            self._listing_for_log,
            reading.metrics,
            block,
            groups,
        )
        return self._read_log(log, dialect, source, content)

    def _read_log(
        self, log: Log, dialect: Dialect, source: Source, content: _Bytes
    ) -> Contents | None:
        """Return the runs and problems of a log, or None if its block may not mean it.

        A file that the user chose, or whose dialect the user chose, is read whatever lies beside.
        """
        driving = log.block if dialect.name in _DRIVEN else None
        settings = partial(
            inferred.surrounding_settings, log, source, dialect, self._settings, content.head
        )
        recorded = cache(settings)
        runs: list[tables.SourcedRun] = []
        problems: list[Problem] = []
        try:
            is_free = not (self._reading.dialect or source.named)
            if is_free and (holder := self._duplicate_of(dialect, log, source)):
                return _rejected(source, PART_OF_A_RUN, f"its run is in {holder}", "info")
            items = list(dialect.parse(log))
            if dialect.name in together.DUPLICATING:
                items = together.with_times(items, log, self._listing, self._event_files)
            for item in items:
                noted: tuple[Problem, ...] = (item,) if isinstance(item, Problem) else ()
                if isinstance(item, Run):
                    run = _flag_open_end(item, content.tail) if driving else _with_names(item, log)
                    run = _flag_doubts(run, driving) if driving and driving.doubts else run
                    run = inferred.with_settings(run, log, source, dialect, recorded)
                    run = inferred.with_price(run)
                    run = run if run.entry else structs.replace(run, entry=source.entry)
                    run = proof.prove(run)
                    runs.append(tables.SourcedRun(run, source.name, "", len(runs), dialect.name))
                    noted = run.problems
                problems += (structs.replace(problem, source=source.name) for problem in noted)
            digest = content.digest()
        except (UnreadableError, streams.TooLargeError, MemoryError, TtastatsError):
            raise
        except Exception as error:  # a dialect of another package may do anything
            return [], [_dialect_failure(dialect.name, error, source.name)]
        if driving is not None and driving.quiet and not runs:
            return _without_runs(source, problems)
        if source.has_changed():
            text = "changed while it was read; ingest it again when it is complete"
            problems.append(Problem("changed_file", text, "warning", source=source.name))
        return [structs.replace(run, digest=digest) for run in runs], problems

    def _duplicate_of(self, dialect: Dialect, log: Log, source: Source) -> str:
        """Return another file with the run of an event file, or an empty text.

        It is a CSV file beside it with times of its own, or one with the same values. An event file
        that a block describes is read all the same.
        """
        if dialect.name != "tfevents" or log.block is not None:
            return ""
        choose = partial(choose_dialect, chosen=None, reading=self._reading)
        for name in log.listing(log.folder):
            if name.endswith(".csv"):
                head = (log.companion(log.folder / name) or b"").partition(b"\n")[0]
                table, block, _ = choose(head, log.folder, name)
                times = (block.seconds or ()) if block and table and table.name == "table" else ()
                if any(time.column in head.decode("utf-8", "replace") for time in times):
                    return name

        def runs_of(path: PurePosixPath) -> list[Run]:
            content = log.companion(path) or b""
            dialect, block, groups = choose(content, path.parent, path.name)
            if dialect is None or dialect.name not in together.DUPLICATING:
                return []
            own_file = {
                "folder": path.parent,
                "name": path.name,
                "blocks": lambda: iter((content,)),
            }
            companion = structs.replace(log, block=block, named=groups, **own_file)
            return [item for item in dialect.parse(companion) if isinstance(item, Run)]

        return together.duplicate_file(log, source.depth(), runs_of)

    def _listing_for_log(self, folder: PurePosixPath) -> Sequence[str]:
        """Return the names in a folder around the log, and note that they were looked at."""
        self.listed_for[self._log] = None
        return self._listing(folder)

    def _companion(self, path: PurePosixPath) -> bytes | None:
        """Return the bytes of a file beside the log, of which small ones are kept.

        One that is too large counts as none, with a problem of the log that asks for it.
        """
        content = self._contents.get(path)
        if content is None and path not in self._contents:
            try:
                content = self._container.companion(path)
            except streams.TooLargeError as error:
                self._too_large[path] = f"read without {path}: {error}"
            if len(self._contents) < _MOST_KEPT and len(content or b"") <= _SMALL:
                self._contents[path] = content
        if content is None and (text := self._too_large.get(path)):
            problem = Problem("unreadable_file", text, "error", source=self._log)
            self.problems[self._log, path] = problem
        return content


def _with_names(run: Run, log: Log) -> Run:
    """Return a run with the names from its block and path, unless a suite's rules name it."""
    block, names_ = log.block, log.named
    if block is None or run.suite not in {None, TIMES_ALONE}:
        return run
    settings = [value for value in run.extra.values() if isinstance(value, Mapping)]
    logged = {key: value for fields in (*settings, run.extra) for key, value in fields.items()}
    logged_texts = {key: None if value is None else str(value) for key, value in logged.items()}
    names_ = {**names_, **patterns.fill_names(block.fields, {**logged_texts, **names_})}
    extra = {name: value for name, value in names_.items() if name not in FIELDS}
    return structs.replace(
        run, **run_fields(names_), clock=block.clock or run.clock, extra={**run.extra, **extra}
    )


def _flag_open_end(run: Run, tail: bytes) -> Run:
    """Return a run, with a problem if its last value may be a number cut off at the end."""
    match = _OPEN_END.search(tail)
    if match is None or not run.evaluations:
        return run
    latest = max(run.evaluations, key=lambda evaluation: (evaluation.line or 0, evaluation.index))
    if latest.logged_value is None or as_float(match[0].decode()) != latest.logged_value:
        return run
    text = f"the last line has no end: {latest.metric} {match[0].decode()} may lack digits"
    problem = Problem("open_end", text, "info", latest.line)
    return structs.replace(run, problems=(*run.problems, problem))


def _flag_doubts(run: Run, block: Block) -> Run:
    """Return a run, with a problem for each doubt about the guess by which it is read."""
    doubts = (Problem(DOUBT, text, "warning") for text in block.doubts)
    return structs.replace(run, problems=(*run.problems, *doubts))


_Choice = tuple[Dialect | None, Block | None, Mapping[str, str]]


def choose_dialect(
    head: bytes, folder: PurePosixPath, name: str, chosen: Dialect | None, reading: Reading
) -> _Choice:
    """Return the dialect of a file, with its block.

    A block whose pattern matches, and that says where things stand, goes before all signs. Others
    refine what is recognised: which metric counts, what the runs are called.
    """
    path = f"{folder}/{name}"
    match = block_for(path, reading.blocks) if reading.blocks else None
    refines = match is not None and match[0].refining
    if match is None or match[0].files is None or refines or not has_layout(match[0]):
        if chosen is None and match is None and kineto.recognises(head):
            return None, None, {}
        dialect = chosen or registry.recognise(head, path)
        if dialect is not None:
            block, groups = match or (None, {})
            return dialect, block, groups
        if match is None or refines or not (match[0].line or match[0].preset):
            preset = registry.recognised_preset(head, path)
            if match is not None and preset is not None:
                preset = merge_block(preset[0], match[0]), {**preset[1], **match[1]}
            match = preset or (None if refines else match)
    return (registry.named(match[0].dialect), match[0], match[1]) if match else (None, None, {})


def _without_runs(source: Source, problems: Sequence[Problem]) -> Contents | None:
    """Return the problem of a file without runs; None if it may not be meant as a log."""
    if not problems:
        return None
    latest = problems[-1]
    if source.named or latest.code not in NO_LOG:
        return [], [latest]
    if latest.code in {"no_metric", "no_column"} and source.name.endswith(_TABLES):
        return [], [structs.replace(latest, severity="info")]
    return None


def _unrecognised(source: Source, head: bytes) -> Contents | None:
    """Return the problem of a file that no dialect recognises, if it may be meant as a log."""
    if kineto.recognises(head):
        return _rejected(source, traces.CODE, traces.MESSAGE, "info")
    if wide := streams.wide_text(head):
        data = head.replace(b"\0", b"").lstrip(b"\xff\xfe")  # enough to know its letters
        is_log = registry.recognise(data) or registry.recognised_preset(data, source.name)
        if is_log or source.named or source.name.endswith(_TABLES):
            return _rejected(source, "unreadable_file", wide)
    if not source.named:
        return None
    if source.name.endswith(config.PROSE):
        return _rejected(source, "document", config.NO_PROSE)
    text = f"not a log of a known dialect ({', '.join(sorted(registry.dialects()))})"
    if head.startswith(b"PAR1"):
        text = "a Parquet file, not a log; commands read ttastats tables directly"
    return _rejected(source, "unknown_format", text)


class _Bytes:
    """The bytes of a source, all digested on the way; a small file is read once."""

    def __init__(self, source: Source) -> None:
        self._source = source
        stream = source.blocks()
        self.head = next(stream, b"")
        self.tail = self.head[-_TAIL:]
        self._is_small = next(stream, None) is None
        self._digest = xxhash.xxh3_128_hexdigest(self.head) if self._is_small else ""

    def blocks(self) -> Iterator[bytes]:
        """Yield all blocks."""
        if self._is_small:
            yield self.head
            return
        state = xxhash.xxh3_128()
        for block in self._source.blocks():
            state.update(block)
            self.tail = block[-_TAIL:]
            yield block
        self._digest = state.hexdigest()

    def digest(self) -> str:
        """Return the digest of all bytes, which are read to the end if they were not."""
        if not self._digest:
            deque(self.blocks(), maxlen=0)
        return self._digest
