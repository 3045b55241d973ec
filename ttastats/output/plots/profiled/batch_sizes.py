"""Up to which batch size does a larger one train more samples a second? (TBD, Figures 4 to 7)"""

from __future__ import annotations

import polars as pl

from ttastats.base import units
from ttastats.output.plots import charts
from ttastats.output.plots.plot import Plot
from ttastats.output.plots.profiled import shared
from ttastats.output.plots.profiled.shared import Profiles
from ttastats.traces import answers

KIND = "batch-sizes"
_HEIGHT = 200.0
_TABLE = "batch sizes"
_HOW = "Measure it with `ttastats profile digits --batch-sizes auto -o prof.parquet`."
#: Of each plot: the column, its title, what its axis says and how, and what the column is.
_DRAWN = (
    ("samples_per_second", "Throughput", "samples per second", "~s", ""),
    ("utilization", "Share of the peak", "share of peak FLOP/s", ".0%",
     "FLOP/s of a step divided by the measured peak of a matrix multiplication."),
    ("cpu_utilization", "Utilization of the cores", "utilization of the cores", ".0%",
     "CPU time of a step divided by its wall-clock time and the number of cores."),
)  # fmt: skip


def batch_size_plots(profiles: Profiles) -> tuple[Plot, ...]:
    """Return plots of throughput, FLOP/s share and core utilization by batch size."""
    table = _batch_size_table(profiles)
    large = []
    for (name,), sizes in table.group_by("profile", maintain_order=True):
        size = answers.saturation_point(dict(sizes["batch_size", "samples_per_second"].rows()))
        large.append(f"{name} {'none' if size is None else f'{size:,}'}")
    rule = f"doubling the batch gives less than {units.percent(answers.GAIN)} more throughput"
    saturated = f"Large enough (where {rule}): {units.join_names(large)}."
    return tuple(
        shared.make_plot(
            KIND,
            profiles,
            f"{title} over batch size",
            (text or saturated,),
            _batch_size_chart(profiles, field, on_axis, form),
            {_TABLE: table},
            height=_HEIGHT,
        )
        for field, title, on_axis, form, text in _DRAWN
        if table[field].count()
    )


def _batch_size_table(profiles: Profiles) -> pl.DataFrame:
    """Return one row for each profile and batch size."""
    rates = shared.measure_values(profiles, "batch_samples_per_second", _HOW)
    for measure in ("batch_step_flops", "batch_cpu_utilization"):
        more = shared.measure_values_or_none(profiles, measure)
        rates = rates.join(more, on=["profile", "of"], how="left")
    peaks = {name: top for name, (top, _) in shared.measured_peaks(profiles).items()}
    peak = pl.col("profile").replace_strict(peaks, return_dtype=pl.Float64)
    size = pl.col("of").cast(pl.Int64)
    rate = pl.col("batch_samples_per_second")
    achieved = pl.col("batch_step_flops") / size * rate
    return rates.select(
        "profile",
        batch_size=size,
        samples_per_second=rate,
        utilization=achieved / peak,
        cpu_utilization="batch_cpu_utilization",
    ).sort("profile", "batch_size")


def _batch_size_chart(profiles: Profiles, field: str, title: str, form: str) -> charts.Drawn:
    color, shape, _ = charts.series_channels(list(profiles), "profile")
    tooltip = charts.tooltip_channels(
        "profile:N", "batch_size:Q", ("samples_per_second:Q", "samples per second", ",.0f"),
        ("utilization:Q", "of peak", ".1%"), ("cpu_utilization:Q", "of the cores", ".1%"),
    )  # fmt: skip
    scale, ticks = {"type": "log", "base": 2, "nice": False}, {"grid": False, "format": "~d"}
    base = charts.table_view(_TABLE).encode(
        x=charts.position_channel("batch_size", "samples per step (log scale)", scale, ticks),
        y=charts.field_channel(f"{field}:Q", title=title, axis={"format": form, "tickCount": 5}),
        color=color,
    )
    points = charts.point_layer(base.encode(shape=shape, tooltip=tooltip), 40)
    return (base.mark("line", strokeWidth=1.5), points)
