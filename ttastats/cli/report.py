"""The command `report`: verdict, numbers and plots as one HTML file."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ttastats.cli.options import (
    Also,
    AtBudgetOptions,
    JudgedOptions,
    columns,
    given,
    keywords,
    refuse_of_runs,
    tables,
)
from ttastats.cli.output import say, show_page
from ttastats.cli.progress import progress
from ttastats.cli.sides import Judging, SideOptions

if TYPE_CHECKING:
    from ttastats.sides.question import Source


def report(
    files: Annotated[
        list[str],
        tables(
            "Parquet files, logs, profiles or traces; one is summarized, several are compared "
            "with the first."
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="FILE", help="HTML file to write, or - for standard output."
        ),
    ] = Path("report.html"),
    title: Annotated[
        str,
        typer.Option("--title", metavar="TEXT", help="Heading of the page.", show_default=False),
    ] = "",
    together: Annotated[
        bool,
        typer.Option(
            "--together", help="Pool several files into one summary instead of comparing them."
        ),
    ] = False,
    *,
    sides: SideOptions,
    asked: JudgedOptions,
    judging: Judging,
    budget: AtBudgetOptions,
    also: Also = "",
) -> None:
    """Write one self-contained HTML page with verdict, numbers and plots."""
    from ttastats import api
    from ttastats.ingestion.profiled import is_profile
    from ttastats.output.page import place
    from ttastats.report.render import words

    to_stdout = str(output) == "-"
    if not to_stdout:
        place.expect(output, map(Path, files))
    path = None if to_stdout else output
    options = judging.options()
    if all(is_profile(Path(file)) for file in files):
        refuse_of_runs((*given(sides, asked, judging, budget), *(["--also"] if also else [])))
        paths = [files] if together else files
        page = api.profile_page(*paths, output=path, title=title, confidence=options.confidence)
    else:
        sources: list[Source] = [files] if together else sides.of(files, one_will_do=True)
        with progress("drawing plots") as on_progress:
            page = api.html_report(
                *sources,
                output=path,
                title=title,
                also=columns(also),
                fail_on=judging.fail_on,
                require=judging.require,
                on_progress=on_progress,
                command=shlex.join(["ttastats", *sys.argv[1:]]),
                options=options,
                **keywords(sides, asked, budget),
            )
    if to_stdout:
        show_page(page.html)
    else:
        size = f"{page.size / 1e6:.1f} MB"
        say(f"wrote {output}: {page.counted}, {page.plots} plots, {size}")
    if page.gate is not None and not page.gate.passed:
        say(*words.gate(page.gate))
        raise typer.Exit(3)
