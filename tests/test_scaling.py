"""`scaling`: what makes one curve, and what is said of curves that mix setups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl
import pytest

from tests.plotting import made
from ttastats import api
from ttastats.base.errors import TtastatsError
from ttastats.report.answer import Report


def entry(name: str, accelerators: int, seconds: float, **more: Any) -> pl.DataFrame:
    """Return three runs of about so many seconds on so many accelerators."""
    times: Sequence[made.Outcome] = [(seconds * spread, 5) for spread in (0.99, 1.0, 1.01)]
    setup = {"accelerators": accelerators, "hardware": "old", "framework": "one"}
    return made.rows(times, entry=name, **(setup | more))


def notes(report: Report) -> dict[str, str]:
    return {note.code: note.text for note in report.notes}


def bases(report: Report) -> dict[str, str]:
    return {row["entry"]: row["base_entry"] for row in report.rows}


TWO_KINDS = pl.concat(
    [
        entry("old_8", 8, 800.0),
        entry("old_16", 16, 420.0),
        entry("new_8", 8, 400.0, hardware="new"),
        entry("new_16", 16, 210.0, hardware="new"),
    ]
)


def test_a_curve_is_of_one_hardware() -> None:
    report = api.scaling(TWO_KINDS)
    assert bases(report) == {
        "old_8": "old_8", "old_16": "old_8", "new_8": "new_8", "new_16": "new_8",
    }  # fmt: skip
    assert [round(row["efficiency"], 2) for row in report.rows] == [1.0, 0.95, 1.0, 0.95]
    efficiencies = [round(row["throughput_efficiency"], 2) for row in report.rows]
    assert efficiencies == [1.0, 0.95, 1.0, 0.95]
    assert {row["statistical_efficiency"] for row in report.rows} == {1.0}
    assert "mixed_curves" not in notes(report)
    assert report.tables[0].title == "mlperf v4.0 lab one"


def test_a_scale_at_which_no_run_reached_has_no_speedup() -> None:
    failed = made.rows([(100.0, None)] * 3, entry="old_32", accelerators=32, hardware="old")
    report = api.scaling(
        pl.concat([TWO_KINDS, failed.with_columns(framework=pl.lit("one"))], how="diagonal_relaxed")
    )
    (row,) = [row for row in report.rows if row["entry"] == "old_32"]
    assert (row["n"], row["reached"]) == (3, 0)
    assert (row["speedup"], row["efficiency"], row["throughput_speedup"]) == (None, None, None)


def test_a_curve_is_of_one_software() -> None:
    other = [entry("x_8", 8, 300.0, framework="two"), entry("x_16", 16, 160.0, framework="two")]
    report = api.scaling(pl.concat([entry("old_8", 8, 800.0), entry("old_16", 16, 420.0), *other]))
    assert bases(report)["x_16"] == "x_8"
    assert "framework" in [column.title for column in report.tables[0].columns]


def test_slopes_name_all_in_which_curves_differ() -> None:
    said = notes(api.scaling(TWO_KINDS))["slope"]
    assert "resnet new 0.9" in said
    assert "resnet old 0.9" in said


def test_benchmarks_and_rounds_are_never_mixed() -> None:
    rows = pl.concat(
        [
            entry("a", 8, 800.0),
            entry("b", 16, 420.0),
            entry("c", 8, 90.0, benchmark="bert"),
            entry("d", 16, 46.0, benchmark="bert"),
            entry("e", 8, 600.0, round="v5.0"),
            entry("f", 16, 310.0, round="v5.0"),
        ]
    )
    report = api.scaling(rows, by=["submitter"])
    assert bases(report) == {"a": "a", "b": "a", "c": "c", "d": "c", "e": "e", "f": "e"}
    assert all(row["efficiency"] <= 1.0 for row in report.rows)
    assert {row["benchmark"] for row in report.rows} == {"resnet", "bert"}


def test_a_mixture_that_was_asked_for_is_said() -> None:
    report = api.scaling(TWO_KINDS, by=["submitter"])
    assert set(bases(report).values()) == {"new_8"}
    assert "resnet: several of hardware" in notes(report)["mixed_curves"]


def test_unknown_hardware_is_said() -> None:
    rows = pl.concat([entry("a", 8, 800.0, hardware=None), entry("b", 16, 420.0, hardware=None)])
    assert "resnet: hardware unknown" in notes(api.scaling(rows))["mixed_curves"]


def test_other_hardware_at_another_scale_makes_no_curve() -> None:
    rows = pl.concat([entry("old_8", 8, 800.0), entry("new_16", 16, 210.0, hardware="new")])
    with pytest.raises(TtastatsError, match="hardware, framework") as error:
        api.scaling(rows)
    assert error.value.remedy is not None
    assert "--by submitter" in error.value.remedy


def test_plots_draw_the_curves_of_the_report() -> None:
    (plot,) = api.plot("scaling", TWO_KINDS)
    drawn = next(data for name, data in plot.data.items() if name.startswith("scaling"))
    assert set(drawn["curve"]) == {"old", "new"}
    found = drawn.filter(measure="time-to-accuracy")
    assert dict(found.select("entry", "base_entry").rows()) == bases(api.scaling(TWO_KINDS))


def test_failed_runs_count_as_compare_counts_them() -> None:
    base = entry("old_1", 1, 800.0)
    reached: Sequence[made.Outcome] = [(100.0, 5), (101.0, 5), (99.0, 5)]
    failed: Sequence[made.Outcome] = [(100.0, None)] * 3
    setup = {"accelerators": 8, "hardware": "old", "framework": "one", "entry": "old_8"}
    eight = made.rows([*reached, *failed], **setup)
    report = api.scaling(pl.concat([base, eight], how="diagonal_relaxed"))
    (row,) = [row for row in report.rows if row["entry"] == "old_8"]
    (compared,) = api.compare(base, eight, by=["benchmark"]).rows
    for name in ("speedup", "speedup_low", "speedup_high"):
        assert row[name] == compared[name], name
    assert row["speedup"] == pytest.approx(4, rel=0.01)
    assert row["efficiency"] == pytest.approx(0.5, rel=0.01)
    assert row["ert_seconds"] == pytest.approx(200, rel=0.01)
    assert "ᶠ" not in notes(report)["definitions"]
    assert "failed runs included, as `compare` does" in notes(report)["expected"]
    (table,) = report.tables
    marks = [getattr(cell, "mark", "") for line in table.rows for cell in line.cells]
    assert marks.count("ᶠ") == 1
    assert notes(report)["slope"].startswith("log-log slope, 1 is linear: resnet 0.67")


def test_the_most_accelerators_of_each_curve_are_held_against_the_fewest() -> None:
    text = api.scaling(TWO_KINDS).sentence
    assert "old: 16 accelerators are 1.90× [" in text
    assert "as fast as 8, an efficiency of 95.2%" in text
    every = [
        TWO_KINDS.with_columns(pl.col("run_id", "source", "content_digest") + name,
                               submitter=pl.lit(name))
        for name in "ab"
    ]  # fmt: skip
    text = api.scaling(pl.concat(every)).sentence
    assert text.startswith("4 curves: the most accelerators of each have an efficiency of 95.2%")
