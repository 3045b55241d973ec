"""The command line: each command parses its arguments, calls one function and prints the result.

Exit codes: 0 done; 1 done, but some input was rejected; 2 nothing could be done; 3 a condition of
`--fail-on` or `--require` failed, a claim does not hold, or there is no record.
"""

from __future__ import annotations

import sys
from typing import Annotated, NoReturn

import typer

from ttastats.cli import (
    claim,
    compare,
    damage,
    examples,
    export,
    guess,
    ingest,
    plot,
    profile,
    rcp,
    record,
    report,
    subset,
    tables,
    train,
)
from ttastats.cli.options import flat
from ttastats.cli.output import say
from ttastats.errors import TtastatsError
from ttastats.version import __version__

app = typer.Typer(
    name="ttastats",
    help="Does training setup B reach the target quality faster than setup A, by how much, "
    "why, and how certain is that?",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        typer.echo(f"ttastats {__version__}")
        raise typer.Exit


COMMANDS = (
    guess.guess, ingest.ingest, tables.runs, tables.summary, tables.variance, compare.compare,
    claim.claim, compare.targets, report.report, plot.plot, tables.power, tables.scaling,
    tables.score, rcp.rcp, record.record, tables.problems, profile.profile,
    export.export, subset.filter, train.train, train.sweep,
)  # fmt: skip
for command in COMMANDS:
    app.command(epilog=examples.of(command.__name__))(flat(command))


def main() -> NoReturn:
    """Run the command line; an expected error becomes one message and exit code 2."""
    try:
        app()
    except TtastatsError as error:
        say(f"ttastats: {error}")
        sys.exit(2)
    except BrokenPipeError:  # the reader of a pipe has seen enough
        sys.stderr.close()
        sys.exit(0)
    except BaseException as error:
        damaged = damage.of(error, sys.argv[1:])
        if damaged is None:
            raise
        say(f"ttastats: {damaged}")
        sys.exit(2)
    sys.exit(0)
