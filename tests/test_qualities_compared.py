"""Two sides at one budget: what is compared, the verdicts, and refusals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from scipy import stats

from tests.made_curves import side
from tests.test_cli import run
from tests.wild_tables import nanogpt, track_3
from ttastats import api

A = [3.20, 3.22, 3.19, 3.21, 3.20]
LIKE_A = [3.21, 3.19, 3.22, 3.20, 3.21]


def test_the_numbers_are_those_of_welch() -> None:
    (row,) = api.compare(side(A), side(LIKE_A), at_end=True).rows
    theirs = stats.ttest_ind(LIKE_A, A, equal_var=False)
    limits = theirs.confidence_interval()
    assert row["p_value"] == pytest.approx(theirs.pvalue)
    assert (row["difference_low"], row["difference_high"]) == pytest.approx(tuple(limits))
    assert row["verdict"] == "undecided"
    assert row["runs_needed"] > 5


@pytest.mark.real
def test_a_record_comes_out_as_its_authors_state_it(wild: Path, tmp_path: Path) -> None:
    truth = json.loads((wild / "truth.json").read_text("utf-8"))
    stated = next(record for record in truth if record["setup"].startswith("record 89"))
    before = next(record for record in truth if record["setup"].startswith("record 88"))
    theirs, old = stated["stated_by_authors"], before["stated_by_authors"]
    result = run("compare", *nanogpt(wild, tmp_path), "--at-end", "-f", "json")
    assert result.returncode == 0, result.stderr
    (row,) = json.loads(result.stdout)["rows"]
    assert row["quality_a"] == pytest.approx(old["mean_val_loss"], abs=1e-9)
    assert row["quality_b"] == pytest.approx(theirs["mean_val_loss"], abs=1e-9)
    assert (row["sd_a"], row["sd_b"]) == pytest.approx((old["sd"], theirs["sd"]), abs=1e-9)
    assert row["p_target_a"] == pytest.approx(old["p"], rel=1e-7)
    assert row["p_target_b"] == pytest.approx(theirs["p"], rel=1e-6)
    assert row["p_value"] == pytest.approx(theirs["welch_p_loss"], abs=1e-7)
    assert row["seconds_a"] == pytest.approx(old["mean_train_time"], abs=1e-6)
    assert row["seconds_b"] == pytest.approx(theirs["mean_train_time"], abs=1e-6)
    assert row["speedup"] == pytest.approx(theirs["speedup"], abs=1e-8)
    assert row["p_speedup"] == pytest.approx(theirs["welch_p_time"], rel=0.01)
    assert (row["speedup_low"], row["speedup_high"]) == pytest.approx((1.0116, 1.0146), abs=1e-4)
    assert (row["verdict"], row["n_a"], row["n_b"]) == ("undecided", 13, 13)


@pytest.mark.real
def test_twenty_runs_at_a_step_as_published(wild: Path, tmp_path: Path) -> None:
    (row,) = api.summary(track_3(wild, tmp_path), at="step=3375").rows
    assert (row["n"], row["quality_mean"]) == (20, pytest.approx(3.278929))
