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

from ttastats.base import limits
from ttastats.base.records import Problem
from ttastats.formats.dialect import Log
from ttastats.formats.own_logs.block import Block
from ttastats_parsers import own_cells
from ttastats_parsers.own_cells import LINE
from ttastats_parsers.own_choice import ChosenColumns, UnfitError, choose
from ttastats_parsers.own_numbers import EMPTY, numbers, tells_day, texts, times
from ttastats_parsers.own_rows import COUNTS, Rows
from ttastats_parsers.own_runs import names_in
from ttastats_parsers.payloads import json_value

_QUOTED = b'"'
#: Bytes of JSON that are decoded at once: they become twenty times as many.
_PIECE = 1 << 22
_decode_lines = msgspec.json.Decoder().decode_lines


def rows_of(log: Log) -> Rows:
    """Return the relevant rows of a long table, or raise an UnfitError."""
    blocks = log.blocks()
    first, second = next(blocks, b""), next(blocks, None)
    block = log.block or Block("")
    rows = None
    if second is not None and log.metrics != "all":
        rest = chain([first, second], blocks)
        head = first.removeprefix(b"\xef\xbb\xbf").lstrip()
        if head.startswith(b"{"):
            rows = _read_json_lines(rest, log, head, block)
        elif not head.startswith((b"PAR1", b"[")):
            rows = _read_cells(rest, block)
    if rows is None or _has_lone_row(rows, block):
        rows = own_cells.rows_of(log.read())
    return rows if log.block is None else own_cells.unpivoted(rows, block)


def _has_lone_row(rows: Rows, block: Block) -> bool:
    """Return whether each run is a single row."""
    keys = rows.frame.select(texts(rows.frame[name]).alias(name) for name in block.run)
    return rows.frame.height < 2 if not keys.width else not keys.is_duplicated().all()


def _is_row_independent(block: Block, chosen: ChosenColumns) -> bool:
    """Return whether each row can be read without those before."""
    clock = chosen.clock
    return not (
        block.new_run
        or block.resume
        or block.carry
        or block.failed
        or any(count.summed for count in chosen.counts.values())
        or any(other.format is not None for other in chosen.other_clocks)
        or (
            clock is not None
            and (clock.alone or clock.per or clock.summed or not tells_day(clock.format))
        )
    )


def _wanted_columns(block: Block, chosen: ChosenColumns, names: Iterable[str]) -> dict[str, bool]:
    """Return the columns that a block means, and whether each must hold numbers."""
    numeric = set(chosen.numbers.values())
    written = set(names_in(block, names))
    if (clock := chosen.clock) is not None:
        (numeric if clock.format is None else written).add(clock.column)
    return {name: name not in written for name in names if name in numeric | written}


def _relevant_rows(cells: pl.DataFrame, block: Block, chosen: ChosenColumns) -> pl.Series:
    is_telling = pl.repeat(value=False, n=cells.height, eager=True)
    telling: dict[str, pl.Series] = {}
    for name, column in chosen.numbers.items():
        values = numbers(cells[column])
        if name in COUNTS:
            telling[name] = values
            written = texts(cells[column]) if cells[column].dtype == pl.String else values
            is_telling |= written.is_not_null() & ~values.is_finite().fill_null(value=False)
        else:
            is_telling |= (texts(cells[column]) if values.has_nulls() else values).is_not_null()
    names = names_in(block, cells.columns)
    telling |= {f"name {name}": texts(cells[name]) for name in names}
    telling["seconds"] = (
        pl.Series([None], dtype=pl.Float64()).new_from_index(0, cells.height)
        if chosen.clock is None
        else times(cells[chosen.clock.column], chosen.clock)
    )
    frame = pl.DataFrame({name: column.rename(name) for name, column in telling.items()})
    frame = frame.with_row_index(LINE)
    row = pl.col(LINE)
    edges = [row.first(), row.last(), row.get(pl.col("seconds").arg_max(), null_on_oob=True)]
    known = [row.filter(pl.col(name).is_not_null()) for name in telling]
    edges += [place for each in known for place in (each.first(), each.last())]
    runs = [f"name {name}" for name in block.run]
    places = pl.concat_list(edges).alias(LINE)
    found = frame.group_by(runs).agg(places) if runs else frame.select(places)
    found = found.select(pl.col(LINE).explode().drop_nulls().unique())
    return pl.concat([is_telling.arg_true(), found[LINE]]).unique().sort()


