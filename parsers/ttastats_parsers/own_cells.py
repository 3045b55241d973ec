"""Which rows and columns does a file hold: CSV, TSV, JSON, Parquet, or lines of a pattern?"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from itertools import accumulate, compress, count
from typing import Any

import numpy as np
import polars as pl
import polars.selectors as cs
from msgspec.structs import replace

from ttastats.base import streams
from ttastats.base.metrics import EPOCH_WORDS, STEP_WORDS
from ttastats.base.records import Problem
from ttastats.formats.block import BACK, Block
from ttastats.formats.dialect import Log
from ttastats_parsers.own_choice import BLANKS, FEW, UnfitError
from ttastats_parsers.own_rows import Rows
from ttastats_parsers.payloads import json_value

_DELIMITERS = ",\t;|"
#: Problems of one kind that are named one by one before the rest is only counted.
_MOST_NAMED = 5
#: No field has more characters; where a quote is never closed, the rest would be one.
_LONGEST_FIELD = 1 << 20
#: A row in quotes may hold line ends, but not so many.
_MOST_LINES = 100
#: How W&B calls the columns of a panel: `run - metric`, and with the limits of what it averaged.
_SEPARATOR = " - "
_LOW, _HIGH = "__MIN", "__MAX"
#: And the columns of a panel that is grouped: `optimizer: adam - metric`.
_GROUP = re.compile(r"[\w./ -]+: \S")
_SURROGATE = re.compile("[\ud800-\udfff]")
#: The column of the lines, beside those of a table.
LINE = "\0line"
#: Rows of another width than the header: none.
NONE_UNFIT = pl.DataFrame(schema={"line": pl.Int64(), "width": pl.UInt32()})
#: Colours and other commands to a terminal.
_COMMANDS = r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07"
#: Which process wrote the line: `[default0]:`, `[rank0]:`, `[1,0]<stdout>:`.
_RANK = r"^\[(?:(?:default|rank)\d+|\d+,\d+)\](?:<std\w+>)?:\s?"
#: Columns beside those of the groups: a line may hold several that `\r` parts.
_AT, _BEGINS = "\0at", "\0begins"
_POSITION = (_AT, LINE, _BEGINS)


def rows_of(data: bytes) -> Rows:
    """Return the rows of a table of any of the kinds, or raise an UnfitError."""
    if data.startswith(b"PAR1"):
        return _parquet(data)
    text = data.decode("utf-8-sig", "replace").replace("\r\n", "\n")
    text = text if "\n" in text else text.replace("\r", "\n")
    if text.lstrip()[:1] in {"{", "["}:
        return _json(text)
    lines = text.split("\n")
    at, names, delimiter = header(lines)
    if delimiter == "|":  # rules
        lines = [line if line.strip("|+-=: \t") else "" for line in lines]
    cells_of = _quoted if '"' in text else plain
    problems: list[Problem] = []
    columns = unique(names, problems)
    if '"' not in text and (rows := _few_rows(lines, at + 1, delimiter, names, columns)):
        return replace(rows, problems=problems)
    frame, unfit, repeated_headers = in_columns(names, columns, cells_of(lines, at + 1, delimiter))
    problems += row_problems(unfit, len(names), len(lines), repeated_headers)
    return Rows(frame.drop(LINE), frame[LINE], problems=problems)


def _few_rows(
    lines: Sequence[str], start: int, delimiter: str, header: list[str], names: Sequence[str]
) -> Rows | None:
    """Return the rows of a few lines without queries; None if any is not as wide as the header."""
    if len(lines) > FEW:
        return None
    numbers = [at for at in range(start, len(lines)) if lines[at].strip(BLANKS)]
    rows = [[cell.strip(BLANKS) for cell in lines[at].split(delimiter)] for at in numbers]
    if not rows or header in rows or {*map(len, rows)} != {len(names)}:
        return None
    columns = zip(names, zip(*rows, strict=True), strict=True)
    frame = pl.DataFrame([pl.Series(name, cells, pl.String()) for name, cells in columns])
    return Rows(frame, pl.Series(LINE, [at + 1 for at in numbers], pl.Int64()))


def _parquet(data: bytes) -> Rows:
    """Return the rows of a Parquet file."""
    try:
        scan = pl.scan_parquet(io.BytesIO(data))
        rows = scan.select(pl.len()).collect().item()
        expect_cells(rows, len(scan.collect_schema()))
        # What no text is made of.
        decoded = cs.binary().map_elements(_decoded, return_dtype=pl.String())
        seconds = cs.duration().dt.total_microseconds() / 1e6
        frame = scan.with_columns(seconds, decoded).collect()
    except (pl.exceptions.PolarsError, OSError, ValueError) as error:
        reason = f"not a Parquet file: {error}".partition("\n")[0]
        raise UnfitError("unreadable_file", reason) from error
    return Rows(frame, pl.Series("line", [None] * frame.height, pl.Int64()))


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def expect_cells(rows: int, columns: int) -> None:
    """Raise an error for more cells than a file may hold, which may be far more than its bytes.

    A value takes at least eight bytes as a cell; in a file a million may take a few, and a row may
    have columns that no other has.
    """
    size = 8 * rows * columns
    streams.expect_size(size, streams.whole_file_limit(), f"its {rows:,} x {columns:,} cells are ")


def header(lines: Sequence[str]) -> tuple[int, list[str], str]:
    """Return the line of the header, its names and the delimiter; comments are skipped."""
    nonempty = compress(count(), lines)  # of a million empty lines, none is looked at
    at = next((at for at in nonempty if lines[at].strip() and not lines[at].startswith("#")), None)
    if at is None:
        raise UnfitError("no_header", "no line of text: not a table")
    line = lines[at]
    delimiter = max(_DELIMITERS, key=line.count)
    names = [name.strip() for name in _cells(line[:_LONGEST_FIELD], delimiter)]
    if all(_is_number(name) for name in names):
        raise UnfitError(
            "no_header",
            "the first line contains only numbers, so the columns have no names. Name them with "
            f"a regular expression, such as --line '^{delimiter.join(_groups(names, delimiter))}$'",
            at + 1,
        )
    return at, names, delimiter


def _groups(cells: Sequence[str], delimiter: str) -> list[str]:
    """Return a group for each cell of a row, the first ones with names that are often right."""
    likely = ("step", "seconds", "val_loss")[: len(cells)]
    names = [*likely, *(f"column{n}" for n in range(len(likely) + 1, len(cells) + 1))]
    return [f"(?P<{name}>[^{delimiter}]+)" for name in names]


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
    nonblank = frame.filter(pl.col("text").str.strip_chars() != "")
    return nonblank.select("line", cells=pl.col("text").str.split(delimiter))


def _quoted(lines: Sequence[str], start: int, delimiter: str) -> pl.DataFrame:
    """Return the cells of lines with quotes; one that is torn takes no others with it."""
    numbers, cells = [], []
    at = start
    while at < len(lines):
        quotes = accumulate(line.count('"') for line in lines[at : at + _MOST_LINES])
        # An unclosed quote takes only its own line.
        span = next((span for span, count in enumerate(quotes, start=1) if count % 2 == 0), 1)
        row = _cells("\n".join(lines[at : at + span]), delimiter)
        if any(cell.strip() for cell in row):
            numbers.append(at + 1)
            cells.append(row)
        at += span
    schema = {"line": pl.Int64(), "cells": pl.List(pl.String())}
    return pl.DataFrame({"line": numbers, "cells": cells}, schema)


def _cells(text: str, delimiter: str) -> list[str]:
    """Return the cells of a row, also of one whose quotes or line ends are none."""
    try:
        return next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter), [])
    except csv.Error:
        return text.split(delimiter)


def in_columns(
    header: Sequence[str], names: Sequence[str], rows: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame, list[int]]:
    """Return columns by name with their `line`, rows of other widths, and repeated headers."""
    width = len(names)
    cells = pl.col("cells").list
    rows = rows.with_columns(line=pl.col("line").cast(pl.Int64()), width=cells.len())
    trailing = (pl.col("width") == width + 1) & (cells.last().str.strip_chars() == "")
    fits = (pl.col("width") == width) | trailing
    fitting = rows.filter(fits)
    # No expression for each column: where no row fits a header of thousands, that took seconds.
    all_cells = fitting["cells"].list.head(width).explode().str.strip_chars()
    columns = {
        name: all_cells.gather_every(width, number) if fitting.height else all_cells
        for number, name in enumerate(names)
    }
    frame = pl.DataFrame({LINE: fitting["line"], **columns})
    header_rows = frame.filter(pl.col(names[0]) == header[0]).iter_rows()
    repeated_headers = [line for line, *row in header_rows if row == list(header)]
    unfit = rows.filter(~fits).select(NONE_UNFIT.columns)
    return frame.filter(~pl.col(LINE).is_in(repeated_headers)), unfit, repeated_headers


def unique(header: Sequence[str], problems: list[Problem]) -> list[str]:
    """Return distinct names: a second column of a name is called `name (2)`."""
    names: dict[str, None] = {}
    numbers: dict[str, int] = {}  # the last of each name, so that no header costs its square
    for number, title in enumerate(header, start=1):
        name = base = title or f"column {number}"
        count = numbers.get(base, 1)
        while name in names:
            count += 1
            name = f"{base} ({count})"
        numbers[base] = count
        if count > 1:
            text = f"two columns are called {base!r}: this one is read as {name!r}"
            problems.append(Problem("duplicate_column", text, "warning"))
        names[name] = None
    return [*names]


def row_problems(
    unfit: pl.DataFrame, width: int, lines: int, again: Sequence[int]
) -> list[Problem]:
    """Return the first rows of another width than the header, and lines that repeat it."""
    problems = []
    for line, number in unfit.head(_MOST_NAMED).iter_rows():
        remark = ", the file ends here" if line == lines else ""
        text = f"a row of {number} cells, but the header has {width}{remark}: ignored"
        problems.append(Problem("row_width", text, "error", line))
    if unfit.height > _MOST_NAMED:
        text = f"{unfit.height - _MOST_NAMED:,} more rows of another width: ignored"
        problems.append(Problem("row_width", text, "error"))
    repeated = (
        Problem("repeated_header", "repeated header", "info", at) for at in again[:_MOST_NAMED]
    )
    return [*problems, *repeated]


def without_quotes(data: bytes, delimiter: str) -> bytes | None:
    """Return lines without the quotes around cells; None if quotes contain separators."""
    separator = re.escape(delimiter.encode())
    quoted = rb'(?<![^\n%s])"[^"\r\n%s]*+"(?![^\r\n%s])' % (separator, separator, separator)
    if 2 * len(re.findall(quoted, data)) != data.count(b'"'):
        return None
    return data.replace(b'"', b"")


def _json(text: str) -> Rows:
    """Return the rows of JSON lines, or of one JSON value that holds a table."""
    lines = [line for line in text.split("\n") if line.strip()]
    value = json_value(lines[0])
    if isinstance(value, dict) and (len(lines) > 1 or not _holds_table(value)):
        value = None
    else:
        value = value if len(lines) == 1 else json_value(text)
        if value is None and (len(lines) == 1 or not lines[0].lstrip().startswith("{")):
            reason = "invalid JSON: neither one value nor one value per line"
            raise UnfitError("unreadable_file", reason)
    records: Sequence[Mapping[str, Any]]
    numbers: Sequence[int | None]
    bad_numbers: list[int] = []
    if value is None:
        records, numbers, bad_numbers = json_objects(text, 0)
        reason = "no line is a JSON object"
    else:
        records = _rows_in_value(value)
        numbers = [None] * len(records)
        reason = "JSON without a table: no list of objects, no columns"
    if not records:
        raise UnfitError("no_table", reason)
    frame = _columns([flattened(record) for record in records])
    lines_of = pl.Series("line", numbers, pl.Int64())
    return Rows(frame, lines_of, problems=bad_lines(bad_numbers))


def _columns(records: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Return records as columns, in time that their cells take, not those that they lack."""
    positions: dict[str, list[int]] = {}
    cells_by_name: dict[str, list[Any]] = {}
    for at, record in enumerate(records):
        for name, cell in record.items():
            if name not in cells_by_name:
                positions[name], cells_by_name[name] = [], []
            positions[name].append(at)
            cells_by_name[name].append(cell)
    size = len(records)
    expect_cells(size, len(cells_by_name))
    names = unique([*cells_by_name], [])  # one may be empty
    series_by_rows: dict[tuple[int, ...], list[pl.Series]] = {}
    for name, (key, cells) in zip(names, cells_by_name.items(), strict=True):
        padding = [None] if len(cells) < size else []
        series_by_rows.setdefault(tuple(positions[key]), []).append(series(name, cells + padding))
    parts = [pl.DataFrame()]
    for rows, columns in series_by_rows.items():
        part = pl.DataFrame(columns)
        if len(rows) < size:
            row = np.full(size, len(rows), np.uint32)  # that of what is lacked
            row[[*rows]] = np.arange(len(rows), dtype=np.uint32)
            part = part.select(pl.all().gather(pl.Series(row)))
        parts.append(part)
    return pl.concat(parts, how="horizontal").select(names)


