"""Why do runs of one setup differ: epochs to the target, or time per epoch? (Table 4)"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import polars as pl

from ttastats.answers import variance as variance_report
from ttastats.answers.variance import VarianceRow
from ttastats.base import units
from ttastats.output.plots import charts, names, theme
from ttastats.output.plots.material import Material
from ttastats.output.plots.plot import NothingToDrawError, Plot
from ttastats.report.grouping import ENTRY, shown_keys
from ttastats.report.row import of_kind

KIND = "variance"
_STEP = 19.0
#: An end of an interval this close to 0% or 100% excludes nothing that matters.
#: Rows one plot can hold; with more, each benchmark has its own.
_MOST = 30
#: More groups would take long: the report makes an interval for each.
_MOST_GROUPS = 2_000


def plots(material: Material) -> tuple[Plot, ...]:
    """Return one plot of all entries, or one per benchmark where they are many.

    Raises
    ------
    NothingToDrawError
        No entry has runs whose epochs vary.
    """
    if not material.axis.is_time:
        raise NothingToDrawError("the variance plot shows time only", remedy="Remove --in.")
    tables = _tables(material)
    if not tables:
        raise NothingToDrawError(
            "no group has two runs with different numbers of epochs to the target",
            remedy="`ttastats variance FILE` shows the numbers.",
        )
    return tuple(_plot(benchmark, table) for benchmark, table in tables)


def _tables(material: Material) -> list[tuple[str | None, pl.DataFrame]]:
    found = [_rows(material, number) for number in range(len(material.sides))]
    known = [row for rows in found for row in rows]
    if not known:
        return []
    every = pl.DataFrame(known, infer_schema_length=None)
    if every.get_column("benchmark").n_unique() == 1:
        return [(every.get_column("benchmark")[0], every)]
    if every.height <= _MOST:
        return [(None, every)]
    return [(part.get_column("benchmark")[0], part)
            for part in every.partition_by("benchmark", maintain_order=True)]  # fmt: skip


def _rows(material: Material, number: int) -> list[dict[str, Any]]:
    """Return the rows of the report that have shares, with the names of their groups."""
    side = material.sides[number]
    by = material.by or ENTRY
    if side.runs.select(by).unique().height > _MOST_GROUPS:
        return []
    report = variance_report.report(side.runs, by)
    every = of_kind(report.records, VarianceRow)
    rows = [row for row in every if row.share_epochs is not None]
    letter = chr(ord("A") + number) if material.compares else ""
    return [_row(row, label, letter) for row, label in zip(rows, _labels(rows, by), strict=True)]


def _labels(rows: Sequence[VarianceRow], by: Sequence[str]) -> list[str]:
    """Return the groups' names; where there are several benchmarks, with theirs."""
    keys = [key for key in shown_keys(rows, by) if key not in {"benchmark", "suite", "round"}]
    full = [names.label([row.get(key) for key in keys]) if keys else "all runs" for row in rows]
    short = names.short(list(dict.fromkeys(full)))
    return [short[name] for name in full]


def _row(row: VarianceRow, label: str, letter: str) -> dict[str, Any]:
    numbers = (
        "n", "with_epochs", "share_epochs", "share_epochs_low", "share_epochs_high",
        "share_epoch_time", "cv_ratio",
    )  # fmt: skip
    group = f"{letter}: {label}" if letter else label
    about = {"benchmark": row.keys["benchmark"], "entry": row.keys["entry"], "group": group}
    return about | {name: row.get(name) for name in numbers}


def _plot(benchmark: str | None, table: pl.DataFrame) -> Plot:
    kept = table.sort("benchmark", "with_epochs", "share_epochs", descending=[False, True, True])
    kept = kept.head(_MOST).sort("benchmark", "share_epochs", descending=[False, True])
    labels = [
        row["group"] if benchmark is not None else f"{row['benchmark']}: {row['group']}"
        for row in kept.iter_rows(named=True)
    ]
    kept = kept.with_columns(row=pl.Series(labels))
    name = f"variance: {benchmark}"
    title = "Share of epochs in the variance of time-to-accuracy"
    title += f": {benchmark}" if benchmark is not None else ""
    runs = int(kept.get_column("with_epochs").sum())
    left = table.height - kept.height
    caption = (
        f"{units.plural(runs, 'run')} of {units.plural(kept.height, 'group')} whose epochs vary; "
        + (f"{left:,} more groups, with fewer runs, are not shown; " if left else "")
        + "only runs that reached the target. The rest of the variance of log TTA is due "
        "to time per epoch. Shares can be below 0% or above 100% if the two are "
        "correlated. Lines are 95% intervals, shown from 10 runs on and left out where they would "
        "hold nearly every share or a run is unlike the others.",
    )
    chart, height = _chart(name, kept), max(3, kept.height) * _STEP
    said = f"{units.plural(kept.height, 'group')}."
    data = {name: kept}
    return charts.plot(KIND, benchmark, title, caption, chart, data, height=height, described=said)


def _chart(name: str, table: pl.DataFrame) -> Any:
    shares = table.get_column("share_epochs").to_list()
    low = max(-0.5, min(0.0, *table.get_column("share_epochs_low").drop_nulls(), *shares))
    high = min(1.5, max(1.0, *table.get_column("share_epochs_high").drop_nulls(), *shares))
    # Every share is in sight; an interval may go on beyond the frame.
    low, high = min(low, *shares), max(high, *shares)
    title = "share of the variance due to epochs; the rest is due to time per epoch"
    scale = alt.Scale(domain=[low - 0.03, high + 0.05], nice=False)
    step = 0.25 if high - low < 2 else 1.0
    values = [step * n for n in range(-4, 41) if low <= step * n <= high]
    axis = alt.Axis(format=".0%", values=values)
    x = alt.X("share_epochs:Q", title=title, scale=scale, axis=axis)
    y = alt.Y("row:N", title=None, sort=None, axis=alt.Axis(ticks=False, domain=False, grid=True))
    tooltip = charts.tooltips(
        "benchmark:N", "entry:N", ("share_epochs:Q", "epochs", ".1%"),
        ("share_epoch_time:Q", "time per epoch", ".1%"), ("cv_ratio:Q", "CV ratio", ".3~g"),
        ("with_epochs:Q", "runs"),
    )  # fmt: skip
    base = alt.Chart(alt.NamedData(name=name)).encode(y=y, tooltip=tooltip)
    whisker = (
        base.transform_filter("datum.share_epochs_low != null")
        .mark_rule(clip=True, strokeWidth=1.6, strokeOpacity=1)
        .encode(
            x=alt.X("share_epochs_low:Q", title=title),
            x2=alt.X2("share_epochs_high:Q"),
            color=alt.ColorValue(theme.COLOURS[0]),
        )
    )
    point = base.mark_point(filled=True, opacity=1, size=50, clip=True).encode(
        x=x, color=alt.ColorValue(theme.COLOURS[0])
    )
    return (whisker, point)