class _Held:
    """The rows that count, block by block: too many are no table to be read like this."""

    def __init__(self) -> None:
        self.rows = self.size = 0

    def places(self, cells: pl.DataFrame, block: Block, chosen: ChosenColumns) -> pl.Series:
        places = _relevant_rows(cells, block, chosen)
        self.rows += len(places)
        self.size += int(cells[places].estimated_size())
        limits.expect_evaluations(self.rows * max(1, len(chosen.metrics)))
        limits.expect_size(self.size, limits.whole_file_limit(), "the rows that count are ")
        return places


# ------------------------------------------------------------------------------------ cells


def _read_cells(blocks: Iterator[bytes], block: Block) -> Rows | None:
    """Return the relevant rows of a table with a header; None if it must be read whole."""
    first = next(blocks)
    lines = first.decode("utf-8-sig", "replace").replace("\r\n", "\n").split("\n")
    at, header, delimiter = own_cells.header(lines)
    start = 0
    for _ in range(at + 1):
        start = first.find(b"\n", start) + 1
    if not start:
        return None
    problems: list[Problem] = []
    names = own_cells.unique(header, problems)
    chosen = _chosen_columns(block, names)
    if (
        chosen is None
        or not _is_row_independent(block, chosen)
        or own_cells.runs_in_columns(names, block)
    ):
        return None
    read = _Cells(header, names, delimiter, block, chosen)
    line, held = at + 1, _Held()
    parts: list[pl.DataFrame] = []
    data = b""
    for data in chain([first[start:]], blocks):
        rows = read.rows_in(data, line)
        if rows is None:
            return None
        line += data.count(b"\n")
        parts.append(rows[held.places(rows, block, chosen)])
    lines_in_all = line if data.endswith(b"\n") else line + 1
    problems += own_cells.wrong_width(pl.concat(read.unfit), len(names), lines_in_all)
    problems += own_cells.repeated_header(read.again)
    # A column with text in any part is one of text in all.
    written = {name for part in parts for name, kind in part.schema.items() if kind == pl.String()}
    frame = pl.concat(part.cast(dict.fromkeys(written, pl.String())) for part in parts)
    return Rows(
        frame.drop(LINE), frame[LINE].rename("line"), problems=problems, columns=tuple(names)
    )


