"""In which unit are the times of a column written? One for all, or they cannot be compared."""

from __future__ import annotations

from typing import TypeGuard

from msgspec.structs import replace

from ttastats.base import units
from ttastats.report.cells import Cell, Line, Quantity, Table

#: Times further apart than this keep units of their own: one would write most of them as zeros.
_FAR = 1e5


def with_common_units(table: Table) -> Table:
    """Return a table whose times have one unit in a column, and in the same column of two sides."""
    times: dict[str, list[float]] = {}
    for position, column in enumerate(table.columns):
        cells = (row.cells[position] for row in table.rows)
        values = [cell.value for cell in cells if _is_time(cell) and cell.value]
        times.setdefault(_quantity_of(column.title), []).extend(values)
    common = {
        title: units.time_unit(values)
        for title, values in times.items()
        if values and max(values) < _FAR * min(values)
    }
    if not common:
        return table
    of_column = [common.get(_quantity_of(column.title), "") for column in table.columns]

    def in_common_units(row: Line) -> Line:
        cells = (
            replace(cell, of_time=unit) if unit and _is_time(cell) else cell
            for cell, unit in zip(row.cells, of_column, strict=True)
        )
        return replace(row, cells=tuple(cells))

    return replace(table, rows=tuple(map(in_common_units, table.rows)))


def _is_time(cell: Cell) -> TypeGuard[Quantity]:
    return isinstance(cell, Quantity) and cell.unit == "seconds"


def _quantity_of(title: str) -> str:
    """Return the title of a column without its side."""
    return title.removeprefix("A: ").removeprefix("B: ")
