"""Does the answer depend on the quality target? Speedup, or expected time, against the target."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
from msgspec.structs import replace

from ttastats.answers import targets as targets_report
from ttastats.base import percentages
from ttastats.base.errors import TtastatsError
from ttastats.outcomes.axis import Axis
from ttastats.output.plots import axes, charts, theme
from ttastats.output.plots.material import MOST_RUNS, Material, Panel, side_labels
from ttastats.output.plots.plot import NothingToDrawError, Plot, refuse_if

KIND = "targets"


def target_plots(material: Material) -> tuple[Plot, ...]:
    """Return one plot per benchmark: the speedup of two sides, or the expected time of one."""
    several = len(material.sides) > 2
    refuse_if(several, "the targets plot takes one or two files", "Give at most two files.")
    suited = {
        panel.benchmark: panel
        for panel in material.panels
        if panel.runs.height <= MOST_RUNS and panel.series.height == len(material.sides)
    }
    refuse_if(
        not suited,
        "expected times of different setups cannot be pooled",
        "Select one with --where entry=..., or give two files.",
    )
    is_suited = pl.col("benchmark").is_in([name for name in suited if name is not None])
    sides = [replace(side, runs=side.runs.filter(is_suited)) for side in material.sides]
    try:
        report = targets_report.report(sides, confidence=material.confidence)
    except TtastatsError as error:
        raise NothingToDrawError(error.what, remedy=error.remedy) from error
    parts = report.frame.group_by("suite", "round", "benchmark", maintain_order=True)
    wide = [(name, part) for (*_, name), part in parts if part["target"].n_unique() > 1]
    refuse_if(not wide, "no benchmark has two targets to evaluate")
    labels, level = side_labels(material.sides), percentages.percent_text(material.confidence)
    return tuple(_target_plot(part, suited[name], labels, level) for name, part in wide)


def _target_plot(rows: pl.DataFrame, panel: Panel, labels: Sequence[str], level: str) -> Plot:
    metric = rows["metric"][0].replace("_", " ")
    # As in `quality.Curves.y`, the name of a metric is the title of an axis, not of a field.
    axis = {"title": f"quality target ({metric})", "grid": False, "tickCount": 8}
    x = charts.position("target", "quality target", {"zero": False, "padding": 12}, axis)
    name, unit = f"targets: {panel.name}", panel.axis
    draw = _speedup_chart if len(labels) > 1 else _time_chart
    quantity, text, chart_rows, layers = draw(rows, unit, labels, name, x, level)
    ends = "TTA here is" if unit.is_time else f"{charts.sentence_case(unit.to_target)} here end at"
    official = rows.filter("official")["target"].to_list()
    caption = (
        f"{text} {ends} the first evaluation that meets the target.",
        f"The dotted line is the official target, {official[0]:g}." if official else "",
    )
    title = f"{charts.sentence_case(quantity)} other quality targets"
    return charts.make_plot(KIND, panel, title, caption, layers, {name: chart_rows}, height=190.0)


#: What begins the title, the caption, the table, and the layers.
_Chart = tuple[str, str, pl.DataFrame, charts.Layers]


def _speedup_chart(
    rows: pl.DataFrame, unit: Axis, labels: Sequence[str], name: str, x: charts.Channel, level: str
) -> _Chart:
    ratio = "speedup A/B" if unit.is_time else unit.ratio
    looks = {
        f"B {unit.less}": (theme.COLOURS[2], "triangle-up"),
        f"B {unit.more}": (theme.COLOURS[1], "triangle-down"),
        f"as {'fast' if unit.is_time else unit.much}": (theme.COLOURS[0], "square"),
        "undecided": (theme.GREY, "circle"),
        "no verdict": (theme.GREY, "diamond"),
    }
    verdicts = ("faster", "slower", "same", "undecided", "unavailable")
    chart_rows = rows.select(
        "benchmark", "target", "official", "speedup", "speedup_low", "speedup_high", "p_adjusted",
        reached=pl.format("A {}/{}, B {}/{}", "reached_a", "n_a", "reached_b", "n_b"),
        verdict=pl.col("verdict").replace(dict(zip(verdicts, looks, strict=True))),
    )  # fmt: skip
    present = [word for word in looks if word in set(chart_rows["verdict"])]
    color, shape = (
        charts.field(
            "verdict:N",
            scale={"domain": present, "range": [looks[word][part] for word in present]},
            legend={"title": None},
        )
        for part in (0, 1)
    )
    tooltip = [
        ("target:Q", "", ".5~g"), ("speedup:Q", "", ".4~r"),
        ("speedup_low:Q", f"{level} from", ".4~r"),
        ("speedup_high:Q", "to", ".4~r"), ("p_adjusted:Q", "p", ".2~g"), "verdict:N",
        "reached:N",
    ]  # fmt: skip
    limits = [*chart_rows["speedup_low"], *chart_rows["speedup_high"]]
    y = charts.ratio_position("speedup", ratio, chart_rows["speedup"].drop_nulls(), limits)
    data = charts.table_view(name, "datum.speedup != null")
    base = data.encode(x=x, y=y)
    marks = base.encode(color=color, tooltip=tooltip)
    layers = (
        data.reference("y", ratio),
        data.where("datum.official").mark("rule", style="target").encode(x=x),
        base.mark("line", strokeWidth=1, strokeOpacity=0.8).encode(color={"value": theme.GREY}),
        marks.interval("y", "speedup_low", "speedup_high", strokeWidth=1.5),
        marks.encode(shape=shape).points(55),
    )
    text = (
        f"{labels[0]}, {labels[1]}. {charts.sentence_case(ratio)} in {unit.ert} to each target"
        f", with a {level} interval per target; above 1, B {unit.fill(unit.better)}."
    )
    return f"{unit.ratio} at", text, chart_rows, layers


def _time_chart(
    rows: pl.DataFrame, unit: Axis, _: Sequence[str], name: str, x: charts.Channel, __: str
) -> _Chart:
    chart_rows = rows.select(
        "benchmark", "target", "official", ert_seconds="ert_a_seconds", n="n_a",
        reached="reached_a", fraction=pl.format("{}/{}", "reached_a", "n_a"),
    )  # fmt: skip
    times = chart_rows["ert_seconds"].drop_nulls()
    axis = axes.amount_axis(times.filter(times.is_finite()), unit, f"expected {unit.noun}")
    data = charts.table_view(
        name,
        "datum.ert_seconds != null",
        at=axis.field_expression("ert_seconds"),
        said=axes.amount_expression("datum.ert_seconds", unit),
    )
    base = data.encode(x=x, y=axis.y())
    blue = base.encode(color=charts.BLUE)
    tooltip = [
        ("target:Q", "", ".5~g"),
        ("said:N", f"expected {unit.noun}"),
        ("fraction:N", "reached"),
    ]
    layers = (
        data.where("datum.official").mark("rule", style="target").encode(x=x),
        blue.mark("line", strokeWidth=1.5),
        blue.encode(tooltip=tooltip).points(45),
        base.where("datum.reached < datum.n").labels("fraction", dy=-10),
    )
    text = (
        f"{charts.sentence_case(unit.expected)}: a run that misses the target "
        f"counts with all its {unit.noun}. Numbers are the runs that reached the target, where "
        "some did not."
    )
    return f"expected {unit.noun} to", text, chart_rows, layers
