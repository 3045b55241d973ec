"""The command `guess`: what are these logs, and how would a `ttastats.toml` describe them?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ttastats.cli.output import say


def guess(
    path: Annotated[
        str,
        typer.Argument(
            metavar="PATH", help="A folder of logs, a log, or an archive.", show_default=False
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write the proposed blocks; `ingest` finds FOLDER/ttastats.toml automatically.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Propose how to read your own logs, and preview the runs."""
    from ttastats.answers.guessing.folder import guess as look  # polars costs start-up time

    found = look(path, output)
    typer.echo(str(found))
    if output is not None:
        say(f"wrote {output}")
