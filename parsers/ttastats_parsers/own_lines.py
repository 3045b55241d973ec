"""Which lines of a log match the expressions of its block, and what do they tell?"""

from __future__ import annotations

from typing import Any

import polars as pl

from ttastats.formats.dialect import Log
from ttastats.formats.own_logs.block import BACK, Block
from ttastats_parsers.own_choice import UnfitError
from ttastats_parsers.own_rows import Rows

#: Colours and other commands to a terminal.
_COMMANDS = r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07"
#: Which process wrote the line: `[default0]:`, `[rank0]:`, `[1,0]<stdout>:`.
_RANK = r"^\[(?:(?:default|rank)\d+|\d+,\d+)\](?:<std\w+>)?:\s?"
#: Columns beside those of the groups: a line may hold several that `\r` parts.
_AT, _LINE, _BEGINS = _PLACE = ("\0at", "\0line", "\0begins")


def rows_of(log: Log) -> Rows:
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
    cells = frame.drop(*_PLACE)
    known = [name for name in cells.columns if not cells[name].is_null().all()]
    return Rows(cells.select(known), frame[_LINE], frame[_BEGINS], carried=True)


def _join_lines(frame: pl.DataFrame) -> pl.DataFrame:
    """Return lines joined into rows: a repeated group begins the next row."""
    rows: list[dict[str, Any]] = []
    for row in frame.iter_rows(named=True):
        cells = {
            name: cell for name, cell in row.items() if name not in _PLACE and cell is not None
        }
        is_new = not rows or row[_BEGINS]
        if is_new or any(rows[-1][name] not in {None, cell} for name, cell in cells.items()):
            rows.append(row)
        else:
            rows[-1] |= cells
    return pl.DataFrame(rows, schema=frame.schema)


def _split_lines(data: bytes, first: int) -> pl.DataFrame:
    r"""Return the lines of some bytes with numbers; parts between lone `\r` are separate."""
    text = data.decode("utf-8", "replace").replace("\r\n", "\n").removeprefix("\ufeff")
    lines = pl.DataFrame({"text": text.split("\n")}, {"text": pl.String()})
    lines = lines.with_columns(pl.int_range(first, pl.len() + first).alias(_LINE))
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
        hits = lines.filter(pl.col("text").str.contains(pattern))
        groups = hits["text"].str.extract_groups(pattern).struct.unnest()
        named = groups.select(name for name in groups.columns if not name.isdigit())
        parts.append(named.with_columns(hits[_AT], hits[_LINE], pl.lit(value=False).alias(_BEGINS)))
    if block.new_run not in {None, "row", *BACK}:
        begins = lines.filter(pl.col("text").str.contains(str(block.new_run)))
        parts.append(begins.select(_AT, _LINE, pl.lit(value=True).alias(_BEGINS)))
    # A run begins before what else its first line tells.
    frame = pl.concat([parts[-1], *parts[:-1]], how="diagonal").sort(_AT, maintain_order=True)
    if frame[_AT].is_unique().all():
        return frame
    # What several expressions match in a line stands together.
    others = [name for name in frame.columns if name not in _PLACE]
    return frame.group_by(_AT, _LINE, maintain_order=True).agg(
        pl.col(_BEGINS).any(), *(pl.col(name).drop_nulls().last() for name in others)
    )
