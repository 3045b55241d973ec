"""A person who watches sees how far a long command is; a file or a pipe gets no bar."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.plotting import made
from ttastats import api
from ttastats.cli.progress import progress
from ttastats.plotting import kinds

pty = pytest.importorskip("pty", reason="a terminal is made with it")

EXAMPLE = """
from ttastats import api
from ttastats.cli.progress import progress
with progress("drawing plots") as on_progress:
    on_progress(1, 4)
"""


def test_a_terminal_shows_what_share_is_done() -> None:
    main, side = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-c", EXAMPLE], stderr=side, timeout=60, check=True, capture_output=False
    )
    os.close(side)
    said = os.read(main, 10_000).decode()
    os.close(main)
    assert done.returncode == 0
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
