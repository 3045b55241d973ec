"""What do more accelerators buy? Speedup against the ideal (Coleman et al. 2019, Figures 3, 4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import polars as pl

from ttastats.answers import scaling as scaling_report
from ttastats.base import units
from ttastats.base.errors import TtastatsError
from ttastats.output.plots import axes, charts, names, theme
from ttastats.output.plots.material import OTHERS, Material
from ttastats.output.plots.plot import NothingToDrawError, Plot
from ttastats.report.grouping import BENCHMARK

KIND = "scaling"
_HEIGHT = 260.0
#: With more curves, only those of time to accuracy are drawn.
_BOTH_UP_TO = 2


def plots(material: Material) -> tuple[Plot, ...]:
    """Return one plot per benchmark that was run on several numbers of accelerators.

    Raises
    ------
    NothingToDrawError
        No curve has two numbers of accelerators.
    """
    if material.compares:
        raise NothingToDrawError("the scaling plot takes one file", remedy="Give one file.")
    if not material.axis.is_time:
        raise NothingToDrawError("the scaling plot shows time only", remedy="Remove --in.")
    try:
        report = scaling_report.report(material.sides[0].runs)
    except TtastatsError as error:
        raise NothingToDrawError(error.what, remedy=error.remedy) from error
    parts = report.frame.partition_by(BENCHMARK, maintain_order=True)
    several = report.frame.select("suite", "round").unique().height > 1
    return tuple(_plot(part, several) for part in parts)


def table(rows: pl.DataFrame) -> pl.DataFrame:
    """Return a row per entry and measure: the numbers of the report, and the growth they belong to.

    `best` marks the points a curve goes through: the fastest at each number of accelerators.
    """
    common = rows.with_columns(
        curve=pl.Series(_curves(rows), dtype=pl.String),
        growth=pl.col("accelerators") / pl.col("base_accelerators"),
    )
    kept = ("benchmark", "entry", "curve", "accelerators", "base_entry", "growth", "n", "reached")
    parts = [
        common.select(
            *kept,
            pl.lit(measure).alias("measure"),
            pl.col(name).cast(pl.Float64).alias("speedup"),
            pl.col(f"{name}_low").cast(pl.Float64).alias("low"),
            pl.col(f"{name}_high").cast(pl.Float64).alias("high"),
        )
        for measure, name in (
            ("time-to-accuracy", "speedup"), ("throughput", "throughput_speedup"),
        )
    ]  # fmt: skip
    long = pl.concat(parts).drop_nulls("speedup")
    best = pl.col("speedup") == pl.col("speedup").max().over("curve", "measure", "growth")
    return long.with_columns(best=best).sort("curve", "measure", "growth", "entry")


def _curves(rows: pl.DataFrame) -> list[str]:
    """Name the curve of each row by what the curves differ in: `NVIDIA H100`."""
    found = rows.to_dicts()
    keys = scaling_report.distinct_keys(found, scaling_report.CURVE)
    kept = [key for key in keys if key not in BENCHMARK] or ["submitter"]
    full = [names.label([row[key] for key in kept]) for row in found]
    short = names.short(full)
    return [short[name] for name in full]


def _plot(rows: pl.DataFrame, several: bool) -> Plot:
    found = table(rows)
    first = rows.row(0, named=True)
    ranked = found.group_by("curve").agg(pl.len(), pl.col("growth").max())
    ranked = ranked.sort(["growth", "len", "curve"], descending=[True, True, False])
    labels = ranked.get_column("curve").to_list()
    if len(labels) > _BOTH_UP_TO:
        found = found.filter(pl.col("measure") == "time-to-accuracy")
    shown = labels[: theme.HIGHLIGHTS]
    colour = pl.when(pl.col("curve").is_in(shown)).then("curve").otherwise(pl.lit(OTHERS))
    found = found.with_columns(colour=colour)
    ends = [1.0, float(found.get_column("growth").max() or 1.0)]  # type: ignore[arg-type]
    key = " ".join(str(first[name]) for name in ("suite", "round", "benchmark") if first[name])
    names_ = (f"scaling: {key}", f"ideal: {key}")
    ideal = pl.DataFrame({"benchmark": [first["benchmark"]] * 2, "growth": ends, "speedup": ends})
    title = f"Speedup over accelerators: {first['benchmark']}"
    title += f" ({first['suite']} {first['round']})" if several else ""
    n, reached = int(rows.get_column("n").sum()), int(rows.get_column("reached").sum())
    bases = rows.select("base_accelerators", curve=pl.Series(_curves(rows), dtype=pl.String))
    said = [
        f"{name} {base}" for base, name in bases.unique().sort("curve", "base_accelerators").rows()
    ]
    caption = (
        f"{units.plural(n, 'run')} of {units.plural(rows.height, 'entry', 'entries')}: {reached:,} "
        "reached the target. Speedup over the entry of the same submitter, hardware and software "
        f"with the fewest accelerators ({units.listed(said)}); lines go through the fastest entry "
        "of each size, the dashed grey line is the ideal. Vertical lines are 95% intervals.",
        "" if len(labels) > _BOTH_UP_TO else "Throughput (hollow, dotted) is from time per epoch.",
    )
    chart = _chart(names_, found, shown, len(labels) > len(shown))
    data, runs = {names_[0]: found, names_[1]: ideal}, f"{units.plural(n, 'run')}."
    of = first["benchmark"]
    return charts.plot(KIND, of, title, caption, chart, data, height=_HEIGHT, described=runs)


def _chart(names_: Sequence[str], found: pl.DataFrame, shown: Sequence[str], others: bool) -> Any:
    labels = [*shown, OTHERS] if others else list(shown)
    colours, shapes = charts.colour_scale(labels)
    if others:
        shapes.range[-1] = "circle"
    growth = axes.ratio_axis(found.get_column("growth"))
    # Accelerators come in powers of two.
    growth["axis"]["values"] = [2**n for n in range(20)]
    top = [*found.get_column("speedup"), *found.get_column("growth")]
    ratios = axes.ratio_axis(top, [*found.get_column("low").drop_nulls()])
    x = alt.X(
        "growth:Q", title="accelerators, as a multiple of the fewest",
        scale=alt.Scale(**growth["scale"]), axis=alt.Axis(grid=False, **growth["axis"]),
    )  # fmt: skip
    y = alt.Y(
        "speedup:Q", title="speedup", scale=alt.Scale(**ratios["scale"]),
        axis=alt.Axis(**ratios["axis"]),
    )  # fmt: skip
    key = charts.legend(labels)
    both = found.get_column("measure").n_unique() > 1
    measures = ["time-to-accuracy", "throughput"]
    dash = alt.StrokeDash(
        "measure:N",
        scale=alt.Scale(domain=measures, range=[[1, 0], [2, 3]]),
        legend=alt.Legend(title=None) if both else None,
    )
    ideal = alt.Chart(alt.NamedData(name=names_[1])).mark_line(style="ideal").encode(x=x, y=y)
    tooltip = charts.tooltips(
        "entry:N", "accelerators:Q", "measure:N", ("speedup:Q", "", ".3~r"),
        ("low:Q", "95% from", ".3~r"), ("high:Q", "to", ".3~r"), ("base_entry:N", "over"),
        "reached:Q", ("n:Q", "of"),
    )  # fmt: skip
    color = alt.Color("colour:N", scale=colours, legend=key)
    base = alt.Chart(alt.NamedData(name=names_[0]))
    lines = (
        base.transform_filter("datum.best")
        .mark_line(strokeWidth=1.5)
        .encode(x=x, y=y, color=color, strokeDash=dash, detail=alt.Detail("curve:N"))
    )
    whisker = (
        base.transform_filter("datum.low != null && datum.high != null && datum.growth > 1")
        .mark_rule(clip=True, strokeOpacity=0.7, strokeWidth=1)
        .encode(x=x, y=alt.Y("low:Q", title="speedup"), y2=alt.Y2("high:Q"), color=color)
    )
    marks = base.encode(
        x=x,
        y=y,
        color=color,
        shape=alt.Shape("colour:N", scale=shapes, legend=key),
        tooltip=tooltip,
    )
    hollow = marks.transform_filter("datum.measure == 'throughput'").mark_point(
        filled=False, size=32, opacity=1
    )
    points = marks.transform_filter("datum.measure != 'throughput'").mark_point(
        filled=True, size=40, opacity=1, fillOpacity=0.85
    )
    return (ideal, lines, whisker, hollow, points)
