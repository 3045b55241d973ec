"""Why do runs of one setup differ: epochs to the target, or time per epoch? (Table 4)"""

from __future__ import annotations

from typing import Any

import polars as pl

from ttastats.answers import variance as variance_report
from ttastats.answers.variance import VarianceRow
from ttastats.base import units
from ttastats.output.plots import charts
from ttastats.output.plots.material import Material
from ttastats.output.plots.plot import Plot, refuse_if
from ttastats.report import fitting
from ttastats.report.grouping import ENTRY, shown_keys
from ttastats.report.row import expect_kind

KIND = "variance"
_STEP = 19.0
#: Rows one plot can hold; with more, each benchmark has its own.
_MOST = 30
#: More groups would take long: the report makes an interval for each.
_MOST_GROUPS = 2_000
_NUMBERS = (
    "n", "with_epochs", "share_epochs", "share_epochs_low", "share_epochs_high",
    "share_epoch_time", "cv_ratio",
)  # fmt: skip


def variance_plots(material: Material) -> tuple[Plot, ...]:
    """Return one plot of all entries, or one per benchmark if they are many."""
    refuse_if(not material.axis.is_time, "the variance plot shows time only", "Remove --in.")
    by, shown = material.by or ENTRY, list[dict[str, Any]]()
    for number, side in enumerate(material.sides):
        if side.runs.select(by).unique().height > _MOST_GROUPS:
            continue
        every = expect_kind(variance_report.report(side.runs, by).records, VarianceRow)
        rows = [row for row in every if row.share_epochs is not None]
        keys = [key for key in shown_keys(rows, by) if key not in {"benchmark", "suite", "round"}]
        groups = fitting.short_labels([row.get(key) for key in keys] for row in rows)
        shown += [
            {"benchmark": row.keys["benchmark"], "entry": row.keys["entry"]}
            | {"group": f"{chr(ord('A') + number)}: {group}" if material.compares else group}
            | {name: row.get(name) for name in _NUMBERS}
            for row, group in zip(rows, groups, strict=True)
        ]
    refuse_if(
        not shown,
        "no group has two runs with different numbers of epochs to the target",
        "`ttastats variance FILE` shows the numbers.",
    )
    table = pl.DataFrame(shown, infer_schema_length=None)
    several = table["benchmark"].n_unique() > 1
    if several and table.height <= _MOST:
        return (_variance_plot(None, table),)
    parts = table.partition_by("benchmark", maintain_order=True)
    return tuple(_variance_plot(part["benchmark"][0], part) for part in parts)


def _variance_plot(benchmark: str | None, table: pl.DataFrame) -> Plot:
    shown = table.sort("benchmark", "with_epochs", "share_epochs", descending=[False, True, True])
    shown = shown.head(_MOST).sort("benchmark", "share_epochs", descending=[False, True])
    group = pl.col("group") if benchmark is not None else pl.format("{}: {}", "benchmark", "group")
    shown = shown.with_columns(row=group)
    title = "Share of epochs in the variance of time-to-accuracy"
    title += f": {benchmark}" if benchmark is not None else ""
    runs, groups = int(shown["with_epochs"].sum()), units.plural(shown.height, "group")
    left, verb = table.height - shown.height, "is" if table.height - shown.height == 1 else "are"
    more = f"{units.plural(left, 'more group')}, with fewer runs, {verb} not shown; "
    caption = (
        f"{units.plural(runs, 'run')} of {groups} whose epochs vary; {more if left else ''}"
        "only runs that reached the target. The rest of the variance of log TTA is due "
        "to time per epoch. Shares can be below 0% or above 100% if the two are "
        "correlated. Lines are 95% intervals, shown from 10 runs on and left out where they would "
        "hold nearly every share or a run is unlike the others.",
    )
    # Every share is in sight; an interval may go on beyond the frame.
    shares = shown["share_epochs"].to_list()
    low = min(*shares, max(-0.5, min(0.0, *shown["share_epochs_low"].drop_nulls(), *shares)))
    high = max(*shares, min(1.5, max(1.0, *shown["share_epochs_high"].drop_nulls(), *shares)))
    step = 0.25 if high - low < 1.2 else 0.5 if high - low < 3 else 1.0
    values = [step * n for n in range(-4, 41) if low <= step * n <= high]
    across = "share of the variance due to epochs; the rest is due to time per epoch"
    scale, name = {"domain": [low - 0.03, high + 0.05], "nice": False}, f"variance: {benchmark}"
    ticks = {"format": ".0%", "values": values}
    base = charts.table_view(name).encode(
        x=charts.position("share_epochs", across, scale, ticks),
        y=charts.rows_by_name("row"),
        color=charts.BLUE,
        tooltip=[
            "benchmark:N", "entry:N", ("share_epochs:Q", "epochs", ".1%"),
            ("share_epoch_time:Q", "time per epoch", ".1%"), ("cv_ratio:Q", "CV ratio", ".3~g"),
            ("with_epochs:Q", "runs"),
        ],
    )  # fmt: skip
    ends = ("share_epochs_low", "share_epochs_high")
    layers = base.interval("x", ends, across), base.points(50, clip=True)
    return charts.make_plot(
        KIND, benchmark, title, caption, layers, {name: shown},
        height=max(3, shown.height) * _STEP, described=f"{groups}.",
    )  # fmt: skip
