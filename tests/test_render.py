"""How reports look: units, narrow screens, and names that are data and never markup."""

from __future__ import annotations

import csv
import io
import math

import pytest
from rich.console import Console

from ttastats.base import codes
from ttastats.base.note import Note
from ttastats.report.answer import Report
from ttastats.report.cells import Column, Line, Quantity, Table, Text
from ttastats.report.render import as_csv, as_markdown, as_table
from ttastats.report.row import Row

HOSTILE = '<script>alert(1)</script>|=cmd()\n"x"'


def report(name: str = HOSTILE) -> Report:
    columns = (
        Column("name"),
        Column("value", "right"),
        Column("first extra", "right", rank=1),
        Column("second extra", "right", rank=1),
        Column("verdict"),
    )
    cells = (
        Text(name),
        Quantity(1.5, "ratio"),
        Quantity(12.0, "seconds"),
        Quantity(0.5, "fraction"),
        Text("B faster", "good"),
    )
    keys = {"name": name, "value": 1.5, "inf": math.inf, "nan": math.nan, "none": None}
    notes = (Note("code", "a note of many words " * 5, "ᵉ"),)
    table = Table(columns, (Line(cells, ("why  because",)),), "title")
    return Report("test", (Row(keys=keys),), (table,), notes)


def shown(width: int | None, name: str = "name", **console: bool) -> str:
    stream = io.StringIO()
    as_table.print_report(
        report(name), Console(file=stream, width=width or 500, **console), width=width
    )
    return stream.getvalue()


def test_every_caution_is_a_code() -> None:
    known = {code for rows in codes.ROWS.values() for row in rows for code in row.codes.split()}
    assert set(codes.CAUTIONS) <= known | codes.TEXTS.keys()


def test_only_a_terminal_gets_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b[32mB faster" in shown(80, force_terminal=True)
    assert "\x1b" not in shown(80)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[32m" not in shown(80, force_terminal=True)


def test_markup_in_a_name_is_shown_and_does_nothing() -> None:
    assert "[bold red]x[/]" in shown(None, "[bold red]x[/]")
    markdown = as_markdown.render_markdown(report())
    assert "<script" not in markdown
    assert "\\|=cmd()" in markdown


def test_a_formula_in_a_cell_is_text() -> None:
    text = as_csv.render_csv(report("=cmd()"))
    assert list(csv.reader(io.StringIO(text)))[1][0] == "'=cmd()"
