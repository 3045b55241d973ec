"""How long did each run take to its target? Every run a dot, the mean with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np
import polars as pl

from ttastats.base import percentages, units
from ttastats.outcomes.axis import Axis
from ttastats.output.plots import axes, charts, theme
from ttastats.output.plots.curves import evenly
from ttastats.output.plots.material import MOST_RUNS, Material, Panel
from ttastats.output.plots.plot import NothingToDrawError, Plot
from ttastats.sides.design.side import setup_names

KIND = "tta"
#: Dots of one row are spread over this share of it, so that equal times can be counted.
_SPREAD = 0.62
#: Dots nearer than this are stacked, in so many steps on each side.
_NEAR, _LEVELS = 0.012, 4
_STEP = 19.0
#: An interval that goes on below this share of its mean, or below 0, is cut by the frame.
_FARTHEST = 4.0


def plots(material: Material) -> tuple[Plot, ...]:
    """Return one plot per benchmark.

    Raises
    ------
    NothingToDrawError
        No run has a time.
    """
    level = percentages.text(material.options.confidence)
    found = tuple(_plot(panel, level) for panel in material.panels if _timed(panel).height)
    if not found:
        raise NothingToDrawError(f"no run logs its {material.axis.to_target}")
    return found


def _timed(panel: Panel) -> pl.DataFrame:
    return charts.table_of_runs(panel).filter(pl.col("observed_seconds") > 0)


def _plot(panel: Panel, level: str) -> Plot:
    timed = _timed(panel)
    dots, said = _thinned(timed)
    dots = dots.with_columns(offset=_offsets(dots))
    means = mean_table(panel)
    times = [*timed.get_column("observed_seconds"), *_ends(means)]
    of = panel.axis
    axis = axes.amount_axis(times, of, of.to_target)
    names = (charts.runs_name(panel), f"{of.mean}: {panel.name}")
    title = f"{charts.opening(of.to_target)}: {panel.title}"
    untimed = panel.runs.height - timed.height
    caption = (
        panel.counted,
        f"Not shown: {units.plural(untimed, 'run')} without {'' if of.progress else 'a '}{of.noun}."
        if untimed
        else "",
        said,
        "Each dot is a run; the vertical offset only separates dots.",
        _failures(timed, of),
        f"The bar is the mean of the runs that reached the target, the line its {level} t interval"
        f"{', by setup where a row pools several' if _pools(panel) else ''}."
        if any(one.reached > 1 for one in panel.series)
        else "",
    )
    chart = _chart(panel, axis, names, dots, means, level)
    height = max(3, len(panel.series)) * _STEP
    data = {names[0]: dots, names[1]: means}
    return charts.plot(KIND, panel, title, caption, chart, data, height=height)


def _pools(panel: Panel) -> bool:
    """Return whether a row holds runs of several setups."""
    setups = panel.runs.select("series", setup=setup_names(panel.runs)).unique()
    return setups.height > setups.get_column("series").n_unique()


def _ends(means: pl.DataFrame) -> list[float]:
    """Return ends of the intervals that the axis is to hold: a low one not far below its mean."""
    low = pl.max_horizontal("low", pl.col("mean") / _FARTHEST)
    ends = means.filter(pl.col("reached_runs") > 1).select(low.alias("low"), "high").drop_nulls()
    return [*ends.get_column("low"), *ends.get_column("high")]


def _failures(timed: pl.DataFrame, of: Axis) -> str:
    if timed.get_column("reached").all():
        return ""
    needs = "its time is longer" if of.is_time else "the target is further"
    return f"A triangle is a failed run (right-censored): it stopped there, {needs}."


def mean_table(panel: Panel) -> pl.DataFrame:
    """Return mean and interval of each series in which a run reached; exact, in base units."""
    owners = panel.owners.rows_by_key("order", named=True, unique=True)
    rows = [
        {
            "benchmark": panel.benchmark,
            "system": owners[n]["system"],
            "entry": owners[n]["entry"],
            "series": one.label,
            "order": n,
            "mean": one.tta_mean_seconds,
            "low": one.tta_low,
            "high": one.tta_high,
            "n": one.n,
            "reached_runs": one.reached,
        }
        for n, one in enumerate(panel.series)
        if one.tta_mean_seconds is not None
    ]
    return pl.DataFrame(rows, schema=_MEANS)


_MEANS = pl.Schema(
    {
        "benchmark": pl.String(), "system": pl.String(), "entry": pl.String(),
        "series": pl.String(), "order": pl.Int32(), "mean": pl.Float64(), "low": pl.Float64(),
        "high": pl.Float64(), "n": pl.Int64(), "reached_runs": pl.Int64(),
    }
)  # fmt: skip


def _thinned(timed: pl.DataFrame) -> tuple[pl.DataFrame, str]:
    """Keep evenly spaced runs of each series, by time, where there are too many to see."""
    if timed.height <= MOST_RUNS:
        return timed, ""
    each = max(5, MOST_RUNS // timed.get_column("order").n_unique())
    ordered = timed.sort("order", "reached", "observed_seconds")
    kept = ordered.filter(evenly(each, ["order", "reached"]))
    return kept, f"{kept.height:,} of {timed.height:,} dots are drawn, evenly spaced by rank."


def _offsets(dots: pl.DataFrame) -> pl.Series:
    """Return the place of each dot across its row, -0.5 to 0.5: near times stand apart."""
    offsets = np.zeros(dots.height)
    times = dots.get_column("observed_seconds").log().to_numpy()
    span = float(np.ptp(times)) or 1.0
    order = dots.get_column("order").to_numpy()
    for row in np.unique(order):
        here = np.flatnonzero(order == row)
        offsets[here] = _swarm(times[here] / span)
    return pl.Series(offsets).round(3)


def _swarm(places: Any) -> Any:
    """Stack dots nearer than `_NEAR` to each other: 0, +1, -1, +2, ... steps from the middle."""
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


def _chart(
    panel: Panel,
    axis: axes.TimeAxis,
    names: Sequence[str],
    dots: pl.DataFrame,
    means: pl.DataFrame,
    level: str,
) -> Any:
    fastest_first = alt.EncodingSortField("order", op="min")
    rows = alt.Axis(grid=True, ticks=False, domain=False)
    y = alt.Y("series:N", title=None, sort=fastest_first, axis=rows)
    x = charts.x(axis)
    outcome = alt.Scale(domain=[True, False], range=["circle", theme.CENSORED_SHAPE])
    colours, _ = charts.colour_scale(panel.colours)
    mixed = dots.get_column("reached").n_unique() > 1
    key = alt.Legend(title=None, labelExpr="datum.value ? 'reached' : 'failed'") if mixed else None
    base = alt.Chart(alt.NamedData(name=names[0])).transform_calculate(
        at=axis.shown("observed_seconds"), **charts.said(panel)
    )
    runs = base.mark_point(filled=True, size=26, opacity=1, fillOpacity=0.65).encode(
        x=x,
        y=y,
        yOffset=alt.YOffset("offset:Q", scale=alt.Scale(domain=[-0.5, 0.5])),
        shape=alt.Shape("reached:N", scale=outcome, legend=key),
        color=alt.Color("colour:N", scale=colours, legend=None),
        tooltip=charts.run_tooltip(),
    )
    if means.is_empty():
        return (runs,)
    # The mean of one run is that run.
    averaged = alt.Chart(alt.NamedData(name=names[1])).transform_filter("datum.reached_runs > 1")
    mean = averaged.transform_calculate(
        at=axis.shown("mean"),
        from_=f"max({axis.shown('low')}, {axis.scale['domain'][0]})",
        to=axis.shown("high"),
        said=axes.said("datum.mean", panel.axis),
        interval=f"datum.low == null ? 'needs 2 runs' : ({axes.said('datum.low', panel.axis)}) + "
        f"' to ' + ({axes.said('datum.high', panel.axis)})",
    )
    tooltip = charts.tooltips(
        ("series:N", "runs of"), ("said:N", panel.axis.mean), ("interval:N", f"{level} interval"),
        ("reached_runs:Q", "reached"), ("n:Q", "of"),
    )  # fmt: skip
    interval = (
        mean.transform_filter("datum.low != null")
        .mark_rule(style="mean")
        .encode(x=alt.X("from_:Q", title=axis.title), x2=alt.X2("to:Q"), y=y, tooltip=tooltip)
    )
    bar = mean.mark_point(style="mean", shape=theme.MEAN_SHAPE, size=90, filled=False).encode(
        x=x, y=y, tooltip=tooltip
    )
    # The dots lie on top: each must answer when it is pointed at.
    return (interval, bar, runs)
