"""Comparisons within sessions, machines or days, as a user meets them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.accepted import Case
from tests.made_curves import curve, evaluation, logs, of
from tests.questions import Questions, accepted_answers
from tests.test_cli import run
from tests.test_compare import side
from ttastats import api
from ttastats.report.answer import Report
from ttastats.sides.options import Options
from ttastats.table import store

START = datetime(2026, 11, 1, 8, tzinfo=UTC)
#: How slow each day is, and how a run differs from the mean of its day.
DAYS = (1.0, 1.1, 0.9)
NOISE = (0.000, 0.004, -0.003, 0.002, -0.004, 0.001)


def dated(runs: Sequence[int], hour: int) -> Iterator[tuple[int, int, int, datetime]]:
    """Yield the day, number, noise and start of runs, so many on each day."""
    for day, count in enumerate(runs):
        for number in range(count):
            when = START + timedelta(days=day, hours=2 * number + hour)
            yield day, number, 2 * day + number, when


def timed(speed: float, runs: Sequence[int], hour: int = 0, **more: Any) -> pl.DataFrame:
    """Return so many runs on each day, whose times depend on the day."""
    tables = []
    for day, number, place, when in dated(runs, hour):
        seconds = 300 * speed * DAYS[day] * (1 + NOISE[(place + 3 * hour) % len(NOISE)])
        tables.append(side([(seconds, 3 + number % 2)], started_at=when, **more))
    return pl.concat(tables)


def within(a: pl.DataFrame, b: pl.DataFrame, *block: str, **more: Any) -> Report:
    return api.compare(a, b, block=block or ("day",), **more)


def texts(report: Report, code: str) -> list[str]:
    return [note.text for note in report.notes if note.code == code]


def losses(start: float, gain: float, runs: Sequence[int], hour: int) -> pl.DataFrame:
    curves = []
    for day, _, place, when in dated(runs, hour):
        end = start + day / 10 - gain + NOISE[(place + hour) % 6]
        curves.append(curve(5.0, 4.0, end, started_at=when))
    return logs(curves)


def short_on(table: pl.DataFrame, day: int) -> pl.DataFrame:
    """Return runs of which those of one day end early, with names that do not vary."""
    table = table.with_columns(
        source=pl.format("log_{}_{}", pl.lit(day), pl.col("source").rank("dense"))
    )
    return table.filter((pl.col("started_at").dt.day() != day) | (pl.col("eval_index") < 2))


def on_hosts(speed: float) -> pl.DataFrame:
    """Return runs of a host on the first day, and of another on the second."""
    runs = (((2,), "x"), ((0, 2), "y"))
    hour = int(speed < 1)
    return pl.concat([timed(speed, days, hour, extra={"host": host}) for days, host in runs])


def undated(speed: float, count: int) -> pl.DataFrame:
    runs = timed(speed, (count,))
    return runs.with_columns(started_at=pl.lit(None, runs["started_at"].dtype))


def failing_on(table: pl.DataFrame, day: int) -> pl.DataFrame:
    reached = pl.col("reached") & (pl.col("started_at").dt.day() != day)
    return table.with_columns(reached=reached, tta_seconds=pl.when(reached).then("tta_seconds"))


def with_accuracy(speed: float, gain: float, hour: int) -> pl.DataFrame:
    """Return runs that meet a loss and have an accuracy at their end, two on each of two days."""
    runs = []
    for day, number, place, when in dated((2, 2), hour):
        last = evaluation(1, 0.9 - day / 10 + gain + NOISE[place + hour], metric="test_accuracy",
                          higher_is_better=True, step=None, epoch=None, seconds=None)  # fmt: skip
        reached = evaluation(0, 3.2, target_value=3.28, seconds=speed * (100 + number))
        runs.append(of(reached, last, started_at=when, run_status="success"))
    return logs(runs)


def paced(speed: float, hour: int) -> pl.DataFrame:
    """Return runs that end at the same losses, after times that depend on the day."""
    runs = []
    for day, number, place, when in dated((2, 2, 2), hour):
        seconds = 100 * speed * DAYS[day] * (1 + NOISE[(place + hour) % 6])
        last = evaluation(0, 3.0 + NOISE[(number + hour) % 6], seconds=seconds)
        runs.append(of(last, started_at=when))
    return logs(runs)


A, B = timed(1.0, (2, 2, 2)), timed(0.97, (2, 2, 2), hour=1)
EVENING, ODD = timed(0.97, (2, 2, 2), hour=9), timed(1.1, (0, 0, 2), hour=1)
EARLY, LATE = timed(0.97, (2, 2, 0), hour=1), timed(0.975, (0, 0, 2), hour=1)
TWO_DAYS = timed(1.0, (2, 2)), timed(0.97, (2, 2), hour=1)
SAME = timed(1.0, (0, 2), benchmark="bert").with_columns(source=pl.Series(["bert 0", "bert 1"]))
SPENT: dict[str, Any] = {"at_end": True, "unit": "seconds"}
QUESTIONS: Questions = {
    "days hide a difference": lambda: api.compare(A, B),
    "it is seen within days": lambda: within(A, B),
    "and within pairs": lambda: within(A, B, "order"),
    "runs apart are one block": lambda: within(
        timed(1.0, (6,)), timed(0.97, (6,), hour=13), "order"
    ),
    "splits of few runs have no p": lambda: within(*TWO_DAYS),
    "one common day is said": lambda: within(timed(1.0, (3, 2, 0)), timed(0.97, (3, 0, 2), hour=1)),
    "runs of no known day are counted": lambda: within(
        A, pl.concat([B, undated(1.02, 2)])
    ),
    "no common day": lambda: within(timed(1.0, (2, 0, 0)), timed(0.97, (0, 2, 0))),
    "a difference that changes from day to day is flagged": lambda: within(
        A, pl.concat([EARLY, ODD])
    ),
    "one that may change by chance is not": lambda: within(A, pl.concat([EARLY, LATE])),
    "sessions apart are a condition of a claim": lambda: api.compare(A, EVENING),
    "but not within blocks": lambda: within(A, EVENING),
    "by day": lambda: within(on_hosts(1.0), on_hosts(0.97)),
    "by a name in extra": lambda: within(on_hosts(1.0), on_hosts(0.97), "host"),
    "by a condition": lambda: within(on_hosts(1.0), on_hosts(0.97), "started_at<2026-11-02"),
    "by both": lambda: within(on_hosts(1.0), on_hosts(0.97), "day", "host"),
    "by no column": lambda: within(on_hosts(1.0), on_hosts(0.97), "hots"),
    "by a column without values": lambda: within(on_hosts(1.0), on_hosts(0.97), "submitter"),
    "successes that share no day": lambda: within(
        failing_on(TWO_DAYS[0], 1), failing_on(TWO_DAYS[1], 2)
    ),
    "their geometric means": lambda: within(
        failing_on(TWO_DAYS[0], 1), failing_on(TWO_DAYS[1], 2), options=Options(estimand="geomean")
    ),
    "days hide another metric": lambda: api.compare(
        with_accuracy(1.0, 0.0, 0), with_accuracy(0.9, 0.02, 1), also=["test_accuracy"]
    ),
    "another metric within days": lambda: within(
        with_accuracy(1.0, 0.0, 0), with_accuracy(0.9, 0.02, 1), also=["test_accuracy"]
    ),
    "setups pooled inside a block": lambda: within(
        pl.concat([A, timed(1.3, (2, 2, 2), entry="two")]), B, pool=True
    ),
    "a benchmark without a common day is no test": lambda: within(
        pl.concat([A, timed(1.0, (2, 0, 0), benchmark="bert")]),
        pl.concat([B, timed(0.97, (0, 2, 0), hour=1, benchmark="bert")]),
    ),
    "nor is one of the same runs": lambda: within(
        pl.concat([A, timed(1.0, (2,), benchmark="bert")]), pl.concat([B, SAME])
    ),
    "days hide losses": lambda: api.compare(
        losses(3.0, 0.0, (2, 2, 2), 0), losses(3.0, 0.02, (2, 1, 3), 1), at_end=True
    ),
    "losses within days": lambda: within(
        losses(3.0, 0.0, (2, 2, 2), 0), losses(3.0, 0.02, (2, 1, 3), 1), at_end=True
    ),
    "losses that share no day": lambda: within(
        short_on(losses(3.0, 0.0, (2, 2), 0), 1), short_on(losses(3.0, 0.02, (2, 2), 1), 2),
        at="step=300",
    ),
    "days hide what was spent": lambda: api.compare(paced(1.0, 0), paced(0.97, 1), **SPENT),
    "what was spent within days": lambda: within(paced(1.0, 0), paced(0.97, 1), **SPENT),
    "blocks of several runs have no look": lambda: within(A, B, options=Options(max_runs=20)),
}  # fmt: skip


@accepted_answers("blocks", QUESTIONS)
@pytest.mark.usefixtures("in_codes")
def test_comparisons_within_blocks_are_as_accepted(case: Case) -> None:
    assert case.is_as_accepted()


def test_the_command_takes_blocks(tmp_path: Path) -> None:
    files = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    for hour, file in enumerate(files):
        store.write(losses(3.0, 0.02 * hour, (2, 2), hour), file)
    result = run("compare", *files, "--at-end", "--block", "day", "-f", "json")
    assert result.returncode == 0
    (row,) = json.loads(result.stdout)["rows"]
    assert [block["block"] for block in row["blocks"]] == ["2026-11-01", "2026-11-02"]
