"""How fast is the machine used for how much of the time? (Coleman et al., Figures 9 to 11)"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import altair as alt
import polars as pl

from ttastats.base import units
from ttastats.output.plots import charts
from ttastats.output.plots.plot import NothingToDrawError, Plot
from ttastats.output.plots.profiled import shared
from ttastats.output.plots.profiled.shared import Profiles
from ttastats.traces import answers, categories

KIND = "work"
_HEIGHT = 220.0
_STEPS, _PEAKS = "work", "peaks"
#: Kinds of work that move bytes and compute little: what would be left without them?
_LEFT_OUT = (categories.BATCH_NORM, categories.NORM, categories.ACTIVATION)


def plots(profiles: Profiles) -> tuple[Plot, ...]:
    """Return a plot of achieved FLOP/s and one of tensor cores, as far as they are known.

    Of one profile there are further lines for what is left without some kinds of work.

    Raises
    ------
    NothingToDrawError
        No profile knows FLOPs of an operator, nor kernels of tensor cores.
    """
    lines = with_less(profiles)
    on_device = shared.operators(lines, "tensor_core_share").drop_nulls("tensor_core_share")
    drawn = []
    if on_device["tensor_core_share"].sum():
        drawn.append(_of_tensor_cores(profiles, lines, on_device))
    try:
        return (_of_rates(profiles, lines), *drawn)
    except NothingToDrawError:
        if not drawn:
            raise
    return tuple(drawn)


def with_less(profiles: Profiles) -> Profiles:
    """Return profiles, after a single one what it is without the kinds of work that compute little.

    The kinds are left out one after the other, and the time of what is left is the whole again.
    """
    if len(profiles) > 1:
        return profiles
    ((name, rest),) = profiles.items()
    found, without = {name: rest}, []
    for kind in _LEFT_OUT:
        if kind in answers.at_work(rest)["category"]:
            without.append(kind)
            rest = rest.filter(pl.col("category").ne_missing(kind))
            found[f"without {', '.join(without)}"] = rest
    return found


def _of_rates(profiles: Profiles, lines: Profiles) -> Plot:
    every = shared.with_flops(lines)
    peaks = [
        {"profile": name, "flops_per_second": flops}
        for name, (flops, _) in shared.peaks(profiles).items()
        if flops
    ]
    schema = {"profile": pl.String, "flops_per_second": pl.Float64}
    caption = (
        "Each operator adds its share of the time at its achieved rate.",
        f"Without FLOPs: {_each(lines, every.filter(pl.col('flops_per_second') == 0))}.",
        _said(profiles, lines),
        "Dotted: the measured peak of a matrix multiplication." if peaks else "",
    )
    data = {
        _STEPS: table(every, "flops_per_second"),
        _PEAKS: pl.DataFrame(peaks, schema=schema),
    }
    title = "Share of time over achieved FLOP/s"
    axis = {"labelExpr": shared.rate("datum.value", ""), "tickCount": 5}
    chart = _chart(lines, "flops_per_second", ("achieved FLOP/s", "FLOP/s", ".3s"), axis, {})
    return shared.plot(KIND, profiles, title, caption, chart, data, height=_HEIGHT)


def _of_tensor_cores(profiles: Profiles, lines: Profiles, every: pl.DataFrame) -> Plot:
    known = every["profile"].unique(maintain_order=True).to_list()
    used = (pl.col("share") * pl.col("tensor_core_share")).alias("share")
    caption = (
        "Each operator adds its share of the time at the fraction of its time spent in tensor "
        "core kernels. These are identified by name; their utilization is not measured.",
        f"In such kernels, of the time: {_each(known, every.with_columns(used))}.",
        _said(profiles, lines),
    )
    data = {_STEPS: table(every, "tensor_core_share")}
    title = "Share of time over use of tensor cores"
    said = ("time of an operator in kernels of tensor cores", "on tensor cores", ".1%")
    axis = {"format": ".0%", "tickCount": 5}
    chart = _chart(lines, "tensor_core_share", said, axis, {"domain": [0, 1]})
    return shared.plot(KIND, profiles, title, caption, chart, data, height=_HEIGHT)


def _each(lines: Iterable[str], some: pl.DataFrame) -> str:
    """Say to what share of the time some operators of each line come."""
    said = (f"{name} {units.percent(float(some.filter(profile=name)['share'].sum()))}"
            for name in lines)  # fmt: skip
    return units.listed(list(said))


def _said(profiles: Profiles, lines: Profiles) -> str:
    if len(lines) == len(profiles):
        return ""
    return (
        "A kind of work is removed by subtracting the time of its operators, not by a new "
        "measurement."
    )


def table(every: pl.DataFrame, field: str) -> pl.DataFrame:
    """Return the steps of a line for each profile: the share of time at a value or a lower one."""
    ordered = every.sort("profile", field, "operator", maintain_order=True)
    return ordered.with_columns(
        below=pl.col("share").cum_sum().over("profile", mapping_strategy="group_to_rows")
    ).select("profile", "operator", "category", "share", field, "below")


def _chart(
    lines: Profiles,
    field: str,
    said: tuple[str, str, str],
    axis: Mapping[str, Any],
    scale: Mapping[str, Any],
) -> Any:
    title, name, form = said
    colour, shape = shared.colour(lines)
    x = alt.X(
        f"{field}:Q", title=title, scale=alt.Scale(**scale), axis=alt.Axis(grid=False, **axis)
    )
    y = alt.Y(
        "below:Q", title="share of time at this or less",
        scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format=".0%", tickCount=5),
    )  # fmt: skip
    tooltip = charts.tooltips(
        ("profile:N", "of"), "operator:N", ("category:N", "kind of work"),
        ("share:Q", "share", ".1%"), (f"{field}:Q", name, form), ("below:Q", "at or below", ".1%"),
    )  # fmt: skip
    base = alt.Chart(alt.NamedData(name=_STEPS))
    steps = base.mark_line(interpolate="step-after", strokeWidth=1.6).encode(x=x, y=y, color=colour)
    marks = (
        base.transform_filter(f"datum.{field} > 0")
        .mark_point(filled=True, size=26, opacity=1)
        .encode(x=x, y=y, color=colour, shape=shape, tooltip=tooltip)
    )
    if field != "flops_per_second":
        return (steps, marks)
    peaks = (
        alt.Chart(alt.NamedData(name=_PEAKS))
        .mark_rule(strokeDash=[1, 2], strokeWidth=1.2)
        .encode(x=x, color=colour)
    )
    return (peaks, steps, marks)
