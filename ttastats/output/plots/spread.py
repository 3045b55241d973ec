"""How far apart are runs of one setup after the same epoch? (Coleman et al. 2019, Figure 2)"""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import polars as pl

from ttastats.output.plots import charts
from ttastats.output.plots.curves import DrawnMetric
from ttastats.output.plots.material import Panel

#: Fewer runs show no spread.
FEWEST = 3
#: Bands over bands cannot be told apart.
_MOST = 3


def table(rows: pl.LazyFrame, metric: DrawnMetric) -> pl.DataFrame:
    """Return the quality of runs after each epoch at which three or more were evaluated.

    Columns: `series`, `colour`, `epoch`, `n`, `low` and `high` (all runs), `lower`, `median` and
    `upper` (quartiles), `std` (ddof 1); of the series with the most runs.
    """
    value = pl.col("value")
    epochs = (
        rows.filter(pl.col("metric") == metric.name, pl.col("epoch").is_not_null())
        .with_columns(epoch=pl.col("epoch").round(3))
        .group_by("order", "series", "colour", "epoch", "run")
        .agg(value.sort_by("eval_index").last())
        .group_by("order", "series", "colour", "epoch")
        .agg(
            n=pl.len(),
            low=value.min(),
            lower=value.quantile(0.25, "linear"),
            median=value.median(),
            upper=value.quantile(0.75, "linear"),
            high=value.max(),
            # The last digits depend on how the rows were spread over threads.
            std=value.std().round_sig_figs(6),
        )
        .filter(pl.col("n") >= FEWEST)
        .filter(pl.len().over("order") >= 2)
        .sort("order", "epoch")
        .collect()
    )
    ranked = (
        epochs.group_by("order")
        .agg(pl.col("n").max())
        .sort(["n", "order"], descending=[True, False])
    )
    return epochs.join(ranked.head(_MOST).select("order"), on="order", how="semi")


def owned(bands: pl.DataFrame, panel: Panel) -> pl.DataFrame:
    """Add the columns a reader chooses rows by."""
    owners = bands.join(panel.owners, on="order", how="left", maintain_order="left")
    return owners.drop("order").with_columns(benchmark=pl.lit(panel.benchmark, pl.String))


def caption(bands: pl.DataFrame) -> str:
    """Return what is drawn over the lines of runs; nothing where nothing is."""
    if bands.is_empty():
        return ""
    counts = bands.get_column("n").sort()
    least, most = int(counts[0]), int(counts[-1])
    of = f"{least} to {most}" if least != most else f"{most}"
    return (
        f"Thick is the median of the {of} runs evaluated after an epoch, its band their middle "
        "half. Runs end when they reach the target, so later epochs show those that had not."
    )


def layers(
    panel: Panel, names: Sequence[str], axes: tuple[alt.X, str, alt.Scale], color: alt.Color
) -> Sequence[alt.Chart]:
    """Return band, line and points of medians over the data of each name; `axes` are those below.

    Series without a colour of their own are left out.
    """
    _, shapes = charts.colour_scale(panel.colours)
    x, metric, scale = axes
    tooltip = charts.tooltips(
        ("series:N", "runs of"), ("epoch:Q", "", ".4~g"), ("n:Q", "runs"),
        ("low:Q", "lowest", ".5~g"), ("lower:Q", "25%", ".5~g"), ("median:Q", "median", ".5~g"),
        ("upper:Q", "75%", ".5~g"), ("high:Q", "highest", ".5~g"),
        ("std:Q", "standard deviation", ".5~g"),
    )  # fmt: skip
    found = []
    for name in names:
        base = alt.Chart(alt.NamedData(name=name)).encode(
            x=x, color=color, detail=alt.Detail("series:N"), tooltip=tooltip
        )
        median = charts.y("median", metric, scale)
        shape = alt.Shape("colour:N", scale=shapes, legend=charts.legend(panel.colours))
        found += [
            base.mark_area(opacity=0.25, clip=True).encode(
                y=charts.y("lower", metric, scale), y2=alt.Y2("upper:Q")
            ),
            base.mark_line(strokeWidth=2.2, clip=True).encode(y=median),
            base.mark_point(size=26, filled=True, opacity=1, clip=True).encode(
                y=median, shape=shape
            ),
        ]
    return found
