"""How fast is the machine used for how much of the time? (Coleman et al., Figures 9 to 11)"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from ttastats.base import units
from ttastats.output.plots import charts
from ttastats.output.plots.plot import Plot, plots_or_none
from ttastats.output.plots.profiled import shared
from ttastats.output.plots.profiled.shared import Profiles
from ttastats.traces import answers, categories

KIND = "work"
_HEIGHT = 220.0
_STEPS, _PEAKS = "work", "peaks"
#: Kinds of work that move bytes and compute little: what would be left without them?
_LEFT_OUT = (categories.BATCH_NORM, categories.NORM, categories.ACTIVATION)
_REMOVED = (
    "A kind of work is removed by subtracting the time of its operators, not by a new measurement."
)


def work_plots(profiles: Profiles) -> tuple[Plot, ...]:
    """Return a plot of achieved FLOP/s and one of tensor cores, if known.

    Of one profile there are further lines for what is left without some kinds of work.
    """
    lines = _with_compute_only(profiles)
    on_device = shared.operator_rates(lines, "tensor_core_share").drop_nulls("tensor_core_share")
    if not on_device["tensor_core_share"].sum():
        return (_rate_plot(profiles, lines),)
    rates = plots_or_none(lambda lines: (_rate_plot(profiles, lines),), lines)
    return (*rates, _tensor_core_plot(profiles, lines, on_device))


def _with_compute_only(profiles: Profiles) -> Profiles:
    """Return the profiles; a single one also without the work that computes little.

    The kinds are left out one after the other, and the time of what is left is the whole again.
    """
    if len(profiles) > 1:
        return profiles
    ((name, rest),) = profiles.items()
    lines, without = {name: rest}, []
    for kind in _LEFT_OUT:
        if kind in answers.compute_rows(rest)["category"]:
            without.append(kind)
            rest = rest.filter(pl.col("category").ne_missing(kind))
            lines[f"without {', '.join(without)}"] = rest
    return lines


def _rate_plot(profiles: Profiles, lines: Profiles) -> Plot:
    every = shared.operators_with_flops(lines)
    known = [(name, top) for name, (top, _) in shared.measured_peaks(profiles).items() if top]
    types = {"profile": pl.String, "flops_per_second": pl.Float64}
    peaks = pl.DataFrame(known, types, orient="row")
    caption = (
        "Each operator adds its share of the time at its achieved rate.",
        f"Without FLOPs: {_share_text(lines, every.filter(pl.col('flops_per_second') == 0))}.",
        _REMOVED if len(lines) > len(profiles) else "",
        "Dotted: the measured peak of a matrix multiplication." if known else "",
    )
    title = "Share of time over achieved FLOP/s"
    axis = {"labelExpr": shared.rate_expression("datum.value", ""), "tickCount": 5}
    words = ("achieved FLOP/s", "FLOP/s", ".3s")
    x, layers = _work_chart(lines, "flops_per_second", words, axis, {})
    color, *_ = charts.series_channels(list(lines), "profile")
    dotted = charts.table_view(_PEAKS).mark("rule", strokeDash=[1, 2], strokeWidth=1.2)
    chart = (dotted.encode(x=x, color=color), *layers)
    data = {_STEPS: _cumulative_table(every, "flops_per_second"), _PEAKS: peaks}
    return shared.make_plot(KIND, profiles, title, caption, chart, data, height=_HEIGHT)


def _tensor_core_plot(profiles: Profiles, lines: Profiles, every: pl.DataFrame) -> Plot:
    known = every["profile"].unique(maintain_order=True).to_list()
    used = (pl.col("share") * pl.col("tensor_core_share")).alias("share")
    caption = (
        "Each operator adds its share of the time at the fraction of its time spent in tensor "
        "core kernels. These are identified by name; their utilization is not measured.",
        f"In such kernels, of the time: {_share_text(known, every.with_columns(used))}.",
        _REMOVED if len(lines) > len(profiles) else "",
    )
    title = "Share of time over use of tensor cores"
    words = ("time of an operator in kernels of tensor cores", "on tensor cores", ".1%")
    axis = {"format": ".0%", "tickCount": 5}
    _, chart = _work_chart(lines, "tensor_core_share", words, axis, {"domain": [0, 1]})
    data = {_STEPS: _cumulative_table(every, "tensor_core_share")}
    return shared.make_plot(KIND, profiles, title, caption, chart, data, height=_HEIGHT)


def _share_text(lines: Iterable[str], some: pl.DataFrame) -> str:
    """Return what share of the time some operators of each line take."""
    shares = {name: float(some.filter(profile=name)["share"].sum()) for name in lines}
    return units.join_names([f"{name} {units.percent(share)}" for name, share in shares.items()])


def _cumulative_table(every: pl.DataFrame, field: str) -> pl.DataFrame:
    """Return for each profile the share of time at a value or a lower one."""
    ordered = every.sort("profile", field, "operator", maintain_order=True)
    return ordered.with_columns(
        below=pl.col("share").cum_sum().over("profile", mapping_strategy="group_to_rows")
    ).select("profile", "operator", "category", "share", field, "below")


def _work_chart(
    lines: Profiles, field: str, words: tuple[str, str, str], axis: Mapping[str, Any],
    scale: Mapping[str, Any],
) -> tuple[Any, tuple[charts.View, ...]]:  # fmt: skip
    """Return the horizontal encoding of a field, and the layers of lines over it."""
    title, name, form = words
    color, shape, _ = charts.series_channels(list(lines), "profile")
    x = charts.position_channel(field, title, scale, {"grid": False, **axis})
    up, shares = "share of time at this or less", {"format": ".0%", "tickCount": 5}
    tooltip = charts.tooltip_channels(
        ("profile:N", "of"), "operator:N", ("category:N", "kind of work"),
        ("share:Q", "share", ".1%"), (f"{field}:Q", name, form), ("below:Q", "at or below", ".1%"),
    )  # fmt: skip
    base = charts.table_view(_STEPS).encode(
        x=x, y=charts.position_channel("below", up, {"domain": [0, 1]}, shares), color=color
    )
    marks = base.where(f"datum.{field} > 0").encode(shape=shape, tooltip=tooltip)
    steps = base.mark("line", interpolate="step-after", strokeWidth=1.6)
    return x, (steps, charts.point_layer(marks, 26))
