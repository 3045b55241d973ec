"""How does quality grow with time, and with epochs? Every run a line, its end marked."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl
from msgspec import Struct

from ttastats.base import units
from ttastats.outcomes.axis import AXES, SECONDS
from ttastats.output.plots import axes, charts, curves, theme
from ttastats.output.plots.curves import DrawnMetric
from ttastats.output.plots.material import Material, Panel
from ttastats.output.plots.plot import Plot, expect_plots, refuse_if

TIME, EPOCHS = "quality-time", "quality-epochs"
#: Kinds that draw any metric of the table, those of training too.
OF_ANY_METRIC = (TIME, EPOCHS)
#: Of more runs than these the lines are thin and the marks small.
_CROWD = 60
#: What the first plot is drawn over, by the axis; of what is known of whole runs there is none.
_COLUMN = {"seconds": "seconds", "steps": "step", "samples": "samples", "evaluations": "evaluation"}
#: What the columns of the horizontal axis are called in titles.
_OVER = {"epoch": "epochs"} | {column: AXES[name].noun for name, column in _COLUMN.items()}
#: Shares of the best quality below this are where training starts, not where runs differ.
_START = 0.05


def over_time(material: Material) -> tuple[Plot, ...]:
    """Return one plot per benchmark and metric, over time, steps or samples."""
    axis = material.axis
    refuse_if(axis.alone, "times alone: no quality was looked at", "Plot `tta` or `solved`.")
    refuse_if(
        axis.name not in _COLUMN,
        f"quality cannot be plotted over {axis.noun}",
        f"Use {EPOCHS} for epochs, or --in seconds or --in steps.",
    )
    return _quality_plots(material, _COLUMN[axis.name])


def over_epochs(material: Material) -> tuple[Plot, ...]:
    """Return one plot per benchmark and metric, over epochs."""
    return _quality_plots(material, "epoch")


def _quality_plots(material: Material, over: str) -> tuple[Plot, ...]:
    plots = []
    for panel in material.panels:
        of_metric = pl.col("metric") == material.metric
        rows = panel.logged(of_metric) if material.metric else panel.evaluations
        draw = _plot_together if panel.too_many else _plot_each_run
        metrics = curves.drawn_metrics(panel, rows, material.metric)
        plots += [draw(panel, rows, metric, over) for metric in metrics]
    text = f" of {material.metric}" if material.metric else ""
    message = f"no run has two values{text}" if text else "no run was evaluated"
    remedy = "`plot quality-time` plots it over time, or over steps or samples with --in."
    return expect_plots(
        filter(None, plots),
        message if over == "seconds" else f"no run logs its {_OVER[over]}{text}",
        remedy if over == "epoch" else "`ttastats runs FILE` lists the runs.",
    )


class Curves(Struct, frozen=True):
    """What all layers of a plot share: the metric of a panel over a column, on two axes."""

    panel: Panel
    metric: DrawnMetric
    over: str
    axis: axes.AmountAxis
    scale: dict[str, Any]

    def y(self, name: str, **axis: Any) -> charts.Channel:
        """Return the vertical encoding of values of the metric.

        Vega-Lite writes the title of a field into expressions, where the name of a metric could end
        a string; it shows that of an axis as it is. Layers share an axis if all have one title.
        """
        # Vega takes `toString` for what every object has. It trims what it draws.
        title = {"title": f"{self.metric.words} "}
        return charts.position(name, "value", self.scale, title | axis)

    def visible(self, lowest: str, highest: str, first: str) -> str:
        """Return the expression that selects points, or whole runs, inside the axes."""
        low, high = self.scale["domain"]
        inside = f"datum['{lowest}'] >= {low} && datum['{highest}'] <= {high}"
        start, _ = self.axis.scale.get("domain", (None, None))
        return inside if start is None else f"{inside} && datum['{first}'] >= {start}"

    def band(self, base: charts.View, low: str, high: str, opacity: float) -> charts.View:
        """Return the band between two quantiles."""
        return base.mark("area", opacity=opacity, clip=True).encode(y=self.y(low), y2=high)

    def plot(
        self, caption: Sequence[str], layers: Sequence[charts.View], data: dict[str, pl.DataFrame]
    ) -> Plot:
        """Return the plot of some layers with the target line and its label."""
        panel, metric = self.panel, self.metric
        title = f"{charts.sentence_case(metric.words)} over {_OVER[self.over]}"
        if metric.target is not None:
            lower = metric.higher_is_better is False
            better = "; lower is better" if lower else ""
            caption = (*caption, f"The dotted line is the target, {metric.target:g}{better}.")
            name = f"target: {panel.name} {metric.name}"
            row = {"benchmark": panel.benchmark, "metric": metric.name, "target": metric.target}
            data = data | {name: pl.DataFrame([row])}
            base = charts.table_view(name).encode(y=self.y("target"))
            # Where lower is better the curves lie above the line, and the words below it.
            look = {"style": "target-label", "align": "left", "dx": 3, "dy": 8 if lower else -6}
            words = {"value": f"target {metric.target:g}"}
            label = base.mark("text", **look).encode(x={"value": 0}, text=words)
            layers = (*layers, base.mark("rule", style="target"), label)
        kind = EPOCHS if self.over == "epoch" else TIME
        return charts.make_plot(kind, panel, title, caption, layers, data, height=250.0)


def _plot_each_run(panel: Panel, rows: pl.LazyFrame, metric: DrawnMetric, over: str) -> Plot | None:
    """Return the plot of a line for each run, None if no line has two points."""
    lines, thinned = curves.curve_table(rows, metric, over)
    points = lines.drop_nulls(over) if over == "epoch" else lines.filter(pl.col(over) > 0)
    if points.is_empty() or points[over].n_unique() < 2:
        return None
    # The columns a reader chooses rows by are few different words.
    filters = panel.runs.select("run", pl.col("benchmark", "system", "entry"))
    lines = lines.join(filters, on="run", how="left", maintain_order="left")
    axis, scale = _progress_axis(points, over), _value_scale(metric, points)
    chart = Curves(panel, metric, over, axis, scale)
    bands = curves.quantiles_by_epoch(panel, rows, metric) if over == "epoch" else pl.DataFrame()
    # A run's end belongs among the values if its target is of this metric.
    judged_by = panel.runs["target_metric"].drop_nulls().unique().to_list()
    with_ends = judged_by == [metric.name]
    marks = _mark_texts(chart, points, bands, with_ends=with_ends)
    caption = (thinned, panel.highlighted_text, *marks)
    of_lines, (of_runs, runs) = f"quality: {panel.name} {metric.name}", charts.runs_table(panel)
    data = {of_lines: lines, of_runs: runs}
    layers = _run_lines(chart, of_lines, of_runs, thin=not bands.is_empty())
    if not bands.is_empty():
        spread = f"spread: {panel.name} {metric.name}"
        data[spread] = bands
        layers += _median_layers(chart, spread)
    if with_ends:
        layers += _end_marks(chart, of_runs)
    return chart.plot(caption, layers, data)


def _mark_texts(
    chart: Curves, points: pl.DataFrame, bands: pl.DataFrame, *, with_ends: bool
) -> Iterator[str]:
    """Yield texts on hidden runs, on lines, their ends and bands, and on clipped values."""
    panel, (low, high) = chart.panel, chart.scale["domain"]
    if unseen := panel.runs.height - points["run"].n_unique():
        yield f"Not shown: {units.plural(unseen, 'run')} without {chart.metric.words}."
    mark = "; the mark is its time-to-accuracy, which may end at `run_stop`"
    if panel.at_budget:
        mark = "; the mark is its value at the budget"
    elif chart.over != "seconds":
        mark = "; the mark is the evaluation that reached the target"
    yield f"Each line is a run{mark if with_ends else ''}."
    if not (panel.runs["reached"].all() or panel.is_aimless):
        cross = ", ending in a cross" if with_ends else ""
        failed = "has no value at the budget" if panel.at_budget else "failed"
        yield f"Dashed{cross}: a run that {failed}."
    start, _ = chart.axis.scale.get("domain", (0.0, None))
    inside = pl.col("value").is_between(low, high) & (pl.col(chart.over) >= start)
    beyond = points.filter(~inside)
    if beyond.height:
        runs = units.plural(beyond["run"].n_unique(), "run")
        span = _span_text(beyond["value"], ".4g")
        values_text = units.plural(beyond.height, "value")
        yield f"Lines are clipped at the frame; outside it: {values_text} of {runs} ({span})."
    if bands.height:
        yield (
            f"Thick is the median of the {_span_text(bands['n'], 'd')} runs evaluated after an "
            "epoch, its band their middle half. Runs end when they reach the target, so later "
            "epochs show those that had not."
        )


def _span_text(values: pl.Series, form: str) -> str:
    ordered = values.sort()
    return " to ".join(dict.fromkeys(f"{end:{form}}" for end in (ordered[0], ordered[-1])))


def _progress_axis(points: pl.DataFrame, over: str, by: str = "run") -> axes.AmountAxis:
    if over != "seconds":
        return axes.AmountAxis(_OVER[over], 1.0, {"zero": False, "nice": True}, {"tickCount": 6})
    ends = points.group_by(by).agg(pl.col(over).max())[over]
    low, high = float(ends.min()), float(ends.max())  # type: ignore[arg-type]
    if high / low <= axes.LOG_FROM:
        return axes.amount_axis([high], SECONDS, "time", from_zero=True)
    # The first evaluations of the fastest runs would stretch the axis for little.
    return axes.amount_axis([low / 6, high], SECONDS, "time")


def _value_scale(metric: DrawnMetric, points: pl.DataFrame) -> dict[str, Any]:
    """Return the scale of quality values without the far start of training."""
    value, rises, falls = points["value"], metric.higher_is_better, metric.higher_is_better is False
    low: Any = value.quantile(_START) if rises else value.min()
    high: Any = value.quantile(1 - _START) if falls else value.max()
    if metric.target is not None:
        low, high = min(low, metric.target), max(high, metric.target)
    room = (0.07 * high - 0.07 * low) or 0.02 * abs(high) or 0.01
    most = sys.float_info.max  # a loss that exploded leaves no room beside it
    domain = [max(low - room, -most), min(high + room, most)]
    return {"domain": domain, "nice": False, "zero": False, "clamp": False}


def _run_lines(chart: Curves, lines: str, runs: str, *, thin: bool) -> tuple[charts.View, ...]:
    """Return a line for each run, dashed where it failed; `thin` ones lie below others."""
    color, *_ = charts.series_channels(chart.panel.coloured_labels)
    fields = ["colour", "order", "series", "entry", "source", "seed", "reached"]
    fields += ["observed_seconds", "epochs", "value_final"]
    lookup = {"data": {"name": runs}, "key": "run", "fields": fields}
    ends = (("min", "value", "lowest"), ("max", "value", "highest"), ("min", "at", "first"))
    aggregates = [{"op": op, "field": name, "as": end} for op, name, end in ends]
    missed = [1, 0] if chart.panel.is_aimless else theme.FAILED_DASH
    dashes = {"domain": [True, False], "range": [[1, 0], missed]}
    at = chart.axis.field_expression(chart.over)
    values = charts.table_view(lines, f"datum['{chart.over}'] != null && datum['{chart.over}'] > 0")
    placed = values.transform({"lookup": "run", "from": lookup}).computing(at=at)
    described = charts.with_run_tooltip(placed, chart.panel)
    view = described.transform({"joinaggregate": aggregates, "groupby": ["run"]}).encode(
        x=chart.axis.x(),
        y=chart.y("value", tickCount=5),
        color=color,
        detail="run:N",
        strokeDash=charts.field("reached:N", scale=dashes, legend=None),
        order="at:Q",
    )
    thin = thin or chart.panel.runs.height > _CROWD
    look = {"strokeWidth": 0.8 if thin else 1.2, "strokeOpacity": 0.45 if thin else 0.7}
    # To clip a line costs as much as ten to draw: only those that leave the frame are.
    inside = chart.visible("lowest", "highest", "first")
    clipped = view.where(f"!({inside})").mark("line", clip=True, **look)
    return clipped, view.where(inside).mark("line", **look)


def _median_layers(chart: Curves, name: str) -> tuple[charts.View, ...]:
    """Return the layers of band, line and points of medians."""
    color, shape, _ = charts.series_channels(chart.panel.coloured_labels)
    tooltip = [
        ("series:N", "runs of"), ("epoch:Q", "", ".4~g"), ("n:Q", "runs"),
        ("low:Q", "lowest", ".5~g"), ("lower:Q", "25%", ".5~g"), ("median:Q", "median", ".5~g"),
        ("upper:Q", "75%", ".5~g"), ("high:Q", "highest", ".5~g"),
        ("std:Q", "standard deviation", ".5~g"),
    ]  # fmt: skip
    x = chart.axis.x(chart.over)
    base = charts.table_view(name).encode(x=x, color=color, detail="series:N", tooltip=tooltip)
    medians = base.encode(y=chart.y("median"))
    return (
        chart.band(base, "lower", "upper", 0.25),
        medians.mark("line", strokeWidth=2.2, clip=True),
        medians.encode(shape=shape).points(26, clip=True),
    )


def _end_marks(chart: Curves, runs: str) -> tuple[charts.View, ...]:
    """Return the marks at the ends of runs, or crosses where they failed."""
    color, shape, _ = charts.series_channels(chart.panel.coloured_labels)
    field = "epochs" if chart.over == "epoch" else "observed_seconds"
    has_end = f"datum['{field}'] != null && datum.value_final != null"
    at = chart.axis.field_expression(field)
    all_ends = charts.with_run_tooltip(charts.table_view(runs, has_end, at=at), chart.panel)
    ends = all_ends.where(chart.visible("value_final", "value_final", "at")).encode(
        x=chart.axis.x(),
        y=chart.y("value_final"),
        color=color,
        order=charts.field("order:Q", sort="descending"),
    )
    reached = ends.where("datum.reached").encode(shape=shape)
    size = 22 if chart.panel.runs.height > _CROWD else 34
    return reached.points(size, fillOpacity=0.8), ends.crosses(40, strokeWidth=1.6)


def _plot_together(panel: Panel, rows: pl.LazyFrame, metric: DrawnMetric, over: str) -> Plot | None:
    """Return a plot of the runs of each coloured series together: bands and medians."""
    coloured = rows.filter(pl.col("order") < theme.HIGHLIGHTS)
    times = panel.runs["observed_seconds"]
    times = times.filter(times > 0).sort()
    log = over == "seconds" and len(times) > 0 and times[-1] / times[0] > axes.LOG_FROM
    bands = curves.quantiles_over_time(coloured, metric, over, log=log)
    if bands["at"].n_unique() < 2:
        return None
    bands = bands.with_columns(benchmark=pl.lit(panel.benchmark))
    name = f"{EPOCHS if over == 'epoch' else TIME}: {panel.name} {metric.name}"
    labels = panel.coloured_labels[: theme.HIGHLIGHTS]
    surplus = panel.series.height - len(labels)
    caption = (
        "Too many runs to draw individually: "
        f"{f'of the first {len(labels)}, ' if surplus else ''}a line is the median of the values "
        f"in each of up to {curves.SPANS} intervals; the bands contain 50% and 90% of them.",
        f"{units.plural(surplus, 'more is', 'more are')} not drawn." if surplus else "",
    )
    axis = _progress_axis(bands.rename({"at": over}), over, "series")
    values = pl.concat([bands.select(value="low"), bands.select(value="high")])
    chart = Curves(panel, metric, over, axis, _value_scale(metric, values))
    color, _, dash = charts.series_channels(labels)
    tooltip = [
        ("series:N", "runs of"), ("median:Q", "", ".5~g"), ("low:Q", "5%", ".5~g"),
        ("high:Q", "95%", ".5~g"), ("n:Q", "values"),
    ]  # fmt: skip
    base = charts.table_view(name, at_=axis.field_expression("at"))
    base = base.encode(x=axis.x("at_"), color=color, tooltip=tooltip)
    layers = (
        chart.band(base, "low", "high", 0.15),
        chart.band(base, "lower", "upper", 0.25),
        base.mark("line", strokeWidth=1.6, clip=True).encode(y=chart.y("median"), strokeDash=dash),
    )
    return chart.plot(caption, layers, {name: bands})
