"""What stands in a page, and where it is written."""

from __future__ import annotations

import json
import re
from pathlib import Path

import polars as pl
import pytest
from msgspec.structs import replace

from tests.page.made import HOSTILE, data_of, frame, rows
from tests.plotting import test_profiled as made_profiles
from ttastats import api
from ttastats.base.errors import TtastatsError
from ttastats.output.page import content, embedded, facts, of_profiles
from ttastats.output.page.content import Content
from ttastats.output.plots import kinds
from ttastats.report.answer import Report
from ttastats.report.cells import Column, Line, Quantity, Reached, Table, Text
from ttastats.report.render import as_html
from ttastats.report.render.harmless import escape_invisible


def test_the_same_runs_give_the_same_bytes(sides: list[Path], compared: Path) -> None:
    assert api.html_report(*sides).html == compared.read_text("utf-8")


def test_a_page_asks_nothing_of_any_other_place(compared: Path) -> None:
    text = compared.read_text("utf-8")
    policy = text.split('http-equiv="Content-Security-Policy" content="')[1].split('"')[0]
    assert "default-src &#x27;none&#x27;" in policy or "default-src 'none'" in policy
    assert "unsafe-eval" not in policy
    assert not re.search(r"(src|href)=[\"']?https?:", text)


def test_no_name_of_a_log_leaves_its_place(hostile: Path) -> None:
    text = hostile.read_text("utf-8").replace(embedded.page_script(), "")
    for name in HOSTILE[:6]:
        assert name not in text.replace("javascript:alert(4)", "")
    held = frame(data_of(hostile.read_text("utf-8"))["choices"])
    assert set(held.get_column("entry")) == set(map(escape_invisible, HOSTILE))


def test_no_name_of_two_sides_leaves_its_place() -> None:
    a = rows(["one"], runs=4, benchmarks=HOSTILE[:7])
    b = rows(["two"], runs=4, benchmarks=HOSTILE[:7], seed=1)
    made = api.html_report(a, b, labels=HOSTILE[:2], title=HOSTILE[4], command=HOSTILE[1])
    text = made.html.replace(embedded.page_script(), "")
    for name in HOSTILE[:6]:
        assert name not in text.replace("javascript:alert(4)", "")
    assert "&lt;script&gt;alert(1)" in text


def test_columns_come_back_as_they_were() -> None:
    table = pl.DataFrame(
        {
            "name": ["a", "a", None, "b", "</script>", "a"],
            "number": [0.1, 1 / 3, None, float("nan"), float("inf"), 2.0],
            "count": [1, 2, 3, None, 5, 6],
            "claim": [True, None, False, True, True, False],
        }
    )
    back = frame(json.loads(embedded.tables_json([table]))[0])
    assert back.get_column("name").to_list() == table.get_column("name").to_list()
    assert back.get_column("number").to_list() == [0.1, 1 / 3, None, None, None, 2.0]
    assert back.get_column("count").to_list() == table.get_column("count").to_list()
    assert back.get_column("claim").to_list() == table.get_column("claim").to_list()


def test_a_table_that_plots_share_is_there_once() -> None:
    one, same, other = pl.DataFrame({"x": [1]}), pl.DataFrame({"x": [1]}), pl.DataFrame({"x": [2]})
    tables, places = embedded.share_tables(
        [{"runs": one}, {"runs": same, "all": one}, {"runs": other}]
    )
    assert [table["x"][0] for table in tables] == [1, 1, 2]
    assert places == [{"runs": 0}, {"runs": 0, "all": 1}, {"runs": 2}]


def test_the_head_tells_benchmarks_that_are_not_compared() -> None:
    a, b = (api.run_table(rows(["a"], benchmarks=names)) for names in ("xy", "xyz"))
    said = {fact.name: fact.text for fact in facts.page_facts([("a", a), ("b", b)], [])}
    assert said["Covers"].startswith("3 benchmarks, ")
    assert said["Covers"].endswith("; 1 benchmark on one side only")
    said = {fact.name: fact.text for fact in facts.page_facts([("a", a), ("b", a)], [])}
    assert "only" not in said["Covers"]


def test_the_head_counts_runs_benchmarks_and_blemishes() -> None:
    runs = api.run_table(rows(["a", "b"], benchmarks=("x", "y")))
    runs = runs.with_columns(
        problems=pl.when(pl.col("seed") == 0).then(pl.lit("[{}]")),
        content_digest=pl.lit("same"),
    )
    said = {fact.name: fact.text for fact in facts.page_facts([("runs", runs)], ["nodes>=8"])}
    assert said["Runs"] == "12 runs, 8 reached the target, 4 did not"
    assert said["Covers"] == "2 benchmarks, 2 systems, 2 entries"
    assert said["Started"] == "2026-01-01"
    assert said["Filtered by"] == "nodes>=8"
    assert said["Note"] == ("4 runs with problems, see `ttastats problems`; 11 duplicate runs")


def test_a_run_of_both_sides_is_chosen_once() -> None:
    runs = api.run_table(rows(["a"]))
    assert facts.available_choices([("A", runs), ("B", runs)]).get_column("runs").to_list() == [3]


def changed(seconds: float, *, steps: int = 2) -> Content:
    """Return the content of a page of a profile, and of one whose steps take some other time."""
    other = made_profiles.profile("other").filter(pl.col("step").fill_null(0) < steps)
    other = other.with_columns(pl.col("seconds", "value") * seconds)
    noise = (pl.lit(1) + pl.col("step").fill_null(0) / 1000).alias("noise")
    sides = [("a", made_profiles.profile("made")), ("b", other)]
    noisy = [
        (label, rows.with_columns(noise).with_columns(value=pl.col("value") * pl.col("noise")))
        for label, rows in sides
    ]
    return of_profiles.profiles_content([(label, rows.drop("noise")) for label, rows in noisy], [])


