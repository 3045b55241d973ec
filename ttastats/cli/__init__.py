"""The command line: each command parses its arguments, calls one function and prints the result.

Exit codes: 0 done; 1 done, but some input was rejected; 2 nothing could be done; 3 a condition of
`--fail-on` or `--require` failed, a claim does not hold, or there is no record.
"""

from __future__ import annotations

import os
import sys
import traceback
from typing import Annotated, NoReturn

import typer

from ttastats.base.version import __version__
from ttastats.cli import damage, output
from ttastats.cli.commands import Group
from ttastats.cli.output import say_error

app = typer.Typer(
    name="ttastats",
    cls=Group,
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


def main() -> NoReturn:
    """Run the command line; an error becomes one message and exit code 2."""
    output.accept_any_encoding()
    try:
        try:
            app()
        finally:
            output.flush()  # a full device shows itself here
    except BrokenPipeError:  # the reader of a pipe has seen enough
        sys.stderr.close()
        sys.exit(0)
    except (SystemExit, KeyboardInterrupt):
        raise
    except BaseException as error:
        expected = damage.expected(error, sys.argv[1:])
        if os.environ.get("TTASTATS_TRACEBACK") and expected is not error:
            traceback.print_exception(error)
        say_error(expected)
        sys.exit(2)
    sys.exit(0)
