"""Up to which batch size does a larger one train more samples a second? (TBD, Figures 4 to 6)"""

from __future__ import annotations

from typing import Any

import polars as pl

from ttastats import units
from ttastats.pictures import charts
from ttastats.pictures.picture import Picture
from ttastats.pictures.profiled import shared
from ttastats.pictures.profiled.shared import Profiles
from ttastats.profiles import saturation

KIND = "batch-sizes"
_HEIGHT = 200.0
_TABLE = "batch sizes"
_HOW = "ttastats profile digits --batch-sizes auto -o prof.parquet measures it."


def pictures(profiles: Profiles) -> tuple[Picture, ...]:
    """Give a picture of throughput, and one of the share of the peak where peaks are known.

    Raises
    ------
    NothingToDrawError
        No profile has several batch sizes.
    """
    found = table(profiles)
    large = [
        f"{name} {'none' if size is None else f'{size:,}'}"
        for name, size in _saturated(found).items()
    ]
    rule = f"twice the samples give less than {units.percent(saturation.GAIN)} more"
    caption = (f"Large enough, since {rule}: {units.listed(large)}.", shared.machines(profiles))
    data = {_TABLE: found}
    drawn = [
        shared.picture(
            KIND,
            shared.described(profiles, "Throughput over batch size"),
            caption,
            _chart(profiles, "samples_per_second", "samples a second", "~s"),
            data,
            height=_HEIGHT,
        )
    ]
    if found["utilization"].count():
        drawn.append(
            shared.picture(
                KIND,
                shared.described(profiles, "Share of the peak over batch size"),
                ("FLOPs of a step over its time and the fastest matrix product.", *caption[1:]),
                _chart(profiles, "utilization", "share of peak FLOP/s", ".0%"),
                data,
                height=_HEIGHT,
            )
        )
    return tuple(drawn)


def table(profiles: Profiles) -> pl.DataFrame:
    """Give one row for each profile and batch size."""
    rates = shared.measured(profiles, "batch_samples_per_second", _HOW)
    flops = shared.measured(profiles, "batch_step_flops", _HOW)
    tops = pl.DataFrame(
        [{"profile": name, "peak": top} for name, (top, _) in shared.peaks(profiles).items()],
        schema={"profile": pl.String, "peak": pl.Float64},
    )
    joined = rates.join(flops, on=["profile", "of"], how="left").join(tops, on="profile")
    size = pl.col("of").cast(pl.Int64)
    rate = pl.col("batch_samples_per_second")
    achieved = pl.col("batch_step_flops") / size * rate
    return joined.select(
        "profile",
        size.alias("batch_size"),
        rate.alias("samples_per_second"),
        (achieved / pl.col("peak")).alias("utilization"),
    ).sort("profile", "batch_size")


def _saturated(found: pl.DataFrame) -> dict[str, int | None]:
    return {
        str(name): saturation.point(dict(own.select("batch_size", "samples_per_second").rows()))
        for (name,), own in found.group_by("profile", maintain_order=True)
    }


def _chart(profiles: Profiles, field: str, title: str, form: str) -> Any:
    import altair as alt  # costs start-up time

    colour, shape = shared.colour(profiles)
    base = alt.Chart(alt.NamedData(name=_TABLE))
    x = alt.X(
        "batch_size:Q", title="samples of a step",
        scale=alt.Scale(type="log", base=2, nice=False), axis=alt.Axis(grid=False, format="~d"),
    )  # fmt: skip
    y = alt.Y(f"{field}:Q", title=title, axis=alt.Axis(format=form, tickCount=5))
    tooltip = charts.tooltips(
        "profile:N", "batch_size:Q", ("samples_per_second:Q", "samples a second", ",.0f"),
        ("utilization:Q", "of peak", ".1%"),
    )  # fmt: skip
    return alt.layer(
        base.mark_line(strokeWidth=1.5).encode(x=x, y=y, color=colour),
        base.mark_point(filled=True, size=40, opacity=1).encode(
            x=x, y=y, color=colour, shape=shape, tooltip=tooltip
        ),
    )
