"""Tables of times alone: a run in each row, with the name of its setup and one time.

Columns are told by their names: one of times, those that number runs, an exit code, fields of runs.
A column of texts names the setup. What is left, such as numbers that may be a quality as well as a
setting, is asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

import polars as pl
from msgspec import Struct

from ttastats.base import metrics
from ttastats.base.metrics import higher_is_better, plain
from ttastats.base.records import Problem, Run
from ttastats.base.units import join_names
from ttastats.formats.block import FIELDS, PRICE, Block, TimeColumn, price_in, run_fields
from ttastats.formats.dialect import Log
from ttastats_parsers import own_blocks, own_cells, own_runs
from ttastats_parsers.own_choice import UnfitError, numbers, texts, times
from ttastats_parsers.own_rows import Rows
from ttastats_parsers.payloads import as_mapping, json_value
from ttastats_parsers.timings import timed_run

name = "times-table"

#: No table of times has a longer header, or more columns; its first rows tell what it is.
_LONGEST, _MOST_COLUMNS, _LOOKED_AT = 1000, 16, 1 << 13
_NAME = re.compile(r"[\w ()\[\]./#-]{0,40}")
_UNITS = {
    **dict.fromkeys(("ns", "nanoseconds"), 1e-9),
    **dict.fromkeys(("us", "usec", "microseconds"), 1e-6),
    **dict.fromkeys(("ms", "msec", "msecs", "millis", "milliseconds"), 1e-3),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1.0),
    **dict.fromkeys(("min", "mins", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), 3600.0),
}
_TIME = {"time", "duration", "elapsed", "runtime", "walltime", "wallclock", "latency"}
#: Words of a part of a run, of several runs, or of a rate.
_NO_TIME_OF_A_RUN = {
    "per", "step", "iter", "iteration", "batch", "epoch", "eval", "eta", "start", "end", "mean",
    "avg", "average", "median", "std", "stdev", "stddev", "sd", "sem", "p50", "p90", "p95", "p99",
    "throughput", "rate", "speed", "tokens", "images", "ops", "requests", "bytes", "mb", "gb",
}  # fmt: skip
_NUMBERING = {
    "", "run", "runs", "run_number", "run_id", "trial", "rep", "repeat", "repetition", "replicate",
    "round", "attempt", "iteration", "iter", "i", "n", "no", "number", "idx", "index", "seed",
}  # fmt: skip
_EXITS = {"exit", "exit_code", "exitcode", "exit_status", "return_code", "returncode", "rc"}
#: Cells that say in place of a time that the run failed.
_FAILED = {"failed", "fail", "error", "crash", "crashed", "killed", "timeout", "oom", "dnf"}
#: Columns that name a setup even where the names are numbers.
_SETUPS = {"setup", "variant", "config", "entry", "system", "version", "command", "label", "name"}
#: Times that rise in all setups, up to this multiple of the first, may be stamps of a clock.
_RISE, _FEWEST_ROWS = 2.0, 3


class _Table(Struct, frozen=True, eq=False):
    """A table and its columns by what they hold; those in `open` may be a quality or a setting."""

    frame: pl.DataFrame
    lines: pl.Series
    clocks: tuple[TimeColumn, ...]
    numbering: tuple[str, ...]
    exits: tuple[str, ...]
    fields: tuple[str, ...]
    setups: tuple[str, ...]
    open: tuple[str, ...]


def recognises(head: bytes) -> bool:
    """Return whether the rows of a table are runs with a time, and nothing tells of training."""
    head = head[:_LOOKED_AT]
    columns = _header(head)
    clocks = [column for column in columns if _unit(column)]
    if not clocks or any(map(_counts_training, columns)) or "datetime_start" in columns:
        return False  # of training, or a study of Optuna
    try:
        table = _table(own_cells.rows_of(head[: head.rfind(b"\n") + 1] or head), Block(""))
    except UnfitError:
        return False
    if any(higher_is_better(column) is not None for column in table.open):  # rows are evaluations
        return False
    timed = any(_seconds(table, clock).count() for clock in table.clocks)
    # What leaves a question open has to number its runs: other programs write tables of times.
    names = table.frame.select(table.setups)
    repeated = bool(table.numbering) or (names.width > 0 and names.is_duplicated().any())
    clear = len(clocks) == 1 and not table.open and repeated
    return table.frame.height > 1 and timed and (clear or bool(table.setups and table.numbering))


def _header(head: bytes) -> list[str]:
    """Return the columns of a table with a short header; none of anything else."""
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()[: _LONGEST + 1]
    line = start.partition(b"\n")[0].decode("utf-8", "replace").strip()
    if not line or len(line) > _LONGEST:
        return []
    if line.startswith("{"):
        columns = [*as_mapping(json_value(line))]
    else:
        try:
            _, columns, _ = own_cells.header([line])
        except UnfitError:
            return []
    are_names = all(map(_NAME.fullmatch, columns))  # a line of a log is no header
    return columns if are_names and 1 < len(columns) <= _MOST_COLUMNS else []


def _unit(column: str) -> float | None:
    """Return the seconds in the unit of a column with the time of a run, or None."""
    words = plain(column).split("_")
    if _NO_TIME_OF_A_RUN.intersection(words):
        return None
    if words[-1] in _UNITS:
        return _UNITS[words[-1]]
    return 1.0 if _TIME.intersection(words) else None


def _counts_training(column: str) -> bool:
    """Return whether a column counts epochs, steps or samples, and not runs."""
    word = plain(column)
    is_count = any(word in likely for likely in metrics.LIKELY_COUNTS.values())
    return is_count and word not in _NUMBERING


def _table(rows: Rows, block: Block) -> _Table:
    """Return a table with its columns sorted by what they hold, as their names and a block say."""
    frame, clocks_of_block = rows.frame, block.seconds or ()
    clocks_in_table = [clock for clock in clocks_of_block if clock.column in frame.columns]
    guessed = (TimeColumn(column, unit) for column in frame.columns if (unit := _unit(column)))
    clocks = tuple(clocks_in_table[:1] or guessed)
    columns = [column for column in frame.columns if not _unit(column)]
    columns = [column for column in columns if column not in {clock.column for clock in clocks}]
    texts_of_fields = " ".join(block.fields.values())

    def matching(names: set[str]) -> tuple[str, ...]:
        return tuple(column for column in columns if plain(column) in names)

    numbering, exits = matching(_NUMBERING), matching(_EXITS)
    names_of_fields = {*FIELDS, price_in(columns)} - {"entry"}
    fields = tuple(column for column in columns if column in names_of_fields)
    other_columns = [column for column in columns if column not in {*numbering, *exits, *fields}]
    setups = tuple(
        column for column in other_columns if plain(column) in _SETUPS or _is_text(frame[column])
    )
    open_ = tuple(
        column for column in other_columns if column not in setups and column not in texts_of_fields
    )
    return _Table(frame, rows.lines, clocks, numbering, exits, fields, setups, open_)


def _is_text(cells: pl.Series) -> bool:
    cell_texts = texts(cells)
    return bool((cell_texts.is_not_null() & numbers(cells).is_null()).any())


def _seconds(table: _Table, clock: TimeColumn) -> pl.Series:
    return times(table.frame[clock.column], clock)


def parse(log: Log) -> Iterator[Run | Problem]:
    """Yield a run for each row, or the question that must be answered first."""
    block = log.block or Block("")
    if block.metrics:  # rows are evaluations then
        yield from own_runs.runs_of(own_blocks.rows_of, log)
        return
    try:
        rows = own_cells.rows_of(log.read())
    except UnfitError as error:
        yield error.problem
        return
    yield from rows.problems
    table = _table(rows, block)
    question = "no column of times" if not table.clocks else _question(table, block)
    if question:
        yield Problem("unclear_times", question, "error")
        return
    if block.seconds is None:
        (clock,) = table.clocks
        unit = metrics.UNITS.get(clock.seconds, f"{clock.seconds:g} s")
        yield Problem("guessed_clock", f"read as times: '{clock.column} {unit}'", "info")
    yield from _runs(table, PurePosixPath(log.name).stem)


def _question(table: _Table, block: Block) -> str:
    """Return the question to the user, or an empty text."""
    if len(table.clocks) > 1:
        names = [clock.column for clock in table.clocks]
        choice = f"--seconds '{names[0]} {_unit_text(table.clocks[0])}'"
        return f"several columns of times: {join_names(names)}. Select one, such as {choice}"
    if table.open:
        candidate, columns = next(iter(table.open)), join_names(table.open)
        setting = "".join(f"{{{column}}} " for column in (*table.setups, candidate)).strip()
        return (
            f"{columns}: a quality, or a setting? For a quality give --metric '{candidate} higher' "
            f'(or lower); for a setting write entry = "{setting}" in ttastats.toml; else remove '
            "the column"
        )
    clock = next(iter(table.clocks))
    if example := _odd_cells(table, clock):
        return f"{clock.column}: {join_names(example, 3)} is no time. Write numbers, or nothing"
    if block.seconds is None and _rises(table):
        return (
            f"{clock.column} rises in each setup: the time of each run, or a clock? If it is the "
            f"time of each run, give --seconds '{clock.column} {_unit_text(clock)}'"
        )
    return ""


def _odd_cells(table: _Table, clock: TimeColumn) -> list[str]:
    """Return cells that are neither a time nor say that there is none."""
    cells = texts(table.frame[clock.column])
    unread = cells.is_not_null() & _seconds(table, clock).is_null()
    words = (cell for cell in cells.filter(unread & numbers(cells).is_null()))
    return [repr(word) for word in words if word.lower() not in _FAILED]


def _unit_text(clock: TimeColumn) -> str:
    return metrics.UNITS.get(clock.seconds, "s")


def _rises(table: _Table) -> bool:
    """Return whether the times of all setups rise from row to row, far up."""
    names = [texts(table.frame[column]).fill_null("").alias(column) for column in table.setups]
    seconds = _seconds(table, table.clocks[0]).alias("at")
    rows = pl.DataFrame([seconds, *names]).filter(pl.col("at").is_not_null())
    parts = rows.partition_by(table.setups) if table.setups else [rows]
    long_series = [part["at"] for part in parts if part.height >= _FEWEST_ROWS]
    return bool(long_series) and all(
        (at.diff().drop_nulls() > 0).all() and at[-1] >= _RISE * at[0] for at in long_series
    )


def _runs(table: _Table, stem: str) -> Iterator[Run]:
    """Yield the runs of the rows; where no column names the setup, the file does."""
    columns = {column: texts(table.frame[column]).to_list() for column in table.frame.columns}
    names = _naming_columns(table, columns)
    seconds = _seconds(table, table.clocks[0]).to_list()
    for row, (time, line) in enumerate(zip(seconds, table.lines, strict=True)):
        cells = {column: cells[row] for column, cells in columns.items() if cells[row] is not None}
        entry = " ".join(cells[column] for column in names if column in cells) or stem
        failed = any(cells.get(column, "0") not in {"0", "0.0"} for column in table.exits)
        texts_by_name = {plain(column): text for column, text in cells.items()}
        fields = {
            key: texts_by_name[key] for key in (*table.fields, "seed") if key in texts_by_name
        }
        if price := price_in(cells):
            fields[PRICE] = cells[price]
        run_columns = run_fields(fields)
        settings = {column: cells[column] for column in table.setups if column in cells}
        numbering = {column: cells[column] for column in table.numbering if column in cells}
        recorded = {"settings": settings} if settings else {}
        details: dict[str, Any] = {"extra": {**numbering, **recorded}, **run_columns}
        yield timed_run(time, entry, failed=failed, line=line, **details)


def _naming_columns(table: _Table, columns: Mapping[str, Sequence[str | None]]) -> list[str]:
    """Return the columns of the setup's name: of several, those with names shared by runs."""
    if len(table.setups) < 2:
        return [*table.setups]
    height = table.frame.height
    varying = [name for name in table.setups if 1 < len({*columns[name]}) < height]
    return varying or [*table.setups[:1]]
