"""Runs as dots, or an interval, on one line of text."""

from __future__ import annotations

from collections.abc import Sequence

WIDTH = 40
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


def _place(time: float, low: float, high: float, width: int) -> int:
    if high <= low:
        return 0
    return min(width - 1, max(0, round((time - low) / (high - low) * (width - 1))))
