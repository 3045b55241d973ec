"""How do rows for programs become a table for people? Every column stands beside its cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Generic, TypeVar

from msgspec import Struct

from ttastats.outcomes.axis import SECONDS, Axis
from ttastats.report.cells import Cell, Column, Line, Quantity, Reached, Table, Text, Unit
from ttastats.report.row import Lazy, Row, key_descriptions

#: The rows of which a column makes cells.
T = TypeVar("T", contravariant=True)


class Field(Struct, Generic[T], frozen=True):
    """A column, and the function that makes its cell of a row."""

    column: Column
    cell: Callable[[T], Cell]


def make_table(
    rows: Sequence[T],
    fields: Sequence[Field[T]],
    title: str,
    details: Sequence[tuple[str, ...]] = (),
    aside: Callable[[T], str] = lambda _: "",
) -> Table:
    """Return a table of rows with a column for each field, and detail lines below each row.

    `aside` gives the reason why a row without a value is only counted on a screen, or nothing.
    """

    def make_line(number: int) -> Line:
        cells = tuple(field.cell(rows[number]) for field in fields)
        return Line(cells, details[number] if details else (), aside=aside(rows[number]))

    return Table(tuple(field.column for field in fields), Lazy(make_line, len(rows)), title)


def key_fields(names: Sequence[str], *, heads: bool = True) -> list[Field[Any]]:
    """Return the fields of grouping keys; `heads` lets them be titles above common rows."""
    return [Field(Column(name, names=True, heads=heads), partial(key_cell, name)) for name in names]


def key_cell(name: str, row: Row) -> Text:
    """Return the cell of a grouping key; an unknown one is shown as such."""
    return Text("unknown" if row.get(name) is None else str(row.get(name)))


def number_field(
    title: str,
    name: str,
    unit: Unit = "count",
    *,
    interval: bool = False,
    std: str = "",
    rank: int = 0,
    drawn: bool = False,
) -> Field[Any]:
    """Return the field of a number with its interval or standard deviation."""

    def cell(row: Row) -> Quantity:
        low, high = (row.get(f"{name}_low"), row.get(f"{name}_high")) if interval else (None, None)
        spread = row.get(std) if std else None
        return Quantity(row.get(name), unit, low, high, spread, spread_is_std=bool(std))

    return Field(Column(title, "right", rank=rank, intervals=drawn), cell)


#: How numbers of a unit are shown; those of another, such as runs, are counts.
_UNITS: dict[str, Unit] = {
    "fraction": "fraction", "ratio": "ratio", "number": "number", "bytes": "bytes",
    "flop/second": "flop/second", "seconds": "seconds", "dollars": "dollars",
}  # fmt: skip


def number_fields(kind: type[Row], *names: str, rank: int = 0) -> list[Field[Any]]:
    """Return the fields of several numbers of a row, as the metadata of their keys describe."""

    def described(name: str) -> Field[Any]:
        key = key_descriptions(kind)[name]
        title, unit = key.title or name, _UNITS.get(key.unit, "count")
        return number_field(title, name, unit, interval=key.interval, std=key.std, rank=rank)

    return [described(name) for name in names]


def field_of_part(field: Field[Any], part: Callable[[Any], Row]) -> Field[Any]:
    """Return a field of a part of a row as a field of the row."""
    return Field(field.column, lambda row: field.cell(part(row)))


def text_field(title: str, text: Callable[[T], str], *, rank: int = 0) -> Field[T]:
    """Return a field of text that is aligned like numbers."""
    return Field(Column(title, "right", rank=rank), lambda row: Text(text(row)))


def expected_time_field(rows: Sequence[Row], axis: Axis, *, rank: int = 0) -> list[Field[Any]]:
    """Return the field of the expected time to a success, if any run failed."""
    if all(row.get("reached") == row.get("n") or _is_aimless(row) for row in rows):
        return []
    return [number_field(axis.ert, "ert_seconds", axis.unit, rank=rank)]


def log_field() -> Field[Any]:
    """Return the field of the name of a run's log."""
    column = Column("log", rank=1, names=True)
    return Field(column, lambda row: Text(row.source.split("/")[-1]))


def known_keys(rows: Sequence[Row], names: Sequence[str]) -> list[str]:
    """Return the keys with a value in any row."""
    return [name for name in names if any(row.get(name) is not None for row in rows)]


def _is_aimless(row: Row) -> bool:
    """Return whether the runs of a row have no target: none was reached or missed."""
    return "no_target" in (getattr(row, "flags", None) or ())


def reached_field(rank: int = 0, axis: Axis = SECONDS) -> Field[Any]:
    """Return the field of how many runs reached the target."""

    def cell(row: Row) -> Cell:
        return Text("–") if _is_aimless(row) else Reached(row.get("reached"), row.get("n"))

    return Field(Column(axis.reached, "right", rank=rank), cell)
