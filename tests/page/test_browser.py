"""What a reader meets who opens a report in a browser."""

from __future__ import annotations

import re
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.page.made import HOSTILE, data_of, draw_all, frame, marks, opened
from ttastats import api, units
from ttastats.pictures import theme

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

PAGES = ("compared", "many", "hostile")


@pytest.fixture(params=PAGES)
def page_file(request: pytest.FixtureRequest) -> Path:
    return request.getfixturevalue(request.param)  # type: ignore[no-any-return]


def figures(page: Page) -> list[Any]:
    return page.locator("figure[data-picture]").all()


def shown_rows(page: Page) -> int:
    return page.locator("table.report tbody:visible").count()


def by_kind(page: Page, kind: str) -> list[int]:
    return [marks(figure) for figure in page.locator(f'figure[data-kind="{kind}"]').all()]


def choose(page: Page, value: str, *, search: str = "") -> None:
    """Tick a value in the lists of the filter, and wait until the page says what is left."""
    if not page.locator("#filters[open]").count():
        page.locator("#filters summary").click()
    if search:
        page.get_by_label("Search entries").fill(search)
    page.locator("#filters label").filter(has_text=re.compile(f"^{re.escape(value)}")).last.click()
    page.get_by_role("status").filter(has_text="Showing").wait_for()


def test_every_picture_is_drawn_and_nothing_is_asked_of_the_network(
    browser: Browser, page_file: Path
) -> None:
    with opened(browser, page_file) as page:
        draw_all(page)
        drawn = figures(page)
        assert drawn
        for figure in drawn:
            assert marks(figure) > 0, figure.locator("h3").inner_text()
            assert figure.locator("figcaption").inner_text()


def test_the_verdict_comes_first_then_numbers_then_pictures(
    browser: Browser, compared: Path
) -> None:
    with opened(browser, compared) as page:
        headings = page.locator("h1, h2").all_inner_texts()
        assert headings[:4] == [
            "Is eight_gpus faster than one_gpu?", "Verdict", "Numbers", "digits",
        ]  # fmt: skip
        verdict = page.locator(".verdict").inner_text()
        assert "eight_gpus is 1.74× faster than one_gpu (95% CI 1.20 to 2.52×; p = .008)" in verdict
        assert page.locator("html").get_attribute("lang") == "en"


@pytest.mark.parametrize("name", ["compared", "hostile"])
def test_nothing_is_wider_than_the_window(
    browser: Browser, name: str, folder: Path, request: pytest.FixtureRequest
) -> None:
    page_file = request.getfixturevalue(name)
    for width in (375, 1600):
        with opened(browser, page_file, width=width) as page:
            draw_all(page)
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            for figure in figures(page):
                drawing = figure.locator(".drawing > * > *").first
                assert drawing.evaluate("one => one.scrollWidth") <= width
            page.screenshot(path=folder / f"{page_file.stem}-{width}.png", full_page=True)


def test_pictures_follow_the_width_of_the_window(browser: Browser, compared: Path) -> None:
    with opened(browser, compared, width=1600) as page:
        draw_all(page)
        wide = page.locator("figure svg.marks").first.bounding_box()
        assert wide is not None
        page.set_viewport_size({"width": 700, "height": 900})
        page.evaluate("scrollTo(0, 0)")
        # Drawn anew, not shrunk: the height stays.
        page.wait_for_function(
            """height => {
                const box = document.querySelector('figure svg.marks').getBoundingClientRect();
                return box.width < 700 && box.height > 0.9 * height;
            }""",
            arg=wide["height"],
        )


def test_a_choice_changes_pictures_and_table(browser: Browser, many: Path) -> None:
    with opened(browser, many) as page:
        draw_all(page)
        before = [marks(figure) for figure in figures(page)]
        assert shown_rows(page) == 60
        choose(page, "org/machine_07", search="machine_07")
        status = page.get_by_role("status").inner_text()
        assert "1 of 30 entries" in status
        assert "6 of 180 runs" in status
        assert "verdicts, notes and captions are about all runs" in status
        assert shown_rows(page) == 2
        draw_all(page)
        for figure in page.locator('figure[data-kind="tta"]').all():
            assert "Only what is chosen is drawn" in figure.inner_text()
        after = [marks(figure) for figure in figures(page)]
        assert all(few <= most for few, most in zip(after, before, strict=True))
        assert sum(after) < sum(before) / 4
        assert all(n > 0 for n in by_kind(page, "tta"))
        page.get_by_role("button", name="Show all").click()
        page.get_by_role("status").filter(has_text="Showing").wait_for(state="detached")
        draw_all(page)
        assert [marks(figure) for figure in figures(page)] == before
        assert shown_rows(page) == 60


def test_what_is_about_another_benchmark_is_hidden(browser: Browser, many: Path) -> None:
    with opened(browser, many) as page:
        draw_all(page)
        choose(page, "letters")
        assert page.locator("details.section:visible h2").all_inner_texts()[-1] == "letters"
        assert page.get_by_role("link", name="digits").is_hidden()
        assert len(page.locator(".verdict:visible").all()) == 1
        assert shown_rows(page) == 30


