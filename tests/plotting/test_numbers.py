"""The numbers behind the marks are those that the commands print."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import polars as pl
import pytest
import vl_convert

from tests.plotting import made
from ttastats import api
from ttastats.output.plots import theme
from ttastats.output.plots.plot import NothingToDrawError, Plot
from ttastats.stats.means import mean_interval


def the(kind: str, *sources: pl.DataFrame, **how: Any) -> Plot:
    (plot,) = api.plot(kind, *sources, **how)
    return plot


def table(plot: Plot, starts: str) -> pl.DataFrame:
    return next(frame for name, frame in plot.data.items() if name.startswith(starts))


def by_entry(rows: tuple[Mapping[str, Any], ...]) -> dict[str, Mapping[str, Any]]:
    return {row["entry"]: row for row in rows}


def test_means_are_those_of_the_summary_and_intervals_are_t_intervals() -> None:
    source = made.two_entries()
    means = table(the("tta", source), "mean TTA")
    summary = by_entry(api.summary(source).rows)
    assert means["entry"].to_list() == ["lab/fast", "lab/slow"]  # fastest first
    for row in means.iter_rows(named=True):
        told = summary[row["entry"]]
        assert row["mean"] == told["tta_mean_seconds"]
        assert (row["reached_runs"], row["n"]) == (told["reached"], told["n"])
    mean = mean_interval([seconds for seconds, _ in made.FAST])
    assert means.row(0, named=True)["low"] == mean.low
    assert means.row(0, named=True)["high"] == mean.high


def test_rows_stand_fastest_first_also_where_some_have_no_interval() -> None:
    one = made.rows([(10.0, 4)], entry="lab/alone")
    plot = the("tta", pl.concat([made.two_entries(), one]))
    shown = re.findall(r">(alone|fast|slow)</text>", plot.to_svg())
    assert shown == ["alone", "fast", "slow"]


def test_the_name_of_a_line_stands_where_it_ends() -> None:
    ends = table(the("solved", made.two_entries()), "ends of solved")
    assert ends.select("series", "seconds", "share", "left").rows() == [
        ("fast", 70.0, 1.0, True), ("slow", 300.0, 0.8, False),
    ]  # fmt: skip
    assert ends["level"].is_sorted()
    plot = the("solved", made.two_entries())
    drawn = plot.to_svg()
    assert (drawn.count(">fast</text>"), drawn.count(">slow</text>")) == (1, 1)  # no legend beside
    assert ">time (log scale)</text>" in drawn


def test_lines_leave_the_frame_where_their_values_do_and_the_caption_counts_them() -> None:
    dipped = (pl.col("eval_index") == 3) & (pl.col("seed") == 0)
    source = made.rows(made.SLOW[:3]).with_columns(
        value=pl.when(dipped).then(pl.lit(0.02)).otherwise("value")
    )
    plot = the("quality-time", source)
    assert "clipped at the frame; outside it: 1 value of 1 run (0.02)." in plot.caption
    assert "clipped at the frame" not in the("quality-time", made.rows(made.SLOW[:3])).caption
    paths = re.findall(r'aria-roledescription="line mark"[^>]* d="([^"]*)"', plot.to_svg())
    lengths = sorted(len(re.findall("[ML]", path)) for path in paths)
    assert lengths == [5, 5, 6]  # every evaluation is a point of its line


def test_what_has_a_colour_lies_above_the_others() -> None:
    entries = [made.rows([(50.0 + n, 4)] * 3, entry=f"lab/{n}") for n in range(8)]
    source = pl.concat(
        one.with_columns(content_digest=pl.format("{}{}", "entry", "source")) for one in entries
    )
    for kind in ("quality-time", "solved"):
        plot = the(kind, source)
        drawn = re.findall(r'line mark"[^>]*stroke="(#\w+)"', plot.to_svg())
        assert drawn[0] == theme.BEHIND
        assert drawn[-1] == theme.COLOURS[0]
    (points,) = {
        json.dumps(layer["encoding"]["order"])
        for layer in the("quality-time", source).chart["layer"]
        if layer["mark"]["type"] == "point"
    }
    assert json.loads(points) == {"field": "order", "sort": "descending", "type": "quantitative"}


def test_the_record_has_dates_that_every_reader_of_charts_understands() -> None:
    plot = the("record", made.leaders())
    (scale,) = {json.dumps(layer["encoding"]["x"]["scale"]) for layer in plot.chart["layer"]}
    ends = json.loads(scale)["domain"]
    # In parts, since the interpreter of a page takes a bare number for a year.
    assert [(end["year"], end["utc"]) for end in ends] == [(2017, True), (2019, True)]


def test_a_run_against_one_like_it_is_a_plot_of_finite_size() -> None:
    one, other = (
        made.rows([(100.0, 5)], entry=f"lab/{name}").with_columns(
            pl.lit(name * 32).alias("content_digest"), value=pl.col("value") + shift
        )
        for name, shift in (("1", 0.0), ("2", 1e-6))
    )
    for kind in ("targets", "speedups", "tta", "quality-time"):
        svg = the(kind, one, other).to_svg()
        assert "Infinity" not in svg
        assert "NaN" not in svg
    assert "no verdict" in the("targets", one, other).to_svg()


def test_what_is_unknown_of_a_run_is_not_said() -> None:
    plot = the("tta", made.rows(made.FAST).with_columns(seed=pl.lit(None, pl.Int64)))
    said = vl_convert.vegalite_to_svg(plot.specification())
    assert "null" not in said
    assert "seed: ;" in said


def test_speedups_are_exactly_the_rows_of_compare() -> None:
    a, b = made.rows(made.SLOW, entry="lab/slow"), made.rows(made.FAST, entry="lab/fast")
    drawn = the("speedups", a, b).data["speedups"].rows_by_key("part", named=True, unique=True)
    (row,) = api.compare(a, b).rows
    for part, name, stem in (
        ("TTA speedup", "speedup", "speedup"),
        ("throughput", "throughput_speedup", "throughput"),
        ("epochs", "epochs_ratio", "epochs"),
    ):
        assert drawn[part]["ratio"] == row[name]
        assert (drawn[part]["low"], drawn[part]["high"]) == (
            row[f"{stem}_low"],
            row[f"{stem}_high"],
        )
    assert row["verdict"] == "undecided"
    assert drawn["TTA speedup"]["verdict"] == "~ undecided"


def test_a_profile_counts_a_missed_benchmark_as_missed() -> None:
    every = made.many_kinds().with_columns(accelerators=pl.lit(8, pl.Int64))
    others = every.filter(~((pl.col("benchmark") == "bert") & (pl.col("system") == "slow")))
    third = made.rows(made.SLOW, entry="lab/third", benchmark="gnmt", accelerators=8)
    with pytest.raises(NothingToDrawError, match="two benchmarks"):
        api.plot("profile", pl.concat([others, third]))
    shares = the("profile", every).data["profile"]
    assert shares.filter(pl.col("system") == "fast")["share"].to_list()[0] == 1.0
    assert shares.filter(pl.col("system") == "slow")["share"].to_list()[0] == 0.0


def test_a_profile_is_of_systems_of_one_size() -> None:
    with pytest.raises(NothingToDrawError, match="same number of accelerators"):
        api.plot("profile", made.many_kinds())
    alike = [
        made.rows(made.FAST, entry=f"lab/{name}", benchmark=benchmark, accelerators=size)
        for name, size in (("a", 8), ("b", 8), ("c", 64), ("d", 512))
        for benchmark in ("resnet", "bert")
    ]
    plot = the("profile", pl.concat(alike))
    assert plot.title == "Performance profile of 2 systems of 8 accelerators"
    assert plot.caption.startswith("20 runs.")
    assert set(plot.data["profile"]["system"]) == {"a", "b"}
    with pytest.raises(NothingToDrawError, match="one file"):
        api.plot("profile", made.rows(made.SLOW), made.rows(made.FAST))


def test_runs_without_epochs_have_no_plot_over_epochs() -> None:
    source = made.rows(made.FAST, epochs=False)
    with pytest.raises(NothingToDrawError, match="epochs"):
        api.plot("quality-epochs", source)
    assert "quality-epochs" not in {plot.kind for plot in api.plots(source)}


def test_a_side_has_one_colour_everywhere_and_what_one_side_has_is_left_out() -> None:
    a = pl.concat([made.rows(made.SLOW), made.rows(made.SLOW, benchmark="gnmt")])
    b, c = (
        pl.concat([made.rows(made.FAST, seed=seed), made.rows(made.FAST, benchmark="bert")])
        for seed in (10, 20)
    )
    plots = api.plots(a, b, c)
    assert {plot.benchmark for plot in plots} == {"resnet", None}
    for plot in plots:
        if plot.kind == "tta":
            runs = table(plot, "runs")
            assert set(runs["series"]) <= {"A: A", "B: B", "C: C"}
            assert '"domain": ["A: A", "B: B", "C: C"]' in json.dumps(plot.chart)
    only_two = api.plot("tta", a, b)
    assert [plot.benchmark for plot in only_two] == ["resnet"]


def test_a_run_that_stands_twice_in_a_group_is_drawn_once() -> None:
    source = made.rows(made.FAST).with_columns(content_digest=pl.format("c{}", "source"))
    copies = source.with_columns(
        source=pl.format("copy/{}", "source"), run_id=pl.format("c{}", "run_id")
    )
    plot = the("tta", pl.concat([source, copies]))
    assert plot.caption.startswith("5 runs of 1 entry")


@pytest.mark.parametrize("kind", ["quality-time", "tta", "solved"])
def test_a_table_of_runs_can_be_drawn_where_no_curves_are_needed(kind: str) -> None:
    runs = api.run_table(made.two_entries())
    if kind == "quality-time":
        with pytest.raises(NothingToDrawError, match="evaluated"):
            api.plot(kind, runs)
    else:
        assert the(kind, runs).caption.startswith("10 runs")


def test_intervals_of_pooled_setups_are_drawn_by_setup() -> None:
    parts = [
        made.rows([(base + k, 5) for k in range(4)], entry=f"lab/{n}", submitter="lab")
        for n, base in enumerate((100.0, 140.0, 90.0, 160.0))
    ]
    source = pl.concat(parts)
    (plot,) = api.plot("tta", source, by=["submitter"])
    means = table(plot, "mean TTA")
    times = [base + 1.5 for base in (100.0, 140.0, 90.0, 160.0)]
    known = mean_interval(times)
    assert means["low"].to_list() == [pytest.approx(known.low)]
    assert means["high"].to_list() == [pytest.approx(known.high)]
    assert "by setup where a row pools several" in plot.caption


def test_entries_of_several_sizes_stand_below_their_size() -> None:
    sizes = {"a": 512, "b": 8, "c": 64, "d": 8, "e": None}
    source = pl.concat(
        made.rows(made.FAST[:2], entry=f"lab/{name}", accelerators=size).with_columns(
            pl.col("accelerators").cast(pl.Int64)
        )
        for name, size in sizes.items()
    )
    plot = the("tta", source)
    headings = table(plot, "sizes").sort("place")
    assert headings["series"].unique(maintain_order=True).to_list() == [
        "8 accelerators", "64 accelerators", "512 accelerators", "size unknown",
    ]  # fmt: skip
    # A filter of the page that leaves no entry of a size leaves out its heading.
    assert dict(headings.select("entry", "series").rows())["lab/a"] == "512 accelerators"
    names = re.findall(r">(\d+ accelerators|size unknown|[a-e])</text>", plot.to_svg())
    assert names == [
        "8 accelerators", "b", "d", "64 accelerators", "c",
        "512 accelerators", "a", "size unknown", "e",
    ]  # fmt: skip
    assert not [name for name in the("tta", made.two_entries()).data if "sizes" in name]