class _Cells:
    """The columns that are wanted of blocks of lines."""

    def __init__(
        self,
        header: Sequence[str],
        names: Sequence[str],
        delimiter: str,
        block: Block,
        chosen: ChosenColumns,
    ) -> None:
        self.header = header
        self.delimiter = delimiter
        self.unfit: list[pl.DataFrame] = [own_cells.NONE_UNFIT]
        self.again: list[int] = []
        wanted = _wanted_columns(block, chosen, names)
        self.kinds = {name: pl.Float64() if wanted.get(name) else pl.String() for name in names}
        self.wanted = list(wanted)
        comma = delimiter.encode()
        self._others = bytes(byte for byte in range(256) if byte not in comma + b'\n"')
        self._shape = comma * (len(names) - 1) + b"\n"
        self._again = comma.join(name.encode() for name in header)

    def rows_in(self, data: bytes, before: int) -> pl.DataFrame | None:
        """Return the rows of a block; None if quotes contain separators."""
        if _QUOTED in data:
            bare = own_cells.without_quotes(data, self.delimiter)
            if bare is None:
                return None
            data = bare
        rows = self._at_once(data, before)
        return self._one_by_one(data, before) if rows is None else rows

    def _at_once(self, data: bytes, before: int) -> pl.DataFrame | None:
        """Return the rows where all have the width of the header, and numbers are only numbers."""
        whole = data if data.endswith(b"\n") else data + b"\n"
        shape = whole.translate(None, self._others)
        count = len(shape) // len(self._shape)
        if shape != self._shape * count or self._again in data:
            return None
        try:
            rows = (
                pl.scan_csv(
                    whole,
                    has_header=False,
                    separator=self.delimiter,
                    quote_char=None,
                    schema=self.kinds,
                    null_values=[word for word in EMPTY if word],
                )
                .select(self.wanted)
                .collect()
            )
        except pl.exceptions.PolarsError:
            return None
        if rows.height != count:
            return None
        return rows.select(pl.int_range(before + 1, before + count + 1).alias(LINE), pl.all())

    def _one_by_one(self, data: bytes, before: int) -> pl.DataFrame:
        """Return the rows of a block of which some have another width or text for numbers."""
        lines = data.decode("utf-8", "replace").replace("\r\n", "\n").split("\n")
        cells = own_cells.plain(lines, 0, self.delimiter)
        cells = cells.with_columns(pl.col("line").cast(pl.Int64()) + before)
        rows, unfit, again = own_cells.in_columns(self.header, list(self.kinds), cells)
        self.unfit.append(unfit)
        self.again += again
        return rows.select(LINE, *self.wanted)


# ------------------------------------------------------------------------------------ JSON lines


def _read_json_lines(blocks: Iterator[bytes], log: Log, head: bytes, block: Block) -> Rows | None:
    """Return the relevant rows of JSON lines; None if they must be read whole.

    Which columns are meant is known when all lines were seen: where a later one brings another, all
    are read again.
    """
    first = head.partition(b"\n")[0].decode("utf-8", "replace")
    if not isinstance(json_value(first), dict):
        return None
    names: dict[str, None] = {}
    for again in (False, True):
        objects = _Objects(block, names)
        for data in _smaller_blocks(log.blocks() if again else blocks):
            objects.read(data)
        if not objects.is_stale:
            return objects.rows()
    return None


def _smaller_blocks(blocks: Iterator[bytes]) -> Iterator[bytes]:
    for block in blocks:
        start = 0
        while start < len(block):
            end = block.find(b"\n", start + _PIECE) + 1 or len(block)
            yield block[start:end]
            start = end


