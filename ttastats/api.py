"""The Python API: each command of the program as one function.

A *source* is a Parquet file, several of them, or a table already in memory; the answer is a
`Report`, whose `rows` and `frame` hold raw numbers: seconds, fractions, None for unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from ttastats import crossing, select, store
from ttastats.errors import TtastatsError
from ttastats.ingestion import Account, ingest
from ttastats.report import runs as runs_report
from ttastats.report.cells import Report

if TYPE_CHECKING:
    from ttastats.comparison import Options
    from ttastats.report.compare import View

Source = str | Path | Sequence[str | Path] | pl.DataFrame | pl.LazyFrame

__all__ = [
    "Account",
    "Report",
    "Source",
    "compare",
    "ingest",
    "read",
    "runs",
    "summary",
    "variance",
]


def read(source: Source, *, where: Sequence[str] = ()) -> pl.LazyFrame:
    """Give the tidy table: one row per run x evaluation x metric.

    Parameters
    ----------
    where
        Conditions such as `benchmark=resnet` or `nodes>=8`; all must hold.

    Raises
    ------
    TtastatsError
        A file cannot be used, or a condition is malformed.
    """
    if isinstance(source, pl.DataFrame | pl.LazyFrame):
        frame = source.lazy()
    else:
        paths = [source] if isinstance(source, str | Path) else source
        frame = store.read([Path(path) for path in paths])
    return select.where(frame, where)


def run_table(
    source: Source, *, where: Sequence[str] = (), target: Sequence[str] = ()
) -> pl.DataFrame:
    """Give one row per run, with `reached` and `tta_seconds`; see `crossing.runs`.

    A table of runs, as this gives it, is taken as it is: its target is settled.

    Raises
    ------
    TtastatsError
        As `read`, or no run is left to speak of.
    """
    if isinstance(source, pl.DataFrame) and "reached" in source.columns:
        return select.where(source.lazy(), where).collect()
    targets = [crossing.parse_target(text) for text in target]
    table = crossing.runs(read(source, where=where), targets)
    if table.is_empty():
        raise TtastatsError(
            "no run meets the conditions" if where else "the table holds no run",
            where=" ".join(f"--where {condition}" for condition in where) or None,
            remedy="`ttastats runs FILE` shows what there is.",
        )
    return table


def runs(source: Source, *, where: Sequence[str] = (), target: Sequence[str] = ()) -> Report:
    """Report every run: did it reach the target, when, and how far had it trained?"""
    return runs_report.report(run_table(source, where=where, target=target))


def summary(
    source: Source,
    *,
    by: Sequence[str] = (),
    where: Sequence[str] = (),
    target: Sequence[str] = (),
    ddof: int = 1,
) -> Report:
    """Report each group: how many reached, mean time-to-accuracy, coefficient of variation."""
    from ttastats.report import summary as summary_report  # scipy costs start-up time
    from ttastats.report.grouping import ENTRY

    table = run_table(source, where=where, target=target)
    return summary_report.report(table, _by(by, ENTRY, table), ddof=ddof)


def variance(
    source: Source,
    *,
    by: Sequence[str] = (),
    where: Sequence[str] = (),
    target: Sequence[str] = (),
    ddof: int = 1,
) -> Report:
    """Report why runs of one group differ: epochs to the target, or time per epoch."""
    from ttastats.report import variance as variance_report  # scipy costs start-up time
    from ttastats.report.grouping import ENTRY

    table = run_table(source, where=where, target=target)
    return variance_report.report(table, _by(by, ENTRY, table), ddof=ddof)


def compare(
    a: Source,
    *others: Source,
    by: Sequence[str] = (),
    where: Sequence[str] = (),
    target: Sequence[str] = (),
    labels: Sequence[str] = (),
    options: Options | None = None,
    view: View | None = None,
) -> Report:
    """Report whether B is faster than A to the target, by how much, why, and how sure.

    Parameters
    ----------
    others
        One or more tables, each judged against `a`.
    labels
        Names for `a` and each of the others.
    """
    from ttastats.report import compare as compare_report  # scipy costs start-up time
    from ttastats.report.grouping import BENCHMARK

    tables = [run_table(source, where=where, target=target) for source in (a, *others)]
    names = labels or [_label(source, n) for n, source in enumerate((a, *others))]
    named = list(zip(names, tables, strict=True))
    keys = _by(by, BENCHMARK, tables[0])
    return compare_report.report(named[0], named[1:], keys, options, view)


def _by(by: Sequence[str], default: Sequence[str], table: pl.DataFrame) -> tuple[str, ...]:
    select.check_columns(by, table.columns, option="--by")
    return tuple(by or default)


def _label(source: Source, position: int) -> str:
    return str(source) if isinstance(source, str | Path) else chr(ord("A") + position)
