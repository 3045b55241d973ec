"""On which night did training change, and in which part? Nights, segments and changes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from ttastats.answers import history as history_report
from ttastats.answers.history import FAILURES, History, Part
from ttastats.base import units
from ttastats.base.percentages import percent_text
from ttastats.output.plots import charts
from ttastats.output.plots.material import Material
from ttastats.output.plots.plot import Plot, expect_plots, refuse_if
from ttastats.report import fitting, grouping
from ttastats.stats.changes import WAIT

KIND = "history"
#: Setups that are drawn, those of the most nights.
_MOST = 12
_COLUMNS = {
    "benchmark": pl.String, "entry": pl.String, "what": pl.String, "part": pl.String,
    "at": pl.Float64, "to": pl.Float64, "split": pl.Float64, "value": pl.Float64,
    "name": pl.String, "commits": pl.String, "reached": pl.String, "size": pl.String,
}  # fmt: skip


def history_plots(material: Material) -> tuple[Plot, ...]:
    """Return the plots of times and of failures, if any, of setups with enough nights."""
    refuse_if(material.compares, "the history plot takes one file", "Give one file.")
    runs = material.sides[0].runs
    by = tuple(name for name in material.what.by or history_report.SETUP if name in runs.columns)
    days = pl.col("started_at").dt.date().drop_nulls().n_unique()
    # A page tries this of thousands of entries, of which hardly any was run every night.
    long = runs.group_by(by).agg(days=days).filter(pl.col("days") >= WAIT).sort("days")
    longest = runs.join(long.tail(_MOST).select(by), on=by, how="semi", nulls_equal=True)
    plots, level = [], percent_text(material.confidence)
    for keys, group in grouping.group_runs(longest, by) if longest.height else ():
        history = history_report.history_of(group, history_report.BY_DATE, material.confidence)
        parts = [part for part in history.parts[:-1] if part.name != FAILURES] or [history.whole]
        if all(part.values.size for part in parts):
            plots.append(_history_plot(keys, history, parts, level))
        if history.failures.values.any():
            plots.append(_history_plot(keys, history, [history.failures], level))
    remedy = "`ttastats history FILE --order COLUMN` takes another order."
    return expect_plots(plots, f"no setup was run on {WAIT} days or more", remedy)


def _part_rows(history: History, part: Part) -> Iterator[dict[str, Any]]:
    """Yield the nights, segments and changes of a part; times relative to the first segment."""
    segments, share = part.segments(len(history.nights)), part.name == FAILURES
    first = 1.0 if share else part.mean(*segments[0]) or 1.0
    for night_number, value in zip(part.places, part.values, strict=True):
        night = history.nights[night_number]
        yield {
            "what": "night", "at": night_number + 1.0,
            "value": (float(value) if share else math.exp(value)) / first,
            "name": night.name, "commits": ", ".join(night.commits),
            "reached": f"{night.reached}/{night.n}",
        }  # fmt: skip
    for start, stop in segments:
        level = part.mean(start, stop)
        if level is not None:
            yield {"what": "segment", "at": start + 0.6, "to": stop + 0.4, "value": level / first}
    for border in part.borders:
        name = f"{history.nights[border.first - 1].name} to {history.nights[border.last].name}"
        yield {"what": "change", "at": border.first + 0.5, "to": border.last + 0.5,
               "split": border.split + 0.5, "name": name,
               "size": history_report.size_of(part, border)}  # fmt: skip


def _history_plot(
    keys: dict[str, Any], history: History, parts: Sequence[Part], level: str
) -> Plot:
    owner = {name: keys.get(name) for name in ("benchmark", "entry")}
    rows = [
        owner | {"part": part.name} | row for part in parts for row in _part_rows(history, part)
    ]
    table, shares = pl.DataFrame(rows, _COLUMNS), parts[0].name == FAILURES
    values = [value for value in keys.values() if value is not None]
    changed = [f"{part.name} {history_report.size_of(part, border)}"
               for part in parts for border in part.borders]  # fmt: skip
    runs, reached = (sum(getattr(x, name) for x in history.nights) for name in ("n", "reached"))
    caption = (
        f"{units.plural(runs, 'run')} of {units.plural(len(history.nights), 'night')}, "
        f"{history.nights[0].name} to {history.nights[-1].name}; {reached:,} reached the target.",
        "A point is the share of a night's runs that failed." if shares else
        "A point is the mean of a night's runs, as a ratio to the first segment.",
        f"Lines are the means of segments; a change lies between the nights of its band ({level}).",
        f"Changes: {units.join_names(changed)}." if changed else "No change.",
    )  # fmt: skip
    name = f"history of {'failures' if shares else 'times'}: {' '.join(map(str, values))}"
    setup = fitting.key_label(values or ["these runs"])
    title = f"{'Failures' if shares else 'Times'} by night: {setup}"
    y = charts.ratio_position("value", "ratio, log scale", table["value"].drop_nulls())
    if shares:
        ticks = {"format": ".0%", "tickCount": 5}
        y = charts.position("value", "runs that failed", {"domain": [-0.04, 1.04]}, ticks)
    scale = {"domain": [0.5, max(table["to"].drop_nulls()) + 0.1], "nice": False}
    x = charts.position("at", "night", scale, {"grid": False, "tickMinStep": 1})
    color, shape, _ = charts.series_channels([part.name for part in parts], "part")
    night, segment, change = (
        charts.table_view(name, f"datum.what == '{layer}'").encode(x=x, color=color)
        for layer in ("night", "segment", "change")
    )
    change = change.encode(tooltip=["part:N", ("size:N", "change"), ("name:N", "between")])
    of_night = [("name:N", "night"), "part:N", ("value:Q", "", ".4~g"), "reached:N", "commits:N"]
    layers = (
        change.mark("rect", opacity=0.18).encode(x2="to"),
        change.mark("rule", strokeDash=[4, 3]).encode(x=charts.field("split:Q", title="night")),
        night.encode(y=y, shape=shape, tooltip=of_night).points(22),
        segment.mark("rule", strokeWidth=2.2).encode(x2="to", y=y),
    )
    return charts.make_plot(
        KIND, owner["benchmark"], title, caption, layers,
        {name: table}, height=220.0, described=caption[-1],
    )  # fmt: skip
