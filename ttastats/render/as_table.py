"""A report as aligned text for a terminal: colour for verdicts only, and any width."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text as Line

from ttastats.render import words
from ttastats.report.cells import Report, Row, Table, Text, Tone

_STYLES: dict[Tone, str] = {"plain": "", "good": "green", "bad": "red", "dim": "dim"}
_GAP = "  "
_BELOW = "   "  # what stands under a row is set in


def render(report: Report, console: Console, *, width: int | None = None) -> None:
    """Print a report. `width` None leaves lines as long as they are, as a pipe wants them.

    On a narrow screen columns give way by their rank and stand below their row, so that nothing
    is lost.
    """
    for line in _report_lines(report, width):
        console.print(line, soft_wrap=True, highlight=False)


def _report_lines(report: Report, width: int | None) -> Iterator[Line]:
    for number, table in enumerate(report.tables):
        if number:
            yield Line("")
        yield from _table_lines(table, width)
    for note in report.notes:
        yield from _wrapped(f"{note.mark} {note.text}".strip(), width)
    if report.sentence:
        yield Line("")
        yield from _wrapped(report.sentence, width)


def _table_lines(table: Table, width: int | None) -> Iterator[Line]:
    shown, hidden = _fitting(table, width)
    widths = {position: _width(table, position) for position in shown}
    if table.title:
        for line in _wrapped(table.title, width):
            line.stylize("bold")
            yield line
    titles = tuple(Text(column.title) for column in table.columns)
    header = _aligned(Row(titles), shown, table, widths)
    header.stylize("bold")
    yield header
    yield Line(" " + "─" * (sum(widths.values()) + len(_GAP) * (len(widths) - 1)), style="dim")
    for row in table.rows:
        yield _aligned(row, shown, table, widths)
        for text in (*_folded_away(row, hidden, table), *row.details):
            for line in _wrapped(text, width, _BELOW):
                line.stylize("dim")
                yield line


def _aligned(row: Row, shown: Sequence[int], table: Table, widths: dict[int, int]) -> Line:
    line = Line("")
    for number, position in enumerate(shown):
        cell = row.cells[position]
        text = words.cell(cell)
        room = " " * (widths[position] - cell_len(text))
        right = table.columns[position].align == "right"
        line.append(_GAP if number else " ")
        line.append(room if right else "")
        line.append(text, style=_STYLES[cell.tone] if isinstance(cell, Text) else None)
        line.append("" if right else room)
    line.rstrip()
    return line


def _folded_away(row: Row, hidden: Sequence[int], table: Table) -> tuple[str, ...]:
    """Give the cells of the columns that found no room, as one line with their titles."""
    texts = [
        (table.columns[position].title, words.cell(row.cells[position])) for position in hidden
    ]
    line = " · ".join(f"{title} {text}" for title, text in texts if text)
    return (line,) if line else ()


def _wrapped(text: str, width: int | None, indent: str = " ") -> Iterator[Line]:
    """Break a text at its words where the screen ends; leading spaces are kept."""
    text = text.rstrip()
    if width is None or cell_len(text) + len(indent) <= width:
        yield Line(indent + text)
        return
    own = text[: len(text) - len(text.lstrip())]
    for part in textwrap.wrap(
        text.strip(),
        max(20, width - 1),
        initial_indent=indent + own,
        subsequent_indent=indent + own + "  ",
        break_on_hyphens=False,
    ):
        yield Line(part)


def _width(table: Table, position: int) -> int:
    cells = (words.cell(row.cells[position]) for row in table.rows)
    return max([cell_len(table.columns[position].title), *map(cell_len, cells)])


def _fitting(table: Table, width: int | None) -> tuple[list[int], list[int]]:
    """Give the columns that fit and those that gave way: all of the highest rank at once."""
    positions = range(len(table.columns))
    if width is None:
        return list(positions), []
    room = [_width(table, position) + len(_GAP) for position in positions]
    ranks = sorted({column.rank for column in table.columns}, reverse=True)
    for rank in [max(ranks, default=0) + 1, *ranks]:
        shown = [p for p in positions if table.columns[p].rank < rank or rank == 0]
        if sum(room[p] for p in shown) - len(_GAP) + 1 <= width:
            break
    return shown, [position for position in positions if position not in shown]
