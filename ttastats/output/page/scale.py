"""How are amounts placed on a logarithmic axis, and which round values stand below it?"""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec import Struct

from ttastats.base import units
from ttastats.base.units import Amount
from ttastats.output.plots import axes


class Scale(Struct, frozen=True):
    """A logarithmic axis: its ends, and where it has ticks of which words."""

    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]

    def position(self, value: float) -> float:
        """Return the position of a value on the axis, from 0 to 1, clipped at the ends."""
        if value <= 0:
            return 0.0
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return min(1.0, max(0.0, share))


def log_scale(amounts: Sequence[float], unit: Amount) -> Scale:
    """Return the axis for some amounts, with a margin at both ends."""
    known = [amount for amount in amounts if amount > 0]
    low, high = min(known, default=1.0), max(known, default=1.0)
    room = max(1.02, (high / low) ** 0.04)
    low, high = low / room, high * room
    values = axes.round_times(low, high) if unit == "seconds" else axes.round_ticks(low, high)
    return Scale(low, high, tuple((value, _tick_text(value, unit)) for value in values))


def _tick_text(value: float, unit: Amount) -> str:
    if unit != "seconds":
        return f"${value:g}" if unit == "dollars" else units.significant(value, 1)
    size, name = (1.0, "s") if value >= 1 else (1e-3, "ms")
    for larger, of in ((86400.0, "d"), (3600.0, "h"), (60.0, "min")):
        number = value / larger
        # One decimal says it: 90 seconds are 1.5 minutes, 70 stay seconds.
        if number >= 1 and abs(number - round(number, 1)) < 1e-9 * number:
            size, name = larger, of
            break
    return f"{value / size:g} {name}"
