"""Another metric where runs stopped: does a gain in time cost quality that nobody looked at?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import ttastats as tta
from tests.made_curves import evaluation, logs
from tests.test_cli import run
from ttastats import api
from ttastats.base.errors import TtastatsError
from ttastats.base.records import Evaluation, Run
from ttastats.report.answer import Report
from ttastats.table import store

TEST = {"metric": "test_accuracy", "higher_is_better": True}
ACCURACIES = [0.931, 0.934, 0.932, 0.930, 0.933]


def stopped(seconds: float, *more: Evaluation, losses: Sequence[float] = (5.0, 3.2)) -> Run:
    """Return a run that meets 3.28 at its last evaluation, and what was logged of it after."""
    own = tuple(
        evaluation(k, loss, seconds=seconds * (k + 1) / len(losses), target_value=3.28)
        for k, loss in enumerate(losses)
    )
    return Run(
        evaluations=(*own, *more), benchmark="lm", run_status="success", run_seconds=seconds,
        entry="one",
    )  # fmt: skip


def with_test(pace: float, accuracies: Sequence[float], **where: Any) -> pl.DataFrame:
    """Return runs with an accuracy on data that did not choose the stop, by default after it."""
    place = {"index": 2, "step": None, "epoch": None, "seconds": None} | where
    return logs(
        [
            stopped(
                pace + number / 10,
                Evaluation(value=accuracy, logged_value=accuracy, **place, **TEST),
            )
            for number, accuracy in enumerate(accuracies)
        ]
    )


def compared(a: pl.DataFrame, b: pl.DataFrame, *also: str) -> Report:
    return api.compare(a, b, also=also or ["test_accuracy"])


WORSE = [value - 0.01 for value in ACCURACIES]


@pytest.mark.parametrize(
    "where",
    [
        {},
        {"index": 1, "step": 200, "epoch": 2.0, "seconds": 20.0},
        {"index": 2, "step": 200, "epoch": 2.0},
    ],
    ids=["after the end", "at the checkpoint", "after it, of the same weights"],
)
def test_a_gain_in_time_that_costs_quality_is_called_so(where: dict[str, Any]) -> None:
    found = compared(with_test(40.0, ACCURACIES, **where), with_test(20.0, WORSE, **where))
    (row,) = found.rows
    assert (row["verdict"], row["test_accuracy_verdict"]) == ("faster", "worse")
    assert row["test_accuracy_a"] == pytest.approx(0.932)
    assert row["test_accuracy_difference"] == pytest.approx(-0.01)
    assert row["test_accuracy_difference_low"] < -0.01 < row["test_accuracy_difference_high"]
    assert row["test_accuracy_p_value"] < 0.001
    assert (
        "the faster setup has lower quality on data that were not used to stop the runs"
        in found.sentence
    )
    assert "also test_accuracy  A 0.9320 ±0.0016  B 0.9220 ±0.0016  B − A -0.0100" in str(found)


def test_what_gains_no_time_pays_no_price() -> None:
    found = compared(with_test(20.0, ACCURACIES), with_test(20.1, WORSE))
    assert found.rows[0]["verdict"] != "faster"
    assert "B is worse than A" in found.sentence
    assert "lower quality" not in found.sentence


def test_no_difference_is_not_shown() -> None:
    found = compared(with_test(40.0, ACCURACIES), with_test(20.0, ACCURACIES[::-1]))
    assert found.rows[0]["test_accuracy_verdict"] == "undecided"
    assert "test_accuracy at the end of the runs: no significant difference" in found.sentence


def test_a_better_one_is_no_price() -> None:
    found = compared(with_test(40.0, WORSE), with_test(20.0, ACCURACIES))
    assert found.rows[0]["test_accuracy_verdict"] == "better"
    assert "B is better than A" in found.sentence


def test_weights_that_were_trained_further_are_others() -> None:
    later = {"index": 2, "step": 300, "epoch": 3.0}
    found = compared(with_test(40.0, ACCURACIES), with_test(20.0, WORSE, **later))
    (row,) = found.rows
    assert (row["test_accuracy_b"], row["test_accuracy_verdict"]) == (None, "unavailable")
    assert "unknown, as no run of B logs it there" in found.sentence


def test_runs_that_lack_it_are_counted() -> None:
    a = pl.concat([with_test(40.0, ACCURACIES), logs([stopped(41.0)])])
    found = compared(a, with_test(20.0, WORSE))
    (text,) = [note.text for note in found.notes if note.code == "also_missing"]
    assert "test_accuracy is known of 5/6 runs of A and 5 of B" in text


def test_several_metrics_share_one_alpha() -> None:
    both = with_test(40.0, ACCURACIES), with_test(20.0, WORSE)
    found = compared(*both, "test_accuracy", "val_loss")
    (row,) = found.rows
    assert row["test_accuracy_p_adjusted"] == pytest.approx(2 * row["test_accuracy_p_value"])
    (text,) = [note.text for note in found.notes if note.code == "chose_the_stop"]
    assert text.startswith("val_loss determined when the runs stopped")


def test_the_metric_that_stopped_the_runs_is_not_quality_on_other_data() -> None:
    def ended(pace: float, loss: float) -> pl.DataFrame:
        return logs([stopped(pace + n, losses=(5.0, loss + n / 1000)) for n in range(5)])

    found = compared(ended(40.0, 3.20), ended(20.0, 3.25), "val_loss")
    (row,) = found.rows
    assert (row["verdict"], row["val_loss_verdict"]) == ("faster", "worse")
    assert "val_loss at the end of the runs: B is worse than A" in found.sentence
    assert "lower quality" not in found.sentence


def test_each_benchmark_is_told_by_name() -> None:
    def two(pace: float, accuracies: Sequence[float]) -> pl.DataFrame:
        first = with_test(pace, accuracies)
        return pl.concat(
            [first, with_test(pace, accuracies).with_columns(benchmark=pl.lit("other"))]
        )

    found = compared(two(40.0, ACCURACIES), two(20.0, WORSE))
    assert "lm, test_accuracy at the end of the runs" in found.sentence
    assert "other, test_accuracy at the end of the runs" in found.sentence


def test_a_benchmark_that_lacks_the_metric_has_no_line_of_it() -> None:
    def two(pace: float, accuracies: Sequence[float]) -> pl.DataFrame:
        other = logs([stopped(pace + n) for n in range(2)]).with_columns(benchmark=pl.lit("other"))
        return pl.concat([with_test(pace, accuracies), other])

    found = compared(two(40.0, ACCURACIES), two(20.0, WORSE))
    assert str(found).count("also test_accuracy") == 1
    assert "other, test_accuracy" not in found.sentence
    assert not [note for note in found.notes if note.code == "also_missing"]


def test_one_run_a_side_has_no_verdict() -> None:
    found = compared(with_test(40.0, ACCURACIES[:1]), with_test(20.0, WORSE[:1]))
    assert "no verdict; it needs 2 runs per side" in found.sentence


def test_who_reached_nothing_is_said_not_to_have_reached() -> None:
    short = pl.when(pl.col("value") == 3.2).then(4.0).otherwise(pl.col("value"))
    never = with_test(20.0, WORSE).with_columns(value=short)
    found = compared(with_test(40.0, ACCURACIES), never)
    assert "unknown, as no run of B reached the target" in found.sentence


def test_a_metric_nobody_logs_is_refused() -> None:
    with pytest.raises(TtastatsError, match="no benchmark logs") as error:
        compared(with_test(40.0, ACCURACIES), with_test(20.0, WORSE), "test_acuracy")
    assert "Nearest: test_accuracy" in (error.value.remedy or "")


def test_at_a_budget_the_metric_itself_is_asked_for() -> None:
    with pytest.raises(TtastatsError, match="applies to times") as error:
        api.compare(
            with_test(40.0, ACCURACIES), with_test(20.0, WORSE), also=["test_accuracy"], at_end=True
        )
    assert "--at-end --metric test_accuracy" in (error.value.remedy or "")


def test_the_option_of_the_command(tmp_path: Any) -> None:
    for name, runs in (("a", with_test(40.0, ACCURACIES)), ("b", with_test(20.0, WORSE))):
        store.write(runs, tmp_path / f"{name}.parquet")
    files = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    done = run("compare", *files, "--also", "test_accuracy, val_loss")
    assert done.returncode == 0, done.stderr
    assert "also test_accuracy" in done.stdout
    assert "also val_loss" in done.stdout


@pytest.mark.real
def test_the_test_quality_of_public_logs(wild: Path, tmp_path: Path) -> None:
    logs = wild / "algoperf/algoperf_v06/logs/external_tuning/baseline"
    sides = [tmp_path / f"study_{study}.parquet" for study in (0, 1)]
    for side in sides:
        tta.ingest([logs / side.stem / "fastmri_jax"], side, workers=1)
    (row,) = api.compare(*sides, also=["test/ssim"]).rows
    assert (row["reached_a"], row["reached_b"]) == (4, 4)
    assert row["test/ssim_a"] == pytest.approx(0.741080, abs=1e-6)
    assert row["test/ssim_b"] == pytest.approx(0.741225, abs=1e-6)
    assert row["test/ssim_verdict"] == "undecided"
