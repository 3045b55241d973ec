"""What plots and pages are in a notebook, at a prompt and as files."""

from __future__ import annotations

from pathlib import Path

import pytest

import ttastats as tta
from tests.conftest import ROOT
from tests.test_cli import run

LOGS = ROOT / "examples" / "two_systems" / "Example" / "results" / "one_gpu"


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("shown") / "a.parquet"
    assert run("ingest", LOGS, "-o", path).returncode == 0
    return path


def test_plots_show_themselves_and_are_saved(table: Path, tmp_path: Path) -> None:
    drawn = tta.plot("tta", table)
    assert repr(drawn) == "<Plot tta: Time-to-accuracy: digits>"
    assert drawn._repr_html_().count("<svg") == 1
    drawn[0].save(tmp_path / "one.svg", width=320)
    assert (tmp_path / "one.svg").read_text("utf-8").startswith("<svg")
    drawn.save(tmp_path / "all.html")
    assert "<html" in (tmp_path / "all.html").read_text("utf-8")
    with pytest.raises(tta.TtastatsError, match="has no supported plot format"):
        drawn[0].save(tmp_path / "one.doc")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["all.html", "one.svg"]


def test_a_page_shows_itself_in_a_frame_that_keeps_to_itself(table: Path) -> None:
    page = tta.html_report(table)
    assert repr(page).startswith("<Page: 10 runs, ")
    frame = page._repr_html_()
    assert frame.count("<") == 2
    assert 'sandbox="allow-scripts"' in frame
