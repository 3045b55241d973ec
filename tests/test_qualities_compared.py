"""Two sides at one budget: what is compared, what is said, and what cannot be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from scipy import stats

from tests.made_curves import evaluation, logs, of, side
from tests.test_cli import run
from tests.wild_tables import nanogpt, track_3
from ttastats import api
from ttastats.report.answer import Report

A = [3.20, 3.22, 3.19, 3.21, 3.20]
LIKE_A = [3.21, 3.19, 3.22, 3.20, 3.21]


def report(a: pl.DataFrame, *others: pl.DataFrame, **asked: Any) -> Report:
    return api.compare(a, *others, **({"at_end": True} | asked))


def test_the_numbers_are_those_of_welch() -> None:
    (found,) = report(side(A), side(LIKE_A)).rows
    theirs = stats.ttest_ind(LIKE_A, A, equal_var=False)
    limits = theirs.confidence_interval()
    assert found["p_value"] == pytest.approx(theirs.pvalue)
    assert (found["difference_low"], found["difference_high"]) == pytest.approx(tuple(limits))
    assert found["verdict"] == "undecided"
    assert found["runs_needed"] > 5


def test_where_the_budget_is_a_time_it_is_told_how_far_runs_got() -> None:
    def paced(seconds: float) -> pl.DataFrame:
        run = of(*(evaluation(k, 5.0 - k, seconds=seconds * (k + 1)) for k in range(10)))
        return logs([run] * 3)

    (found,) = report(paced(20.0), paced(10.0), at_end=False, at="seconds=100").rows
    assert (found["axis"], found["seconds_a"], found["seconds_b"]) == ("steps", 500.0, 1000.0)
    (cost,) = report(
        paced(20.0), paced(10.0), at_end=False, at="step=500", unit="cost", price=36.0
    ).rows
    assert (cost["axis"], cost["seconds_a"], cost["speedup"]) == ("cost", 1.0, 2.0)


@pytest.mark.real
def test_a_record_comes_out_as_its_authors_state_it(wild: Path, tmp_path: Path) -> None:
    truth = json.loads((wild / "truth.json").read_text("utf-8"))
    stated = next(one for one in truth if one["setup"].startswith("record 89"))
    before = next(one for one in truth if one["setup"].startswith("record 88"))
    theirs, old = stated["stated_by_authors"], before["stated_by_authors"]
    done = run("compare", *nanogpt(wild, tmp_path), "--at-end", "-f", "json")
    assert done.returncode == 0, done.stderr
    (found,) = json.loads(done.stdout)["rows"]
    assert found["quality_a"] == pytest.approx(old["mean_val_loss"], abs=1e-9)
    assert found["quality_b"] == pytest.approx(theirs["mean_val_loss"], abs=1e-9)
    assert (found["sd_a"], found["sd_b"]) == pytest.approx((old["sd"], theirs["sd"]), abs=1e-9)
    assert found["p_target_a"] == pytest.approx(old["p"], rel=1e-7)
    assert found["p_target_b"] == pytest.approx(theirs["p"], rel=1e-6)
    assert found["p_value"] == pytest.approx(theirs["welch_p_loss"], abs=1e-7)
    assert found["seconds_a"] == pytest.approx(old["mean_train_time"], abs=1e-6)
    assert found["seconds_b"] == pytest.approx(theirs["mean_train_time"], abs=1e-6)
    assert found["speedup"] == pytest.approx(theirs["speedup"], abs=1e-8)
    assert found["p_speedup"] == pytest.approx(theirs["welch_p_time"], rel=0.01)
    assert (found["speedup_low"], found["speedup_high"]) == pytest.approx(
        (1.0116, 1.0146), abs=1e-4
    )
    assert (found["verdict"], found["n_a"], found["n_b"]) == ("undecided", 13, 13)


@pytest.mark.real
def test_twenty_runs_at_a_step(wild: Path, tmp_path: Path) -> None:
    (row,) = api.summary(track_3(wild, tmp_path), at="step=3375").rows
    assert (row["n"], row["quality_mean"]) == (20, pytest.approx(3.278929))
