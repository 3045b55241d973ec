"""The commands that set two sides against each other: compare, targets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ttastats.cli.options import (
    By,
    Confidence,
    Ddof,
    Format,
    FormatOption,
    NoPager,
    Price,
    TargetOption,
    Unit,
    Verbose,
    Where,
    columns,
)
from ttastats.cli.output import show
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
    sides,
)
from ttastats.errors import TtastatsError


def compare(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Parquet files: the baseline A, then B (or several to judge against A); "
            "one file alone with --a and --b.",
            show_default=False,
        ),
    ],
    a: SideA = None,
    b: SideB = None,
    label: Labels = None,
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
    wide: Annotated[bool, typer.Option("--wide", help="Show more columns.")] = False,
    verbose: Verbose = False,
    fail_on: FailOn = "",
    require: Require = "",
    output_format: FormatOption = Format.table,
    no_pager: NoPager = False,
) -> None:
    """Is B faster than A, by how much, why, and how sure?"""
    from ttastats import api, gate
    from ttastats.report.compare import View

    gate.conditions(fail_on, require)  # refused before files are read
    how = options(
        ddof=ddof,
        margin=margin,
        estimand=estimand,
        same_convergence=same_convergence,
        epochs_fixed=epochs_fixed,
        fdr=fdr,
        confidence=confidence,
    )
    sources, names = sides(files, a or (), b or ())
    report = api.compare(
        *sources,
        by=columns(by),
        where=where or (),
        target=target or (),
        unit=unit,
        price=price,
        labels=labels(label or (), names, len(sources)),
        pool=pool,
        options=how,
        view=View(wide, verbose, margin_claims=bool(margin), named=bool(label)),
        fail_on=fail_on,
        require=require,
    )
    show(report, output_format, paged=not no_pager)
    if report.gate is not None and not report.gate.passed:
        raise typer.Exit(3)


def targets(
    files: Annotated[
        list[Path], typer.Argument(help="One Parquet file, or two to compare.", show_default=False)
    ],
    a: SideA = None,
    b: SideB = None,
    by: By = "",
    where: Where = None,
    unit: Unit = "",
    price: Price = "",
    points: Annotated[int, typer.Option("--points", min=2, help="Targets to ask about.")] = 9,
    metric: Annotated[
        str | None, typer.Option("--metric", help="The metric to vary, if there are several.")
    ] = None,
    output_format: FormatOption = Format.table,
) -> None:
    """How the answer depends on the quality target."""
    from ttastats import api

    if len(files) == 1 and not (a or b):
        sources, names = one_or_more(files, (), ())
    else:
        sources, names = sides(files, a or (), b or ())
    if len(sources) > 2:
        raise TtastatsError("more than two files", remedy="Compare two at a time.")
    report = api.targets(
        *sources,
        by=columns(by),
        where=where or (),
        points=points,
        unit=unit,
        price=price,
        metric=metric,
        labels=names,
    )
    show(report, output_format)
