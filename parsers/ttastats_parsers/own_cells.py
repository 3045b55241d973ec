"""Which rows and columns does a table hold: CSV, TSV, JSON lines, JSON or Parquet?"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from ttastats.base import limits
from ttastats.base.metric_names import EPOCH_WORDS, STEP_WORDS
from ttastats.base.records import Problem
from ttastats.formats.own_logs.block import Block
from ttastats_parsers.own_choice import UnfitError
from ttastats_parsers.own_rows import Rows
from ttastats_parsers.payloads import json_value

_DELIMITERS = ",\t;|"
#: Problems of one kind that are named one by one before the rest is only counted.
_NAMED = 5
#: No field has more characters; where a quote is never closed, the rest would be one.
_LONGEST_FIELD = 1 << 20
#: A row in quotes may hold line ends, but not so many.
_MOST_LINES = 100
#: How W&B calls the columns of a panel: `run - metric`, and with the limits of what it averaged.
_BETWEEN = " - "
_LOW, _HIGH = "__MIN", "__MAX"
#: And the columns of a panel that is grouped: `optimizer: adam - metric`.
_GROUP = re.compile(r"[\w./ -]+: \S")
#: The column of the lines, beside those of a table.
LINE = "\0line"
#: Rows of another width than the header: none.
NONE_UNFIT = pl.DataFrame(schema={"line": pl.Int64(), "width": pl.UInt32()})


def rows_of(data: bytes) -> Rows:
    """Return the rows of a table of any of the kinds, or raise an UnfitError."""
    if data.startswith(b"PAR1"):
        return _parquet(data)
    text = data.decode("utf-8-sig", "replace").replace("\r\n", "\n")
    if text.lstrip()[:1] in {"{", "["}:
        return _json(text)
    lines = text.split("\n")
    at, names, delimiter = header(lines)
    cells_of = _quoted if '"' in text else plain
    problems: list[Problem] = []
    columns = unique(names, problems)
    frame, unfit, again = in_columns(names, columns, cells_of(lines, at + 1, delimiter))
    problems += [*wrong_width(unfit, len(names), len(lines)), *repeated_header(again)]
    return Rows(frame.drop(LINE), frame[LINE].rename("line"), problems=problems)


def _parquet(data: bytes) -> Rows:
    try:
        held = pl.scan_parquet(io.BytesIO(data))
        rows = held.select(pl.len()).collect().item()
        # A value takes at least eight bytes as a cell; in the file a million may take a few.
        limits.expect_size(
            8 * rows * len(held.collect_schema()), limits.whole_file_limit(), "its cells are "
        )
        frame = held.collect()
    except (pl.exceptions.PolarsError, OSError, ValueError) as error:
        raise UnfitError(
            "unreadable_file", f"not a Parquet file: {error}".partition("\n")[0]
        ) from error
    return Rows(frame, pl.Series("line", [None] * frame.height, pl.Int64()))


def header(lines: Sequence[str]) -> tuple[int, list[str], str]:
    """Return the line of the header, its names and the delimiter; comments are skipped."""
    at = next(
        (at for at, line in enumerate(lines) if line.strip() and not line.startswith("#")), None
    )
    if at is None:
        raise UnfitError("no_header", "no line of text: not a table")
    line = lines[at]
    delimiter = max(_DELIMITERS, key=line.count)
    names = [name.strip() for name in _cells(line[:_LONGEST_FIELD], delimiter)]
    if all(_is_number(name) for name in names):
        raise UnfitError(
            "no_header",
            "the first line contains only numbers, so the columns have no names. Name them with "
            "a regular expression, such as --line '^(?P<step>\\d+) (?P<loss>\\S+)$'",
            at + 1,
        )
    return at, names, delimiter


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def plain(lines: Sequence[str], first: int, delimiter: str) -> pl.DataFrame:
    """Return the cells of lines without quotes, a list for each line, with the line's number."""
    texts = pl.Series("text", lines[first:], pl.String())
    frame = pl.DataFrame({"text": texts}).with_row_index("line", offset=first + 1)
    written = frame.filter(pl.col("text").str.strip_chars() != "")
    return written.select("line", cells=pl.col("text").str.split(delimiter))


