"""A person who watches sees how far a long command is; a file or a pipe gets no bar."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from io import FileIO

import pytest

from tests.plotting import made
from ttastats import api
from ttastats.cli.output import progress
from ttastats.output.plots import kinds

pty = pytest.importorskip("pty", reason="a terminal is made with it")


def everything(watched: FileIO) -> str:
    """Return what a terminal showed until it was closed, which Linux tells by an error."""
    said = b""
    with suppress(OSError):
        while part := watched.read(10_000):
            said += part
    return said.decode()


def test_a_terminal_shows_what_share_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    main, side = pty.openpty()
    with os.fdopen(side, "w") as terminal, monkeypatch.context() as patched:
        patched.setattr(sys, "stderr", terminal)
        patched.setenv("TERM", "xterm")
        with progress("drawing plots") as on_progress:
            assert on_progress is not None
            on_progress(1, 4)
    with os.fdopen(main, "rb", buffering=0) as watched:
        said = everything(watched)
    assert "drawing plots" in said
    assert "25%" in said


def test_a_pipe_gets_none(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("drawing plots") as on_progress:
        assert on_progress is None
    assert capsys.readouterr().err == ""


def test_every_kind_of_plot_is_counted() -> None:
    told: list[tuple[int, int]] = []
    kinds.all_plots(api.material(made.leaders()), on_progress=lambda *one: told.append(one))
    assert [done for done, _ in told] == list(range(len(told)))
    assert {of for _, of in told} == {len(told)}
