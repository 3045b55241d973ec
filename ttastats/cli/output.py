"""How answers reach the screen: results on stdout, everything else on stderr."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import typer

from ttastats.cli import pager
from ttastats.cli.options import Format, Output
from ttastats.render.harmless import visible_lines

if TYPE_CHECKING:
    from ttastats.report.answer import Report


def show(report: Report, output: Output) -> None:
    """Print a report in the format asked for; a table taller than the screen is paged."""
    output_format = output.output_format
    if output_format is Format.table:
        _print_table(report, paged=not output.no_pager)
        _say_gate(report, output_format)
        return
    from ttastats.render import as_csv, as_json, as_markdown

    renders: dict[Format, Callable[[Report], str]] = {
        Format.json: as_json.render,
        Format.csv: as_csv.render,
        Format.md: as_markdown.render,
    }
    typer.echo(renders[output_format](report).rstrip("\n"))
    if output_format is Format.csv:
        for note in report.notes:
            say(f"{note.mark} {note.text}".strip())
    _say_gate(report, output_format)


def _say_gate(report: Report, output_format: Format) -> None:
    """Say the gate's verdict where the output does not hold it, or where nobody may look at it."""
    from ttastats.render import words

    unseen = report.gate is not None and not report.gate.passed and not sys.stdout.isatty()
    if report.gate is not None and (unseen or output_format is Format.csv):
        say("\n".join(words.gate(report.gate)))


def _print_table(report: Report, *, paged: bool) -> None:
    from rich.console import Console  # only a table needs it

    from ttastats.render import as_table

    console = Console()
    if not console.is_terminal:
        as_table.render(report, console)
        return
    with console.capture() as capture:
        as_table.render(report, console, width=console.width)
    text = capture.get()
    pager_words = pager.command(os.environ) if paged and not console.is_dumb_terminal else ()
    taller = text.count("\n") >= console.height
    if not (taller and pager_words and pager.shown(text, pager_words)):
        console.file.write(text)


def say(text: str) -> None:
    """Say something that is not the result."""
    typer.echo(visible_lines(text), err=True)
