"""Axes in the units a person would say: seconds, minutes, steps, dollars."""

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
#: The units of times in the title of an axis.
_NAMES = {"ms": "milliseconds", "s": "seconds", "min": "minutes", "h": "hours", "d": "days"}
_MOST_TICKS, _FEWEST_TICKS = 8, 3


class Scale(Struct, frozen=True):
    """A logarithmic axis: its ends, and where a page has ticks of which words on it."""

    low: float
    high: float
    ticks: tuple[tuple[float, str], ...] = ()

    @property
    def vega(self) -> dict[str, Any]:
        """Return the scale as Vega-Lite has it."""
        return {"type": "log", "domain": [self.low, self.high], "nice": False}

    def position(self, value: float) -> float:
        """Return the position of a value on the axis, from 0 to 1, clipped at the ends."""
        if value <= 0:
            return 0.0
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return min(1.0, max(0.0, share))


class AmountAxis(Struct, frozen=True):
    """An axis of amounts as Vega-Lite must know it; `divisor` is the unit of times in seconds."""

    title: str
    divisor: float
    scale: dict[str, Any]
    axis: dict[str, Any]

    def field_expression(self, field: str) -> str:
        """Return the Vega expression of a field in the unit of the axis."""
        return f"datum['{field}'] / {self.divisor:g}"

    def x(self, name: str = "at") -> dict[str, Any]:
        """Return the horizontal encoding of a field in the unit of the axis."""
        return self.y(name) | {"axis": {"grid": False, **self.axis}}

    def y(self, name: str = "at") -> dict[str, Any]:
        """Return the vertical encoding of a field in the unit of the axis."""
        look = {"title": self.title, "scale": self.scale, "axis": self.axis}
        return {"field": name, "type": "quantitative"} | look


def amount_axis(
    amounts: Iterable[float],
    measure: Axis,
    title: str,
    *,
    log_from: float = LOG_FROM,
    from_zero: bool = False,
) -> AmountAxis:
    """Return the axis for amounts to the target, logarithmic if they span a wide range.

    `title` names the counted quantity.
    """
    low, high = _positive_range(amounts)
    is_time, axis = measure.unit == "seconds", dict[str, Any](tickCount=6)
    if not is_time:
        axis["labelExpr"] = amount_expression("datum.value", measure, with_unit=False)
    if high / low > log_from:
        room = (high / low) ** 0.04
        scale = Scale(low / room, high * room)
        if is_time:
            unit, values = _unit_ticks(scale.low, scale.high)
            axis = {"labelExpr": f"format(datum.value / {units.SECONDS[unit]:g}, ',~g')"}
            title = f"{title} ({_NAMES[unit]}, log scale)"
        else:
            values, title = round_ticks(scale.low, scale.high), f"{title} (log scale)"
        return AmountAxis(title, 1.0, scale.vega, axis | {"values": values})
    divisor = 1.0
    if is_time:
        unit = units.time_unit([low, high])
        divisor, title = units.SECONDS[unit], f"{title} ({_NAMES[unit]})"
    # Room on both sides, so that no mark lies on the frame.
    margin = 0.04 * (high - low) or 0.05 * high
    domain = [max(0.0, low - margin) / divisor, (high + margin) / divisor]
    linear = {"domain": domain, "nice": False, "zero": False}
    return AmountAxis(title, divisor, {"zero": True, "nice": True} if from_zero else linear, axis)


def amount_expression(value: str, measure: Axis, *, with_unit: bool = True) -> str:
    """Return the Vega expression that formats an amount as `units.amount` does.

    A count has no unit where the title of an axis names it; its values are round.
    """
    if measure.unit == "seconds":
        return duration_expression(value)
    if measure.unit == "dollars":
        amount = f"format({value}, {value} < 0.1 ? '.2~g' : ',.2f')"
        return f"'$' + {amount if with_unit else value}"
    if measure.unit == "joules":
        return f"format({value}, '.3~s') + 'J'"
    count = f"format({value}, {value} < 1000 ? '.4~g' : ',.0f')"
    return f"{count} + ' {measure.noun}'" if with_unit else count


