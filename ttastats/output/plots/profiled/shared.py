"""What do plots of profiles share: profiles by name, the operators of each, axes of rates?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import polars as pl

from ttastats.base import units
from ttastats.output.plots import charts
from ttastats.output.plots.names import number_duplicates
from ttastats.output.plots.plot import Plot, refuse_if
from ttastats.traces import answers

#: The rows of profiles by their names.
Profiles = Mapping[str, pl.DataFrame]


def profiles_by_name(files: Iterable[tuple[str, pl.DataFrame]]) -> Profiles:
    """Return the rows of each profile by name; one that is in two files counts once.

    Profiles that share a name are called by their files, and those of one file are numbered.
    """
    by_id: dict[str, tuple[str, str, pl.DataFrame]] = {}
    for label, rows in files:
        for name, own in answers.profiles(rows):
            by_id.setdefault(own["profile_id"][0], (name, label, own))
    named = Counter(name for name, _, _ in by_id.values())
    called = [name if named[name] == 1 else label for name, label, _ in by_id.values()]
    return dict(zip(number_duplicates(called), (own for _, _, own in by_id.values()), strict=True))


def operators_with_flops(profiles: Profiles, *more: str) -> pl.DataFrame:
    """Return the operators of all profiles that have FLOPs; an error if there are none."""
    found = operator_rates(profiles, *more)
    refuse_if(
        not found["flops_per_second"].sum(),
        "FLOPs are unknown: the traces contain no input shapes",
        "Record them with torch.profiler.profile(record_shapes=True).",
    )
    return found


def operator_rates(profiles: Profiles, *more: str) -> pl.DataFrame:
    """Return the operators that took time, with their rate and share of the time."""
    frames = [
        answers.operator_table(own)
        .filter(pl.col("seconds") > 0)
        .select(
            pl.lit(name).alias("profile"), "operator", "category", "calls", "seconds", "share",
            pl.col("flops_per_second").fill_null(0.0), *more,
        )
        for name, own in profiles.items()
    ]  # fmt: skip
    return pl.concat(frames, how="vertical_relaxed")


def measure_values(profiles: Profiles, measure: str, how: str) -> pl.DataFrame:
    """Return the values of a measure; if there are none, an error says `how` to record it."""
    found = measure_values_or_none(profiles, measure)
    refuse_if(found.is_empty(), "was not measured", how, where=measure)
    return found


def measure_values_or_none(profiles: Profiles, measure: str) -> pl.DataFrame:
    """Return the values of a measure in all profiles, possibly none."""
    frames = [
        answers.measure_rows(own, measure).select(
            pl.lit(name).alias("profile"), "of", pl.col("value").alias(measure)
        )
        for name, own in profiles.items()
    ]
    return pl.concat(frames).drop_nulls()


def measured_peaks(profiles: Profiles) -> dict[str, tuple[float | None, float | None]]:
    """Return the measured peaks of each profile: FLOP/s of a product, bytes/s of a copy."""
    return {
        name: (answers.peak(own, "peak_flops"), answers.peak(own, "peak_bandwidth"))
        for name, own in profiles.items()
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
    """Return a plot of profiles, titled by the one profile if there is only one.

    Empty sentences are left out.
    """
    named = f"{title}: {next(iter(profiles))}" if len(profiles) == 1 else title
    devices = [answers.measure_rows(rows, "device_name")["text"] for rows in profiles.values()]
    known = list(dict.fromkeys(str(name) for each in devices for name in each.drop_nulls()))
    machines = f"On {units.join_names(known)}." if known else ""
    return charts.make_plot(kind, None, named, (*caption, machines), chart, data, height=height)


def rate_expression(value: str, unit: str) -> str:
    """Return the Vega expression that formats a rate, such as `20 GFLOP/s`."""
    # 1e9 is `1B` elsewhere, so that G is written.
    return f"replace(format({value}, '.3~s'), 'B', 'G') + '{unit}'"
