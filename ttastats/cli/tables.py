"""The commands that answer from one table: its runs, their statistics, scores and problems."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ttastats import percentages
from ttastats.cli.options import (
    By,
    Confidence,
    Ddof,
    Files,
    Format,
    FormatOption,
    NoPager,
    Price,
    SortRuns,
    SortScore,
    SortSummary,
    SortVariance,
    TargetOption,
    Top,
    Unit,
    Verbose,
    Where,
    columns,
    confidence_level,
)
from ttastats.cli.output import show

#: A coefficient of variation or a difference to detect may exceed 100 %, with a percent sign;
#: nobody plans for ten times the mean.
_MOST = 10.0


def runs(
    files: Files,
    where: Where = None,
    target: TargetOption = None,
    sort: SortRuns = "",
    top: Top = 0,
    output_format: FormatOption = Format.table,
    no_pager: NoPager = False,
) -> None:
    """One row per run: reached the target? when? how many epochs?"""
    from ttastats import api
    from ttastats.report.ordering import arranged

    report = api.runs(files, where=where or (), target=target or ())
    show(arranged(report, sort=sort, top=top), output_format, paged=not no_pager)


def summary(
    files: Files,
    by: By = "",
    where: Where = None,
    target: TargetOption = None,
    unit: Unit = "",
    price: Price = "",
    ddof: Ddof = 1,
    confidence: Confidence = "",
    sort: SortSummary = "",
    top: Top = 0,
    verbose: Verbose = False,
    output_format: FormatOption = Format.table,
    no_pager: NoPager = False,
) -> None:
    """One row per entry: runs that reached, mean TTA, CV with its interval."""
    from ttastats import api
    from ttastats.report.ordering import arranged

    report = api.summary(
        files,
        by=columns(by),
        where=where or (),
        target=target or (),
        unit=unit,
        price=price,
        ddof=ddof,
        confidence=confidence_level(confidence),
        dots=verbose,
    )
    show(arranged(report, sort=sort, top=top), output_format, paged=not no_pager)


def variance(
    files: Files,
    by: By = "",
    where: Where = None,
    target: TargetOption = None,
    unit: Unit = "",
    price: Price = "",
    ddof: Ddof = 1,
    sort: SortVariance = "",
    top: Top = 0,
    output_format: FormatOption = Format.table,
    no_pager: NoPager = False,
) -> None:
    """Why runs of one entry differ: epochs to the target, or time per epoch."""
    from ttastats import api
    from ttastats.report.ordering import arranged

    report = api.variance(
        files,
        by=columns(by),
        where=where or (),
        target=target or (),
        unit=unit,
        price=price,
        ddof=ddof,
    )
    show(arranged(report, sort=sort, top=top), output_format, paged=not no_pager)


def power(
    files: Annotated[
        list[Path] | None, typer.Argument(help="Parquet files to plan from.", show_default=False)
    ] = None,
    cv: Annotated[str, typer.Option("--cv", help="Plan from this CV instead, such as 14%.")] = "",
    number: Annotated[
        int | None, typer.Option("--runs", "-n", min=2, help="Runs a side you can afford.")
    ] = None,
    detect: Annotated[
        list[str] | None, typer.Option("--detect", help="A difference to see, such as 5%; repeat.")
    ] = None,
    level: Annotated[
        str, typer.Option("--power", metavar="SHARE", help="Chance to see it.")
    ] = "80%",
    by: By = "",
    where: Where = None,
    target: TargetOption = None,
    unit: Unit = "",
    price: Price = "",
    output_format: FormatOption = Format.table,
) -> None:
    """How many runs are needed to see a difference of x %."""
    from ttastats import api

    report = api.power(
        files or None,
        cv=percentages.fraction(cv, "--cv", below=_MOST) if cv else None,
        n=number,
        effects=[percentages.fraction(text, "--detect", below=_MOST) for text in detect or ()],
        power=percentages.fraction(level, "--power"),
        by=columns(by),
        where=where or (),
        target=target or (),
        unit=unit,
        price=price,
    )
    show(report, output_format)


def scaling(
    files: Files,
    by: By = "",
    where: Where = None,
    target: TargetOption = None,
    unit: Unit = "",
    price: Price = "",
    output_format: FormatOption = Format.table,
) -> None:
    """Speedup and efficiency over the number of accelerators."""
    from ttastats import api

    report = api.scaling(
        files, by=columns(by), where=where or (), target=target or (), unit=unit, price=price
    )
    show(report, output_format)


def score(
    files: Files,
    by: By = "",
    where: Where = None,
    sort: SortScore = "",
    top: Top = 0,
    output_format: FormatOption = Format.table,
    no_pager: NoPager = False,
) -> None:
    """The official MLPerf score, kept apart from our statistics."""
    from ttastats import api
    from ttastats.report.ordering import arranged

    report = api.score(files, by=columns(by), where=where or ())
    show(arranged(report, sort=sort, top=top), output_format, paged=not no_pager)


def problems(
    files: Files,
    where: Where = None,
    code: Annotated[
        list[str] | None,
        typer.Option("--code", help="Show the problems of this code, all of them; repeat."),
    ] = None,
    output_format: FormatOption = Format.table,
    no_pager: NoPager = False,
) -> None:
    """What was wrong with the logs, and which runs need a second look: copies, outliers."""
    from ttastats import api

    report = api.problems(*files, where=where or (), codes=code or ())
    show(report, output_format, paged=not no_pager)
