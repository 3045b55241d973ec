"""Axes and tooltips in the units a person would say: seconds, minutes, steps, dollars."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct

from ttastats.base import units
from ttastats.base.units import Amount
from ttastats.outcomes.axis import Axis

#: Beyond this ratio of the largest to the smallest time, an axis is logarithmic.
LOG_FROM = 12.0

#: What the title of a logarithmic axis ends in.
_LOG = " (log scale)"
#: Units with their seconds, each up to which largest time.
_UNITS = (
    ("seconds", 1.0, 180.0), ("minutes", 60.0, 180 * 60.0), ("hours", 3_600.0, 72 * 3_600.0),
    ("days", 86_400.0, math.inf),
)  # fmt: skip
_SHORT = {"seconds": "s", "minutes": "min", "hours": "h", "days": "d"}
_ROUND = (
    1e-3, 2e-3, 5e-3, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200,
    1800, 3600, 7200, 18_000, 36_000, 72_000, 86_400, 172_800, 432_000, 864_000, 1_728_000,
    4_320_000, 8_640_000,
)  # fmt: skip
#: Where few ticks must do.
_ROUNDER = (1e-3, 0.01, 0.1, 1, 10, 60, 600, 3600, 36_000, 86_400, 864_000, 8_640_000)
_MOST_TICKS, _FEWEST_TICKS = 8, 3


class TimeAxis(Struct, frozen=True):
    """An axis of times: the expression that scales `seconds`, and what Vega-Lite must know."""

    title: str
    divisor: float
    scale: dict[str, Any]
    axis: dict[str, Any]

    def field_expression(self, field: str) -> str:
        """Return the Vega expression of a field of seconds in the unit of the axis."""
        return f"datum['{field}'] / {self.divisor:g}"


def time_axis(
    times: Iterable[float], what: str, *, log_from: float = LOG_FROM, from_zero: bool = False
) -> TimeAxis:
    """Return the axis for times in seconds, logarithmic if they span a wide range."""
    low, high = _positive_range(times)
    if high / low > log_from:
        return TimeAxis(what + _LOG, 1.0, _log_domain(low, high), _log_ticks(low, high))
    divisor, unit = next((d, u) for u, d, most in _UNITS if high <= most)
    scale = {"zero": True, "nice": True} if from_zero else _linear_scale(low, high, divisor)
    return TimeAxis(f"{what} ({unit})", divisor, scale, {"tickCount": 6})


def amount_axis(
    amounts: Iterable[float], of: Axis, what: str, *, log_from: float = LOG_FROM
) -> TimeAxis:
    """Return the axis for amounts counted to the target; `time_axis` for times.

    `what` is that of `time_axis`, and names what is counted.
    """
    amounts = list(amounts)
    if of.unit == "seconds":
        return time_axis(amounts, what, log_from=log_from)
    low, high = _positive_range(amounts)
    axis: dict[str, Any] = {
        "tickCount": 6,
        "labelExpr": amount_expression("datum.value", of, named=False),
    }
    if high / low > log_from:
        scale = _log_domain(low, high)
        return TimeAxis(what + _LOG, 1.0, scale, axis | {"values": round_ticks(*scale["domain"])})
    return TimeAxis(what, 1.0, _linear_scale(low, high, 1.0), axis)


def amount_expression(value: str, of: Axis, *, named: bool = True) -> str:
    """Return the Vega expression that formats an amount as `units.amount` does.

    A count is not `named` where the title of an axis says what is counted; its values are round.
    """
    if of.unit == "seconds":
        return duration_expression(value)
    if of.unit == "dollars":
        amount = f"format({value}, {value} < 0.1 ? '.2~g' : ',.2f')"
        return f"'$' + {amount if named else value}"
    if of.unit == "joules":
        return f"format({value}, '.3~s') + 'J'"
    count = f"format({value}, {value} < 1000 ? '.4~g' : ',.0f')"
    return f"{count} + ' {of.noun}'" if named else count


def _positive_range(amounts: Iterable[float]) -> tuple[float, float]:
    known = [amount for amount in amounts if amount > 0 and math.isfinite(amount)]
    return min(known, default=1.0), max(known, default=1.0)


def _linear_scale(low: float, high: float, divisor: float) -> dict[str, Any]:
    # Room on both sides, so that no mark lies on the frame.
    margin = 0.04 * (high - low) or 0.05 * high
    domain = [max(0.0, low - margin) / divisor, (high + margin) / divisor]
    return {"domain": domain, "nice": False, "zero": False}


def _log_domain(low: float, high: float) -> dict[str, Any]:
    room = (high / low) ** 0.04
    return {"type": "log", "domain": [low / room, high * room], "nice": False}


def _log_ticks(low: float, high: float) -> dict[str, Any]:
    values = [value for value in _ROUND if low / 1.05 <= value <= high * 1.05]
    if len(values) > _MOST_TICKS:
        values = [value for value in _ROUNDER if low / 1.2 <= value <= high * 1.2]
    if len(values) < _FEWEST_TICKS:
        values, unit, short = _unit_ticks(low, high)
        # Few steps of a unit are labelled in it: 100 s would be 1.67 min.
        words = f"format(datum.value / {unit:g}, '~g') + ' {short}'"
        return {"values": values, "labelExpr": words}
    return {"values": values, "labelExpr": duration_expression("datum.value", "g")}


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


def tick_scale(amounts: Sequence[float], unit: Amount) -> Scale:
    """Return the axis for some amounts, with a margin at both ends."""
    known = [amount for amount in amounts if amount > 0]
    low, high = min(known, default=1.0), max(known, default=1.0)
    room = max(1.02, (high / low) ** 0.04)
    low, high = low / room, high * room
    values = round_ticks(low, high)
    if unit == "seconds":
        values = [value for value in _ROUND if low <= value <= high]
        if len(values) < _FEWEST_TICKS:
            values, *_ = _unit_ticks(low, high)
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


def _unit_ticks(low: float, high: float) -> tuple[list[float], float, str]:
    """Return even steps of a unit in seconds, with the seconds and the sign of the unit."""
    name, unit = next((name, seconds) for name, seconds, most in _UNITS if high <= most)
    return [value * unit for value in round_ticks(low / unit, high / unit)], unit, _SHORT[name]


def round_ticks(low: float, high: float) -> list[float]:
    """Return ticks between two ends that begin with 1, 2 or 5, or even steps if too few."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    every = [[float(f"{first}e{power}") for first in (1, 2, 5)] for power in powers]
    values = [value for each in every for value in each if low <= value <= high]
    if len(values) > _MOST_TICKS:
        return [each[0] for each in every if low <= each[0] <= high]
    # On a logarithmic axis as well: between ends that are near, it is hardly another.
    for power in range(powers[-1], powers[-1] - 6, -1):
        for first in (5, 2, 1):
            if len(values) >= _FEWEST_TICKS:
                return values
            step = float(f"{first}e{power}")
            numbers = range(math.ceil(low / step), math.floor(high / step) + 1)
            values = [round(number * step, 12) for number in numbers]
    return values


