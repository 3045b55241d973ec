"""What does a page show? Head, verdicts, numbers and plots, made of sides of runs."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from ttastats.answers.compare.headline import Caveat, Headline, caveats, headlines
from ttastats.answers.compare.rows import QualitiesRow
from ttastats.answers.compare.sentences import conclusions
from ttastats.answers.league import League, headline, leagues, verdicts
from ttastats.answers.qualities import QualityRow
from ttastats.base import units
from ttastats.base.note import note
from ttastats.outcomes import axis as axes
from ttastats.outcomes.axis import Axis
from ttastats.outcomes.counted import standing
from ttastats.output.page import figure_rows
from ttastats.output.page.facts import Fact, available_choices, page_facts
from ttastats.output.page.figure_rows import FigureRow
from ttastats.output.page.second_look import Look
from ttastats.output.plots.plot import FILTERS, Plot
from ttastats.report.answer import Report
from ttastats.report.cells import Conclusion

#: Columns by which the rows of leagues may be chosen.
_LEAGUE_FILTERS = ("benchmark", "accelerators", "submitter", "hardware", "system", "entry")

Sides = Sequence[tuple[str, pl.DataFrame]]


class Answer(Struct, frozen=True, eq=False):
    """What the first screen of a comparison shows; `above` is a title that was given."""

    above: str
    sides: tuple[str, ...]
    axis: Axis
    confidence: float
    headlines: tuple[Headline, ...]
    caveats: tuple[Caveat, ...]
    rows: tuple[FigureRow, ...]


class Content(Struct, frozen=True, eq=False):
    """What a page shows, and of how much: `20 runs`.

    `choices` are the values a reader may choose rows by, with their runs; `answer` is there if
    times were compared, `leagues` if entries were summarised, with what these come to as
    `headline`; `command` is what made the page; `looks` say what to look at twice.
    """

    title: str
    counted: str
    facts: tuple[Fact, ...]
    verdicts: tuple[Conclusion, ...]
    report: Report
    plots: tuple[Plot, ...]
    choices: pl.DataFrame
    answer: Answer | None = None
    leagues: tuple[League, ...] = ()
    headline: str = ""
    command: str = ""
    looks: tuple[Look, ...] = ()


def page_content(
    sides: Sides,
    report: Report,
    plots: Sequence[Plot],
    *,
    title: str = "",
    conditions: Sequence[str] = (),
    confidence: float = 0.95,
    command: str = "",
    looks: Sequence[Look] = (),
) -> Content:
    """Return the content of a page from labelled sides, their report and plots.

    `conditions` are the words by which runs and target were chosen, `command` is what a shell
    was told.
    """
    sides = [(label, standing(runs)) for label, runs in sides]
    ranked = leagues(report, confidence) if report.groups else ()
    choices = available_choices(sides, _LEAGUE_FILTERS if ranked else FILTERS)
    labels, axis = tuple(label for label, _ in sides), axes.of(sides[0][1])
    head = f"{headline(ranked)}." if ranked else ""
    answer, name = None, head or _page_title(labels, axis, report)
    if report.against:
        sentences = headlines(report, confidence)
        name = sentences[0].sentence if len(sentences) == 1 else name
        answer = Answer(
            above=title if len(sentences) == 1 else "",
            sides=labels,
            axis=axis,
            confidence=confidence,
            headlines=sentences,
            caveats=caveats(report),
            rows=figure_rows.figure_rows(report),
        )
    compared = report.command == "compare"
    return Content(
        title=title or name,
        counted=units.plural(int(choices["runs"].sum()), "run"),
        facts=page_facts(sides, conditions),
        verdicts=conclusions(report, confidence=confidence) if compared else verdicts(report),
        report=limit_rows(report),
        plots=tuple(plots),
        choices=choices,
        answer=answer,
        leagues=ranked,
        headline=head,
        command=command,
        looks=tuple(looks),
    )


def _page_title(labels: Sequence[str], axis: Axis, report: Report) -> str:
    first, *others = labels
    rows = [row for row in report.records if isinstance(row, QualityRow | QualitiesRow)]
    if rows:  # of qualities at a budget, `val_loss at step 3325`
        metrics = {row.metric for row in rows}
        metric = (metrics.pop() if len(metrics) == 1 else None) or "Quality"
        against = f"{units.join_names(others, 3)} against {first}" if others else first
        return f"{metric} {rows[0].at}: {against}"
    what = f"{axis.to_target[:1].upper()}{axis.to_target[1:]}"
    if not others:
        return f"{what} of {first}"
    listed = " or ".join(others) if len(others) < 4 else f"one of {len(others)} others"
    return (
        f"Is {listed} faster than {first}?" if axis.is_time else f"{what}: {first} against {listed}"
    )


def limit_rows(report: Report, most: int = 600) -> Report:
    """Return a report with at most so many rows per table, and a note on those left out.

    Of a summary the fastest of each benchmark stay. The rows for programs stay as they are.
    """
    summary, total = report.command == "summary", sum(len(table.rows) for table in report.tables)
    tables = []
    for table in report.tables:
        rows = table.rows
        if len(rows) > most and not summary:
            rows = rows[:most]
        elif len(rows) > most:  # it is one table, row by row that for programs
            names = [row.get("benchmark") for row in report.records]
            share, place = max(1, most // len(set(names))), pl.int_range(pl.len()).over("name")
            places = pl.DataFrame({"name": names}, {"name": pl.String}).select(place).to_series()
            rows = tuple(row for row, n in zip(rows, places, strict=True) if n < share)
        tables.append(replace(table, rows=rows))
    shown = sum(len(table.rows) for table in tables)
    if shown == total:
        return report
    which = "the fastest of each benchmark" if summary else "the first"
    left = note("capped", shown=shown, n=total, which=which, command=report.command)
    return dataclasses.replace(report, tables=tuple(tables), notes=(left, *report.notes))
