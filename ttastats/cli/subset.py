"""The command `filter`: some runs of some tables as one table."""

from __future__ import annotations

from typing import Annotated

import typer

from ttastats.cli.options import Files, Where
from ttastats.cli.output import say


def filter(  # noqa: A001 - the name of the command
    files: Files,
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Parquet file to write, or a folder of them: NAME/.",
            show_default=False,
        ),
    ],
    where: Where = None,
) -> None:
    """Write selected runs of one or more tables to a new table."""
    from ttastats import api
    from ttastats.base.units import plural

    done = api.filter(*files, output=output, where=where or ())
    say(
        f"kept {done.runs:,} of {plural(done.all_runs, 'run')} with "
        f"{plural(done.evaluations, 'evaluation')} and {plural(done.problems, 'problem')}"
    )
    if done.copies:
        of_others = "it is a copy" if done.copies == 1 else "they are copies"
        say(f"  {plural(done.copies, 'run')}: {of_others} of another run, see `duplicate_of`")
    for note in done.notes:
        say(f"  {note}")
    say(f"wrote {done.output}")