def duration_expression(value: str, form: str = ".3r") -> str:
    """Return the Vega expression that formats a duration as `units.seconds` does.

    `value` is an expression of seconds; `g` leaves round numbers bare.
    """
    numbers = {"ms": f"({value} * 1000)", "s": f"({value})", "min": f"({value} / 60)",
               "h": f"({value} / 3600)", "d": f"({value} / 86400)"}  # fmt: skip
    shown = "{}" if form == "g" else f"format({{}}, '{form}')"
    words = {unit: f"{shown.format(number)} + ' {unit}'" for unit, number in numbers.items()}
    text = words["d"]
    for unit, limit in (("h", 86400), ("min", 3600), ("s", 60), ("ms", 1)):
        most = limit if form == "g" or limit == 1 else 2 * limit
        text = f"{value} < {most} ? {words[unit]} : ({text})"
    return text


_RATIOS = (
    0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000,
)  # fmt: skip
_NEAR_ONE = (0.25, 0.33, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.25, 1.5, 1.75, 2, 2.5, 3, 4)
_NEARER = (0.9, 0.92, 0.94, 0.96, 0.98, 1, 1.02, 1.04, 1.06, 1.08, 1.1)
#: An interval that goes on beyond this factor of its neighbours is cut.
_FARTHEST = 16.0


def ratio_axis(
    ratios: Iterable[float], more: Iterable[float | None] = ()
) -> dict[str, dict[str, Any]]:
    """Return scale and axis of ratios, logarithmic and including 1.

    `ratios` are all in sight, `more` (known ends of intervals) unless they are far away.
    """
    low, high = _positive_range([*ratios, 1.0])
    ends = [end for end in more if end and low / _FARTHEST < end < high * _FARTHEST]
    low, high = min(low, *ends, low), max(high, *ends, high)
    room = max(1.02, (high / low) ** 0.06)
    steps = _NEARER if high / low < 1.2 else _NEAR_ONE if high / low < 8 else _RATIOS
    values = [value for value in steps if low / room <= value <= high * room]
    scale = {"type": "log", "domain": [low / room, high * room], "nice": False}
    return {"scale": scale, "axis": {"values": values, "format": "~g"}}
