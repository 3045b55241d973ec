"""How many of the runs are done by when? The share that reached the target, over time."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from ttastats.output.plots import axes, charts
from ttastats.output.plots.material import Material, Panel
from ttastats.output.plots.plot import Plot, expect_plots
from ttastats.report.fitting import NAME

KIND = "solved"
#: Fewer runs make no distribution.
_FEWEST = 3
_STEPS = 200
#: The height of the name of a line, as a share of that of the lines.
_LEVEL = 0.085
#: The pixels left of the axis that a name above it may take.
_BESIDE = 40
#: Times in a smaller ratio stand on a linear axis, which is hardly another.
_LOG_FROM = 1.5


def solved_plots(material: Material) -> tuple[Plot, ...]:
    """Return one plot per benchmark that has a series of three runs, of which one reached."""
    drawn = (
        _solved_plot(panel)
        for panel in material.panels
        if panel.series.filter(pl.col("n") >= _FEWEST, pl.col("reached_runs") > 0).height
    )
    none = f"a distribution needs {_FEWEST} runs of one setup"
    return expect_plots(drawn, none, "`ttastats runs FILE` lists the runs.")


def _solved_table(panel: Panel) -> pl.DataFrame:
    """Return the steps of each series: the `share` of its runs done within `seconds`.

    A series ends where its longest run does, so that a flat end shows how long it was watched.
    Runs that failed count among all and never reach, so they keep the share below 1. That is no
    Kaplan-Meier curve on purpose: it would take a run that stopped early, diverged or out of its
    budget, for one that would have reached as the others did, and end at 1 where the slowest run
    is a success although a fifth of the runs failed.
    """
    series = []
    types = {"seconds": pl.Float64, "done": pl.Int64}
    for runs in panel.runs.partition_by("order", maintain_order=True):
        if runs.height < _FEWEST:
            continue
        times = np.sort(runs["tta_seconds"].filter(runs["reached"]).to_numpy())
        places = np.arange(1, times.size + 1)
        if times.size > _STEPS:
            thinned = np.unique(np.linspace(0, times.size - 1, _STEPS).round().astype(int))
            times, places = times[thinned], places[thinned]
        longest = runs["observed_seconds"].max()
        end = float(longest) if isinstance(longest, float) else 0.0
        seconds, done = [end / 100, end], [0, 0]
        if times.size:
            seconds, done = [times[0], *times, end], [0, *places, places[-1]]
        steps = pl.DataFrame({"seconds": seconds, "done": done}, types).select(
            "seconds", "done", (pl.col("done") / runs.height).alias("share"),
            *(pl.lit(runs[name][0]).alias(name) for name in ("order", "series", "colour")),
            pl.lit(runs.height).alias("n"),
        )  # fmt: skip
        series.append(steps)
    # What is drawn later lies above: the fastest, which have a colour, last.
    return panel.with_owners(pl.concat(series[::-1]))


def _line_ends(steps: pl.DataFrame, axis: axes.AmountAxis) -> pl.DataFrame:
    """Return the ends of coloured lines with the height of their labels.

    A name begins (`left`) or ends where its line does. Those that begin stand lowest, the last to
    end first, so that what joins a line with its name crosses few of the others.
    """
    low, high = (float(end) * axis.divisor for end in axis.scale["domain"])
    middle = (low * high) ** 0.5 if axis.scale.get("type") == "log" else (low + high) / 2
    at = pl.col("seconds")
    lasts = steps.group_by("series", maintain_order=True).agg(pl.all().last())
    ends = lasts.filter(pl.col("colour") == pl.col("series")).with_columns(left=at < middle)
    rank = pl.when("left").then(-at).otherwise(at)
    ordered = ends.sort(~pl.col("left"), rank, "series")
    level = 1 + _LEVEL * (pl.int_range(pl.len()) + 0.6)
    return ordered.with_columns(pl.col("series").alias(NAME), level=level)


def _solved_plot(panel: Panel) -> Plot:
    steps, unit = _solved_table(panel), panel.axis
    axis = axes.amount_axis(steps["seconds"], unit, unit.noun, log_from=_LOG_FROM)
    ends = _line_ends(steps, axis)
    few = int((panel.series["n"] < _FEWEST).sum())
    caption = (
        panel.counts_text,
        panel.highlighted_text,
        "Each line is the fraction of runs that reached the target (empirical distribution "
        "function).",
        ""
        if panel.runs["reached"].all()
        else "Failed runs are included, so their lines stay below 100%.",
        f"Not drawn: {few} with fewer than {_FEWEST} runs." if few else "",
        f"Lines of more than {_STEPS} runs are drawn with {_STEPS} steps."
        if (panel.series["reached_runs"] > _STEPS).any()
        else "",
    )
    color, _, dash = charts.series_channels(panel.coloured_labels, key=False)
    up, height = "runs that reached the target", 1 + _LEVEL * ends.height
    scale: dict[str, Any] = {"domain": [0, height], "nice": False}
    shares = {"format": ".0%", "values": [0, 0.25, 0.5, 0.75, 1], "titleAnchor": "start"}
    y = charts.position("share", up, scale, shares)
    places = {"x": axis.x(), "y": y, "color": color}
    at, time = axis.field_expression("seconds"), axes.amount_expression("datum.seconds", unit)
    data = {f"solved: {panel.name}": steps, f"ends of solved: {panel.name}": ends}
    of_steps, of_ends = data
    tooltip = [("series:N", "runs of"), ("time:N", "within"), ("runs:N", "reached")]
    lines = (
        charts.table_view(of_steps, at=at, time=time, runs="datum.done + ' of ' + datum.n")
        .encode(**places, strokeDash=dash, detail="series:N", tooltip=tooltip)
        .mark("line", interpolate="step-after", strokeWidth=1.5, strokeOpacity=0.9)
    )
    last = charts.table_view(of_ends, at=at)
    joins = last.encode(**places, y2="level").mark("rule", strokeWidth=0.7, strokeOpacity=0.8)
    text = last.encode(x=axis.x(), y=charts.field("level:Q", title=up, scale=scale))
    # Names have so many pixels, of the place where their line ends.
    rooms = (
        ("datum.left", "left", 4, "width - scale('x', datum.at)"),
        ("!datum.left", "right", -4, f"scale('x', datum.at) + {_BESIDE}"),
    )
    labels = (
        text.where(which).labels(NAME, align=side, dx=dx, baseline="middle", limit={"expr": room})
        for which, side, dx, room in rooms
    )
    title = f"Fraction of runs at the target over {unit.noun}: {panel.title}"
    layers = (joins, lines, *labels)
    return charts.make_plot(KIND, panel, title, caption, layers, data, height=190.0 * height)
