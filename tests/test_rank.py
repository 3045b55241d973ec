"""The ranks of entries in the terminal: tables by size, ties, one's own entries, what is hidden."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from tests.accepted import Case, in_full
from tests.questions import Questions, accepted_answers
from tests.test_cli import run
from tests.test_league import around, runs
from ttastats import api
from ttastats.report import as_json
from ttastats.report.answer import Report

#: Two that cannot be told apart, one that is slower, and one alone on sixteen accelerators.
TIMES = {
    "Fast/a": around(10, 0.5), "Mine/b": around(10.1, 0.5, seed=1),
    "Slow/c": around(15, 0.1, seed=2), "Mine/d": around(7, 0.1, seed=3),
}  # fmt: skip
TABLE = runs(TIMES, {"Mine/d": 16})
SAME = pl.col("run_id", "source", "content_digest")
UNKNOWN = TABLE.with_columns(accelerators=pl.lit(None, pl.Int64))
FOUR = pl.concat(runs(TIMES).with_columns(SAME + name, benchmark=pl.lit(name)) for name in "pqrs")

QUESTIONS: Questions = {
    "ranks, and what cannot be told apart": lambda: api.rank(TABLE),
    "one's own": lambda: api.rank(TABLE, mine="mine"),
    "one's own, however slow": lambda: api.rank(TABLE, mine="slow", top=1),
    "a failed run is in the mean": lambda: api.rank(
        runs({"a/1": [10.0] * 5 + [-50.0], "b/2": [11.0, 12.0, 11.5] * 2})
    ),
    "a name that no entry has": lambda: api.rank(TABLE, mine="nobody"),
    "of many tables": lambda: api.rank(FOUR, mine="Slow"),
    "no run counts": lambda: api.rank(TABLE.with_columns(run_status=pl.lit("stopped"))),
}


@accepted_answers("rank", QUESTIONS)
@pytest.mark.usefixtures("in_codes")
def test_ranks_are_as_accepted(case: Case) -> None:
    assert case.is_as_accepted()


def cells(report: Report, title: str) -> list[str]:
    table = report.tables[0]
    (place,) = (n for n, column in enumerate(table.columns) if column.title == title)
    return [getattr(line.cells[place], "text", "") for line in table.rows]


def test_ties_are_drawn_and_ones_own_entries_marked() -> None:
    assert cells(api.rank(TABLE), "ties") == ["┌", "└", ""]
    assert cells(api.rank(TABLE, mine="mine"), "rank") == ["1", "> 2", "3"]
    titles = [{c.title for c in api.rank(t).tables[0].columns} for t in (TABLE, UNKNOWN)]
    assert titles[0] - titles[1] == {"accelerator h", "hardware"}


#: The last takes 3 % longer: shown if all runs always need three epochs.
FIXED = {"x/1": around(10, 0.01), "y/2": around(10.001, 0.01, seed=1), "z/3": around(10.3, 0.01)}


def test_an_order_that_needs_constant_epochs_is_shown_beside_with_its_mark() -> None:
    report = api.rank(runs(FIXED, steady=[*FIXED]))
    assert cells(report, "ties") == ["┌", "│", "└"]
    assert cells(report, "ties †") == ["┌", "└", ""]
    assert "told apart only if the number of epochs is constant (†)" in in_full(report)
    said = [(row["rank_low"], row["rank_high"], row["not_separable"], row["separable_if"],
             row["conditions"]) for row in report.rows]  # fmt: skip
    code = ["constant_epochs"]
    assert said == [
        (1, 3, [2, 3], [3], code), (1, 3, [1, 3], [3], code), (1, 3, [1, 2], [1, 2], code)
    ]  # fmt: skip
    for table in (runs(FIXED), runs({"x/1": FIXED["x/1"], "y/2": FIXED["y/2"]}, steady=[*FIXED])):
        other = api.rank(table)
        assert "ties †" not in {column.title for column in other.tables[0].columns}
        assert all(row["conditions"] == row["separable_if"] == [] for row in other.rows)
    assert [row["rank_low"] for row in api.rank(runs(FIXED)).rows] == [1, 1, 3]


def test_where_nobody_reached_the_target_there_are_no_ranks() -> None:
    report = api.rank(runs({"a/1": [-10.0] * 3, "b/2": [-20.0] * 3, "c/3": [-5.0]}))
    assert cells(report, "rank") == ["–"] * 3
    keys = ("rank", "rank_low", "rank_high", "not_separable")
    assert {str([row[key] for key in keys]) for row in report.rows} == {"[None, None, None, []]"}
    some = api.rank(runs({"a/1": [-10.0] * 3, "b/2": [20.0] * 3}))
    assert [row["rank"] for row in some.rows] == [1, 2]


def test_hidden_rows_are_counted() -> None:
    assert "1 size with one entry not shown" in in_full(api.rank(TABLE))
    shown = str(api.rank(TABLE, mine="slow", top=1))
    assert "Fast/a" in shown
    assert "Mine/b" not in shown.splitlines()[3]
    assert "1 more not shown: --top 0 shows all" in shown


def test_the_command_ranks_logs(two_systems: Path) -> None:
    result = run("rank", str(two_systems), "--mine", "eight")
    assert result.returncode == 0
    assert "eight_gpus is the only entry" in " ".join(result.stdout.split())


def test_ranks_that_are_not_separable_are_a_list_in_json() -> None:
    rows = json.loads(as_json.render_json(api.rank(TABLE)))["rows"]
    assert [row["not_separable"] for row in rows] == [[2], [1], [], []]
