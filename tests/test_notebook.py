"""The example notebook runs, and answers show themselves in it as tables and plots."""

from __future__ import annotations

import os
import shutil
import sys
from typing import Any

import nbformat
import polars as pl
import pytest
from nbclient import NotebookClient

from tests.conftest import ROOT, matches_accepted
from tests.programs import PATIENCE, python
from ttastats import api

EXAMPLE = ROOT / "examples" / "notebook" / "two_systems.ipynb"


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return the example as it is after a run in a copy of its folders."""
    root = tmp_path_factory.mktemp("examples")
    shutil.copytree(ROOT / "examples" / "two_systems", root / "two_systems")
    folder = root / "notebook"
    folder.mkdir()
    book = nbformat.read(EXAMPLE, as_version=4)
    for cell in book.cells:
        cell.pop("outputs", None)
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
        resources = {"metadata": {"path": str(folder)}}
        limits = {"timeout": int(PATIENCE), "startup_timeout": int(PATIENCE)}
        NotebookClient(book, resources=resources, **limits).execute()
    return without_traces(book)


def without_traces(book: Any) -> Any:
    """Return a notebook without the traces of when, where and with which Python it ran."""
    book.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    for cell in book.cells:
        cell.metadata = {}
    return book


def outputs(book: Any, kind: str) -> list[str]:
    """Return the outputs of a notebook in one of their types."""
    every = [output for cell in book.cells for output in cell.get("outputs", ())]
    return [output.data[kind] for output in every if kind in output.get("data", {})]


def printed(book: Any) -> str:
    return "".join(
        output.text
        for cell in book.cells
        for output in cell.get("outputs", ())
        if output.output_type == "stream"
    )


class TestExample:
    def test_three_readers_of_the_file_and_the_summary_agree(self, executed: Any) -> None:
        assert "20 logs, 20 runs, 309 evaluations" in printed(executed)
        assert "Example/eight_gpus: 59.408 s; all four agree: True" in printed(executed)
        assert "Example/one_gpu: 121.013 s; all four agree: True" in printed(executed)

    def test_reports_and_plots_show_themselves(self, executed: Any) -> None:
        summary, comparison = reports(executed, "text/html")
        assert "9/10" in summary
        assert "1.741 [1.202, 2.523]" in comparison
        assert "is 1.74× faster than" in comparison
        assert len(reports(executed, "text/plain")) == 2
        assert len(outputs(executed, "text/html")) == 4  # two of them are of polars
        assert len(outputs(executed, "image/svg+xml")) == 2

    def test_the_example_shows_its_real_output(self, executed: Any) -> None:
        if os.environ.get("TTASTATS_ACCEPT"):
            assert matches_accepted(EXAMPLE, nbformat.writes(executed) + "\n")
        stored = nbformat.read(EXAMPLE, as_version=4)
        nbformat.validate(stored)
        assert printed(stored) == printed(executed)
        for ours in ("text/html", "text/plain"):  # plots differ in the last digits
            assert reports(stored, ours) == reports(executed, ours)
        assert len(outputs(stored, "image/svg+xml")) == 2

    def test_it_tells_nothing_of_the_machine_it_ran_on(self) -> None:
        text = EXAMPLE.read_text("utf-8")
        assert not [word for word in ("/home/", "/tmp/", "/Users/", str(ROOT)) if word in text]


def reports(book: Any, kind: str) -> list[str]:
    """Return the reports among the outputs of a notebook."""
    sign = {"text/html": '<table class="report">', "text/plain": " mlperf"}[kind]
    return [text for text in outputs(book, kind) if sign in text]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> pl.DataFrame:
    path = tmp_path_factory.mktemp("runs") / "runs.parquet"
    api.ingest([ROOT / "examples" / "two_systems" / "Example" / "results"], path)
    return api.run_table(path)


class TestDisplay:
    def test_names_from_logs_are_no_markup_there_either(self, runs: pl.DataFrame) -> None:
        hostile = runs.with_columns(entry=pl.lit("<script>alert(1)</script>\u202e"))
        html = api.summary(hostile)._repr_html_()
        assert "<script" not in html
        assert "&lt;script&gt;alert(1)&lt;/script&gt;\\u202e" in html

    def test_without_ipython_nothing_is_imported_for_it(self) -> None:
        code = "import sys, ttastats.api; print('IPython' in sys.modules)"
        process = python("-c", code)
        assert process.stdout.strip() == "False", process.stderr