def _quoted(lines: Sequence[str], first: int, delimiter: str) -> pl.DataFrame:
    """Return the cells of lines with quotes; one that is torn takes no others with it."""
    numbers, cells = [], []
    at = first
    while at < len(lines):
        end = at + _lines_of_row(lines, at)
        row = _cells("\n".join(lines[at:end]), delimiter)
        if any(cell.strip() for cell in row):
            numbers.append(at + 1)
            cells.append(row)
        at = end
    return pl.DataFrame(
        {"line": numbers, "cells": cells},
        schema={"line": pl.Int64(), "cells": pl.List(pl.String())},
    )


def _cells(text: str, delimiter: str) -> list[str]:
    """Return the cells of a row, also of one whose quotes or line ends are none."""
    try:
        return next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter), [])
    except csv.Error:
        return text.split(delimiter)


def _lines_of_row(lines: Sequence[str], at: int) -> int:
    """Return how many lines a row takes; an unclosed quote takes only its own line."""
    quotes = 0
    for taken, line in enumerate(lines[at : at + _MOST_LINES], start=1):
        quotes += line.count('"')
        if quotes % 2 == 0:
            return taken
    return 1


def in_columns(
    header: Sequence[str], names: Sequence[str], rows: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame, list[int]]:
    """Return columns by name with their `line`, rows of other widths, and repeated headers."""
    width = len(names)
    cells = pl.col("cells").list
    rows = rows.with_columns(line=pl.col("line").cast(pl.Int64()), width=cells.len())
    trailing = (pl.col("width") == width + 1) & (cells.last().str.strip_chars() == "")
    fits = (pl.col("width") == width) | trailing
    columns = (cells.get(number).str.strip_chars().alias(f"c{number}") for number in range(width))
    frame = rows.filter(fits).select("line", *columns)
    repeated = pl.all_horizontal(pl.col(f"c{number}") == name for number, name in enumerate(header))
    again = frame.filter(repeated)["line"].to_list()
    named = {f"c{number}": name for number, name in enumerate(names)}
    unfit = rows.filter(~fits).select(NONE_UNFIT.columns)
    return frame.filter(~repeated).rename({"line": LINE, **named}), unfit, again


def repeated_header(lines: Sequence[int]) -> list[Problem]:
    """Return the first lines that repeat the header."""
    return [Problem("repeated_header", "repeated header", "info", at) for at in lines[:_NAMED]]


def unique(header: Sequence[str], problems: list[Problem]) -> list[str]:
    """Return distinct names: a second column of a name is called `name (2)`."""
    names: list[str] = []
    for number, given in enumerate(header, start=1):
        name = base = given or f"column {number}"
        count = 1
        while name in names:
            count += 1
            name = f"{base} ({count})"
        if count > 1:
            text = f"two columns are called {base!r}: this one is read as {name!r}"
            problems.append(Problem("duplicate_column", text, "warning"))
        names.append(name)
    return names


def wrong_width(rows: pl.DataFrame, width: int, lines: int) -> list[Problem]:
    """Return the first rows of another width than the header, and how many more there are."""
    problems = []
    for line, number in rows.select("line", "width").head(_NAMED).iter_rows():
        where = ", the file ends here" if line == lines else ""
        text = f"a row of {number} cells, but the header has {width}{where}: ignored"
        problems.append(Problem("row_width", text, "error", line))
    if rows.height > _NAMED:
        text = f"{rows.height - _NAMED:,} more rows of another width: ignored"
        problems.append(Problem("row_width", text, "error"))
    return problems


def without_quotes(data: bytes, delimiter: str) -> bytes | None:
    """Return lines without the quotes around cells; None if quotes contain separators."""
    apart = re.escape(delimiter.encode())
    quoted = rb'(?<![^\n%s])"[^"\r\n%s]*+"(?![^\r\n%s])' % (apart, apart, apart)
    if 2 * len(re.findall(quoted, data)) != data.count(b'"'):
        return None
    return data.replace(b'"', b"")


