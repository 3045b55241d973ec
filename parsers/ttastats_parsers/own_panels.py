"""Does a table hold a column for each run, as panels of Weights & Biases are exported?"""

from __future__ import annotations

import re
from collections.abc import Sequence

import polars as pl

from ttastats.base.records import Problem
from ttastats.formats.own_logs.block import Block
from ttastats_parsers.own_rows import Rows

_BETWEEN = " - "
_LIMITS = ("__MIN", "__MAX")


def unpivoted(rows: Rows, block: Block) -> Rows:
    """Return a row for each run where columns are called `run - metric`; `run` is a column then."""
    columns = [
        name
        for name in rows.frame.columns
        if _BETWEEN in name
        and not name.endswith(_LIMITS)
        and {f"{name}{limit}" for limit in _LIMITS} <= set(rows.frame.columns)
    ]
    wanted = {metric.name for metric in block.metrics}
    if not columns or wanted & set(rows.frame.columns):
        return rows
    by_run: dict[str, dict[str, pl.Expr]] = {}
    for column in columns:
        run, _, metric = column.rpartition(_BETWEEN)
        by_run.setdefault(run, {})[metric] = pl.col(column).alias(metric)
    own = {"run", *(metric for metrics in by_run.values() for metric in metrics)}
    shared = [name for name in rows.frame.columns if _BETWEEN not in name and name not in own]
    frame = rows.frame.with_columns(rows.lines.alias("\0line"))
    axis = _axis(shared[0]) if shared else None
    if axis is not None and axis not in shared:
        frame = frame.with_columns(pl.col(shared[0]).alias(axis))
        shared.append(axis)
    parts = [
        frame.select("\0line", *shared, pl.lit(run).alias("run"), *metrics.values())
        for run, metrics in by_run.items()
    ]
    whole = pl.concat(parts, how="diagonal_relaxed")
    problems = rows.problems + _averaged(rows.frame, columns)
    return Rows(whole.drop("\0line"), whole["\0line"].rename("line"), problems=problems)


def _averaged(frame: pl.DataFrame, columns: Sequence[str]) -> list[Problem]:
    """Return which columns hold means: of points close together, or of the runs of a group."""
    spread = [
        column
        for column in columns
        if (frame[f"{column}{_LIMITS[0]}"] != frame[f"{column}{_LIMITS[1]}"]).any()
    ]
    if not spread:
        return []
    text = (
        f"{len(spread)} of {len(columns)} columns contain means of several points or of the runs "
        f"of a group, first {spread[0]!r}: each is read as one run"
    )
    return [Problem("averaged", text, "warning")]


def _axis(name: str) -> str | None:
    """Return what the axis of a panel counts, where its name says so: a user chooses any column."""
    words = set(re.findall("[a-z]+", name.lower()))
    if words & {"epoch", "epochs"}:
        return "epoch"
    return "Step" if words & {"step", "steps", "iter", "iters", "iteration", "iterations"} else None
