"""What do more accelerators buy? Speedup against the ideal (Coleman et al. 2019, Figures 3, 4)."""

from __future__ import annotations

import polars as pl

from ttastats.answers import scaling as scaling_report
from ttastats.base import units
from ttastats.base.errors import TtastatsError
from ttastats.output.plots import axes, charts, names, theme
from ttastats.output.plots.material import OTHERS, Material
from ttastats.output.plots.plot import NothingToDrawError, Plot, refuse_if
from ttastats.report.grouping import BENCHMARK

KIND = "scaling"
_HEIGHT = 260.0
#: With more curves, only those of time to accuracy are drawn.
_BOTH_UP_TO = 2


def scaling_plots(material: Material) -> tuple[Plot, ...]:
    """Return one plot per benchmark that was run on several numbers of accelerators."""
    refuse_if(material.compares, "the scaling plot takes one file", "Give one file.")
    refuse_if(not material.axis.is_time, "the scaling plot shows time only", "Remove --in.")
    try:
        report = scaling_report.report(material.sides[0].runs)
    except TtastatsError as error:
        raise NothingToDrawError(error.what, remedy=error.remedy) from error
    parts = report.frame.partition_by(BENCHMARK, maintain_order=True)
    several = report.frame.select("suite", "round").unique().height > 1
    return tuple(_scaling_plot(part, several) for part in parts)


def _scaling_table(rows: pl.DataFrame) -> pl.DataFrame:
    """Return a row per entry and measure with the numbers of the report.

    `best` marks the points a curve goes through: the fastest at each number of accelerators.
    """
    growth = pl.col("accelerators") / pl.col("base_accelerators")
    common = rows.with_columns(curve=_curve_names(rows), growth=growth)
    shared = ("benchmark", "entry", "curve", "accelerators", "base_entry", "growth", "n", "reached")
    measures = {"time-to-accuracy": "speedup", "throughput": "throughput_speedup"}
    parts = [
        common.select(
            *shared,
            pl.lit(measure).alias("measure"),
            *(
                pl.col(f"{name}{end}").cast(pl.Float64).alias(number)
                for number, end in (("speedup", ""), ("low", "_low"), ("high", "_high"))
            ),
        )
        for measure, name in measures.items()
    ]
    long = pl.concat(parts).drop_nulls("speedup")
    best = pl.col("speedup") == pl.col("speedup").max().over("curve", "measure", "growth")
    return long.with_columns(best=best).sort("curve", "measure", "growth", "entry")


def _curve_names(rows: pl.DataFrame) -> pl.Series:
    """Return the name of each row's curve, by the keys in which curves differ: `NVIDIA H100`."""
    every = rows.to_dicts()
    differing = scaling_report.distinct_keys(every, scaling_report.CURVE)
    keys = [key for key in differing if key not in BENCHMARK] or ["submitter"]
    return pl.Series(names.short_labels([row[key] for key in keys] for row in every))


def _scaling_plot(rows: pl.DataFrame, several: bool) -> Plot:
    table = _scaling_table(rows)
    first = rows.row(0, named=True)
    of = first["benchmark"]
    ranked = table.group_by("curve").agg(pl.len(), pl.col("growth").max())
    ranked = ranked.sort(["growth", "len", "curve"], descending=[True, True, False])
    labels = ranked.get_column("curve").to_list()
    if len(labels) > _BOTH_UP_TO:
        table = table.filter(pl.col("measure") == "time-to-accuracy")
    shown, others = labels[: theme.HIGHLIGHTS], len(labels) > theme.HIGHLIGHTS
    colour = pl.when(pl.col("curve").is_in(shown)).then("curve").otherwise(pl.lit(OTHERS))
    table = table.with_columns(colour=colour)
    ends = [1.0, float(table.get_column("growth").max() or 1.0)]  # type: ignore[arg-type]
    key = " ".join(str(first[name]) for name in ("suite", "round", "benchmark") if first[name])
    of_curves, of_ideal = f"scaling: {key}", f"ideal: {key}"
    ideal = pl.DataFrame({"benchmark": [of] * 2, "growth": ends, "speedup": ends})
    title = f"Speedup over accelerators: {of}"
    title += f" ({first['suite']} {first['round']})" if several else ""
    n, reached = int(rows.get_column("n").sum()), int(rows.get_column("reached").sum())
    bases = rows.select("base_accelerators", curve=_curve_names(rows)).unique()
    fewest = [f"{name} {base}" for base, name in bases.sort("curve", "base_accelerators").rows()]
    caption = (
        f"{units.plural(n, 'run')} of {units.plural(rows.height, 'entry', 'entries')}: {reached:,} "
        "reached the target. Speedup over the entry of the same submitter, hardware and software "
        f"with the fewest accelerators ({units.join_names(fewest)}); lines go through the fastest "
        "entry of each size, the dashed grey line is the ideal. Vertical lines are 95% intervals.",
        "" if len(labels) > _BOTH_UP_TO else "Throughput (hollow, dotted) is from time per epoch.",
    )
    color, shape, _ = charts.series_channels([*shown, OTHERS] if others else shown)
    if others:
        shape["scale"]["range"][-1] = "circle"
    growth = axes.ratio_axis(table.get_column("growth"))
    # Accelerators come in powers of two.
    ticks = {"grid": False, **growth["axis"], "values": [2**n for n in range(20)]}
    top = [*table["speedup"], *table["growth"]]
    across = "accelerators, as a multiple of the fewest"
    places = {
        "x": charts.position_channel("growth", across, growth["scale"], ticks),
        "y": charts.ratio_channel("speedup", "speedup", top, table["low"]),
    }
    both = table.get_column("measure").n_unique() > 1
    dashes = {"domain": ["time-to-accuracy", "throughput"], "range": [[1, 0], [2, 3]]}
    legend = {"title": None} if both else None
    dash = charts.field_channel("measure:N", scale=dashes, legend=legend)
    tooltip = charts.tooltip_channels(
        "entry:N", "accelerators:Q", "measure:N", ("speedup:Q", "", ".3~r"),
        ("low:Q", "95% from", ".3~r"), ("high:Q", "to", ".3~r"), ("base_entry:N", "over"),
        "reached:Q", ("n:Q", "of"),
    )  # fmt: skip
    straight = charts.table_view(of_ideal).mark("line", style="ideal").encode(**places)
    base = charts.table_view(of_curves).encode(**places, color=color)
    best = base.where("datum.best").encode(strokeDash=dash, detail="curve:N")
    look, grown = {"strokeOpacity": 0.7, "strokeWidth": 1}, "datum.growth > 1"
    whisker = charts.interval_layer(base, "y", ("low", "high"), "speedup", where=grown, **look)
    marks = base.encode(shape=shape, tooltip=tooltip)
    hollow = marks.where("datum.measure == 'throughput'")
    filled = marks.where("datum.measure != 'throughput'")
    chart = (
        straight,
        best.mark("line", strokeWidth=1.5),
        whisker,
        hollow.mark("point", filled=False, size=32, opacity=1),
        charts.point_layer(filled, 40, fillOpacity=0.85),
    )
    data, runs = {of_curves: table, of_ideal: ideal}, f"{units.plural(n, 'run')}."
    return charts.make_plot(KIND, of, title, caption, chart, data, height=_HEIGHT, described=runs)
