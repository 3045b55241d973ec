"""A terminal shows the progress of a long command; a file or a pipe gets none."""

from __future__ import annotations

import io
import sys

import pytest

from tests.plotting import made
from ttastats import api
from ttastats.cli.output import progress
from ttastats.output.plots import kinds


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_what_share_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", terminal)
    with progress("drawing plots") as on_progress:
        assert on_progress is not None
        on_progress(1, 4)
    assert "drawing plots" in terminal.getvalue()
    assert "25%" in terminal.getvalue()


def test_a_pipe_gets_none(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("drawing plots") as on_progress:
        assert on_progress is None
    assert capsys.readouterr().err == ""


def test_every_kind_of_plot_is_counted() -> None:
    calls: list[tuple[int, int]] = []
    kinds.all_plots(api.material(made.leaders()), on_progress=lambda *call: calls.append(call))
    assert [number for number, _ in calls] == list(range(len(calls)))
    assert {of for _, of in calls} == {len(calls)}
