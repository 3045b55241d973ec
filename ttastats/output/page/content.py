"""What does a page show? Head, facts, verdicts, numbers and plots, made of sides of runs."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from ttastats.answers import problems, qualities
from ttastats.answers.compare.headline import caveats
from ttastats.answers.compare.rows import QualitiesRow
from ttastats.answers.compare.sentences import conclusions
from ttastats.answers.league import League, headline, leagues
from ttastats.answers.qualities import QualityRow
from ttastats.base import units
from ttastats.base.codes import fill_template, note
from ttastats.outcomes import aims
from ttastats.outcomes import axis as axes
from ttastats.outcomes.axis import Axis
from ttastats.outcomes.left_out import standing
from ttastats.output.page import figure
from ttastats.output.page.figure import FigureRow
from ttastats.output.plots import quality, tta
from ttastats.output.plots.plot import FILTERS, Plot
from ttastats.report import fitting
from ttastats.report.answer import Remark, Report, to_target
from ttastats.report.cells import Conclusion, Lead
from ttastats.sides.pairing import Side
from ttastats.table import schema

#: Columns by which a reader chooses rows of leagues, and those that name what is marked.
_LEAGUE_CONTROLS = ("benchmark", "round", "division", "accelerators", "submitter")
_LEAGUE_FILTERS = (*_LEAGUE_CONTROLS, "system", "entry")

Sides = Sequence[tuple[str, pl.DataFrame]]


class Answer(Struct, frozen=True, eq=False):
    """The first screen of a comparison; `above` is the title of the user."""

    above: str
    sides: tuple[str, ...]
    axis: Axis
    confidence: float
    headlines: tuple[Lead, ...]
    caveats: tuple[Remark, ...]
    rows: tuple[FigureRow, ...]


class Content(Struct, frozen=True, eq=False):
    """What a page shows, and of how much: `20 runs`.

    `choices` are the values of runs, with their numbers, of which a reader may choose by the
    columns `controls`; `answer` is there if
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
    controls: tuple[str, ...]
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
    confidence: float,
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
    labels, axis = tuple(label for label, _ in sides), axes.axis_of(sides[0][1])
    head = to_target(report.target, f"{headline(ranked)}.") if ranked else ""
    answer, name = None, head or _page_title(labels, axis, report)
    if report.against:
        sentences = report.lead
        name = sentences[0].claim if len(sentences) == 1 else name
        answer = Answer(
            above=title if len(sentences) == 1 else "",
            sides=labels,
            axis=axis,
            confidence=confidence,
            headlines=sentences,
            caveats=caveats(report),
            rows=figure.rows_of_figure(report),
        )
    compared = report.command == "compare"
    target = (Fact("Target", report.target),) if report.target else ()
    return Content(
        title=title or name,
        counted=units.plural(int(choices["runs"].sum()), "run"),
        facts=(*page_facts(sides, conditions), *target),
        verdicts=conclusions(report, confidence=confidence)
        if compared
        else qualities.conclusions(report),
        report=limit_rows(report),
        plots=tuple(plots),
        choices=choices,
        controls=_league_controls(choices) if ranked else FILTERS,
        answer=answer,
        leagues=ranked,
        headline=head,
        command=command,
        looks=tuple(looks),
    )


def _league_controls(choices: pl.DataFrame) -> tuple[str, ...]:
    """Return the columns by which a reader chooses; entries of one submitter one by one."""
    is_of_one = choices["submitter"].n_unique() < 2
    return (*_LEAGUE_CONTROLS[:-1], "entry") if is_of_one else _LEAGUE_CONTROLS


