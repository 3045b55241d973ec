"""Answers about profiles of training steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ttastats.base.note import Note
from ttastats.base.records import Problem
from ttastats.ingestion import given
from ttastats.report.answer import Report
from ttastats.sides import question

if TYPE_CHECKING:
    from ttastats.output.page.document import Page
    from ttastats.output.plots.plot import Plots

#: Profiles (Parquet), traces of PyTorch, or folders of them.
Profiles = str | Path | Sequence[str | Path]


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
    from ttastats.ingestion import profiled as given_profiles

    profiles = given_profiles.rows(given.paths(source))
    report = profile_report.report(profiles.rows, top=top)
    return replace(report, notes=(*report.notes, *map(_problem_note, profiles.problems)))


def _problem_note(problem: Problem) -> Note:
    return Note(problem.code, f"{problem.source}: {problem.message}.")


def profile_page(
    *sources: Profiles, output: str | Path | None = None, title: str = "", confidence: float = 0.95
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
    from ttastats.ingestion import profiled as given_profiles
    from ttastats.output.page import document, of_profiles, place

    sides = [given.paths(source) for source in sources]
    if output is not None:
        place.expect_page_path(Path(output), [path for side in sides for path in side])
    profiles = [given_profiles.rows(side) for side in sides]
    labelled = zip(question.short_labels(sources), (side.rows for side in profiles), strict=True)
    notes = [_problem_note(problem) for side in profiles for problem in side.problems]
    made = of_profiles.profiles_content(list(labelled), notes, title=title, confidence=confidence)
    page = document.make_page(made)
    if output is not None:
        place.write_page(Path(output), page.html)
    return page


def plot_profiles(kind: str, source: Profiles) -> Plots:
    """Return the plots of one kind for some profiles, all in one plot.

    Parameters
    ----------
    kind
        `step`, `roofline`, `work`, `memory`, `batch-sizes` or `workers`.
    source
        As `profiled`.
    """
    from ttastats.ingestion import profiled as given_profiles
    from ttastats.output.plots.plot import Plots
    from ttastats.output.plots.profiled import kinds, shared

    paths = given.paths(source)
    rows = (given_profiles.rows([path]).rows for path in paths)
    labelled = zip(question.short_labels(paths), rows, strict=True)
    return Plots(kinds.plots_of_kind(kind, shared.profiles_by_name(labelled)))