def json_objects(text: str, before: int) -> tuple[list[dict[str, Any]], list[int], list[int]]:
    """Parse JSON lines behind `before` others: objects, their lines, and the bad lines."""
    records, numbers, bad_numbers = list[dict[str, Any]](), list[int](), list[int]()
    for number, line in enumerate(text.split("\n"), start=before + 1):
        if isinstance(value := json_value(line), dict):
            records.append(value)
            numbers.append(number)
        elif line.strip():
            bad_numbers.append(number)
    return records, numbers, bad_numbers


def bad_lines(bad: Sequence[int]) -> list[Problem]:
    """Return the problems of bad lines: the first ones, and the number of the others."""
    text = "not a JSON object: ignored"
    problems = [Problem("bad_line", text, "error", line) for line in bad[:_MOST_NAMED]]
    if len(bad) > _MOST_NAMED:
        text = f"{len(bad) - _MOST_NAMED:,} more lines are not JSON objects: ignored"
        problems.append(Problem("bad_line", text, "error"))
    return problems


def _holds_table(value: Mapping[str, Any]) -> bool:
    return any(isinstance(member, list | dict) for member in value.values())


def _rows_in_value(value: Any) -> list[Mapping[str, Any]]:
    """Return the rows of a list of objects, of an object of columns, or one that holds a list.

    Columns are lists, or objects by index, which may stand one level deeper, under `values`. The
    index, as pandas writes it, becomes the column `index`.
    """
    if not isinstance(value, dict):
        return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []
    members = ((name, _column(member)) for name, member in value.items())
    columns = {name: cells for name, cells in members if cells is not None}
    if indices := dict.fromkeys(index for cells in columns.values() for index in cells):
        return [
            {"index": index, **{name: cells.get(index) for name, cells in columns.items()}}
            for index in indices
        ]
    lists = [member for member in value.values() if isinstance(member, list) and member]
    tables = [member for member in lists if all(isinstance(row, dict) for row in member)]
    return max(tables, key=len, default=[] if _holds_table(value) else [value])