def _page_title(labels: Sequence[str], axis: Axis, report: Report) -> str:
    first, *challengers = labels
    rows = [row for row in report.records if isinstance(row, QualityRow | QualitiesRow)]
    if rows:  # of qualities at a budget, `val_loss at step 3325`
        metrics = {row.metric for row in rows}
        metric = (metrics.pop() if len(metrics) == 1 else None) or "Quality"
        against = f"{units.join_names(challengers, 3)} against {first}" if challengers else first
        return f"{metric} {rows[0].at}: {against}"
    quantity = f"{axis.to_target[:1].upper()}{axis.to_target[1:]}"
    if not challengers:
        return f"{quantity} of {first}"
    count = len(challengers)
    choice = " or ".join(challengers) if count < 4 else f"one of {count} others"
    return (
        f"Is {choice} faster than {first}?"
        if axis.is_time
        else f"{quantity}: {first} against {choice}"
    )


def limit_rows(report: Report, most: int = 600) -> Report:
    """Return a report with at most so many rows per table, and a note on those left out.

    Of a summary the fastest of each benchmark stay. The rows for programs stay as they are.
    """
    total = sum(len(table.rows) for table in report.tables)
    table_rows, extent = [table.rows[:most] for table in report.tables], "the first"
    if report.command == "summary" and total > most:  # one table, row by row that for programs
        names = [row.get("benchmark") for row in report.records]
        share, rank = max(1, most // len(set(names))), pl.int_range(pl.len()).over("name")
        ranks = pl.DataFrame({"name": names}, {"name": pl.String}).select(rank).to_series()
        rows = zip(report.tables[0].rows, ranks, strict=True)
        table_rows, extent = [[row for row, n in rows if n < share]], "the first of each benchmark"
    count = sum(map(len, table_rows))
    if count == total:
        return report
    remark = note("capped", shown=count, n=total, which=extent, command=report.command)
    tables = (
        replace(t, rows=tuple(rows)) for t, rows in zip(report.tables, table_rows, strict=True)
    )
    return dataclasses.replace(report, tables=tuple(tables), notes=(remark, *report.notes))


_PLURALS = {"benchmark": "benchmarks", "system": "systems", "entry": "entries"}


class Fact(Struct, frozen=True):
    """One line of the head: a name and an amount."""

    name: str
    text: str


def page_facts(sides: Sides, conditions: Sequence[str]) -> tuple[Fact, ...]:
    """Return the facts at the head of a page: runs, benchmarks and conditions."""
    runs, several = _all_runs(sides), len(sides) > 1
    names = ["A", *("B" if len(sides) == 2 else f"B{n}" for n in range(1, len(sides)))]
    side_counts = [f"{label}: {_reached_text(rows)}" if several else _reached_text(rows)
               for label, rows in sides]  # fmt: skip
    suites = runs.select("suite", "round").unique().sort("suite", "round")
    words = [" ".join(filter(None, pair)) for pair in suites.iter_rows() if any(pair)]
    counts = {name: runs[name].drop_nulls().n_unique() for name in FILTERS}
    covers = [", ".join(units.plural(n, x, _PLURALS[x]) for x, n in counts.items() if n)]
    first, *further = [set(rows["benchmark"]) for _, rows in sides]
    unpaired = first.union(*further) - (first & set().union(*further))
    if further and unpaired:
        covers.append(f"{units.plural(len(unpaired), 'benchmark')} on one side only")
    days, notes = runs["started_at"].drop_nulls().dt.date().unique().sort(), []
    if troubled := int(runs["problems"].is_not_null().sum()):
        notes.append(f"{units.plural(troubled, 'run')} with problems, see `ttastats problems`")
    digests = runs["content_digest"].drop_nulls()
    if copies := len(digests) - digests.n_unique():
        notes.append(units.plural(copies, "duplicate run"))
    texts = [
        *zip(names if several else ["Runs"], side_counts, strict=True),
        ("Suite", ", ".join(words)),
        ("Covers", "; ".join(filter(None, covers))),
        ("Started", " to ".join(dict.fromkeys(map(str, (*days[:1], *days[-1:]))))),
        ("Filtered by", ", ".join(conditions)),
        ("Note", "; ".join(notes)),
    ]
    return tuple(Fact(name, text) for name, text in texts if text)


def available_choices(sides: Sides, by: Sequence[str] = FILTERS) -> pl.DataFrame:
    """Return the combinations of benchmark, system and entry, with their numbers of runs."""
    return _all_runs(sides).group_by(by).len(name="runs").sort(by, nulls_last=True)


def _all_runs(sides: Sides) -> pl.DataFrame:
    """Return the runs of all sides; a run that several of them hold counts once."""
    columns = [*schema.RUN, "content_digest", "reached", "suite", "round", *FILTERS]
    columns += ["started_at", "problems", "submitter", "division", "hardware", "accelerators"]
    columns += ["run_status", "target_value", "evaluations"]
    frames = [runs.select(columns) for _, runs in sides]
    return pl.concat(frames).unique(subset=schema.RUN, maintain_order=True)


def _reached_text(runs: pl.DataFrame) -> str:
    reached, n = int(runs["reached"].sum()), units.plural(runs.height, "run")
    at_budget = "quality" in runs.columns
    if not at_budget and aims.lack_target(runs):
        return f"{n}, {aims.NO_TARGET}"
    success = axes.axis_of(runs).success
    does, does_not = ("with a value", "without") if at_budget else (success, "did not")
    text = f"{n}, {reached:,} {does}"
    return f"{text}, {runs.height - reached:,} {does_not}" if reached < runs.height else text


#: Runs of a kind that are named one by one; the others are counted.
_MOST_REMARKS = 10


class Look(Struct, frozen=True):
    """A sentence about a benchmark, the kind of plot that shows it, and the log of its one run."""

    sentence: str
    benchmark: str | None
    plot: str
    log: str = ""


#: Of findings of a code the plot that shows them, and what is told of several.
_CODES = {
    "stall": (quality.TIME, "{n:? run/runs} stood still."),
    "epoch_time_outlier": (
        quality.TIME,
        "{n:? run was/runs were} far from others of {n:? its/their} entry.",
    ),
    "epochs_outlier": (
        quality.EPOCHS,
        "{n:? run/runs} needed far more or fewer epochs than others of {n:? its/their} entry.",
    ),
    "constant_epochs": (
        quality.EPOCHS,
        "{n:? entry has/entries have} runs that all took the same number of epochs, so the "
        "variation is unknown.",
    ),
    "duplicate_run": (
        tta.KIND,
        "{n:? run is a duplicate of another and counts/runs are duplicates of others and count} "
        "once.",
    ),
    "no_evaluation": (
        tta.KIND, "{n:? run/runs} logged no evaluation and {n:? counts/count} as failed."
    ),
    "run_count": (
        tta.KIND, "{n:? result has/results have} more or fewer runs than the rules require."
    ),
}  # fmt: skip
#: Those that are told one by one.
_SINGLY = ("stall", "epoch_time_outlier")


def find_looks(sides: Sequence[Side]) -> tuple[Look, ...]:
    """Return the findings of `ttastats problems` in the runs of all sides; none at a budget."""
    if any(side.at_budget for side in sides):
        return ()
    labelled = (side.runs.with_columns(table=pl.lit("these runs")) for side in sides)
    runs = pl.concat(labelled, how="diagonal_relaxed").unique(schema.RUN, maintain_order=True)
    rows = pl.concat([side.evaluations for side in sides], how="diagonal_relaxed")
    findings, looks = list(problems.findings(runs, rows)), []
    for code, (plot, template) in _CODES.items():
        of_code = [finding for finding in findings if finding.code == code]
        singles = of_code[:_MOST_REMARKS] if code in _SINGLY else []
        for finding in singles:
            log = fitting.short_path(finding.source or "")
            message, _, _ = finding.message.partition(" (modified")
            looks.append(Look(f"{log}: {message}.", finding.benchmark, plot, log))
        suffix = " more" if singles else ""
        numbers = Counter(finding.benchmark for finding in of_code[len(singles) :])
        for benchmark, number in numbers.items():
            text = f"{units.count(number)}{suffix} {fill_template(template, n=number)}"
            looks.append(Look(text, benchmark, plot))
    return tuple(looks)
