"""The commands that set two sides against each other: compare, targets."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ttastats.cli.options import (
    By,
    Ddof,
    Format,
    FormatOption,
    NoPager,
    TargetOption,
    Where,
    columns,
)
from ttastats.cli.output import say, show
from ttastats.errors import TtastatsError

if TYPE_CHECKING:
    import polars as pl


class Estimand(StrEnum):
    """Which mean of times a speedup compares."""

    mean = "mean"
    geomean = "geomean"


def compare(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Parquet files: the baseline A, then B (or several to judge against A); "
            "one file alone with --a and --b.",
            show_default=False,
        ),
    ],
    a: Annotated[
        list[str] | None,
        typer.Option("--a", help="Condition that chooses side A of one file; repeat."),
    ] = None,
    b: Annotated[
        list[str] | None,
        typer.Option("--b", help="Condition that chooses side B of one file; repeat."),
    ] = None,
    by: By = "",
    where: Where = None,
    target: TargetOption = None,
    margin: Annotated[
        str, typer.Option("--margin", help="Difference that does not matter, such as 1%.")
    ] = "",
    estimand: Annotated[
        Estimand, typer.Option("--estimand", help="Which mean of times is compared.")
    ] = Estimand.mean,
    same_convergence: Annotated[
        bool,
        typer.Option("--same-convergence", help="Both sides need the same epochs: compare these."),
    ] = False,
    epochs_fixed: Annotated[
        bool, typer.Option("--epochs-fixed", help="Epochs to the target cannot vary, by design.")
    ] = False,
    fdr: Annotated[
        bool, typer.Option("--fdr", help="Adjust p by Benjamini-Hochberg in place of Holm.")
    ] = False,
    ddof: Ddof = 1,
    wide: Annotated[bool, typer.Option("--wide", help="Show more columns.")] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Show every run as a dot.")
    ] = False,
    fail_on: Annotated[
        str,
        typer.Option(
            "--fail-on",
            help="Exit 1 unless B is shown not to be slower by more than this: slower:2%.",
        ),
    ] = "",
    output_format: FormatOption = Format.table,
    no_pager: NoPager = False,
) -> None:
    """Is B faster than A, by how much, why, and how sure?"""
    from ttastats import api, gate
    from ttastats.comparison import Options
    from ttastats.report.compare import View

    limit = gate.parse(fail_on) if fail_on else None
    options = Options(
        ddof=ddof,
        margin=gate.fraction(margin, "--margin") if margin else 0.01,
        estimand="geomean" if estimand is Estimand.geomean else "mean",
        same_convergence=same_convergence,
        epochs_fixed=epochs_fixed,
        fdr=fdr,
    )
    sources, labels = sides(files, a or (), b or (), where or ())
    report = api.compare(
        *sources,
        by=columns(by),
        target=target or (),
        labels=labels,
        options=options,
        view=View(wide, verbose, margin_claims=bool(margin)),
    )
    show(report, output_format, paged=not no_pager)
    failures = gate.failures(report.rows, limit) if limit is not None else ()
    for failure in failures:
        say(f"failed: {failure}")
    if failures:
        raise typer.Exit(1)


def targets(
    files: Annotated[
        list[Path], typer.Argument(help="One Parquet file, or two to compare.", show_default=False)
    ],
    a: Annotated[list[str] | None, typer.Option("--a", help="Chooses side A of one file.")] = None,
    b: Annotated[list[str] | None, typer.Option("--b", help="Chooses side B of one file.")] = None,
    where: Where = None,
    points: Annotated[int, typer.Option("--points", min=2, help="Targets to ask about.")] = 9,
    metric: Annotated[
        str | None, typer.Option("--metric", help="The metric to vary, if there are several.")
    ] = None,
    output_format: FormatOption = Format.table,
) -> None:
    """How the answer depends on the quality target."""
    from ttastats import api

    if len(files) == 1 and not (a or b):
        sources, labels = [api.read(files[0], where=where or ())], [str(files[0])]
    else:
        sources, labels = sides(files, a or (), b or (), where or ())
    if len(sources) > 2:
        raise TtastatsError("more than two files", remedy="Compare two at a time.")
    report = api.targets(*sources, points=points, metric=metric, labels=labels)
    show(report, output_format)


def sides(
    files: list[Path], a: Sequence[str], b: Sequence[str], where: Sequence[str]
) -> tuple[list[pl.LazyFrame], list[str]]:
    """Give the tables to compare and their labels: several files, or two parts of one."""
    from ttastats import api

    if a or b:
        if len(files) != 1 or not (a and b):
            raise TtastatsError(
                "--a and --b choose two parts of one file",
                remedy="Give one file with both, or two files with neither.",
            )
        parts = [api.read(files[0], where=[*where, *part]) for part in (a, b)]
        return parts, [", ".join(part) for part in (a, b)]
    if len(files) < 2:
        raise TtastatsError(
            "one file has nothing to be compared with",
            where=str(files[0]),
            remedy="Give a second file, or choose two parts: --a 'system=...' --b 'system=...'",
        )
    return [api.read(file, where=where) for file in files], [str(file) for file in files]
