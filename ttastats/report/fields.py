"""How do rows for programs become a table for people? Every column stands beside its cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

from ttastats.base.lazy import Lazy
from ttastats.outcomes.axis import Axis
from ttastats.report.cells import Cell, Column, Line, Quantity, Reached, Table, Text, Unit
from ttastats.report.row import Row, described

#: The rows of which a column makes cells.
T = TypeVar("T", contravariant=True)


@dataclass(frozen=True, slots=True)
class Field(Generic[T]):
    """A column, and what makes its cell of a row for programs."""

    column: Column
    cell: Callable[[T], Cell]


def table(
    rows: Sequence[T],
    fields: Sequence[Field[T]],
    title: str,
    details: Sequence[tuple[str, ...]] = (),
) -> Table:
    """Return the table of some rows, with lines of detail below each if there are any."""

    def line(place: int) -> Line:
        cells = tuple(field.cell(rows[place]) for field in fields)
        return Line(cells, details[place] if details else ())

    return Table(tuple(field.column for field in fields), Lazy(line, len(rows)), title)


def keys(names: Sequence[str], *, heads: bool = True) -> list[Field[Any]]:
    """Return the fields of some keys; `heads` lets them stand above the rows that share them."""
    return [Field(Column(name, names=True, heads=heads), partial(key, name)) for name in names]


def key(name: str, row: Row) -> Text:
    """Return the cell of a key; unknown is said."""
    return Text("unknown" if row.get(name) is None else str(row.get(name)))


def number(
    title: str,
    name: str,
    unit: Unit = "count",
    *,
    interval: bool = False,
    std: str = "",
    rank: int = 0,
    drawn: bool = False,
) -> Field[Any]:
    """Return the field of a number: with `name_low` and `name_high`, or a standard deviation."""

    def cell(row: Row) -> Quantity:
        low, high = (row.get(f"{name}_low"), row.get(f"{name}_high")) if interval else (None, None)
        spread = row.get(std) if std else None
        return Quantity(row.get(name), unit, low, high, spread, spread_is_std=bool(std))

    return Field(Column(title, "right", rank=rank, intervals=drawn), cell)


#: How numbers of a unit are shown; those of another, such as runs, are counts.
_SHOWN: dict[str, Unit] = {
    "fraction": "fraction", "ratio": "ratio", "number": "number", "bytes": "bytes",
    "flop/second": "flop/second", "seconds": "seconds", "dollars": "dollars",
}  # fmt: skip


def of(kind: type[Row], *names: str, rank: int = 0) -> list[Field[Any]]:
    """Return the fields of some numbers of a row, each as the metadata of its key describe it."""
    shown = []
    for name in names:
        about = described(kind)[name]
        title, unit = about.title or name, _SHOWN.get(about.unit, "count")
        shown.append(number(title, name, unit, interval=about.interval, std=about.std, rank=rank))
    return shown


def of_part(field: Field[Any], part: Callable[[Any], Row]) -> Field[Any]:
    """Return the field of a part of a row as one of the row."""
    return Field(field.column, lambda row: field.cell(part(row)))


def words(title: str, text: Callable[[T], str], *, rank: int = 0) -> Field[T]:
    """Return the field of words that are aligned like numbers."""
    return Field(Column(title, "right", rank=rank), lambda row: Text(text(row)))


def expected(rows: Sequence[Row], axis: Axis) -> list[Field[Any]]:
    """Return the field of the expected time to a success, where a run failed."""
    if all(row.get("reached") == row.get("n") for row in rows):
        return []
    return [number("ERT" if axis.is_time else axis.expected, "ert_seconds", axis.unit)]


def log() -> Field[Any]:
    """Return the field of the name of the log of a run."""
    column = Column("log", rank=1, names=True)
    return Field(column, lambda row: Text(row.source.split("/")[-1]))


def known(rows: Sequence[Row], names: Sequence[str]) -> list[str]:
    """Return those of some keys that any row knows."""
    return [name for name in names if any(row.get(name) is not None for row in rows)]


def reached(rank: int = 0) -> Field[Any]:
    """Return the field of how many runs reached the target."""
    return Field(
        Column("reached", "right", rank=rank), lambda r: Reached(r.get("reached"), r.get("n"))
    )
