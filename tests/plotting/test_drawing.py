"""Every plot compiles, says what it shows, and becomes a file that stands on its own."""

from __future__ import annotations

import base64
import io
import json
import re
from pathlib import Path

import polars as pl
import pytest
import vl_convert
from fontTools.ttLib import TTFont

import ttastats as tta
from tests.plotting import made
from ttastats import api
from ttastats.output.plots import drawing, kinds, theme
from ttastats.output.plots.plot import Plot


@pytest.fixture(scope="module")
def plots() -> tuple[Plot, ...]:
    """Return plots of every kind."""
    sides = made.sources("speedups")
    every = [*api.plots(*sides, labels=["before", "after"]), *api.plots(made.many_kinds())]
    for kind in ("leaderboard", "record", "history", "effects", "profile"):
        every += api.plot(kind, *made.sources(kind))
    return (*every, *api.plot("targets", made.rows(made.SLOW)))


def test_every_plot_compiles_without_a_warning_and_finds_its_fields(
    plots: tuple[Plot, ...], capfd: pytest.CaptureFixture[str]
) -> None:
    assert {plot.kind for plot in plots} == set(kinds.KINDS)
    for plot in plots:
        compiled = vl_convert.vegalite_to_vega(plot.specification(), show_warnings=True)
        assert set(plot.data) <= {data["name"] for data in compiled["data"]}, plot.title
        assert "undefined" not in json.dumps(compiled["marks"]), plot.title
    output = capfd.readouterr()
    assert (output.out, output.err) == ("", "")


def test_charts_are_valid_vega_lite(plots: tuple[Plot, ...]) -> None:
    seen = set()
    for plot in plots:
        if plot.kind not in seen:
            plot.altair()  # is checked against the schema
        seen.add(plot.kind)


def test_an_svg_brings_the_letters_it_shows() -> None:
    (plot,) = api.plot("tta", made.two_entries())
    drawn = plot.to_svg()
    fonts = re.findall(r'url\("data:font/woff;base64,([^"]+)"\)', drawn)
    assert len(fonts) == 2  # the title is bolder
    regular = TTFont(io.BytesIO(base64.b64decode(fonts[0])))
    shown = set("".join(re.findall(r"<text[^>]*>([^<]*)</text>", drawn))) - {" "}
    assert shown <= {chr(code) for code in regular.getBestCmap()}
    assert len(drawn) < 60_000
    assert "http" not in drawn.replace("http://www.w3.org/", "")


def test_the_size_of_a_drawing_is_told_in_its_first_tag_alone() -> None:
    drawn = '<svg width="10" height="20.5"><rect width="3"/></svg>'
    sized = '<svg width="5.0000in" height="10.2500in"><rect width="3"/></svg>'
    assert drawing._with_unit_size(drawn, 0.5, "in") == sized


def test_sizes_are_true() -> None:
    plots = api.plot("tta", made.two_entries())
    look = drawing.Style(theme.COLUMN)
    assert 'width="3.3000in"' in drawing.render_svg(plots, look)
    pdf = drawing.render_pdf(plots, look)
    box = re.search(rb"/MediaBox ?\[0 0 ([\d.]+)", pdf)
    assert box is not None
    assert float(box[1]) == pytest.approx(3.3 * 72, abs=0.1)
    assert b"SourceSansPro" in pdf
    assert b"/FontFile" in pdf
    png = drawing.render_png(plots, drawing.Style(theme.COLUMN, dpi=300))
    assert int.from_bytes(png[16:20], "big") == pytest.approx(3.3 * 300, abs=2)


def test_an_html_file_needs_no_network() -> None:
    page = drawing.render_html(api.plot("tta", made.many_kinds()))
    assert page.count("<figure>") == 2
    outside = re.sub(r"(<script[^>]*>).*?</script>", r"\1", page, flags=re.DOTALL)
    assert not re.search(r"\b(?:src|href)=", outside)


def test_a_legend_of_long_names_has_one_column_where_a_plot_is_narrow() -> None:
    names = [f"lab/a_machine_with_a_long_name_{n}" for n in range(3)]
    source = pl.concat([made.rows(made.FAST, entry=name) for name in names])
    (plot,) = api.plot("quality-time", source)
    for width, columns in ((theme.COLUMN, 1), (theme.PAGE, 2)):
        encoding = drawing.sized_specification(plot, drawing.Style(width))["layer"][0]["encoding"]
        assert encoding["color"]["legend"]["columns"] == columns
    drawn = drawing.render_svg([plot], drawing.Style(theme.COLUMN))
    assert all(f"a_machine_with_a_long_name_{n}</text>" in drawn for n in range(3))


