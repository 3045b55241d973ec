"""Pages of the public logs: each is whole, small enough to mail, and drawn without messages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.page.made import draw_all, marks, opened
from tests.page.test_league import walk
from ttastats import api
from ttastats.ingestion.account import Account

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.browser, pytest.mark.real]

MOST_BYTES = 3_000_000


# v5.0 has no kind of plot that the others lack, and takes twenty seconds to draw.
@pytest.mark.parametrize(
    ("folders", "benchmark", "drawn"),
    [(("v0.5", "dawnbench"), "imagenet", True), (("v5.0",), "bert", False)],
)
def test_a_page_of_the_public_logs_is_whole_and_its_plots_are_drawn(
    browser: Browser,
    ingested_round: Callable[[str], Account],
    tmp_path: Path,
    folders: tuple[str, ...],
    benchmark: str,
    drawn: bool,
) -> None:
    table, out = tmp_path / "runs.parquet", tmp_path / "page.html"
    api.filter(*(ingested_round(name).output for name in folders), output=table)
    report = api.html_report(table, output=out)
    assert report.size < MOST_BYTES
    with opened(browser, out, width=1280) as page:
        figures = page.locator("figure[data-plot]").all()
        assert len(figures) == report.plots
        if drawn:
            draw_all(page)
            assert all(marks(figure) or figure.locator("canvas").count() for figure in figures)
        rows = api.summary(table).rows
        assert page.locator("table.report tbody").count() == len(rows)
        headings = page.locator("details.section h2").all_inner_texts()
        assert {str(row["benchmark"]) for row in rows if row["reached"]} <= set(headings)
        page.get_by_label("Benchmark", exact=True).select_option(benchmark)
        page.get_by_role("status").filter(has_text="Showing").wait_for()
        shown = page.locator("table.report tbody:not([hidden])").count()
        assert shown == sum(row["benchmark"] == benchmark for row in rows)
    with opened(browser, out, width=1280) as page:  # with no plot drawn, which each step would do
        walk(page, seed=1, steps=200)
