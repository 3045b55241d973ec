"""How fast is the machine used for how much of the time? (Coleman et al., Figures 9 to 11)"""

from __future__ import annotations

from typing import Any

import polars as pl

from ttastats import units
from ttastats.pictures import charts
from ttastats.pictures.picture import Picture
from ttastats.pictures.profiled import shared
from ttastats.pictures.profiled.shared import Profiles

KIND = "work"
_HEIGHT = 220.0
_STEPS, _PEAKS = "work", "peaks"


def pictures(profiles: Profiles) -> tuple[Picture, ...]:
    """Give one picture of all profiles.

    Raises
    ------
    NothingToDrawError
        No profile knows FLOPs of an operator.
    """
    every = shared.operators(profiles)
    peaks = [
        {"profile": name, "flops_per_second": flops}
        for name, (flops, _) in shared.peaks(profiles).items()
        if flops
    ]
    schema = {"profile": pl.String, "flops_per_second": pl.Float64}
    idle = every.filter(pl.col("flops_per_second") == 0)
    none = (
        f"{name} {units.percent(float(idle.filter(profile=name)['share'].sum()))}"
        for name in profiles
    )
    caption = (
        "A line rises by an operator's share of the time at the rate it achieved.",
        f"Without FLOPs: {units.listed(list(none))}.",
        "Dotted: the fastest matrix product measured." if peaks else "",
        shared.machines(profiles),
    )
    data = {_STEPS: table(every), _PEAKS: pl.DataFrame(peaks, schema=schema)}
    title = shared.described(profiles, "Share of time over achieved FLOP/s")
    return (shared.picture(KIND, title, caption, _chart(profiles), data, height=_HEIGHT),)


def table(every: pl.DataFrame) -> pl.DataFrame:
    """Give the steps of a line for each profile: the share of time at a rate or a lower one."""
    ordered = every.sort("profile", "flops_per_second", "operator", maintain_order=True)
    return ordered.with_columns(
        below=pl.col("share").cum_sum().over("profile", mapping_strategy="group_to_rows")
    ).select("profile", "operator", "category", "share", "flops_per_second", "below")


def _chart(profiles: Profiles) -> Any:
    import altair as alt  # costs start-up time

    colour, _ = shared.colour(profiles)
    x = alt.X(
        "flops_per_second:Q", title="achieved FLOP/s",
        axis=alt.Axis(grid=False, labelExpr=shared.rate("datum.value", ""), tickCount=5),
    )  # fmt: skip
    y = alt.Y(
        "below:Q", title="share of time at this rate or less",
        scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format=".0%", tickCount=5),
    )  # fmt: skip
    tooltip = charts.tooltips(
        "profile:N", "operator:N", ("category:N", "kind of work"), ("share:Q", "share", ".1%"),
        ("flops_per_second:Q", "FLOP/s", ".3s"), ("below:Q", "at most that", ".1%"),
    )  # fmt: skip
    base = alt.Chart(alt.NamedData(name=_STEPS))
    lines = base.mark_line(interpolate="step-after", strokeWidth=1.6).encode(x=x, y=y, color=colour)
    marks = (
        base.transform_filter("datum.flops_per_second > 0")
        .mark_point(filled=True, size=22, opacity=1)
        .encode(x=x, y=y, color=colour, tooltip=tooltip)
    )
    peaks = (
        alt.Chart(alt.NamedData(name=_PEAKS))
        .mark_rule(strokeDash=[1, 2], strokeWidth=1.2)
        .encode(x=x, color=colour)
    )
    return alt.layer(peaks, lines, marks)
