"""A report as aligned text for a terminal: colour for verdicts only, and any width."""

from __future__ import annotations

import io
import re
import textwrap
from collections.abc import Iterator, Sequence

from msgspec.structs import replace
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text as Line

from ttastats.base.codes import CAUTIONS
from ttastats.report import answer, fitting, harmless
from ttastats.report.answer import Remark, Report
from ttastats.report.cells import Cell, Column, Quantity, Table, Text
from ttastats.report.cells import Line as TableLine
from ttastats.report.fitting import GAP, Layout, hardware_models
from ttastats.report.harmless import escape_invisible
from ttastats.report.pictures import with_pictures
from ttastats.report.time_units import with_common_units
from ttastats.stats.results import Tone

_STYLES: dict[Tone, str] = {"plain": "", "good": "green", "bad": "red", "dim": "dim"}
_BELOW = "   "  # what stands under a row is set in


#: Columns of a line where no screen sets them.
WIDTH = 100
#: Cautions that are shown, and the lines that each may take.
_CAUTIONS, _LINES = 3, 2


def print_report(
    report: Report, console: Console, *, width: int | None = None, verbose: bool = False
) -> None:
    """Print a report: its sentence, the tables, the worst cautions, then the rest.

    `verbose` shows all notes in full. `width` None leaves lines as long as they are. Otherwise,
    what many rows share stands once above them, long names are shortened, and columns give way:
    one in every table of the answer, if one of them has no room for it.
    """
    lines = list(_report_lines(report, width, verbose=verbose))
    if not console.is_terminal and console.color_system is None:
        # rich would lay out each of thousands of lines anew
        console.file.write("".join(f"{line.plain}\n" for line in lines))
        return
    for line in lines:
        console.print(line, soft_wrap=True, highlight=False)


def render_text(report: Report) -> str:
    """Return a report as plain text."""
    stream = io.StringIO()
    console = Console(file=stream, force_jupyter=False, color_system=None)
    print_report(report, console, width=WIDTH)
    return stream.getvalue().rstrip("\n")


def _report_lines(report: Report, width: int | None, *, verbose: bool) -> Iterator[Line]:
    """Yield the lines of a report."""
    yield from _answer_lines(report, width)
    whole = (table.single or table if len(table.rows) == 1 else table for table in report.tables)
    tables = [with_common_units(table) for table in whole]
    if width is not None:
        tables = [with_pictures(table) for table in tables]
        tables = tables if verbose else [_screen_table(table, width) for table in tables]
    layouts, hidden = _layouts(tables, width)
    for number, (table, layout) in enumerate(zip(tables, layouts, strict=True)):
        if number:
            yield Line("")
        yield from _table_lines(table, layout, width)
    if hidden:
        absent = f"hidden columns: {', '.join(hidden)} (use a wider terminal or --format csv)"
        yield from _wrap(absent, width, style="dim")
    if verbose:
        for note in report.notes:
            yield from _wrap(f"{note.mark} {note.text}".strip(), width)
    else:
        single = any(table.single for table in report.tables)
        yield from _caution_lines(answer.ranked_remarks(report), width, _CAUTIONS - single)
    if report.gate is not None:
        headline, *outcomes = harmless.gate_lines(report.gate)
        yield from _wrap(headline, width, style="green" if report.gate.passed else "red")
        for text in outcomes:
            yield from _wrap(text, width, _BELOW)


def _answer_lines(report: Report, width: int | None) -> Iterator[Line]:
    """Yield the lines with the answer of the report."""
    for lead in report.headline:
        first, *continuation = _wrap(
            f"{lead.word}   {lead.text}" if lead.word else lead.text, width
        )
        first.stylize(f"bold {_STYLES[lead.tone]}".strip(), 1, 1 + len(lead.word))
        yield from (first, *continuation)
    if report.headline and (report.tables or report.notes or report.gate is not None):
        yield Line("")


def _caution_lines(ranked: Sequence[Remark], width: int | None, most: int) -> Iterator[Line]:
    """Yield the `most` serious notes in a few lines, and the number of the others."""
    worst = [remark for remark in ranked if remark.code in CAUTIONS][:most]
    for remark in worst:
        lines = _wrap(f"! {remark.brief}", width)
        if len(lines) > _LINES and width is not None:
            lines[_LINES - 1] = Line(_cut_line(lines[_LINES - 1].plain, "", width))
        yield from lines[:_LINES]
    lesser = [f"{remark.short} {remark.mark}".strip() for remark in ranked if remark not in worst]
    if lesser:
        names = f" + {len(lesser)} more: {', '.join(lesser)}"
        end = " (-v shows all)"
        if width is not None and cell_len(names + end) > width:
            names = _cut_line(names, end, width)
        yield Line(names + end, style="dim")


def _cut_line(line: str, end: str, width: int) -> str:
    """Return a line cut before its end, with an ellipsis."""
    room = max(20, width - cell_len(end) - 2)
    words = line.rstrip(",")[: room + 1].rpartition(" ")[0].rstrip(" ,;:(")
    return f"{words} …"


def _layouts(tables: Sequence[Table], width: int | None) -> tuple[list[Layout], list[str]]:
    """Return the layouts of the tables of an answer, and the titles of the columns they lack."""
    layouts = [fitting.fit_columns(table, width) for table in tables]
    absent = (table.columns[position] for table, layout in zip(tables, layouts, strict=True)
              for position in layout.hidden)  # fmt: skip
    hidden = list(dict.fromkeys(column.title for column in absent if not column.drawn))
    if hidden and len(tables) > 1:  # what one table lacks, all lack
        layouts = [fitting.fit_columns(table, width, hidden) for table in tables]
    return layouts, hidden