def test_what_a_picture_leaves_out_cannot_be_chosen_in_it(browser: Browser, crowded: Path) -> None:
    with opened(browser, crowded) as page:
        draw_all(page)
        choose(page, "org/machine_44", search="machine_44")
        draw_all(page)
        for kind in ("tta", "quality-time"):
            text = page.locator(f'figure[data-kind="{kind}"]').inner_text()
            assert "Nothing that is chosen is in this picture" in text
            assert "5 slower entries (10 runs) are not shown" in text


def test_a_choice_leaves_no_mean_over_more_and_no_empty_heading(
    browser: Browser, several: Path
) -> None:
    with opened(browser, several) as page:
        table = page.locator("table.report")
        assert "geo-mean of 2" in table.inner_text()
        choose(page, "digits")
        assert "geo-mean" not in table.inner_text()
        assert page.get_by_text("No verdict is about").is_hidden()
        choose(page, "digits")
        choose(page, "words")
        page.get_by_text("No verdict is about").wait_for(state="visible")


def test_numbers_beside_long_names_are_seen(browser: Browser, long_names: Path) -> None:
    with opened(browser, long_names, width=1600) as page:
        box = page.locator(".table-box").first
        assert box.evaluate("one => one.scrollWidth - one.clientWidth") <= 0


def test_a_record_over_time_shows_its_dates(browser: Browser, dated: Path) -> None:
    with opened(browser, dated) as page:
        draw_all(page)
        figure = page.locator('figure[data-kind="record"]')
        labels = figure.locator(".role-axis-label text").all_text_contents()
        assert {"Jan 2018", "Jan 2019"} & set(labels)
        dots = figure.locator(".mark-symbol.role-mark path").all()
        places = {round(box["x"]) for box in (dot.bounding_box() for dot in dots) if box}
        assert len(places) == 5


def test_filters_and_sorting_work_by_keyboard(browser: Browser, many: Path) -> None:
    with opened(browser, many) as page:
        box = page.locator("#filters input[type=checkbox]").first
        box.focus()
        page.keyboard.press("Space")
        page.get_by_role("status").filter(has_text="1 of 2").wait_for()
        assert shown_rows(page) == 30
        heading = page.locator("table.report thead button").filter(has_text="mean TTA")
        heading.focus()
        for order, first in (("ascending", "org/machine_00"), ("descending", "org/machine_29")):
            page.keyboard.press("Enter")
            assert page.locator("th[aria-sort]").get_attribute("aria-sort") == order
            assert first in page.locator("table.report tbody:visible").first.inner_text()


def test_a_point_tells_its_run(browser: Browser, sides: list[Path], compared: Path) -> None:
    times = {
        Path(row["source"]).name: units.seconds(row["tta_seconds"])
        for side in sides
        for row in api.runs(side).rows
        if row["reached"] and "one_gpu" in row["source"]
    }
    with opened(browser, compared) as page:
        draw_all(page)
        figure = page.locator('figure[data-kind="tta"]')
        figure.scroll_into_view_if_needed()
        dots = figure.locator(".mark-symbol.role-mark").last
        dots.locator("path").first.hover()
        told = page.locator("#hover").inner_text()
        name = next(name for name in times if name in told)
        assert times[name] in told
        page.keyboard.press("Escape")
        assert page.locator("#hover").is_hidden()


def test_the_page_is_dark_where_the_reader_is(browser: Browser, compared: Path) -> None:
    colours = []
    for scheme in ("light", "dark"):
        with opened(browser, compared, scheme=scheme) as page:
            draw_all(page)
            label = page.locator("figure .role-axis-label text").first
            colours.append(
                (page.evaluate("getComputedStyle(document.body).backgroundColor"),
                 label.get_attribute("fill"))
            )  # fmt: skip
    assert colours[0] == ("rgb(255, 255, 255)", theme.config()["axis"]["labelColor"])
    assert colours[1][1] == theme.config(dark=True)["axis"]["labelColor"]
    assert colours[0][0] != colours[1][0]


def test_a_button_changes_the_colours(browser: Browser, compared: Path) -> None:
    with opened(browser, compared) as page:
        draw_all(page)
        page.get_by_role("button", name="Dark").click()
        draw_all(page)
        page.locator('figure[data-drawn="dark"]').first.wait_for()
        assert page.get_by_role("button", name="Light").is_visible()


def test_all_pictures_are_printed_in_light_colours(
    browser: Browser, many: Path, folder: Path
) -> None:
    with opened(browser, many, scheme="dark") as page:
        closed = page.locator("details.section:not([open])")
        # Closed sections are printed too. A key finds its place however pictures push it about.
        page.locator("details.section > summary").last.press("Enter")
        closed.wait_for(state="attached")  # which is strict: there is one
        curves = curves_of(page.pdf(format="A4", path=folder / "many.pdf"))
        assert closed.count() == 1  # the reader goes on where he was
        draw_all_open(page)
        closed.locator("> summary").press("Enter")
        draw_all(page)
        symbols = page.locator("figure .mark-symbol > path").count()
        page.evaluate("for (const one of document.querySelectorAll('figure')) one.remove()")
        assert symbols > 300
        assert curves - curves_of(page.pdf(format="A4")) > symbols


