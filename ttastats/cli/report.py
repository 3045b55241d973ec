"""The command `report`: verdict, numbers and pictures as one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ttastats.cli.options import JudgedOptions
from ttastats.cli.output import say
from ttastats.cli.sides import Judging, SideOptions

if TYPE_CHECKING:
    from ttastats.choice import Source


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
    together: Annotated[
        bool, typer.Option("--together", help="Summarise several files as one; compare nothing.")
    ] = False,
    *,
    sides: SideOptions,
    asked: JudgedOptions,
    judging: Judging,
) -> None:
    """One HTML page with verdict, numbers and pictures, to open offline or to mail."""
    from ttastats import api, gate
    from ttastats.page import place
    from ttastats.render import words

    gate.conditions(judging.fail_on, judging.require)  # refused before files are read
    to_stdout = str(output) == "-"
    if not to_stdout:
        place.expect(output, files)
    sources: list[Source] = [files] if together else sides.of(files, one_will_do=True)
    page = api.html_report(
        *sources,
        output=None if to_stdout else output,
        title=title,
        fail_on=judging.fail_on,
        require=judging.require,
        **sides.compared(sources, asked, judging.options()),
    )
    if to_stdout:
        typer.echo(page.html, nl=False)
    else:
        size = f"{page.size / 1e6:.1f} MB"
        say(f"wrote {output}: {page.runs:,} runs, {page.pictures} pictures, {size}")
    if page.gate is not None and not page.gate.passed:
        say("\n".join(words.gate(page.gate)))
        raise typer.Exit(3)
