"""Runs as dots, or an interval, on one line of text."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ttastats.base import units

WIDTH = 40
#: Characters of an interval in a table.
_CELL = 18
#: Times further apart than this share a logarithmic axis.
_FAR = 3.0
_DOTS = " ·∘•●"  # none, one, two, three, more runs in one place
_FAILED = "×"


def strip(
    times: Sequence[float], failed: Sequence[float], low: float, high: float, width: int = WIDTH
) -> str:
    """Return a line of `width` characters from `low` to `high` seconds, a mark per place.

    A failed run stands where it ended, as a cross, which hides what else is there.
    """
    counts = [0] * width
    for time in times:
        counts[_place(time, low, high, width)] += 1
    marks = [_DOTS[min(count, len(_DOTS) - 1)] for count in counts]
    for time in failed:
        marks[_place(time, low, high, width)] = _FAILED
    return "".join(marks)


def interval(
    low: float, mean: float, high: float, start: float, end: float, width: int = WIDTH
) -> str:
    """Return a line of `width` characters from `start` to `end` with a mean and its limits."""
    left, middle, right = (_place(place, start, end, width) for place in (low, mean, high))
    line = f"{' ' * left}{'─' * (right - left + 1)}"
    return f"{line[:middle]}●{line[middle + 1 :]}"


#: The lower limit of an interval, its mean, and the upper limit, as far as they are known.
Limits = tuple[float | None, float | None, float | None]


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis for the intervals of some rows, whose ends are its title."""

    title: str
    low: float
    high: float

    def drawn(self, limits: Limits) -> str:
        """Return an interval as a line, without limits the mean alone."""
        mean = limits[1]
        if mean is None or mean <= 0:
            return ""
        place = math.log if self.high > _FAR * self.low else float
        low, middle, high = (place(mean if end is None else max(end, self.low)) for end in limits)
        return interval(low, middle, high, place(self.low), place(self.high), _CELL)


def axis(rows: Iterable[Limits], unit: units.Amount) -> Axis:
    """Return the axis on which all of some intervals have room."""
    ends = [end for limits in rows for end in limits if end is not None and end > 0] or [1.0]
    left, right = (units.amount(end, unit) for end in (min(ends), max(ends)))
    return Axis(f"{left}{right.rjust(_CELL - len(left))}", min(ends), max(ends))


def _place(time: float, low: float, high: float, width: int) -> int:
    if high <= low:
        return 0
    return min(width - 1, max(0, round((time - low) / (high - low) * (width - 1))))
