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
    color, shape, _ = charts.series_channels(list(profiles), "profile")
    tooltip = [
        "profile:N", "batch_size:Q", ("samples_per_second:Q", "samples per second", ",.0f"),
        ("utilization:Q", "of peak", ".1%"), ("cpu_utilization:Q", "of the cores", ".1%"),
    ]  # fmt: skip
    scale, ticks = {"type": "log", "base": 2, "nice": False}, {"grid": False, "format": "~d"}
    x = charts.position("batch_size", "samples per step (log scale)", scale, ticks)
    plots = []
    for column, title, on_axis, form, text in _DRAWN:
        if table[column].count():
            y = charts.field(f"{column}:Q", title=on_axis, axis={"format": form, "tickCount": 5})
            base = charts.table_view("batch sizes").encode(x=x, y=y, color=color)
            points = base.encode(shape=shape, tooltip=tooltip).points(40)
            plot = shared.make_plot(
                KIND, profiles, f"{title} over batch size", (text or saturated,),
                (base.mark("line", strokeWidth=1.5), points), {"batch sizes": table}, height=200.0,
            )  # fmt: skip
            plots.append(plot)
    return tuple(plots)


def _batch_size_table(profiles: Profiles) -> pl.DataFrame:
    """Return one row for each profile and batch size."""
    how = "Measure it with `ttastats profile digits --batch-sizes auto -o prof.parquet`."
    rates = shared.measure_values(profiles, "batch_samples_per_second", how)
    for measure in ("batch_step_flops", "batch_cpu_utilization"):
        more = shared.measure_values(profiles, measure)
        rates = rates.join(more, on=["profile", "of"], how="left")
    peaks = {name: top for name, (top, _) in shared.measured_peaks(profiles).items()}
    peak = pl.col("profile").replace_strict(peaks, return_dtype=pl.Float64)
    size, rate = pl.col("of").cast(pl.Int64), pl.col("batch_samples_per_second")
    return rates.select(
        "profile",
        batch_size=size,
        samples_per_second=rate,
        utilization=pl.col("batch_step_flops") / size * rate / peak,
        cpu_utilization="batch_cpu_utilization",
    ).sort("profile", "batch_size")
