"""Is a higher or a lower value of a metric better? Higher, unless a log says otherwise."""

from __future__ import annotations

import polars as pl


def of_group() -> pl.Expr:
    """Return an expression for whether higher is better, for a group of evaluations or runs."""
    return pl.col("higher_is_better").all()


def is_upwards(*tables: pl.DataFrame) -> bool:
    """Return whether higher is better for the runs of all tables together."""
    return all(table.select(of_group()).item() for table in tables)
