"""The page of a summary in a browser: leagues, their filter, and marked entries."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

from tests.page.made import HOSTILE, draw_all, opened, rows
from tests.page.test_browser import pages_of
from ttastats import api
from ttastats.base import units

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    """Return entries of three submitters on 8 and on 16 accelerators; on letters only 8."""
    eight = rows([f"s{n % 3}/machine_{n}" for n in range(6)], runs=5)
    sixteen = rows([f"s{n}/pod" for n in range(2)], runs=4, seed=1)
    other = rows(["s0/machine_0"], runs=4, benchmarks=("letters",), seed=2)
    sizes = ((eight, 8), (sixteen, 16), (other, 8))
    result = pl.concat(
        part.with_columns(accelerators=pl.lit(size, pl.Int64), hardware=pl.lit(f"Of M{size} 80GB"))
        for part, size in sizes
    )
    return result.with_columns(submitter=pl.col("entry").str.split("/").list.first())


@pytest.fixture(scope="module")
def ranked(folder: Path, table: pl.DataFrame) -> Path:
    """Return the page of that table."""
    path = folder / "ranked.html"
    api.html_report(table, output=path)
    return path


@pytest.fixture
def page(browser: Browser, ranked: Path) -> Iterator[Page]:
    """Yield that page in a browser."""
    with opened(browser, ranked) as page:
        yield page


def shown(page: Page) -> list[str]:
    """Return the headings of the leagues that are open."""
    return page.locator(".league[open]:visible h2").all_inner_texts()


def own_names(page: Page) -> list[str]:
    return page.locator(".league:visible tr.mine .e b").all_text_contents()


def test_the_largest_league_of_the_first_benchmark_is_shown_with_its_numbers(
    page: Page, table: pl.DataFrame
) -> None:
    assert shown(page) == ["digits, 8 accelerators"]
    head = page.locator("h1").inner_text()
    text = "8 entries with 9 results on 2 benchmarks: none of 2 size classes has a clear winner."
    assert head == f"To accuracy ≥ 0.9: {text}"
    rows = [row for row in api.summary(table).rows if "machine" in row["entry"]]
    rows = sorted(
        (row for row in rows if row["benchmark"] == "digits"), key=lambda x: x["ert_seconds"]
    )
    lines = page.locator(".league[open] tbody tr").all()
    assert len(lines) == len(rows) == 6
    for rank, (line, row) in enumerate(zip(lines, rows, strict=True), 1):
        cells = line.locator("td, th").all_inner_texts()
        assert cells[0] == str(rank)
        assert cells[2].split("\n")[0].strip() == row["entry"]
        assert "8× M8" in cells[2]
        assert cells[4].startswith(units.seconds(row["ert_seconds"]))
        assert cells[4].endswith(f"{row['reached']}/{row['n']} reached")
        assert cells[5] == units.significant(8 * row["ert_seconds"] / 3600)
        assert line.locator(".dot").get_attribute("d").count("M") == row["reached"]  # type: ignore[union-attr]
        assert line.locator(".x").count() == row["n"] - row["reached"]
    words = page.locator(".league[open] .tied").inner_text()
    assert "by Holm over 15 pairs" in words


def test_brackets_stand_beside_the_ranks_that_the_words_name(page: Page) -> None:
    words = page.locator(".league[open] .tied").inner_text()
    match = re.search(r"told apart: ([^(]+)", words)
    assert match is not None
    spans = [re.split(r" to | and ", text.strip()) for text in match[1].split(";")]
    rows = page.locator(".league[open] tbody tr").all()
    begins = [n for n, row in enumerate(rows, 1) if row.locator(".t .from").count()]
    ends = [n for n, row in enumerate(rows, 1) if row.locator(".t .to").count()]
    assert begins == sorted({int(first) for first, _ in spans})
    assert ends == sorted({int(last) for _, last in spans})


def listed(page: Page) -> list[str]:
    """Return the headings of the leagues in the list."""
    return page.locator(".league:visible h2").all_inner_texts()


def select(page: Page, name: str) -> Locator:
    return page.get_by_label(name, exact=True)


def test_the_bar_chooses_leagues_numbers_and_sections_and_stands_in_the_address(
    browser: Browser, ranked: Path, page: Page
) -> None:
    assert listed(page) == ["digits, 8 accelerators", "letters, 8 accelerators"]
    select(page, "Benchmark").select_option("digits")
    assert listed(page) == ["digits, 8 accelerators", "digits, 16 accelerators"]
    select(page, "Accelerators").select_option("16")
    assert shown(page) == listed(page) == ["digits, 16 accelerators"]
    assert page.evaluate("location.hash") == "#benchmark=digits&accelerators=16"
    closed = select(page, "Benchmark").locator("option:disabled").all_inner_texts()
    assert closed == ["letters"]
    page.get_by_role("button", name="Show all").press("Enter")
    select(page, "Benchmark").select_option("letters")
    assert shown(page) == ["letters, 8 accelerators"]
    assert page.locator("details.section:visible h2").all_inner_texts() == [
        "letters",
        "All numbers",
    ]
    fragment = page.evaluate("location.hash")
    with opened(browser, ranked, fragment=fragment) as again:
        assert shown(again) == ["letters, 8 accelerators"]
        assert select(again, "Benchmark").locator("option:checked").inner_text() == "letters"


def test_a_league_that_the_reader_opens_stays_open(page: Page) -> None:
    page.locator(".league summary").last.press("Enter")
    assert shown(page) == ["digits, 8 accelerators", "letters, 8 accelerators"]
    page.get_by_label("Mark your own").fill("s1")
    page.locator("#mine").filter(has_text="Ranks of the marked").wait_for()
    assert shown(page) == ["digits, 8 accelerators", "letters, 8 accelerators"]


def test_pointer_and_keyboard_tell_the_time_of_every_run(page: Page, table: pl.DataFrame) -> None:
    runs = [row for row in api.runs(table).rows if row["benchmark"] == "digits"]
    times: dict[str, list[str]] = {}
    for row in runs:
        time = units.seconds(row["tta_seconds"] if row["reached"] else row["run_seconds"])
        text = time if row["reached"] else f"failed at {time}"
        times.setdefault(row["entry"], []).append(text)
    for line in page.locator(".league[open] tbody tr").all():
        strip = line.locator(".strip[data-runs]")
        strip.focus()
        name, words = page.locator("#hover").inner_text().split("\t")
        assert sorted(words.split(", ")) == sorted(times[name])
        box = strip.bounding_box()
        assert box is not None
        told = (text.split(" ", 1) for text in strip.get_attribute("data-runs").split(";"))  # type: ignore[union-attr]
        for share, time in [*told][:2]:
            page.mouse.move(box["x"] + float(share) * box["width"], box["y"] + 11)
            assert page.locator("#hover").inner_text().startswith(name)
            assert time.split(" ")[-1] in page.locator("#hover").inner_text()


def test_ones_own_has_one_colour_in_leagues_numbers_and_plots(
    browser: Browser, ranked: Path, page: Page
) -> None:
    page.get_by_label("Mark your own").fill("s1")
    page.locator("#mine").filter(has_text="Ranks of the marked").wait_for()
    assert own_names(page) == ["s1/machine_1", "s1/machine_4"]
    text = page.locator("#mine").inner_text()
    assert text == "Ranks of the marked: digits on 8: 2, 5 of 6 · digits on 16: 2 of 2"
    marked = page.locator("table.report .mine th:nth-child(2), table.report .mine td:nth-child(2)")
    assert set(marked.all_text_contents()) == {"s1/machine_1", "s1/machine_4", "s1/pod"}
    draw_all(page)
    colour = page.evaluate(
        "getComputedStyle(document.documentElement).getPropertyValue('--mine')"
    ).strip()
    lines = page.locator('figure[data-kind="quality-time"]').first.locator(f'[stroke="{colour}"]')
    assert lines.count() >= 10
    words = page.locator('figure[data-kind="quality-time"] .whole').first.inner_text()
    assert words == "What is marked is in colour, all others are grey."
    page.get_by_role("button", name="digits on 16").click()
    assert shown(page) == ["digits, 16 accelerators"]
    assert select(page, "Accelerators").locator("option:checked").inner_text() == "16"
    fragment = page.evaluate("location.hash")
    assert "pin=s1" in fragment
    with opened(browser, ranked, fragment=fragment) as again:
        assert own_names(again) == ["s1/pod"]
        again.get_by_label("Mark your own").fill("nobody")
        again.get_by_text("No entry of “nobody”.").wait_for()
        assert own_names(again) == []


def test_a_click_on_a_name_marks_it_and_another_lets_it_go(page: Page) -> None:
    row = page.locator(".league[open] th.e").filter(has_text="s2/machine_2")
    row.click()
    assert own_names(page) == ["s2/machine_2"]
    assert page.get_by_label("Mark your own").input_value() == "s2/machine_2"
    row.click()
    assert own_names(page) == []
    assert page.evaluate("location.hash") in {"", "#"}


def test_a_submitter_leaves_its_rows_of_the_league(page: Page) -> None:
    assert page.locator("#bar select").evaluate_all("all => all.map((one) => one.name)") == [
        "benchmark", "accelerators", "submitter",
    ]  # fmt: skip
    select(page, "Submitter").select_option("s2")
    page.get_by_role("status").filter(has_text="Showing").wait_for()
    visible = page.locator(".league[open] tbody tr:visible .e b").all_text_contents()
    assert visible == ["s2/machine_2", "s2/machine_5"]
    assert page.evaluate("location.hash") == "#submitter=s2"


def walk(page: Page, seed: int, steps: int) -> None:
    """Take random steps in the bar; after each, ranking, numbers, sections and selects agree."""
    draw = random.Random(seed)
    selects = page.locator("#bar select").all()
    for _ in range(steps):
        if draw.random() < 0.2 and page.get_by_role("button", name="Show all").is_visible():
            page.get_by_role("button", name="Show all").press("Enter")
        elif draw.random() < 0.1:
            page.get_by_label("Mark your own").fill(draw.choice(["s", "1", "no such", ""]))
        else:
            field = draw.choice(selects)
            values = field.locator("option:enabled").evaluate_all("all => all.map((x) => x.index)")
            field.select_option(index=draw.choice(values))
        agree(page)


def agree(page: Page) -> None:
    """Expect that all parts of the page show what the selects say."""
    state = page.evaluate("""() => {
        const seen = (all) =>
            [...document.querySelectorAll(all)].filter((x) => x.checkVisibility());
        const isEmpty = (x) => !x.querySelector('tbody tr:not([hidden])');
        const rows = [...document.querySelectorAll('#numbers tbody')].filter((x) => !x.hidden);
        const chosen = [...document.querySelectorAll('#bar select')].filter((x) => x.value);
        return {
            chosen: Object.fromEntries(chosen.map((x) => [x.name, x.selectedOptions[0].label])),
            leagues: seen('.league h2').map((x) => x.textContent),
            open: seen('.league[open] h2').length,
            empty: seen('.league[open]').filter(isEmpty).length,
            rows: rows.map((x) => x.rows[0].textContent),
            sections: seen('details.section[data-benchmark]').map((x) => x.dataset.benchmark),
            status: document.getElementById('shown').textContent,
        };
    }""")
    chosen = state["chosen"]
    assert state["leagues"], "what can be chosen leaves entries"
    assert state["open"] >= 1
    assert state["empty"] == 0
    assert state["rows"]
    assert bool(chosen) == state["status"].startswith("Showing")
    if benchmark := chosen.get("benchmark"):
        assert all(benchmark in re.split("[ ,]", name) for name in state["leagues"])
        assert state["sections"] == [benchmark]
        assert all(benchmark in row for row in state["rows"])
    if size := chosen.get("accelerators"):
        sizes = [name.replace(",", "") for name in state["leagues"] if "accelerator" in name]
        assert all(f" {size} accelerator" in name for name in sizes)  # others are mixed
    if submitter := chosen.get("submitter"):
        rows = [row for row in state["rows"] if "dawnbench" not in row]  # named by no submitter
        assert all(submitter in row for row in rows)


@pytest.mark.parametrize("seed", range(2))
def test_ranking_numbers_and_selects_agree_after_every_step(page: Page, seed: int) -> None:
    walk(page, seed, 40)


@pytest.mark.parametrize("script_runs", [True, False])
def test_a_league_is_there_at_every_width_without_a_program_too(
    browser: Browser, ranked: Path, *, script_runs: bool
) -> None:
    for width in (375, 1024, 1600):
        with opened(browser, ranked, width=width, java_script_enabled=script_runs) as page:
            assert page.locator(".league[open] .strip .dot").count() == 6
            assert page.locator(".league[open] tbody .e b:visible").count() == 6
            if script_runs:
                assert page.evaluate("document.documentElement.scrollWidth") <= width
            else:
                closed = page.locator(".league:not([open]) summary").all_inner_texts()
                assert [line.replace("\n", " ") for line in closed] == [
                    "digits, 16 accelerators 2 entries", "letters, 8 accelerators 1 entry",
                ]  # fmt: skip
                page.locator(".league summary").last.press("Enter")
                assert "s0/machine_0 takes" in page.locator(".league .claim").last.inner_text()


def test_the_league_that_is_shown_is_printed_on_one_page(browser: Browser, ranked: Path) -> None:
    with opened(browser, ranked, scheme="dark") as page:
        assert pages_of(page.pdf(prefer_css_page_size=True)) == 1


def test_a_league_of_thirty_is_printed_on_one_page(browser: Browser, thirty: Path) -> None:
    with opened(browser, thirty) as page:
        assert page.locator(".league[open] tbody tr").count() == 30
        assert pages_of(page.pdf(prefer_css_page_size=True)) == 1


def test_names_in_a_league_do_nothing_but_show(browser: Browser, hostile: Path) -> None:
    with opened(browser, hostile) as page:
        names = page.locator(".league[open] tbody .e b").all_inner_texts()
        assert (
            sorted(names)[:2] == sorted(name.replace("\u202e", "\\u202e") for name in HOSTILE)[:2]
        )
        assert len(set(names)) == len(HOSTILE)
        page.locator(".league[open] .e").nth(1).click()
        page.get_by_label("Mark your own").fill(HOSTILE[0])
        page.locator("#mine").filter(has_text="Ranks of the marked").wait_for()
        assert own_names(page) == [HOSTILE[0]]
        assert page.locator("main img, main [onmouseover], main [onload]").count() == 0


def test_long_names_stay_apart_and_within_the_window(browser: Browser, long_names: Path) -> None:
    for width in (375, 1024):
        with opened(browser, long_names, width=width) as page:
            names = page.locator(".league[open] tbody .e b").all_inner_texts()
            assert len(set(names)) == 2
            assert max(map(len, names)) <= 64
            assert page.evaluate("document.documentElement.scrollWidth") <= width
