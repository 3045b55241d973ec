"""How answers reach the screen: results on stdout, everything else on stderr."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import typer

from ttastats.cli.options import Format

if TYPE_CHECKING:
    from ttastats.report.cells import Report


def show(report: Report, output_format: Format) -> None:
    """Print a report in the format asked for."""
    if output_format is Format.table:
        _print_table(report)
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


def _print_table(report: Report) -> None:
    from rich.console import Console  # only a table needs it

    from ttastats.render import as_table

    console = Console()
    as_table.render(report, console, width=console.width if console.is_terminal else None)


def say(text: str) -> None:
    """Say something that is not the result."""
    typer.echo(text, err=True)
