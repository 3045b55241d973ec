"""What stands in a page, and where it is written."""

from __future__ import annotations

import json
import re
from pathlib import Path

import polars as pl
import pytest

from tests.page.made import HOSTILE, data_of, frame, rows
from ttastats import api
from ttastats.base.errors import TtastatsError
from ttastats.output.page import document
from ttastats.output.plots import kinds
from ttastats.report.harmless import escape_invisible


def test_the_same_runs_give_the_same_bytes(sides: list[Path], compared: Path) -> None:
    page = api.html_report(*sides)
    assert page.html == compared.read_text("utf-8")
    assert re.search(r" plots, 0\.\d MB>$", repr(page))


def test_a_page_asks_nothing_of_any_other_place(compared: Path) -> None:
    text = compared.read_text("utf-8")
    policy = text.split('http-equiv="Content-Security-Policy" content="')[1].split('"')[0]
    assert "default-src &#x27;none&#x27;" in policy or "default-src 'none'" in policy
    assert "unsafe-eval" not in policy
    assert not re.search(r"(src|href)=[\"']?https?:", text)


def test_no_name_of_a_log_leaves_its_place(hostile: Path) -> None:
    text = hostile.read_text("utf-8").replace(document.page_script(), "")
    for name in HOSTILE[:6]:
        assert name not in text.replace("javascript:alert(4)", "")
    held = frame(data_of(hostile.read_text("utf-8"))["choices"])
    assert set(held.get_column("entry")) == set(map(escape_invisible, HOSTILE))


def test_no_name_of_two_sides_leaves_its_place() -> None:
    a = rows(["one"], runs=4, benchmarks=HOSTILE[:7])
    b = rows(["two"], runs=4, benchmarks=HOSTILE[:7], seed=1)
    report = api.html_report(a, b, labels=HOSTILE[:2], title=HOSTILE[4], command=HOSTILE[1])
    text = report.html.replace(document.page_script(), "")
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
    back = frame(json.loads(document.tables_json([table]))[0])
    known = table.with_columns(number=pl.Series([0.1, 1 / 3, None, None, None, 2.0]))
    assert back.to_dict(as_series=False) == known.to_dict(as_series=False)


def test_a_table_that_plots_share_is_there_once() -> None:
    a, b, c = pl.DataFrame({"x": [1]}), pl.DataFrame({"x": [1]}), pl.DataFrame({"x": [2]})
    tables, places = document.share_tables([{"runs": a}, {"runs": b, "all": a}, {"runs": c}])
    assert [table["x"][0] for table in tables] == [1, 1, 2]
    assert places == [{"runs": 0}, {"runs": 0, "all": 1}, {"runs": 2}]


def test_a_page_says_which_plots_it_leaves_out(monkeypatch: pytest.MonkeyPatch) -> None:
    table = rows(["one"], runs=4)
    assert "is omitted for more than" not in api.html_report(table).html
    monkeypatch.setitem(kinds._SLOW, kinds.variance.VARIANCE, 3)
    assert f"the plot `{kinds.variance.VARIANCE}` is omitted for more than 3 runs" in re.sub(
        r"</?code>", "`", api.html_report(table).html
    )


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
    assert [path.name for path in tmp_path.iterdir() if path != notes] == ["page.html"]


def contrast(a: str, b: str) -> float:
    """Return the contrast ratio of WCAG 2."""

    def luminance(colour: str) -> float:
        parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_every_text_has_the_contrast_of_wcag_aa() -> None:
    schemes = re.findall(r"--paper: .*?\}", document.package_file("page.css"), re.DOTALL)
    assert len(schemes) == 4  # light, dark by the system, dark by the button, print
    for scheme in schemes:
        colours = dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", scheme))
        for ink in ("ink", "soft", "accent", "good", "bad"):
            for paper in ("paper", "tint"):
                assert contrast(colours[ink], colours[paper]) >= 4.5, (ink, paper)
        assert contrast(colours["ink"], colours["mark"]) >= 4.5
