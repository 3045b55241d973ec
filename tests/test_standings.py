"""What `summary` shows of many entries: sizes, the fastest of one size, and what is hidden."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable

import polars as pl
import pytest

from tests.made_curves import curve, logs
from tests.test_league import around, made
from ttastats import api
from ttastats.outcomes import time_to_target
from ttastats.report.answer import Report
from ttastats.report.render import as_csv, as_json
from ttastats.stats.means import mean_interval

#: Twenty entries on eight accelerators, the first shown to be the fastest, and four other sizes.
SIZES = {f"big/{size}": size for size in (16, 32, 64, 128)}
TIMES = {
    "fast/0": around(5, 0.1),
    **{f"slow/{n}": around(20 + n, 0.5, seed=n) for n in range(1, 20)},
    **{name: around(3, 0.2, seed=size) for name, size in SIZES.items()},
}


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    return made(TIMES, SIZES)


def test_each_size_has_a_row_and_the_largest_a_table_of_its_fastest(table: pl.DataFrame) -> None:
    report = api.summary(table)
    sizes, entries = report.displayed.tables
    assert [getattr(line.cells[0], "text", "") for line in sizes.rows] == [
        "8", "16", "32", "64", "128",
    ]  # fmt: skip
    assert len(entries.rows) == 15
    shown = str(report)
    assert "5 slower not shown: --top 0 shows all" in shown
    assert "4 entries of other sizes not shown" in shown
    assert "fast/0 is first of 20: " in report.displayed.sentence
    assert "and shown to be the fastest" in report.displayed.sentence


def test_programs_get_every_row_unless_they_ask_for_the_first(table: pl.DataFrame) -> None:
    assert len(json.loads(as_json.render_json(api.summary(table)))["rows"]) == len(TIMES)
    assert len(api.summary(table, top=3).rows) == 3
    assert len(api.summary(table, sort="-tta").rows) == len(TIMES)
    assert len(api.summary(table, sort="-tta").displayed.tables[0].rows) == 15


def test_programs_wait_for_no_judgement_of_what_people_see(
    table: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = api.summary(table)
    monkeypatch.setattr("ttastats.answers.league.leagues", None)
    assert len(json.loads(as_json.render_json(report))["rows"]) == len(TIMES)
    with pytest.raises(TypeError):
        str(report)


def test_all_rows_or_few_are_one_table(table: pl.DataFrame) -> None:
    (every,) = api.summary(table, top=0).displayed.tables
    assert len(every.rows) == len(TIMES)
    few = api.summary(table, where=["accelerators>8"])
    assert len(few.displayed.tables) == 1
    assert "not shown" not in str(few)


def test_of_many_benchmarks_only_sizes_are_shown(table: pl.DataFrame) -> None:
    same = pl.col("run_id", "source", "content_digest")
    parts = [table.with_columns(same + name, benchmark=pl.lit(name)) for name in "pqrstuvw"]
    report = api.summary(pl.concat(parts))
    (sizes,) = report.displayed.tables
    assert len(sizes.rows) == 30
    assert "10 sizes of fewer entries not shown" in str(report)
    assert len(report.rows) == 8 * len(TIMES)


def test_a_few_benchmarks_without_sizes_have_a_table_each() -> None:
    same = pl.col("run_id", "source", "content_digest")
    some = made({name: times for name, times in TIMES.items() if name not in SIZES})
    parts = [some.with_columns(same + name, benchmark=pl.lit(name)) for name in "pqr"]
    report = api.summary(pl.concat(parts))
    assert [len(each.rows) for each in report.displayed.tables] == [10, 10, 10]


def test_the_mean_has_its_interval(table: pl.DataFrame) -> None:
    row = next(row for row in api.summary(table, confidence=0.9).rows if row["entry"] == "fast/0")
    runs = table.filter(pl.col("entry") == "fast/0").unique("run_id")
    times = runs["run_seconds"].to_numpy()
    known = mean_interval(times, confidence=0.9)
    assert row["tta_mean_seconds_low"] == pytest.approx(known.low, rel=1e-3)
    assert row["tta_mean_seconds_high"] == pytest.approx(known.high, rel=1e-3)


def test_equal_times_say_nothing_of_their_spread_and_have_no_interval() -> None:
    (row,) = api.summary(made({"same/0": [10.0] * 5})).rows
    assert row["tta_mean_seconds_low"] is row["tta_mean_seconds_high"] is None


def test_a_failed_run_makes_the_mean_an_expected_time() -> None:
    some = {name: times for name, times in TIMES.items() if name not in SIZES}
    report = api.summary(made({**some, "fail/1": [10.0] * 5 + [-50.0]}))
    titles = [column.title for column in report.displayed.tables[0].columns]
    assert "ERT [95%]" in titles
    assert "mean TTA [95%]" in titles


@pytest.mark.parametrize("answer", [api.runs, api.summary, api.variance])
def test_rows_that_are_written_by_column_are_the_rows(
    answer: Callable[[pl.DataFrame], Report], table: pl.DataFrame
) -> None:
    report = answer(table)
    assert report.typed_columns is not None
    text = as_json.render_json(report)
    assert json.loads(text)["rows"] == [dict(row) for row in report.rows]
    assert sum(line.startswith("  {") for line in text.split("\n")) >= len(report.rows)
    first = next(csv.DictReader(io.StringIO(as_csv.render_csv(report))))
    assert first.keys() == report.rows[0].keys()
    assert first["entry"] == report.rows[0]["entry"]


def test_an_infinite_time_is_a_word_in_json() -> None:
    report = api.summary(made({"fail/0": [-10.0] * 3}))
    assert json.loads(as_json.render_json(report))["rows"][0]["ert_seconds"] == "inf"


def test_the_order_of_its_rows_changes_no_run() -> None:
    curves = [curve(5.0, 4.0 + n / 10, 3.0, 3.5) for n in range(20)]
    table = logs(curves)
    mixed = table.sample(fraction=1.0, shuffle=True, seed=1)
    runs = [time_to_target.runs(each).sort("run_id", "source") for each in (table, mixed)]
    assert runs[0]["value_final"].unique().to_list() == [3.5]
    assert runs[0].equals(runs[1])
