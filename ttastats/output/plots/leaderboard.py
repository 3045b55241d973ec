"""Who leads where an entry is one run? By time, by cost, and over the years (DAWNBench)."""

from __future__ import annotations

import polars as pl

from ttastats.base import units
from ttastats.outcomes.axis import AXES, SECONDS, Axis
from ttastats.output.plots import axes, charts, theme
from ttastats.output.plots.material import Material, Panel
from ttastats.output.plots.plot import Plot, expect_plots, refuse_if
from ttastats.report import fitting

KIND, RECORD = "leaderboard", "record"
_STEP = 17.0
#: Entries a leaderboard names; of more, the best.
_MOST = 25
#: Dates nearer than this are those of one round, which has no progress.
_FEWEST_DAYS = 60


def leaderboard_plots(material: Material) -> tuple[Plot, ...]:
    """Return a plot by time, and by cost if known, for each benchmark of single-run entries."""
    measures = {"tta_seconds": material.axis}
    measures |= {"cost": AXES["cost"]} if material.axis.is_time else {}
    plots = (
        _leaderboard_plot(panel, column, unit)
        for panel in _suitable_panels(material)
        for column, unit in measures.items()
        if panel.runs[column].count() > 2
    )
    return expect_plots(
        plots,
        "a leaderboard needs entries of one run each; these have more",
        "`ttastats plot tta` shows entries of many runs.",
    )


def record_plots(material: Material) -> tuple[Plot, ...]:
    """Return a plot of the fastest time so far by date, per benchmark."""
    refuse_if(not material.axis.is_time, "the record plot shows time only", "Remove --in.")
    dated = [(panel, _entries_by_date(panel)) for panel in _suitable_panels(material)]
    plots = (
        _record_plot(panel, entries)
        for panel, entries in dated
        if entries.height > 2
        and (entries["started_at"][-1] - entries["started_at"][0]).days >= _FEWEST_DAYS
        and entries["record"].sum() > 1
    )
    return expect_plots(
        plots,
        f"a record needs three dated entries of one run each, over {_FEWEST_DAYS} days",
        "`ttastats plot tta` shows entries of one round.",
    )


def _suitable_panels(material: Material) -> list[Panel]:
    """Return the panels with at least three entries, most of them single runs."""
    return [
        panel
        for panel in (() if material.compares else material.panels)
        if panel.series.height > 2 and (panel.series["n"] == 1).mean() > 0.5  # type: ignore[operator]
    ]


def _named_entries(panel: Panel) -> pl.DataFrame:
    """Return the runs that reached, with names for the plot."""
    return panel.runs.filter("reached").select(
        "benchmark", "system", "entry", "series", "submitter", "hardware", "started_at",
        "tta_seconds", "epochs", "cost",
        pl.col("source").map_elements(fitting.short_path, pl.String),
    )  # fmt: skip


def _leaderboard_plot(panel: Panel, column: str, unit: Axis) -> Plot:
    """Return the plot of the entries by rank in time or `cost`; ties share a rank."""
    ranked = _named_entries(panel).drop_nulls(column).sort(column, "entry")
    ranked = ranked.with_columns(rank=pl.col(column).rank("min").cast(pl.Int32))
    labelled = ranked.with_columns(row=pl.format("{}. {}", "rank", "series"))
    ranked = labelled.unique("row", keep="first", maintain_order=True)
    leaders = ranked.head(_MOST)
    unpriced = panel.runs.height - ranked.height if column == "cost" else 0
    caption = (
        f"The {_MOST} best of {ranked.height} are shown." if ranked.height > _MOST else "",
        f"{units.plural(unpriced, 'run has', 'runs have')} no known cost." if unpriced else "",
        "Cost is time-to-accuracy times the price of the hardware." if column == "cost" else "",
        "Each entry is a single run, so the order of close entries may be due to chance.",
    )
    amounts = leaders[column].to_list()
    # One beyond them, so that words fit right of the last mark.
    amounts.append(amounts[-1] * (amounts[-1] / amounts[0]) ** 0.4)
    axis = axes.amount_axis(amounts, unit, unit.to_target, log_from=5)
    name, words = f"leaderboard by {unit.noun}: {panel.name}", f"datum.{column}"
    base = charts.table_view(
        name, at=axis.field_expression(column), words=axes.amount_expression(words, unit)
    ).encode(x=axis.x(), y=charts.rows_by_name("row"))
    tooltip = [
        "entry:N", "submitter:N", "hardware:N", ("words:N", unit.mean.removeprefix("mean ")),
        ("epochs:Q", "", ".4~g"), ("source:N", "log"),
    ]  # fmt: skip
    marks = base.encode(color=charts.BLUE, tooltip=tooltip).points(45)
    return charts.make_plot(
        KIND, panel, f"Leaderboard by {unit.noun}", caption,
        (marks, base.labels("words", align="left", dx=7)), {name: leaders.drop("started_at")},
        height=leaders.height * _STEP, described=f"First: {leaders['entry'][0]}.",
    )  # fmt: skip


