"""How is a share read and written: `2%`, `0.02`?"""

from __future__ import annotations

import math
import re

from ttastats.base.errors import TtastatsError

_NUMBER = re.compile(r"((?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)\s*(%?)")
_SIGNED = re.compile(rf"([-+]?){_NUMBER.pattern}")
_EXAMPLE = "Write 2% or 0.02."


def parse_number(written: str) -> float | None:
    """Return the finite number in a text, `97%` as 0.97; None if it is not a number."""
    match = _SIGNED.fullmatch(written.strip())
    if match is None:
        return None
    minus, digits, sign = match.groups()
    value = float(digits) / (100 if sign else 1) * (-1 if minus == "-" else 1)
    return value if math.isfinite(value) else None


def parse_fraction(written: str, option: str, *, above: float = 0.0, below: float = 1.0) -> float:
    """Return `2%` or `0.02` as a fraction strictly between two limits, or raise an error.

    A number of 1 or more without a percent sign is refused, since `--margin 5` is far more
    probably meant as 5 % than as 500 %.
    """
    match = _NUMBER.fullmatch(written.strip())
    if match is None:
        raise TtastatsError(f"{written!r} is not a percentage", where=option, remedy=_EXAMPLE)
    number, sign = float(match.group(1)), match.group(2)
    value = number / 100 if sign else number
    if value >= 1 and not sign:  # it can hardly be a fraction: say what was probably meant
        is_meant = above < number / 100 < min(below, 1)
        message = f"{written!r} is neither a fraction nor a percentage"
        remedy = f"Write {number:g}% or {number / 100:g}." if is_meant else _EXAMPLE
        raise TtastatsError(message, where=option, remedy=remedy)
    if not above < value < below:
        low, high = (f"{100 * limit:.10g}%" for limit in (above, below))
        message = f"{written!r} is not above {low} and below {high}"
        raise TtastatsError(message, where=option, remedy=_EXAMPLE if above == 0 else None)
    return value


def expect_number(written: str, option: str) -> float:
    """Return the number in an option's text, `97%` as 0.97, or raise an error."""
    value = parse_number(written)
    if value is None:
        message = f"{written!r} is not a number"
        raise TtastatsError(message, where=option, remedy="Write 0.97 or 97%.")
    return value


def percent_text(value: float) -> str:
    """Return a fraction as a percentage without trailing zeros: 0.95 is "95%", 0.995 "99.5%"."""
    return f"{100 * value:g}%"
