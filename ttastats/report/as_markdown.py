"""A report as Markdown tables, for pull requests and papers."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ttastats.report import harmless
from ttastats.report.answer import Report
from ttastats.report.cells import Lead, Table
from ttastats.report.harmless import escape_invisible
from ttastats.report.time_units import with_common_units

#: Words that a renderer would make a link, or that would call a person or an issue.
_LINK = re.compile(r"(\S*(?:@|://|www\.|#\d)\S*)", re.IGNORECASE)
#: Markup inside a line: not an underscore between letters, brackets without a link, one dollar.
_MARKUP = re.compile(r"[\\`*~]|\](?=[(\[:])|\[(?=\^)|\$(?=[^$]*\$)|(?<![^\W_])_|_(?![^\W_])")
#: Markup at the beginning of a line.
_BLOCK = re.compile(r"^(?=(?:#{1,6}|[+-])\s|>|[=-]+$)")
#: What notes set in code: options, columns, commands.
_OWN_CODE = re.compile(r"(`[\w ./=-]+`)")


def render_markdown(report: Report) -> str:
    """Return a report as Markdown text; nothing in names from logs acts as markup."""
    blocks = [_lead_text(lead) for lead in report.headline]
    blocks += ["\n".join(_markdown_table(with_common_units(table))) for table in report.tables]
    if report.notes:
        texts = (f"{note.mark} {note.text}".strip() for note in report.notes)
        blocks.append("\n".join(f"- {_escape_prose(text)}" for text in texts))
    if report.gate is not None:
        headline, *lines = harmless.gate_lines(report.gate)
        blocks.append(f"**{_escape_prose(headline)}**")
        blocks += ["\n".join(f"- {_escape_prose(text)}" for text in lines)] if lines else []
    return "\n\n".join(blocks) + "\n"


def _lead_text(lead: Lead) -> str:
    """Return a headline with its word in bold."""
    text = _escape_prose(lead.text)
    return f"**{_escape_prose(lead.word)}** {text}" if lead.word else text


def _markdown_table(table: Table) -> Iterable[str]:
    if table.title:
        yield f"**{_escape_markup(table.title)}**\n"
    yield _markdown_line(column.title for column in table.columns)
    rules = ("---:" if column.align == "right" else "---" for column in table.columns)
    yield f"| {' | '.join(rules)} |"
    for row in table.rows:
        yield _markdown_line(harmless.cell_text(cell) for cell in row.cells)
        for detail in (*row.details, *row.more):
            yield _markdown_line([detail, *[""] * (len(table.columns) - 1)])


def _markdown_line(cells: Iterable[str]) -> str:
    """Return a row of a Markdown table, with bars escaped."""
    return "| " + " | ".join(_escape_markup(cell).replace("|", "\\|") for cell in cells) + " |"


def _escape_prose(text: str) -> str:
    """Return a note with its code spans kept and the rest escaped."""
    parts = _OWN_CODE.split(text)
    parts[::2] = map(_escape_markup, parts[::2])
    return _BLOCK.sub(r"\\", "".join(parts))


def _escape_markup(text: str) -> str:
    """Return a text in which markup, links and mentions are set as code."""
    parts = _LINK.split(escape_invisible(text))
    for position, part in enumerate(parts):
        if position % 2:  # code stands between more backticks than it holds in succession
            fence = "`" * (1 + max(map(len, re.findall("`+", part)), default=0))
            room = " " if "`" in part else ""
            parts[position] = f"{fence}{room}{part}{room}{fence}"
        else:
            escaped = _MARKUP.sub(lambda markup: "\\" + markup.group(), part)
            parts[position] = escaped.replace("&", "&amp;").replace("<", "&lt;")
    return "".join(parts)
