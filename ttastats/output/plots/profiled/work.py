"""How fast is the machine used for how much of the time? (Coleman et al., Figures 9 to 11)"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import polars as pl

from ttastats.base import units
from ttastats.output.plots import charts
from ttastats.output.plots.plot import Plot, plots_or_none
from ttastats.output.plots.profiled import shared
from ttastats.output.plots.profiled.shared import Profiles
from ttastats.traces import answers, categories

KIND = "work"
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
    operators = shared.operators_with_flops(lines)
    unknown = operators.filter(pl.col("flops_per_second") == 0)
    caption = (
        "Each operator adds its share of the time at its achieved rate.",
        f"Without FLOPs: {_share_text(lines, unknown)}.",
    )
    known = [(name, top) for name, (top, _) in shared.measured_peaks(profiles).items() if top]
    types = {"profile": pl.String, "flops_per_second": pl.Float64}
    peaks = pl.DataFrame(known, types, orient="row")
    words = ("achieved FLOP/s", "FLOP/s", ".3s")
    axis = {"labelExpr": shared.rate_expression("datum.value", "")}
    x = charts.position("flops_per_second", words[0], {}, {"grid": False, "tickCount": 5} | axis)
    return _work_plot(profiles, lines, operators, x, words, caption, peaks)


def _tensor_core_plot(profiles: Profiles, lines: Profiles, operators: pl.DataFrame) -> Plot:
    known = operators["profile"].unique(maintain_order=True).to_list()
    used = operators.with_columns(share=pl.col("share") * pl.col("tensor_core_share"))
    caption = (
        "Each operator adds its share of the time at the fraction of its time spent in tensor "
        "core kernels. These are identified by name; their utilization is not measured.",
        f"In such kernels, of the time: {_share_text(known, used)}.",
    )
    title = "time of an operator in kernels of tensor cores"
    words = ("use of tensor cores", "on tensor cores", ".1%")
    axis = {"grid": False, "tickCount": 5, "format": ".0%"}
    x = charts.position("tensor_core_share", title, {"domain": [0, 1]}, axis)
    return _work_plot(profiles, lines, operators, x, words, caption)


def _share_text(lines: Iterable[str], some: pl.DataFrame) -> str:
    """Return what share of the time some operators of each line take."""
    shares = {name: float(some.filter(profile=name)["share"].sum()) for name in lines}
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
    title = f"Share of time over {title}"
    return shared.make_plot(KIND, profiles, title, caption, layers, data, height=220.0)
