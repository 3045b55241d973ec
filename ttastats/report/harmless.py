"""How are cells and gates written for people, and text from logs so that it only shows?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ttastats.base import units
from ttastats.report.cells import Cell, Gate, PValue, Quantity, Reached, Text

if TYPE_CHECKING:
    import polars as pl


def escape_invisible(text: str) -> str:
    r"""Return a text with every invisible character escaped: ESC becomes `\x1b`.

    Control characters, ANSI sequences and overrides of the writing direction would otherwise move
    the cursor, recolour the screen or reverse what stands beside them.
    """
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode("ascii")
        for letter in text
    )


def escape_lines(text: str) -> str:
    """Return a text of several lines with invisible characters but line ends escaped."""
    return "\n".join(escape_invisible(line) for line in text.split("\n"))


def escape_json(value: Any) -> Any:
    """Return a JSON value with invisible characters escaped in all its texts and keys."""
    if isinstance(value, str):
        return escape_invisible(value)
    if isinstance(value, dict):
        return {escape_invisible(key): escape_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [escape_json(item) for item in value]
    return value


def escape_frame(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a table with invisible characters escaped in all its texts."""
    import polars as pl  # --help must not wait for it

    texts = frame.select(pl.col(pl.String).unique().implode())
    escapes = []
    for column in texts.columns:
        odd = {
            name: escape_invisible(name)
            for name in texts[column][0]
            if name and not name.isprintable()
        }
        escapes += [pl.col(column).replace(odd)] if odd else []
    return frame.with_columns(escapes) if escapes else frame


UNKNOWN = "–"


def cell_text(value: Cell) -> str:
    """Return the text of a cell."""
    match value:
        case Text():
            return escape_invisible(value.text)
        case Reached():
            return f"{value.reached}/{value.n}"
        case PValue():
            return UNKNOWN if value.value is None else units.p_value(value.value)
        case Quantity():
            return _quantity_text(value)


def gate_lines(value: Gate) -> tuple[str, ...]:
    """Return the verdict of a gate as a headline, and a line for each group that did not pass."""
    headline = f"gate {' '.join(value.conditions)}: {'passed' if value.passed else 'failed'}"
    several = len(value.conditions) > 1
    lines = [
        f"{finding.outcome}{f' ({finding.condition})' if several else ''}: "
        f"{finding.group}: {finding.text}"
        for finding in (*value.failures, *value.undecided, *value.conditional)
    ]
    return tuple(map(escape_invisible, (headline, *lines)))


def _quantity_text(value: Quantity) -> str:
    """Return a number with its spread and interval: `74.0 min ±0.2%`, `1.057 [1.054, 1.060]`."""
    if value.value is None:
        return UNKNOWN + value.mark
    parts = [_number_text(value, value.value)]
    if value.spread is not None:
        if not value.spread_is_std:
            spread = units.percent(value.spread)
        elif value.unit in ("seconds", "joules", "dollars"):
            spread = units.amount(value.spread, value.unit, 2, value.of_time)
        else:
            spread = units.significant(value.spread, 2)
        parts.append(f"±{spread}")
    if value.low is not None and value.high is not None:
        ends = [_number_text(value, end) for end in (value.low, value.high)]
        parts.append("[{}, {}]".format(*units.without_unit(ends, parts[0])))
    return " ".join(parts) + value.mark


def _number_text(value: Quantity, number: float) -> str:
    match value.unit:
        case "seconds" | "epochs" | "steps" | "samples" | "evaluations" | "joules" | "dollars":
            return units.amount(number, value.unit, of_time=value.of_time)
        case "fraction":
            return units.percent(number)
        case "count":
            return units.count(number)
        case "ratio":
            return units.ratio(number)
        case "number":
            return units.significant(number)
        case "bytes":
            return units.with_prefix(number, "B")
        case "flop/second":
            return units.with_prefix(number, "FLOP/s")
