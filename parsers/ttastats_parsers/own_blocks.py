"""Long tables of lines, block by block: of most rows, only that they were there matters.

A row counts if it holds a metric, if it is the first or the last of its run, or if another one
could not say the same: the latest time, a name, a cell that is no number. The others are left out
before the next block is read, and of those that count, only the columns that its block means are
held. Where a row depends on all before it, as sums do, the table is read whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from operator import attrgetter
from typing import Any

import msgspec
import polars as pl

from ttastats.base import streams
from ttastats.base.records import Problem
from ttastats.formats.block import Block
from ttastats.formats.dialect import Log
from ttastats_parsers import own_cells
from ttastats_parsers.own_cells import LINE
from ttastats_parsers.own_choice import (
    EMPTY,
    ChosenColumns,
    UnfitError,
    choose,
    numbers,
    tells_day,
    texts,
    times,
)
from ttastats_parsers.own_rows import (
    COUNTS,
    Rows,
    names_parts,
    value_columns,
    with_metrics_apart,
)
from ttastats_parsers.own_runs import names_in
from ttastats_parsers.payloads import json_value

#: Bytes of JSON that are decoded at once: they become twenty times as many.
_PIECE = 1 << 22
_decode_lines = msgspec.json.Decoder().decode_lines
_NOT_JSON = (msgspec.DecodeError, UnicodeError, RecursionError)


def rows_of(log: Log) -> Rows:
    """Return the relevant rows of a long table, or raise an UnfitError."""
    blocks = log.blocks()
    first_block, second_block = next(blocks, b""), next(blocks, None)
    block = log.block or Block("")
    rows, is_lone = None, False
    if second_block is not None and log.metrics != "all":
        all_blocks = chain([first_block, second_block], blocks)
        head = first_block.removeprefix(b"\xef\xbb\xbf").lstrip()
        if head.startswith(b"{"):
            rows = _read_json_lines(all_blocks, log, head, block)
        elif not head.startswith((b"PAR1", b"[")):
            rows = _read_cells(all_blocks, block)
    if rows is not None:  # if each run is a single row, all of its cells are wanted
        keys = rows.frame.select(texts(rows.frame[name]).alias(name) for name in block.run)
        is_lone = not keys.is_duplicated().all() if keys.width else rows.frame.height < 2
    if rows is None or is_lone:
        rows = own_cells.rows_of(log.read())
    return own_cells.unpivoted(with_metrics_apart(rows, block), block)


def _chosen_columns(block: Block, names: Iterable[str]) -> ChosenColumns | None:
    """Return the columns of a block, None if it does not fit."""
    try:
        return choose(block, list(names))
    except UnfitError:
        return None


def _is_row_independent(block: Block, chosen: ChosenColumns, names: Sequence[str]) -> bool:
    """Return whether each row can be read without those before."""
    clock = chosen.clock
    return not (
        block.new_run
        or block.resume
        or block.carry
        or block.failed
        or any(count.summed for count in chosen.counts.values())
        or any(clock_.format is not None for clock_ in chosen.other_clocks)
        or (clock and (clock.alone or clock.per or clock.summed or not tells_day(clock.format)))
        or own_cells.runs_in_columns(names, block)
        or value_columns(names, block)
    )


def _wanted_columns(block: Block, chosen: ChosenColumns, names: Iterable[str]) -> dict[str, bool]:
    """Return the columns of a block, and whether each must hold numbers."""
    numeric = set(chosen.numbers.values())
    of_text = {*names_in(block, names), *filter(names_parts, names)}
    if (clock := chosen.clock) is not None:
        (numeric if clock.format is None else of_text).add(clock.column)
    return {name: name not in of_text for name in names if name in numeric | of_text}


class _RelevantRows:
    """Finds the rows that count, block by block, and raises TooLargeError for too many of them."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.rows = self.size = 0

    def indices(self, cells: pl.DataFrame, chosen: ChosenColumns) -> pl.Series:
        """Return the indices of the relevant rows of a block."""
        counts = pl.repeat(value=False, n=cells.height, eager=True)
        values_by_name = {LINE: pl.int_range(cells.height, dtype=pl.UInt32(), eager=True)}
        for name, column in chosen.numbers.items():
            values = numbers(cells[column])
            if name in COUNTS:
                values_by_name[name] = values
                text_or_value = texts(cells[column]) if cells[column].dtype == pl.String else values
                counts |= text_or_value.is_not_null() & ~values.is_finite().fill_null(value=False)
            else:
                counts |= (texts(cells[column]) if values.has_nulls() else values).is_not_null()
        names = names_in(self.block, cells.columns)
        values_by_name |= {f"name {name}": texts(cells[name]) for name in names}
        row = pl.col(LINE)
        latest = []
        if chosen.clock is not None:
            values_by_name["seconds"] = times(cells[chosen.clock.column], chosen.clock)
            latest = [row.get(pl.col("seconds").arg_max(), null_on_oob=True)]
        of_known = [row.filter(pl.col(name).is_not_null()) for name in values_by_name]
        edges = [edge for rows in of_known for edge in (rows.first(), rows.last())]
        at_edges = pl.concat_list([*edges, *latest]).alias(LINE)
        runs = [f"name {name}" for name in self.block.run]
        frame = pl.DataFrame(values_by_name)
        frame = frame.group_by(runs).agg(at_edges) if runs else frame.select(at_edges)
        at_edge = frame.select(pl.col(LINE).explode().drop_nulls())[LINE]
        positions = pl.concat([counts.arg_true(), at_edge]).unique().sort()
        self.rows += len(positions)
        self.size += int(cells[positions].estimated_size())
        streams.expect_evaluations(self.rows * max(1, len(chosen.metrics)))
        streams.expect_size(self.size, streams.whole_file_limit(), "the rows that count are ")
        return positions


