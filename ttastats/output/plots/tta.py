"""How long did each run take to its target? Every run a dot, the mean with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from msgspec import structs

from ttastats.base import percentages, units
from ttastats.output.plots import axes, charts, theme
from ttastats.output.plots.curves import evenly_spaced
from ttastats.output.plots.material import MOST_RUNS, OTHERS, Material, Panel
from ttastats.output.plots.plot import Plot, expect_plots
from ttastats.sides.design.side import setup_names

KIND = "tta"
#: Dots of one row are spread over this share of it, so that equal times can be counted.
_SPREAD = 0.4
#: Where dots and means stand across a row: neither hides the other.
_DOTS, _MEAN = -0.12, 0.34
#: The size of a series that pools several, before all others.
_MIXED = 0
#: Dots nearer than this are stacked, in so many steps on each side.
_NEAR, _LEVELS = 0.012, 4
_STEP = 19.0
#: An interval that goes on below this share of its mean, or below 0, is cut by the frame.
_FARTHEST = 4.0


def tta_plots(material: Material) -> tuple[Plot, ...]:
    """Return one plot per benchmark with every run as a dot."""
    level = percentages.percent_text(material.options.confidence)
    timed = [
        (panel, charts.table_of_runs(panel).filter(pl.col("observed_seconds") > 0))
        for panel in material.panels
    ]
    drawn = (_tta_plot(panel, runs, level) for panel, runs in timed if runs.height)
    return expect_plots(drawn, f"no run logs its {material.axis.to_target}")


def _tta_plot(panel: Panel, timed: pl.DataFrame, level: str) -> Plot:
    dots, thinned = _thin_runs(timed)
    dots = dots.with_columns(offset=_dot_offsets(dots))
    means = _mean_table(panel)
    # The axis holds the ends of the intervals: a low one not far below its mean.
    low = pl.max_horizontal("low", pl.col("mean") / _FARTHEST)
    ends = means.filter(pl.col("reached_runs") > 1).select(low.alias("low"), "high").drop_nulls()
    of = panel.axis
    times = [*timed["observed_seconds"], *ends["low"], *ends["high"]]
    axis = axes.amount_axis(times, of, of.to_target)
    names = (charts.runs_table_name(panel), f"{of.mean}: {panel.name}")
    untimed = panel.runs.height - timed.height
    setups = panel.runs.select("series", setup=setup_names(panel.runs)).unique()
    pools = setups.height > setups.get_column("series").n_unique()
    needs = "its time is longer" if of.is_time else "the target is further"
    caption = (
        panel.counts_text,
        f"Not shown: {units.plural(untimed, 'run')} without {'' if of.progress else 'a '}{of.noun}."
        if untimed
        else "",
        thinned,
        "Each dot is a run; the vertical offset only separates dots.",
        ""
        if timed.get_column("reached").all()
        else f"A cross is a failed run (right-censored): it stopped there, {needs}.",
        f"The bar is the mean of the runs that reached the target, the line its {level} t interval"
        f"{', by setup where a row pools several' if pools else ''}."
        if any(series.reached > 1 for series in panel.series)
        else "",
    )
    sizes, places = _size_headings(panel)
    dots, means = (table.join(places, on="order", how="left", maintain_order="left")
                   for table in (dots, means))  # fmt: skip
    of_sizes = f"sizes: {panel.name}" if sizes.height else ""
    chart = _tta_chart(panel, axis, names, of_sizes, level, mean=means.height > 0)
    headings = sizes.get_column("series").n_unique() if of_sizes else 0
    height = max(3, len(panel.series) + headings) * _STEP
    title = f"{charts.sentence_case(of.to_target)}: {panel.title}"
    data = dict(zip(names, (dots, means), strict=True)) | ({of_sizes: sizes} if of_sizes else {})
    return charts.make_plot(KIND, panel, title, caption, chart, data, height=height)


def _size_headings(panel: Panel) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the headings of sizes above the series, and the row of each series.

    Without headings, where there is one size or sides are compared, the order is the place.
    """
    size = pl.col("accelerators")
    only = pl.when(size.n_unique() == 1).then(size.first()).otherwise(_MIXED).alias("size")
    series = panel.runs.group_by("order", maintain_order=True).agg(only).sort("order")
    if len(panel.sides) > 1 or series.get_column("size").n_unique() == 1:
        return pl.DataFrame(), series.select("order", place=pl.col("order").cast(pl.Float64))
    ordered = series.sort("size", "order", nulls_last=True).with_row_index("place")
    places = ordered.select("order", pl.col("place").cast(pl.Float64))
    words = {None: "size unknown", _MIXED: "several sizes"}
    names = [words.get(n) or units.plural(n, "accelerator") for n in ordered["size"]]
    place, named = pl.col("place").min().over("size") - 0.5, pl.Series(names, dtype=pl.String)
    headings = panel.with_owners(ordered.select("order", place=place, series=named))
    return headings.select("order", "place", "benchmark", "series", "system", "entry"), places


#: Headings among the names of the rows.
_HEADING = r"test(/^([\d,]+ accelerators?|several sizes|size unknown)$/, datum.label)"


