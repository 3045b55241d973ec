"""What do more accelerators buy? Speedup against the ideal (Coleman et al. 2019, Figures 3, 4)."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from ttastats.answers import scaling as scaling_report
from ttastats.base import units
from ttastats.base.errors import TtastatsError
from ttastats.base.percentages import percent_text
from ttastats.output.plots import axes, charts, theme
from ttastats.output.plots.material import OTHERS, Material
from ttastats.output.plots.plot import NothingToDrawError, Plot, refuse_if
from ttastats.report import fitting
from ttastats.report.grouping import BENCHMARK

KIND = "scaling"
#: The columns of the report by what they measure.
_MEASURES = {"time-to-accuracy": "speedup", "throughput": "throughput_speedup"}
#: With more curves, only those of time to accuracy are drawn.
_BOTH_UP_TO = 2


def scaling_plots(material: Material) -> tuple[Plot, ...]:
    """Return one plot per benchmark that was run on several numbers of accelerators."""
    refuse_if(material.compares, "the scaling plot takes one file", "Give one file.")
    refuse_if(not material.axis.is_time, "the scaling plot shows time only", "Remove --in.")
    try:
        report = scaling_report.report(material.sides[0].runs, confidence=material.confidence)
    except TtastatsError as error:
        raise NothingToDrawError(error.what, remedy=error.remedy) from error
    parts = report.frame.partition_by(BENCHMARK, maintain_order=True)
    several = report.frame.select("suite", "round").unique().height > 1
    level = percent_text(material.confidence)
    return tuple(_scaling_plot(part, level, several=several) for part in parts)


def _scaling_table(rows: pl.DataFrame) -> pl.DataFrame:
    """Return a row per entry and measure with the numbers of the report.

    `best` marks the points a curve goes through: the fastest at each number of accelerators.
    """
    common = rows.with_columns(growth=pl.col("accelerators") / pl.col("base_accelerators"))
    shared = ("benchmark", "entry", "curve", "accelerators", "base_entry", "growth", "n", "reached")
    numbers = {"speedup": "", "low": "_low", "high": "_high"}.items()
    parts = [
        common.select(
            *shared,
            measure=pl.lit(measure),
            **{name: pl.col(f"{column}{end}").cast(pl.Float64) for name, end in numbers},
        )
        for measure, column in _MEASURES.items()
    ]
    long = pl.concat(parts).drop_nulls("speedup")
    best = pl.col("speedup") == pl.col("speedup").max().over("curve", "measure", "growth")
    return long.with_columns(best=best).sort("curve", "measure", "growth", "entry")


def _scaling_plot(rows: pl.DataFrame, level: str, *, several: bool) -> Plot:
    # Curves are named by the keys in which they differ: `NVIDIA H100`.
    all_rows, first = rows.to_dicts(), rows.row(0, named=True)
    differing = scaling_report.distinct_keys(all_rows, scaling_report.CURVE)
    keys = [key for key in differing if key not in BENCHMARK] or ["submitter"]
    names = fitting.short_labels([row[key] for key in keys] for row in all_rows)
    rows = rows.with_columns(curve=pl.Series(names))
    table = _scaling_table(rows)
    ranked = table.group_by("curve").agg(pl.len(), pl.col("growth").max())
    ranked = ranked.sort(["growth", "len", "curve"], descending=[True, True, False])
    labels = ranked["curve"].to_list()
    if len(labels) > _BOTH_UP_TO:
        table = table.filter(pl.col("measure") == "time-to-accuracy")
    visible = labels[: theme.HIGHLIGHTS]
    colour = pl.when(pl.col("curve").is_in(visible)).then("curve").otherwise(pl.lit(OTHERS))
    table = table.with_columns(colour=colour)
    ends = [1.0, float(table["growth"].max() or 1.0)]  # type: ignore[arg-type]
    key = " ".join(str(first[name]) for name in ("suite", "round", "benchmark") if first[name])
    of_curves, of_ideal = f"scaling: {key}", f"ideal: {key}"
    ideal = {"benchmark": [first["benchmark"]] * 2, "growth": ends, "speedup": ends}
    data = {of_curves: table, of_ideal: pl.DataFrame(ideal)}
    title = f"Speedup over accelerators: {first['benchmark']}"
    title += f" ({first['suite']} {first['round']})" if several else ""
    runs, reached = units.plural(int(rows["n"].sum()), "run"), int(rows["reached"].sum())
    bases = rows.select("curve", "base_accelerators").unique().sort(pl.all()).rows()
    fewest = units.join_names([f"{name} {base}" for name, base in bases])
    caption = (
        f"{runs} of {units.plural(rows.height, 'entry', 'entries')}: {reached:,} reached the "
        "target. Speedup over the entry of the same submitter, hardware and software with the "
        f"fewest accelerators ({fewest}); lines go through the fastest entry of each size, the "
        f"dashed grey line is the ideal. Vertical lines are {level} intervals.",
        "Throughput (hollow, dotted) is from time per epoch." if len(labels) <= _BOTH_UP_TO else "",
    )
    labels = [*visible, OTHERS] if len(labels) > len(visible) else visible
    layers = _scaling_layers(of_curves, of_ideal, table, labels, level)
    return charts.make_plot(
        KIND, first["benchmark"], title, caption, layers, data, height=260.0, described=f"{runs}."
    )


def _scaling_layers(
    curves: str, ideal: str, table: pl.DataFrame, labels: Sequence[str], level: str
) -> charts.Layers:
    color, shape, _ = charts.series_channels(labels)
    if labels[-1] == OTHERS:
        shape["scale"]["range"][-1] = "circle"
    # Accelerators come in powers of two.
    ticks = {"grid": False, "format": "~g", "values": [2**n for n in range(20)]}
    across = "accelerators, as a multiple of the fewest"
    top = [*table["speedup"], *table["growth"]]
    encodings = {
        "x": charts.position("growth", across, axes.ratio_scale(table["growth"]).vega, ticks),
        "y": charts.ratio_position("speedup", "speedup", top, table["low"]),
    }
    dashes = {"domain": list(_MEASURES), "range": [[1, 0], [2, 3]]}
    legend = {"title": None} if table["measure"].n_unique() > 1 else None
    dash = charts.field("measure:N", scale=dashes, legend=legend)
    tooltip = [
        "entry:N", "accelerators:Q", "measure:N", ("speedup:Q", "", ".3~r"),
        ("low:Q", f"{level} from", ".3~r"), ("high:Q", "to", ".3~r"), ("base_entry:N", "over"),
        "reached:Q", ("n:Q", "of"),
    ]  # fmt: skip
    base = charts.table_view(curves).encode(**encodings, color=color)
    best = base.where("datum.best").encode(strokeDash=dash, detail="curve:N")
    marks = base.encode(shape=shape, tooltip=tooltip)
    hollow, filled = (marks.where(f"datum.measure {sign} 'throughput'") for sign in ("==", "!="))
    look = {"strokeOpacity": 0.7, "strokeWidth": 1}
    return (
        charts.table_view(ideal).mark("line", style="ideal").encode(**encodings),
        best.mark("line", strokeWidth=1.5),
        base.interval("y", "low", "high", "datum.growth > 1", **look),
        hollow.mark("point", filled=False, size=32, opacity=1),
        filled.points(40, fillOpacity=0.85),
    )
