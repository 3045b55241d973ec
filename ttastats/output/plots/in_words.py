"""A plot for a terminal: every run a dot on a line of text."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from ttastats.base import units
from ttastats.output.plots import charts, solved, tta
from ttastats.output.plots.material import Material
from ttastats.report import strips

#: The kinds that a line of text can show.
KINDS = (tta.KIND, solved.KIND)


def text_plot(material: Material, *, width: int = 100) -> Iterator[str]:
    """Yield the runs of each benchmark as text, a line per series, failed runs as crosses."""
    for panel in material.panels:
        timed = panel.runs.filter(pl.col("observed_seconds") > 0)
        if timed.is_empty():
            continue
        times, unit = timed["observed_seconds"], panel.axis.unit
        low, high = float(times.min() or 0.0), float(times.max() or 1.0)  # type: ignore[arg-type]
        margin = min(34, max(len(series.label) for series in panel.series))
        room = max(20, width - margin - 24)
        yield f"{charts.sentence_case(panel.axis.to_target)}: {panel.title}"
        for series in panel.series:
            runs = timed.filter(series=series.label)
            if runs.is_empty():
                continue
            done, failed = (
                runs.filter(reached=reached)["observed_seconds"].to_list()
                for reached in (True, False)
            )
            mean = "–" if series.mean is None else units.amount(series.mean, unit)
            dots = strips.draw_strip(done, failed, low, high, room)
            label = f"{series.label[:margin]:<{margin}}"
            yield f"{label}  {dots}  {series.reached}/{series.n}  mean {mean}"
        left, right = units.amount(low, unit), units.amount(high, unit)
        yield f"{'':<{margin}}  {left}{right.rjust(room - len(left))}"
        yield panel.counts_text
        yield ""
