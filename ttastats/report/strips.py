"""Runs as dots on one line of text."""

from __future__ import annotations

from collections.abc import Sequence

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
