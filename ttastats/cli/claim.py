"""The command that holds runs against a number."""

from __future__ import annotations

from typing import Annotated

import typer

from ttastats.base import percentages
from ttastats.cli.options import AtBudgetOptions, Files, JudgedOptions, Output, keywords
from ttastats.cli.output import show


def claim(
    files: Files,
    *,
    quality: Annotated[
        str,
        typer.Option(
            "--quality",
            metavar="CLAIM",
            help="Claim about the mean quality: 'val_loss <= 3.28'; at the end of each run "
            "unless --at is given.",
            show_default=False,
        ),
    ] = "",
    seconds: Annotated[
        str,
        typer.Option(
            "--seconds",
            metavar="CLAIM",
            help="Claim about the mean time in seconds: '<= 80'; to the budget, else to the "
            "target.",
            show_default=False,
        ),
    ] = "",
    steps: Annotated[
        str,
        typer.Option(
            "--steps",
            metavar="CLAIM",
            help="Claim about the mean number of steps: '<= 3325'.",
            show_default=False,
        ),
    ] = "",
    level: Annotated[
        str,
        typer.Option(
            "--level",
            metavar="SHARE",
            help="Significance level: the accepted probability of confirming a false claim.",
        ),
    ] = "5%",
    sigma: Annotated[
        float | None,
        typer.Option(
            "--sigma",
            metavar="SD",
            help="Known standard deviation of the quality of one run; uses a z test.",
        ),
    ] = None,
    asked: JudgedOptions,
    budget: AtBudgetOptions,
    output: Output,
) -> None:
    """Test a claim about the mean of the runs. Exit code 0: it holds; 3: it does not."""
    from ttastats import api
    from ttastats.answers.claim import ClaimRow
    from ttastats.report.row import of_kind

    report = api.claim(
        files,
        quality=quality,
        seconds=seconds,
        steps=steps,
        level=percentages.fraction(level, "--level", below=0.5),
        sigma=sigma,
        **keywords(asked, budget),
    )
    show(report, output)
    if not all(row.holds for row in of_kind(report.records, ClaimRow)):
        raise typer.Exit(3)
