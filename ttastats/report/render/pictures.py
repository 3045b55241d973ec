"""Intervals of a column on one axis beside it, and runs as dots on one line of text."""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from ttastats.report.cells import Column, Quantity, Table, Text
from ttastats.report.render import harmless

_WIDTH = 15
#: Times further apart than this share a logarithmic axis.
_FAR = 3.0
#: An axis of ratios shows at least these changes.
_NEAR = math.log(1.02)
#: A picture gives way before what it repeats.
_RANK = 4


def with_pictures(table: Table) -> Table:
    """Return a table with the intervals of a column drawn in another, if there are several."""
    for position, column in enumerate(table.columns):
        if column.intervals:
            cells = [row.cells[position] for row in table.rows]
            quantities = [cell if isinstance(cell, Quantity) else Quantity(None) for cell in cells]
            if sum(quantity.low is not None for quantity in quantities) < 2:
                continue
            axis, after = _axis_of(quantities), position + 1
            rows = (
                replace(row, cells=(*row.cells[:after], Text(picture), *row.cells[after:]))
                for row, picture in zip(
                    table.rows, map(axis.draw_interval, quantities), strict=True
                )
            )
            drawn = Column(axis.title, rank=_RANK, drawn=True)
            columns = (*table.columns[:after], drawn, *table.columns[after:])
            return replace(table, columns=columns, rows=tuple(rows))
    return table


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


def _axis_of(quantities: Sequence[Quantity]) -> _Axis:
    """Return the axis that fits all intervals; one of ratios is logarithmic and shows 1.

    That ends at twice the logarithm of the farthest ratio, so that a wide interval of one row does
    not press the others together.
    """
    ends = [
        end
        for quantity in quantities
        for end in (quantity.low, quantity.value, quantity.high)
        if end is not None and end > 0
    ]
    if quantities[0].unit != "ratio":
        low, high = min(ends, default=1.0), max(ends, default=1.0)
        left, right = (harmless.cell_text(Quantity(end, quantities[0].unit)) for end in (low, high))
        width = max(_WIDTH, len(left) + len(right) + 2)
        return _Axis(f"{left}{right.rjust(width - len(left))}", low, high, high > _FAR * low, width)
    values = [math.log(quantity.value) for quantity in quantities if quantity.value]
    reach = max(2 * max(map(abs, values), default=0.0), _NEAR)
    logs = [0.0, *(max(-reach, min(reach, math.log(end))) for end in ends)]
    low, high = math.exp(min(logs)), math.exp(max(logs))
    left, right = f"{low:.2g}", f"{high:.2g}"
    axis = _Axis("", low, high, logarithmic=True, mark=1.0)
    title = [" "] * _WIDTH
    title[: len(left)], title[-len(right) :] = left, right
    if title[max(0, axis.column_of(1) - 1) : axis.column_of(1) + 2] == [" "] * 3:
        title[axis.column_of(1)] = "1"
    return replace(axis, title="".join(title))


WIDTH = 40
_DOTS = " ·∘•●"  # none, one, two, three, more runs in one place
_FAILED = "×"


def draw_strip(
    times: Sequence[float], failed: Sequence[float], low: float, high: float, width: int = WIDTH
) -> str:
    """Return runs as marks on a line of `width` characters from `low` to `high` seconds.

    A failed run stands where it ended, as a cross, which hides what else is there.
    """
    counts = [0] * width
    for time in times:
        counts[strip_position(time, low, high, width)] += 1
    marks = [_DOTS[min(count, len(_DOTS) - 1)] for count in counts]
    for time in failed:
        marks[strip_position(time, low, high, width)] = _FAILED
    return "".join(marks)


def strip_position(time: float, low: float, high: float, width: int) -> int:
    """Return the character position of a number on a line from `low` to `high`."""
    if high <= low:
        return 0
    return min(width - 1, max(0, round((time - low) / (high - low) * (width - 1))))
