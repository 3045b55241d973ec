"""How cells, and the verdict of a gate, are written for people."""

from __future__ import annotations

from ttastats.base import units
from ttastats.report.cells import Cell, Gate, PValue, Quantity, Reached, Text
from ttastats.report.render.harmless import escape_invisible

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
        f"{each.outcome}{f' ({each.condition})' if several else ''}: {each.group}: {each.text}"
        for each in (*value.failures, *value.undecided, *value.conditional)
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
            spread = units.amount(value.spread, value.unit, 2)
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
            return units.amount(number, value.unit)
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
