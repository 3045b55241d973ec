"""Compare tables of runs or sets of profiles, and answer about profiles of training steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Unpack, overload

import polars as pl

from ttastats.api.tables import with_choice_notes
from ttastats.base import arguments
from ttastats.base.codes import Note
from ttastats.base.errors import raise_if
from ttastats.base.records import Problem
from ttastats.ingestion import given
from ttastats.outcomes.target import expect_metric
from ttastats.report.answer import Gated, Report
from ttastats.sides import choice, question
from ttastats.sides.options import (
    CONFIDENCE,
    ComparisonBudgetKeywords,
    Conditions,
    Gates,
    View,
    refuse_excluded,
    several,
    view_of,
)
from ttastats.sides.question import Question, Source, takes

if TYPE_CHECKING:
    from ttastats.answers.compare.gate import Requirement
    from ttastats.output.page.document import Page
    from ttastats.output.plots.plot import Plots
    from ttastats.sides.pairing import Side
    from ttastats.traces.answers import By

#: Profiles (Parquet), traces of PyTorch, or folders of them.
Profiles = str | Path | Sequence[str | Path]


class _CompareOptions(ComparisonBudgetKeywords, total=False):
    view: View | None
    also: Sequence[str]
    profiles: tuple[Profiles, Profiles] | None
    block: Sequence[str]
    same: bool


@overload
def compare(
    a: Source,
    *others: Source,
    fail_on: None = None,
    require: None = None,
    **keywords: Unpack[_CompareOptions],
) -> Report: ...
@overload
def compare(
    a: Source,
    *others: Source,
    fail_on: Conditions,
    require: Gates = None,
    **keywords: Unpack[_CompareOptions],
) -> Gated: ...
@overload
def compare(
    a: Source,
    *others: Source,
    fail_on: Gates = None,
    require: Conditions,
    **keywords: Unpack[_CompareOptions],
) -> Gated: ...
@takes(ComparisonBudgetKeywords, view=view_of)
def compare(
    a: Source,
    *others: Source,
    view: View | None = None,
    also: Sequence[str] = (),
    profiles: tuple[Profiles, Profiles] | None = None,
    block: Sequence[str] = (),
    same: bool = False,
    fail_on: Gates = None,
    require: Gates = None,
    **keywords: Unpack[ComparisonBudgetKeywords],
) -> Report:
    """Compare B with A: speedup to the target, its causes and its confidence interval.

    At a budget, compare the qualities and the costs.

    If a side has several setups of a benchmark, runs are compared with runs on the same number of
    accelerators and the same hardware.

    Parameters
    ----------
    others
        One or more tables, each compared with `a`.
    also
        Metrics to compare in addition at the end of the runs, such as `test_accuracy`.
    profiles
        Profiles of A and of B (see `profiled`), to attribute the throughput ratio to parts of a
        step; several per side for intervals.
    block
        Compare within sessions: one or several columns, `day`, `order`, names in `extra`, or
        conditions that identify the session of a run.
    same
        The tables (or the groups of `by` in one table) are sets of runs of one setup: report
        whether they differ, and the smallest difference worth claiming between two setups that ran
        in two such sessions.
    fail_on, require
        Conditions such as `slower:2%` and `not-slower:2%`, or at a budget `worse:0.001` and
        `not-worse:0.001`; the result is in `.gate`, true if it passed, and `check` raises an
        error if it failed.
    """
    query, sources = Question(**keywords), (a, *others)
    also, block = several(also), several(block)
    options, of_one_table = query.judgement, same and not others
    refuse_excluded(options, query.budget, also, block, same=same, profiles=profiles is not None)
    remedy = "Give a second table; same=True compares the groups of by= in one."
    raise_if(not others and not same, "only one table to compare", "others=", remedy)
    if same:
        needs = "--same needs several sets of runs, but there is one table"
        remedy = "Give one file per set, or split the table: --same --by day."
        raise_if(of_one_table and not query.by, needs, "--same", remedy)
        view = replace(view or View(), same=True)
    by_sets = replace(query, by=(), labels=()) if of_one_table else query
    conditions = conditions_of(by_sets, fail_on, require)
    names = question.short_labels(sources, by_sets.labels)
    choices = choice.sides(sources, by_sets, of_answer=True)
    if of_one_table:
        names, choices = choice.split_into_sets(choices[0], query.by, query.labels)
    sides = choice.as_sides(choices, by_sets, names)
    report = judged_sides(sides, by_sets, conditions, view, also, block, profiles)
    if same:
        from ttastats.answers.compare.same import of_one_setup  # scipy costs start-up time

        report = of_one_setup(report, options.confidence)
    return with_choice_notes(report, *choices)


def conditions_of(query: Question, fail_on: Gates, require: Gates) -> tuple[Requirement, ...]:
    """Return the conditions of a gate, which are read before any file, as is a plan of looks."""
    from ttastats.answers.compare import gate
    from ttastats.sides import comparison  # scipy costs start-up time

    comparison.check_plan(query.judgement.max_runs)
    return gate.conditions(fail_on, require, gate.QUALITIES if query.budget else gate.TIMES)


def judged_sides(
    sides: Sequence[Side],
    query: Question,
    conditions: Sequence[Requirement],
    view: View | None = None,
    also: Sequence[str] = (),
    block: Sequence[str] = (),
    profiles: tuple[Profiles, Profiles] | None = None,
) -> Report:
    """Return the comparison of sides with the first, judged by the conditions of a gate."""
    from ttastats.answers.compare import compare as compare_report
    from ttastats.answers.compare import gate  # scipy costs start-up time

    baseline, *challengers = sides
    if (budget := query.budget) is not None:
        report = compare_report.qualities_report(baseline, challengers, query, budget, view, block)
    else:
        for side, metric in product(sides, also):
            expect_metric(side.evaluations, metric, "--also")
        rows = _profile_rows(*profiles) if profiles else ()
        report = compare_report.times_report(
            baseline, challengers, query, view, also=also, block=block, profiles=rows
        )
    return gate.judge(report, conditions, query.judgement.confidence)


@takes(by=arguments.choice("work", "operator"))
def compare_profiles(
    a: Profiles, b: Profiles, *, by: By = "work", confidence: float = CONFIDENCE
) -> Report:
    """Report which parts of a step and kinds of work explain a change of its length.

    Each side is one or more profiles, traces, or folders of them. The samples of a side are its
    profiles or, with a single profile, its steps. `by="operator"` reports single operators.
    """
    from ttastats.answers.profile import profile_change  # scipy costs start-up time

    first, second = _profile_rows(a, b)
    names = [", ".join(map(str, given.paths(side))) for side in (a, b)]
    return profile_change.report(first, second, (names[0], names[1]), by=by, confidence=confidence)


def _profile_rows(a: Profiles, b: Profiles) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the rows of two profiles; raise an error if they are of the same traces."""
    from ttastats.answers.profile import profile_change  # scipy costs start-up time

    first, second = (given.profile_rows(given.paths(side)).rows for side in (a, b))
    profile_change.expect_others(first, second, ", ".join(map(str, given.paths(b))))
    return first, second


