"""How reports look: units, narrow screens, and names that are data and never markup."""

from __future__ import annotations

import csv
import io
import json
import math

import pytest
from rich.console import Console

from ttastats.base import units
from ttastats.base.note import Note
from ttastats.report.answer import Report
from ttastats.report.cells import Column, Line, PValue, Quantity, Reached, Table, Text
from ttastats.report.render import as_csv, as_json, as_markdown, as_table, words
from ttastats.report.row import Row


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0 s"),
        (0.0042, "4.20 ms"),
        (24.6, "24.6 s"),
        (119.4, "119 s"),
        (122.0, "2.03 min"),
        (4440.2, "74.0 min"),
        (8070.0, "2.24 h"),
        (622_035.0, "7.20 d"),
        (math.inf, "∞"),
    ],
)
def test_durations_are_said_in_the_unit_a_person_would_use(seconds: float, text: str) -> None:
    assert units.seconds(seconds) == text


@pytest.mark.parametrize(
    ("fraction", "text"),
    [(0.0019, "0.19%"), (0.137, "13.7%"), (1.03, "103%"), (0.0, "0.0%"), (-0.027, "-2.7%")],
)
def test_fractions_are_said_in_percent(fraction: float, text: str) -> None:
    assert units.percent(fraction) == text


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (Quantity(None, "seconds"), "–"),
        (Quantity(4440.0, "seconds", spread=0.002), "74.0 min ±0.20%"),
        (Quantity(53.6, "count", spread=4.18, spread_is_std=True), "53.6 ±4.2"),
        (Quantity(1.057, "ratio", 1.054, 1.06, mark="ᵉ"), "1.057 [1.054, 1.060]ᵉ"),
        (Quantity(0.146, "fraction", 0.077, 0.275), "14.6% [7.7, 27.5]"),
        (Quantity(1112.64, "dollars"), "$1,112.64"),
        (PValue(0.0652), ".065"),
        (PValue(0.0), "<.001"),
        (PValue(1.0), "1"),
        (PValue(None), "–"),
        (Reached(4, 5), "4/5"),
    ],
)
def test_a_cell_is_written_as_people_read_it(cell: Quantity, text: str) -> None:
    assert words.cell(cell) == text


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
    as_table.render(report(name), Console(file=stream, width=width or 500, **console), width=width)
    return stream.getvalue()


def test_columns_that_find_no_room_stand_below_their_row() -> None:
    wide, narrow = shown(None).splitlines(), shown(40).splitlines()
    assert "first extra" in wide[1]
    assert "first extra" not in narrow[1]
    assert "first extra 12.0 s · second extra 50.0%" in " ".join("".join(narrow).split())
    assert max(len(line) for line in narrow) <= 40


def test_a_pipe_gets_whole_lines() -> None:
    assert any(line.count("a note of many words") == 5 for line in shown(None).splitlines())


def test_only_a_terminal_gets_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b[32mB faster" in shown(80, force_terminal=True)
    assert "\x1b" not in shown(80)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[32m" not in shown(80, force_terminal=True)


def test_markup_in_a_name_is_shown_and_does_nothing() -> None:
    assert "[bold red]x[/]" in shown(None, "[bold red]x[/]")
    markdown = as_markdown.render(report())
    assert "<script" not in markdown
    assert "\\|=cmd()" in markdown


def test_a_formula_in_a_cell_is_text() -> None:
    text = as_csv.render(report("=cmd()"))
    assert list(csv.reader(io.StringIO(text)))[1][0] == "'=cmd()"


def test_json_has_no_number_that_is_none() -> None:
    (row,) = json.loads(as_json.render(report()))["rows"]
    assert (row["inf"], row["nan"], row["none"]) == ("inf", None, None)
    assert row["name"] == HOSTILE
