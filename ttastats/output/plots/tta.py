"""How long did each run take to its target? Every run a dot, drawn or as a line of text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import polars as pl

from ttastats.base import percentages, units
from ttastats.outcomes import aims
from ttastats.output.plots import axes, charts, solved, theme
from ttastats.output.plots.curves import evenly_spaced
from ttastats.output.plots.material import MOST_RUNS, OTHERS, Material, Panel
from ttastats.output.plots.plot import Plot, expect_plots
from ttastats.report import pictures
from ttastats.sides.design import setup_names

KIND = "tta"
#: Dots of one row are spread over this share of it, so that equal times can be counted.
_SPREAD = 0.4
#: Where dots and means stand across a row: neither hides the other.
_DOTS, _MEAN = -0.12, 0.34
#: The size of a series that pools several, before all others.
_MIXED = 0
#: Headings of sizes among the names of the rows.
_HEADING = r"test(/^([\d,]+ accelerators?|several sizes|size unknown)$/, datum.label)"
#: Dots nearer than this are stacked, in so many steps on each side.
_NEAR, _LEVELS = 0.012, 4
_STEP = 19.0
#: An interval that goes on below this share of its mean is cut by the frame.
_FARTHEST = 4.0


def tta_plots(material: Material) -> tuple[Plot, ...]:
    """Return one plot per benchmark with every run as a dot."""
    level = percentages.percent_text(material.confidence)
    aimed = [panel for panel in material.panels if not panel.is_aimless]
    unlogged = f"no run logs its {material.axis.to_target}"
    why = unlogged if aimed else aims.advice(*(panel.runs for panel in material.panels)).text
    return expect_plots(filter(None, (_tta_plot(panel, level) for panel in aimed)), why)


def _tta_plot(panel: Panel, level: str) -> Plot | None:
    """Return the plot of a panel, None if no run of it has a time."""
    of_runs, all_runs = charts.runs_table(panel)
    timed = all_runs.filter(pl.col("observed_seconds") > 0)
    if timed.is_empty():
        return None
    dots, thinned = timed, ""
    if timed.height > MOST_RUNS:
        most = max(5, MOST_RUNS // timed["order"].n_unique())
        ordered = timed.sort("order", "reached", "observed_seconds")
        dots = ordered.filter(evenly_spaced(most, ["order", "reached"]))
        thinned = f"{dots.height:,} of {timed.height:,} dots are drawn, evenly spaced by rank."
    dots = dots.with_columns(offset=_dot_offsets(dots))
    means = panel.with_owners(panel.series.drop_nulls("mean")).select(
        "benchmark", "system", "entry", "series", "order", "mean", "low", "high", "n",
        "reached_runs",
    )  # fmt: skip
    # The axis holds the ends of the intervals: a low one not far below its mean.
    low = pl.max_horizontal("low", pl.col("mean") / _FARTHEST)
    ends = means.select(low.alias("low"), "high").drop_nulls()
    unit = panel.axis
    times = [*timed["observed_seconds"], *ends["low"], *ends["high"]]
    sizes, row_table = _size_headings(panel)
    tables = {of_runs: dots, f"{unit.mean}: {panel.name}": means}
    data = {
        name: table.join(row_table, on="order", how="left", maintain_order="left")
        for name, table in tables.items()
    } | ({f"sizes: {panel.name}": sizes} if sizes.height else {})
    headings = sizes["series"].n_unique() if sizes.height else 0
    layers = _tta_layers(panel, axes.amount_axis(times, unit, unit.to_target), data, level)
    title = charts.sentence_case(unit.to_target)
    height = max(3, panel.series.height + headings) * _STEP
    caption = [*_mark_texts(panel, timed, thinned, level)]
    return charts.make_plot(KIND, panel, title, caption, layers, data, height=height)


def _mark_texts(panel: Panel, timed: pl.DataFrame, thinned: str, level: str) -> Iterator[str]:
    """Yield texts on hidden runs and the meaning of the marks."""
    unit, untimed = panel.axis, panel.runs.height - timed.height
    if untimed:
        noun = unit.noun if unit.progress else f"a {unit.noun}"
        yield f"Not shown: {units.plural(untimed, 'run')} without {noun}."
    yield thinned
    yield "Each dot is a run; the vertical offset only separates dots."
    if not timed["reached"].all():
        needs = "its time is longer" if unit.is_time else "the target is further"
        yield f"A cross is a failed run (right-censored): it stopped there, {needs}."
    if (panel.series["reached_runs"] > 1).any():
        setups = panel.runs.select("series", setup=setup_names(panel.runs)).unique()
        pools = setups.height > setups["series"].n_unique()
        yield (
            f"The bar is the mean of the runs that {unit.success}, the line its {level} "
            f"t interval{', by setup where a row pools several' if pools else ''}."
        )


def _size_headings(panel: Panel) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the headings of sizes above the series, and the row of each series.

    Without headings, where there is one size or sides are compared, the order is the place.
    """
    size = pl.col("accelerators")
    only = pl.when(size.n_unique() == 1).then(size.first()).otherwise(_MIXED).alias("size")
    series = panel.runs.group_by("order").agg(only).sort("order")
    if panel.compares or series["size"].n_unique() == 1:
        return pl.DataFrame(), series.select("order", place=pl.col("order").cast(pl.Float64))
    ordered = series.sort("size", "order", nulls_last=True).with_row_index("place")
    row_table = ordered.select("order", pl.col("place").cast(pl.Float64))
    words = {None: "size unknown", _MIXED: "several sizes"}
    names = [words.get(n) or units.plural(n, "accelerator") for n in ordered["size"]]
    heading_row = pl.col("place").min().over("size") - 0.5
    heading_names = pl.Series(names, dtype=pl.String)
    headings = panel.with_owners(ordered.select("order", place=heading_row, series=heading_names))
    return headings.select("order", "place", "benchmark", "series", "system", "entry"), row_table


