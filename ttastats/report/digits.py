"""How is a quality or a limit written? With the digits that its spread leaves, and its unit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

#: Digits of a quality whose spread is not known.
_USUAL = 5


@dataclass(frozen=True, slots=True)
class Digits:
    """The decimals of some numbers that belong together, and their unit with a space before it."""

    decimals: int
    unit: str = ""

    def of(self, value: float) -> str:
        """Return a number in its unit."""
        return self._bare(value) + self.unit

    def signed(self, value: float) -> str:
        """Return a difference with its sign, in its unit."""
        return f"{value:+.{self.decimals}f}{self.unit}"

    def _bare(self, value: float) -> str:
        return f"{value:.{self.decimals}f}"

    def mean(self, value: float | None, spread: float | None) -> str:
        """Give a mean with its standard deviation, as far as they are known."""
        if value is None:
            return "–"
        around = "" if spread is None else f" ±{self._bare(spread)}"
        return f"{self._bare(value)}{around}{self.unit}"

    def interval(self, low: float | None, high: float | None) -> str:
        """Give an interval, if there is one."""
        return (
            "–"
            if low is None or high is None
            else (f"[{self._bare(low)}, {self._bare(high)}]{self.unit}")
        )

    def gap(self, estimate: float | None, low: float | None, high: float | None) -> str:
        """Give a difference with its interval, as far as they are known."""
        if estimate is None:
            return "–"
        if low is None or high is None:
            return self.signed(estimate)
        bare = (f"{value:+.{self.decimals}f}" for value in (estimate, low, high))
        return "{} [{}, {}]".format(*bare) + self.unit


def digits_of(
    exact: Sequence[float], spread: float | None, mean: float | None, unit: str = ""
) -> Digits:
    """Give two digits of the spread, and at least those of numbers that were given exactly."""
    size = abs(mean or 0.0)
    usual = _USUAL - 1 - (math.floor(math.log10(size)) if 0 < size < math.inf else 0)
    decimals = usual
    if spread is not None and 0 < spread < math.inf:
        decimals = 1 - math.floor(math.log10(spread))
    given = [len(f"{value:.9f}".rstrip("0").partition(".")[2]) for value in exact]
    return Digits(min(max(0, decimals, *given), 12), unit)
