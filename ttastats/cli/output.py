"""How answers reach the screen: results on stdout or in a pager, everything else on stderr."""

from __future__ import annotations

import codecs
import io
import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ttastats.base.errors import TtastatsError
from ttastats.report.harmless import escape_invisible

if TYPE_CHECKING:
    from rich.progress import Progress

    from ttastats.formats.block import Keys
    from ttastats.ingestion.guessed import Ask, Doubt
    from ttastats.report.answer import Report


#: As git has it: leave at once if all fits, keep colours, leave the text on the screen.
_LESS = {"LESS": "FRX"}


def show(
    report: Report, output_format: str = "table", *, verbose: bool = False, no_pager: bool = False
) -> None:
    """Print a report in the format asked for, a long table in a pager."""
    if output_format == "table":
        _print_or_page(report.displayed, verbose=verbose, no_pager=no_pager)
    else:
        renders = {"json": report.to_json, "csv": report.to_csv, "md": report.to_markdown}
        text = renders[output_format]().rstrip("\n")
        if output_format == "json" and not _is_utf_8():
            text = "".join(char if char.isascii() else json.dumps(char)[1:-1] for char in text)
        typer.echo(text)
    if output_format == "csv":
        say(*(f"{note.mark} {note.text}".strip() for note in report.notes))
    gate = report.gate
    # The output does not hold the verdict, or nobody may look at it.
    if gate is not None and (output_format == "csv" or not (gate or sys.stdout.isatty())):
        from ttastats.report import harmless

        say(*harmless.gate_lines(gate))


def _is_utf_8() -> bool:
    """Return whether standard output takes the encoding of JSON."""
    return codecs.lookup(sys.stdout.encoding or "utf-8").name == "utf-8"


def _print_or_page(report: Report, *, verbose: bool, no_pager: bool) -> None:
    from rich.console import Console  # only a table needs it

    from ttastats.report import as_table

    console = Console()
    if not console.is_terminal:
        columns = os.environ.get("COLUMNS", "")
        width = int(columns) if columns.isdecimal() and int(columns) else as_table.WIDTH
        as_table.print_report(report, console, width=width, verbose=verbose)
        return
    with console.capture() as capture:
        as_table.print_report(report, console, width=console.width, verbose=verbose)
    text = capture.get()
    words = () if no_pager or console.is_dumb_terminal else pager_words(os.environ)
    taller = text.count("\n") >= console.height
    if not (taller and words and paged(text, words)):
        console.file.write(text)


def pager_words(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the pager's command line, empty for none: `PAGER=` or `PAGER=cat`."""
    try:
        words = tuple(shlex.split(environment.get("PAGER", "less")))
    except ValueError:  # an open quotation mark
        return ()
    return () if words == ("cat",) else words


def paged(text: str, words: tuple[str, ...]) -> bool:
    """Show a text in a pager; return whether that worked."""
    # Only the pager hears Ctrl-C: for it, that may mean no more than to stop a search. A handler
    # that does nothing is not inherited, as ignoring the signal would be.
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        pager = subprocess.Popen(  # noqa: S603 - the words are the reader's own
            words, stdin=subprocess.PIPE, text=True, encoding="utf-8", env=_LESS | dict(os.environ)
        )
        pager.communicate(text)  # a reader who leaves before the end breaks nothing
    except OSError:
        return False
    finally:
        signal.signal(signal.SIGINT, before)
    return pager.returncode in {0, -signal.SIGINT, 128 + signal.SIGINT}


def show_page(html: str) -> None:
    """Print an HTML page in UTF-8."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")
    typer.echo(html, nl=False)


def say(*lines: str) -> None:
    """Print lines to stderr, with line feeds inside them escaped."""
    for line in lines:
        typer.echo(escape_invisible(line), err=True)


def say_error(error: TtastatsError) -> None:
    """Print an error and its remedy to stderr."""
    message = f"{error.where}: {error.what}" if error.where else error.what
    remedy = f"  {error.remedy}".split("\n") if error.remedy else ()
    with suppress(OSError):  # nobody hears it
        say(f"ttastats: {message}", *remedy)


_open_bars: list[Progress] = []


@contextmanager
def progress(label: str) -> Iterator[Callable[[int, int], None] | None]:
    """Yield a function that shows progress, or None if stderr is no terminal; tasks may nest."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with ExitStack() as stack:
        if not _open_bars:
            bars = Progress(console=Console(stderr=True), transient=True)
            _open_bars.append(stack.enter_context(bars))
            stack.callback(_open_bars.clear)
        bars = _open_bars[0]
        task = bars.add_task(label, total=None)
        yield lambda done, total: bars.update(task, completed=done, total=total)


def asking() -> Ask | None:
    """Return a function that asks the user about a guess once; None without a terminal."""
    if not (sys.stdin and sys.stdin.isatty() and sys.stderr.isatty()):
        return None
    answers: dict[tuple[str, str], Keys | None] = {}

    def ask(path: str, doubt: Doubt) -> Keys | None:
        question = doubt.key, doubt.text
        if question not in answers:
            answers[question] = _choose(path, doubt)
        return answers[question]

    return ask


def _choose(path: str, doubt: Doubt) -> Keys | None:
    """Return the choice that the user makes on the terminal, or None."""
    from rich.console import Console
    from rich.prompt import Prompt

    say(f"{path}: {doubt.key}: {doubt.text}")
    for number, choice in enumerate(doubt.choices, start=1):
        value = choice[doubt.key]
        value_text = value if isinstance(value, str) else ", ".join(value)
        say(f"  {number}. {doubt.key} = {value_text or 'none'}")
    numbers = [str(number) for number in range(1, len(doubt.choices) + 1)]
    for bars in _open_bars:
        bars.stop()
    try:
        console = Console(stderr=True)
        answer = Prompt.ask("Read it as", choices=[*numbers, "q"], default="q", console=console)
    except EOFError:
        answer = "q"
    finally:
        for bars in _open_bars:
            bars.start()
    return None if answer == "q" else doubt.choices[int(answer) - 1]


def accept_any_encoding() -> None:
    """Make streams that are not UTF-8 escape characters they cannot encode.

    What is said to a stderr that is closed is lost, and no file that is opened takes its number.
    """
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    codecs.register_error("ttastats", _escape_error)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="ttastats")


def _escape_error(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end].replace("─", "-")  # long lines in tables
    return json.dumps(text)[1:-1], error.end


def flush() -> None:
    """Flush standard output; exit quietly if the reader has gone."""
    if sys.stdout is None:
        return
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        # Else the interpreter would try once more, and end with a message of its own.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        message = f"cannot write: {error.strerror}"
        raise TtastatsError(message, where="standard output") from error
