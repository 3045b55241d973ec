"""What stands in the figure of a comparison, and where."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.page.made import rows as made
from ttastats import api
from ttastats.outcomes.axis import SECONDS
from ttastats.output.page import figure, figure_rows
from ttastats.output.page.figure_rows import FigureRow, Runs
from ttastats.report.answer import Report

ONE = FigureRow(
    benchmark="resnet", name="resnet", setup="8× H200", count="3 and 2 runs",
    a=Runs((100.0, 110.0, 120.0), (150.0,), 110.0), b=Runs((50.0, 60.0), (), 55.0),
    ratio=2.0, low=1.6, high=2.5, parts=(("throughput", 4.0), ("epochs", 0.5)),
    verdict="▲ faster", tone="good", p="p < .001", carried="",
)  # fmt: skip


def drawn(*rows: FigureRow, layout: str = "wide") -> str:
    text = figure.figure_svg(rows, ("old", "new"), SECONDS, 0.95, {"resnet": "#section-1"})
    wide, narrow = text.split("\n")
    return wide if layout == "wide" else narrow


def numbers(pattern: str, text: str) -> list[tuple[float, ...]]:
    return [tuple(map(float, found.groups())) for found in re.finditer(pattern, text)]


def test_every_run_of_the_answer_is_in_the_figure(sides: list[Path]) -> None:
    report = api.compare(*sides)
    (row,) = figure_rows.figure_rows(report)
    for shown, side in zip((row.a, row.b), sides, strict=True):
        runs = api.runs(side).frame
        reached = runs.filter("reached").get_column("tta_seconds")
        assert sorted(shown.reached) == sorted(reached)
        failed = runs.filter(~pl.col("reached")).get_column("run_seconds")
        assert sorted(shown.failed) == sorted(failed)
    (said,) = report.rows
    assert (row.ratio, row.low, row.high) == (
        said["speedup"], said["speedup_low"], said["speedup_high"],
    )  # fmt: skip
    assert row.parts == (
        ("throughput", said["throughput_speedup"]), ("epochs", said["epochs_ratio"]),
    )  # fmt: skip
    assert (row.verdict, row.tone, row.p) == ("▲ faster", "good", "p = .008")


def test_where_runs_failed_the_mean_beside_them_counts_their_time() -> None:
    a, b = made(["a"], runs=4), made(["b"], runs=4, seed=1)
    report = api.compare(a, b)
    (row,), (said,) = figure_rows.figure_rows(report), report.rows
    assert row.a.mean == said["ert_a_seconds"] != said["tta_a_seconds"]
    assert (len(row.a.reached), len(row.a.failed)) == (3, 1)
    assert row.count == "reached 3/4, 3/4"


def forty() -> Report:
    names = [f"benchmark_{number:02}" for number in range(40)]
    a, b = made(["a"], runs=8, benchmarks=names), made(["b"], runs=8, benchmarks=names, seed=1)
    faster = pl.col("benchmark") > "benchmark_31"
    pace = pl.when(faster).then(pl.col("seconds") / 2).otherwise("seconds")
    stop = pl.when(faster).then(pl.col("run_seconds") / 2).otherwise("run_seconds")
    whole = [
        one.filter(pl.col("seed") < 7)
        for one in (a, b.with_columns(seconds=pace, run_seconds=stop))
    ]
    return api.compare(*whole)


def test_of_many_rows_those_that_are_decided_stand_first_in_thin_lines() -> None:
    found = figure_rows.figure_rows(forty())
    assert figure_rows.verdict_counts(found) == "8 faster, 32 undecided"
    assert [row.verdict for row in found[:9]] == ["▲ faster"] * 8 + ["~ undecided"]
    height = float(re.findall(r'viewBox="0 0 [\d.]+ ([\d.]+)"', drawn(*found))[0])
    assert height < 40 * 28 + 100


def test_bars_begin_at_one_and_end_at_the_speedup_and_their_lengths_add() -> None:
    text = drawn(ONE)
    first, second = numbers(r'<rect class="part\d" x="([\d.]+)" y="[\d.]+" width="([\d.]+)"', text)
    ((point,),) = numbers(r'<path class="pt good" d="M([\d.]+) ', text)
    ((unity,),) = numbers(r'<path class="one" d="M([\d.]+) ', text)
    assert first[0] == pytest.approx(unity, abs=0.11)
    assert sum(first) == pytest.approx(sum(second), abs=0.21)  # one ends where the other does
    assert second[0] == pytest.approx(point, abs=0.11)
    assert first[1] == pytest.approx(2 * second[1], abs=0.3)  # log 4 is twice log 2


def test_dots_stand_on_one_logarithmic_axis_and_failures_are_crosses() -> None:
    text = drawn(ONE, layout="wide")
    a, b = (
        [x for x, _ in numbers(r"M([\d.]+) ([\d.]+)h.01", re.findall(pattern, text)[1])]
        for pattern in (r'class="a" d="([^"]+)"', r'class="b" d="([^"]+)"')
    )  # the first of each is the legend's
    scale = (a[2] - a[0]) / math.log(120 / 100)
    assert b[0] - a[0] == pytest.approx(scale * math.log(50 / 100), abs=1.5)
    (crosses,) = re.findall(r'<path class="a x" d="([^"]+)"', text)
    assert crosses.count("M") == 1
    assert text.count("did not reach") == 1
    assert "did not reach" not in drawn(FigureRow(**{**fields(ONE), "a": ONE.b}))


def fields(row: FigureRow) -> dict[str, Any]:
    return {name: getattr(row, name) for name in row.__struct_fields__}


def test_in_the_place_of_a_green_word_a_red_one_says_that_setups_are_pooled() -> None:
    pooled = FigureRow(**{**fields(ONE), "carried": "setups pooled"})
    for layout in ("wide", "narrow"):
        assert ">▲ faster<" in drawn(ONE, layout=layout)
        text = drawn(pooled, layout=layout)
        assert 'class="bad"' in text
        assert ">setups pooled<" in text
        assert "▲ faster" not in text
        assert "good" not in text


def test_bars_are_named_only_where_there_are_some() -> None:
    assert "bars: its parts" in drawn(ONE)
    assert "bars: its parts" not in drawn(FigureRow(**{**fields(ONE), "parts": ()}))


def test_names_are_text_and_cut_so_that_they_stay_apart() -> None:
    rows = [
        FigureRow(**{**fields(ONE), "name": f"<b>{'long_' * 20}{end}", "benchmark": end})
        for end in ("one", "two")
    ]
    for layout in ("wide", "narrow"):
        text = drawn(*rows, layout=layout)
        assert "<b>" not in text
        names = re.findall(r'class="n">([^<]+)<', text)
        assert len(set(names)) == 2
        assert all(len(name.replace("&lt;", "<").replace("&gt;", ">")) <= 24 for name in names)


@pytest.mark.parametrize(
    "times", [(0.0,), (1e-4, 1e7), (100.0,), (100.0, 100.5), (3600.0, 4000.0), ()]
)
def test_any_times_have_an_axis(times: tuple[float, ...]) -> None:
    row = FigureRow(**{**fields(ONE), "a": Runs((), times, None), "b": Runs(times, (), None)})
    for layout in ("wide", "narrow"):
        text = drawn(row, layout=layout)
        assert "nan" not in text
        assert "inf" not in text
    bare = {"ratio": None, "low": None, "high": None, "parts": ()}
    assert ">–<" in drawn(FigureRow(**{**fields(row), **bare}))