def test_two_plots_of_one_benchmark_stand_below_each_other() -> None:
    drawn = drawing.render_svg(api.plot("leaderboard", made.leaders()))
    assert drawn.count("<svg") == 3
    ids = re.findall(r'\bid="([^"]+)"', drawn)
    assert len(ids) == len(set(ids))


def test_rows_hold_nothing_that_json_cannot() -> None:
    frame = pl.DataFrame({"x": [1.0, float("nan"), float("inf")]})
    plot = Plot("tta", "", "", {}, {"t": frame})
    assert plot.rows("t") == [{"x": 1.0}, {"x": None}, {"x": None}]


# ------------------------------------------------------------------------------------------ limits


def test_more_runs_than_lines_can_show_are_drawn_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ttastats.output.plots.material.MOST_RUNS", 8)
    monkeypatch.setattr("ttastats.output.plots.tta.MOST_RUNS", 8)
    (lines,) = api.plot("quality-time", made.two_entries())
    assert "Too many runs to draw individually" in lines.caption
    assert set(lines.data) == {
        "quality-time: mlperf v4.0 resnet top1_accuracy", "target: mlperf v4.0 resnet top1_accuracy"
    }  # fmt: skip
    lines.to_svg()
    source = made.rows([(50.0 + n, 5) for n in range(40)])
    (dots,) = api.plot("tta", source)
    times = dots.data["runs: mlperf v4.0 resnet"]["observed_seconds"]
    assert f"{len(times)} of 40 dots are drawn" in dots.caption
    assert (times.min(), times.max(), len(times)) == (50.0, 89.0, 8)


@pytest.mark.parametrize(("metric", "lowest"), [("top1_accuracy", False), ("val_loss", True)])
def test_long_curves_are_thinned_and_keep_their_ends_and_best(
    metric: str, lowest: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, name = (made.losses() if lowest else made.two_entries()), f"resnet {metric}"
    at_end, value = pl.col("seconds") == pl.col("seconds").max().over("run"), pl.col("value")
    best = value == (value.min() if lowest else value.max()).over("run")
    whole = api.plot("quality-time", source)[0].data[f"quality: mlperf v4.0 {name}"]
    monkeypatch.setattr("ttastats.output.plots.curves.MOST_POINTS", 30)
    (plot,) = api.plot("quality-time", source)
    curve = plot.data[f"quality: mlperf v4.0 {name}"]
    assert f"{curve.height} of {whole.height} values are drawn" in plot.caption
    assert 30 < curve.height < whole.height
    assert whole.filter(best | at_end).join(curve, on=whole.columns, how="anti").is_empty()


@pytest.mark.parametrize(
    ("column", "number"),
    [("value", 1.7e308), ("target_value", -1.7e308)],
)
def test_a_quality_that_exploded_leaves_plots_that_can_be_drawn(column: str, number: float) -> None:
    first = pl.col("entry") == pl.col("entry").first()
    odd = made.two_entries().with_columns(
        pl.when(first).then(number).otherwise(column).alias(column)
    )
    assert [json.dumps(plot.chart, allow_nan=False) for plot in api.plots(odd)]


def test_plots_show_themselves_and_are_saved(tmp_path: Path) -> None:
    drawn = tta.plot("tta", made.rows(made.FAST))
    assert repr(drawn) == "<Plot tta: Time-to-accuracy: resnet>"
    assert drawn._repr_html_().count("<svg") == 1
    drawn[0].save(tmp_path / "one.svg", width=320)
    assert (tmp_path / "one.svg").read_text("utf-8").startswith("<svg")
    drawn.save(tmp_path / "all.html")
    assert "<html" in (tmp_path / "all.html").read_text("utf-8")
    with pytest.raises(tta.TtastatsError, match="has no supported plot format"):
        drawn[0].save(tmp_path / "one.doc")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["all.html", "one.svg"]


def test_a_page_shows_itself_in_a_frame_that_keeps_to_itself() -> None:
    page = tta.html_report(made.rows(made.FAST))
    assert repr(page).startswith("<Page: 5 runs, ")
    frame = page._repr_html_()
    assert frame.count("<") == 2
    assert 'sandbox="allow-scripts"' in frame
