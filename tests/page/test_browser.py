"""What a reader of a report in a browser sees and can do."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.page.made import HOSTILE, data_of, draw_all, frame, marks, opened
from tests.plotting.test_hostile_names import METRICS, hostile_profile, of_all_kinds, sources
from ttastats import api
from ttastats.base import units
from ttastats.output.plots import drawing, theme
from ttastats.report import as_csv

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

PAGES = ("compared_page", "many_page", "hostile_page", "profiled_page")


def kept_open(name: str, of: str, *, drawn: bool = False, **more: Any) -> Any:
    """Return a fixture: a page that is opened once, for tests that leave it as it was."""

    @pytest.fixture(scope="module", name=name)
    def build(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Page]:
        with opened(browser, request.getfixturevalue(of), **more) as page:
            if drawn:
                draw_all(page)
            yield page

    return build


def unchosen(name: str, of: str) -> Any:
    """Return a fixture: a page that is kept open, with nothing chosen before and after."""

    @pytest.fixture(name=name)
    def build(request: pytest.FixtureRequest) -> Iterator[Page]:
        page = request.getfixturevalue(of)
        yield page
        show_all(page)

    return build


compared_page = kept_open("compared_page", "compared", drawn=True, width=1600)
profiled_page = kept_open("profiled_page", "profiled")
open_hostile = kept_open("open_hostile", "hostile", width=1600)
open_many = kept_open("open_many", "many")
hostile_page, many_page = (
    unchosen("hostile_page", "open_hostile"),
    unchosen("many_page", "open_many"),
)


def figures(page: Page) -> list[Any]:
    return page.locator("figure[data-plot]").all()


def shown_rows(page: Page) -> int:
    return page.locator("table.report tbody:not([hidden])").count()


def by_kind(page: Page, kind: str) -> list[int]:
    return [marks(figure) for figure in page.locator(f'figure[data-kind="{kind}"]').all()]


def open_numbers(page: Page) -> None:
    page.evaluate("document.getElementById('numbers').open = true")


def choose(page: Page, value: str) -> None:
    """Choose the value in the bar that so begins, and wait until the page says what is left."""
    begins = re.compile(f"^{re.escape(value)}")
    field = page.locator("#bar select").filter(has=page.locator("option", has_text=begins)).last
    field.select_option(label=field.locator("option").filter(has_text=begins).first.text_content())
    page.get_by_role("status").filter(has_text="Showing").wait_for()


def show_all(page: Page) -> None:
    """Clear every filter, and wait until the page no longer says what is left."""
    if page.get_by_role("button", name="Show all").is_visible():
        page.get_by_role("button", name="Show all").press("Enter")
    page.get_by_role("status").filter(has_text="Showing").wait_for(state="detached")


@pytest.mark.parametrize("name", PAGES)
def test_every_plot_is_drawn_and_nothing_is_asked_of_the_network(
    name: str, request: pytest.FixtureRequest
) -> None:
    page = request.getfixturevalue(name)
    draw_all(page)
    drawn = figures(page)
    assert drawn
    for figure in drawn:
        assert marks(figure) > 0, figure.locator("h3").inner_text()
        assert figure.locator("figcaption").inner_text()


def test_the_answer_comes_first_then_the_figure_then_the_benchmarks(compared_page: Page) -> None:
    headings = compared_page.locator("h1, h2").all_inner_texts()
    verdict, *others = headings
    assert others == ["digits", "All numbers"]
    assert verdict.startswith("Faster with conditions: eight_gpus (8 accelerators) is 1.74× faster")
    assert "to accuracy ≥ 0.97 on digits, if no further run fails or straggles (else " in verdict
    behind = compared_page.locator("header .behind").inner_text()
    assert behind.startswith("95% CI 1.20 to 2.52×; p = .008; 10 runs against 10")
    verdict = compared_page.locator(".verdict").inner_text()
    assert "eight_gpus (8 accelerators) is 1.74× faster than one_gpu (1 accelerator)" in verdict
    assert compared_page.locator("html").get_attribute("lang") == "en"


def outside(page: Page) -> list[str]:
    """Return the words of the figure shown that reach beyond its edges."""
    return page.evaluate("""() => {
        const svg = [...document.querySelectorAll('#figure svg')].find(
            (one) => one.getBoundingClientRect().width);
        const {width} = svg.viewBox.baseVal;
        return [...svg.querySelectorAll('text')]
            .filter((one) => one.getBBox().x < -0.5
                || one.getBBox().x + one.getBBox().width > width + 0.5)
            .map((one) => one.textContent);
    }""")  # type: ignore[no-any-return]


def overlapping(page: Page) -> list[list[str]]:
    """Return the pairs of words of the figure shown that overlap."""
    return page.evaluate("""() => {
        const svg = [...document.querySelectorAll('#figure svg')].find(
            (one) => one.getBoundingClientRect().width);
        const boxes = [...svg.querySelectorAll('text')].map(
            (one) => [one.textContent, one.getBoundingClientRect()]);
        return boxes.flatMap(([a, one], place) => boxes.slice(place + 1)
            .filter(([, other]) => one.left < other.right - 1 && other.left < one.right - 1
                && one.top < other.bottom - 5 && other.top < one.bottom - 5)
            .map(([b]) => [a, b]));
    }""")  # type: ignore[no-any-return]


@pytest.mark.parametrize("script_runs", [True, False])
def test_the_figure_is_there_with_its_words_whole(
    browser: Browser, long_compared: Path, *, script_runs: bool
) -> None:
    for width in (375, 1024):
        with opened(browser, long_compared, width=width, java_script_enabled=script_runs) as page:
            shown = page.locator("#figure svg:visible")
            assert shown.count() == 1
            assert len(page.locator("h1").inner_text()) < 200
            words = "".join(shown.all_text_contents())
            assert "~ undecided" in words
            assert "time-to-accuracy of every run (log)" in words
            if script_runs:
                assert outside(page) == []
                assert overlapping(page) == []
                assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_open_sections_and_filters_stand_in_the_address(browser: Browser, several: Path) -> None:
    with opened(browser, several) as page:
        page.locator("#figure svg:visible a").filter(has_text="letters").click()
        assert page.locator("details.section[open] h2").all_inner_texts() == ["letters"]
        choose(page, "letters")
        page.wait_for_function("() => location.hash.includes('benchmark=letters')")
        fragment = page.evaluate("location.hash")
    with opened(browser, several, fragment=fragment) as page:
        page.get_by_role("status").filter(has_text="1 of 3 benchmarks").wait_for()
        assert page.locator("details.section[open] h2").all_inner_texts() == ["letters"]
        assert page.locator("#figure svg:visible g.out").count() == 1
        page.get_by_role("button", name="Show all").press("Enter")
        page.wait_for_function("() => !location.hash.includes('benchmark=')")


def test_a_benchmark_shows_three_plots_and_the_others_on_demand(
    browser: Browser, several: Path
) -> None:
    with opened(browser, several) as page:
        section = page.locator("details.section[data-benchmark]").first
        assert page.evaluate("typeof vegaEmbed") == "undefined"  # read when a section is opened
        section.locator("> summary").press("Enter")
        kinds = section.locator("figure:visible")
        kinds.nth(2).wait_for()
        assert [kind.get_attribute("data-kind") for kind in kinds.all()] == [
            "quality-time", "tta", "targets",
        ]  # fmt: skip
        section.locator(".more > summary").press("Enter")  # plots that appear move it
        section.locator('figure[data-kind="solved"]').wait_for(state="visible")


def test_the_figure_can_be_copied_as_an_image(browser: Browser, compared: Path) -> None:
    rights = ["clipboard-read", "clipboard-write"]
    with opened(browser, compared, permissions=rights) as page:
        page.get_by_role("button", name="Copy figure").press("Enter")
        page.get_by_role("button", name="Copied").wait_for()
        size = page.evaluate("""async () => {
            const [item] = await navigator.clipboard.read();
            const image = await createImageBitmap(await item.getType('image/png'));
            return [image.width, image.height];
        }""")
        box = page.locator("#figure svg:visible").evaluate("one => one.viewBox.baseVal.width")
        assert size[0] == 2 * box


def test_the_rows_can_be_saved_without_a_program(
    browser: Browser, compared: Path, sides: list[Path], tmp_path: Path
) -> None:
    with opened(browser, compared, java_script_enabled=False, accept_downloads=True) as page:
        with page.expect_download() as saved:
            page.get_by_role("link", name="CSV").press("Enter")
        saved.value.save_as(tmp_path / "rows.csv")
    assert (tmp_path / "rows.csv").read_text("utf-8") == as_csv.render_csv(
        api.compare(*sides, labels=["one_gpu", "eight_gpus"])
    )


def test_sixteen_rows_are_printed_on_one_page(browser: Browser, sixteen: Path) -> None:
    with opened(browser, sixteen) as page:
        assert pages_of(page.pdf(prefer_css_page_size=True)) == 1


def test_a_comparison_is_printed_on_one_page(browser: Browser, several: Path) -> None:
    with opened(browser, several, scheme="dark") as page:
        assert pages_of(page.pdf(format="A4")) == 1
        page.locator("details.section[data-benchmark] > summary").first.press("Enter")
        assert pages_of(page.pdf(format="A4")) > 1


#: Marks what holds text in sight, and gives of what was marked the text that is so no more.
IN_SIGHT = """mark => [...document.querySelectorAll(mark ? '*' : '[data-seen]')].filter((one) => {
    const text = [...one.childNodes].filter((node) => node.nodeType === 3 && node.data.trim());
    const isSeen = text.length && one.checkVisibility() && one.getBoundingClientRect().width > 1;
    if (mark && isSeen) one.dataset.seen = 1;
    return !mark && !isSeen && !one.closest(
        'aside, #bar, #scheme, .skip, .saves, .tools, footer, details:not([open]) > summary');
}).map((one) => one.textContent)"""


@pytest.mark.parametrize("name", ["several", "many"])
def test_what_is_open_is_printed(
    browser: Browser, name: str, request: pytest.FixtureRequest
) -> None:
    with opened(browser, request.getfixturevalue(name)) as page:
        draw_all(page)
        for league in page.locator(".league:visible:not([open]) summary").all():
            league.click()
        if page.get_by_label("Mark your own").is_visible():
            page.get_by_label("Mark your own").fill("machine")
            page.locator("#mine").filter(has_text="Ranks").wait_for()
        page.evaluate(IN_SIGHT, True)
        page.emulate_media(media="print")
        assert page.evaluate(IN_SIGHT, False) == []


def pages_of(pdf: bytes) -> int:
    return len(re.findall(rb"/Type /Page\b", pdf))


def expect_no_wider(page: Page, width: int) -> None:
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for figure in figures(page):
        drawing = figure.locator(".drawing > * > *").first
        assert drawing.evaluate("one => one.scrollWidth") <= width


def test_nothing_is_wider_than_a_wide_window(compared_page: Page) -> None:
    draw_all(compared_page)
    expect_no_wider(compared_page, 1600)


@pytest.mark.parametrize("name", ["hostile", "long_names", "dated"])
def test_nothing_is_wider_than_a_telephone_nor_a_word_of_a_plot_cut(
    browser: Browser, name: str, request: pytest.FixtureRequest
) -> None:
    with opened(browser, request.getfixturevalue(name), width=375) as page:
        draw_all(page)
        expect_no_wider(page, 375)
        assert not page.evaluate("""() => [...document.querySelectorAll('svg.marks text')]
            .filter((one) => {
                const word = one.getBoundingClientRect();
                const whole = one.closest('svg').getBoundingClientRect();
                return word.width && (word.left < whole.left - 1 || word.right > whole.right + 1);
            }).map((one) => one.textContent)""")


def test_plots_follow_the_width_of_the_window(compared_page: Page) -> None:
    wide = compared_page.locator("figure svg.marks").first.bounding_box()
    assert wide is not None
    for width, is_drawn in ((700, "box.width < 700"), (1600, "box.width > 700")):
        compared_page.set_viewport_size({"width": width, "height": 900})
        compared_page.evaluate("scrollTo(0, 0)")
        # Drawn anew, not shrunk: the height stays.
        compared_page.wait_for_function(
            f"""height => {{
                const box = document.querySelector('figure svg.marks').getBoundingClientRect();
                return {is_drawn} && box.height > 0.9 * height;
            }}""",
            arg=wide["height"],
        )
    draw_all(compared_page)


def test_a_choice_changes_plots_and_table(many_page: Page) -> None:
    draw_all(many_page)
    before = [marks(figure) for figure in figures(many_page)]
    assert shown_rows(many_page) == 60
    choose(many_page, "org/machine_07")
    status = many_page.get_by_role("status").inner_text()
    assert "1 of 30 entries" in status
    assert "6 of 180 runs" in status
    assert "verdicts, notes and captions describe all runs" in status
    assert shown_rows(many_page) == 2
    draw_all(many_page)
    for figure in many_page.locator('figure[data-kind="quality-time"]').all():
        assert "Filtered; the caption describes all runs" in figure.inner_text()
    after = [marks(figure) for figure in figures(many_page)]
    assert all(few <= most for few, most in zip(after, before, strict=True))
    assert sum(after) < sum(before) / 4
    assert all(n > 0 for n in by_kind(many_page, "quality-time"))
    show_all(many_page)
    draw_all(many_page)
    assert [marks(figure) for figure in figures(many_page)] == before
    assert shown_rows(many_page) == 60


def test_sections_of_other_benchmarks_are_hidden(many_page: Page) -> None:
    choose(many_page, "letters")
    headings = many_page.locator("details.section:visible h2").all_inner_texts()
    assert headings[-2:] == ["letters", "All numbers"]
    assert many_page.get_by_role("link", name="digits").is_hidden()
    assert shown_rows(many_page) == 30


def test_what_a_plot_omits_cannot_be_chosen(browser: Browser, crowded: Path) -> None:
    with opened(browser, crowded) as page:
        draw_all(page)
        choose(page, "org/machine_44")
        draw_all(page)
        for kind in ("quality-time", "quality-epochs"):
            text = page.locator(f'figure[data-kind="{kind}"]').inner_text()
            assert "No data match the filter. The caption describes all runs" in text
            assert "5 further entries (10 runs) are not shown" in text


def test_a_choice_leaves_no_mean_over_more_and_dims_the_other_rows(
    browser: Browser, several: Path
) -> None:
    with opened(browser, several) as page:
        page.locator("#numbers > summary").press("Enter")
        table = page.locator("table.report")
        assert "geo-mean of 2" in table.inner_text()
        choose(page, "digits")
        assert "geo-mean" not in table.inner_text()
        (dimmed,) = page.locator("#figure svg:visible g.out").all_text_contents()
        assert "letters" in dimmed


def test_numbers_beside_long_names_are_seen(browser: Browser, long_names: Path) -> None:
    with opened(browser, long_names, width=1600) as page:
        page.locator("#numbers > summary").press("Enter")
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


def test_filters_and_sorting_work_by_keyboard(many_page: Page) -> None:
    open_numbers(many_page)
    many_page.locator("#bar select").first.focus()
    many_page.keyboard.press("ArrowDown")
    many_page.get_by_role("status").filter(has_text="1 of 2").wait_for()
    assert shown_rows(many_page) == 30
    heading = many_page.locator("table.report thead button").filter(has_text="mean TTA")
    heading.focus()
    for order, first in (("ascending", "org/machine_00"), ("descending", "org/machine_29")):
        many_page.keyboard.press("Enter")
        assert many_page.locator("th[aria-sort]").get_attribute("aria-sort") == order
        assert first in many_page.locator("table.report tbody:visible").first.inner_text()


def test_a_point_tells_its_run(sides: list[Path], compared_page: Page) -> None:
    times = {
        Path(row["source"]).name: units.seconds(row["tta_seconds"])
        for side in sides
        for row in api.runs(side).rows
        if row["reached"] and "one_gpu" in row["source"]
    }
    figure = compared_page.locator('figure[data-kind="tta"]')
    figure.scroll_into_view_if_needed()
    dots = figure.locator(".mark-symbol.role-mark").nth(-2)  # the last are of failed runs
    dots.locator("path").first.hover()
    text = compared_page.locator("#hover").inner_text()
    name = next(name for name in times if name in text)
    assert times[name] in text
    compared_page.keyboard.press("Escape")
    assert compared_page.locator("#hover").is_hidden()


def test_the_mark_near_the_pointer_answers(compared_page: Page) -> None:
    figure = compared_page.locator('figure[data-kind="quality-time"]')
    figure.scroll_into_view_if_needed()
    place = figure.locator(".mark-line path").first.evaluate("""line => {
        const half = line.getPointAtLength(line.getTotalLength() / 2);
        const on = new DOMPoint(half.x, half.y).matrixTransform(line.getScreenCTM());
        // Beside the line, where no mark lies.
        for (let step = 2; step < 6; step += 0.5) {
            for (const [x, y] of [[on.x, on.y - step], [on.x, on.y + step]]) {
                if (!document.elementFromPoint(x, y).matches('.mark-line *, .mark-symbol *')) {
                    return [x, y];
                }
            }
        }
    }""")
    # What is told goes away when the page scrolls, of which a page hears a frame later.
    compared_page.evaluate("new Promise((ready) => setTimeout(requestAnimationFrame, 50, ready))")
    compared_page.mouse.move(*place)
    label = compared_page.locator("#hover")
    assert "result_" in label.inner_text()
    compared_page.mouse.move(place[0], 1)
    assert label.is_hidden()


def test_an_anomaly_leads_to_its_mark(browser: Browser, anomalous: Path) -> None:
    with opened(browser, anomalous) as page:
        page.locator("#anomalies > summary").press("Enter")
        texts = page.locator("#anomalies li").all_inner_texts()
        assert texts == [
            "These runs: b: 100 s between two evaluations, 40.0 s and 2.33 min "
            "after the start; 10.0 s is usual.",
            "These runs: b: 21.25 s per epoch; the median of 6 runs is 10.04.",
            "These runs: 1 entry has runs that all took the same number of "
            "epochs, so the variation is unknown.",
        ]
        page.locator("#anomalies a").first.click()
        page.locator("#hover:visible").wait_for()
        figure = page.locator('figure[data-kind="quality-time"]')
        assert page.url.endswith("section-0") or figure.is_visible()
        assert re.search(r"log\s+b\b", page.locator("#hover").inner_text())


def test_a_tap_opens_what_is_behind_a_mark(browser: Browser, compared: Path) -> None:
    with opened(browser, compared, width=375, has_touch=True) as page:
        draw_all(page)
        figure = page.locator('figure[data-kind="tta"]')
        figure.scroll_into_view_if_needed()
        box = figure.locator(".mark-symbol.role-mark path").last.bounding_box()
        assert box is not None
        page.touchscreen.tap(box["x"] + 7, box["y"] + 7)  # fingers are broad
        assert "result_" in page.locator("#hover").inner_text()
        page.touchscreen.tap(5, box["y"] - 200)
        assert page.locator("#hover").is_hidden()


def colours(page: Page) -> tuple[str, str | None]:
    """Return the colour behind the page, and that of the words of a plot."""
    label = page.locator("figure .role-axis-label text").first
    behind = page.evaluate("getComputedStyle(document.body).backgroundColor")
    return behind, label.get_attribute("fill")


def test_the_page_is_dark_where_the_reader_is(
    browser: Browser, compared: Path, compared_page: Page
) -> None:
    light = colours(compared_page)
    assert light == ("rgb(255, 255, 255)", theme.theme_config()["axis"]["labelColor"])
    with opened(browser, compared, scheme="dark") as page:
        draw_all(page)
        dark = colours(page)
    assert dark[1] == theme.theme_config(dark=True)["axis"]["labelColor"]
    assert dark[0] != light[0]


def test_a_button_changes_the_colours(compared_page: Page) -> None:
    for scheme, other in (("dark", "light"), ("light", "dark")):
        compared_page.get_by_role("button", name=scheme.title()).press("Enter")
        draw_all(compared_page)
        compared_page.locator(f'figure[data-drawn="{scheme}"]').first.wait_for()
        assert compared_page.get_by_role("button", name=other.title()).is_visible()


def test_open_sections_are_printed_in_light_colours(browser: Browser, compared: Path) -> None:
    with opened(browser, compared, scheme="dark") as page:
        draw_all(page)
        symbols = page.locator("figure .mark-symbol > path").count()
        curves = curves_of(page.pdf(format="A4"))
        page.locator('figure[data-drawn="dark"]').first.wait_for()  # the reader goes on as before
        page.evaluate("for (const one of document.querySelectorAll('.section')) one.open = false")
        assert symbols > 30
        assert curves - curves_of(page.pdf(format="A4")) > symbols / 2  # not all are round


def curves_of(pdf: bytes) -> int:
    """Count the curves in a PDF; a dot has four."""
    streams = re.findall(rb"stream\r?\n(.*?)\r?\nendstream", pdf, re.DOTALL)
    count = 0
    for stream in streams:
        try:
            count += len(re.findall(rb" c\s", zlib.decompress(stream)))
        except zlib.error:
            continue
    return count


def test_without_javascript_verdict_and_numbers_can_be_read(
    browser: Browser, compared: Path
) -> None:
    with opened(browser, compared, java_script_enabled=False) as page:
        assert page.locator("h1").is_visible()
        page.locator("#numbers > summary").press("Enter")
        assert page.locator("table.report").is_visible()
        page.get_by_text("need JavaScript").wait_for(state="visible")
        assert not page.locator("#bar").is_visible()
        assert page.locator(".verdict").is_visible()  # the one section stands open
        assert not page.locator("figcaption:visible").count()  # of plots that are not drawn


def test_names_stand_on_the_left_in_a_notebook(browser: Browser, sides: list[Path]) -> None:
    style = ".jp-RenderedHTMLCommon :is(td, th) { text-align: right }"  # as Jupyter has it
    shown = api.summary(sides)._repr_html_()
    page = browser.new_page()
    page.set_content(f'<style>{style}</style><div class="jp-RenderedHTMLCommon">{shown}</div>')
    cells = page.locator("table.report :is(thead, tbody) tr:first-child > *").all()
    read = "one => [one.matches('.number'), getComputedStyle(one).textAlign] + ''"
    aligned = {cell.evaluate(read) for cell in cells}
    page.close()
    assert aligned == {"true,right", "false,left"}


def test_names_do_nothing_but_show(hostile_page: Page) -> None:
    draw_all(hostile_page)
    assert hostile_page.locator("header .title").inner_text() == HOSTILE[1]
    shown = hostile_page.locator("table.report").inner_text()
    assert all(name in shown for name in HOSTILE[:7])
    assert "right\\u202eto left\\u2028next\\x1b[31mred\\tand\\nlines" in shown
    for figure in hostile_page.locator('figure[data-kind="quality-time"]').all():
        for mark in figure.locator(".mark-symbol path").all()[:6]:
            mark.scroll_into_view_if_needed()
            box = mark.bounding_box()
            assert box is not None
            hostile_page.mouse.move(box["x"], box["y"])
    for name in hostile_page.locator("#bar option:enabled").all_text_contents():
        if not name.startswith("all "):
            choose(hostile_page, name)
            hostile_page.get_by_role("button", name="Show all").press("Enter")
    assert hostile_page.locator("body script").count() == 4
    assert (
        hostile_page.locator("main img, main [onmouseover], main [onload], a[href^=java]").count()
        == 0
    )


def test_hostile_plots_are_drawn_in_a_file(browser: Browser, tmp_path: Path) -> None:
    # What a kind makes of names is tried as an SVG, by the same program: here it is the file.
    every = [plot for kind in ("tta", "quality-time", "history") for plot in of_all_kinds()[kind]]
    tables, more = sources("targets", METRICS[3])
    every += [*api.plot("targets", *tables, **more)]
    every += api.plot_profiles("step", hostile_profile(tmp_path))
    (tmp_path / "all.html").write_text(drawing.render_html(every), "utf-8")
    with opened(browser, tmp_path / "all.html") as page:
        for number, plot in enumerate(every):
            figure = page.locator("figure").nth(number)
            figure.locator("svg").wait_for()
            assert marks(figure) > 1, plot.title
        assert page.locator("figure").count() == len(every)
        assert page.locator("body script").count() == 2


def test_a_name_that_must_be_spelled_can_be_chosen(hostile_page: Page) -> None:
    choose(hostile_page, "right\\u202eto left")
    assert shown_rows(hostile_page) == 1


def test_what_is_shown_is_what_the_commands_print(
    browser: Browser, sides: list[Path], compared_page: Page, summarised: Path
) -> None:
    (row,) = api.compare(*sides).rows
    (shown,) = numbers(compared_page)
    assert shown[1:3] == [row["tta_a_seconds"], row["tta_b_seconds"]]
    assert shown[4:6] == [row["speedup"], row["p_adjusted"]]
    assert "[1.202, 2.523]" in compared_page.locator("table.report").inner_text()
    rows = api.summary(sides).rows
    with opened(browser, summarised) as page:
        cells_of = numbers(page)
        names = ("tta_mean_seconds", "cv", "epochs_mean", "epoch_seconds_mean", "ert_seconds")
        for cells, row in zip(cells_of, rows, strict=True):
            assert cells[2] == row["reached"] / row["n"]
            assert cells[3:] == [row[name] for name in names]


def numbers(page: Page) -> list[list[float | None]]:
    """Return the numbers that stand behind the cells of the table."""
    read = "body => [...body.rows[0].cells].map(one => one.dataset.value ?? null)"
    bodies = page.locator("table.report tbody").all()
    return [[float(value) if value else None for value in body.evaluate(read)] for body in bodies]


def test_the_data_of_the_plots_are_the_runs(sides: list[Path], summarised: Path) -> None:
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


def test_the_rows_behind_a_plot_can_be_read(many_page: Page) -> None:
    draw_all(many_page)
    figure = many_page.locator('figure[data-kind="quality-time"]').first
    figure.scroll_into_view_if_needed()
    figure.locator(".tools summary").press("Enter")
    figure.locator(".rows caption").filter(has_text="90 rows").wait_for()
    choose(many_page, "org/machine_07")
    figure.locator(".rows caption").filter(has_text="3 rows").wait_for()
    titles = set(figure.locator(".rows th").all_inner_texts())
    assert "shown as" in titles
    assert not titles & {"series", "colour", "order"}
    cells = figure.locator(".rows td").all_inner_texts()
    assert not [cell for cell in cells if re.fullmatch(r"\d*\.\d{7,}", cell)]


def test_a_plot_can_be_saved(compared_page: Page, tmp_path: Path) -> None:
    with compared_page.expect_download() as saved:
        compared_page.get_by_role("button", name="Save as SVG").first.press("Enter")
    saved.value.save_as(tmp_path / "saved.svg")
    assert (tmp_path / "saved.svg").read_text("utf-8").startswith("<svg")


# ------------------------------------------------------------------------------- accessibility

#: Plots are looked at once: the contrast of each of their words takes long.
WITHOUT_PLOTS = "{exclude: [['.drawing']]}"


def findings(page: Page, where: str = WITHOUT_PLOTS) -> list[str]:
    """Return the findings of axe-core, with the first place of each."""
    spec = find_spec("axe_playwright_python")
    if spec is None or spec.origin is None:
        pytest.skip("axe-playwright-python is not installed")
    page.evaluate(Path(spec.origin).with_name("axe.min.js").read_text("utf-8") + "; 0")
    return page.evaluate(f"""async () => {{
        const how = {{preload: false, resultTypes: ['violations']}};
        const {{violations}} = await axe.run({where}, how);
        return violations.filter(({{impact}}) => ['serious', 'critical'].includes(impact))
            .map(({{id, nodes}}) => `${{id}}: ${{nodes[0].html}}`);
    }}""")  # type: ignore[no-any-return]


@pytest.mark.parametrize(("name", "width", "scheme"), [
    ("several", 375, "dark"), ("profiled", 1600, "light"),
])  # fmt: skip
def test_everybody_can_read_a_page(
    browser: Browser, name: str, width: int, scheme: str, request: pytest.FixtureRequest
) -> None:
    path = request.getfixturevalue(name)
    with opened(browser, path, width=width, scheme=scheme, bypass_csp=True) as page:
        page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
        assert findings(page) == []


def test_plots_have_names(browser: Browser, profiled: Path) -> None:
    with opened(browser, profiled, bypass_csp=True) as page:
        draw_all(page)
        assert findings(page, "'.drawing'") == []
