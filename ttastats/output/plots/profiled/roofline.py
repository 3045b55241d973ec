"""What binds each operator, arithmetic or memory? The roofline (Coleman et al., Figures 7, 8)."""

from __future__ import annotations

import polars as pl

from ttastats.base import units
from ttastats.output.plots import axes, charts
from ttastats.output.plots.plot import Plot, refuse_if
from ttastats.output.plots.profiled import shared
from ttastats.output.plots.profiled.shared import Profiles
from ttastats.traces import answers

KIND = "roofline"
_ROOF, _OPERATORS = "roof", "operators"
#: Room around the outermost marks.
_ROOM = 1.5


def roofline_plots(profiles: Profiles) -> tuple[Plot, ...]:
    """Return one roofline plot of all profiles."""
    every = shared.operators_with_flops(profiles, "intensity", "bytes", "flops")
    known = every.filter(pl.col("intensity").is_not_null())
    # An operator that took no time has no place.
    points = pl.concat([known, _whole_steps(profiles, every)]).filter(
        pl.col("intensity").is_finite(), pl.col("flops_per_second").is_finite()
    )
    refuse_if(points.is_empty(), "bytes of operators are not known")
    roofs = _roof_lines(profiles, points)
    without = float(every.filter(pl.col("intensity").is_null())["seconds"].sum())
    without /= float(every["seconds"].sum())
    caption = (
        "Each mark is an operator; its area is its share of the time. Hollow marks are whole "
        "steps, including waits.",
        "Lines are the measured peaks of copying and of matrix multiplication."
        if roofs.height
        else "Peaks are not known for these traces.",
        "Bytes are those of inputs and outputs, ignoring caches, so the true intensity may lie "
        "further left.",
        f"Operators without FLOPs ({units.percent(without)} of the time) are included in the "
        "steps only.",
    )
    both = pl.concat([points.select(roofs.columns), roofs])
    across, up = ((low / _ROOM, high * _ROOM) for low, high in _axis_ranges(both))
    color, shape, _ = charts.series_channels(list(profiles), "profile")
    scale = {"type": "log", "nice": False}
    intensities = {"grid": False, "format": "~g", "values": axes.round_ticks(*across)}
    label = shared.rate_expression("datum.value", "")
    rates = {"labelExpr": label, "values": axes.round_ticks(*up)}
    titles = "FLOPs per byte, at least (log scale)", "achieved FLOP/s (log scale)"
    places = {
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
    base = charts.table_view(_OPERATORS).encode(**places, tooltip=tooltip)
    whole = "datum.operator == 'the whole step'"
    marks = base.where(f"!({whole})").encode(shape=shape, size=size)
    steps = base.where(whole).mark("point", shape="diamond", size=90, strokeWidth=2, filled=False)
    roof = charts.table_view(_ROOF).mark("line", strokeWidth=1.2).encode(**places)
    chart = (roof, marks.mark("point", filled=True, opacity=0.75), steps)
    title, data = "Roofline of operators", {_OPERATORS: points.drop("bytes", "flops"), _ROOF: roofs}
    return (shared.make_plot(KIND, profiles, title, caption, chart, data, height=260.0),)


def _axis_ranges(points: pl.DataFrame) -> list[tuple[float, float]]:
    """Return the lowest and the highest value of both axes."""
    columns = (points[name] for name in ("intensity", "flops_per_second"))
    return [(float(x.min()), float(x.max())) for x in columns]  # type: ignore[arg-type]


def _whole_steps(profiles: Profiles, every: pl.DataFrame) -> pl.DataFrame:
    """Return each step as a single operator, with all its waiting."""
    steps = {name: answers.mean_of_known(answers.step_table(rows)["step_seconds"])
             for name, rows in profiles.items()}  # fmt: skip
    known = pl.col("profile").replace_strict(steps, return_dtype=pl.Float64)
    sums = (
        every.group_by("profile", maintain_order=True)
        .agg(pl.col("calls", "seconds", "flops", "bytes").sum())
        .with_columns(seconds=pl.coalesce(known, "seconds"))
    )
    whole = {"operator": pl.lit("the whole step"), "category": pl.lit(""), "share": pl.lit(1.0)}
    flops = pl.col("flops")
    rates = {"intensity": flops / pl.col("bytes"), "flops_per_second": flops / pl.col("seconds")}
    return sums.with_columns(**whole, **rates).select(every.columns).cast(every.schema)


def _roof_lines(profiles: Profiles, points: pl.DataFrame) -> pl.DataFrame:
    """Return the corners of the roof of each profile."""
    (low, high), _ = _axis_ranges(points)
    rows = []
    for name, (flops, copied) in shared.measured_peaks(profiles).items():
        if flops and copied:
            ridge = flops / copied
            corners = (min(low, ridge / 2), ridge, max(high, ridge * 2))
            rows += [(name, x, min(flops, copied * x)) for x in corners]
    schema = {"profile": pl.String, "intensity": pl.Float64, "flops_per_second": pl.Float64}
    return pl.DataFrame(rows, schema, orient="row")
