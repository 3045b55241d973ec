"""Names from data only show in a plot: no expression, no markup, nothing that ends a renderer."""

from __future__ import annotations

import functools
import itertools
import json
import re
import sys
from collections.abc import Sequence
from html import unescape
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import polars as pl
import pytest

from tests.conftest import ROOT
from tests.plotting import made
from tests.plotting.test_profiled import profile
from tests.programs import call
from ttastats import api
from ttastats.base.errors import TtastatsError
from ttastats.output.plots import drawing, kinds, quality, renderer, targets
from ttastats.output.plots.plot import Plot
from ttastats.report.harmless import escape_invisible
from ttastats.traces.table import write_profile

NAMES = (
    "a\x07b", "acc $\\uparrow$", "\\xi", '\\"', "it's", "two\nlines", "`${1+1}`", "__proto__",
    "constructor", "null", " ", "\"quotes'", "ends in \\", "datum.x", "a.b[c]", "x']", "\\u0041",
    "{{x}}", "\u202efdp", "\uffff", "<script>&lt;</script>", "]]>", "مرحبا", "👩\u200d👩\u200d👧",
)  # fmt: skip
#: Names that could end a string of an expression, or that JavaScript has a meaning for.
METRICS = ("a\x07b", "acc $\\uparrow$", "\\xi", '\\"', "it's", "two\nlines", "toString", "x\\")
#: Kinds with a metric as the title of an axis.
TITLED = (quality.TIME, quality.EPOCHS, targets.KIND)
ALL = " ".join(NAMES)


def named(rows: pl.DataFrame, name: str = ALL, entries: Sequence[str] = NAMES) -> pl.DataFrame:
    """Return a table of runs with hostile names; names that differed still differ."""
    old = rows["entry"].unique(maintain_order=True).to_list()
    spread = {entry: entries[n % len(entries)] + entry[-1] for n, entry in enumerate(old)}
    return rows.with_columns(
        pl.col("entry").replace(spread),
        pl.col("benchmark") + name,
        **{column: pl.lit(name) for column in ("metric", "submitter", "hardware", "round")},
    )


def sources(kind: str, name: str = ALL) -> tuple[list[pl.DataFrame], dict[str, Any]]:
    tables = made.sources(kind)
    if kind in {"tta", "solved", "variance", quality.TIME, quality.EPOCHS}:
        every = [made.rows(made.FAST, entry=f"lab/{n:02}") for n in range(len(NAMES))]
        tables = [pl.concat(every)]
    labels = {"labels": [f"{name}1", f"{name}2"]} if len(tables) > 1 else {}
    return [named(table, name) for table in tables], labels


@functools.cache
def of_all_kinds() -> dict[str, tuple[Plot, ...]]:
    """Return the plots of every kind of runs."""
    plots = {}
    for kind in kinds.KINDS:
        tables, more = sources(kind)
        plots[kind] = tuple(api.plot(kind, *tables, **more))
    return plots


def hostile_profile(folder: Path) -> Path:
    rows = profile(ALL).with_columns(
        operator=pl.when(pl.col("operator").is_not_null()).then(pl.col("operator") + ALL),
        text=pl.when(pl.col("text") == "Abacus 3").then(pl.lit(ALL)).otherwise("text"),
    )
    write_profile(rows, folder / "p.parquet")
    return folder / "p.parquet"


#: What an SVG draws that is neither an axis, nor a legend, nor the frame.
_MARKS = re.compile(r'<g class="mark-(?:symbol|line|rect|area|rule|trail) role-mark[^>]*>(.*?)</g>')


def expect_drawn(plot: Plot, *, title: bool = True) -> str:
    drawn = plot.to_svg(title=title)
    ElementTree.fromstring(drawn)
    assert sum(mark.count("<path") + mark.count("<line") for mark in _MARKS.findall(drawn)) > 1
    assert "<script" not in drawn
    return drawn


@pytest.mark.parametrize("kind", kinds.KINDS)
def test_every_kind_is_drawn_as_xml(kind: str) -> None:
    plots = of_all_kinds()[kind]
    assert plots
    for plot in plots:
        expect_drawn(plot)
        assert plot.title.isprintable()
        assert plot.caption.isprintable()


