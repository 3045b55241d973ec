"""Sets of runs of one setup: do they lie apart, and what is worth claiming between sessions?"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.test_blocks import losses, texts, timed
from tests.test_cli import run
from ttastats import api
from ttastats.base.errors import TtastatsError
from ttastats.sides.options import Options
from ttastats.table import store

MONDAY, TUESDAY, WEDNESDAY = (timed(1.0, (0,) * day + (5,), hour=day) for day in range(3))
ALSO_MONDAY = timed(1.0, (5,), hour=2)


def test_sets_of_one_session_show_no_difference() -> None:
    report = api.compare(MONDAY, ALSO_MONDAY, same=True, options=Options(margin=0.0001))
    (found,) = report.rows
    assert (found["verdict"], found["same"], found["sets"]) == ("undecided", True, 2)
    assert "~ no significant difference" in str(report)
    assert "difference is significant" not in report.sentence


def test_sets_that_lie_apart_say_that_the_session_differs() -> None:
    report = api.compare(MONDAY, TUESDAY, same=True)
    (found,) = report.rows
    (plain,) = api.compare(MONDAY, TUESDAY).rows
    assert (plain["verdict"], found["verdict"]) == ("slower", "apart")
    assert found["speedup"] == plain["speedup"]
    assert (
        "The difference is significant although the setup is the same: the machine "
        "or the session differs"
    ) in report.sentence
    assert "  different\n" in str(report)
    assert "same" not in plain


def test_two_sets_bound_the_spread_between_sessions_and_three_estimate_it() -> None:
    two = api.compare(MONDAY, TUESDAY, same=True)
    three = api.compare(MONDAY, TUESDAY, WEDNESDAY, same=True)
    assert two.rows[0]["between"] is None
    assert "two sets only show" in two.sentence
    first, second = three.rows
    assert first["between_high"] == second["between_high"] < two.rows[0]["between_high"]
    logs = np.log([row["tta_a_seconds"] for row in (first,)] +
                  [row["tta_b_seconds"] for row in (first, second)])  # fmt: skip
    assert first["between"] == pytest.approx(np.expm1(logs.std(ddof=1)), rel=0.01)
    worth = math.expm1(4.302653 * math.sqrt(2) * logs.std(ddof=1))  # t with 2 degrees of freedom
    assert first["smallest_claim"] == pytest.approx(worth)
    assert "sessions of these 3 sets is 10.6%" in three.sentence


def test_a_margin_asks_whether_sets_are_the_same() -> None:
    report = api.compare(MONDAY, ALSO_MONDAY, same=True, options=Options(margin=0.02))
    assert report.rows[0]["verdict"] == "same"


def test_a_column_tells_the_sets_of_one_table_apart() -> None:
    files = api.compare(MONDAY, TUESDAY, WEDNESDAY, same=True).rows
    table = pl.concat([WEDNESDAY, MONDAY, TUESDAY])
    days = api.compare(table, same=True, by=["day"]).rows
    assert [row["b"] for row in days] == ["2026-11-02", "2026-11-03"]
    for one, other in zip(days, files, strict=True):
        assert one["speedup"] == other["speedup"]
        assert one["smallest_claim"] == other["smallest_claim"]
    with pytest.raises(TtastatsError, match="all runs belong to one set: 2026-11-01"):
        api.compare(MONDAY, same=True, by=["day"])
    with pytest.raises(
        TtastatsError, match="--same needs several sets of runs, but there is one table"
    ):
        api.compare(MONDAY, same=True)
    with pytest.raises(TtastatsError, match="unknown column 'dya'"):
        api.compare(MONDAY, same=True, by=["dya"])


def test_what_is_said_of_a_table_is_said_once_of_its_sets() -> None:
    undated = timed(1.0, (1,)).with_columns(started_at=pl.lit(None, MONDAY["started_at"].dtype))
    table = pl.concat([MONDAY, TUESDAY, undated])
    report = api.compare(table, same=True, where=["reached=yes"], by=["day"])
    (text,) = texts(report, "chosen_by_result")
    assert text.startswith("--where reached=yes: 11 of 11 runs")
    assert texts(report, "blocks_unknown") == ["1 run excluded: day unknown."]


def test_benchmarks_are_told_apart() -> None:
    both = [
        pl.concat([one, timed(1.0, (5,), hour=hour, benchmark="bert")])
        for one, hour in ((MONDAY, 1), (TUESDAY, 2))
    ]
    report = api.compare(*both, same=True)
    rows = {row["benchmark"]: row for row in report.rows}
    assert rows["resnet"]["smallest_claim"] > 10 * rows["bert"]["smallest_claim"]
    assert "resnet: of two setups" in report.sentence


def test_qualities_at_a_budget_lie_apart_in_their_unit() -> None:
    sets = [losses(3.0, 0.0, (0,) * day + (5,), day) for day in range(3)]
    report = api.compare(*sets, same=True, at_end=True)
    first, _ = report.rows
    assert first["verdict"] == "apart"
    assert first["between"] == pytest.approx(0.1, rel=0.02)
    split = api.compare(pl.concat(sets), same=True, at_end=True, by=["day"])
    assert split.rows[0]["smallest_claim"] == first["smallest_claim"]
    assert texts(report, "separate_sessions")


def test_a_gate_asks_of_sets_what_it_asks_of_sides() -> None:
    report = api.compare(MONDAY, TUESDAY, same=True, fail_on="slower:2%")
    assert report.gate is not None
    assert not report.gate.passed
    assert report.rows[0]["verdict"] == "apart"
    passed = api.compare(MONDAY, ALSO_MONDAY, same=True, require="not-slower:2%")
    assert passed.gate is not None
    assert passed.gate.passed


def test_sets_without_a_spread_leave_it_unknown() -> None:
    report = api.compare(timed(1.0, (1,)), timed(1.0, (1,), hour=1), same=True)
    (found,) = report.rows
    assert (found["verdict"], found["smallest_claim"], found["sets"]) == ("unavailable", None, 1)


@pytest.mark.parametrize(
    "option",
    [
        {"block": ["day"]},
        {"options": Options(max_runs=20)},
        {"prior": "missing.parquet"},
        {"profiles": ("missing.parquet", "missing.parquet")},
    ],
)
def test_sets_are_not_compared_by_runs(option: dict[str, Any]) -> None:
    with pytest.raises(
        TtastatsError, match="cannot be combined with --same, which compares whole sessions"
    ):
        api.compare(MONDAY, TUESDAY, same=True, **option)


def test_the_command_takes_sets(tmp_path: Path) -> None:
    files = []
    for day in range(2):
        files.append(tmp_path / f"{day}.parquet")
        store.write(losses(3.0, 0.0, (0,) * day + (4,), day), files[-1])
    said = run("compare", *files, "--at-end", "--same", "-f", "json")
    assert said.returncode == 0, said.stderr
    (row,) = json.loads(said.stdout)["rows"]
    assert (row["verdict"], row["sets"]) == ("apart", 2)
    refused = run("compare", *files, "--at-end", "--same", "2%")
    assert refused.returncode == 2
    assert "--same --margin 2%" in refused.stderr
