"""The commands that answer from one table: its runs, their statistics, scores and problems."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ttastats.base import percentages
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
    keywords,
    sort_by,
    tables,
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
    """Show one row per run: whether and when it reached the target, epochs, time per epoch."""
    from ttastats import api

    report = api.runs(files, where=where or (), target=target or (), **keywords(budget))
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
    """Show one row per entry: runs that reached the target, mean TTA, and CV with its interval."""
    from ttastats import api

    level = confidence_level(confidence)
    report = api.summary(
        files, ddof=ddof, confidence=level, dots=verbose, **keywords(asked, budget)
    )
    _show_arranged(report, sort, top, output)


def rank(
    files: Files,
    *,
    asked: JudgedOptions,
    mine: Annotated[
        str,
        typer.Option(
            "--mine",
            metavar="NAME",
            help="Mark the entries whose name contains this, and say where they stand.",
        ),
    ] = "",
    confidence: Confidence = "",
    top: Annotated[
        int,
        typer.Option(
            "--top",
            metavar="N",
            min=0,
            help="Show the first N entries of each benchmark and size, and --mine; 0: all.",
        ),
    ] = 15,
    output: Output,
) -> None:
    """Rank the entries of each benchmark and size, with the ranks that cannot be told apart."""
    from ttastats import api

    level = confidence_level(confidence)
    show(api.rank(files, mine=mine, top=top, confidence=level, **keywords(asked)), output)


def variance(
    files: Files,
    *,
    asked: JudgedOptions,
    ddof: Ddof = 1,
    sort: Annotated[str, sort_by("share_epochs, cv_ratio or n")] = "",
    top: Top = 0,
    output: Output,
) -> None:
    """Decompose the variance of runs into epochs to the target and time per epoch."""
    from ttastats import api

    _show_arranged(api.variance(files, ddof=ddof, **keywords(asked)), sort, top, output)


def power(
    files: Annotated[
        list[str] | None,
        tables("Parquet files with pilot runs, or their logs."),
    ] = None,
    cv: Annotated[
        str,
        typer.Option(
            "--cv",
            metavar="PERCENT",
            help="Plan from this coefficient of variation instead, such as 14%.",
        ),
    ] = "",
    number: Annotated[
        int | None,
        typer.Option("--runs", "-n", metavar="N", min=2, help="Runs per side."),
    ] = None,
    detect: Annotated[
        list[str] | None,
        typer.Option(
            "--detect", metavar="PERCENT", help="Effect size to detect, such as 5%. Repeatable."
        ),
    ] = None,
    level: Annotated[
        str, typer.Option("--power", metavar="SHARE", help="Statistical power.")
    ] = "80%",
    max_runs: Annotated[
        int | None,
        typer.Option(
            "--max-runs",
            metavar="N",
            help="Also show the average number of runs that `compare --sequential --max-runs "
            "N` needs.",
        ),
    ] = None,
    *,
    asked: JudgedOptions,
    output: Output,
) -> None:
    """Compute how many runs are needed to detect a given difference."""
    from ttastats import api

    report = api.power(
        files or None,
        cv=percentages.fraction(cv, "--cv", below=_MOST) if cv else None,
        n=number,
        effects=[percentages.fraction(text, "--detect", below=_MOST) for text in detect or ()],
        power=percentages.fraction(level, "--power"),
        max_runs=max_runs,
        **keywords(asked),
    )
    show(report, output)


def scaling(files: Files, *, asked: JudgedOptions, output: Output) -> None:
    """Show speedup and efficiency over the number of accelerators."""
    from ttastats import api

    show(api.scaling(files, **keywords(asked)), output)


def score(
    files: Files,
    *,
    by: By = "",
    where: Where = None,
    sort: Annotated[str, sort_by("score, n or status")] = "",
    top: Top = 0,
    output: Output,
) -> None:
    """Compute the official MLPerf score of each entry."""
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
            "--code", metavar="CODE", help="Show all problems with this code. Repeatable."
        ),
    ] = None,
    output: Output,
) -> None:
    """List problems found in the logs, and suspicious runs: duplicates, stalls, outliers."""
    from ttastats import api

    show(api.problems(*files, where=where or (), codes=code or ()), output)


def _show_arranged(report: Report, sort: str, top: int, output: Output) -> None:
    from ttastats.report.ordering import arranged

    show(arranged(report, sort=sort, top=top), output)
