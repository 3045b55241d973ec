"""How does quality grow with time, and with epochs? Every run a line, its end marked."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import altair as alt
import polars as pl

from ttastats.base import units
from ttastats.output.plots import axes, charts, curves, spread, theme
from ttastats.output.plots.curves import DrawnMetric
from ttastats.output.plots.material import Material, Panel
from ttastats.output.plots.plot import NothingToDrawError, Plot

TIME, EPOCHS = "quality-time", "quality-epochs"
#: Kinds that draw any metric of the table, those of training too.
OF_ANY_METRIC = (TIME, EPOCHS)
_HEIGHT = 250.0
#: What the columns of the horizontal axis are called in titles.
_OVER = {
    "seconds": "time", "epoch": "epochs", "step": "steps", "samples": "samples",
    "evaluation": "evaluations",
}  # fmt: skip
#: What the first plot is drawn over, by the axis; of what is known of whole runs there is none.
_COLUMN = {"seconds": "seconds", "steps": "step", "samples": "samples", "evaluations": "evaluation"}
#: Shares of the best quality below this are where training starts, not where runs differ.
_START = 0.05


def over_time(material: Material) -> tuple[Plot, ...]:
    """Return one plot per benchmark and metric, over time, or over the steps or samples asked for.

    Raises
    ------
    NothingToDrawError
        No run was evaluated.
    """
    axis = material.axis
    if axis.name not in _COLUMN:
        raise NothingToDrawError(
            f"quality cannot be plotted over {axis.noun}",
            remedy=f"Use {EPOCHS} for epochs, or --in seconds or --in steps.",
        )
    return _plots(material, TIME, _COLUMN[axis.name])


def over_epochs(material: Material) -> tuple[Plot, ...]:
    """Return one plot per benchmark and metric, over epochs.

    Raises
    ------
    NothingToDrawError
        No log tells the epochs of its evaluations.
    """
    return _plots(material, EPOCHS, "epoch")


def _plots(material: Material, kind: str, over: str) -> tuple[Plot, ...]:
    found = []
    for panel in material.panels:
        rows = curves.evaluations(panel, material.metric)
        for metric in curves.metrics(panel, rows, material.metric):
            one = _together if curves.too_many(panel) else _one_by_one
            plot = one(kind, panel, rows, metric, over)
            if plot is not None:
                found.append(plot)
    if not found:
        of = f" of {material.metric}" if material.metric else ""
        none = f"no run has two values{of}" if of else "no run was evaluated"
        what = none if over == "seconds" else f"no run logs its {_OVER[over]}{of}"
        other = "`plot quality-time` plots it over time, or over steps or samples with --in."
        raise NothingToDrawError(
            what, remedy=other if kind == EPOCHS else "`ttastats runs FILE` lists the runs."
        )
    return tuple(found)


def _one_by_one(
    kind: str, panel: Panel, rows: pl.LazyFrame, metric: DrawnMetric, over: str
) -> Plot | None:
    lines, said = curves.table(rows, metric, over)
    drawn = lines.drop_nulls(over) if over == "epoch" else lines.filter(pl.col(over) > 0)
    if drawn.is_empty() or drawn.get_column(over).n_unique() < 2:
        return None
    lines = _with_filters(lines, panel)
    names = [f"quality: {panel.name} {metric.name}", charts.runs_name(panel)]
    axis = _axis(drawn, over)
    bands = spread.table(rows, metric) if over == "epoch" else pl.DataFrame()
    title = f"{charts.opening(words(metric))} over {_OVER[over]}: {panel.title}"
    evaluated = drawn.get_column("run").n_unique()
    unseen = panel.runs.height - evaluated
    caption = (
        panel.counted,
        said,
        panel.highlighted,
        f"Not shown: {units.plural(unseen, 'run')} without {words(metric)}." if unseen else "",
        f"Each line is a run{_mark(panel, over) if _judged_by(panel, metric) else ''}.",
        _dashed(panel, metric),
        _outside(metric, drawn, axis, over),
        spread.caption(bands),
        target_words(metric),
    )
    data = {names[0]: lines, names[1]: charts.table_of_runs(panel), **target_table(panel, metric)}
    if not bands.is_empty():
        names.append(f"spread: {panel.name} {metric.name}")
        data[names[-1]] = spread.owned(bands, panel)
    chart = _line_chart(panel, metric, names, axis, over, drawn)
    return charts.plot(kind, panel, title, caption, chart, data, height=_HEIGHT)


def _with_filters(lines: pl.DataFrame, panel: Panel) -> pl.DataFrame:
    """Add the columns a reader chooses rows by; they are few different words."""
    filters = panel.runs.select("run", pl.col("benchmark", "system", "entry"))
    return lines.join(filters, on="run", how="left", maintain_order="left")


def _mark(panel: Panel, over: str) -> str:
    if panel.at_budget:
        return "; the mark is its value at the budget"
    if over != "seconds":
        return "; the mark is the evaluation that reached the target"
    return "; the mark is its time-to-accuracy, which may end at `run_stop`"


def _judged_by(panel: Panel, metric: DrawnMetric) -> bool:
    """Return whether a run's end belongs among the values: its target is of this metric."""
    known = panel.runs.get_column("target_metric").drop_nulls().unique().to_list()
    return known == [metric.name]


