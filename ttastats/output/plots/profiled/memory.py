"""What is the memory of a step for, at its peak? (Zhu et al., Figure 8)"""

from __future__ import annotations

import polars as pl

from ttastats.base import units
from ttastats.output.plots import charts, theme
from ttastats.output.plots.plot import Plot
from ttastats.output.plots.profiled import shared
from ttastats.output.plots.profiled.shared import Profiles

KIND = "memory"


def plots(profiles: Profiles) -> tuple[Plot, ...]:
    """Return one plot with a bar for each profile.

    Raises
    ------
    NothingToDrawError
        No profile tells of its memory.
    """
    how = "Record a workload, or a script with tta.profile(..., model=model)."
    found = shared.measured(profiles, "memory_bytes", how).rename({"profile": "bar", "of": "part"})
    whole = pl.col("memory_bytes").sum().over("bar")
    found = found.with_columns(share=pl.col("memory_bytes") / whole)
    sums = found.group_by("bar", maintain_order=True).agg(pl.col("memory_bytes").sum())
    said = [f"{name} {units.scaled(size, 'B')}" for name, size in sums.iter_rows()]
    caption = (
        f"Peak memory of a step: {units.listed(said)}.",
        "Workspace is all other allocated memory, including the batch.",
    )
    x = shared.amounts("memory_bytes", "bytes", "B")
    tooltip = charts.tooltips(
        ("bar:N", "profile"), ("part:N", "kind"), ("memory_bytes:Q", "bytes", ".3s"),
        ("share:Q", "", ".1%"),
    )  # fmt: skip
    colours = dict(zip(found["part"].unique(maintain_order=True), theme.COLOURS, strict=False))
    title = "Memory of a step"
    return (shared.bars(KIND, profiles, title, caption, found, x, colours, tooltip),)
