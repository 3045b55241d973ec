"""What does a shell propose for an option: columns, values in the tables that are named, units?"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
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
    column, sign, _ = incomplete.partition("=")
    if not sign:
        return [f"{name}=" for name in _column_names() if name.startswith(column)]
    from ttastats.outcomes import settings  # polars costs start-up time
    from ttastats.table.schema import NAMES

    values = _unique_values(column if column in NAMES else "extra")
    if values is not None and column not in NAMES:
        values = settings.values(values, column)
    texts = [] if values is None else sorted(map(str, values.drop_nulls().unique()))[:_MOST]
    return [text for value in texts if (text := f"{column}={value}").startswith(incomplete)]


def units(incomplete: str) -> list[str]:
    """Return the units of progress to the target."""
    from ttastats.outcomes.axis import AXES

    return [name for name in AXES if name.startswith(incomplete) and not AXES[name].alone]


def plot_kinds(incomplete: str) -> list[str]:
    """Return the kinds of plots, those of profiles last."""
    from ttastats.output.plots.kinds import KINDS, OF_PROFILES  # costs start-up time

    return [kind for kind in (*KINDS, *OF_PROFILES) if kind.startswith(incomplete)]


def _column_names() -> Sequence[str]:
    """Return the columns of runs, and the settings recorded in the named tables."""
    from ttastats.outcomes import settings  # polars costs start-up time
    from ttastats.table.schema import RUN_NAMES

    extras = _unique_values("extra")
    return [*RUN_NAMES, *(() if extras is None else settings.setting_names(extras))]


#: Columns by which two parts of a table are compared.
_PARTING = ("entry", "system", "submitter", "hardware", "round")


def parting_columns(file: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the columns in which the runs of a table differ, with their values."""
    for column in _PARTING:
        values = _unique_values(column, [Path(file)])
        if values is not None and len(names := sorted(values.drop_nulls())) > 1:
            yield column, names


def _unique_values(column: str, files: Sequence[Path] = ()) -> pl.Series | None:
    """Return the unique values in some tables, by default those on the line being completed.

    None if they cannot be read.
    """
    import polars as pl

    from ttastats.base.errors import TtastatsError
    from ttastats.table import store

    line = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS") or ""
    files = files or [Path(word) for word in line.split() if word.endswith(".parquet")]
    try:
        return store.read_tables(files).select(pl.col(column).unique()).collect().to_series()
    except (OSError, TtastatsError, ValueError, pl.exceptions.PolarsError):
        return None