def draw_all_open(page: Page) -> None:
    page.locator('[open] figure[data-drawn="dark"]').first.wait_for()


def curves_of(pdf: bytes) -> int:
    """Count the curves in a PDF; a dot has four."""
    streams = re.findall(rb"stream\r?\n(.*?)\r?\nendstream", pdf, re.DOTALL)
    found = 0
    for stream in streams:
        try:
            found += len(re.findall(rb" c\s", zlib.decompress(stream)))
        except zlib.error:
            continue
    return found


def test_without_javascript_verdict_and_numbers_can_be_read(
    browser: Browser, compared: Path
) -> None:
    with opened(browser, compared, java_script_enabled=False) as page:
        assert page.locator(".verdict").is_visible()
        assert page.locator("table.report").is_visible()
        page.get_by_text("which does not run here").wait_for(state="visible")
        assert not page.locator("#filters").is_visible()


def test_names_do_nothing_but_show(browser: Browser, hostile: Path) -> None:
    with opened(browser, hostile) as page:
        draw_all(page)
        assert page.locator("h1").inner_text() == HOSTILE[1]
        shown = page.locator("table.report").inner_text()
        assert all(name in shown for name in HOSTILE[:7])
        assert "right\\u202eto left\\u2028next\\x1b[31mred\\tand\\nlines" in shown
        for figure in page.locator('figure[data-kind="tta"]').all():
            for mark in figure.locator(".mark-symbol path").all()[:6]:
                mark.hover(force=True)
        for box in page.locator("#filters input[type=checkbox]").all():
            box.check()
        page.wait_for_timeout(150)
        assert page.locator("body script").count() == 3
        assert (
            page.locator("main img, main [onmouseover], main [onload], a[href^=java]").count() == 0
        )


def test_a_name_that_must_be_spelled_can_be_chosen(browser: Browser, hostile: Path) -> None:
    with opened(browser, hostile) as page:
        choose(page, "right\\u202eto left")
        assert shown_rows(page) == 1


def test_what_is_shown_is_what_the_commands_print(
    browser: Browser, sides: list[Path], compared: Path, summarised: Path
) -> None:
    (row,) = api.compare(*sides).rows
    with opened(browser, compared) as page:
        assert numbers(page)[0][1:3] == [row["tta_a_seconds"], row["tta_b_seconds"]]
        assert numbers(page)[0][4:6] == [row["speedup"], row["p_adjusted"]]
        assert "[1.202, 2.523]" in page.locator("table.report").inner_text()
    rows = api.summary(sides).rows
    with opened(browser, summarised) as page:
        found = numbers(page)
        names = ("tta_mean_seconds", "cv", "epochs_mean", "epoch_seconds_mean", "ert_seconds")
        for cells, row in zip(found, rows, strict=True):
            assert cells[2] == row["reached"] / row["n"]
            assert cells[3:] == [row[name] for name in names]


def numbers(page: Page) -> list[list[float | None]]:
    """Give the numbers that stand behind the cells of the table."""
    read = "body => [...body.rows[0].cells].map(one => one.dataset.value ?? null)"
    bodies = page.locator("table.report tbody").all()
    return [[float(value) if value else None for value in body.evaluate(read)] for body in bodies]


def test_the_data_of_the_pictures_are_the_runs(sides: list[Path], summarised: Path) -> None:
    runs = {row["source"]: row for row in api.runs(sides).rows}
    tables = [frame(table) for table in data_of(summarised.read_text("utf-8"))["tables"]]
    of_runs = [table for table in tables if {"source", "tta_seconds"} <= set(table.columns)]
    assert of_runs
    for table in of_runs:
        assert table.height == len(runs)
        for row in table.iter_rows(named=True):
            known = next(runs[source] for source in runs if source.endswith(row["source"]))
            for name in ("tta_seconds", "seed", "reached", "value_final"):
                assert row[name] == known[name]


def test_the_rows_behind_a_picture_can_be_read(browser: Browser, many: Path) -> None:
    with opened(browser, many) as page:
        figure = page.locator('figure[data-kind="tta"]').first
        figure.scroll_into_view_if_needed()
        figure.locator(".tools summary").click()
        assert "90 rows" in figure.locator(".rows caption").first.inner_text()
        choose(page, "org/machine_07", search="machine_07")
        figure.locator(".rows caption").filter(has_text="3 rows").wait_for()


def test_a_picture_can_be_saved(browser: Browser, compared: Path, tmp_path: Path) -> None:
    with opened(browser, compared, accept_downloads=True) as page:
        draw_all(page)
        with page.expect_download() as saved:
            page.get_by_role("button", name="Save as SVG").first.click()
        saved.value.save_as(tmp_path / "saved.svg")
        assert (tmp_path / "saved.svg").read_text("utf-8").startswith("<svg")
