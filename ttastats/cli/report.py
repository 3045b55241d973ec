"""The command `report`: verdict, numbers and pictures as one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ttastats.cli.compare import Estimand, sides
from ttastats.cli.options import By, Ddof, TargetOption, Where, columns
from ttastats.cli.output import say
from ttastats.errors import TtastatsError

if TYPE_CHECKING:
    from ttastats.api import Source


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
    label: Annotated[
        list[str] | None,
        typer.Option("--label", help="Name of a side, in the order of the files; repeat."),
    ] = None,
    together: Annotated[
        bool, typer.Option("--together", help="Summarise several files as one; compare nothing.")
    ] = False,
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
) -> None:
    """One HTML page with verdict, numbers and pictures, to open offline or to mail."""
    from ttastats import api, gate
    from ttastats.comparison import Options
    from ttastats.page import place

    to_stdout = str(output) == "-"
    if not to_stdout:
        place.expect(output, files)
    sources, names = _sources(files, a or [], b or [], where or [], together=together)
    page = api.report(
        *sources,
        output=None if to_stdout else output,
        title=title,
        by=columns(by),
        where=where or (),
        target=target or (),
        labels=_labels(label or [], names, len(sources)),
        options=Options(
            ddof=ddof,
            margin=gate.fraction(margin, "--margin") if margin else 0.01,
            estimand="geomean" if estimand is Estimand.geomean else "mean",
            same_convergence=same_convergence,
            epochs_fixed=epochs_fixed,
            fdr=fdr,
        ),
    )
    if to_stdout:
        typer.echo(page.html, nl=False)
    else:
        size = f"{page.size / 1e6:.1f} MB"
        say(f"wrote {output}: {page.runs:,} runs, {page.pictures} pictures, {size}")


def _sources(
    files: list[Path], a: list[str], b: list[str], where: list[str], *, together: bool
) -> tuple[list[Source], list[str]]:
    """Give the sides of a page, and their names where the files do not name them."""
    if a or b:
        parts, names = sides(files, a, b, where)
        return [*parts], names
    if together:
        return [files], []
    return [*files], []


def _labels(given: list[str], names: list[str], count: int) -> list[str]:
    if given and len(given) != count:
        raise TtastatsError(
            f"{len(given)} labels for {count} sides",
            where="--label",
            remedy="Repeat --label once per side, in their order.",
        )
    return given or names
