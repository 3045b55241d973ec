"""What is the memory of a step for, at its peak? (Zhu et al., Figure 8)"""

from __future__ import annotations

from typing import Any

import polars as pl

from ttastats import units
from ttastats.pictures import charts, theme
from ttastats.pictures.picture import Picture
from ttastats.pictures.profiled import shared
from ttastats.pictures.profiled.shared import Profiles

KIND = "memory"
_BAR = 26.0
_TABLE = "memory"


def pictures(profiles: Profiles) -> tuple[Picture, ...]:
    """Give one picture with a bar for each profile.

    Raises
    ------
    NothingToDrawError
        No profile tells of its memory.
    """
    how = "Record a workload, or a script with tta.profile(..., model=model)."
    found = shared.measured(profiles, "memory_bytes", how).rename({"of": "kind"})
    whole = pl.col("memory_bytes").sum().over("profile")
    found = found.with_columns(share=pl.col("memory_bytes") / whole)
    sums = found.group_by("profile", maintain_order=True).agg(pl.col("memory_bytes").sum())
    said = [f"{name} {units.scaled(size, 'B')}" for name, size in sums.iter_rows()]
    caption = (
        f"At the peak of a step: {units.listed(said)}.",
        "Workspace is what the allocator held beyond the other kinds, the batch included.",
        shared.machines(profiles),
    )
    title = shared.described(profiles, "Memory of a step")
    height = _BAR * len(profiles) + 60
    chart = _chart(found["kind"].unique(maintain_order=True).to_list())
    return (shared.picture(KIND, title, caption, chart, {_TABLE: found}, height=height),)


def _chart(kinds: list[str]) -> Any:
    import altair as alt  # costs start-up time

    scale = alt.Scale(domain=kinds, range=list(theme.COLOURS[: len(kinds)]))
    return (
        alt.Chart(alt.NamedData(name=_TABLE))
        .mark_bar(size=_BAR * 0.7)
        .encode(
            x=alt.X(
                "memory_bytes:Q", title="bytes", stack="zero",
                axis=alt.Axis(labelExpr=shared.rate("datum.value", "B"), tickCount=5),
            ),
            y=alt.Y("profile:N", title=None, sort=None),
            color=alt.Color(
                "kind:N", scale=scale, sort=None, legend=alt.Legend(title=None, columns=3)
            ),
            order=alt.Order("place:Q"),
            tooltip=charts.tooltips(
                "profile:N", "kind:N", ("memory_bytes:Q", "bytes", ".3s"), ("share:Q", "", ".1%")
            ),
        )
        .transform_calculate(place=f"indexof({kinds}, datum.kind)")
    )  # fmt: skip
