"""The command that holds entries against the official records of reference convergence."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ttastats.cli.options import (
    By,
    Confidence,
    Files,
    Output,
    Top,
    Where,
    columns,
    confidence_level,
    sort_by,
)
from ttastats.cli.output import show


def rcp(
    files: Files,
    *,
    records: Annotated[
        Path | None,
        typer.Option(
            "--records",
            metavar="FOLDER",
            help="Folder with rcps_*.json.",
            show_default="installed mlperf_logging",
        ),
    ] = None,
    ruleset: Annotated[
        str,
        typer.Option(
            "--ruleset",
            metavar="X.Y.Z",
            help="Use the records and rules of this round.",
            show_default="the round of each entry",
        ),
    ] = "",
    bypass: Annotated[
        bool, typer.Option("--bypass", help="Apply the official --rcp_bypass.")
    ] = False,
    by: By = "",
    where: Where = None,
    confidence: Confidence = "",
    draws: Annotated[
        int,
        typer.Option("--draws", min=100, help="Simulation draws for each error rate of the check."),
    ] = 10_000,
    seed: Annotated[
        int, typer.Option("--seed", metavar="N", min=0, help="Seed of the simulation.")
    ] = 1,
    sort: Annotated[str, sort_by("ratio, official_factor or n")] = "",
    top: Top = 0,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Show the numbers behind each verdict.")
    ] = False,
    output: Output,
) -> None:
    """Check convergence against the official reference convergence points (RCP)."""
    from ttastats import api
    from ttastats.answers.rcp.rcp import unanswered
    from ttastats.report.ordering import arranged

    found = api.rcp(
        files,
        records=records,
        ruleset=ruleset,
        bypass=bypass,
        by=columns(by),
        where=where or (),
        confidence=confidence_level(confidence),
        draws=draws,
        seed=seed,
        verbose=verbose,
    )
    show(arranged(found, sort=sort, top=top), output)
    if unanswered(found):
        raise typer.Exit(1)
