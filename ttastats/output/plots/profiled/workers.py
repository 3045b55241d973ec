"""How much of a step do workers communicate? (Coleman et al., Figures 5, 6, Tables 8, 9)"""

from __future__ import annotations

import altair as alt
import polars as pl

from ttastats.output.plots import charts, theme
from ttastats.output.plots.plot import Plot
from ttastats.output.plots.profiled import shared
from ttastats.output.plots.profiled.shared import Profiles

KIND = "workers"
_HOW = "Measure it with `ttastats profile digits --workers 2 -o prof.parquet`."
_MEASURES = {"in flight": "workers_under_way_seconds", "exposed": "workers_exposed_seconds",
             "pure": "workers_pure_seconds"}  # fmt: skip


def plots(profiles: Profiles) -> tuple[Plot, ...]:
    """Return one plot with three bars for each profile and number of workers.

    Raises
    ------
    NothingToDrawError
        No profile is of several workers.
    """
    found = table(profiles)
    caption = (
        "Shares of the wall-clock time of a step. In flight: from the start of an all-reduce to "
        "its end,",
        "including the wait for the slower worker; exposed: time beyond a step without "
        "communication;",
        "pure: the same bytes without computation.",
    )
    x = alt.X("share:Q", title="share of a step", axis=alt.Axis(format=".0%", tickCount=5))
    tooltip = charts.tooltips(
        ("bar:N", "profile"), ("part:N", "measured"), ("seconds:Q", "", ".3s"),
        ("share:Q", "", ".1%"),
    )  # fmt: skip
    colours = dict(zip(_MEASURES, theme.COLOURS, strict=False))
    title = "Communication of workers"
    return (shared.bars(KIND, profiles, title, caption, found, x, colours, tooltip, stacked=False),)


def table(profiles: Profiles) -> pl.DataFrame:
    """Return one row for each profile, number of workers and way of measuring."""
    steps = shared.measured(profiles, "workers_step_seconds", _HOW)
    parts = [
        shared.measured(profiles, measure, _HOW)
        .rename({measure: "seconds"})
        .with_columns(part=pl.lit(name))
        for name, measure in _MEASURES.items()
    ]
    joined = pl.concat(parts).join(steps, on=["profile", "of"])
    alone = pl.col("of").n_unique().over("profile") == 1
    named = pl.format("{}, {} workers", "profile", "of")
    return joined.select(
        pl.when(alone).then("profile").otherwise(named).alias("bar"),
        "part",
        "seconds",
        (pl.col("seconds") / pl.col("workers_step_seconds")).alias("share"),
    )
