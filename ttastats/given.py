"""What was given to answer from: files, a table in memory, or a table of runs?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from ttastats import columns, store, tables, units
from ttastats.conform import conform
from ttastats.errors import TtastatsError
from ttastats.frames import Frame, as_polars, is_frame
from ttastats.records import Problem

#: Files, or a frame of polars or of any library that exchanges its columns.
Source = str | Path | Sequence[str | Path] | pl.DataFrame | pl.LazyFrame | Frame


def tidy(source: Source) -> pl.LazyFrame:
    """Give the table with the columns of the schema.

    Raises
    ------
    TtastatsError
        It is neither files nor a frame, or cannot be used as a table.
    """
    if is_frame(source):
        return conform(as_polars(source), f"the {type(source).__name__}")
    return store.read(paths(source))


def each(source: Source) -> list[Source]:
    """Give the tables of a source one by one: its files, or the frame that it is."""
    return [source] if is_frame(source) else [*paths(source)]


def problems(source: Source) -> list[Problem]:
    """Give everything that was found wrong with what a table was read from.

    Raises
    ------
    TtastatsError
        As `tidy`.
    """
    if is_frame(source):
        return tables.problems_of(tidy(source))
    return [problem for path in paths(source) for problem in store.problems_of(path)]


def judged(source: Source) -> pl.DataFrame | None:
    """Give a table of runs (`time_to_target.runs`), or None if the source is something else.

    Raises
    ------
    TtastatsError
        It is the rows of a report, which do not tell enough.
    """
    if not isinstance(source, pl.DataFrame) or "reached" not in source.columns:
        return None
    if "metric" in source.columns:  # somebody's evaluations with a column of that name
        return None
    if missing := [name for name in columns.of_runs() if name not in source.columns]:
        raise TtastatsError(
            "the rows of a report are not a table of runs: missing columns "
            f"{units.listed(missing, 5)}",
            remedy="Give the file or the frame from which the report was made.",
        )
    return source


def paths(source: Source) -> list[Path]:
    """Give the files that were given; a frame is none.

    Raises
    ------
    TtastatsError
        It is neither.
    """
    if is_frame(source):
        return []
    given: Any = [source] if isinstance(source, str | Path) else source
    try:
        return [Path(path) for path in given]
    except TypeError:
        raise TtastatsError(
            f"neither files nor a table: {type(source).__name__}",
            remedy="Give names of Parquet files, or a frame made by `from_frame`.",
        ) from None