def _json(text: str) -> Rows:
    """Return the rows of JSON lines, or of one JSON value that holds a table."""
    lines = [line for line in text.split("\n") if line.strip()]
    first = json_value(lines[0])
    if isinstance(first, dict) and (len(lines) > 1 or not _holds_table(first)):
        return _json_lines(text)
    value = first if len(lines) == 1 else json_value(text)
    if value is None:
        if len(lines) == 1 or not lines[0].lstrip().startswith("{"):
            raise UnfitError(
                "unreadable_file", "invalid JSON: neither one value nor one value per line"
            )
        return _json_lines(text)
    records = list(_rows_in_value(value))
    if not records:
        raise UnfitError("no_table", "JSON without a table: no list of objects, no columns")
    return _records_to_columns(records, [None] * len(records), [])


def _json_lines(text: str) -> Rows:
    records, numbers, bad = json_objects(text, 0)
    if not records:
        raise UnfitError("no_table", "no line is a JSON object")
    return _records_to_columns(records, numbers, bad_lines(bad))


def json_objects(text: str, before: int) -> tuple[list[dict[str, Any]], list[int], list[int]]:
    """Return the objects of lines behind some others, the line of each, and lines that are none."""
    records: list[dict[str, Any]] = []
    numbers: list[int] = []
    bad: list[int] = []
    for number, line in enumerate(text.split("\n"), start=before + 1):
        if not line.strip():
            continue
        value = json_value(line)
        if isinstance(value, dict):
            records.append(value)
            numbers.append(number)
        else:
            bad.append(number)
    return records, numbers, bad


def bad_lines(bad: Sequence[int]) -> list[Problem]:
    """Return the first lines that are no objects, and how many more there are."""
    problems = [
        Problem("bad_line", "not a JSON object: ignored", "error", number)
        for number in bad[:_NAMED]
    ]
    if len(bad) > _NAMED:
        text = f"{len(bad) - _NAMED:,} more lines are not JSON objects: ignored"
        problems.append(Problem("bad_line", text, "error"))
    return problems


def _holds_table(value: Mapping[str, Any]) -> bool:
    return any(isinstance(member, list | dict) for member in value.values())


