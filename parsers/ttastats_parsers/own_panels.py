"""Does a table hold a column for each run, as panels of Weights & Biases are exported?"""

from __future__ import annotations

import polars as pl

from ttastats.own_logs.block import Block
from ttastats_parsers.own_rows import Rows

_BETWEEN = " - "
_LIMITS = ("__MIN", "__MAX")


def unpivoted(rows: Rows, block: Block) -> Rows:
    """Give a row for each run where columns are called `run - metric`; `run` is a column then."""
    columns = [
        name
        for name in rows.frame.columns
        if _BETWEEN in name and not name.endswith(_LIMITS) and f"{name}{_LIMITS[0]}" in rows.frame
    ]
    wanted = {metric.name for metric in block.metrics}
    if not columns or wanted & set(rows.frame.columns):
        return rows
    by_run: dict[str, dict[str, pl.Expr]] = {}
    for column in columns:
        run, _, metric = column.rpartition(_BETWEEN)
        if metric != "_step":
            by_run.setdefault(run, {})[metric] = pl.col(column).alias(metric)
    own = {"run", *(metric for metrics in by_run.values() for metric in metrics)}
    shared = [name for name in rows.frame.columns if _BETWEEN not in name and name not in own]
    frame = rows.frame.with_columns(rows.lines.alias("\0line"))
    parts = [
        frame.select("\0line", *shared, pl.lit(run).alias("run"), *metrics.values())
        for run, metrics in by_run.items()
    ]
    if not parts:
        return rows
    whole = pl.concat(parts, how="diagonal_relaxed")
    return Rows(whole.drop("\0line"), whole["\0line"].rename("line"), problems=rows.problems)