def duration_expression(value: str) -> str:
    """Return the Vega expression that formats a duration, in seconds, as `units.seconds` does."""
    text = ""
    for unit, limit in (("d", 0), ("h", 2 * 86_400), ("min", 7_200), ("s", 120), ("ms", 1)):
        words = f"format({value} / {units.SECONDS[unit]:g}, '.3r') + ' {unit}'"
        text = f"{value} < {limit} ? {words} : ({text})" if text else words
    return text


def _positive_range(amounts: Iterable[float]) -> tuple[float, float]:
    positive = [amount for amount in amounts if amount > 0 and math.isfinite(amount)]
    return min(positive, default=1.0), max(positive, default=1.0)


def _unit_ticks(low: float, high: float) -> tuple[str, list[float]]:
    """Return the unit of a range of times, of all its ticks, and the ticks in seconds."""
    unit = units.time_unit([math.sqrt(low * high)])
    of_one = units.SECONDS[unit]
    return unit, [value * of_one for value in round_ticks(low / of_one, high / of_one)]


def round_ticks(low: float, high: float) -> list[float]:
    """Return ticks between two ends that begin with 1, 2 or 5, or even steps if too few."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    candidates = [float(f"{first}e{power}") for power in powers for first in (1, 2, 5)]
    values = [value for value in candidates if low <= value <= high]
    if len(values) > _MOST_TICKS:
        return [value for value in candidates[::3] if low <= value <= high]
    # On a logarithmic axis as well: between ends that are near, it is hardly another.
    for power in range(powers[-1], powers[-1] - 6, -1):
        for first in (5, 2, 1):
            if len(values) >= _FEWEST_TICKS:
                return values
            step = float(f"{first}e{power}")
            numbers = range(math.ceil(low / step), math.floor(high / step) + 1)
            values = [round(number * step, 12) for number in numbers]
    return values


def tick_scale(amounts: Sequence[float], unit: Amount) -> Scale:
    """Return the axis for some amounts, with a margin at both ends."""
    low, high = _positive_range(amounts)
    room = max(1.02, (high / low) ** 0.04)
    low, high = low / room, high * room
    if unit == "seconds":
        name, values = _unit_ticks(low, high)
        words = [f"{value / units.SECONDS[name]:g} {name}" for value in values]
    else:
        values = round_ticks(low, high)
        words = [f"${x:g}" if unit == "dollars" else units.significant(x, 1) for x in values]
    return Scale(low, high, tuple(zip(values, words, strict=True)))


_RATIOS = (
    0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000,
)  # fmt: skip
_NEAR_ONE = (0.25, 0.33, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.25, 1.5, 1.75, 2, 2.5, 3, 4)
_NEARER = (0.9, 0.92, 0.94, 0.96, 0.98, 1, 1.02, 1.04, 1.06, 1.08, 1.1)
#: An interval that goes on beyond this factor of its neighbours is cut.
_FARTHEST = 16.0


def ratio_scale(ratios: Iterable[float], limits: Iterable[float | None] = ()) -> Scale:
    """Return the axis of ratios that includes 1.

    All `ratios` are in sight, `limits` of intervals unless they are far away.
    """
    low, high = _positive_range([*ratios, 1.0])
    ends = [end for end in limits if end and low / _FARTHEST < end < high * _FARTHEST]
    low, high = min(low, *ends, low), max(high, *ends, high)
    room = max(1.02, (high / low) ** 0.06)
    steps = _NEARER if high / low < 1.2 else _NEAR_ONE if high / low < 8 else _RATIOS
    low, high = low / room, high * room
    return Scale(low, high, tuple((x, f"{x:g}×") for x in steps if low <= x <= high))
