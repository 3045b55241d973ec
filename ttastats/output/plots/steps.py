"""Where do the time and the memory of a step go? Profiles as bars, with a part for each purpose."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import polars as pl

from ttastats.answers.profile import profile as report
from ttastats.base import units
from ttastats.output.plots import charts, theme
from ttastats.output.plots.plot import Plot, refuse_if
from ttastats.report.fitting import number_duplicates
from ttastats.traces import answers

#: The rows of profiles by their names.
Profiles = Mapping[str, pl.DataFrame]

STEP, MEMORY, WORKERS = "step", "memory", "workers"
#: The height of a bar with the room around it.
_BAR = 26.0
#: Beyond this factor between the lengths of steps, the short ones could not be seen.
_FARTHEST = 10.0
#: The parts of a step, each in the same colour in every plot; idle time stands back.
_COLOURS = dict(zip(report.TITLES.values(), (*theme.COLOURS, theme.GREY), strict=True))
#: What is measured of workers.
_MEASURES = {"in flight": "workers_under_way_seconds", "exposed": "workers_exposed_seconds",
             "pure": "workers_pure_seconds"}  # fmt: skip


def step_plots(profiles: Profiles) -> tuple[Plot, ...]:
    """Return one plot with a bar for each profile's step."""
    parts = pl.DataFrame(
        {"bar": name, "part": report.TITLES[row.name]}
        | {"n": row.n, "seconds": row.seconds, "share": row.share}
        for name, rows in profiles.items()
        for row in report.of_step(rows)
        if row.name in report.TITLES and row.seconds
    )
    refuse_if(parts.is_empty(), "the length of steps is not known")
    sums = parts.group_by("bar", maintain_order=True).agg(pl.sum("seconds"), pl.first("n"))
    means = [f"{bar} {units.seconds(whole)} ({units.plural(n, 'step')})"
             for bar, whole, n in sums.iter_rows()]  # fmt: skip
    caption = (
        f"Means over steps and ranks: {units.join_names(means)}.",
        "Communication and copies are counted only while no kernel computes.",
    )
    x = _amount_channel("seconds", "time of a step", "s")
    if float(sums["seconds"].max()) > _FARTHEST * float(sums["seconds"].min()):  # type: ignore[arg-type]
        x = _share_channel("share of the time of a step")
    tooltip = (("part:N",), ("seconds:Q", "seconds", ".3s"))
    colours = {part: colour for part, colour in _COLOURS.items() if part in set(parts["part"])}
    return _bar_plot(STEP, profiles, "Time of a step", caption, parts, x, colours, tooltip)


def memory_plots(profiles: Profiles) -> tuple[Plot, ...]:
    """Return one plot with a bar for each profile's peak memory."""
    how = "Record a workload, or a script with tta.profile(..., model=model)."
    parts = measure_values(profiles, "memory_bytes", how).rename({"profile": "bar", "of": "part"})
    whole = pl.col("memory_bytes").sum().over("bar")
    parts = parts.with_columns(share=pl.col("memory_bytes") / whole)
    sums = parts.group_by("bar", maintain_order=True).agg(pl.sum("memory_bytes"))
    sizes = [f"{name} {units.with_prefix(size, 'B')}" for name, size in sums.iter_rows()]
    caption = (
        f"Peak memory of a step: {units.join_names(sizes)}.",
        "Workspace is all other allocated memory, including the batch.",
    )
    x = _amount_channel("memory_bytes", "bytes", "B")
    tooltip = (("part:N", "kind"), ("memory_bytes:Q", "bytes", ".3s"))
    colours = dict(zip(parts["part"].unique(maintain_order=True), theme.COLOURS, strict=False))
    return _bar_plot(MEMORY, profiles, "Memory of a step", caption, parts, x, colours, tooltip)