def test_a_page_of_profiles_says_whose_steps_are_shorter_and_where_each_goes() -> None:
    found = changed(0.5)
    assert [(one.about, one.word) for one in found.verdicts] == [
        ("other against made", "faster"), ("made", "what to do"),
        ("other", "what to do"),
    ]  # fmt: skip
    assert {(one.name, one.text) for one in found.facts} == {
        ("Steps", "made: 2; other: 2"), ("Device", "Abacus 3"), ("Precision", "fp32"),
    }  # fmt: skip
    assert found.report.tables[0].title.startswith("A = made   B = other")
    assert found.counted == "2 profiles"
    assert changed(2.0).verdicts[0].word == "slower"
    assert changed(1.0).verdicts[0].word == "undecided"
    assert changed(2.0, steps=1).verdicts[0].word == "not tested"


def test_of_more_profiles_than_colours_one_of_each_file_is_drawn() -> None:
    rows = [made_profiles.profile("made").with_columns(profile_id=pl.lit(str(n))) for n in range(8)]
    sides = [("a", pl.concat(rows[:4])), ("b", pl.concat(rows[4:]))]
    found = of_profiles.profiles_content(sides, [])
    assert found.counted == "8 profiles"
    assert found.report.notes[-1].text == "2 of 8 profiles are drawn, the first of each file."
    assert [one.data["step"]["bar"].unique(maintain_order=True).to_list()
            for one in found.plots if one.kind == "step"] == [["a", "b"]]  # fmt: skip
    assert found.verdicts[0].about == "b against a"


def test_of_many_rows_the_fastest_of_each_benchmark_are_shown_and_it_is_said() -> None:
    report = api.summary(rows([f"e{n:02}" for n in range(20)], benchmarks=("x", "y")), top=0)
    few = content.limit_rows(report, most=10)
    names = [(row.cells[0], row.cells[1]) for row in few.tables[0].rows]
    assert names[:2] == [(Text("x"), Text("e00")), (Text("x"), Text("e01"))]
    assert [name[0] for name in names] == [Text("x")] * 5 + [Text("y")] * 5
    assert few.notes[0].text.startswith("10 of 40 rows are shown, the fastest of each benchmark")
    assert len(few.rows) == 40
    assert content.limit_rows(report, most=40) is report


def test_a_page_says_which_plots_it_leaves_out(monkeypatch: pytest.MonkeyPatch) -> None:
    table = rows(["one"], runs=4)
    assert "is omitted for more than" not in api.html_report(table).html
    monkeypatch.setitem(kinds._SLOW, kinds.variance.KIND, 3)
    assert f"the plot `{kinds.variance.KIND}` is omitted for more than 3 runs" in re.sub(
        r"</?code>", "`", api.html_report(table).html
    )


def test_a_comparison_with_many_rows_shows_the_first() -> None:
    table = rows(["e"], benchmarks=tuple("abcdef"))
    report = api.compare(table, rows(["f"], benchmarks=tuple("abcdef"), seed=1))
    few = content.limit_rows(report, most=2)
    assert len(few.tables[0].rows) == 2
    assert "the first" in few.notes[0].text


def test_cells_are_html_and_say_their_number() -> None:
    table = Table(
        (Column("entry"), Column("TTA", "right"), Column("reached", "right")),
        (Line((Text("<b>", "good"), Quantity(90.0, "seconds"), Reached(1, 2)), ("why & how",)),),
        title="A < B",
    )
    text = as_html.render_html(Report("summary", (), (table,), (), "B & A."))
    assert '<th scope="row" data-tone="good">&lt;b&gt;</th>' in text
    assert '<td class="number" data-value="90.0">90.0 s</td>' in text
    assert '<td class="number" data-value="0.5">1/2</td>' in text
    assert '<td colspan="3">why &amp; how</td>' in text
    assert "<caption>A &lt; B</caption>" in text
    assert "B &amp; A." in text
    unknown = replace(table, rows=(Line((Text(""), Quantity(None), Reached(0, 0))),))
    assert as_html.render_html(Report("summary", (), (unknown,))).count('data-value=""') == 2


def test_an_input_is_not_written_over(sides: list[Path]) -> None:
    before = sides[0].read_bytes()
    with pytest.raises(TtastatsError, match="is an input; the output would overwrite it"):
        api.html_report(*sides, output=sides[0])
    assert sides[0].read_bytes() == before


def test_only_a_page_of_ours_is_replaced(tmp_path: Path, sides: list[Path]) -> None:
    notes = tmp_path / "notes.html"
    notes.write_text("mine")
    with pytest.raises(TtastatsError, match="already exists and is not a ttastats report"):
        api.html_report(sides[0], output=notes)
    assert notes.read_text() == "mine"
    page = tmp_path / "page.html"
    api.html_report(sides[0], output=page, title="first")
    api.html_report(sides[0], output=page, title="second")
    assert "<title>second</title>" in page.read_text("utf-8")
    assert [each.name for each in tmp_path.iterdir() if each != notes] == ["page.html"]


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of WCAG 2."""

    def luminance(colour: str) -> float:
        parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_every_text_has_the_contrast_of_wcag_aa() -> None:
    schemes = re.findall(r"--paper: .*?\}", embedded.package_file("page.css"), re.DOTALL)
    assert len(schemes) == 4  # light, dark by the system, dark by the button, print
    for scheme in schemes:
        colours = dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", scheme))
        for ink in ("ink", "soft", "accent", "good", "bad"):
            for paper in ("paper", "tint"):
                assert contrast(colours[ink], colours[paper]) >= 4.5, (ink, paper)
        assert contrast(colours["ink"], colours["mark"]) >= 4.5
