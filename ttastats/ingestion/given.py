"""What was given to answer from: tables, logs or traces to be read first, a frame, profiles?"""

from __future__ import annotations

import os
import shlex
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
from msgspec import Struct

from ttastats.base import arguments, stores
from ttastats.base.errors import TtastatsError, raise_if, warn
from ttastats.base.forks import expect_threads
from ttastats.base.metrics import plain
from ttastats.base.records import Problem, Severity
from ttastats.base.stores import Place, Url, parse_place
from ttastats.base.units import join_names, plural
from ttastats.formats.config import DOUBT, GUESSED
from ttastats.table import store, tables
from ttastats.table.conform import conform
from ttastats.table.frames import Frame, is_frame, to_polars
from ttastats.table.store import is_parquet

if TYPE_CHECKING:
    from ttastats.ingestion import traces
    from ttastats.ingestion.account import Account
    from ttastats.ingestion.cache import Watched
    from ttastats.ingestion.guessed import Ask


#: Files, or a frame of polars or of any library that exchanges its columns.
Source = str | Place | Sequence[str | Place] | pl.DataFrame | pl.LazyFrame | Frame


#: What problems are called by their severity, the gravest first.
_SEVERITY_NAMES: Mapping[Severity, str] = {"error": "error", "warning": "warning", "info": "note"}
#: Logs, and rejected ones, that are named one by one before the rest is only counted.
_NAMES = 5
#: Ways in which logs were read that are told before the rest is only counted.
_KINDS = 3


class Read(Struct, frozen=True):
    """Logs as they were given, their problems, and the account unless an earlier table was used."""

    logs: tuple[str, ...]
    problems: Sequence[Problem]
    account: Account | None

    @property
    def rejected(self) -> list[Problem]:
        """Return the problems of missing runs."""
        return [problem for problem in self.problems if problem.severity == "error"]

    @property
    def lines(self) -> list[str]:
        """Return a line on what was read and the number of problems, and the rejected logs."""
        is_short = len(self.logs) <= _NAMES
        listing = f"ttastats problems {shlex.join(self.logs) if is_short else 'FILE...'}"
        parts = [] if self.account is None else [self.account.counts()]
        if number := Counter(problem.severity for problem in self.problems):
            counts = ", ".join(
                plural(number[level], _SEVERITY_NAMES[level])
                for level in _SEVERITY_NAMES
                if number[level]
            )
            parts.append(f"{counts} ({listing})")
        lines = [f"{join_names(self.logs, _NAMES)}: {'; '.join(parts)}"]
        lines += [f"  {problem.place}: {problem.message}" for problem in self.rejected[:_NAMES]]
        if (n_left := len(self.rejected) - _NAMES) > 0:
            lines.append(f"  and {n_left:,} more: {listing}")
        doubts = {problem.message: None for problem in self.problems if problem.code == DOUBT}
        return [*lines, *guessed_lines(self.problems), *(f"  ? {text}" for text in doubts)]


#: What is said of a guessed block, by its keys, and what each is called.
_CALLED_KEYS = {
    "preset": "preset", "metric": "metric", "seconds": "time", "step": "steps", "epoch": "epochs",
    "samples": "samples", "run": "runs", "new_run": "new run at",
}  # fmt: skip


def guessed_lines(problems: Iterable[Problem]) -> Iterator[str]:
    """Yield a line for each guessed way of reading logs."""
    paths: dict[str, dict[str, None]] = {}
    for problem in problems:
        if problem.code == GUESSED:
            (keys,) = tomllib.loads(problem.message)["logs"]
            parts = [
                f"{label} {keys[key] if isinstance(keys[key], str) else join_names(keys[key], 3)}"
                for key, label in _CALLED_KEYS.items()
                if keys.get(key)
            ]
            paths.setdefault(", ".join(parts), {})[problem.source or ""] = None
    if not paths:
        return
    *earlier, latest = [*paths][:_KINDS]
    yield from (f"  read as: {text}" for text in earlier)
    remainder = f", and in {len(paths) - _KINDS} other ways" if len(paths) > _KINDS else ""
    path = shlex.quote(next(iter(paths[latest])))
    yield f"  read as: {latest}{remainder}; `ttastats guess {path}` shows all"


