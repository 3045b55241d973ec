"""How far apart are runs of one set-up after the same epoch? (Coleman et al. 2019, Figure 2)"""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from ttastats.plotting import axes, charts, curves, quality
from ttastats.plotting.curves import DrawnMetric
from ttastats.plotting.material import Material, Panel
from ttastats.plotting.plot import NothingToDrawError, Plot

KIND = "spread"
#: Fewer runs show no spread.
FEWEST = 3
#: Bands over bands cannot be told apart.
_MOST = 3
_HEIGHT = 220.0


def plots(material: Material) -> tuple[Plot, ...]:
    """Give one plot per benchmark and metric.

    Raises
    ------
    NothingToDrawError
        No three runs of one set-up were evaluated after the same two epochs.
    """
    found = []
    for panel in material.panels:
        rows = curves.evaluations(panel)
        for metric in curves.metrics(panel, rows):
            bands = table(rows, metric)
            if not bands.is_empty():
                found.append(_plot(panel, metric, bands))
    if not found:
        raise NothingToDrawError(
            f"no {FEWEST} runs of one set-up were evaluated after the same two epochs",
            remedy="`ttastats runs FILE` shows what there is.",
        )
    return tuple(found)


def table(rows: pl.LazyFrame, metric: DrawnMetric) -> pl.DataFrame:
    """Give the quality of runs after each epoch at which three or more were evaluated.

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


def _plot(panel: Panel, metric: DrawnMetric, bands: pl.DataFrame) -> Plot:
    bands = bands.join(panel.owners, on="order", how="left", maintain_order="left")
    bands = bands.with_columns(benchmark=pl.lit(panel.benchmark))
    name = f"spread: {panel.name} {metric.name}"
    shown = bands.get_column("series").unique(maintain_order=True).to_list()
    left_out = len(panel.series) - len(shown)
    title = f"Spread of {quality.words(metric)} over runs: {panel.title}"
    counts = bands.get_column("n").sort()
    least, most = int(counts[0]), int(counts[-1])
    of = f"{least} to {most}" if least != most else f"{most}"
    caption = (
        panel.counted,
        f"The {len(shown)} with the most runs evaluated after the same epochs are shown; "
        f"{left_out} are not."
        if left_out
        else "",
        f"After each epoch, of the {of} runs that were evaluated then: the line is their median, "
        "the bands hold the middle half and all of them. Runs end when they reach the target, so "
        "later epochs show those that had not.",
        quality.target_words(metric),
    )
    chart = _chart(panel, metric, name, shown, bands)
    data = {name: bands.drop("order"), **quality.target_table(panel, metric)}
    return charts.plot(KIND, panel, title, caption, chart, data, height=_HEIGHT)


def _chart(
    panel: Panel, metric: DrawnMetric, name: str, shown: list[str], bands: pl.DataFrame
) -> Any:
    colours, shapes = charts.colour_scale(panel.colours)
    by_label = dict(zip(colours.domain, colours.range, strict=True))
    by_shape = dict(zip(shapes.domain, shapes.range, strict=True))
    others = iter(charts.spare_colours(panel.colours))
    own = [by_label.get(label) or next(others) for label in shown]
    forms = [by_shape.get(label) or "circle" for label in shown]
    key = charts.legend(shown)
    color = alt.Color("series:N", scale=alt.Scale(domain=shown, range=own), legend=key)
    values = pl.concat([bands.select(value="low"), bands.select(value="high")])
    scale = alt.Scale(**quality.value_scale(metric, values))
    title = quality.words(metric)
    axis = axes.TimeAxis("epochs", 1.0, {"zero": False, "nice": True}, {"tickCount": 6})
    tooltip = charts.tooltips(
        ("series:N", "runs of"), ("epoch:Q", "", ".4~g"), ("n:Q", "runs"),
        ("low:Q", "lowest", ".5~g"), ("lower:Q", "25%", ".5~g"), ("median:Q", "median", ".5~g"),
        ("upper:Q", "75%", ".5~g"), ("high:Q", "highest", ".5~g"),
        ("std:Q", "standard deviation", ".5~g"),
    )  # fmt: skip
    base = alt.Chart(alt.NamedData(name=name)).encode(
        x=charts.x(axis, "epoch"), color=color, tooltip=tooltip
    )
    areas = charts.bands(base, title, scale, 0.18, 0.3)
    line = base.mark_line(strokeWidth=1.4, clip=True).encode(
        y=alt.Y("median:Q", title=title, scale=scale)
    )
    points = base.mark_point(size=18, filled=True, opacity=1, clip=True).encode(
        y=alt.Y("median:Q", title=title, scale=scale),
        shape=alt.Shape("series:N", scale=alt.Scale(domain=shown, range=forms), legend=key),
    )
    return (*areas, line, points, *quality.target_layers(panel, metric, scale))
