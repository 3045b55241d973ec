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
    "power",
    "read",
    "runs",
    "scaling",
    "score",
    "summary",
    "targets",
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
            "no run meets the conditions",
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


def power(
    source: Source | None = None,
    *,
    cv: float | None = None,
    n: int | None = None,
    effects: Sequence[float] = (),
    power: float = 0.8,
    by: Sequence[str] = (),
    where: Sequence[str] = (),
    target: Sequence[str] = (),
) -> Report:
    """Report how many runs show a difference, from runs at hand or from a CV (a fraction).

    Raises
    ------
    TtastatsError
        Neither runs nor a CV are given.
    """
    from ttastats.report import power as power_report  # scipy costs start-up time
    from ttastats.report.grouping import ENTRY

    asked = tuple(effects) or power_report.EFFECTS
    if cv is not None:
        return power_report.from_cv(cv, effects=asked, n=n, power=power)
    if source is None:
        raise TtastatsError(
            "neither runs nor a CV to plan from", remedy="Give a file, or --cv 14%."
        )
    table = run_table(source, where=where, target=target)
    keys = _by(by, ENTRY, table)
    return power_report.from_runs(table, keys, effects=asked, n=n, power=power)


def scaling(
    source: Source,
    *,
    by: Sequence[str] = (),
    where: Sequence[str] = (),
    target: Sequence[str] = (),
) -> Report:
    """Report speedup and efficiency over the number of accelerators."""
    from ttastats.report import scaling as scaling_report  # scipy costs start-up time

    table = run_table(source, where=where, target=target)
    return scaling_report.report(table, _by(by, scaling_report.CURVE, table))


def score(source: Source, *, by: Sequence[str] = (), where: Sequence[str] = ()) -> Report:
    """Report the official MLPerf score of each result, raw and scaled, or why there is none."""
    from ttastats.report import score as score_report  # scipy costs start-up time

    table = run_table(source, where=where)
    return score_report.report(table, _by(by, score_report.RESULT, table))


def targets(
    a: Source,
    b: Source | None = None,
    *,
    where: Sequence[str] = (),
    points: int = 9,
    metric: str | None = None,
    labels: Sequence[str] = (),
) -> Report:
    """Report how fraction reached, expected time and speedup depend on the quality target."""
    from ttastats.report import targets as targets_report  # scipy costs start-up time

    sources = [a] if b is None else [a, b]
    names = labels or [_label(source, n) for n, source in enumerate(sources)]
    tables = [read(source, where=where) for source in sources]
    return targets_report.report(
        list(zip(names, tables, strict=True)), points=points, metric=metric
    )


def _by(by: Sequence[str], default: Sequence[str], table: pl.DataFrame) -> tuple[str, ...]:
    select.check_columns(by, table.columns, option="--by")
    return tuple(by or default)


def _label(source: Source, position: int) -> str:
    return str(source) if isinstance(source, str | Path) else chr(ord("A") + position)
