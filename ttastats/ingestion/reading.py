"""From some logs to rows: the piece of work that may be done in any process, on any machine."""

from __future__ import annotations

import os
import posixpath
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path, PurePosixPath

import polars as pl
import xxhash
from msgspec import Struct, structs

from ttastats.base import atomic, limits
from ttastats.base.errors import TtastatsError
from ttastats.base.records import Problem, Run, Severity, without_garbage_collection
from ttastats.base.stores import Place
from ttastats.base.streams import UnreadableError
from ttastats.formats.dialect import PART_OF_A_RUN, Dialect, Log, Metrics
from ttastats.formats.own_logs import patterns, presets
from ttastats.formats.own_logs.block import FIELDS, Block, has_layout, merge_block, run_fields
from ttastats.formats.own_logs.setups import MARK
from ttastats.ingestion import inferred, registry, together, traces
from ttastats.ingestion.containers import Container, printable
from ttastats.ingestion.described import block_for
from ttastats.ingestion.sources import Source, fetched, reason_of
from ttastats.table import tables
from ttastats.traces import kineto
from ttastats_parsers import tfevents
from ttastats_parsers.payloads import as_float

#: Rows of a piece of the file in which those of a unit wait.
_PIECE_ROWS = 4_000

Companion = Callable[[PurePosixPath], bytes | None]
Listing = Callable[[PurePosixPath], Sequence[str]]


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
    are files whose meaning depends on which files lie around them.
    """

    rows: pl.DataFrame | Path
    problems: tuple[Problem, ...]
    others: tuple[str, ...]
    parts: tuple[str, ...] = ()
    together: tuple[str, ...] = ()
    inferred: tuple[inferred.Inferred, ...] = ()


def read_unit(unit: Sequence[Source], reading: Reading, spool: Spool | None = None) -> Result:
    """Read the files of a unit, and write their rows into `spool` if there is one."""
    chosen = registry.named(reading.dialect) if reading.dialect else None
    runs: list[tables.SourcedRun] = []
    problems: list[Problem] = []
    others: list[str] = []
    parts: list[str] = []
    surroundings = _Surroundings()
    with without_garbage_collection(), fetched(unit):
        for source in unit:
            contents = _read_source(source, chosen, reading, surroundings)
            if contents is None:
                others.append(source.name)
                continue
            runs += contents[0]
            problems += contents[1]
            if contents[0]:
                continue
            if all(problem.code == PART_OF_A_RUN for problem in contents[1]):
                parts.append(source.name)
            elif all(problem.severity == "info" for problem in contents[1]):
                others.append(source.name)
        rows, unfit = _rows_of_runs(runs)
        problems += [*surroundings.problems.values(), *unfit]
    return Result(
        rows if spool is None else spool.write(rows),
        tuple(problems),
        tuple(others),
        tuple(parts),
        tuple(surroundings.listed_for),
        # Of most units, no entry is inferred.
        tuple(inferred.of_runs(rows)) if any(MARK in each.run.extra for each in runs) else (),
    )


def _rows_of_runs(runs: Sequence[tables.SourcedRun]) -> tuple[pl.DataFrame, list[Problem]]:
    """Return the rows of runs that fit the schema, and problems on those that do not.

    What comes with ttastats gives runs that fit; a dialect of another package may give anything.
    """
    try:
        return tables.table_of_runs(runs), []
    except Exception:
        fitting, problems = [], []
    for sourced in runs:
        try:
            tables.table_of_runs([sourced])
        except Exception as error:
            problems.append(_dialect_failure(sourced.dialect, error, sourced.source))
        else:
            fitting.append(sourced)
    return tables.table_of_runs(fitting), problems


def _dialect_failure(dialect: str, error: Exception, source: str) -> Problem:
    what = f"{type(error).__name__}: {error}".partition("\n")[0]
    return Problem("dialect_failed", f"the dialect {dialect} failed: {what}", "error", None, source)


Contents = tuple[list[tables.SourcedRun], list[Problem]]

_CHANGED = "changed while it was read; ingest it again when it is complete"


def _read_source(
    source: Source, chosen: Dialect | None, reading: Reading, surroundings: _Surroundings
) -> Contents | None:
    """Return the runs and problems of a file, or None if it is no log in a folder."""
    dialect = chosen
    try:
        bytes_of = _Bytes(source)
        head = bytes_of.head
        folder = source.container.folder(source.file.name)
        name = printable(posixpath.basename(source.file.name))
        if head.startswith(LFS_POINTER):
            return _lfs_pointer_problem(source, f"{folder}/{name}", reading)
        dialect, block, named = choose_dialect(head, folder, name, chosen, reading)
        if dialect is None:
            return _unrecognised(source, head)
        driving = block if dialect.name in _DRIVEN else None
        if driving is not None and head.startswith(_UTF_16):
            return _rejected_contents(source, "unreadable_file", _CONVERT)
        companion, listing = surroundings.readers(source)
        log = Log(
            folder,
            name,
            bytes_of.blocks,
            companion,
            reading.round,
            listing,
            reading.metrics,
            block,
            named,
        )
        # A file that the user chose, or whose dialect the user chose, is read.
        is_chosen = chosen is not None or source.named
        telling = "" if is_chosen else _duplicate_of(dialect, log, source, reading)
        items = _parse_log(dialect, log, telling, source, surroundings)
        items = [
            _flag_open_end(item, bytes_of.tail()) if driving else _with_names(item, log)
            for item in items
        ]
        items = inferred.with_settings(items, log, source, dialect, surroundings.settings, head)
        digest = bytes_of.digest()
    except (UnreadableError, limits.TooLargeError, MemoryError) as error:
        return _damaged_problem(source, reason_of(error))
    except TtastatsError as error:
        return _rejected_contents(source, "ambiguous_dialect", f"{error.what}. {error.remedy}")
    except Exception as error:  # the plugin border: a dialect of another package may do anything
        if dialect is None:
            raise
        return [], [_dialect_failure(dialect.name, error, source.name)]
    if driving is not None and driving.quiet and not any(isinstance(item, Run) for item in items):
        return _no_runs(source, items)
    runs, problems = _with_source(items, source, digest, dialect.name)
    if source.has_changed():
        problems.append(Problem("changed_file", _CHANGED, "warning", source=source.name))
    return runs, problems


def _parse_log(
    dialect: Dialect, log: Log, telling: str, source: Source, surroundings: _Surroundings
) -> list[Run | Problem]:
    """Return the runs of a log, with times from event files beside it if it has none."""
    if telling:
        return [Problem(PART_OF_A_RUN, f"its run is in {telling}", "info")]
    items = list(dialect.parse(log))
    if dialect.name not in together.TELLING:
        return items
    return together.with_times(items, log, *surroundings.folders(source))


def _duplicate_of(dialect: Dialect, log: Log, source: Source, reading: Reading) -> str:
    """Return the file that holds the run of an event file too, or an empty text.

    It is a CSV file beside it with times of its own, or one with the same values. An event file
    that a block describes is read all the same.
    """
    if dialect.name != "tfevents" or log.block is not None:
        return ""
    for name in log.listing(log.folder):
        if name.endswith(".csv"):
            head = (log.companion(log.folder / name) or b"").partition(b"\n")[0]
            table, block, _ = choose_dialect(head, log.folder, name, None, reading)
            times = (block.seconds or ()) if block and table and table.name == "table" else ()
            if any(time.column in head.decode("utf-8", "replace") for time in times):
                return name
    return together.told_by(log, source.depth(), partial(_runs_of_file, log, reading))


def _runs_of_file(log: Log, reading: Reading, path: PurePosixPath) -> list[Run]:
    content = log.companion(path) or b""
    dialect, block, named = choose_dialect(content, path.parent, path.name, None, reading)
    if dialect is None or dialect.name not in together.TELLING:
        return []
    other = structs.replace(
        log,
        folder=path.parent,
        name=path.name,
        blocks=lambda: iter((content,)),
        block=block,
        named=named,
    )
    return [item for item in dialect.parse(other) if isinstance(item, Run)]


#: Dialects that read what a block describes; others know their logs, and a block refines them.
_DRIVEN = ("table", "lines")


def _with_names(item: Run | Problem, log: Log) -> Run | Problem:
    """Return a run with the names from its block and path, unless a suite's rules name it."""
    block, named = log.block, log.named
    if block is None or isinstance(item, Problem) or item.suite is not None:
        return item
    settings = [value for value in item.extra.values() if isinstance(value, Mapping)]
    known = {name: str(value) for each in (*settings, item.extra) for name, value in each.items()}
    named = {**named, **patterns.fill_names(block.fields, {**known, **named})}
    others = {name: value for name, value in named.items() if name not in FIELDS}
    return structs.replace(
        item, **run_fields(named), clock=block.clock or item.clock, extra={**item.extra, **others}
    )