def _dashed(panel: Panel, metric: DrawnMetric) -> str:
    if panel.runs.get_column("reached").all():
        return ""
    cross = ", ending in a cross" if _judged_by(panel, metric) else ""
    failed = "has no value at the budget" if panel.at_budget else "failed"
    return f"Dashed{cross}: a run that {failed}."


#: Words of metrics that are not written as they are spelled.
_WRITTEN = {
    "auc": "AUC", "bleu": "BLEU", "ca": "Cα", "clip": "CLIP", "f1": "F1", "fid": "FID",
    "iou": "IoU", "lddt": "lDDT", "lm": "LM",
    "lr": "learning rate", "map": "mAP", "top1": "top-1", "top5": "top-5",
}  # fmt: skip


def words(metric: DrawnMetric) -> str:
    """Return the name of a metric for people, inside a sentence."""
    return " ".join(_WRITTEN.get(word, word) for word in metric.name.split("_"))


def target_words(metric: DrawnMetric) -> str:
    """Return what the dotted line is."""
    if metric.target is None:
        return ""
    better = "; lower is better" if metric.higher_is_better is False else ""
    return f"The dotted line is the target, {metric.target:g}{better}."


def _axis(drawn: pl.DataFrame, over: str) -> axes.TimeAxis:
    if over == "seconds":
        ends = drawn.group_by("run").agg(pl.col(over).max()).get_column(over)
        low, high = float(ends.min() or 1.0), float(ends.max() or 1.0)  # type: ignore[arg-type]
        if high / low <= axes.LOG_FROM:
            return axes.time_axis([high], "time", from_zero=True)
        # The first evaluations of the fastest runs would stretch the axis for little.
        return axes.time_axis([low / 6, high], "time")
    return axes.TimeAxis(_OVER[over], 1.0, {"zero": False, "nice": True}, {"tickCount": 6})


def value_scale(metric: DrawnMetric, drawn: pl.DataFrame) -> dict[str, Any]:
    """Leave out of sight the far start of training: the target is where runs differ."""
    value = drawn.get_column("value")
    low, high = (float(x) for x in (value.quantile(_START), value.quantile(1 - _START)))  # type: ignore[arg-type]
    top, bottom = float(value.max()), float(value.min())  # type: ignore[arg-type]
    low = bottom if metric.higher_is_better is not True else low
    high = top if metric.higher_is_better is not False else high
    if metric.target is not None:
        low, high = min(low, metric.target), max(high, metric.target)
    room = (0.07 * high - 0.07 * low) or 0.02 * abs(high) or 0.01
    most = sys.float_info.max  # a loss that exploded leaves no room beside it
    domain = [max(low - room, -most), min(high + room, most)]
    return {"domain": domain, "nice": False, "zero": False, "clamp": False}


def _in_sight(
    lowest: str, highest: str, first: str, axis: axes.TimeAxis, limits: dict[str, Any]
) -> str:
    """Return the expression of points, or of whole runs, inside the axes."""
    low, high = limits["domain"]
    inside = f"datum['{lowest}'] >= {low} && datum['{highest}'] <= {high}"
    start, _ = axis.scale.get("domain", (None, None))
    return inside if start is None else f"{inside} && datum['{first}'] >= {start}"


