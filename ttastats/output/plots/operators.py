"""How fast is the machine used: what binds operators, for how long, at which batch size?

Rooflines (Coleman et al., Figures 7, 8), time over achieved FLOP/s (Figures 9 to 11), and
throughput over batch size (TBD, Figures 4 to 7).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import polars as pl

from ttastats.base import units
from ttastats.output.plots import axes, charts
from ttastats.output.plots.plot import Plot, plots_or_none, refuse_if
from ttastats.output.plots.steps import Profiles, measure_values, of_profiles, rate_expression
from ttastats.traces import answers, categories

ROOFLINE, WORK, BATCH_SIZES = "roofline", "work", "batch-sizes"
#: Room around the outermost marks of a roofline.
_ROOM = 1.5
#: Kinds of work that move bytes and compute little: what would be left without them?
_LEFT_OUT = (categories.BATCH_NORM, categories.NORM, categories.ACTIVATION)
_REMOVED = (
    "A kind of work is removed by subtracting the time of its operators, not by a new measurement."
)
#: Of each plot: the column, its title, what its axis says and how, and what the column is.
_RATES = (
    ("samples_per_second", "Throughput", "samples per second", "~s", ""),
    ("utilization", "Share of the peak", "share of peak FLOP/s", ".0%",
     "FLOP/s of a step divided by the measured peak of a matrix multiplication."),
    ("cpu_utilization", "Utilization of the cores", "utilization of the cores", ".0%",
     "CPU time of a step divided by its wall-clock time and the number of cores."),
)  # fmt: skip


def roofline_plots(profiles: Profiles) -> tuple[Plot, ...]:
    """Return one roofline plot of all profiles."""
    operators = _operators_with_flops(profiles, "intensity", "bytes", "flops")
    bounded = operators.filter(pl.col("intensity").is_not_null())
    # An operator that took no time has no place.
    points = pl.concat([bounded, _whole_steps(profiles, operators)]).filter(
        pl.col("intensity").is_finite(), pl.col("flops_per_second").is_finite()
    )
    refuse_if(points.is_empty(), "bytes of operators are not known")
    roofs = _roof_lines(profiles, points)
    unmeasured = float(operators.filter(pl.col("intensity").is_null())["seconds"].sum())
    unmeasured /= float(operators["seconds"].sum())
    caption = (
        "Each mark is an operator; its area is its share of the time. Hollow marks are whole "
        "steps, including waits.",
        "Lines are the measured peaks of copying and of matrix multiplication."
        if roofs.height
        else "Peaks are not known for these traces.",
        "Bytes are those of inputs and outputs, ignoring caches, so the true intensity may lie "
        "further left.",
        f"Operators without FLOPs ({units.percent(unmeasured)} of the time) are included in the "
        "steps only.",
    )
    all_points = pl.concat([points.select(roofs.columns), roofs])
    ends = (all_points["intensity"].to_list(), all_points["flops_per_second"].to_list())
    across, up = ((min(values) / _ROOM, max(values) * _ROOM) for values in ends)
    color, shape, _ = charts.series_channels(list(profiles), "profile")
    scale = {"type": "log", "nice": False}
    intensities = {"grid": False, "format": "~g", "values": axes.round_ticks(*across)}
    label = rate_expression("datum.value", "")
    rates = {"labelExpr": label, "values": axes.round_ticks(*up)}
    titles = "FLOPs per byte, at least (log scale)", "achieved FLOP/s (log scale)"
    encodings = {
        "x": charts.position("intensity", titles[0], scale | {"domain": across}, intensities),
        "y": charts.position("flops_per_second", titles[1], scale | {"domain": up}, rates),
        "color": color,
    }
    tooltip = [
        "profile:N", "operator:N", ("category:N", "kind of work"), ("share:Q", "share", ".1%"),
        ("flops_per_second:Q", "FLOP/s", ".3s"), ("intensity:Q", "FLOPs per byte", ".3~r"),
    ]  # fmt: skip
    areas = {"domain": [0, 1], "range": [12, 500]}
    size = charts.field("share:Q", scale=areas, legend=None)
    base = charts.table_view("operators").encode(**encodings, tooltip=tooltip)
    whole = "datum.operator == 'the whole step'"
    marks = base.where(f"!({whole})").encode(shape=shape, size=size)
    steps = base.where(whole).mark("point", shape="diamond", size=90, strokeWidth=2, filled=False)
    roof = charts.table_view("roof").mark("line", strokeWidth=1.2).encode(**encodings)
    chart = (roof, marks.mark("point", filled=True, opacity=0.75), steps)
    title, texts = of_profiles(profiles, "Roofline of operators", caption)
    data = {"operators": points.drop("bytes", "flops"), "roof": roofs}
    return (charts.make_plot(ROOFLINE, None, title, texts, chart, data, height=260.0),)


def _whole_steps(profiles: Profiles, operators: pl.DataFrame) -> pl.DataFrame:
    """Return each step as a single operator, with all its waiting."""
    steps = {name: answers.mean_of_known(answers.step_table(rows)["step_seconds"])
             for name, rows in profiles.items()}  # fmt: skip
    step_seconds = pl.col("profile").replace_strict(steps, return_dtype=pl.Float64)
    sums = (
        operators.group_by("profile", maintain_order=True)
        .agg(pl.col("calls", "seconds", "flops", "bytes").sum())
        .with_columns(seconds=pl.coalesce(step_seconds, "seconds"))
    )
    whole = {"operator": pl.lit("the whole step"), "category": pl.lit(""), "share": pl.lit(1.0)}
    flops = pl.col("flops")
    rates = {"intensity": flops / pl.col("bytes"), "flops_per_second": flops / pl.col("seconds")}
    return sums.with_columns(**whole, **rates).select(operators.columns).cast(operators.schema)


def _roof_lines(profiles: Profiles, points: pl.DataFrame) -> pl.DataFrame:
    """Return the corners of the roof of each profile."""
    intensities, rows = points["intensity"].to_list(), []
    for name, (flops, copied) in _measured_peaks(profiles).items():
        if flops and copied:
            ridge = flops / copied
            corners = (min(*intensities, ridge / 2), ridge, max(*intensities, ridge * 2))
            rows += [(name, x, min(flops, copied * x)) for x in corners]
    schema = {"profile": pl.String, "intensity": pl.Float64, "flops_per_second": pl.Float64}
    return pl.DataFrame(rows, schema, orient="row")


def work_plots(profiles: Profiles) -> tuple[Plot, ...]:
    """Return a plot of achieved FLOP/s and one of tensor cores, if known.

    Of one profile there are further lines for what is left without some kinds of work.
    """
    lines = _with_compute_only(profiles)
    on_device = _operator_rates(lines, "tensor_core_share").drop_nulls("tensor_core_share")
    if not on_device["tensor_core_share"].sum():
        return (_rate_plot(profiles, lines),)
    rates = plots_or_none(lambda lines: (_rate_plot(profiles, lines),), lines)
    names = list(dict.fromkeys(on_device["profile"]))
    weighted = on_device.with_columns(share=pl.col("share") * pl.col("tensor_core_share"))
    caption = (
        "Each operator adds its share of the time at the fraction of its time spent in tensor "
        "core kernels. These are identified by name; their utilization is not measured.",
        f"In such kernels, of the time: {_share_text(names, weighted)}.",
    )
    title = "time of an operator in kernels of tensor cores"
    words = ("use of tensor cores", "on tensor cores", ".1%")
    axis = {"grid": False, "tickCount": 5, "format": ".0%"}
    x = charts.position("tensor_core_share", title, {"domain": [0, 1]}, axis)
    return (*rates, _work_plot(profiles, lines, on_device, x, words, caption))


def _with_compute_only(profiles: Profiles) -> Profiles:
    """Return the profiles; a single one also without the work that computes little.

    The kinds are left out one after the other, and the time of what is left is the whole again.
    """
    if len(profiles) > 1:
        return profiles
    ((name, rows),) = profiles.items()
    lines, removed = {name: rows}, []
    for kind in _LEFT_OUT:
        if kind in answers.compute_rows(rows)["category"]:
            removed.append(kind)
            rows = rows.filter(pl.col("category").ne_missing(kind))
            lines[f"without {', '.join(removed)}"] = rows
    return lines


def _rate_plot(profiles: Profiles, lines: Profiles) -> Plot:
    operators = _operators_with_flops(lines)
    unknown = operators.filter(pl.col("flops_per_second") == 0)
    caption = (
        "Each operator adds its share of the time at its achieved rate.",
        f"Without FLOPs: {_share_text(lines, unknown)}.",
    )
    tops = [(name, top) for name, (top, _) in _measured_peaks(profiles).items() if top]
    types = {"profile": pl.String, "flops_per_second": pl.Float64}
    peaks = pl.DataFrame(tops, types, orient="row")
    words = ("achieved FLOP/s", "FLOP/s", ".3s")
    axis = {"labelExpr": rate_expression("datum.value", "")}
    x = charts.position("flops_per_second", words[0], {}, {"grid": False, "tickCount": 5} | axis)
    return _work_plot(profiles, lines, operators, x, words, caption, peaks)


def _share_text(lines: Iterable[str], operators: pl.DataFrame) -> str:
    """Return the shares of the time of operators, by line, in words."""
    shares = {name: float(operators.filter(profile=name)["share"].sum()) for name in lines}
    return units.join_names([f"{name} {units.percent(share)}" for name, share in shares.items()])


def _work_plot(
    profiles: Profiles, lines: Profiles, operators: pl.DataFrame, x: charts.Channel,
    words: tuple[str, str, str], caption: Sequence[str], peaks: pl.DataFrame | None = None,
) -> Plot:  # fmt: skip
    """Return the plot of the share of time at a rate or a lower one.

    `words` are the title of the plot, and title and format of the rate in a tooltip.
    """
    rate, (title, name, form) = x["field"], words
    ordered = operators.sort("profile", rate, "operator", maintain_order=True)
    below = pl.col("share").cum_sum().over("profile", mapping_strategy="group_to_rows")
    table = ordered.select("profile", "operator", "category", "share", rate, below=below)
    color, shape, _ = charts.series_channels(list(lines), "profile")
    tooltip = [
        ("profile:N", "of"), "operator:N", ("category:N", "kind of work"),
        ("share:Q", "share", ".1%"), (f"{rate}:Q", name, form), ("below:Q", "at or below", ".1%"),
    ]  # fmt: skip
    up, shares = "share of time at this or less", {"format": ".0%", "tickCount": 5}
    y = charts.position("below", up, {"domain": [0, 1]}, shares)
    base = charts.table_view("work").encode(x=x, y=y, color=color)
    marks = base.where(f"datum.{rate} > 0").encode(shape=shape, tooltip=tooltip)
    layers = [base.mark("line", interpolate="step-after", strokeWidth=1.6), marks.points(26)]
    data = {"work": table}
    if len(lines) > len(profiles):
        caption = (*caption, _REMOVED)
    if peaks is not None:
        data["peaks"] = peaks
        dotted = charts.table_view("peaks").mark("rule", strokeDash=[1, 2], strokeWidth=1.2)
        layers.insert(0, dotted.encode(x=x, color=color))
        if peaks.height:
            caption = (*caption, "Dotted: the measured peak of a matrix multiplication.")
    title, caption = of_profiles(profiles, f"Share of time over {title}", caption)
    return charts.make_plot(WORK, None, title, caption, layers, data, height=220.0)


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
    for column, title, on_axis, form, text in _RATES:
        if table[column].count():
            y = charts.field(f"{column}:Q", title=on_axis, axis={"format": form, "tickCount": 5})
            base = charts.table_view("batch sizes").encode(x=x, y=y, color=color)
            points = base.encode(shape=shape, tooltip=tooltip).points(40)
            chart, data = (base.mark("line", strokeWidth=1.5), points), {"batch sizes": table}
            subject = of_profiles(profiles, f"{title} over batch size", [text or saturated])
            plots.append(charts.make_plot(BATCH_SIZES, None, *subject, chart, data, height=200.0))
    return tuple(plots)


def _batch_size_table(profiles: Profiles) -> pl.DataFrame:
    """Return one row for each profile and batch size."""
    how = "Measure it with `ttastats profile digits --batch-sizes auto -o prof.parquet`."
    rates = measure_values(profiles, "batch_samples_per_second", how)
    for measure in ("batch_step_flops", "batch_cpu_utilization"):
        values = measure_values(profiles, measure)
        rates = rates.join(values, on=["profile", "of"], how="left")
    peaks = {name: top for name, (top, _) in _measured_peaks(profiles).items()}
    peak = pl.col("profile").replace_strict(peaks, return_dtype=pl.Float64)
    size, rate = pl.col("of").cast(pl.Int64), pl.col("batch_samples_per_second")
    return rates.select(
        "profile",
        batch_size=size,
        samples_per_second=rate,
        utilization=pl.col("batch_step_flops") / size * rate / peak,
        cpu_utilization="batch_cpu_utilization",
    ).sort("profile", "batch_size")


def _operators_with_flops(profiles: Profiles, *columns: str) -> pl.DataFrame:
    """Return the operators of all profiles that have FLOPs; an error if there are none."""
    operators = _operator_rates(profiles, *columns)
    refuse_if(
        not operators["flops_per_second"].sum(),
        "FLOPs are unknown: the traces contain no input shapes",
        "Record them with torch.profiler.profile(record_shapes=True).",
    )
    return operators


def _operator_rates(profiles: Profiles, *columns: str) -> pl.DataFrame:
    """Return the operators that took time, with their rate and share of the time."""
    frames = [
        answers.operator_table(rows)
        .filter(pl.col("seconds") > 0)
        .select(
            pl.lit(name).alias("profile"), "operator", "category", "calls", "seconds", "share",
            pl.col("flops_per_second").fill_null(0.0), *columns,
        )
        for name, rows in profiles.items()
    ]  # fmt: skip
    return pl.concat(frames, how="vertical_relaxed")


def _measured_peaks(profiles: Profiles) -> dict[str, tuple[float | None, float | None]]:
    """Return the measured peaks of each profile: FLOP/s of a product, bytes/s of a copy."""
    return {
        name: (answers.peak(rows, "peak_flops"), answers.peak(rows, "peak_bandwidth"))
        for name, rows in profiles.items()
    }
