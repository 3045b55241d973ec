"""Which condition leaves nothing, and what is there instead?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from ttastats.base import units
from ttastats.base.errors import TtastatsError
from ttastats.base.nearest import among, nearest
from ttastats.outcomes import columns, select
from ttastats.outcomes.conditions import KNOWN, Condition

#: Values of a column that are named one by one.
_FEW = 8
#: A value that is longer, such as JSON, tells nobody anything.
_LONG = 100


def error(frame: pl.DataFrame, conditions: Sequence[Condition], what: str) -> TtastatsError:
    """Give the error for conditions that no row of a frame meets; `what` is a row: `run`."""
    counts = [(condition, _count(frame, condition)) for condition in conditions]
    for condition, count in counts:
        if not count:
            return TtastatsError(
                f"no {what} has {condition}",
                where=condition.option,
                remedy=there_are(frame, condition, what),
            )
    alone = ", ".join(f"{condition} ({units.plural(n, what)})" for condition, n in counts)
    return TtastatsError(
        f"no {what} meets all conditions together",
        where=" ".join(condition.place for condition in conditions) or None,
        remedy=f"Each condition alone matches: {alone}." if counts else "The table is empty.",
    )


def remarks(frame: pl.DataFrame, conditions: Sequence[Condition], what: str) -> tuple[str, ...]:
    """Say which values nothing has, where other values of the condition hide that.

    Those are one of several alternatives, and what is left out with `!=`.
    """
    return tuple(
        f"{condition.option}: no {what} has {one.column}={one.values[0]}. "
        f"{there_are(frame, one, what)}"
        for condition in conditions
        if condition.operator == "!=" or len(condition.values) > 1
        for value in condition.values
        if value != KNOWN
        for one in [Condition(condition.column, "=", (value,), condition.option)]
        if not _count(frame, one)
    )


def _count(frame: pl.DataFrame, condition: Condition) -> int:
    return select.where(frame.lazy(), [condition]).collect().height


def there_are(frame: pl.DataFrame, condition: Condition, what: str) -> str:
    """Say which values there are, and which of them come nearest to those of the condition."""
    name = columns.full_name(condition.column, frame.columns) or condition.column
    values = frame.get_column(name).drop_nulls()
    if values.is_empty():
        return f"{name} is unknown for every {what}."
    if values.dtype == pl.String:
        return _texts(sorted(values.unique()), condition)
    if values.dtype.is_numeric() or values.dtype.is_temporal():
        return _range(name, values)
    return ""


def _texts(known: Sequence[str], condition: Condition) -> str:
    if max(map(len, known)) > _LONG:
        return f"There are {len(known)} other values."
    if condition.operator == "=":
        for value in condition.values:
            asked = value.replace("*", "").replace("?", "")
            if nearest(asked, known):
                return among(asked, known, "Values", _FEW)
    if len(known) <= _FEW:
        return f"Values: {', '.join(known)}."
    return f"There are {len(known)}, from {known[0]} to {known[-1]}."


def _range(name: str, values: pl.Series) -> str:
    distinct = values.unique().sort()
    if len(distinct) == 1:
        return f"{name} is {_said(distinct[0])}."
    if len(distinct) <= _FEW and values.dtype.is_integer():
        return f"{name} is one of {', '.join(_said(value) for value in distinct)}."
    return f"{name} lies between {_said(distinct[0])} and {_said(distinct[-1])}."


def _said(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return value.isoformat(timespec="seconds") if hasattr(value, "isoformat") else str(value)
