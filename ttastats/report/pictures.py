"""Intervals of a column on one axis beside it, and runs as dots on one line of text."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from ttastats.report import harmless
from ttastats.report.cells import Column, Quantity, Table, Text

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
        if not column.intervals:
            continue
        cells = [row.cells[position] for row in table.rows]
        quantities = [cell if isinstance(cell, Quantity) else Quantity(None) for cell in cells]
        if sum(quantity.low is not None for quantity in quantities) < 2:
            continue
        (title, position_of), after = _axis_of(quantities), position + 1
        marks = [" "] * len(title)
        if quantities[0].unit == "ratio":
            marks[position_of(1)] = "│"
        pictures = [Text(_draw_interval(quantity, marks, position_of)) for quantity in quantities]
        rows = (
            replace(row, cells=(*row.cells[:after], picture, *row.cells[after:]))
            for row, picture in zip(table.rows, pictures, strict=True)
        )
        picture_column = Column(title, rank=_RANK, drawn=True)
        columns = (*table.columns[:after], picture_column, *table.columns[after:])
        return replace(table, columns=columns, rows=tuple(rows))
    return table


def _draw_interval(
    quantity: Quantity, marks: Sequence[str], position_of: Callable[[float], int]
) -> str:
    """Return the marks of an axis with an interval and a dot at its value, or only the dot."""
    value = quantity.value
    if value is None or value <= 0:
        return ""
    left, right = (
        position_of(value if end is None else end) for end in (quantity.low, quantity.high)
    )
    line = ["─" if mark == " " else "┼" for mark in marks[left : right + 1]]
    letters = [*marks[:left], *line, *marks[right + 1 :]]
    letters[position_of(value)] = "●"
    return "".join(letters).rstrip()


def _axis_of(quantities: Sequence[Quantity]) -> tuple[str, Callable[[float], int]]:
    """Return the title of an axis that fits all intervals, and the position of a value on it.

    The title is as wide as the axis and shows its ends. An axis of ratios is logarithmic and shows
    1. It ends at twice the logarithm of the farthest ratio, so that a wide interval of one row does
    not press the others together. A value beyond the ends stands at the end.
    """
    ends = [
        end
        for quantity in quantities
        for end in (quantity.low, quantity.value, quantity.high)
        if end is not None and end > 0
    ]
    width, of_ratios = _WIDTH, quantities[0].unit == "ratio"
    low, high = min(ends, default=1.0), max(ends, default=1.0)
    if of_ratios:
        values = [math.log(quantity.value) for quantity in quantities if quantity.value]
        reach = math.exp(max(2 * max(map(abs, values), default=0.0), _NEAR))
        low, high = max(min(low, 1.0), 1 / reach), min(max(high, 1.0), reach)
        low_label, high_label = f"{low:.2g}", f"{high:.2g}"
    else:
        bare = replace(quantities[0], low=None, high=None, spread=None, mark="")
        low_label, high_label = (
            harmless.cell_text(replace(bare, value=end)) for end in (low, high)
        )
        width = max(width, len(low_label) + len(high_label) + 2)
    scaled = math.log if of_ratios or high > _FAR * low else float

    def position_of(value: float) -> int:
        inside = min(max(value, low), high)
        return strip_position(scaled(inside), scaled(low), scaled(high), width)

    title = low_label + high_label.rjust(width - len(low_label))
    if of_ratios and title[max(0, position_of(1) - 1) : position_of(1) + 2] == "   ":
        title = f"{title[: position_of(1)]}1{title[position_of(1) + 1 :]}"
    return title, position_of


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