def _dot_offsets(dots: pl.DataFrame) -> pl.Series:
    """Return the vertical offset of each dot in its row, -0.5 to 0.5.

    Dots too near to others are stacked: 0, +1, -1, +2, ... steps.
    """
    times, order = dots["observed_seconds"].log().to_numpy(), dots["order"].to_numpy()
    offsets, near = np.zeros(dots.height), _NEAR * (float(np.ptp(times)) or 1.0)
    for row in np.unique(order):
        members = np.flatnonzero(order == row)
        last: list[float] = []
        for index in members[np.argsort(times[members], kind="stable")]:
            at = float(times[index])
            level = next((n for n, end in enumerate(last) if at - end > near), len(last))
            last[level : level + 1] = [at]
            step = (level + 1) // 2 % (_LEVELS + 1) * _SPREAD / (2 * _LEVELS)
            offsets[index] = step if level % 2 else -step
    return pl.Series(offsets + _DOTS).round(3)


def _tta_layers(
    panel: Panel, axis: axes.AmountAxis, data: Mapping[str, pl.DataFrame], level: str
) -> list[charts.View]:
    bold = {"condition": {"test": _HEADING, "value": 600}, "value": 400}
    rows = charts.rows_by_name("series", labelFontWeight=bold)
    rows["sort"] = {"field": "place", "op": "min"}
    encodings = {"x": axis.x(), "y": rows}
    across = {"domain": [-0.5, 0.5]}
    # A colour that the names beside the rows explain; of many rows it would mean nothing.
    color: Any = charts.BLUE
    if OTHERS not in panel.coloured_labels:
        color, *_ = charts.series_channels(panel.coloured_labels, key=False)
    of_runs, of_means, *of_sizes = data
    dots = charts.table_view(of_runs, at=axis.field_expression("observed_seconds"))
    dots = dots.encode(**encodings, yOffset=charts.field("offset:Q", scale=across), color=color)
    dots = charts.with_run_tooltip(dots, panel)
    layers = [
        dots.where("datum.reached").points(26, fillOpacity=0.65),
        dots.crosses(26, strokeWidth=1.4),
        *(charts.table_view(name).mark("point", opacity=0).encode(y=rows) for name in of_sizes),
    ]
    if data[of_means].is_empty():
        return layers
    unit = panel.axis
    low, high, mean = (
        axes.amount_expression(f"datum.{end}", unit) for end in ("low", "high", "mean")
    )
    tooltip = [
        ("series:N", "runs of"), ("said:N", unit.mean), ("interval:N", f"{level} interval"),
        ("reached_runs:Q", "reached"), ("n:Q", "of"),
    ]  # fmt: skip
    # The mean of one run is that run.
    means = charts.table_view(
        of_means,
        "datum.reached_runs > 1",
        at=axis.field_expression("mean"),
        from_=f"max({axis.field_expression('low')}, {axis.scale['domain'][0]})",
        to=axis.field_expression("high"),
        said=mean,
        lane=f"{_MEAN}",
        interval=f"datum.low == null ? 'needs 2 runs' : ({low}) + ' to ' + ({high})",
    ).encode(**encodings, yOffset=charts.field("lane:Q", scale=across), tooltip=tooltip)
    return [
        means.interval("x", "from_", "to", "datum.low != null", style="mean"),
        means.mark("point", style="mean", shape=theme.MEAN_SHAPE, size=36, filled=False),
        *layers,
    ]


#: The kinds that a line of text can show.
KINDS = (KIND, solved.SOLVED)


def text_plot(material: Material, *, width: int) -> Iterator[str]:
    """Yield the runs of each benchmark as text, a line per series, failed runs as crosses."""
    for panel in material.panels:
        timed = panel.runs.filter(pl.col("observed_seconds") > 0)
        if timed.is_empty():
            continue
        times, unit = timed["observed_seconds"].sort(), panel.axis.unit
        low, high = times[0], times[-1]
        margin = min(34, max(map(len, panel.series["series"])))
        room = max(20, width - margin - 24)
        yield f"{charts.sentence_case(panel.axis.to_target)}: {panel.title}"
        for _, label, n, reached, average, *_ in panel.series.iter_rows():
            runs = timed.filter(series=label)
            if runs.is_empty():
                continue
            done, failed = (runs.filter(reached=x)["observed_seconds"] for x in (True, False))
            dots = pictures.draw_strip(done.to_list(), failed.to_list(), low, high, room)
            mean = "–" if average is None else units.amount(average, unit)
            yield f"{label[:margin]:<{margin}}  {dots}  {reached}/{n}  mean {mean}"
        low_label, high_label = units.amount(low, unit), units.amount(high, unit)
        yield f"{'':<{margin}}  {low_label}{high_label.rjust(room - len(low_label))}"
        yield panel.counts_text
        yield ""
