"""Which rows, grouped how, and do the runs of one group differ in something nobody asked about?"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import polars as pl

from ttastats import schema
from ttastats.errors import TtastatsError

#: Columns in which runs of one group are expected to agree.
SETUP = (
    "suite", "edition", "benchmark", "division", "submitter", "system", "entry", "hardware",
    "accelerators", "nodes", "framework", "global_batch_size", "clock",
)  # fmt: skip

_CONDITION = re.compile(r"\s*(\w+)\s*(!=|>=|<=|=|>|<)\s*(.*?)\s*", re.DOTALL)


def where(frame: pl.LazyFrame, conditions: Sequence[str]) -> pl.LazyFrame:
    """Keep the rows that meet every condition, such as `system=dgx2*` or `nodes>=8`.

    Text is compared as a shell pattern, so `*` and `?` match anything.

    Raises
    ------
    TtastatsError
        A condition is malformed or names no column, or its value is not of the column's type.
    """
    for condition in conditions:
        frame = frame.filter(_expression(condition))
    return frame


def _expression(condition: str) -> pl.Expr:
    match = _CONDITION.fullmatch(condition)
    if not match:
        raise TtastatsError(
            f"{condition!r} is not a condition",
            where="--where",
            remedy="Write column=value, such as benchmark=resnet or nodes>=8.",
        )
    name, operator, text = match.groups()
    check_columns([name], schema.NAMES, option="--where")
    column, dtype = pl.col(name), schema.POLARS[name]
    if dtype == pl.String and operator in {"=", "!="}:
        found = column.str.contains(_pattern(text))
        return found if operator == "=" else ~found.fill_null(value=False)
    value = pl.lit(_value(text, dtype, condition))
    comparisons = {
        "=": column == value,
        "!=": column.ne_missing(value),
        ">=": column >= value,
        "<=": column <= value,
        ">": column > value,
        "<": column < value,
    }
    return comparisons[operator]


def _pattern(text: str) -> str:
    """Give a shell pattern (`*`, `?`) as a regular expression that polars reads."""
    wild = {"*": ".*", "?": "."}
    return "(?s)^" + "".join(wild.get(letter) or re.escape(letter) for letter in text) + "$"


def _value(text: str, dtype: pl.DataType, condition: str) -> Any:
    try:
        return pl.Series([text]).cast(dtype if dtype != pl.Boolean else pl.String)[0]
    except pl.exceptions.PolarsError:
        raise TtastatsError(
            f"{text!r} is not of the column's type, {dtype}", where=f"--where {condition}"
        ) from None


def check_columns(names: Sequence[str], known: Sequence[str], *, option: str) -> None:
    """Refuse names that are no columns, and say which there are.

    Raises
    ------
    TtastatsError
        A name is not among `known`.
    """
    unknown = [name for name in names if name not in known]
    if unknown:
        raise TtastatsError(
            f"no column is called {unknown[0]!r}",
            where=option,
            remedy=f"Columns are: {', '.join(known)}.",
        )


def varying(runs: pl.DataFrame, by: Sequence[str]) -> tuple[str, ...]:
    """Give the set-up columns in which runs of one group differ, among those not grouped by."""
    if runs.is_empty():
        return ()
    candidates = [name for name in SETUP if name not in by]
    counts = runs.group_by(by or pl.lit(0)).agg(
        pl.col(name).drop_nulls().n_unique() for name in candidates
    )
    return tuple(name for name in candidates if (counts.get_column(name) > 1).any())
