"""How is a number written for people? Inside, only base units are used."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from typing import Literal

from msgspec import Struct

#: What an amount of an axis is written in.
Amount = Literal["seconds", "dollars", "epochs", "steps", "samples", "evaluations", "joules"]

#: Units of time with their seconds.
SECONDS = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3_600.0, "d": 86_400.0}
#: Up to which duration each is the best.
_TIME_UNITS = ((120.0, "s"), (120 * 60.0, "min"), (48 * 3_600.0, "h"), (math.inf, "d"))
_PREFIXES = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))


def significant(value: float, digits: int = 3) -> str:
    """Return `value` with at least `digits` significant digits, never in exponent form.

    Digits before the decimal point are never rounded away: 1234.5 at 3 digits is "1234".
    """
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else ("∞" if value > 0 else "-∞")
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:.{decimals}f}"


def seconds(value: float, digits: int = 3, unit: str = "") -> str:
    """Return a duration in a unit of ms, s, min, h or d; without one, in the best."""
    if not math.isfinite(value):
        return significant(value)
    unit = unit or time_unit([value])
    return f"{significant(value / SECONDS[unit], digits)} {unit}"


def time_unit(durations: Sequence[float]) -> str:
    """Return the best unit for the middle one of some durations, in seconds."""
    middle = statistics.median_low(map(abs, durations))
    return "ms" if 0 < middle < 1 else next(unit for limit, unit in _TIME_UNITS if middle < limit)


def with_prefix(number: float, unit: str, digits: int = 3) -> str:
    """Return a number with an SI prefix: `312 TFLOP/s`, `16.2 GB`; 1 kB is 1,000 B."""
    scale, prefix = next((s, p) for s, p in _PREFIXES if abs(number) >= s or s == 1.0)
    return f"{significant(number / scale, digits)} {prefix}{unit}"


def mean_count(number: float, what: str) -> str:
    """Return a mean number of epochs, steps or samples with its noun: `4,200 steps`."""
    if not math.isfinite(number):
        return f"{significant(number)} {what}"
    if number >= 1e7:
        return f"{significant(number / 1e6, 4)}M {what}"
    if number == 1:
        return f"1 {what.removesuffix('s')}"
    return f"{f'{number:,.0f}' if number >= 1000 else count(number)} {what}"


def amount(number: float, unit: Amount, digits: int = 3, of_time: str = "") -> str:
    """Return an amount of time, progress, money or energy with its unit: `74.0 min`, `$12.50`."""
    if unit == "seconds":
        return seconds(number, digits, of_time)
    if unit == "joules":
        return with_prefix(number, "J", digits)
    if unit == "dollars":
        return dollars(number)
    return mean_count(number, unit)


def amounts(numbers: Iterable[float], unit: Amount) -> list[str]:
    """Return amounts that a sentence compares, times in one unit: `2.02 min`, `1.16 min`."""
    values = list(numbers)
    of_time = time_unit(values) if unit == "seconds" and values else ""
    return [amount(number, unit, of_time=of_time) for number in values]


def dollars(number: float) -> str:
    """Return an amount of money in dollars: in cents, or in more digits below a cent."""
    if 0 < abs(number) < 0.1:
        return f"${significant(number, 2)}"
    return f"${number:,.2f}"


def percent(fraction: float) -> str:
    """Return a fraction as a percentage; 0.1378 is "13.8%", 0.0019 is "0.19%"."""
    if not math.isfinite(fraction):
        return f"{significant(fraction)}%"
    size = abs(fraction) * 100
    decimals = 0 if size >= 100 else 1 if size >= 1 or size == 0 else 2
    return f"{fraction * 100:.{decimals}f}%"


def count(number: float) -> str:
    """Return a count: whole numbers without decimals, others with up to two."""
    if not math.isfinite(number):
        return significant(number)
    if float(number).is_integer():
        return f"{int(number):,}" if abs(number) >= 10_000 else str(int(number))
    return significant(number, 3) if abs(number) < 100 else f"{number:.1f}"


def p_value(value: float) -> str:
    """Return a p-value with three decimals: .023, <.001; never zero."""
    if value < 0.001:
        return "<.001"
    return "1" if value >= 0.9995 else f"{value:.3f}".removeprefix("0")


def p_text(value: float) -> str:
    """Return a p-value as in a sentence: `p = .023`, `p < .001`."""
    text = p_value(value)
    return f"p < {text[1:]}" if text[0] == "<" else f"p = {text}"


def ratio(number: float) -> str:
    """Return a ratio in as many digits as are informative: 1.057, 21.55, 477."""
    if not math.isfinite(number):
        return significant(number)
    decimals = 3 if number < 10 else 2 if number < 100 else 0
    return f"{number:.{decimals}f}"


def factor(number: float, low: float | None = None, high: float | None = None) -> str:
    """Return a factor with its interval, if known: `1.74×`, `1.74× [1.60, 1.89]`."""
    return f"{number:.2f}×{interval_suffix(low, high)}"


def factor_range(low: float, high: float) -> str:
    """Return a range of factors: `1.60 to 1.89×`."""
    return f"{low:.2f} to {high:.2f}×"


def interval_suffix(low: float | None, high: float | None) -> str:
    """Return ` [0.88, 0.98]`, the interval to append to a number, or an empty text."""
    return "" if low is None or high is None else f" [{low:.2f}, {high:.2f}]"


def ratio_interval(estimate: float | None, low: float | None, high: float | None) -> str:
    """Return a ratio with its interval, as far as known: `1.057 [1.054, 1.060]`."""
    if estimate is None:
        return "–"
    if low is None or high is None:
        return ratio(estimate)
    end = ratio(high) if math.isfinite(high) else "no upper limit"
    return f"{ratio(estimate)} [{ratio(low)}, {end}]"


def runs_needed(number: int) -> str:
    """Return the sentence part on how many runs a side would show the observed difference."""
    return f"{number:,} runs per side would be needed to detect a difference of this size"


def plural(number: int, singular: str, plural_form: str | None = None) -> str:
    """Return "1 run" or "2 runs"."""
    return f"{number:,} {singular if number == 1 else plural_form or singular + 's'}"


def without_unit(ends: Sequence[str], value: str) -> Sequence[str]:
    """Return interval ends without their unit if both have the same unit as the value."""
    unit = "%" if value.endswith("%") else value[value.find(" ") :] if " " in value else ""
    return [end.removesuffix(unit) for end in ends] if all(e.endswith(unit) for e in ends) else ends


def ordinal(number: int) -> str:
    """Return `1st`, `2nd`, `3rd`, `11th`."""
    digit = 0 if number % 100 in {11, 12, 13} else number % 10
    return f"{number:,}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(digit, 'th') }"


def join_names(names: Sequence[str], most: int = 6, between: str = ", ") -> str:
    """Return `a, b and 3 more`, or with semicolons between `a, 1; b, 2; and 3 more`."""
    n_left = len(names) - most
    remainder = f"{between.rstrip(', ')} and {n_left} more" if n_left > 0 else ""
    return between.join(names[:most]) + remainder


#: Digits of a quality whose spread is not known.
_USUAL = 5


class Digits(Struct, frozen=True):
    """The decimals of some numbers that belong together, and their unit with a space before it."""

    decimals: int
    unit: str = ""

    def text(self, value: float) -> str:
        """Return a number with its unit."""
        return self._without_unit(value) + self.unit

    def signed(self, value: float) -> str:
        """Return a difference with its sign and unit."""
        return f"{value:+z.{self.decimals}f}{self.unit}"

    def _without_unit(self, value: float) -> str:
        return f"{value:.{self.decimals}f}"

    def mean(self, value: float | None, spread: float | None) -> str:
        """Return a mean with its standard deviation, as far as known."""
        if value is None:
            return "–"
        around = "" if spread is None else f" ±{self._without_unit(spread)}"
        return f"{self._without_unit(value)}{around}{self.unit}"

    def interval(self, low: float | None, high: float | None) -> str:
        """Return an interval, or an empty text if there is none."""
        if low is None or high is None:
            return "–"
        return f"[{self._without_unit(low)}, {self._without_unit(high)}]{self.unit}"

    def difference(self, estimate: float | None, low: float | None, high: float | None) -> str:
        """Return a difference with its interval, as far as known."""
        if estimate is None:
            return "–"
        if low is None or high is None:
            return self.signed(estimate)
        numbers = (f"{value:+z.{self.decimals}f}" for value in (estimate, low, high))
        return "{} [{}, {}]".format(*numbers) + self.unit


def digits_for(
    exact: Sequence[float], spread: float | None, mean: float | None, unit: str = ""
) -> Digits:
    """Return decimals that show two digits of the spread, and all those of exact numbers."""
    size = abs(mean or 0.0)
    decimals = _USUAL - 1 - (math.floor(math.log10(size)) if 0 < size < math.inf else 0)
    if spread is not None and 0 < spread < math.inf:
        decimals = 1 - math.floor(math.log10(spread))
    decimals_of_exact = [len(f"{value:.9f}".rstrip("0").partition(".")[2]) for value in exact]
    return Digits(min(max(0, decimals, *decimals_of_exact), 12), unit)