class _Objects:
    """The rows that count of objects in lines; stale, if a late column changes which these are."""

    def __init__(self, block: Block, names: dict[str, None]) -> None:
        self.is_stale = False
        self._block = block
        self._names = names
        self._chosen = _chosen_columns(block, names)
        self._wanted: dict[str, bool] = {}
        self._record = None if self._chosen is None else self._record_of(self._chosen)
        self._held = _Held()
        self._line = 0
        self._cells: list[dict[str, Any]] = []
        self._lines: list[int] = []
        self._bad: list[int] = []
        self._texts: set[str] = set()

    def read(self, data: bytes) -> None:
        before = self._line
        self._line += data.count(b"\n")
        if self._record is not None and (cells := self._at_once(data, self._record)) is not None:
            self._hold(cells, range(before + 1, before + cells.height + 1))
            return
        objects, lines, bad = _parse_objects(data, before)
        self._bad += bad
        shapes = dict.fromkeys(map(tuple, objects))
        names = dict.fromkeys(name for shape in shapes for name in shape)
        if names.keys() - self._names.keys() or self._record is None:
            self._names.update(names)
            chosen = _chosen_columns(self._block, self._names)
            self.is_stale |= before > 0 and chosen != self._chosen
            self._chosen = chosen
            self._record = None if chosen is None else self._record_of(chosen)
        if self._chosen is not None and not self.is_stale and objects:
            cells = pl.DataFrame(
                [
                    own_cells.series(name, [each.get(name) for each in objects])
                    for name in self._wanted
                ]
            )
            self._hold(cells, lines, objects)

    def _record_of(self, chosen: ChosenColumns) -> msgspec.json.Decoder[Any]:
        """Return what decodes lines that have no other keys, with numbers where these belong."""
        self._wanted = wanted = _wanted_columns(self._block, chosen, self._names)
        kinds: dict[str, Any] = {
            name: Any if name not in wanted else float | None if wanted[name] else str | None
            for name in self._names
        }
        self._fields = {name: f"c{number}" for number, name in enumerate(kinds)}
        record = msgspec.defstruct(
            "Record",
            [(field, kinds[name], None) for name, field in self._fields.items()],
            rename={field: name for name, field in self._fields.items()},
            forbid_unknown_fields=True,
            gc=False,
        )
        return msgspec.json.Decoder(record)

    def _at_once(self, data: bytes, record: msgspec.json.Decoder[Any]) -> pl.DataFrame | None:
        """Return cells of lines of which each is an object, flat and of known keys, else None."""
        count = data.count(b"\n") + (not data.endswith(b"\n"))
        if b"[" in data or data.count(b"{") != count:
            return None
        try:
            objects = record.decode_lines(data)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return None
        if len(objects) != count:
            return None
        return pl.DataFrame(
            [
                pl.Series(name, cells, pl.Float64()) if is_number else own_cells.series(name, cells)
                for name, is_number in self._wanted.items()
                for cells in [list(map(attrgetter(self._fields[name]), objects))]
            ]
        )

    def _hold(
        self,
        cells: pl.DataFrame,
        lines: Sequence[int],
        objects: Sequence[dict[str, Any]] = (),
    ) -> None:
        """Hold the rows of some cells that count, as the objects tell them, if there are any."""
        if self._chosen is None:
            return
        self._texts.update(name for name, kind in cells.schema.items() if kind == pl.String())
        places = self._held.places(cells, self._block, self._chosen)
        self._lines += [lines[place] for place in places.to_list()]
        self._cells += (
            [{name: objects[at].get(name) for name in cells.columns} for at in places.to_list()]
            if objects
            else cells[places].to_dicts()
        )

    def rows(self) -> Rows | None:
        """Return the rows, None where they are to be read whole."""
        columns = list(self._names)
        chosen = self._chosen
        if chosen is None or not _is_row_independent(self._block, chosen):
            return None
        if own_cells.runs_in_columns(columns, self._block):
            return None
        names = dict.fromkeys(name for each in self._cells for name in each)
        cells = [
            own_cells.series(
                name, [each.get(name) for each in self._cells], as_text=name in self._texts
            )
            for name in names
        ]
        lines = pl.Series("line", self._lines, pl.Int64())
        problems = own_cells.bad_lines(self._bad)
        return Rows(pl.DataFrame(cells), lines, problems=problems, columns=tuple(columns))


def _chosen_columns(block: Block, names: Iterable[str]) -> ChosenColumns | None:
    try:
        return choose(block, list(names))
    except UnfitError:
        return None


def _parse_objects(data: bytes, before: int) -> tuple[list[dict[str, Any]], list[int], list[int]]:
    """Return the objects of some lines, the line of each, and the lines without one."""
    count = data.count(b"\n") + (not data.endswith(b"\n"))
    try:
        objects = _decode_lines(data)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        objects = []
    lines, bad = list(range(before + 1, before + count + 1)), list[int]()
    if len(objects) != count or {*map(type, objects)} != {dict}:
        text = data.decode("utf-8", "replace")
        objects, lines, bad = own_cells.json_objects(text, before)
    if b"[" in data or data.count(b"{") != len(objects):
        objects = [own_cells.flattened(each) for each in objects]
    return objects, lines, bad
