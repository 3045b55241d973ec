"""The command line: each command parses its arguments, calls one function and prints the result.

Exit codes: 0 done; 1 done, but some input was rejected; 2 nothing could be done; 3 a condition of
`--fail-on` or `--require` failed, a claim does not hold, or there is no record.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from ttastats.base import __version__, slow, stores
from ttastats.base.errors import TtastatsError
from ttastats.cli import output
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
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


@app.callback(invoke_without_command=True)
def _root_options(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        typer.echo(f"ttastats {__version__}")
        raise typer.Exit


def main() -> NoReturn:
    """Run the command line; an error becomes one message and exit code 2."""
    output.accept_any_encoding()
    slow.name_files(output.say)
    try:
        sys.argv[1:] = map(stores.without_secrets, sys.argv[1:])  # pages show the command
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
        expected = _shown_error(error, sys.argv[1:])
        if os.environ.get("TTASTATS_TRACEBACK") and expected is not error:
            traceback.print_exception(error)
        say_error(expected)
        sys.exit(2)
    sys.exit(0)


def _shown_error(error: BaseException, words: Iterable[str]) -> TtastatsError:
    """Return the error to show for an exception that ended the command line."""
    if isinstance(error, TtastatsError):
        return error
    if isinstance(error, MemoryError):
        return TtastatsError(
            "not enough memory", remedy="Give fewer logs or runs, or raise the limit (ulimit -v)."
        )
    if isinstance(error, OSError) and error.strerror:
        return TtastatsError(error.strerror, where=str(error.filename) if error.filename else None)
    first = next(filter(None, str(error).splitlines()), "")
    return _damaged_table_error(error, words) or TtastatsError(
        f"internal error: {type(error).__name__}{f': {first}' if first else ''}",
        remedy="Please report it with the traceback, which TTASTATS_TRACEBACK=1 prints.",
    )


def _damaged_table_error(error: BaseException, words: Iterable[str]) -> TtastatsError | None:
    """Return the error that names a damaged table on the command line, or None.

    Rows are read when they are needed, so that damage in the middle of a file shows late, and
    polars panics at some of it. Only then are the tables read once more, each as a whole.
    """
    import polars as pl  # --help must not wait for it

    if not isinstance(error, pl.exceptions.PolarsError | pl.exceptions.PanicException):
        return None
    for path in map(Path, words):
        for part in sorted(path.glob("*.parquet")) if path.is_dir() else [path]:
            if part.suffix != ".parquet" or not part.is_file():
                continue
            try:
                pl.read_parquet(part)
            except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
                message = "is corrupt: its rows cannot be read"
                remedy = "Ingest the logs again, or restore the file."
                return TtastatsError(message, where=str(part), remedy=remedy)
    return None
