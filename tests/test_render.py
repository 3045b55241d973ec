"""How reports look: units, narrow screens, and names that are data and never markup."""

from __future__ import annotations

import csv
import io
import json
import math

import pytest
from rich.console import Console

from tests.accepted import in_full
from ttastats.base import codes, units
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
    assert words.cell_text(cell) == text


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


def test_columns_that_find_no_room_stand_below_their_row() -> None:
    wide, narrow = shown(None).splitlines(), shown(40).splitlines()
    assert "first extra" in wide[1]
    assert "first extra" not in narrow[1]
    assert "first extra 12.0 s · second extra 50.0%" in " ".join("".join(narrow).split())
    assert max(len(line) for line in narrow) <= 40


def test_lines_without_a_width_stay_whole() -> None:
    text = in_full(report())
    assert any(line.count("a note of many words") == 5 for line in text.splitlines())


def noted(*codes: str) -> str:
    """Return what is printed of notes of these codes, each of them long, and of a sentence."""
    notes = tuple(Note(code, f"{code} {'is so because of this ' * 20}") for code in codes)
    return as_table.render_text(Report("test", (), report().tables, notes, "What it comes to."))


def test_what_it_comes_to_stands_first_and_the_worst_three_notes_in_two_lines_each() -> None:
    codes = ("holm", "copies", "unsteady", "one_run", "runs_vary", "pooled_setups")
    lines = noted(*codes).splitlines()
    assert lines[0] == " What it comes to."
    worst = [number for number, line in enumerate(lines) if line.startswith(" ! ")]
    words = ("everal setups pooled", "etups differ within a side", "ne run only")
    assert len(worst) == 3
    for number, word, code in zip(worst, words, ("pooled_setups", "runs_vary", "one_run"),
                                  strict=True):  # fmt: skip
        assert word in lines[number] or code in lines[number]
    assert len(lines) - worst[0] <= 7
    assert lines[-1].startswith(" + 3 more: ")
    assert lines[-1].endswith(" (-v shows all)")
    assert all(len(line) <= as_table.WIDTH for line in lines)


def test_with_v_every_note_is_printed_in_full() -> None:
    notes = tuple(Note("unsteady", f"note {number} " * 40) for number in range(9))
    text = in_full(Report("test", (), report().tables, notes))
    assert [text.count(f"note {number}") for number in range(9)] == [40] * 9


def test_a_definition_is_no_caution() -> None:
    assert " ! " not in noted("holm", "definitions")
    assert "+ 2 more: holm, definitions" in noted("holm", "definitions")


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


def test_json_has_no_number_that_is_none() -> None:
    (row,) = json.loads(as_json.render_json(report()))["rows"]
    assert (row["inf"], row["nan"], row["none"]) == ("inf", None, None)
    assert row["name"] == HOSTILE