def worker_plots(profiles: Profiles) -> tuple[Plot, ...]:
    """Return one plot with three bars for each profile and number of workers."""
    how = "Measure it with `ttastats profile digits --workers 2 -o prof.parquet`."
    steps = measure_values(profiles, "workers_step_seconds", how)
    worker_parts = [
        measure_values(profiles, measure, how)
        .rename({measure: "seconds"})
        .with_columns(part=pl.lit(name))
        for name, measure in _MEASURES.items()
    ]
    is_single = pl.col("of").n_unique().over("profile") == 1
    label = pl.format("{}, {} workers", "profile", "of")
    parts = pl.concat(worker_parts).join(steps, on=["profile", "of"]).select(
        pl.when(is_single).then("profile").otherwise(label).alias("bar"), "part", "seconds",
        share=pl.col("seconds") / pl.col("workers_step_seconds"),
    )  # fmt: skip
    caption = (
        "Shares of the wall-clock time of a step. In flight: from the start of an all-reduce to "
        "its end, including the wait for the slower worker; exposed: time beyond a step without "
        "communication; pure: the same bytes without computation.",
    )
    x, title = _share_channel("share of a step"), "Communication of workers"
    tooltip = (("part:N", "measured"), ("seconds:Q", "", ".3s"))
    colours = dict(zip(_MEASURES, theme.COLOURS, strict=False))
    return _bar_plot(WORKERS, profiles, title, caption, parts, x, colours, tooltip, stacked=False)


def _share_channel(title: str) -> charts.Channel:
    return charts.field("share:Q", title=title, axis={"format": ".0%", "tickCount": 5})


def _amount_channel(column: str, title: str, unit: str) -> charts.Channel:
    axis = {"labelExpr": rate_expression("datum.value", unit), "tickCount": 5}
    return charts.field(f"{column}:Q", title=title, axis=axis)


def _bar_plot(
    kind: str, profiles: Profiles, title: str, caption: Sequence[str], table: pl.DataFrame,
    x: charts.Channel, colours: Mapping[str, str], tooltip: Sequence[tuple[str, ...]], *,
    stacked: bool = True,
) -> tuple[Plot, ...]:  # fmt: skip
    """Return a plot with a bar for each name in the column `bar`, in parts by the column `part`.

    Parts lie behind each other in the order of their `colours`, or below each other.
    """
    parts, names = list(colours), table["bar"].unique(maintain_order=True).to_list()
    scale = {"domain": parts, "range": list(colours.values())}
    legend = {"title": None, "columns": 3}
    bars = charts.table_view(kind, place=f"indexof({json.dumps(parts)}, datum.part)").encode(
        x=x | {"stack": "zero" if stacked else None},
        y=charts.field("bar:N", title=None, sort=None, scale={"domain": names}),
        color=charts.field("part:N", scale=scale, sort=None, legend=legend),
        order="place:Q",
        tooltip=[("bar:N", "profile"), *tooltip, ("share:Q", "", ".1%")],
    )
    if not stacked:
        bars = bars.encode(yOffset=charts.field("part:N", sort=parts))
    chart = [bars.mark("bar", size=_BAR * (0.7 if stacked else 0.25))]
    height, (title, caption) = _BAR * len(names) + 60, of_profiles(profiles, title, caption)
    return (charts.make_plot(kind, None, title, caption, chart, {kind: table}, height=height),)


def profiles_by_name(files: Iterable[tuple[str, pl.DataFrame]]) -> Profiles:
    """Return the rows of each profile by name; one that is in two files counts once.

    Profiles that share a name are called by their files, and those of one file are numbered.
    """
    by_id: dict[str, tuple[str, str, pl.DataFrame]] = {}
    for label, table in files:
        for name, rows in answers.profiles(table):
            by_id.setdefault(rows["profile_id"][0], (name, label, rows))
    counts = Counter(name for name, _, _ in by_id.values())
    labels = [name if counts[name] == 1 else label for name, label, _ in by_id.values()]
    return dict(zip(number_duplicates(labels), (rows for *_, rows in by_id.values()), strict=True))


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


def of_profiles(
    profiles: Profiles, title: str, caption: Sequence[str]
) -> tuple[str, Sequence[str]]:
    """Return a title with the name of the only profile, and a caption with the devices."""
    title = f"{title}: {next(iter(profiles))}" if len(profiles) == 1 else title
    devices = [answers.measure_rows(rows, "device_name")["text"] for rows in profiles.values()]
    device_names = list(dict.fromkeys(pl.concat(devices).drop_nulls()))
    return title, (*caption, f"On {units.join_names(device_names)}." if device_names else "")


def rate_expression(value: str, unit: str) -> str:
    """Return the Vega expression that formats a rate, such as `20 GFLOP/s`."""
    # 1e9 is `1B` elsewhere, so that G is written.
    return f"replace(format({value}, '.3~s'), 'B', 'G') + '{unit}'"
