"""A plot for a terminal: every run a dot on a line of text."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from ttastats.base import units
from ttastats.output.plots import charts, solved, tta
from ttastats.output.plots.material import Material, Panel
from ttastats.report import strips

#: The kinds that a line of text can show.
KINDS = (tta.KIND, solved.KIND)


def text_plot(material: Material, *, width: int = 100) -> Iterator[str]:
    """Yield the runs of each benchmark as text, a line per series, failed runs as crosses."""
    for panel in material.panels:
        timed = panel.runs.filter(pl.col("observed_seconds") > 0)
        if timed.height:
            yield from _panel_lines(panel, timed, width)
            yield ""


def _panel_lines(panel: Panel, timed: pl.DataFrame, width: int) -> Iterator[str]:
    times = timed.get_column("observed_seconds")
    low, high = float(times.min() or 0.0), float(times.max() or 1.0)  # type: ignore[arg-type]
    margin = min(34, max(len(one.label) for one in panel.series))
    room = max(20, width - margin - 24)
    unit = panel.axis.unit
    yield f"{charts.sentence_case(panel.axis.to_target)}: {panel.title}"
    by_label = dict(timed.partition_by("series", as_dict=True, maintain_order=True).items())
    for one in panel.series:
        runs = by_label.get((one.label,))
        if runs is None:
            continue
        done = runs.filter("reached").get_column("observed_seconds").to_list()
        failed = runs.filter(~pl.col("reached")).get_column("observed_seconds").to_list()
        mean = "–" if one.tta_mean_seconds is None else units.amount(one.tta_mean_seconds, unit)
        dots = strips.draw_strip(done, failed, low, high, room)
        yield f"{one.label[:margin]:<{margin}}  {dots}  {one.reached}/{one.n}  mean {mean}"
    left, right = units.amount(low, unit), units.amount(high, unit)
    yield f"{'':<{margin}}  {left}{right.rjust(room - len(left))}"
    yield panel.counts_text