def _outside(metric: DrawnMetric, drawn: pl.DataFrame, axis: axes.TimeAxis, over: str) -> str:
    """Return how many values lie beyond the frame, where lines are cut, and how far."""
    low, high = value_scale(metric, drawn)["domain"]
    value, start = pl.col("value"), axis.scale.get("domain", (0.0, 0.0))[0] * axis.divisor
    beyond = drawn.filter((value < low) | (value > high) | (pl.col(over) < start))
    if beyond.is_empty():
        return ""
    values = beyond.get_column("value").sort()
    least, most = f"{values[0]:.4g}", f"{values[-1]:.4g}"
    span = least if least == most else f"{least} to {most}"
    runs = units.plural(beyond.get_column("run").n_unique(), "run")
    what = units.plural(beyond.height, "value")
    return f"Lines are clipped at the frame; outside it: {what} of {runs} ({span})."


def _line_chart(
    panel: Panel,
    metric: DrawnMetric,
    names: Sequence[str],
    axis: axes.TimeAxis,
    over: str,
    drawn: pl.DataFrame,
) -> Any:
    colours, shapes = charts.colour_scale(panel.colours)
    key = charts.legend(panel.colours)
    limits = value_scale(metric, drawn)
    scale = alt.Scale(**limits)
    x = charts.x(axis)
    y = charts.y("value", words(metric), scale, tickCount=5)
    fields = ["colour", "order", "series", "entry", "source", "seed", "reached"]
    fields += ["observed_seconds", "epochs", "value_final"]
    lookup = alt.LookupData(data=alt.NamedData(name=names[1]), key="run", fields=fields)
    color = alt.Color("colour:N", scale=colours, legend=key)
    many = panel.runs.height > 60
    runs = (
        alt.Chart(alt.NamedData(name=names[0]))
        .transform_filter(f"datum['{over}'] != null && datum['{over}'] > 0")
        .transform_lookup(lookup="run", from_=lookup)
        .transform_calculate(at=axis.shown(over), **charts.said(panel))
        .transform_joinaggregate(
            lowest="min(value)", highest="max(value)", first="min(at)", groupby=["run"]
        )
        .encode(
            x=x,
            y=y,
            color=color,
            detail=alt.Detail("run:N"),
            strokeDash=alt.StrokeDash(
                "reached:N",
                scale=alt.Scale(domain=[True, False], range=[[1, 0], theme.FAILED_DASH]),
                legend=None,
            ),
            order=alt.Order("at:Q"),
            tooltip=charts.run_tooltip(),
        )
    )
    within = _in_sight("lowest", "highest", "first", axis, limits)
    thin = many or len(names) > 2
    look: dict[str, Any] = {
        "strokeWidth": 0.8 if thin else 1.2,
        "strokeOpacity": 0.45 if thin else 0.7,
    }
    # To clip a line costs as much as ten to draw: only those that leave the frame are.
    lines = (
        runs.transform_filter(f"!({within})").mark_line(clip=True, **look),
        runs.transform_filter(within).mark_line(**look),
    )
    field = "epochs" if over == "epoch" else "observed_seconds"
    ends = (
        alt.Chart(alt.NamedData(name=names[1]))
        .transform_filter(f"datum['{field}'] != null && datum.value_final != null")
        .transform_calculate(at=axis.shown(field), **charts.said(panel))
        .transform_filter(_in_sight("value_final", "value_final", "at", axis, limits))
        .encode(x=x, y=y.copy(), color=color, tooltip=charts.run_tooltip())
    )
    value = charts.y("value_final", words(metric), scale)
    reached = (
        ends.transform_filter("datum.reached")
        .mark_point(filled=True, size=22 if many else 34, opacity=1, fillOpacity=0.8)
        .encode(
            y=value,
            order=charts.fastest_above(),
            shape=alt.Shape("colour:N", scale=shapes, legend=key),
        )
    )
    failed = (
        ends.transform_filter("!datum.reached")
        .mark_point(shape=theme.FAILED_SHAPE, size=40, strokeWidth=1.6, opacity=1)
        .encode(y=value, order=charts.fastest_above())
    )
    ends_of_runs = [reached, failed] if _judged_by(panel, metric) else []
    spreads = spread.layers(panel, names[2:], (charts.x(axis, over), words(metric), scale), color)
    return (*lines, *spreads, *ends_of_runs, *target_layers(panel, metric, scale))