def _column(value: Any) -> dict[str, Any] | None:
    """Return the cells of a JSON column by row, or None if the value is no column."""
    if isinstance(value, dict) and isinstance(value.get("values"), dict | list):
        value = value["values"]
    if isinstance(value, list) and value and not any(isinstance(v, dict | list) for v in value):
        return {str(number): cell for number, cell in enumerate(value)}
    if isinstance(value, dict) and value and all(_is_number(name) for name in value):
        return dict(value)
    return None


def flattened(record: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return the cells of an object; nested keys are joined as `outer.inner`."""
    cells: dict[str, Any] = {}
    for name, value in record.items():
        name = name if name.isascii() else _SURROGATE.sub("\ufffd", name)
        if isinstance(value, dict) and len(prefix) < 200:
            cells.update(flattened(value, f"{prefix}{name}."))
        elif not isinstance(value, list | dict):
            cells[f"{prefix}{name}"] = value
    return cells


def series(name: str, cells: Sequence[Any], as_text: bool = False) -> pl.Series:
    """Return a column of floats where all are numbers, else of texts."""
    if not as_text and {*map(type, cells)} <= {float, int, type(None)}:
        # Integers of hundreds of digits are null.
        return pl.Series(name, cells, pl.Float64(), strict=False)
    texts = (cell if isinstance(cell, str | None) else repr(cell) for cell in cells)
    return pl.Series(name, [text and _SURROGATE.sub("\ufffd", text) for text in texts], pl.String())


def runs_in_columns(names: Sequence[str], block: Block) -> list[str]:
    """Return the columns with a metric of one run each, as in panels of W&B."""
    columns = set(names)
    if any(metric.name in columns for metric in block.metrics):
        return []
    is_panel = len(names) > 2 and all(_SEPARATOR in name for name in names[1:])
    averaged = (n for n in names if is_panel or {f"{n}{_LOW}", f"{n}{_HIGH}"} <= columns)
    return [name for name in averaged if _SEPARATOR in name and not name.endswith((_LOW, _HIGH))]


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
        run, _, metric = column.rpartition(_SEPARATOR)
        by_run.setdefault(run, {})[metric] = pl.col(column).alias(metric)
    new_columns = {"run", *(metric for metrics in by_run.values() for metric in metrics)}
    shared = [name for name in names if _SEPARATOR not in name and name not in new_columns]
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
    table = pl.concat(parts, how="diagonal_relaxed")
    # Means of points close together, or of the runs of a group.
    cells = rows.frame
    limits = [name for name in columns if {f"{name}{_LOW}", f"{name}{_HIGH}"} <= {*cells.columns}]
    means = [name for name in limits if (cells[f"{name}{_LOW}"] != cells[f"{name}{_HIGH}"]).any()]
    problems = [*rows.problems]
    if means:
        grouped = [name for name in means if _GROUP.match(name)]
        by_name = ", by their names" if grouped else ""
        text = (
            f"{len(means)} of {len(columns)} columns contain means of several points or of the "
            f"runs of a group{by_name}, first {(grouped or means)[0]!r}: each is read as one run. "
            "The number, the seeds and the spread of the runs cannot be recovered: switch off "
            "grouping and smoothing of the panel before its export, or export each run "
            "(`wandb.Api().run(PATH).scan_history()`)"
        )
        problems.append(Problem("averaged", text, "warning"))
    return Rows(table.drop(LINE), table[LINE], problems=problems)


def rows_of_lines(log: Log) -> Rows:
    """Return the lines that match, as rows with a column for each group; none is an UnfitError."""
    block = log.block or Block("")
    if not block.line:
        raise UnfitError("no_line", "no regular expression for the lines: give --line")
    frames = []
    line = 1
    for data in log.blocks():
        frames.append(_match_lines(_split_lines(data, line), block))
        line += data.count(b"\n")
    frame = pl.concat(frames, how="diagonal") if frames else pl.DataFrame()
    frame = _join_lines(frame) if block.joined else frame
    if frame.is_empty():
        patterns = " or ".join(repr(pattern) for pattern in block.line)
        raise UnfitError("no_line", f"no line matches {patterns}")
    cells = frame.drop(*_POSITION)
    nonempty = [name for name in cells.columns if not cells[name].is_null().all()]
    return Rows(cells.select(nonempty), frame[LINE], frame[_BEGINS], carried=True)


def _join_lines(frame: pl.DataFrame) -> pl.DataFrame:
    """Return lines joined into rows: a repeated group begins the next row."""
    rows: list[dict[str, Any]] = []
    for row in frame.iter_rows(named=True):
        cells = {
            name: cell for name, cell in row.items() if name not in _POSITION and cell is not None
        }
        is_new = not rows or row[_BEGINS]
        if is_new or any(rows[-1][name] not in {None, cell} for name, cell in cells.items()):
            rows.append(row)
        else:
            rows[-1] |= cells
    return pl.DataFrame(rows, schema=frame.schema)


def _split_lines(data: bytes, number: int) -> pl.DataFrame:
    r"""Return the lines of some bytes with numbers; parts between lone `\r` are separate."""
    text = data.decode("utf-8", "replace").replace("\r\n", "\n").removeprefix("\ufeff")
    lines = pl.DataFrame({"text": text.split("\n")}, {"text": pl.String()})
    lines = lines.with_columns(pl.int_range(number, pl.len() + number).alias(LINE))
    if "\r" in text:
        lines = lines.with_columns(pl.col("text").str.split("\r")).explode("text")
    lines = lines.with_row_index(_AT)
    column = pl.col("text")
    if "\x1b" in text:
        column = column.str.replace_all(_COMMANDS, "")
    return lines.with_columns(column.str.replace(_RANK, ""))


def _match_lines(lines: pl.DataFrame, block: Block) -> pl.DataFrame:
    """Return a row for each line that an expression matches, or that begins a run."""
    parts = []
    for pattern in block.line:
        matches = lines.filter(pl.col("text").str.contains(pattern))
        groups = matches["text"].str.extract_groups(pattern).struct.unnest()
        captures = groups.select(name for name in groups.columns if not name.isdigit())
        captures = _with_pairs(captures, block.pairs) if block.pairs else captures
        parts.append(
            captures.with_columns(matches[_AT], matches[LINE], pl.lit(value=False).alias(_BEGINS))
        )
    if block.new_run not in {None, "row", *BACK}:
        begins = lines.filter(pl.col("text").str.contains(str(block.new_run)))
        parts.append(begins.select(_AT, LINE, pl.lit(value=True).alias(_BEGINS)))
    # A run begins before what else its first line tells.
    frame = pl.concat([parts[-1], *parts[:-1]], how="diagonal").sort(_AT, maintain_order=True)
    if not frame[_AT].is_unique().all():
        # What several expressions match in a line stands together.
        columns = [name for name in frame.columns if name not in _POSITION]
        frame = frame.group_by(_AT, LINE, maintain_order=True).agg(
            pl.col(_BEGINS).any(), *(pl.col(name).drop_nulls().last() for name in columns)
        )
    if block.skip_after is None:
        return frame
    marks = lines.filter(pl.col("text").str.contains(block.skip_after))[_AT]
    repeated = frame[_AT].search_sorted(marks, side="right")
    return frame.filter(~pl.int_range(pl.len()).is_in(repeated.implode()))


def _with_pairs(captures: pl.DataFrame, pattern: str) -> pl.DataFrame:
    """Return groups of lines, with a column for each name in the group `pairs`.

    The name is that of the group `set`, if the line has one, and all groups but `value` of a pair.
    """
    if "pairs" not in captures.columns:
        return captures
    row, sets = pl.int_range(pl.len()).alias(LINE), captures.columns.count("set") * ["set"]
    pairs = captures.select(row, *sets, pl.col("pairs").str.extract_all(pattern)).explode("pairs")
    groups = pairs["pairs"].str.extract_groups(pattern).struct.unnest()
    parts = [name for name in groups.columns if name != "value" and not name.isdigit()]
    name_parts = [*pairs.select(sets), *groups.select(parts)]
    name = pl.concat_str(name_parts, separator="_", ignore_nulls=True).alias("name")
    without_pairs = captures.drop("pairs", *sets)
    cells = groups.select(pairs[LINE], name, "value").drop_nulls("value")
    cells = cells.filter(~pl.col("name").is_in(without_pairs.columns))
    size = 8 * cells["name"].n_unique() * without_pairs.height
    streams.expect_size(size, streams.whole_file_limit(), "its cells are ")
    wide = cells.pivot("name", index=LINE, values="value", aggregate_function="last")
    rows = without_pairs.with_columns(row).join(wide, on=LINE, how="left", maintain_order="left")
    return rows.drop(LINE)