# ------------------------------------------------------------------------------------ cells


def _read_cells(blocks: Iterator[bytes], block: Block) -> Rows | None:
    """Return the relevant rows of a table with a header; None if it must be read whole."""
    first_block = next(blocks)
    lines = first_block.decode("utf-8-sig", "replace").replace("\r\n", "\n").split("\n")
    at, header, delimiter = own_cells.header(lines)
    start = 0
    for _ in range(at + 1):
        start = first_block.find(b"\n", start) + 1
    problems: list[Problem] = []
    names = own_cells.unique(header, problems)
    chosen = _chosen_columns(block, names)
    if not start or chosen is None or not _is_row_independent(block, chosen, names):
        return None
    cells = _Cells(header, names, delimiter, _wanted_columns(block, chosen, names))
    relevant = _RelevantRows(block)
    parts: list[pl.DataFrame] = []
    line, data = at + 1, b""
    for data in chain([first_block[start:]], blocks):
        rows = cells.rows_in(data, line)
        if rows is None:
            return None
        line += data.count(b"\n")
        parts.append(rows[relevant.indices(rows, chosen)])
    end_line = line if data.endswith(b"\n") else line + 1
    problems += own_cells.row_problems(pl.concat(cells.unfit), len(names), end_line, cells.again)
    # A column with text in any part is one of text in all.
    text_columns = {
        name for part in parts for name, kind in part.schema.items() if kind == pl.String()
    }
    frame = pl.concat(part.cast(dict.fromkeys(text_columns, pl.String())) for part in parts)
    return Rows(frame.drop(LINE), frame[LINE], problems=problems, columns=tuple(names))


