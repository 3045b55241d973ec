"""Who leads where an entry is one run? By time, by cost, and over the years (DAWNBench)."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from ttastats.base import units
from ttastats.outcomes.axis import Axis
from ttastats.output.plots import axes, charts, names, theme
from ttastats.output.plots.material import Material, Panel
from ttastats.output.plots.plot import NothingToDrawError, Plot

KIND, RECORD = "leaderboard", "record"
_STEP = 17.0
_HEIGHT = 250.0
#: Entries a leaderboard names; of more, the best.
_MOST = 25
#: Dates nearer than this are those of one round, which has no progress.
_FEWEST_DAYS = 60


def boards(material: Material) -> tuple[Plot, ...]:
    """Return a plot by time, and one by cost where it is known, for each such benchmark.

    Raises
    ------
    NothingToDrawError
        No benchmark has three entries of one run each.
    """
    found = [
        _board(panel, measure)
        for panel in _suited(material)
        for measure in ("tta_seconds", "cost" if material.axis.is_time else "")
        if measure and panel.runs.get_column(measure).count() > 2
    ]
    if not found:
        raise NothingToDrawError(
            "a leaderboard needs entries of one run each; these have more",
            remedy="`ttastats plot tta` shows entries of many runs.",
        )
    return tuple(found)


def records(material: Material) -> tuple[Plot, ...]:
    """Return a plot of the fastest time so far over the dates of the entries, per benchmark.

    Raises
    ------
    NothingToDrawError
        The entries have no dates, or are all of one round.
    """
    if not material.axis.is_time:
        raise NothingToDrawError("the record plot shows time only", remedy="Remove --in.")
    found = [
        _record(panel, _dated(panel)) for panel in _suited(material) if _spans_time(_dated(panel))
    ]
    if not found:
        raise NothingToDrawError(
            f"a record needs three dated entries of one run each, over {_FEWEST_DAYS} days",
            remedy="`ttastats plot tta` shows entries of one round.",
        )
    return tuple(found)


def _suited(material: Material) -> list[Panel]:
    if material.compares:
        return []
    return [panel for panel in material.panels if len(panel.series) > 2 and _single(panel)]


def _single(panel: Panel) -> bool:
    singles = sum(one.n == 1 for one in panel.series)
    return 2 * singles > len(panel.series)


def _entries(panel: Panel) -> pl.DataFrame:
    """Return the runs that reached, with what people know them by."""
    return panel.runs.filter("reached").select(
        "benchmark", "system", "entry", "series", "submitter", "hardware", "started_at",
        "tta_seconds", "epochs", "cost", pl.col("source").map_elements(names.file_of, pl.String),
    )  # fmt: skip


def board(panel: Panel, measure: str) -> pl.DataFrame:
    """Return the entries by rank in time (`tta_seconds`) or `cost`; ties share a rank."""
    ranked = _entries(panel).drop_nulls(measure).sort(measure, "entry")
    rank = pl.col(measure).rank("min").cast(pl.Int32)
    ranked = ranked.with_columns(rank=rank)
    return ranked.with_columns(row=pl.format("{}. {}", "rank", "series")).unique(
        "row", keep="first", maintain_order=True
    )


def _board(panel: Panel, measure: str) -> Plot:
    ranked = board(panel, measure)
    shown = ranked.head(_MOST)
    by = panel.axis.noun if measure == "tta_seconds" else "cost"
    name = f"leaderboard by {by}: {panel.name}"
    title = f"Leaderboard by {by}: {panel.title}"
    unpriced = panel.runs.height - ranked.height
    caption = (
        panel.counted,
        f"The {_MOST} best of {ranked.height} are shown." if ranked.height > _MOST else "",
        f"{units.plural(unpriced, 'run has', 'runs have')} no known cost."
        if measure == "cost" and unpriced
        else "",
        "Cost is time-to-accuracy times the price of the hardware." if by == "cost" else "",
        "Each entry is a single run, so the order of close entries may be due to chance.",
    )
    chart = _board_chart(name, shown, measure, panel.axis)
    data = {name: shown.drop("started_at")}
    first = f"First: {shown.get_column('entry')[0]}."
    height = shown.height * _STEP
    return charts.plot(KIND, panel, title, caption, chart, data, height=height, described=first)


def _with_room(times: pl.Series) -> list[float]:
    """Return the amounts and one beyond them, so that words fit right of the last mark."""
    known = sorted(times)
    return [*known, known[-1] * (known[-1] / known[0]) ** 0.4]


def _board_chart(name: str, shown: pl.DataFrame, measure: str, of: Axis) -> Any:
    if measure == "tta_seconds":
        room = _with_room(shown.get_column(measure))
        axis = axes.amount_axis(room, of, of.to_target, log_from=5)
        words = axes.said(f"datum.{measure}", of)
    else:
        axis = axes.money_axis(_with_room(shown.get_column(measure)))
        words = "format(datum.cost, datum.cost < 1 ? '$.2f' : '$,.2f')"
    what = "cost" if measure == "cost" else of.mean.removeprefix("mean ")
    y = alt.Y(
        "row:N", title=None, sort=None,
        axis=alt.Axis(ticks=False, domain=False, labelLimit=330),
    )  # fmt: skip
    x = charts.x(axis)
    base = (
        alt.Chart(alt.NamedData(name=name))
        .transform_calculate(
            at=axis.shown(measure), words=words, start=str(axis.scale["domain"][0])
        )
        .encode(y=y)
    )
    blue = alt.ColorValue(theme.COLOURS[0])
    tooltip = charts.tooltips(
        "entry:N", "submitter:N", "hardware:N", ("words:N", what),
        ("epochs:Q", "", ".4~g"), ("source:N", "log"),
    )  # fmt: skip
    line = base.mark_rule(style="one", strokeOpacity=0.6).encode(x=x, x2=alt.X2("start:Q"))
    point = base.mark_point(filled=True, size=45, opacity=1).encode(
        x=x, color=blue, tooltip=tooltip
    )
    text = base.mark_text(align="left", dx=7).encode(x=x, text=alt.Text("words:N"))
    return (line, point, text)


def _dated(panel: Panel) -> pl.DataFrame:
    """Return the entries by date; `record` marks those faster than all before."""
    dated = _entries(panel).drop_nulls("started_at").sort("started_at", "tta_seconds", "entry")
    best = pl.col("tta_seconds").cum_min()
    new = best.shift(1).is_null() | (pl.col("tta_seconds") < best.shift(1))
    marked = dated.with_columns(best_seconds=best, record=new)
    return marked.with_columns(said=pl.Series(_spoken(marked), dtype=pl.Boolean))


def _spoken(dated: pl.DataFrame) -> list[bool]:
    """Return which records have their time beside them: not those close to one that has."""
    spoken, last = [], float("inf")
    for time, record in dated.select("tta_seconds", "record").iter_rows():
        spoken.append(record and time < last / 1.2)
        last = time if spoken[-1] else last
    return spoken


def _spans_time(dated: pl.DataFrame) -> bool:
    if dated.height < 3:
        return False
    days = dated.get_column("started_at")
    return (days[-1] - days[0]).days >= _FEWEST_DAYS and int(dated["record"].sum()) > 1


def _record(panel: Panel, dated: pl.DataFrame) -> Plot:
    name = f"record: {panel.name}"
    title = f"The record over time: {panel.title}"
    held = dated.filter("record")
    first, last = held.get_column("tta_seconds")[0], held.get_column("tta_seconds")[-1]
    times = f"{units.seconds(first)} to {units.seconds(last)}"
    caption = (
        panel.counted,
        "The line is the shortest time-to-accuracy so far: "
        f"{units.plural(held.height, 'record')}, from {times}, a factor of "
        f"{units.significant(first / last)}. Filled marks were records when they were entered; "
        "hollow marks were not. Dates are those of the entries.",
        f"{panel.runs.filter('reached').height - dated.height} without a date are not shown."
        if panel.runs.filter("reached").height > dated.height
        else "",
    )
    chart = _record_chart(name, dated)
    return charts.plot(
        RECORD, panel, title, caption, chart, {name: dated}, height=_HEIGHT, described=f"{times}."
    )


def _span(dated: pl.DataFrame) -> list[dict[str, Any]]:
    """Return a day before the first date and one beyond the last, which has words beside it.

    In parts, since the interpreter of Vega's expressions takes a number for a year.
    """
    days = dated.get_column("started_at")
    first, last = days[0], days[-1]
    ends = (first - (last - first) / 50, last + (last - first) / 11)
    return [{"year": d.year, "month": d.month, "date": d.day, "utc": True} for d in ends]


def _beside(left: str | int, right: str | int) -> Any:
    """Return how words stand `left` of a mark that is far on the right, and `right` of others."""
    return alt.ExprRef(f"scale('x', datum.started_at) > 0.8 * width ? {left} : {right}")


def _record_chart(name: str, dated: pl.DataFrame) -> Any:
    axis = axes.time_axis(dated.get_column("tta_seconds"), "time-to-accuracy", log_from=5)
    x = alt.X(
        "started_at:T",
        title=None,
        scale=alt.Scale(type="utc", domain=_span(dated), nice=False),
        axis=alt.Axis(grid=False, tickCount=6, format="%b %Y"),
    )
    scale, ticks = alt.Scale(**axis.scale), alt.Axis(**axis.axis)
    y = alt.Y("at:Q", title=axis.title, scale=scale, axis=ticks)
    base = alt.Chart(alt.NamedData(name=name)).transform_calculate(
        at=axis.shown("tta_seconds"),
        best=axis.shown("best_seconds"),
        words=axes.duration("datum.tta_seconds"),
    )
    tooltip = charts.tooltips(
        "entry:N", "submitter:N", "hardware:N", ("words:N", "TTA"),
        ("started_at:T", "date", "%Y-%m-%d"),
    )  # fmt: skip
    blue, grey = alt.ColorValue(theme.COLOURS[0]), alt.ColorValue(theme.GREY)
    line = base.mark_line(interpolate="step-after", strokeWidth=1.8).encode(
        x=x, y=alt.Y("best:Q", title=axis.title, scale=scale, axis=ticks), color=blue
    )
    others = (
        base.transform_filter("!datum.record")
        .mark_point(size=30, opacity=0.9, filled=False)
        .encode(x=x, y=y, color=grey, tooltip=tooltip)
    )
    held = base.transform_filter("datum.record")
    points = held.mark_point(filled=True, size=60, opacity=1).encode(
        x=x, y=y, color=blue, tooltip=tooltip
    )
    text = (
        held.transform_filter("datum.said")
        .mark_text(align=_beside("'right'", "'left'"), dx=_beside(-7, 6), dy=_beside(1, -7))
        .encode(x=x, y=y, text=alt.Text("words:N"))
    )
    return (line, others, points, text)