def _table_lines(table: Table, layout: Layout, width: int | None) -> Iterator[Line]:
    """Yield the lines of a table."""
    if table.title:
        yield from _wrap(table.title, width, style="bold")
    if not table.columns:
        return
    titles = TableLine(tuple(Text(column.title) for column in table.columns))
    yield _aligned_line(titles, table, layout, style="bold")
    breadth = sum(layout.widths.values()) + cell_len(GAP) * (len(layout.widths) - 1)
    yield Line(" " + "─" * breadth, style="dim")
    before: TableLine | None = None
    for row in table.rows:
        # What a row and those after it share, where the row before had something else.
        shared = [row.cells[position] for position in layout.heads]
        if before is None or shared != [before.cells[position] for position in layout.heads]:
            if before is not None:
                yield Line("")
            if shared:
                yield from _wrap(" · ".join(map(harmless.cell_text, shared)), width, style="bold")
        yield _aligned_line(row, table, layout)
        for text in (*row.details, *row.more):
            yield from _wrap(text, width, _BELOW, style="dim")
        before = row


def _screen_table(table: Table, width: int) -> Table:
    """Return a table in screen order, with short names and only informative columns."""
    rows = sorted(table.rows, key=lambda row: (row.of_all, row.place))
    body = [row for row in rows if not row.aside]
    text = ""
    if aside := [row.aside for row in rows if row.aside]:
        text = f"{len(aside)} more: {', '.join(dict.fromkeys(aside))} (-v lists them)"
    if not body:
        return Table((), (), text)
    lines = [replace(row, more=()) for row in body]
    for position, column in enumerate(table.columns):
        if column.models:
            texts = [harmless.cell_text(row.cells[position]) for row in lines]
            models = hardware_models(texts)
            lines = [
                replace(
                    row,
                    cells=(*row.cells[:position], Text(models[text]), *row.cells[position + 1 :]),
                )
                for row, text in zip(lines, texts, strict=True)
            ]
    if text:
        lines[-1] = replace(lines[-1], details=(*lines[-1].details, text))
    screen = _with_common_keys(replace(table, rows=tuple(lines)))
    if not any(column.narrow for column in table.columns):
        return screen
    narrow, whole = _narrow_table(screen), fitting.fit_columns(screen, width)
    shows_more = len(fitting.fit_columns(narrow, width).shown) > len(whole.shown)
    return narrow if shows_more or whole.hidden else screen


def _with_common_keys(table: Table) -> Table:
    """Return a table whose title states the keys that all rows share."""
    rows = [row for row in table.rows if not row.of_all]
    shared = {
        position: harmless.cell_text(rows[0].cells[position])
        for position, column in enumerate(table.columns)
        if column.names and column.narrow and len({row.cells[position] for row in rows}) == 1
    }
    if len(rows) < 2 or not shared:
        return table
    visible = [position for position in range(len(table.columns)) if position not in shared]
    texts = [
        f"{text} {table.columns[position].title}" if text.isdigit() else text
        for position, text in shared.items()
    ]
    return replace(
        table,
        columns=tuple(table.columns[position] for position in visible),
        rows=tuple(replace(row, cells=tuple(row.cells[p] for p in visible)) for row in table.rows),
        title="   ".join(filter(None, (" × ".join(texts), table.title))),
    )


def _narrow_table(table: Table) -> Table:
    """Return a table with short titles and cells where columns have them."""

    def narrow_cell(column: Column, cell: Cell) -> Cell:
        if column.narrow and isinstance(cell, Quantity):
            return replace(cell, spread=None)
        if column.narrow and isinstance(cell, Text):
            return replace(cell, text=re.sub(r"\b(\d+)/\1\b", r"\1", cell.text))
        return cell

    columns = (replace(column, title=column.narrow or column.title) for column in table.columns)
    rows = (
        replace(row, cells=tuple(map(narrow_cell, table.columns, row.cells))) for row in table.rows
    )
    return replace(table, columns=tuple(columns), rows=tuple(rows))


def _aligned_line(row: TableLine, table: Table, layout: Layout, style: str = "") -> Line:
    text, styled = "", []
    for number, position in enumerate(layout.shown):
        cell, width = row.cells[position], layout.widths[position]
        whole = harmless.cell_text(cell)
        label = layout.short.get(position, {}).get(whole, whole)
        room = " " * (width - cell_len(label))
        before, after = (room, "") if table.columns[position].align == "right" else ("", room)
        text += f"{GAP if number else ' '}{before}"
        if isinstance(cell, Text) and cell.tone != "plain":
            styled.append((cell.tone, len(text), len(text) + len(label)))
        text += f"{label}{after}"
    line = Line(text.rstrip(), style=style)
    for tone, start, end in styled:
        line.stylize(_STYLES[tone], start, end)
    return line


def _wrap(text: str, width: int | None, indent: str = " ", style: str = "") -> list[Line]:
    """Return a text wrapped at words to a width; leading spaces are kept."""
    text = escape_invisible(text.rstrip())
    if width is None or cell_len(text) + len(indent) <= width:
        return [Line(indent + text, style=style)]
    indent += text[: len(text) - len(text.lstrip())]
    lines = textwrap.wrap(
        text.strip(), max(20, width - 1), initial_indent=indent, subsequent_indent=f"{indent}  ",
        break_on_hyphens=False,
    )  # fmt: skip
    return [Line(line, style=style) for line in lines]
