"""Where does a step go: computing, communication, copies, input, the host, nothing?"""

from __future__ import annotations

import polars as pl

from ttastats.answers.profile import profile as report
from ttastats.base import units
from ttastats.output.plots import charts, theme
from ttastats.output.plots.plot import NothingToDrawError, Plot
from ttastats.output.plots.profiled import shared
from ttastats.output.plots.profiled.shared import Profiles

KIND = "step"
#: The parts of a step, each in the same colour in every plot; idle time stands back.
_COLOURS = dict(zip(report.TITLES.values(), (*theme.COLOURS, theme.GREY), strict=True))


def plots(profiles: Profiles) -> tuple[Plot, ...]:
    """Return one plot with a bar for each profile.

    Raises
    ------
    NothingToDrawError
        No profile tells how long its steps are.
    """
    found = table(profiles)
    sums = found.group_by("bar", maintain_order=True).agg(
        pl.col("seconds").sum(), pl.col("n").first()
    )
    said = [f"{bar} {units.seconds(whole)} ({units.plural(n, 'step')})"
            for bar, whole, n in sums.iter_rows()]  # fmt: skip
    caption = (
        f"Means over steps and ranks: {units.listed(said)}.",
        "Communication and copies are counted only while no kernel computes.",
    )
    x = shared.amounts("seconds", "time of a step", "s")
    tooltip = charts.tooltips(
        ("bar:N", "profile"), "part:N", ("seconds:Q", "seconds", ".3s"), ("share:Q", "", ".1%")
    )
    title = "Time of a step"
    return (shared.bars(KIND, profiles, title, caption, found, x, _shown(found), tooltip),)


def table(profiles: Profiles) -> pl.DataFrame:
    """Return one row for each profile and part of its step that takes time.

    Raises
    ------
    NothingToDrawError
        No profile tells how long its steps are.
    """
    rows = [
        {"bar": name, "part": report.TITLES[row.name]}
        | {"n": row.n, "seconds": row.seconds, "share": row.share}
        for name, own in profiles.items()
        for row in report.of_step(own)
        if row.name in report.TITLES and row.seconds
    ]
    if not rows:
        raise NothingToDrawError("the length of steps is not known")
    return pl.DataFrame(rows)


def _shown(found: pl.DataFrame) -> dict[str, str]:
    parts = set(found["part"])
    return {part: colour for part, colour in _COLOURS.items() if part in parts}
