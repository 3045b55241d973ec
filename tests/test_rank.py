"""The ranks of entries in the terminal: tables by size, ties, one's own entries, what is hidden."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from tests.accepted import in_full
from tests.test_cli import run
from tests.test_league import around, made
from ttastats import api
from ttastats.base.errors import TtastatsError
from ttastats.report.answer import Report
from ttastats.report.render import as_json

#: Two that cannot be told apart, one that is slower, and one alone on sixteen accelerators.
TIMES = {
    "Fast/a": around(10, 0.5), "Mine/b": around(10.1, 0.5, seed=1),
    "Slow/c": around(15, 0.1, seed=2), "Mine/d": around(7, 0.1, seed=3),
}  # fmt: skip


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    return made(TIMES, {"Mine/d": 16})


def cells(report: Report, title: str, number: int = 0) -> list[str]:
    table = report.tables[number]
    (place,) = (n for n, column in enumerate(table.columns) if column.title == title)
    return [getattr(line.cells[place], "text", "") for line in table.rows]


def test_entries_of_one_size_are_ranked_with_those_they_cannot_be_told_from(
    table: pl.DataFrame,
) -> None:
    report = api.rank(table)
    rows = {row["entry"]: row for row in report.rows}
    assert [(row["rank"], row["rank_low"], row["rank_high"]) for row in report.rows] == [
        (1, 1, 2), (2, 1, 2), (3, 3, 3), (1, 1, 1),
    ]  # fmt: skip
    assert rows["Fast/a"]["not_separable"] == [2]
    assert rows["Slow/c"]["not_separable"] == []
    assert cells(report, "ties") == ["│", "│", ""]
    first = rows["Fast/a"]
    assert first["mean_seconds_low"] < first["mean_seconds"] < first["mean_seconds_high"]
    assert first["accelerator_hours"] == pytest.approx(8 * first["mean_seconds"] / 3600)


def test_a_size_with_one_entry_is_counted_and_its_row_kept_for_programs(
    table: pl.DataFrame,
) -> None:
    report = api.rank(table)
    assert len(report.tables) == 1
    assert report.rows[3]["entry"] == "Mine/d"
    assert "1 size with one entry not shown" in in_full(report)


def test_ones_own_entries_are_marked_and_their_rank_is_said(table: pl.DataFrame) -> None:
    report = api.rank(table, mine="mine")
    assert [row["mine"] for row in report.rows] == [False, True, False, True]
    assert cells(report, "rank") == ["1", "> 2", "3"]
    assert "Mine/b is 2nd of 3, not told apart from rank 1." in report.sentence
    assert "Mine/d is the only entry." in report.sentence


def test_ones_own_entries_are_shown_however_slow_and_the_others_counted(
    table: pl.DataFrame,
) -> None:
    shown = str(api.rank(table, mine="slow", top=1))
    assert "Fast/a" in shown
    assert "> 3" in shown
    assert "Mine/b" not in shown.splitlines()[3]
    assert "1 slower not shown: --top 0 shows all" in shown
    assert len(api.rank(table, mine="slow", top=1).rows) == 4


def test_hours_are_shown_where_accelerators_are_known(table: pl.DataFrame) -> None:
    unknown = table.with_columns(accelerators=pl.lit(None, pl.Int64))
    titles = [
        {column.title for column in api.rank(one).tables[0].columns} for one in (table, unknown)
    ]
    assert titles[0] - titles[1] == {"accelerator h", "hardware"}


def test_a_failed_run_is_in_the_mean_and_its_count_is_shown() -> None:
    report = api.rank(made({"a/1": [10.0] * 5 + [-50.0], "b/2": [11.0, 12.0, 11.5] * 2}))
    assert [row["entry"] for row in report.rows] == ["b/2", "a/1"]
    assert report.rows[1]["mean_seconds"] > 30  # three passes of 10 s each, and the failed run
    assert "5/6" in str(report)


def test_a_name_that_no_entry_has_is_an_error(table: pl.DataFrame) -> None:
    with pytest.raises(TtastatsError, match="no entry contains 'nobody'"):
        api.rank(table, mine="nobody")


def test_many_tables_end_in_one_count() -> None:
    same = pl.col("run_id", "source", "content_digest")
    parts = [made(TIMES).with_columns(same + name, benchmark=pl.lit(name)) for name in "pqrs"]
    report = api.rank(pl.concat(parts), mine="Slow")
    assert report.sentence == "Slow is first, or not shown to be slower than any, in 0 of 4 tables."


def test_the_command_ranks_logs(two_systems: Path) -> None:
    done = run("rank", str(two_systems), "--mine", "eight")
    assert done.returncode == 0
    assert "eight_gpus is the only entry" in done.stdout


def test_a_table_without_a_run_that_counts_has_no_ranks(table: pl.DataFrame) -> None:
    report = api.rank(table.with_columns(run_status=pl.lit("stopped")))
    assert (report.sentence, report.rows) == ("no entry has runs to rank.", ())


def test_ranks_that_are_not_separable_are_a_list_in_json() -> None:
    times = {"a/1": [10.0, 11.0, 12.0], "b/2": [10.5, 11.5, 12.5], "c/3": [50.0, 51.0, 52.0]}
    rows = json.loads(as_json.render_json(api.rank(made(times))))["rows"]
    assert [row["not_separable"] for row in rows] == [[2], [1], []]
