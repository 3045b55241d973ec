"""The history of a setup: the nights and commits of its changes, their part, and the gate."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.accepted import Case, cases
from tests.made_nights import nights
from tests.questions import Questions, accepted_answers
from tests.test_accepted_answers import screen
from tests.test_cli import run
from ttastats import api
from ttastats.answers import history
from ttastats.answers.history import Part
from ttastats.base.errors import TtastatsError
from ttastats.stats.changes import Change
from ttastats.table import store

FAILED = (52, 54, 55, 56, 57, 58, 59)


@cache
def changed() -> pl.DataFrame:
    """Return a slower step from night 31, worse learning from 46, and failures from 53 on."""
    return nights(
        60,
        lambda night: 60 * (1.02 if night >= 30 else 1),
        lambda night: 10 * (1.15 if night >= 45 else 1),
        lambda night: 2 * (night in FAILED),
    )


def together() -> pl.DataFrame:
    """Return changes of both parts in one night, and one of the step before."""
    return nights(
        60,
        lambda night: 60 * (1.02 if night >= 15 else 1) * (1.05 if night >= 40 else 1),
        lambda night: 10 * (1.3 if night >= 40 else 1),
    )


def wandering() -> pl.DataFrame:
    """Return nights like the night before, with a change among them."""
    rng, level = np.random.default_rng(8), [0.0]
    for _ in range(59):
        level.append(0.7 * level[-1] + 0.01 * float(rng.normal()))
    return nights(60, lambda n: 60 * float(np.exp(level[n] + 0.03 * (n >= 30))),
                  noise=(0.001, 0.03))  # fmt: skip


def with_short() -> pl.DataFrame:
    short = [
        nights(number).with_columns(
            entry=pl.lit(f"short{number}"), run_id=pl.format("{}s{}", "run_id", pl.lit(number))
        )
        for number in (3, 9)
    ]
    return pl.concat([changed(), *short], how="diagonal")


def undated(*, all_of: bool) -> pl.DataFrame:
    table = nights(12)
    which = pl.lit(all_of) | (pl.col("source") == table["source"][0])
    return table.with_columns(started_at=pl.when(~which).then("started_at"))


def slower(factor: float, **more: Any) -> pl.DataFrame:
    return nights(40, lambda night: 60 * (factor if night >= 20 else 1), **more)


UNTIL = {"where": ["started_at<2026-02-14"]}
QUESTIONS: Questions = {
    "three changes are told by part, night and commit": lambda: api.history(changed()),
    "changes of both parts in one night are one of the time": lambda: api.history(together()),
    "what would have stayed unseen": lambda: api.history(nights(60)),
    "few nights pass undecided": lambda: api.history(nights(9), fail_on="slower:2%"),
    "setups with few nights share a sentence": lambda: api.history(with_short(), by=["entry"]),
    "the latest segment may be slower": lambda: api.history(
        changed(), fail_on="slower:2%", **UNTIL
    ),
    "it is slower": lambda: api.history(changed(), fail_on="slower:1%", **UNTIL),
    "and fails more": lambda: api.history(changed(), fail_on="slower:5%"),
    "a history that got faster passes": lambda: api.history(slower(0.9), fail_on="slower:2%"),
    "nights alike judge nothing": lambda: api.history(wandering(), fail_on="slower:0.1%"),
    "a commit orders": lambda: api.history(changed(), order="commit"),
    "no column orders": lambda: api.history(changed(), order="comit"),
    "numbers order where there is no date": lambda: api.history(
        undated(all_of=True), order="commit"
    ),
    "no run records its date": lambda: api.history(undated(all_of=True)),
    "a run without a date is left out": lambda: api.history(undated(all_of=False)),
    "each setup has its own": lambda: api.history(
        pl.concat([changed(), nights(40, seed=3, entry="other")]), fail_on="slower:5%"
    ),
    "without epochs the time itself is searched": lambda: api.history(
        slower(1.3).with_columns(epoch=pl.lit(None, pl.Float64))
    ),
}


def of_screens() -> Iterator[str]:
    """Yield the screens of steps, of a drift and of failures."""
    drift = nights(60, lambda night: 60 * 1.004 ** max(0, night - 20), noise=(0.001, 0.03))
    for series in (changed(), drift, pl.concat([changed(), nights(40, seed=3, entry="other")])):
        yield screen(api.history(series))


@cases("screens", history=of_screens)
def test_histories_are_shown_as_accepted(case: Case) -> None:
    assert case.is_as_accepted()


@accepted_answers("history", QUESTIONS)
@pytest.mark.usefixtures("in_codes")
def test_histories_are_as_accepted(case: Case) -> None:
    assert case.is_as_accepted()


def test_the_command_sets_the_exit_code(tmp_path: Path) -> None:
    table = tmp_path / "nights.parquet"
    store.write(changed(), table)
    result = run("history", table)
    assert result.returncode == 0
    assert "3 changes in 60 nights" in result.stdout
    failed = run("history", table, "--fail-on", "slower:5%", "--order", "commit")
    assert failed.returncode == 3
    assert "failures +87.5%" in failed.stdout + failed.stderr
    assert run("history", table, "--fail-on", "faster:5%").returncode == 2


def test_the_plot_has_the_nights_segments_and_changes_of_the_answer() -> None:
    times, failures = api.plot("history", changed())
    (table,) = times.data.values()
    segments = table.filter(what="segment")["part"].to_list()
    assert segments.count("time per epoch") == segments.count("epochs") == 2
    (speed,) = table.filter(what="change", part="time per epoch")["split"]
    assert speed == 30.5
    assert "time per epoch +1.9%" in times.caption
    (shares,) = failures.data.values()
    assert shares.filter(what="night")["value"].sum() == len(FAILED)
    assert [*shares.filter(what="change")["name"]] == ["2026-02-20 to 2026-02-22"]
    with pytest.raises(TtastatsError, match="no setup was run on 10 days or more"):
        api.plot("history", nights(9))


def test_a_baseline_is_the_runs_since_the_last_change(tmp_path: Path) -> None:
    calm = changed().filter(pl.col("started_at") < pl.datetime(2026, 2, 14, time_zone="UTC"))
    store.write(calm, tmp_path / "nights.parquet")
    store.write(nights(3, lambda _: 61.2, runs=3, seed=9), tmp_path / "branch.parquet")
    report = run("compare", tmp_path / "branch.parquet", "--baseline", tmp_path / "nights.parquet",
                 "--format", "json")  # fmt: skip
    assert report.returncode == 0, report.stderr
    assert '"n_a": 28' in report.stdout  # the nights since the slower step of January 31
    both = pl.concat([calm, nights(12, entry="other")])
    with pytest.raises(TtastatsError, match="2 setups"):
        api.latest_segment(both)


def test_changes_of_parts_that_may_be_of_one_night_are_one_change_of_the_time() -> None:
    change = partial(Change, median=None, size=0.125, low=0.0625, high=0.25, autocorrelation=None)
    whole = history._sum_of_parts(
        Part("time", "seconds", (), np.array([]), ()),
        [
            change(20, 19, 21, drift=False, independent=True, nights=20),
            change(11, 9, 11, drift=True, independent=True, nights=7),
            change(10, 9, 13, drift=False, independent=False, nights=9),
        ],
    )
    assert whole.borders == (
        Change(11, 9, 13, None, 0.25, 0.125, 0.5, True, None, False, 9),
        change(20, 19, 21, drift=False, independent=True, nights=20),
    )