#: The columns of means, those of `Series` after the first.
_MEANS = pl.Schema(
    {
        "order": pl.Int32(), "series": pl.String(), "n": pl.Int64(), "reached_runs": pl.Int64(),
        "mean": pl.Float64(), "low": pl.Float64(), "high": pl.Float64(),
    }
)  # fmt: skip


def _mean_table(panel: Panel) -> pl.DataFrame:
    """Return mean and interval of each series in which a run reached the target."""
    rows = [(order, *structs.astuple(one)) for order, one in enumerate(panel.series)]
    means = pl.DataFrame(rows, _MEANS, orient="row").drop_nulls("mean")
    columns = ("benchmark", "system", "entry", "series", "order", "mean", "low", "high", "n")
    return panel.with_owners(means).select(*columns, "reached_runs")


def _thin_runs(timed: pl.DataFrame) -> tuple[pl.DataFrame, str]:
    """Return evenly spaced runs of each series if there are too many, and a text on that."""
    if timed.height <= MOST_RUNS:
        return timed, ""
    each = max(5, MOST_RUNS // timed.get_column("order").n_unique())
    ordered = timed.sort("order", "reached", "observed_seconds")
    drawn = ordered.filter(evenly_spaced(each, ["order", "reached"]))
    return drawn, f"{drawn.height:,} of {timed.height:,} dots are drawn, evenly spaced by rank."


def _dot_offsets(dots: pl.DataFrame) -> pl.Series:
    """Return the vertical offset of each dot in its row, -0.5 to 0.5."""
    times, order = dots["observed_seconds"].log().to_numpy(), dots["order"].to_numpy()
    offsets, span = np.zeros(dots.height), float(np.ptp(times)) or 1.0
    for row in np.unique(order):
        here = np.flatnonzero(order == row)
        offsets[here] = _stack_dots(times[here] / span)
    return pl.Series(offsets + _DOTS).round(3)


def _stack_dots(places: Any) -> Any:
    """Return the offsets of dots, those too near stacked: 0, +1, -1, +2, ... steps."""
    offsets = np.zeros(places.size)
    last: list[float] = []
    step = _SPREAD / (2 * _LEVELS)
    for index in np.argsort(places, kind="stable"):
        level = next((n for n, at in enumerate(last) if places[index] - at > _NEAR), len(last))
        if level == len(last):
            last.append(0.0)
        last[level] = places[index]
        side = 1 if level % 2 else -1
        offsets[index] = side * ((level + 1) // 2 % (_LEVELS + 1)) * step
    return offsets


def _tta_chart(
    panel: Panel, axis: axes.TimeAxis, names: Sequence[str], sizes: str, level: str, *, mean: bool
) -> charts.Drawn:
    bold = {"condition": {"test": _HEADING, "value": 600}, "value": 400}
    rows = charts.row_channel("series", grid=True, labelFontWeight=bold)
    rows["sort"] = {"field": "place", "op": "min"}
    places = {"x": charts.x_channel(axis), "y": rows}
    across = {"domain": [-0.5, 0.5]}
    # A colour that the names beside the rows explain; of many rows it would mean nothing.
    color: Any = {"value": theme.COLOURS[0]}
    if OTHERS not in panel.coloured_labels:
        color, *_ = charts.series_channels(panel.coloured_labels, key=False)
    base = charts.table_view(
        names[0], at=axis.field_expression("observed_seconds"), **charts.run_descriptions(panel)
    )
    each = base.encode(
        **places,
        yOffset=charts.field_channel("offset:Q", scale=across),
        color=color,
        tooltip=charts.run_tooltip(),
    )
    runs: tuple[charts.View, ...] = (
        charts.point_layer(each.where("datum.reached"), 26, fillOpacity=0.65),
        charts.cross_layer(each, 26, strokeWidth=1.4),
    )
    if sizes:
        runs = (*runs, charts.table_view(sizes).mark("point", opacity=0).encode(y=rows))
    if not mean:
        return runs
    of = panel.axis
    low, high = axes.amount_expression("datum.low", of), axes.amount_expression("datum.high", of)
    tooltip = charts.tooltip_channels(
        ("series:N", "runs of"), ("said:N", of.mean), ("interval:N", f"{level} interval"),
        ("reached_runs:Q", "reached"), ("n:Q", "of"),
    )  # fmt: skip
    # The mean of one run is that run.
    means = charts.table_view(
        names[1],
        "datum.reached_runs > 1",
        at=axis.field_expression("mean"),
        from_=f"max({axis.field_expression('low')}, {axis.scale['domain'][0]})",
        to=axis.field_expression("high"),
        said=axes.amount_expression("datum.mean", of),
        lane=f"{_MEAN}",
        interval=f"datum.low == null ? 'needs 2 runs' : ({low}) + ' to ' + ({high})",
    ).encode(**places, yOffset=charts.field_channel("lane:Q", scale=across), tooltip=tooltip)
    ends, known = ("from_", "to"), "datum.low != null"
    interval = charts.interval_layer(means, "x", ends, axis.title, where=known, style="mean")
    bar = means.mark("point", style="mean", shape=theme.MEAN_SHAPE, size=36, filled=False)
    return (interval, bar, *runs)
