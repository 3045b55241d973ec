"""What do plots of profiles share: profiles by name, the operators of each, axes of rates?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import polars as pl

from ttastats.base import units
from ttastats.output.plots import charts
from ttastats.output.plots.plot import Plot, refuse_if
from ttastats.report.fitting import number_duplicates
from ttastats.traces import answers

#: The rows of profiles by their names.
Profiles = Mapping[str, pl.DataFrame]


def profiles_by_name(files: Iterable[tuple[str, pl.DataFrame]]) -> Profiles:
    """Return the rows of each profile by name; one that is in two files counts once.

    Profiles that share a name are called by their files, and those of one file are numbered.
    """
    by_id: dict[str, tuple[str, str, pl.DataFrame]] = {}
    for label, table in files:
        for name, rows in answers.profiles(table):
            by_id.setdefault(rows["profile_id"][0], (name, label, rows))
    counts = Counter(name for name, _, _ in by_id.values())
    called = [name if counts[name] == 1 else label for name, label, _ in by_id.values()]
    return dict(zip(number_duplicates(called), (rows for *_, rows in by_id.values()), strict=True))


def operators_with_flops(profiles: Profiles, *more: str) -> pl.DataFrame:
    """Return the operators of all profiles that have FLOPs; an error if there are none."""
    operators = operator_rates(profiles, *more)
    refuse_if(
        not operators["flops_per_second"].sum(),
        "FLOPs are unknown: the traces contain no input shapes",
        "Record them with torch.profiler.profile(record_shapes=True).",
    )
    return operators


def operator_rates(profiles: Profiles, *more: str) -> pl.DataFrame:
    """Return the operators that took time, with their rate and share of the time."""
    frames = [
        answers.operator_table(rows)
        .filter(pl.col("seconds") > 0)
        .select(
            pl.lit(name).alias("profile"), "operator", "category", "calls", "seconds", "share",
            pl.col("flops_per_second").fill_null(0.0), *more,
        )
        for name, rows in profiles.items()
    ]  # fmt: skip
    return pl.concat(frames, how="vertical_relaxed")


def measure_values(profiles: Profiles, measure: str, how: str = "") -> pl.DataFrame:
    """Return the values of a measure; if there are none, an error says `how` to record it."""
    frames = [
        answers.measure_rows(rows, measure).select(
            pl.lit(name).alias("profile"), "of", pl.col("value").alias(measure)
        )
        for name, rows in profiles.items()
    ]
    values = pl.concat(frames).drop_nulls()
    refuse_if(how and values.is_empty(), "was not measured", how, where=measure)
    return values


def measured_peaks(profiles: Profiles) -> dict[str, tuple[float | None, float | None]]:
    """Return the measured peaks of each profile: FLOP/s of a product, bytes/s of a copy."""
    return {
        name: (answers.peak(rows, "peak_flops"), answers.peak(rows, "peak_bandwidth"))
        for name, rows in profiles.items()
    }


def make_plot(
    kind: str,
    profiles: Profiles,
    title: str,
    caption: Sequence[str],
    chart: charts.Drawn,
    data: Mapping[str, pl.DataFrame],
    *,
    height: float,
) -> Plot:
    """Return a plot of profiles, titled by the one profile if there is only one."""
    title = f"{title}: {next(iter(profiles))}" if len(profiles) == 1 else title
    devices = [answers.measure_rows(rows, "device_name")["text"] for rows in profiles.values()]
    known = pl.concat(devices).drop_nulls().unique(maintain_order=True).to_list()
    machines = f"On {units.join_names(known)}." if known else ""
    return charts.make_plot(kind, None, title, (*caption, machines), chart, data, height=height)


def rate_expression(value: str, unit: str) -> str:
    """Return the Vega expression that formats a rate, such as `20 GFLOP/s`."""
    # 1e9 is `1B` elsewhere, so that G is written.
    return f"replace(format({value}, '.3~s'), 'B', 'G') + '{unit}'"
