"""The command `report`: verdict, numbers and pictures as one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ttastats.cli.options import By, Confidence, Ddof, Price, TargetOption, Unit, Where, columns
from ttastats.cli.output import say
from ttastats.cli.sides import (
    EpochsFixed,
    Estimand,
    EstimandOption,
    FailOn,
    Fdr,
    Labels,
    Margin,
    Pool,
    Require,
    SameConvergence,
    SideA,
    SideB,
    labels,
    one_or_more,
    options,
)


def report(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Parquet files: one is summarised, several are compared with the first.",
            show_default=False,
        ),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="HTML file to write, or - for standard output.")
    ] = Path("report.html"),
    title: Annotated[
        str, typer.Option("--title", help="Heading of the page.", show_default=False)
    ] = "",
    label: Labels = None,
    together: Annotated[
        bool, typer.Option("--together", help="Summarise several files as one; compare nothing.")
    ] = False,
    a: SideA = None,
    b: SideB = None,
    by: By = "",
    where: Where = None,
    target: TargetOption = None,
    margin: Margin = "",
    estimand: EstimandOption = Estimand.mean,
    same_convergence: SameConvergence = False,
    epochs_fixed: EpochsFixed = False,
    fdr: Fdr = False,
    pool: Pool = False,
    unit: Unit = "",
    price: Price = "",
    ddof: Ddof = 1,
    confidence: Confidence = "",
    fail_on: FailOn = "",
    require: Require = "",
) -> None:
    """One HTML page with verdict, numbers and pictures, to open offline or to mail."""
    from ttastats import api, gate
    from ttastats.page import place
    from ttastats.render import words

    gate.conditions(fail_on, require)  # refused before files are read
    to_stdout = str(output) == "-"
    if not to_stdout:
        place.expect(output, files)
    sources, names = one_or_more(files, a or (), b or ())
    if together:
        sources, names = [files], []
    page = api.html_report(
        *sources,
        output=None if to_stdout else output,
        title=title,
        by=columns(by),
        where=where or (),
        target=target or (),
        unit=unit,
        price=price,
        labels=labels(label or (), names, len(sources)),
        pool=pool,
        options=options(
            ddof=ddof,
            margin=margin,
            estimand=estimand,
            same_convergence=same_convergence,
            epochs_fixed=epochs_fixed,
            fdr=fdr,
            confidence=confidence,
        ),
        fail_on=fail_on,
        require=require,
    )
    if to_stdout:
        typer.echo(page.html, nl=False)
    else:
        size = f"{page.size / 1e6:.1f} MB"
        say(f"wrote {output}: {page.runs:,} runs, {page.pictures} pictures, {size}")
    if page.gate is not None and not page.gate.passed:
        say("\n".join(words.gate(page.gate)))
        raise typer.Exit(3)
