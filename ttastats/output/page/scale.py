"""How are amounts placed on a logarithmic axis, and which round values stand below it?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ttastats.base import units
from ttastats.base.units import Amount


@dataclass(frozen=True, slots=True)
class Scale:
    """A logarithmic axis: its ends, and where it has ticks of which words."""

    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]

    def share(self, value: float) -> float:
        """Return where a value stands, from 0 to 1; at the end of the axis where it is beyond."""
        if value <= 0:
            return 0.0
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return min(1.0, max(0.0, share))


def of(amounts: Sequence[float], unit: Amount) -> Scale:
    """Return the axis that all amounts stand on, with a little room at its ends."""
    known = [amount for amount in amounts if amount > 0]
    low, high = min(known, default=1.0), max(known, default=1.0)
    room = max(1.02, (high / low) ** 0.04)
    low, high = low / room, high * room
    return Scale(low, high, tuple((value, _tick(value, unit)) for value in _round(low, high, unit)))


_STEPS = (1.0, 2.0, 5.0)


def _round(low: float, high: float, unit: Amount) -> list[float]:
    """Return round values between two ends: of times 1, 2, 5, 10, 20, 30 of a unit."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    values = [step * 10.0**power for power in decades for step in _STEPS]
    if unit == "seconds" and high >= 60:
        values = [value for value in values if value <= 30]
        values += [value * 60 for value in (1, 2, 5, 10, 20, 30)]
        values += [value * 3600 for value in (1, 2, 5, 10)]
        values += [value * 86400 * 10**power for power in range(4) for value in _STEPS]
        values = sorted({*values, 30.0})
    inside = [value for value in values if low <= value <= high]
    return inside if len(inside) > 1 else _even(low, high, unit)


def _even(low: float, high: float, unit: Amount) -> list[float]:
    """Return values at even distances where the ends are close to each other."""
    scale = 1.0
    if unit == "seconds":
        scale = next((size for size in (86400.0, 3600.0, 60.0) if high >= 2 * size), 1.0)
    rough = (high - low) / scale / 3
    power = 10.0 ** math.floor(math.log10(rough))
    step = max(each for each in _STEPS if each * power <= rough) * power
    first = math.ceil(low / scale / step)
    return [n * step * scale for n in range(first, math.floor(high / scale / step) + 1)]


def _tick(value: float, unit: Amount) -> str:
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