@takes()
def profiled(source: Profiles, *, top: int = 10) -> Report:
    """Report the time of a training step by part of the step, kind of work, operator and rank.

    Parameters
    ----------
    source
        Profiles (Parquet), traces of PyTorch, or folders of them.
    top
        Number of operators in the printed table, 0 for all; the rows always contain all.
    """
    from ttastats.answers.profile import profile as profile_report

    profiles = given.profile_rows(given.paths(source))
    report = profile_report.report(profiles.rows, top=top)
    return replace(report, notes=(*report.notes, *map(_problem_note, profiles.problems)))


def _problem_note(problem: Problem) -> Note:
    return Note(problem.code, f"{problem.source}: {problem.message}.")


@takes()
def profile_page(
    *sources: Profiles,
    output: str | Path | None = None,
    title: str = "",
    confidence: float = CONFIDENCE,
) -> Page:
    """Return one HTML page of profiles: the time of their steps in sentences, numbers and plots.

    With several sources, each is compared with the first.

    Parameters
    ----------
    sources
        Each as in `profiled`.
    output
        Path of the page, which is written atomically; no input, nor any file but a report, is
        overwritten.
    confidence
        Confidence level of the intervals of changes.
    """
    from ttastats.output.page import document, of_profiles

    sides = [given.paths(source) for source in sources]
    if output is not None:
        document.expect_page_path(Path(output), [path for side in sides for path in side])
    profiles = [given.profile_rows(side) for side in sides]
    labelled = zip(question.short_labels(sources), (side.rows for side in profiles), strict=True)
    notes = [_problem_note(problem) for side in profiles for problem in side.problems]
    page_content = of_profiles.profiles_content(
        list(labelled), notes, title=title, confidence=confidence
    )
    page = document.make_page(page_content)
    if output is not None:
        document.write_page(Path(output), page.html)
    return page


@takes()
def plot_profiles(kind: str, source: Profiles) -> Plots:
    """Return the plots of one kind for some profiles, all in one plot.

    Parameters
    ----------
    kind
        `step`, `roofline`, `work`, `memory`, `batch-sizes` or `workers`.
    source
        As `profiled`.
    """
    from ttastats.output.plots import kinds, steps
    from ttastats.output.plots.plot import Plots

    paths = given.paths(source)
    rows = (given.profile_rows([path]).rows for path in paths)
    labelled = zip(question.short_labels(paths), rows, strict=True)
    return Plots(kinds.plots_of_profiles(kind, steps.profiles_by_name(labelled)))
