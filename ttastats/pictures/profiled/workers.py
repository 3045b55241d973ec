"""How much of a step do workers communicate? (Coleman et al., Figures 5, 6, Tables 8, 9)"""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from ttastats.pictures import charts, theme
from ttastats.pictures.picture import Picture
from ttastats.pictures.profiled import shared
from ttastats.pictures.profiled.shared import Profiles

KIND = "workers"
_HEIGHT = 180.0
_TABLE = "workers"
_HOW = "ttastats profile digits --workers 2 -o prof.parquet measures it."
_MEASURES = {"under way": "workers_under_way_seconds", "exposed": "workers_exposed_seconds",
             "pure": "workers_pure_seconds"}  # fmt: skip


def pictures(profiles: Profiles) -> tuple[Picture, ...]:
    """Give one picture with three bars for each profile and number of workers.

    Raises
    ------
    NothingToDrawError
        No profile is of several workers.
    """
    found = table(profiles)
    caption = (
        "Shares of a step on the wall. Under way: from the start of an all-reduce to its end,",
        "waiting for the slower worker included; exposed: beyond a step that sends nothing;",
        "pure: the same bytes while nobody computes.",
    )
    title = "Communication of workers"
    return (
        shared.picture(KIND, profiles, title, caption, _chart(), {_TABLE: found}, height=_HEIGHT),
    )


def table(profiles: Profiles) -> pl.DataFrame:
    """Give one row for each profile, number of workers and way of measuring."""
    steps = shared.measured(profiles, "workers_step_seconds", _HOW)
    parts = [
        shared.measured(profiles, measure, _HOW)
        .rename({measure: "seconds"})
        .with_columns(measured=pl.lit(name))
        for name, measure in _MEASURES.items()
    ]
    joined = pl.concat(parts).join(steps, on=["profile", "of"])
    alone = pl.col("of").n_unique().over("profile") == 1
    named = pl.format("{}, {} workers", "profile", "of")
    return joined.select(
        "profile",
        "measured",
        "seconds",
        pl.when(alone).then("profile").otherwise(named).alias("bar"),
        (pl.col("seconds") / pl.col("workers_step_seconds")).alias("share"),
    )


def _chart() -> Any:
    kinds = list(_MEASURES)
    scale = alt.Scale(domain=kinds, range=list(theme.COLOURS[: len(kinds)]))
    return (
        alt.Chart(alt.NamedData(name=_TABLE))
        .mark_bar()
        .encode(
            x=alt.X("share:Q", title="share of a step", axis=alt.Axis(format=".0%", tickCount=5)),
            y=alt.Y("bar:N", title=None, sort=None),
            yOffset=alt.YOffset("measured:N", sort=kinds),
            color=alt.Color("measured:N", scale=scale, sort=None, legend=alt.Legend(title=None)),
            tooltip=charts.tooltips(
                "profile:N", "measured:N", ("seconds:Q", "", ".3s"), ("share:Q", "", ".1%")
            ),
        )
    )
