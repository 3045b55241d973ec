"""Names from logs are data: nothing in them steers a screen, a page, a spreadsheet."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import re
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from rich.console import Console

from ttastats.base.codes import Note
from ttastats.cli.output import say
from ttastats.report import as_csv, as_json, as_markdown, as_table
from ttastats.report.answer import Report
from ttastats.report.cells import Column, Line, Quantity, Table, Text
from ttastats.report.harmless import escape_invisible, escape_lines
from ttastats.report.row import Row

HOSTILE = (
    "<script>alert(1)</script>",
    '=HYPERLINK("http://evil.example","x")',
    "[bold]x[/bold]",
    "\x1b[31mred",
    "\x9b31mred",
    "a|b",
    "a\\|b",
    "\u202efdp.exe",
    "`code`",
    "``x`y|",
    "@torvalds",
    "http://evil.example/a|b",
    "www.evil.example",
    "[a](javascript:alert(1))",
    "![x](//evil.example/x.png)",
    "*x* _y_ ~~z~~ a_b",
    "&lt;b&gt;",
    "<!-- x",
    "#12",
    "two\nlines\rx",
    "\udc80",
    "[red]x :smile:",
)


def report(name: str, number: float = -1.5) -> Report:
    """Return a report with a name at every place that may hold one."""
    row = Line((Text(name), Quantity(number)), (name,))
    table = Table((Column("name", names=True), Column("number", "right")), (row,), name)
    rows = (Row(keys={"name": name, "number": number, "flags": [name, name]}),)
    return Report("test", rows, (table,), (Note("code", f"note {name}"),), f"sentence {name}")


class TestVisible:
    def test_invisible_characters_are_spelled_out_and_lines_stay_lines(self) -> None:
        odd = "\x1b[31m ± \u202e\x00\x07\x7f\x9b\t\r\n\u200b\ufeff\u2028\U000e0041\udc80"
        plain = r"\x1b[31m ± \u202e\x00\x07\x7f\x9b\t\r\n\u200b\ufeff\u2028\U000e0041\udc80"
        assert escape_invisible(odd) == plain
        assert escape_lines("a\n\x1bb") == "a\n\\x1bb"

    @given(st.text())
    def test_the_result_shows_all_it_has(self, text: str) -> None:
        assert escape_invisible(text).isprintable()
        assert escape_invisible(escape_invisible(text)) == escape_invisible(text)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_is_shown_on_a_terminal_and_steers_nothing(name: str) -> None:
    screen, messages = io.StringIO(), io.StringIO()
    console = Console(file=screen, width=80, force_terminal=True, color_system=None)
    as_table.print_report(report(name), console, width=80, verbose=True)
    assert screen.getvalue().count(escape_invisible(name).strip()) == 5
    with contextlib.redirect_stderr(messages):
        say(f"log {name}: cannot be read")
    written = as_json.render_json(report(name))
    assert json.loads(written)["rows"][0]["name"] == name
    for text in (screen.getvalue(), messages.getvalue(), written):
        assert all(line.isprintable() for line in text.split("\n"))


def cells(report: Report) -> list[str]:
    return list(csv.reader(io.StringIO(as_csv.render_csv(report))))[1]


class TestSpreadsheet:
    @pytest.mark.parametrize(
        "first", ["=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠"]
    )
    def test_text_that_would_be_a_formula_gets_a_quote(self, first: str) -> None:
        name, number, flags = cells(report(f"{first}cmd()"))
        assert name == "'" + escape_invisible(first) + "cmd()"
        assert flags == f"{name};{name}"
        assert number == "-1.5"

    def test_a_semicolon_ends_a_cell_in_some_countries(self) -> None:
        assert cells(report("a;=cmd()"))[0] == "a;'=cmd()"
        assert cells(report("=\udc80"))[0] == r"'=\udc80"  # no Unicode: of rows without types

    @pytest.mark.parametrize("name", ["digits", "a-b", "x=1", "1+1", "[bold]x", "a|b"])
    def test_other_text_stays_as_it_is(self, name: str) -> None:
        assert cells(report(name))[0] == name

    @pytest.mark.parametrize("name", HOSTILE)
    def test_nothing_is_hidden(self, name: str) -> None:
        assert cells(report(name))[0].removeprefix("'") == escape_invisible(name)


MARKDOWN = MarkdownIt("commonmark").enable(["table", "strikethrough"])


TAGS = {"p", "strong", "table", "thead", "tbody", "tr", "th", "td", "ul", "li", "code"}


def page(name: str) -> str:
    """Return the page that a Markdown renderer makes of a report."""
    return str(MARKDOWN.render(as_markdown.render_markdown(report(name))))


class TestMarkdown:
    @pytest.mark.parametrize("name", HOSTILE)
    def test_a_name_is_shown_and_is_no_markup(self, name: str) -> None:
        html = page(name)
        tags = set(re.findall(r"</?(\w+)", html))
        assert tags <= TAGS
        shown = unescape(re.sub(r"<[^>]*>", "", html))
        # Notes may set words in code, so the backticks of a name there may be taken for theirs.
        assert shown.count(escape_invisible(name)) >= (3 if "`" in name else 5)

    @given(st.text(st.sampled_from("ab|`\\*_<>&[]()!@:/#~$ -=+.\n"), min_size=1, max_size=12))
    def test_a_cell_shows_its_name(self, name: str) -> None:
        html = page(f"x{name}x")
        (cell,) = re.findall(r"<tbody>\s*<tr>\s*<td>(.*?)</td>", html)
        assert unescape(re.sub(r"</?code>", "", cell)) == escape_invisible(f"x{name}x")

    @pytest.mark.parametrize(
        "name", ["@torvalds", "http://evil.example", "www.evil.example", "a@b.example", "#12"]
    )
    def test_what_a_site_would_link_or_notify_is_code(self, name: str) -> None:
        assert page(name).count(f"<code>{name}</code>") == 5

    def test_intervals_and_our_own_code_stay_readable(self) -> None:
        columns = (Column("CV [95%]"), Column("$"))
        cells = (Quantity(0.1, "fraction", 0.05, 0.2), Quantity(5.0, "dollars"))
        table = Table(columns, (Line(cells),), "tyche_ngpu8")
        note = Note("code", "counted in `reached`; --top 0 shows all.")
        text = as_markdown.render_markdown(Report("test", (), (table,), (note,)))
        assert "| 10.0% [5.0, 20.0] | $5.00 |" in text
        assert "- counted in `reached`; --top 0 shows all." in text
        assert "**tyche_ngpu8**" in text
