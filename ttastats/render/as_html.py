"""A report as HTML: tables that a page may sort and filter. Names from logs are never markup."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from html import escape

from ttastats.render import words
from ttastats.render.harmless import visible, visible_lines
from ttastats.report.cells import (
    Cell,
    Column,
    Gate,
    Note,
    Printable,
    PValue,
    Quantity,
    Reached,
    Row,
    Table,
)

#: Notebooks have styles for tables of their own; this adds what the marks of a report need.
_STYLE = """\
<style>
.ttastats table.report .number { text-align: right; font-variant-numeric: tabular-nums }
.ttastats table.report tbody th { text-align: left; font-weight: normal }
.ttastats table.report .details td { text-align: left; white-space: pre-line; opacity: .75 }
.ttastats caption { text-align: left; font-weight: bold }
.ttastats .notes { opacity: .85 }
</style>
"""


def text(shown: str) -> str:
    """Give a text as HTML that does nothing but show, in an element or an attribute."""
    return escape(visible(shown))


def prose(shown: str) -> str:
    """Give sentences as HTML; what stands between backticks is code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", text(shown))


def alone(report: Printable) -> str:
    """Give a report as the HTML that a notebook shows, with the style it needs."""
    return f'{_STYLE}<div class="ttastats">\n{render(report)}</div>\n'


def render(report: Printable) -> str:
    """Give the tables, notes and sentence of a report as a fragment of HTML.

    Each row is a `tbody` of its own, so that sorting keeps its details beneath it. Cells of
    numbers say the raw number (seconds, fractions) in `data-value`.
    """
    parts = [table(one) for one in report.tables]
    parts.append(notes(report.notes))
    if report.gate is not None:
        parts.append(gate(report.gate))
    if report.sentence:
        parts.append(f'<p class="sentence">{text(report.sentence)}</p>\n')
    return "".join(parts)


def table(shown: Table) -> str:
    """Give one table. It scrolls in a box of its own, which the keyboard can reach."""
    label = text(shown.title or "table")
    head = "".join(_head(column) for column in shown.columns)
    body = "".join(_row(row, shown) for row in shown.rows)
    caption = f"<caption>{text(shown.title)}</caption>" if shown.title else ""
    return (
        f'<div class="table-box" role="region" tabindex="0" aria-label="{label}">\n'
        f'<table class="report">{caption}\n<thead><tr>{head}</tr></thead>\n{body}</table>\n</div>\n'
    )


def notes(shown: tuple[Note, ...]) -> str:
    """Give the footnotes as a list, if there are any."""
    if not shown:
        return ""
    items = "".join(f"<li>{_note(note)}</li>\n" for note in shown)
    return f'<ul class="notes">\n{items}</ul>\n'


def gate(shown: Gate) -> str:
    """Give the verdict of a gate, and a list of what did not pass."""
    headline, *said = words.gate(shown)
    items = "".join(f"<li>{text(line)}</li>\n" for line in said)
    below = f'<ul class="notes">\n{items}</ul>\n' if said else ""
    return f'<p class="gate"><b>{text(headline)}</b></p>\n{below}'


def _note(note: Note) -> str:
    mark = f"<b>{text(note.mark)}</b> " if note.mark else ""
    return mark + prose(note.text)


def _head(column: Column) -> str:
    return f'<th scope="col"{_aligned(column)}>{text(column.title)}</th>'


def _row(row: Row, shown: Table) -> str:
    cells = "".join(_cells(row, shown))
    below = ""
    if row.details:
        details = escape(visible_lines("\n".join(row.details)))
        width = len(shown.columns)
        below = f'<tr class="details"><td colspan="{width}">{details}</td></tr>'
    return f"<tbody><tr>{cells}</tr>{below}</tbody>\n"


def _cells(row: Row, shown: Table) -> Iterator[str]:
    for position, (cell, column) in enumerate(zip(row.cells, shown.columns, strict=True)):
        tag, scope = ("td", "") if position else ("th", ' scope="row"')
        tone = getattr(cell, "tone", "plain")
        kind = f' data-tone="{tone}"' if tone != "plain" else ""
        yield (
            f"<{tag}{scope}{_aligned(column)}{_value(cell)}{kind}>{text(words.cell(cell))}</{tag}>"
        )


def _aligned(column: Column) -> str:
    return ' class="number"' if column.align == "right" else ""


def _value(cell: Cell) -> str:
    """Give the number that a cell is sorted by, in full."""
    match cell:
        case Quantity(value=value) | PValue(value=value):
            number = value
        case Reached(reached=reached, n=n):
            number = reached / n if n else None
        case _:
            return ""
    known = number is not None and not math.isnan(number)
    return f' data-value="{number!r}"' if known else ' data-value=""'
