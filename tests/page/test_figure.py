"""What stands in the figure of a comparison, and where."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
from msgspec.structs import replace

from ttastats import api
from ttastats.outcomes.axis import SECONDS
from ttastats.output.page import figure, figure_rows
from ttastats.output.page.figure_rows import FigureRow, Runs

ONE = FigureRow(
    benchmark="resnet", name="resnet", setup="8× H200", count="3 and 2 runs",
    a=Runs((100.0, 110.0, 120.0), (150.0,), 110.0), b=Runs((50.0, 60.0), (), 55.0),
    ratio=2.0, low=1.6, high=2.5, parts=(("throughput", 4.0), ("epochs", 0.5)),
    verdict="▲ faster", tone="good", p="p < .001", carried="",
)  # fmt: skip


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


def test_names_are_text_and_cut_so_that_they_stay_apart() -> None:
    rows = [replace(ONE, name=f"<b>{'long_' * 20}{end}", benchmark=end) for end in ("one", "two")]
    for text in figure.figure_svg(rows, ("old", "new"), SECONDS, 0.95, {}).split("\n"):
        assert "<b>" not in text
        names = re.findall(r'class="n">([^<]+)<', text)
        assert len(set(names)) == 2
        assert all(len(name.replace("&lt;", "<").replace("&gt;", ">")) <= 24 for name in names)
