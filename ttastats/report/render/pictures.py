"""Intervals of a column, drawn on one axis beside it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ttastats.report.cells import Column, Quantity, Table, Text
from ttastats.report.render import words
from ttastats.report.strips import strip_position

_WIDTH = 15
#: Times further apart than this share a logarithmic axis.
_FAR = 3.0
#: An axis of ratios shows at least these changes.
_NEAR = math.log(1.02)
#: A picture gives way before what it repeats.
_RANK = 4


def with_pictures(table: Table) -> Table:
    """Return a table with the intervals of a column drawn in another, if there are several.

    That of one row would fill its axis whatever its width.
    """
    for position, column in enumerate(table.columns):
        if column.intervals:
            cells = [row.cells[position] for row in table.rows]
            quantities = [cell if isinstance(cell, Quantity) else Quantity(None) for cell in cells]
            if sum(each.low is not None for each in quantities) > 1:
                return _with_drawn_column(table, position, quantities)
    return table


def _with_drawn_column(table: Table, position: int, quantities: Sequence[Quantity]) -> Table:
    ratios = quantities[0].unit == "ratio"
    axis = _log_axis(quantities) if ratios else _linear_axis(quantities)
    after, drawn = position + 1, Column(axis.title, rank=_RANK, drawn=True)
    pictures = (Text(axis.draw_interval(quantity)) for quantity in quantities)
    rows = (
        replace(row, cells=(*row.cells[:after], picture, *row.cells[after:]))
        for row, picture in zip(table.rows, pictures, strict=True)
    )
    columns = (*table.columns[:after], drawn, *table.columns[after:])
    return replace(table, columns=columns, rows=tuple(rows))


class _Axis(Struct, frozen=True):
    """An axis whose title shows its ends; 1 is marked on one of ratios."""

    title: str
    low: float
    high: float
    logarithmic: bool
    width: int = _WIDTH
    mark: float | None = None

    def column_of(self, value: float) -> int:
        """Return the character position of a value; beyond the ends, that of the end."""
        scaled = math.log if self.logarithmic else float
        inside = min(max(value, self.low), self.high)
        return strip_position(scaled(inside), scaled(self.low), scaled(self.high), self.width)

    def draw_interval(self, quantity: Quantity) -> str:
        """Return a line with a dot at the value, or only the dot without an interval."""
        if quantity.value is None or quantity.value <= 0:
            return ""
        ends = (quantity.low, quantity.high)
        left, right = (self.column_of(quantity.value if end is None else end) for end in ends)
        marks = [" "] * self.width
        marks[left : right + 1] = "─" * (right + 1 - left)
        if self.mark is not None:
            middle = self.column_of(self.mark)
            marks[middle] = "│" if marks[middle] == " " else "┼"
        marks[self.column_of(quantity.value)] = "●"
        return "".join(marks).rstrip()


def _interval_ends(quantities: Sequence[Quantity]) -> Iterator[float]:
    for each in quantities:
        yield from (end for end in (each.low, each.value, each.high) if end is not None and end > 0)


def _linear_axis(quantities: Sequence[Quantity]) -> _Axis:
    """Return the axis that fits all intervals."""
    ends = list(_interval_ends(quantities)) or [1.0]
    low, high = min(ends), max(ends)
    left, right = (words.cell_text(Quantity(end, quantities[0].unit)) for end in (low, high))
    width = max(_WIDTH, len(left) + len(right) + 2)
    return _Axis(f"{left}{right.rjust(width - len(left))}", low, high, high > _FAR * low, width)


def _log_axis(quantities: Sequence[Quantity]) -> _Axis:
    """Return the logarithmic axis that fits all intervals and 1.

    It ends at twice the logarithm of the farthest ratio, so that a wide interval of one row does
    not press the others together.
    """
    values = [math.log(each.value) for each in quantities if each.value]
    reach = max(2 * max(map(abs, values), default=0.0), _NEAR)
    ends = [max(-reach, min(reach, math.log(end))) for end in _interval_ends(quantities)]
    low, high = math.exp(min(0.0, *ends)), math.exp(max(0.0, *ends))
    left, right = f"{low:.2g}", f"{high:.2g}"
    axis = _Axis("", low, high, logarithmic=True, mark=1.0)
    title = [" "] * _WIDTH
    title[: len(left)], title[-len(right) :] = left, right
    if title[max(0, axis.column_of(1) - 1) : axis.column_of(1) + 2] == [" "] * 3:
        title[axis.column_of(1)] = "1"
    return replace(axis, title="".join(title))
