"""The commands that answer from one table: its runs, their statistics, scores and problems."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ttastats import percentages
from ttastats.cli.options import (
    AtBudgetOptions,
    By,
    Confidence,
    Ddof,
    Files,
    JudgedOptions,
    Output,
    Target,
    Top,
    Verbose,
    Where,
    columns,
    confidence_level,
    sort_by,
)
from ttastats.cli.output import show

if TYPE_CHECKING:
    from ttastats.report.answer import Report

#: A coefficient of variation or a difference to detect may exceed 100 %, with a percent sign;
#: nobody plans for ten times the mean.
_MOST = 10.0


def runs(
    files: Files,
    *,
    where: Where = None,
    target: Target = None,
    budget: AtBudgetOptions,
    sort: Annotated[str, sort_by("tta, epochs or seed")] = "",
    top: Top = 0,
    output: Output,
) -> None:
    """One row per run: reached the target? when? how many epochs?"""
    from ttastats import api

    report = api.runs(files, where=where or (), target=target or (), **budget.asked())
    _show_arranged(report, sort, top, output)


def summary(
    files: Files,
    *,
    asked: JudgedOptions,
    budget: AtBudgetOptions,
    ddof: Ddof = 1,
    confidence: Confidence = "",
    sort: Annotated[str, sort_by("tta, cv or n")] = "",
    top: Top = 0,
    verbose: Verbose = False,
    output: Output,
) -> None:
    """One row per entry: runs that reached, mean TTA, CV with its interval."""
    from ttastats import api

    level = confidence_level(confidence)
    report = api.summary(
        files, ddof=ddof, confidence=level, dots=verbose, **asked.judged(), **budget.asked()
    )
    _show_arranged(report, sort, top, output)


def variance(
    files: Files,
    *,
    asked: JudgedOptions,
    ddof: Ddof = 1,
    sort: Annotated[str, sort_by("share_epochs, cv_ratio or n")] = "",
    top: Top = 0,
    output: Output,
) -> None:
    """Why runs of one entry differ: epochs to the target, or time per epoch."""
    from ttastats import api

    _show_arranged(api.variance(files, ddof=ddof, **asked.judged()), sort, top, output)


def power(
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FILE...", help="Parquet files to plan from.", show_default=False),
    ] = None,
    cv: Annotated[
        str, typer.Option("--cv", metavar="PERCENT", help="Plan from this CV instead, such as 14%.")
    ] = "",
    number: Annotated[
        int | None,
        typer.Option("--runs", "-n", metavar="N", min=2, help="Runs a side you can afford."),
    ] = None,
    detect: Annotated[
        list[str] | None,
        typer.Option(
            "--detect", metavar="PERCENT", help="A difference to see, such as 5%; repeat."
        ),
    ] = None,
    level: Annotated[
        str, typer.Option("--power", metavar="SHARE", help="Chance to see it.")
    ] = "80%",
    max_runs: Annotated[
        int | None,
        typer.Option(
            "--max-runs",
            metavar="N",
            help="Also how many runs `compare --sequential --max-runs N` takes on average.",
        ),
    ] = None,
    *,
    asked: JudgedOptions,
    output: Output,
) -> None:
    """How many runs are needed to see a difference of x %."""
    from ttastats import api

    report = api.power(
        files or None,
        cv=percentages.fraction(cv, "--cv", below=_MOST) if cv else None,
        n=number,
        effects=[percentages.fraction(text, "--detect", below=_MOST) for text in detect or ()],
        power=percentages.fraction(level, "--power"),
        max_runs=max_runs,
        **asked.judged(),
    )
    show(report, output)


def scaling(files: Files, *, asked: JudgedOptions, output: Output) -> None:
    """Speedup and efficiency over the number of accelerators."""
    from ttastats import api

    show(api.scaling(files, **asked.judged()), output)


def score(
    files: Files,
    *,
    by: By = "",
    where: Where = None,
    sort: Annotated[str, sort_by("score, n or status")] = "",
    top: Top = 0,
    output: Output,
) -> None:
    """The official MLPerf score, kept apart from our statistics."""
    from ttastats import api

    report = api.score(files, by=columns(by), where=where or ())
    _show_arranged(report, sort, top, output)


def problems(
    files: Files,
    *,
    where: Where = None,
    code: Annotated[
        list[str] | None,
        typer.Option(
            "--code", metavar="CODE", help="Show the problems of this code, all of them; repeat."
        ),
    ] = None,
    output: Output,
) -> None:
    """What was wrong with the logs, and which runs need a second look: copies, outliers."""
    from ttastats import api

    show(api.problems(*files, where=where or (), codes=code or ()), output)


def _show_arranged(report: Report, sort: str, top: int, output: Output) -> None:
    from ttastats.report.ordering import arranged

    show(arranged(report, sort=sort, top=top), output)