class _Cells:
    """The columns that are wanted of blocks of lines."""

    def __init__(
        self, header: Sequence[str], names: Sequence[str], delimiter: str, wanted: dict[str, bool]
    ) -> None:
        self.header = header
        self.delimiter = delimiter
        self.unfit: list[pl.DataFrame] = [own_cells.NONE_UNFIT]
        self.again: list[int] = []
        self.kinds = {name: pl.Float64() if wanted.get(name) else pl.String() for name in names}
        self.wanted = list(wanted)
        comma = delimiter.encode()
        self._others = bytes(byte for byte in range(256) if byte not in comma + b'\n"')
        self._shape = comma * (len(names) - 1) + b"\n"
        self._again = comma.join(name.encode() for name in header)

    def rows_in(self, data: bytes, n_before: int) -> pl.DataFrame | None:
        """Return the rows of a block; None if quotes contain separators."""
        unquoted = own_cells.without_quotes(data, self.delimiter) if b'"' in data else data
        if unquoted is None:
            return None
        rows = self._uniform_rows(unquoted, n_before)
        if rows is not None:
            return rows
        # Some have another width, or text for numbers.
        lines = unquoted.decode("utf-8", "replace").replace("\r\n", "\n").split("\n")
        cells = own_cells.plain(lines, 0, self.delimiter)
        cells = cells.with_columns(pl.col("line").cast(pl.Int64()) + n_before)
        rows, unfit, repeated_headers = own_cells.in_columns(self.header, list(self.kinds), cells)
        self.unfit.append(unfit)
        self.again += repeated_headers
        return rows.select(LINE, *self.wanted)

    def _uniform_rows(self, data: bytes, n_before: int) -> pl.DataFrame | None:
        """Return the rows where all have the width of the header, and numbers are only numbers."""
        lines = data if data.endswith(b"\n") else data + b"\n"
        shape = lines.translate(None, self._others)
        count = len(shape) // len(self._shape)
        if shape != self._shape * count or self._again in data:
            return None
        scan = pl.scan_csv(
            lines,
            has_header=False,
            separator=self.delimiter,
            quote_char=None,
            schema=self.kinds,
            null_values=[word for word in EMPTY if word],
        )
        try:
            rows = scan.select(self.wanted).collect()
        except pl.exceptions.PolarsError:
            return None
        if rows.height != count:
            return None
        return rows.select(pl.int_range(n_before + 1, n_before + count + 1).alias(LINE), pl.all())


# ------------------------------------------------------------------------------------ JSON lines


def _read_json_lines(blocks: Iterator[bytes], log: Log, head: bytes, block: Block) -> Rows | None:
    """Return the relevant rows of JSON lines; None if they must be read whole.

    Which columns are meant is known when all lines were seen: where a later one brings another, all
    are read again.
    """
    first_line = head.partition(b"\n")[0].decode("utf-8", "replace")
    if not isinstance(json_value(first_line), dict):
        return None
    names: dict[str, None] = {}
    for again in (False, True):
        objects = _Objects(block, names)
        for data in log.blocks() if again else blocks:
            start = 0
            while start < len(data):
                end = data.find(b"\n", start + _PIECE) + 1 or len(data)
                objects.read(data[start:end])
                start = end
        if not objects.is_stale:
            return objects.rows()
    return None