#: A number where a text ends without a line feed, as a writer leaves it that was killed.
_OPEN_END = re.compile(rb"(?<![\w.])[-+]?\d[\d.eE+-]*$")


def _flag_open_end(item: Run | Problem, tail: bytes) -> Run | Problem:
    """Return a run, with a problem if its last value may be a number cut off at the end."""
    match = _OPEN_END.search(tail)
    if match is None or isinstance(item, Problem) or not item.evaluations:
        return item
    last = max(item.evaluations, key=lambda each: (each.line or 0, each.index))
    if last.logged_value is None or as_float(match[0].decode()) != last.logged_value:
        return item
    text = f"the last line has no end: {last.metric} {match[0].decode()} may lack digits"
    problem = Problem("open_end", text, "info", last.line)
    return structs.replace(item, problems=(*item.problems, problem))


_Choice = tuple[Dialect | None, Block | None, Mapping[str, str]]


def choose_dialect(
    head: bytes, folder: PurePosixPath, name: str, chosen: Dialect | None, reading: Reading
) -> _Choice:
    """Return the dialect that reads a file, with its block.

    A block whose pattern matches, and that says where things stand, goes before all signs. Others
    refine what is recognised: which metric counts, what the runs are called.
    """
    place = f"{folder}/{name}"
    hit = block_for(place, reading.blocks) if reading.blocks else None
    if hit is not None and hit[0].files is not None and has_layout(hit[0]):
        return registry.named(hit[0].dialect), hit[0], hit[1]
    if chosen is None and hit is None and kineto.recognises(head):
        return None, None, {}
    dialect = chosen or registry.recognise(head, place)
    if dialect is not None:
        block, named = hit or (None, {})
        return dialect, block, named
    if hit is not None and (hit[0].line or hit[0].preset):
        return registry.named(hit[0].dialect), hit[0], hit[1]
    preset = registry.recognised_preset(head, place)
    if hit is not None and preset is not None:
        hit = merge_block(preset[0], hit[0]), {**preset[1], **hit[1]}
    hit = hit or preset
    return (registry.named(hit[0].dialect), hit[0], hit[1]) if hit else (None, None, {})


