"""A report as Markdown tables, for pull requests and papers."""

from __future__ import annotations

from collections.abc import Iterable

from ttastats.render import words
from ttastats.report.cells import Report, Table


def render(report: Report) -> str:
    """Give the report as Markdown text."""
    blocks = ["\n".join(_table(table)) for table in report.tables]
    if report.notes:
        blocks.append(
            "\n".join(f"- {_escaped(f'{note.mark} {note.text}'.strip())}" for note in report.notes)
        )
    if report.sentence:
        blocks.append(_escaped(report.sentence))
    return "\n\n".join(blocks) + "\n"


def _table(table: Table) -> Iterable[str]:
    if table.title:
        yield f"**{_escaped(table.title)}**\n"
    yield _line(column.title for column in table.columns)
    yield _line("---:" if column.align == "right" else "---" for column in table.columns)
    for row in table.rows:
        yield _line(words.cell(cell) for cell in row.cells)
        for detail in row.details:
            yield _line([detail, *[""] * (len(table.columns) - 1)])


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(_escaped(cell) for cell in cells) + " |"


def _escaped(text: str) -> str:
    """Names from logs are data: nothing in them is markup."""
    for character, harmless in (("\\", "\\\\"), ("|", "\\|"), ("<", "&lt;"), ("\n", " ")):
        text = text.replace(character, harmless)
    return text