class _Objects:
    """The rows that count of objects in lines; stale, if a late column changes which these are."""

    def __init__(self, block: Block, names: dict[str, None]) -> None:
        self.is_stale = False
        self._block = block
        self._names = names
        self._chosen: ChosenColumns | None = None
        self._choose()
        self._relevant = _RelevantRows(block)
        self._line = 0
        self._cells: list[dict[str, Any]] = []
        self._lines: list[int] = []
        self._bad: list[int] = []
        self._texts: set[str] = set()

    def _choose(self) -> None:
        """Choose the columns, and what decodes lines of no other keys with numbers in theirs."""
        self._chosen = _chosen_columns(self._block, self._names)
        if self._chosen is None:
            return
        self._wanted = _wanted_columns(self._block, self._chosen, self._names)
        self._fields = {name: f"c{number}" for number, name in enumerate(self._names)}
        kinds: dict[bool | None, Any] = {None: Any, True: float | None, False: str | None}
        record = msgspec.defstruct(
            "Record",
            [(field, kinds[self._wanted.get(name)], None) for name, field in self._fields.items()],
            rename={field: name for name, field in self._fields.items()},
            forbid_unknown_fields=True,
            gc=False,
        )
        self._decode = msgspec.json.Decoder(record).decode_lines

    def read(self, data: bytes) -> None:
        """Take the next lines."""
        n_before = self._line
        self._line += data.count(b"\n")
        count = data.count(b"\n") + (not data.endswith(b"\n"))
        numbers = range(n_before + 1, n_before + count + 1)
        if (cells := self._uniform_cells(data, count)) is not None:
            self._hold(cells, numbers)
            return
        objects, lines, bad_lines = _parse_objects(data, numbers)
        self._bad += bad_lines
        shapes = dict.fromkeys(map(tuple, objects))
        names = dict.fromkeys(name for shape in shapes for name in shape)
        if names.keys() - self._names.keys() or self._chosen is None:
            self._names.update(names)
            chosen = self._chosen
            self._choose()
            self.is_stale |= n_before > 0 and chosen != self._chosen
        if self._chosen is not None and not self.is_stale and objects:
            cells = pl.DataFrame(
                own_cells.series(name, [row.get(name) for row in objects]) for name in self._wanted
            )
            self._hold(cells, lines, objects)

    def _uniform_cells(self, data: bytes, count: int) -> pl.DataFrame | None:
        """Return cells of lines of which each is an object, flat and of known keys, else None."""
        if self._chosen is None or b"[" in data or data.count(b"{") != count:
            return None
        try:
            objects = self._decode(data)
        except _NOT_JSON:
            return None
        if len(objects) != count:
            return None
        columns = []
        for name, is_number in self._wanted.items():
            cells = list(map(attrgetter(self._fields[name]), objects))
            columns.append(
                pl.Series(name, cells, pl.Float64()) if is_number else own_cells.series(name, cells)
            )
        return pl.DataFrame(columns)

    def _hold(
        self, cells: pl.DataFrame, lines: Sequence[int], objects: Sequence[dict[str, Any]] = ()
    ) -> None:
        """Hold the rows of some cells that count, as the objects tell them, if there are any."""
        if self._chosen is None:
            return
        self._texts.update(name for name, kind in cells.schema.items() if kind == pl.String())
        positions = self._relevant.indices(cells, self._chosen).to_list()
        self._lines += [lines[position] for position in positions]
        self._cells += (
            [{name: objects[at].get(name) for name in cells.columns} for at in positions]
            if objects
            else cells[positions].to_dicts()
        )

    def rows(self) -> Rows | None:
        """Return the rows, None where they are to be read whole."""
        columns = tuple(self._names)
        if self._chosen is None or not _is_row_independent(self._block, self._chosen, columns):
            return None
        names = dict.fromkeys(name for row in self._cells for name in row)
        cells = [
            own_cells.series(name, [row.get(name) for row in self._cells], name in self._texts)
            for name in names
        ]
        lines = pl.Series("line", self._lines, pl.Int64())
        problems = own_cells.bad_lines(self._bad)
        return Rows(pl.DataFrame(cells), lines, problems=problems, columns=columns)


def _parse_objects(
    data: bytes, lines: Sequence[int]
) -> tuple[list[dict[str, Any]], Sequence[int], list[int]]:
    """Return the objects of some lines, the line of each, and the lines without one."""
    try:
        objects = _decode_lines(data)
    except _NOT_JSON:
        objects = []
    bad_lines = list[int]()
    if len(objects) != len(lines) or {*map(type, objects)} != {dict}:
        text = data.decode("utf-8", "replace")
        objects, lines, bad_lines = own_cells.json_objects(text, lines[0] - 1)
    if b"[" in data or data.count(b"{") != len(objects):
        objects = [own_cells.flattened(row) for row in objects]
    return objects, lines, bad_lines