def _warn_of_rejected(reading: Read) -> None:
    if reading.rejected:
        warn("\n".join(reading.lines))


class Reading(Struct, frozen=True):
    """How logs are read for an answer: kept, watched, reported, guessed or asked about."""

    keep: bool = True
    watched: Watched = nullcontext
    on_read: Callable[[Read], None] = _warn_of_rejected
    guess: object = None
    ask: Ask | None = None


_DEFAULT_READING = Reading()
#: How logs are read for the question at hand; the command line sets it.
READING: ContextVar[Reading] = ContextVar("READING", default=_DEFAULT_READING)


#: The metrics that the question at hand names: no log leaves open whether these are meant.
NAMED: ContextVar[frozenset[str]] = ContextVar("NAMED", default=frozenset())


@contextmanager
def asked_about(metrics: Iterable[str]) -> Iterator[None]:
    """Let the metrics that a question names settle which numbers of the logs it reads are meant."""
    token = NAMED.set(NAMED.get().union(filter(None, metrics)))
    try:
        yield
    finally:
        NAMED.reset(token)


def is_named(metric: str) -> bool:
    """Return whether the question names a metric; signs such as `@` may be written in its name."""
    return plain(metric) in map(plain, NAMED.get())


def as_named(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Return rows in which a metric has the name that the question gives it."""
    if not NAMED.get():
        return rows
    logged = rows.select(pl.col("metric").unique()).collect()["metric"].drop_nulls().to_list()
    names_by_metric = {
        name: [metric for metric in logged if plain(metric) == plain(name)]
        for name in NAMED.get() - {*logged}
    }
    new_names = {metrics[0]: name for name, metrics in names_by_metric.items() if len(metrics) == 1}
    return rows.with_columns(pl.col("metric").replace(new_names)) if new_names else rows


def tidy(source: Source) -> pl.LazyFrame:
    """Return the tidy table of a source, with the columns of the schema."""
    if is_frame(source):
        return conform(to_polars(source), f"the {type(source).__name__}")
    return store.read_tables(_table_paths(source))


def separate_tables(source: Source) -> list[Source]:
    """Return the tables of a source one by one, with all logs among them as one."""
    if is_frame(source):
        return [source]
    files, logs = _tables_and_logs(source)
    return [*files, *([logs[0] if len(logs) == 1 else logs] if logs else [])]


def problems(source: Source) -> list[Problem]:
    """Return all problems found when the tables of a source were made."""
    if is_frame(source):
        return tables.run_problems(tidy(source))
    return [problem for path in _table_paths(source) for problem in store.read_problems(path)]


def _table_paths(source: Source) -> list[Place]:
    """Return the given tables, and the one with the given logs."""
    files, logs = _tables_and_logs(source)
    if logs:
        from ttastats.ingestion import cache  # which tables do not need

        how = READING.get()
        table, account = cache.table(
            logs,
            keep=how.keep,
            watched=how.watched,
            guess=how.guess,
            ask=how.ask,
            tells=_tells_named,
        )
        how.on_read(Read(tuple(logs), store.read_problems(table), account))
        files.append(table)
    return files


def _tells_named(table: Path) -> bool:
    """Return whether a table of logs tells the metrics that the question names, if any log does."""
    if not NAMED.get() or all(problem.code != GUESSED for problem in store.read_problems(table)):
        return True
    metrics = store.read_tables([table]).select(pl.col("metric").unique()).collect()["metric"]
    return {*map(plain, NAMED.get())} <= {*map(plain, metrics.drop_nulls())}


def _tables_and_logs(source: Source) -> tuple[list[Place], list[str]]:
    """Return the tables of a source, and the paths of its logs."""
    names = _expanded_names(source)
    logs = [name for name in names if store.is_logs(name)]
    return [parse_place(name) for name in names if name not in logs], logs


def given_runs(source: Source) -> pl.DataFrame | None:
    """Return a source that is a table of runs, or None for any other.

    The rows of a report, which do not tell enough, are an error.
    """
    expect_threads()
    if not isinstance(source, pl.DataFrame) or "reached" not in source.columns:
        return None
    if "metric" in source.columns:  # somebody's evaluations with a column of that name
        return None
    from ttastats.outcomes import select  # which logs do not need

    missing = [name for name in select.of_runs() if name not in source.columns]
    message = (
        f"the rows of a report are not a table of runs: missing columns {join_names(missing, 5)}"
    )
    raise_if(missing, message, remedy="Give the file or the frame from which the report was made.")
    return source


def paths(source: Source) -> list[Place]:
    """Return the files of a source; a DataFrame has none."""
    return [parse_place(name) for name in _expanded_names(source)]


def _expanded_names(source: Source) -> list[str]:
    """Return the names of the files of a source, without users and passwords of servers."""
    expect_threads()
    if is_frame(source):
        return []
    paths_ = [source] if isinstance(source, Place) else arguments.listed(source)
    message = f"neither files nor a table: {type(source).__name__}"
    remedy = "Give names of Parquet files, or a frame made by `from_frame`."
    is_invalid = len(paths_) == 1 and not isinstance(paths_[0], str | bytes | os.PathLike | Url)
    raise_if(is_invalid, message, None, remedy)
    raise_if(not paths_, "no file given", None, remedy)
    texts = [path if isinstance(path, Url) else str(path) for path in paths_ if _is_path(path)]
    return [text.text if isinstance(text, Url) else stores.without_secrets(text) for text in texts]


def _is_path(value: object) -> bool:
    """Return that a value is a path; raise an error for any other."""
    if not isinstance(value, Url):
        arguments.expect_path(value, arguments.shown(value))
    return True


def profile_rows(paths: Sequence[Place]) -> traces.Traces:
    """Return the rows of the profiles and traces at some paths.

    Of a folder that holds profiles these are taken, and its traces where it holds none.
    """
    from ttastats.ingestion import traces  # which tables do not need
    from ttastats.ingestion.sources import find
    from ttastats.traces import table

    profiles: list[Place] = []
    traces_read: list[traces.Traces] = []
    for path in dict.fromkeys(paths):
        stored_here: list[Place] = [path] if _is_parquet(path) else []
        if isinstance(path, Path) and path.is_dir():
            stored_here = [file for file in sorted(path.glob("*.parquet")) if is_profile(file)]
        profiles += stored_here
        if stored_here:
            continue
        result = traces.read(find([str(path)]))
        if result.rows.is_empty():
            reason = next(
                (problem.message for problem in result.problems), "contains no profiler trace"
            )
            remedy = "Give a profile (Parquet), or traces that torch.profiler exported as JSON."
            raise TtastatsError(reason, where=str(path), remedy=remedy)
        traces_read.append(result)
    stored = table.read_profiles(profiles) if profiles or not paths else table.concatenated([])
    problems = [problem for path in profiles for problem in table.profile_problems(path)]
    problems += (problem for result in traces_read for problem in result.problems)
    return traces.Traces(
        table.concatenated([stored, *(result.rows for result in traces_read)]), tuple(problems)
    )


def is_profile(path: Place) -> bool:
    """Return whether a path is a profile or a trace, and not a table of runs or a log."""
    if not _is_parquet(path):
        from ttastats.ingestion import cache, traces
        from ttastats.ingestion.sources import find

        if not path.is_file() or cache.is_cached(str(path)):  # its table as a log is kept
            return False
        return any(traces.is_trace(source) for source in find([str(path)]))
    from ttastats.traces import table

    return table.is_profile(path)


def _is_parquet(path: Place) -> bool:
    return is_parquet(path) if path.is_file() else path.suffix == ".parquet"