#: What a file is called that may well have been meant, where a block names no files.
_TABLES = (".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".parquet")
#: Problems that say of a file that it may be no log of a block at all.
NO_LOG = ("no_metric", "no_column", "no_line", "no_table", "no_header", "unreadable_file")


def _no_runs(source: Source, items: Sequence[Run | Problem]) -> Contents | None:
    """Return the problem of a file without runs; None if it may not be meant as a log."""
    last = items[-1] if items else None
    if not isinstance(last, Problem):
        return None
    if source.named or last.code not in NO_LOG:
        return [], [structs.replace(last, source=source.name)]
    if last.code in {"no_metric", "no_column"} and source.name.endswith(_TABLES):
        return [], [structs.replace(last, source=source.name, severity="info")]
    return None


class _Surroundings:
    """What lies beside logs, looked at once for a unit of work and not kept any longer.

    `listed_for` are the logs for which folders were listed, since other files may affect them;
    `problems` name logs beside which a file is too large.
    """

    def __init__(self) -> None:
        self.settings = inferred.Beside()
        self.listed_for: dict[str, None] = {}
        self.problems: dict[tuple[str, PurePosixPath], Problem] = {}
        self._ways: dict[Container, tuple[Companion, Listing]] = {}
        self._event_files: dict[Container, together.EventFiles] = {}
        self._too_large: dict[PurePosixPath, str] = {}
        self._log = ""

    def readers(self, source: Source) -> tuple[Companion, Listing]:
        """Return a function that reads companions of a log, and one that lists folders around it.

        Logs of one container are given the same reader, by which dialects know what they have read.
        """
        self._log = source.name
        ways = self._ways.get(source.container)
        if ways is None:
            container = source.container
            ways = self._companion_in(container), lru_cache(maxsize=1024)(container.listing)
            self._ways[container] = ways
        companion, listing = ways

        def listing_for_it(folder: PurePosixPath) -> Sequence[str]:
            self.listed_for[source.name] = None
            return listing(folder)

        return companion, listing_for_it

    def folders(self, source: Source) -> tuple[Listing, together.EventFiles]:
        """Return a function that lists folders around a log, and one that finds event files."""
        listing = self._ways[source.container][1]
        if source.container not in self._event_files:
            known = lru_cache(maxsize=1024)(partial(tfevents.event_files, listing))
            self._event_files[source.container] = known
        return listing, self._event_files[source.container]

    def _companion_in(self, container: Container) -> Companion:
        """Return a function that reads companions and caches small ones.

        One that is too large counts as none, with a problem of the log that asks for it.
        """
        contents: dict[PurePosixPath, bytes | None] = {}

        def read(place: PurePosixPath) -> bytes | None:
            content = contents.get(place)
            if content is None and place not in contents:
                try:
                    content = container.companion(place)
                except limits.TooLargeError as error:
                    self._too_large[place] = f"read without {place}: {error}"
                if len(contents) < _MOST_KEPT and len(content or b"") <= _SMALL:
                    contents[place] = content
            if content is None and (text := self._too_large.get(place)):
                problem = Problem("unreadable_file", text, "error", source=self._log)
                self.problems[self._log, place] = problem
            return content

        return read


#: Larger companions are not kept: a thousand of them would fill the memory.
_SMALL, _MOST_KEPT = 1024 * 1024, 1024


#: Bytes of the end of a file that are looked at again.
_LAST = 100


class _Bytes:
    """The bytes of a source: its first block is read once, and all are digested on the way."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._state: xxhash.xxh3_128 | None = xxhash.xxh3_128()
        self._digest = ""
        self._stream = source.blocks()
        self.head = next(self._stream, b"")
        self._second = next(self._stream, None)
        self._tail = self.head[-_LAST:]

    def blocks(self) -> Iterator[bytes]:
        """Yield all blocks; small files are never read again."""
        if self._second is None:
            yield self.head
            return
        yield from self._digested(self._source.blocks()) if self._state else self._source.blocks()

    def _digested(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        """Yield blocks, and digest them and keep the end of the last."""
        state, self._state = self._state, None
        assert state is not None  # noqa: S101 - for the type checker
        for block in blocks:
            state.update(block)
            self._tail = block[-_LAST:]
            yield block
        self._digest = state.hexdigest()

    def tail(self) -> bytes:
        """Return the last line if it has no line feed."""
        return self._tail.rpartition(b"\n")[2]

    def digest(self) -> str:
        """Return the digest of all bytes, which are read to the end if necessary."""
        if self._second is None:
            return xxhash.xxh3_128_hexdigest(self.head)
        if not self._digest:
            self._state = xxhash.xxh3_128()
            for _ in self._digested(self._source.blocks()):
                pass
        return self._digest


def _with_source(
    items: Sequence[Run | Problem], source: Source, digest: str, dialect: str
) -> Contents:
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


def _unrecognised(source: Source, head: bytes) -> Contents | None:
    """Return the problem of a file that no dialect recognises, if it may be meant as a log."""
    if kineto.recognises(head):
        return [], [Problem(traces.CODE, traces.MESSAGE, "info", source=source.name)]
    if utf_16 := _utf_16_problem(source, head):
        return utf_16
    if not source.named:
        return None
    if source.name.endswith(presets.PROSE):
        return _rejected_contents(source, "document", presets.NO_PROSE)
    text = f"not a log of a known dialect ({', '.join(sorted(registry.dialects()))})"
    if head.startswith(b"PAR1"):
        text = "a Parquet file, not a log; commands read ttastats tables directly"
    return _rejected_contents(source, "unknown_format", text)


def _damaged_problem(source: Source, reason: str) -> Contents:
    """Return the problem of a file that cannot be read to its end."""
    if traces.is_trace(source):
        return [], [Problem(traces.CODE, traces.MESSAGE, "info", source=source.name)]
    return _rejected_contents(source, "unreadable_file", reason)


def _utf_16_problem(source: Source, head: bytes) -> Contents | None:
    """Return the problem of a log in UTF-16, as Windows shells write it, or None."""
    if not head.startswith(_UTF_16):
        return None
    text = head[: len(head) // 2 * 2].decode("utf-16", "replace")
    data = text.encode("utf-8", "replace")
    if registry.recognise(data) is None and not registry.recognised_preset(data, source.name):
        return None
    return _rejected_contents(source, "unreadable_file", _CONVERT)


_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_CONVERT = "a log in UTF-16; convert it to UTF-8"


#: How a pointer begins that git-lfs leaves where a file should be.
LFS_POINTER = b"version https://git-lfs.github.com/spec/v1"


def _lfs_pointer_problem(source: Source, path: str, reading: Reading) -> Contents:
    is_meant = block_for(path, reading.blocks, with_pattern=True) is not None
    is_log = source.named or is_meant or registry.recognise(b"", path) is not None
    text = "a Git LFS pointer, not the file itself: run `git lfs pull` in its repository"
    severity: Severity = "error" if is_log else "info"
    return [], [Problem("lfs_pointer", text, severity, source=source.name)]


def _rejected_contents(source: Source, code: str, message: str) -> Contents:
    return [], [Problem(code, message, "error", source=source.name)]