def target_table(panel: Panel, metric: DrawnMetric) -> dict[str, pl.DataFrame]:
    """Return the table of the target, by its name; none where no target is known."""
    if metric.target is None:
        return {}
    row = {"benchmark": panel.benchmark, "metric": metric.name, "target": metric.target}
    return {_target_name(panel, metric): pl.DataFrame([row])}


def _target_name(panel: Panel, metric: DrawnMetric) -> str:
    return f"target: {panel.name} {metric.name}"


def target_layers(panel: Panel, metric: DrawnMetric, scale: Any) -> list[Any]:
    """Return the line of the target and its label; nothing where no target is known."""
    if metric.target is None:
        return []
    base = alt.Chart(alt.NamedData(name=_target_name(panel, metric))).encode(
        y=charts.y("target", words(metric), scale)
    )
    rule = base.mark_rule(style="target")
    # Where lower is better the curves lie above the line, and the words below it.
    above = 8 if metric.higher_is_better is False else -6
    label = base.mark_text(style="target-label", align="left", dx=3, dy=above).encode(
        x=alt.XValue(0),  # type: ignore[no-untyped-call]
        text=alt.TextValue(f"target {metric.target:g}"),
    )
    return [rule, label]


def _together(
    kind: str, panel: Panel, rows: pl.LazyFrame, metric: DrawnMetric, over: str
) -> Plot | None:
    """Draw the runs of each series together; only series with a colour are drawn."""
    coloured = rows.filter(pl.col("order") < theme.HIGHLIGHTS)
    log = over == "seconds" and _differ_widely(panel.runs.get_column("observed_seconds"))
    bands = curves.spans(coloured, metric, over, log=log)
    if bands.get_column("at").n_unique() < 2:
        return None
    bands = bands.with_columns(benchmark=pl.lit(panel.benchmark))
    name = f"{kind}: {panel.name} {metric.name}"
    shown = panel.colours[: theme.HIGHLIGHTS]
    rest = len(panel.series) - len(shown)
    title = f"{charts.opening(words(metric))} over {_OVER[over]}: {panel.title}"
    caption = (
        panel.counted,
        "Too many runs to draw individually: "
        f"{f'of the {len(shown)} fastest, ' if rest else ''}a line is the median of the values "
        f"in each of up to {curves.SPANS} intervals; the bands contain 50% and 90% of them.",
        f"{rest} more are not drawn." if rest else "",
        target_words(metric),
    )
    axis = _axis(bands.select(pl.col("series").alias("run"), pl.col("at").alias(over)), over)
    chart = _band_chart(panel, metric, name, axis, bands)
    data = {name: bands, **target_table(panel, metric)}
    return charts.plot(kind, panel, title, caption, chart, data, height=_HEIGHT)


def _differ_widely(times: pl.Series) -> bool:
    known = times.filter(times > 0).sort()
    return len(known) > 0 and float(known[-1]) / float(known[0]) > axes.LOG_FROM


def _band_chart(
    panel: Panel, metric: DrawnMetric, name: str, axis: axes.TimeAxis, bands: pl.DataFrame
) -> Any:
    labels = panel.colours[: theme.HIGHLIGHTS]
    colours, _ = charts.colour_scale(labels)
    values = pl.concat([bands.select(value="low"), bands.select(value="high")])
    scale = alt.Scale(**value_scale(metric, values))
    color = alt.Color("colour:N", scale=colours, legend=charts.legend(labels))
    tooltip = charts.tooltips(
        ("series:N", "runs of"), ("median:Q", "", ".5~g"), ("low:Q", "5%", ".5~g"),
        ("high:Q", "95%", ".5~g"), ("n:Q", "values"),
    )  # fmt: skip
    base = (
        alt.Chart(alt.NamedData(name=name))
        .transform_calculate(at_=axis.shown("at"))
        .encode(
            x=charts.x(axis, "at_"),
            color=color,
            tooltip=tooltip,
        )
    )  # fmt: skip
    areas = charts.bands(base, words(metric), scale, 0.15, 0.25)
    line = base.mark_line(strokeWidth=1.6, clip=True).encode(
        y=charts.y("median", words(metric), scale),
        strokeDash=alt.StrokeDash(
            "colour:N", legend=charts.legend(labels), scale=charts.dash_scale(labels)
        ),
    )
    return (*areas, line, *target_layers(panel, metric, scale))