def _entries_by_date(panel: Panel) -> pl.DataFrame:
    """Return the entries by date, with a mark of records.

    Records have their time beside them (`said`) unless they are close to a later one that has.
    """
    dated = _named_entries(panel).drop_nulls("started_at")
    dated = dated.sort("started_at", "tta_seconds", "entry")
    best = pl.col("tta_seconds").cum_min()
    new = best.shift(1).is_null() | (pl.col("tta_seconds") < best.shift(1))
    marked = dated.with_columns(best_seconds=best, record=new)
    labelled, last = [], 0.0
    for time, record in reversed(marked.select("tta_seconds", "record").rows()):
        labelled.append(record and time > last * 1.2)
        last = time if labelled[-1] else last
    return marked.with_columns(said=pl.Series(labelled[::-1], dtype=pl.Boolean))


def _record_plot(panel: Panel, dated: pl.DataFrame) -> Plot:
    bests = dated.filter("record")["tta_seconds"]
    times = f"{units.seconds(bests[0])} to {units.seconds(bests[-1])}"
    undated = panel.runs.filter("reached").height - dated.height
    caption = (
        f"The line is the shortest time-to-accuracy so far: {units.plural(len(bests), 'record')}, "
        f"from {times}, a factor of {units.significant(bests[0] / bests[-1])}. Filled marks were "
        "records when they were entered; hollow marks were not. Dates are those of the entries.",
        f"{undated} without a date are not shown." if undated else "",
    )
    axis = axes.amount_axis(dated["tta_seconds"], SECONDS, "time-to-accuracy", log_from=5)
    start, end = dated["started_at"][0], dated["started_at"][-1]
    # A day before the first date and one beyond the last, which has words beside it. In parts,
    # since the interpreter of Vega's expressions takes a number for a year.
    ends = (start - (end - start) / 50, end + (end - start) / 11)
    span = [{"year": d.year, "month": d.month, "date": d.day, "utc": True} for d in ends]
    x = charts.field(
        "started_at:T",
        title=None,
        scale={"type": "utc", "domain": span, "nice": False},
        axis={"grid": False, "tickCount": 6, "format": "%b %Y"},
    )
    tooltip = [
        "entry:N", "submitter:N", "hardware:N", ("words:N", "TTA"),
        ("started_at:T", "date", "%Y-%m-%d"),
    ]  # fmt: skip
    name = f"record: {panel.name}"
    base = charts.table_view(
        name,
        at=axis.field_expression("tta_seconds"),
        best=axis.field_expression("best_seconds"),
        words=axes.duration_expression("datum.tta_seconds"),
    ).encode(x=x, y=axis.y())
    slower, records = base.where("!datum.record"), base.where("datum.record")
    # Text stands left of marks far on the right.
    far = "scale('x', datum.started_at) > 0.8 * width"
    sides = {"align": ("'right'", "'left'"), "dx": (-7, 6), "dy": (1, -7)}
    positions = {
        side: {"expr": f"{far} ? {left} : {right}"} for side, (left, right) in sides.items()
    }
    layers = (
        base.encode(y=axis.y("best"), color=charts.BLUE)
        .mark("line", interpolate="step-after", strokeWidth=1.8),
        slower.encode(color={"value": theme.GREY}, tooltip=tooltip)
        .mark("point", size=30, opacity=0.9, filled=False),
        records.encode(color=charts.BLUE, tooltip=tooltip).points(60),
        records.where("datum.said").labels("words", **positions),
    )  # fmt: skip
    return charts.make_plot(
        RECORD, panel, "The record over time", caption, layers,
        {name: dated}, height=250.0, described=f"{times}.",
    )  # fmt: skip
