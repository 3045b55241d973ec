"""Which cautions there are, and when a screen has colour."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from ttastats.base import codes
from ttastats.report.answer import Report
from ttastats.report.cells import Column, Line, Table, Text
from ttastats.report.render import as_table


def shown(**console: bool) -> str:
    table = Table((Column("verdict"),), (Line((Text("B faster", "good"),)),))
    stream = io.StringIO()
    as_table.print_report(Report("test", (), (table,)), Console(file=stream, **console), width=80)
    return stream.getvalue()


def test_every_caution_is_a_code() -> None:
    known = {code for rows in codes.ROWS.values() for row in rows for code in row.codes.split()}
    assert set(codes.CAUTIONS) <= known | codes.TEXTS.keys()


def test_only_a_terminal_gets_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b[32mB faster" in shown(force_terminal=True)
    assert "\x1b" not in shown()
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[32m" not in shown(force_terminal=True)
