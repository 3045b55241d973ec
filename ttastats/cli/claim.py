"""The command that holds runs against a number."""

from __future__ import annotations

from typing import Annotated

import typer

from ttastats import percentages
from ttastats.cli.options import AtBudgetOptions, Files, JudgedOptions, Output
from ttastats.cli.output import show


def claim(
    files: Files,
    *,
    quality: Annotated[
        str,
        typer.Option(
            "--quality",
            metavar="CLAIM",
            help="The mean quality is as good as this: 'val_loss <= 3.28'; at the end, unless "
            "--at says otherwise.",
            show_default=False,
        ),
    ] = "",
    seconds: Annotated[
        str,
        typer.Option(
            "--seconds",
            metavar="CLAIM",
            help="The mean time is at most this: '<= 80'; up to the budget, or to the target.",
            show_default=False,
        ),
    ] = "",
    steps: Annotated[
        str,
        typer.Option(
            "--steps", metavar="CLAIM", help="The same of steps: '<= 3325'.", show_default=False
        ),
    ] = "",
    level: Annotated[
        str,
        typer.Option(
            "--level", metavar="SHARE", help="How often a claim that is false may be let pass."
        ),
    ] = "5%",
    sigma: Annotated[
        float | None,
        typer.Option(
            "--sigma",
            metavar="SD",
            help="The standard deviation of the quality of one run, if it is known: a z test.",
        ),
    ] = None,
    asked: JudgedOptions,
    budget: AtBudgetOptions,
    output: Output,
) -> None:
    """Is the mean of the runs shown to be as good as a number? Exit code 0: yes; 3: no."""
    from ttastats import api

    report = api.claim(
        files,
        quality=quality,
        seconds=seconds,
        steps=steps,
        level=percentages.fraction(level, "--level", below=0.5),
        sigma=sigma,
        **asked.judged(),
        **budget.asked(),
    )
    show(report, output)
    if not all(row["holds"] for row in report.rows):
        raise typer.Exit(3)
