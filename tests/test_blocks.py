"""Comparisons within sessions, machines or days, as a user meets them."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.made_curves import curve, evaluation, logs, of
from tests.test_cli import run
from tests.test_compare import side
from ttastats import api
from ttastats.base.errors import TtastatsError
from ttastats.report.answer import Report
from ttastats.sides.options import Options
from ttastats.table import store

START = datetime(2026, 11, 1, 8, tzinfo=UTC)
#: How slow each day is, and how a run differs from the mean of its day.
DAYS = (1.0, 1.1, 0.9)
NOISE = (0.000, 0.004, -0.003, 0.002, -0.004, 0.001)


def timed(speed: float, runs: Sequence[int], hour: int = 0, **more: Any) -> pl.DataFrame:
    """Return so many runs on each day, of times that the day makes longer or shorter."""
    made = []
    for day, count in enumerate(runs):
        for number in range(count):
            noise = NOISE[(2 * day + number + 3 * hour) % len(NOISE)]
            when = START + timedelta(days=day, hours=2 * number + hour)
            seconds = 300 * speed * DAYS[day] * (1 + noise)
            made.append(side([(seconds, 3 + number % 2)], started_at=when, **more))
    return pl.concat(made)


def within(a: pl.DataFrame, b: pl.DataFrame, *block: str, **asked: Any) -> Report:
    return api.compare(a, b, block=block or ("day",), **asked)


def texts(report: Report, code: str) -> list[str]:
    return [note.text for note in report.notes if note.code == code]


A, B = timed(1.0, (2, 2, 2)), timed(0.97, (2, 2, 2), hour=1)


def test_what_days_hide_is_seen_within_them() -> None:
    (plain,), (found,) = api.compare(A, B).rows, within(A, B).rows
    assert (plain["verdict"], found["verdict"]) == ("undecided", "faster")
    assert found["speedup"] == pytest.approx(1 / 0.97, rel=0.005)
    assert found["speedup_high"] - found["speedup_low"] < 0.02 < plain["speedup_high"] - 1
    assert [one["block"] for one in found["blocks"]] == ["2026-11-01", "2026-11-02", "2026-11-03"]
    assert all(one["speedup"] == pytest.approx(1.031, abs=0.01) for one in found["blocks"])
    assert "blocks" not in plain
    assert api.compare(A, B, block="day").rows == (found,)


def test_splits_are_of_runs_of_a_day_where_there_are_enough() -> None:
    (found,), (paired,) = within(A, B).rows, within(A, B, "order").rows
    assert found["p_permutation"] == pytest.approx(2 / 6**3)
    assert paired["p_permutation"] == pytest.approx(2 / 2**6)
    (few,) = within(timed(1.0, (2, 2)), timed(0.97, (2, 2), hour=1)).rows
    assert few["p_permutation"] is None


def test_one_common_day_is_said_and_is_the_plain_comparison_of_it() -> None:
    report = within(timed(1.0, (3, 2, 0)), timed(0.97, (3, 0, 2), hour=1))
    (text,) = texts(report, "blocks")
    assert text.startswith("only one block by day has both sides, 2026-11-01 (3 runs of A, 3 of B)")
    (found,) = report.rows
    (plain,) = api.compare(timed(1.0, (3,)), timed(0.97, (3,), hour=1)).rows
    for name in (
        "speedup",
        "speedup_low",
        "speedup_high",
        "p_value",
        "robust_low",
        "throughput_low",
    ):
        assert found[name] == pytest.approx(plain[name], rel=1e-9), name


def test_no_common_day_is_an_error_that_names_the_days() -> None:
    with pytest.raises(TtastatsError, match="no block has runs of both sides") as error:
        within(timed(1.0, (2, 0, 0)), timed(0.97, (0, 2, 0)))
    assert "2026-11-01 (2 runs of A); 2026-11-02 (2 runs of B)" in str(error.value)


def test_a_difference_that_changes_from_day_to_day_is_flagged() -> None:
    odd = pl.concat([timed(0.97, (2, 2, 0), hour=1), timed(1.1, (0, 0, 2), hour=1)])
    report = within(A, odd)
    assert "blocks_differ" in report.rows[0]["flags"]
    assert report.rows[0]["p_blocks_differ"] < 0.001 < within(A, B).rows[0]["p_blocks_differ"]
    assert (
        "the verdict is for their mean, and another block may differ"
        in texts(report, "blocks_differ")[0]
    )


def test_blocks_that_may_differ_by_chance_are_not_flagged() -> None:
    late = timed(0.975, (0, 0, 2), hour=1)
    (row,) = within(A, pl.concat([timed(0.97, (2, 2, 0), hour=1), late])).rows
    assert 0.05 < row["p_blocks_differ"] < 0.5
    assert "blocks_differ" not in row["flags"]


def test_sessions_within_a_block_are_no_condition_of_its_claim() -> None:
    evening = timed(0.97, (2, 2, 2), hour=9)
    (plain,), (found,) = api.compare(A, evening).rows, within(A, evening).rows
    assert "separate_sessions" in plain["flags"]
    assert "separate_sessions" not in found["flags"]
    assert found["verdict"] == "faster"


def test_runs_in_turn_are_blocks_of_their_order() -> None:
    (found,) = within(A, B, "order").rows
    assert [(one["n_a"], one["n_b"]) for one in found["blocks"]] == [(1, 1)] * 6
    assert found["verdict"] == "faster"
    late = timed(0.97, (6,), hour=13)
    (apart,) = within(timed(1.0, (6,)), late, "order").rows
    assert [(one["n_a"], one["n_b"]) for one in apart["blocks"]] == [(6, 6)]


def test_columns_names_in_extra_and_conditions_tell_blocks() -> None:
    def on(host: str, speed: float, day: tuple[int, ...], **more: Any) -> pl.DataFrame:
        return timed(speed, day, hour=int(speed < 1), extra={"host": host}, **more)

    a, b = (pl.concat([on("x", s, (2,)), on("y", s, (0, 2))]) for s in (1.0, 0.97))
    (by_day,), (by_host,) = within(a, b).rows, within(a, b, "host").rows
    assert by_host["speedup"] == by_day["speedup"]
    assert [one["block"] for one in by_host["blocks"]] == ["x", "y"]
    (by_condition,) = within(a, b, "started_at<2026-11-02").rows
    assert by_condition["speedup"] == pytest.approx(by_day["speedup"], rel=1e-12)
    (by_both,) = within(a, b, "day", "host").rows
    assert [one["block"] for one in by_both["blocks"]] == ["2026-11-01 | x", "2026-11-02 | y"]
    with pytest.raises(TtastatsError, match="unknown column 'hots'"):
        within(a, b, "hots")
    with pytest.raises(TtastatsError, match="no run records its submitter"):
        within(a, b, "submitter")


@pytest.mark.parametrize("estimand", ["mean", "geomean"])
def test_successes_that_share_no_day_leave_the_parts_without_an_interval(estimand: str) -> None:
    def failing_on(table: pl.DataFrame, day: int) -> pl.DataFrame:
        there = pl.col("started_at").dt.day() == day
        reached = pl.col("reached") & ~there
        return table.with_columns(reached=reached, tta_seconds=pl.when(reached).then("tta_seconds"))

    a, b = failing_on(timed(1.0, (2, 2)), 1), failing_on(timed(0.97, (2, 2), hour=1), 2)
    options = Options(estimand=estimand)  # type: ignore[arg-type]
    (found,) = within(a, b, options=options).rows
    assert found["estimand"] == "ert"
    assert found["throughput_speedup"] is not None
    assert found["throughput_low"] is None


def test_other_metrics_are_compared_within_blocks_too() -> None:
    def tested(speed: float, gain: float, days: Sequence[int], hour: int) -> pl.DataFrame:
        made = []
        for day in days:
            for number in range(2):
                value = 0.9 - day / 10 + gain + NOISE[2 * day + number + hour]
                more = {"metric": "test_accuracy", "higher_is_better": True}
                place = {"step": None, "epoch": None, "seconds": None}
                last = evaluation(1, value, **more, **place)
                reached = evaluation(0, 3.2, target_value=3.28, seconds=speed * (100 + number))
                when = START + timedelta(days=day, hours=2 * number + hour)
                made.append(of(reached, last, started_at=when, run_status="success"))
        return logs(made)

    sides = tested(1.0, 0.0, (0, 1), 0), tested(0.9, 0.02, (0, 1), 1)
    (plain,) = api.compare(*sides, also=["test_accuracy"]).rows
    (found,) = within(*sides, also=["test_accuracy"]).rows
    names = ("test_accuracy_verdict", "test_accuracy_difference")
    assert (plain[names[0]], found[names[0]]) == ("undecided", "better")
    assert found[names[1]] == pytest.approx(0.02, abs=0.005)


def test_setups_pooled_inside_a_block_are_not_judged() -> None:
    other = timed(1.3, (2, 2, 2), entry="two")
    (found,) = within(pl.concat([A, other]), B, pool=True).rows
    assert found["verdict"] == "unavailable"
    assert "a block holds several setups of a side" in found["claim"]


def test_several_benchmarks_share_alpha_and_one_without_a_common_day_is_no_test() -> None:
    both = [pl.concat([one, timed(1.0, days, benchmark="bert")]) for one, days in (
        (A, (2, 0, 0)), (B, (0, 2, 0)))]  # fmt: skip
    rows = {row["benchmark"]: row for row in within(*both).rows}
    assert rows["bert"]["verdict"] == "unavailable"
    assert rows["resnet"]["p_adjusted"] == rows["resnet"]["p_value"]


def losses(start: float, gain: float, runs: Sequence[int], hour: int) -> pl.DataFrame:
    made = []
    for day, count in enumerate(runs):
        for number in range(count):
            end = start + day / 10 - gain + NOISE[(2 * day + number + hour) % 6]
            when = START + timedelta(days=day, hours=2 * number + hour)
            made.append(curve(5.0, 4.0, end, started_at=when))
    return logs(made)


def test_qualities_at_a_budget_are_compared_within_blocks() -> None:
    a, b = losses(3.0, 0.0, (2, 2, 2), 0), losses(3.0, 0.02, (2, 1, 3), 1)
    (plain,) = api.compare(a, b, at_end=True).rows
    report = within(a, b, at_end=True)
    (found,) = report.rows
    assert (plain["verdict"], found["verdict"]) == ("undecided", "better")
    assert found["difference"] == pytest.approx(-0.02, abs=0.004)
    assert [one["n_b"] for one in found["blocks"]] == [2, 1, 3]
    assert found["blocks"][0]["difference"] == pytest.approx(-0.02, abs=0.005)
    assert texts(report, "blocks")


def test_what_was_spent_by_the_budget_has_its_p_within_blocks() -> None:
    def paced(speed: float, hour: int) -> pl.DataFrame:
        made = []
        for day, number in itertools.product(range(3), range(2)):
            noise = 1 + NOISE[(2 * day + number + hour) % 6]
            when = START + timedelta(days=day, hours=2 * number + hour)
            seconds = 100 * speed * DAYS[day] * noise
            last = evaluation(0, 3.0 + NOISE[(number + hour) % 6], seconds=seconds)
            made.append(of(last, started_at=when))
        return logs(made)

    sides = paced(1.0, 0), paced(0.97, 1)
    (plain,), (found,) = (
        api.compare(*sides, at_end=True, unit="seconds", **more).rows
        for more in ({}, {"block": ("day",)})
    )
    assert plain["speedup_low"] < 1 < found["speedup_low"]
    assert plain["p_speedup"] > 0.05 > found["p_speedup"]


def test_blocks_have_no_plan_of_looks() -> None:
    with pytest.raises(TtastatsError, match="no sequentially valid interval is available"):
        within(A, B, options=Options(max_runs=20))


def test_the_command_takes_blocks(tmp_path: Path) -> None:
    files = []
    for name, table in (("a", losses(3.0, 0.0, (2, 2), 0)), ("b", losses(3.0, 0.02, (2, 2), 1))):
        files.append(str(tmp_path / f"{name}.parquet"))
        store.write(table, Path(files[-1]))
    said = run("compare", *files, "--at-end", "--block", "day", "-f", "json")
    assert said.returncode == 0
    (row,) = json.loads(said.stdout)["rows"]
    assert [one["block"] for one in row["blocks"]] == ["2026-11-01", "2026-11-02"]
    refused = run("compare", *files, "--at-end", "--block", "dya")
    assert refused.returncode == 2
    assert "unknown column 'dya'" in refused.stderr
