"""The command `export`: the table back as logs, CSV or JSON lines."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ttastats.cli.options import Files, Where
from ttastats.cli.output import say


def export(
    files: Files,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="PATH",
            help="NAME.csv or NAME.jsonl writes rows; any other name is a new folder for logs.",
            show_default=False,
        ),
    ],
    where: Where = None,
) -> None:
    """Export runs as logs that other programs read, or as rows."""
    from ttastats import api
    from ttastats.base.units import plural

    done = api.export(files, output, where=where or ())
    for suite, number in done.left_out.items():
        say(f"  skipped {plural(number, 'run')} of {suite}: no log format is known for it")
    say(f"wrote {plural(done.runs, 'run')} to {done.output}")
    if done.left_out:
        raise typer.Exit(1)
