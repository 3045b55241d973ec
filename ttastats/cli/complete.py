"""What does a shell propose for an option: columns, values in the tables that are named, units?"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

#: Values of one column that are proposed; more do not help anyone to choose.
_MOST = 200


def columns(incomplete: str) -> list[str]:
    """Return column names, behind those before the last comma."""
    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in _column_names() if name.startswith(last)]


def conditions(incomplete: str) -> list[str]:
    """Return `column=`, and behind it the values in the named tables."""
    column, sign, value = incomplete.partition("=")
    if not sign:
        return [f"{name}=" for name in _column_names() if name.startswith(column)]
    return [
        f"{column}={known}"
        for known in _known_values(column, _named_tables())
        if known.startswith(value)
    ]


def units(incomplete: str) -> list[str]:
    """Return the units of progress to the target."""
    from ttastats.outcomes.axis import AXES

    return [name for name in AXES if name.startswith(incomplete)]


def _column_names() -> Sequence[str]:
    """Return the columns of runs, and the settings recorded in the named tables."""
    from ttastats.outcomes import settings  # polars costs start-up time
    from ttastats.table.schema import RUN_NAMES

    extras = _unique_values("extra", _named_tables())
    return [*RUN_NAMES, *(() if extras is None else settings.known(extras))]


def _named_tables() -> list[Path]:
    """Return the tables on the command line that is being completed."""
    line = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS") or ""
    return [Path(word) for word in line.split() if word.endswith(".parquet")]


def _known_values(name: str, files: Sequence[Path]) -> list[str]:
    """Return values of a column or setting as text; none if the tables cannot be read."""
    from ttastats.outcomes import settings
    from ttastats.table.schema import NAMES

    values = _unique_values(name if name in NAMES else "extra", files)
    if values is not None and name not in NAMES:
        values = settings.values(values, name)
    return [] if values is None else sorted(map(str, values.drop_nulls().unique()))[:_MOST]


def _unique_values(column: str, files: Sequence[Path]) -> pl.Series | None:
    """Return the unique values of a column, None if the tables cannot be read."""
    import polars as pl

    from ttastats.base.errors import TtastatsError
    from ttastats.table import store

    try:
        return store.read_tables(files).select(pl.col(column).unique()).collect().to_series()
    except (OSError, TtastatsError, ValueError, pl.exceptions.PolarsError):
        return None
