"""Does the answer depend on the quality target? Speedup, or expected time, against the target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import altair as alt
import polars as pl

from ttastats.answers import targets as targets_report
from ttastats.base.errors import TtastatsError
from ttastats.outcomes.axis import Axis
from ttastats.output.plots import axes, charts, theme
from ttastats.output.plots.material import MOST_RUNS, Material, Panel, side_labels
from ttastats.output.plots.plot import NothingToDrawError, Plot

KIND = "targets"
_HEIGHT = 190.0


def plots(material: Material) -> tuple[Plot, ...]:
    """Return one plot per benchmark: of two sides the speedup, of one setup the expected time.

    Raises
    ------
    NothingToDrawError
        There are more than two sides, no benchmark has a single setup, or no evaluations.
    """
    if len(material.sides) > 2:
        raise NothingToDrawError(
            "the targets plot takes one or two files", remedy="Give at most two files."
        )
    suited = {panel.benchmark: panel for panel in material.panels if _suits(panel, material)}
    if not suited:
        raise NothingToDrawError(
            "expected times of different setups cannot be pooled",
            remedy="Select one with --where entry=..., or give two files.",
        )
    chosen = pl.col("benchmark").is_in([name for name in suited if name is not None])
    sides = [replace(side, runs=side.runs.filter(chosen)) for side in material.sides]
    try:
        report = targets_report.report(sides)
    except TtastatsError as error:
        raise NothingToDrawError(error.what, remedy=error.remedy) from error
    rows = pl.DataFrame([dict(row) for row in report.rows], infer_schema_length=None)
    parts = rows.partition_by("suite", "round", "benchmark", maintain_order=True)
    wide = [part for part in parts if part.get_column("target").n_unique() > 1]
    if not wide:
        raise NothingToDrawError("no benchmark has two targets to evaluate")
    panels = [suited[part.get_column("benchmark")[0]] for part in wide]
    if not material.compares:
        return tuple(map(_times, wide, panels))
    labels = side_labels(material.sides)
    return tuple(_speedups(part, panel, labels) for part, panel in zip(wide, panels, strict=True))


def _suits(panel: Panel, material: Material) -> bool:
    few = panel.runs.height <= MOST_RUNS
    if material.compares:
        return few and len(panel.series) == len(material.sides)
    return few and len(panel.series) == 1


def _speedups(rows: pl.DataFrame, panel: Panel, labels: Sequence[str]) -> Plot:
    name = f"targets: {panel.name}"
    metric = rows.get_column("metric")[0]
    words = pl.col("verdict").replace(_words(panel.axis))
    reached = pl.format("A {}/{}, B {}/{}", "reached_a", "n_a", "reached_b", "n_b")
    shown = rows.select(
        "benchmark", "target", "official", "speedup", "speedup_low", "speedup_high", "p_adjusted",
        reached=reached, verdict=words,
    )  # fmt: skip
    of = panel.axis
    ratio = "speedup A/B" if of.is_time else of.ratio
    title = f"{charts.opening(of.ratio)} at other quality targets: {panel.title}"
    caption = (
        panel.counted,
        f"{labels[0]}, {labels[1]}. {charts.opening(ratio)} in {of.expected} to each target, "
        f"with a 95% interval per target; above 1, B {of.does(of.better)}. {_where_it_ends(of)}",
        _official_words(rows),
    )
    limits = axes.ratio_axis(
        shown.get_column("speedup").drop_nulls(),
        [
            *shown.get_column("speedup_low").drop_nulls(),
            *shown.get_column("speedup_high").drop_nulls(),
        ],
    )
    chart = _speedup_chart(name, metric, limits, shown, of)
    return charts.plot(KIND, panel, title, caption, chart, {name: shown}, height=_HEIGHT)


def _words(of: Axis) -> dict[str, str]:
    """Return the verdicts as a legend says them."""
    same = "as fast" if of.is_time else "as much"
    none = {"unavailable": "no verdict"}
    return {"faster": f"B {of.less}", "slower": f"B {of.more}", "same": same} | none


def _where_it_ends(of: Axis) -> str:
    what, ends = ("TTA", "is") if of.is_time else (charts.opening(of.to_target), "end at")
    return f"{what} here {ends} the first evaluation that meets the target."


def _official_words(rows: pl.DataFrame) -> str:
    official = rows.filter("official").get_column("target").to_list()
    return f"The dotted line is the official target, {official[0]:g}." if official else ""


def _speedup_chart(
    name: str, metric: str, limits: dict[str, Any], shown: pl.DataFrame, of: Axis
) -> Any:
    ratio = "speedup A/B" if of.is_time else of.ratio
    x = _x(metric)
    scale, axis = alt.Scale(**limits["scale"]), alt.Axis(**limits["axis"])
    y = alt.Y("speedup:Q", title=ratio, scale=scale, axis=axis)
    words = _words(of)
    style = {
        words["faster"]: (theme.COLOURS[2], "triangle-up"),
        words["slower"]: (theme.COLOURS[1], "triangle-down"),
        words["same"]: (theme.COLOURS[0], "square"),
        "undecided": (theme.GREY, "circle"),
        words["unavailable"]: (theme.GREY, "diamond"),
    }
    present = [word for word in style if word in set(shown.get_column("verdict"))]
    color = alt.Color(
        "verdict:N",
        scale=alt.Scale(domain=present, range=[style[word][0] for word in present]),
        legend=alt.Legend(title=None),
    )
    shape = alt.Shape(
        "verdict:N",
        scale=alt.Scale(domain=present, range=[style[word][1] for word in present]),
        legend=alt.Legend(title=None),
    )
    tooltip = charts.tooltips(
        ("target:Q", "", ".5~g"), ("speedup:Q", "", ".4~r"), ("speedup_low:Q", "95% from", ".4~r"),
        ("speedup_high:Q", "to", ".4~r"), ("p_adjusted:Q", "p", ".2~g"), "verdict:N",
        "reached:N",
    )  # fmt: skip
    data = alt.Chart(alt.NamedData(name=name)).transform_filter("datum.speedup != null")
    one = (
        data.transform_calculate(unity="1")
        .mark_rule(style="one")
        .encode(y=alt.Y("unity:Q", title=ratio))
    )
    official = data.transform_filter("datum.official").mark_rule(style="target").encode(x=x)
    base = data.encode(x=x, tooltip=tooltip)
    line = data.mark_line(strokeWidth=1, strokeOpacity=0.8).encode(
        x=x, y=y, color=alt.ColorValue(theme.GREY)
    )
    whisker = (
        base.transform_filter("datum.speedup_low != null && datum.speedup_high != null")
        .mark_rule(clip=True, strokeWidth=1.5)
        .encode(y=alt.Y("speedup_low:Q", title=ratio), y2=alt.Y2("speedup_high:Q"), color=color)
    )
    point = base.mark_point(filled=True, size=55, opacity=1).encode(y=y, color=color, shape=shape)
    return (one, official, line, whisker, point)


def _x(metric: str) -> Any:
    """Return the horizontal encoding of quality targets."""
    return alt.X(
        "target:Q",
        title="quality target",
        scale=alt.Scale(zero=False, padding=12),
        # As in `charts.y`, the name of a metric is the title of an axis, not of a field.
        axis=alt.Axis(
            title=f"quality target ({metric.replace('_', ' ')})", grid=False, tickCount=8
        ),
    )


def _times(rows: pl.DataFrame, panel: Panel) -> Plot:
    name = f"targets: {panel.name}"
    metric = rows.get_column("metric")[0]
    shown = rows.select(
        "benchmark",
        "target",
        "official",
        ert_seconds="ert_a_seconds",
        n="n_a",
        reached="reached_a",
        fraction=pl.format("{}/{}", "reached_a", "n_a"),
    )
    of = panel.axis
    title = f"{charts.opening(of.expected)} to other quality targets: {panel.title}"
    caption = (
        panel.counted,
        f"{charts.opening(of.expected)} to a success (ERT): a run that misses the target counts "
        f"with all its {of.noun}. Numbers are the runs that reached the target, where some did "
        f"not. {_where_it_ends(of)}",
        _official_words(rows),
    )
    times = shown.get_column("ert_seconds").drop_nulls()
    finite = times.filter(times.is_finite())
    axis = axes.amount_axis(finite, of, of.expected)
    chart = _time_chart(name, metric, axis, of)
    return charts.plot(KIND, panel, title, caption, chart, {name: shown}, height=_HEIGHT)


def _time_chart(name: str, metric: str, axis: axes.TimeAxis, of: Axis) -> Any:
    base = (
        alt.Chart(alt.NamedData(name=name))
        .transform_filter("datum.ert_seconds != null")
        .transform_calculate(at=axis.shown("ert_seconds"), said=axes.said("datum.ert_seconds", of))
    )
    x = _x(metric)
    y = alt.Y("at:Q", title=axis.title, scale=alt.Scale(**axis.scale), axis=alt.Axis(**axis.axis))
    tooltip = charts.tooltips(
        ("target:Q", "", ".5~g"), ("said:N", of.expected), ("fraction:N", "reached"),
    )  # fmt: skip
    blue = alt.ColorValue(theme.COLOURS[0])
    line = base.mark_line(strokeWidth=1.5).encode(x=x, y=y, color=blue)
    points = base.mark_point(filled=True, size=45, opacity=1).encode(
        x=x, y=y, color=blue, tooltip=tooltip
    )
    text = (
        base.transform_filter("datum.reached < datum.n")
        .mark_text(dy=-10)
        .encode(x=x, y=y, text=alt.Text("fraction:N"))
    )
    official = base.transform_filter("datum.official").mark_rule(style="target").encode(x=x)
    return (official, line, points, text)
