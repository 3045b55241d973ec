"""The rows of a table as CSV or JSON lines, whole or not at all."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from ttastats import atomic
from ttastats.render.as_csv import FORMULA


def write_csv(table: pl.LazyFrame, output: Path) -> None:
    """Write CSV: an empty cell for unknown, and `'` before text that would be a formula.

    Raises
    ------
    TtastatsError
        The place cannot be written to; what was there is untouched.
    """
    inert = table.with_columns(pl.col(pl.String).str.replace_all(FORMULA, "${1}'${2}"))
    with atomic.replacing(output) as temporary:
        inert.sink_csv(temporary, datetime_format="%Y-%m-%dT%H:%M:%S%.6fZ")


def write_json_lines(table: pl.LazyFrame, output: Path) -> None:
    """Write one JSON object a line, null for unknown.

    Raises
    ------
    TtastatsError
        The place cannot be written to; what was there is untouched.
    """
    with atomic.replacing(output) as temporary:
        table.sink_ndjson(temporary)
