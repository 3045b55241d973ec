"""Is a mean shown to be as good as a number, and what is missing if not?"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from scipy import stats

from tests.made_curves import curve, evaluation, logs, of, side
from tests.test_cli import run
from tests.wild_tables import nanochat, nanogpt, parameter_golf, track_3
from ttastats import api
from ttastats.base.errors import TtastatsError
from ttastats.report.answer import Report
from ttastats.table import store

LOSSES = [3.277, 3.279, 3.276, 3.278, 3.275]


def claimed(runs: pl.DataFrame, quality: str = "val_loss <= 3.28", **asked: Any) -> Report:
    return api.claim(runs, quality=quality, **asked)


def row(ends: Sequence[float], quality: str = "val_loss <= 3.28", **asked: Any) -> dict[str, Any]:
    (found,) = claimed(side(ends), quality, **asked).rows
    return dict(found)


def test_a_claim_holds_by_the_one_sided_test() -> None:
    found = row(LOSSES)
    theirs = stats.ttest_1samp(LOSSES, 3.28, alternative="less")
    assert found["p_value"] == pytest.approx(theirs.pvalue)
    limits = stats.ttest_1samp(LOSSES, 3.28).confidence_interval(0.9)
    assert (found["low"], found["high"]) == pytest.approx(tuple(limits))
    assert (found["metric"], found["n"], found["threshold"]) == ("val_loss", 5, 3.28)
    assert (found["mean"], found["holds"]) == (pytest.approx(3.277), True)


def test_what_does_not_hold_says_how_many_runs_would_show_it() -> None:
    found = claimed(side(LOSSES), "val_loss <= 3.278")
    (numbers,) = found.rows
    assert not numbers["holds"]
    assert numbers["runs_needed"] > 5
    more = numbers["runs_needed"] - 5
    assert f"{more} more runs of this kind ({numbers['runs_needed']} in all)" in found.sentence


def test_a_mean_that_is_worse_needs_no_more_runs() -> None:
    found = claimed(side(LOSSES), "val_loss <= 3.276")
    assert (found.rows[0]["holds"], found.rows[0]["runs_needed"]) == (False, None)
    assert "worse by 0.0010" in found.sentence


def test_the_direction_is_that_of_the_metric_or_of_the_claim() -> None:
    assert row(LOSSES, "val_loss=3.28")["holds"]
    assert row(LOSSES, "3.28")["holds"]
    found = row(LOSSES, "val_loss >= 3.27")
    assert (found["holds"], found["higher_is_better"]) == (True, True)


def test_other_budgets_than_the_end() -> None:
    assert not row(LOSSES, at="step=200")["holds"]
    found = row(LOSSES, "val_loss <= 4.1", at="step=200")
    assert (found["mean"], found["at"], found["holds"]) == (4.0, "at step 200", True)
    assert row([5.0] * 3, "val_loss <= 4.1", at_end=True, best=True)["mean"] == 4.0


def test_a_stricter_level_asks_for_more() -> None:
    p_value = row(LOSSES)["p_value"]
    assert row(LOSSES, level=p_value * 1.01)["holds"]
    assert not row(LOSSES, level=p_value * 0.99)["holds"]


def test_a_known_deviation_makes_one_run_enough() -> None:
    assert not row([3.27])["holds"]
    found = row([3.27], sigma=0.0013)
    assert (found["holds"], found["p_value"]) == (
        True,
        pytest.approx(stats.norm.sf(0.01 / 0.0013)),
    )


def test_a_run_without_a_value_keeps_a_claim_from_holding() -> None:
    runs = pl.concat([side(LOSSES), logs([curve(5.0, 4.0, math.nan)])])
    found = claimed(runs)
    (numbers,) = found.rows
    assert (numbers["n"], numbers["n_missing"], numbers["holds"]) == (5, 1, False)
    assert {"not_a_number", "runs_missing"} <= {note.code for note in found.notes}
    assert "1 run had no value" in found.sentence


def test_what_a_run_may_take_at_the_end_or_to_the_target() -> None:
    runs = logs(
        [
            of(evaluation(0, 5.0), evaluation(1, 3.2, seconds=seconds), target_loss)
            for seconds, target_loss in (
                (20.0, evaluation(2, 3.1, seconds=40.0)),
                (21.0, evaluation(2, 3.1, seconds=41.0)),
                (19.0, evaluation(2, 3.1, seconds=42.0)),
            )
        ]
    )
    (at_end,) = api.claim(runs, seconds="<= 45", at_end=True).rows
    assert (at_end["mean"], at_end["holds"], at_end["at"]) == (41.0, True, "at the end")
    (to_target,) = api.claim(runs, seconds="<= 45", target=["val_loss<=3.2"]).rows
    assert (to_target["mean"], to_target["holds"]) == (20.0, True)
    assert to_target["at"] == "to the target"
    (steps,) = api.claim(runs, steps="<= 300", at_end=True).rows
    assert (steps["mean"], steps["p_value"], steps["holds"]) == (300.0, None, True)
    (fewer,) = api.claim(runs, steps="299", at_end=True).rows
    assert not fewer["holds"]
    both = api.claim(runs, quality="val_loss <= 3.15", seconds="<= 80").rows
    assert [one["metric"] for one in both] == ["val_loss", "seconds"]


def test_a_run_that_never_met_the_target_took_nobody_knows_how_long() -> None:
    runs = side([3.27, 3.27, 3.30])
    (found,) = api.claim(runs, seconds="<= 80", target=["val_loss<=3.28"]).rows
    assert (found["n"], found["n_missing"], found["holds"]) == (2, 1, False)


def test_every_group_is_held_against_it() -> None:
    runs = pl.concat([side(LOSSES, entry="good"), side([3.3, 3.31, 3.32], entry="bad")])
    found = claimed(runs)
    assert {one["entry"]: one["holds"] for one in found.rows} == {"good": True, "bad": False}
    assert "several_claims" in {note.code for note in found.notes}


def test_entries_that_log_another_metric_have_not_failed() -> None:
    other = logs([of(evaluation(0, 0.9, metric="accuracy"), entry="other")])
    found = claimed(pl.concat([side(LOSSES, entry="one"), other]))
    assert [one["entry"] for one in found.rows] == ["one"]
    assert "1 run of entries that log other metrics, or several (select one with --metric)" in str(
        found
    )


def test_an_error_speaks_of_the_claim() -> None:
    with pytest.raises(TtastatsError, match="far outside") as error:
        claimed(side(LOSSES), "val_loss <= 3280")
    assert error.value.where == "--quality val_loss<=3280"


def test_what_no_run_tells_cannot_be_claimed() -> None:
    bare = logs([of(evaluation(0, 3.2, step=None)), of(evaluation(0, 3.21, step=None))])
    with pytest.raises(TtastatsError, match="no run logs its steps"):
        api.claim(bare, steps="<= 300", at_end=True)
    timeless = logs([of(evaluation(0, value, seconds=None)) for value in (3.2, 3.21)])
    with pytest.raises(TtastatsError, match="no run logs its seconds"):
        api.claim(timeless, seconds="<= 300", target=["3.28"])
    with pytest.raises(TtastatsError, match="no run logs its seconds"):
        api.claim(side(LOSSES), seconds="<= 300", target=["3.28"], unit="steps")


@pytest.mark.parametrize(
    ("asked", "what"),
    [
        ({}, "no claim given"),
        ({"quality": "<="}, "not a quality target"),
        ({"seconds": ">= 80"}, "invalid claim"),
        ({"steps": "-5"}, "invalid claim"),
        ({"quality": "3.28", "target": ["3.3"]}, "--target cannot be combined"),
        ({"quality": "3.28", "metric": "val_loss"}, "--metric cannot be combined"),
        ({"quality": "loss <= 3.28"}, "no benchmark logs"),
    ],
)
def test_what_is_no_claim_is_refused(asked: dict[str, Any], what: str) -> None:
    with pytest.raises(TtastatsError, match=what) as error:
        api.claim(side(LOSSES), **asked)
    assert error.value.remedy


def test_the_exit_code_is_the_answer(tmp_path: Path) -> None:
    file = tmp_path / "runs.parquet"
    store.write(side(LOSSES), file)
    assert run("claim", file, "--quality", "val_loss <= 3.28").returncode == 0
    fails = run("claim", file, "--quality", "val_loss <= 3.278", "--level", "1%")
    assert (fails.returncode, "not shown" in fails.stdout) == (3, True)
    assert "[98% CI]" in fails.stdout
    refused = run("claim", file, "--quality", "val_loss <= 3.28", "--level", "60%")
    assert refused.returncode == 2
    assert "Exit code 0: it holds; 3: it does not" in " ".join(
        run("claim", "--help").stdout.split()
    )


# ------------------------------------------------------------------------------- what others state


def of_file(table: Path, *options: str) -> dict[str, Any]:
    done = run("claim", table, "-f", "json", *options)
    assert done.returncode in {0, 3}, done.stderr
    (found,) = json.loads(done.stdout)["rows"]
    return dict(found)


@pytest.mark.real
def test_the_loss_of_a_record_of_the_nanogpt_speedrun(wild: Path, tmp_path: Path) -> None:
    found = of_file(nanogpt(wild, tmp_path)[1], "--quality", "val_loss <= 3.28", "--level", "1%")
    assert (found["n"], found["holds"]) == (13, True)
    assert found["p_value"] == pytest.approx(0.0006690604, rel=1e-6)


@pytest.mark.real
def test_twenty_runs_of_track_3_by_its_z_test(wild: Path, tmp_path: Path) -> None:
    table = track_3(wild, tmp_path)
    found = of_file(table, "--quality", "val_loss <= 3.28", "--sigma", "0.0013", "--level", "0.1%")
    assert (found["n"], found["holds"]) == (20, True)
    assert found["margin"] * math.sqrt(20) == pytest.approx(0.004789657608)
    assert found["p_value"] == pytest.approx(stats.norm.sf(0.004789657608 / 0.0013))
    plain = of_file(table, "--quality", "val_loss <= 3.28")
    assert plain["p_value"] == pytest.approx(0.001052929246)


@pytest.mark.real
def test_twenty_seeds_do_not_reach_what_a_pull_request_asks(wild: Path, tmp_path: Path) -> None:
    found = of_file(nanochat(wild, tmp_path), "--quality", "core_score >= 0.256525")
    assert (found["n"], found["holds"], found["runs_needed"]) == (20, False, None)
    assert found["mean"] == pytest.approx(0.238905)
    assert found["sd"] == pytest.approx(0.006246217803)


@pytest.mark.real
def test_three_seeds_of_parameter_golf(wild: Path, tmp_path: Path) -> None:
    table = parameter_golf(wild, tmp_path)
    found = of_file(table, "--quality", "submitted_bpb <= 1.0822")
    assert found["mean"] == pytest.approx(1.081002877)
    assert found["sd"] == pytest.approx(0.0001967961789)
    assert (found["n"], found["holds"]) == (3, True)


def test_many_claims_come_to_how_many_hold_and_each_failure_stands_below_its_row() -> None:
    names = {"a": 0.0, "b": 0.0, "c": 0.0, "d": 0.01}
    runs = pl.concat(
        side([loss + more for loss in LOSSES]).with_columns(
            pl.col("run_id", "source", "content_digest") + name, entry=pl.lit(name)
        )
        for name, more in names.items()
    )
    found = claimed(runs)
    assert found.sentence == "val_loss ≤ 3.28 holds for 3 of 4 (a, b, c)."
    assert [bool(line.details) for line in found.tables[0].rows] == [False, False, False, True]
    assert "is not confirmed" in found.tables[0].rows[3].details[0]