def test_each_name_is_shown_as_it_is_spelled() -> None:
    (plot,) = of_all_kinds()["tta"]
    shown = " ".join(unescape(text) for text in re.findall(r"<text[^>]*>([^<]*)<", plot.to_svg()))
    # Spaces are one, and folders that all names have are left out.
    names = [escape_invisible(" ".join(name.split())).rsplit("/", maxsplit=1)[-1] for name in NAMES]
    assert [name for name in names if name not in shown] == []


def test_a_page_of_plots_holds_names_as_data() -> None:
    page = drawing.render_html(of_all_kinds()["tta"])
    assert page.count("</script>") == 2
    assert "<script>&" not in page


@pytest.mark.parametrize("kind", kinds.OF_PROFILES)
def test_every_kind_of_a_profile_is_drawn_as_xml(kind: str, tmp_path: Path) -> None:
    for plot in api.plot_profiles(kind, hostile_profile(tmp_path)):
        expect_drawn(plot)


@pytest.mark.parametrize(
    ("kind", "name"),
    dict.fromkeys([
        *zip(itertools.cycle(TITLED), METRICS, strict=False),
        *((kind, METRICS[3]) for kind in TITLED),
    ]),
)  # fmt: skip
def test_a_metric_is_the_title_of_an_axis_and_of_no_expression(kind: str, name: str) -> None:
    tables, more = sources("targets", name)
    if kind != targets.KIND:
        tables, more = [pl.concat(tables)], {}
    (plot,) = api.plot(kind, *tables, **more)
    drawn = expect_drawn(plot, title=False)
    texts = re.findall(r"<text[^>]*>([^<]*)<", drawn)
    assert any(escape_invisible(name) in unescape(text) for text in texts)
    if name == METRICS[3]:
        plot.altair()  # is checked against the schema


# --------------------------------------------------------------------------------- the renderer


def test_an_error_of_the_renderer_is_shown_as_a_sentence() -> None:
    with pytest.raises(
        TtastatsError, match=r"cannot draw this plot: Vega-Lite to SVG conversion failed"
    ):
        renderer.call_renderer("vegalite_to_svg", {
            "data": {"values": [{}]}, "mark": "point", "transform": [{"filter": "datum.x ="}],
        })  # fmt: skip
    assert renderer.call_renderer("vegalite_to_svg", {"data": {"values": [{}]}, "mark": "point"})


def test_the_script_of_vega_is_bundled_once_for_all_pages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = renderer.vega_script()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    old = tmp_path / "ttastats" / "vega-0.0.1.js"
    old.parent.mkdir()
    old.write_text("old")
    renderer.vega_script.cache_clear()
    assert renderer.vega_script() == whole
    monkeypatch.setattr(renderer, "call_renderer", None)
    renderer.vega_script.cache_clear()
    assert renderer.vega_script() == whole
    assert not old.exists()


def test_without_a_place_for_it_the_script_of_vega_is_bundled_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = renderer.vega_script()
    (tmp_path / "ttastats").write_text("a file")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    renderer.vega_script.cache_clear()
    assert renderer.vega_script() == whole


def test_a_renderer_that_aborts_is_an_error_and_the_next_plot_is_drawn() -> None:
    texts = {"mark": {"type": "text", "text": "a\x07b"}, "data": {"values": [{}]}}
    with pytest.raises(TtastatsError, match=r"the renderer ended without an answer \(SIGABRT\)"):
        renderer.call_renderer("vegalite_to_svg", texts)
    assert renderer.call_renderer("vegalite_to_svg", {"data": {"values": [{}]}, "mark": "point"})


@pytest.mark.skipif(sys.platform != "linux", reason="the limit is one of Linux")
def test_too_little_address_space_is_an_error_with_a_sentence(tmp_path: Path) -> None:
    table = tmp_path / "a.parquet"
    api.ingest([ROOT / "examples" / "two_systems"], table)
    words = json.dumps(["plot", "tta", str(table), "-o", str(tmp_path / "a.svg")])
    program = (
        "import resource, sys\n"
        "resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))\n"
        f"sys.argv[1:] = {words}\n"
        "from ttastats.__main__ import main\n"
        "main()\n"
    )
    process = call(sys.executable, "-c", program)
    assert process.returncode == 2
    assert "the renderer ended without an answer" in process.stderr
    assert "Traceback" not in process.stderr
    assert not (tmp_path / "a.svg").exists()