def _rows_in_value(value: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of a list of objects, of an object of columns, or one that holds a list.

    Columns are lists, or objects by index, which may stand one level deeper, under `values`. The
    index, as pandas writes it, becomes the column `index`.
    """
    if isinstance(value, list):
        yield from (row for row in value if isinstance(row, dict))
        return
    if not isinstance(value, dict):
        return
    members = {name: _column(member) for name, member in value.items()}
    columns = {name: cells for name, cells in members.items() if cells is not None}
    indices = dict.fromkeys(index for cells in columns.values() for index in cells)
    if indices:
        for index in indices:
            yield {"index": index, **{name: cells.get(index) for name, cells in columns.items()}}
        return
    lists = [
        member
        for member in value.values()
        if isinstance(member, list) and member and all(isinstance(row, dict) for row in member)
    ]
    yield from max(lists, key=len, default=[value] if not _holds_table(value) else [])


def _column(value: Any) -> dict[str, Any] | None:
    """Return the cells of a JSON column by row, or None if the value is no column."""
    if isinstance(value, dict) and isinstance(value.get("values"), dict | list):
        value = value["values"]
    if isinstance(value, list) and value and not any(isinstance(v, dict | list) for v in value):
        return {str(number): cell for number, cell in enumerate(value)}
    if isinstance(value, dict) and value and all(_is_number(name) for name in value):
        return dict(value)
    return None


def _records_to_columns(
    records: Sequence[Mapping[str, Any]], lines: Sequence[int | None], problems: list[Problem]
) -> Rows:
    flat = [flattened(record) for record in records]
    names = dict.fromkeys(name for record in flat for name in record)
    columns = {name: series(name, [record.get(name) for record in flat]) for name in names}
    return Rows(pl.DataFrame(columns), pl.Series("line", lines, pl.Int64()), problems=problems)


def flattened(record: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return the cells of an object; nested keys are joined as `outer.inner`."""
    cells: dict[str, Any] = {}
    for name, value in record.items():
        if isinstance(value, dict) and len(prefix) < 200:
            cells.update(flattened(value, f"{prefix}{name}."))
        elif not isinstance(value, list | dict):
            cells[f"{prefix}{name}"] = value
    return cells


_FLOATS = {float, type(None)}


def series(name: str, cells: Sequence[Any], *, as_text: bool = False) -> pl.Series:
    """Return a column of floats where all are numbers, else of texts."""
    kinds = {*map(type, cells)}
    if not as_text and kinds <= {*_FLOATS, int}:
        floats = cells if kinds <= _FLOATS else [_float(cell) for cell in cells]
        return pl.Series(name, floats, pl.Float64())
    return pl.Series(name, [_text(cell) for cell in cells], pl.String())


def _float(value: float | None) -> float | None:
    try:
        return None if value is None else float(value)
    except OverflowError:  # an integer of hundreds of digits
        return None


def _text(value: Any) -> str | None:
    if value is None:
        return None
    text = value if isinstance(value, str) else repr(value)
    return re.sub("[\ud800-\udfff]", "\ufffd", text)


def runs_in_columns(names: Sequence[str], block: Block) -> list[str]:
    """Return the columns that hold a metric of one run each, as panels of W&B do."""
    present = set(names)
    if {metric.name for metric in block.metrics} & present:
        return []
    return [
        name
        for name in names
        if _BETWEEN in name
        and not name.endswith((_LOW, _HIGH))
        and {f"{name}{_LOW}", f"{name}{_HIGH}"} <= present
    ]


def unpivoted(rows: Rows, block: Block) -> Rows:
    """Return a row for each run where a table holds a column for each, as panels of W&B do.

    Columns are called `run - metric` there; `run` becomes a column.
    """
    names = rows.frame.columns
    columns = runs_in_columns(names, block)
    if not columns:
        return rows
    by_run: dict[str, dict[str, pl.Expr]] = {}
    for column in columns:
        run, _, metric = column.rpartition(_BETWEEN)
        by_run.setdefault(run, {})[metric] = pl.col(column).alias(metric)
    made = {"run", *(metric for metrics in by_run.values() for metric in metrics)}
    shared = [name for name in names if _BETWEEN not in name and name not in made]
    frame = rows.frame.with_columns(rows.lines.alias(LINE))
    words = set(re.findall("[a-z]+", shared[0].lower())) if shared else set()
    axis = "epoch" if words & EPOCH_WORDS else "Step" if words & STEP_WORDS else None
    if axis is not None and axis not in shared:
        frame = frame.with_columns(pl.col(shared[0]).alias(axis))
        shared.append(axis)
    parts = [
        frame.select(LINE, *shared, pl.lit(run).alias("run"), *metrics.values())
        for run, metrics in by_run.items()
    ]
    whole = pl.concat(parts, how="diagonal_relaxed")
    # Means of points close together, or of the runs of a group.
    means = [
        name
        for name in columns
        if (rows.frame[f"{name}{_LOW}"] != rows.frame[f"{name}{_HIGH}"]).any()
    ]
    problems = [*rows.problems]
    if means:
        grouped = [name for name in means if _GROUP.match(name)]
        what = "of the runs of a group, by their names" if grouped else "of the runs of a group"
        text = (
            f"{len(means)} of {len(columns)} columns contain means of several points or {what}, "
            f"first {(grouped or means)[0]!r}: each is read as one run. The number, the seeds and "
            "the spread of the runs cannot be recovered: switch off grouping and smoothing of the "
            "panel before its export, or export each run (`wandb.Api().run(PATH).scan_history()`)"
        )
        problems.append(Problem("averaged", text, "warning"))
    return Rows(whole.drop(LINE), whole[LINE].rename("line"), problems=problems)
