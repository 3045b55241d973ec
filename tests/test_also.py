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
    """Return a run that meets 3.28 at its last evaluation, with evaluations logged after it."""
    curve = tuple(
        evaluation(k, loss, seconds=seconds * (k + 1) / len(losses), target_value=3.28)
        for k, loss in enumerate(losses)
    )
    return Run(
        evaluations=(*curve, *more), benchmark="lm", run_status="success", run_seconds=seconds,
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
    report = compared(with_test(40.0, ACCURACIES, **where), with_test(20.0, WORSE, **where))
    (row,) = report.rows
    assert (row["verdict"], row["test_accuracy_verdict"]) == ("faster", "worse")
    assert row["test_accuracy_a"] == pytest.approx(0.932)
    assert row["test_accuracy_difference"] == pytest.approx(-0.01)
    assert row["test_accuracy_difference_low"] < -0.01 < row["test_accuracy_difference_high"]
    assert row["test_accuracy_p_value"] < 0.001
    assert "B has lower quality on data that were not used to stop the runs" in report.sentence
    assert "also test_accuracy  A 0.9320 ±0.0016  B 0.9220 ±0.0016  B − A -0.0100" in str(report)


def test_a_metric_nobody_logs_is_refused() -> None:
    with pytest.raises(TtastatsError, match="no benchmark logs") as error:
        compared(with_test(40.0, ACCURACIES), with_test(20.0, WORSE), "test_acuracy")
    assert "Nearest: test_accuracy" in (error.value.remedy or "")


def test_at_a_budget_the_metric_itself_is_asked_for() -> None:
    with pytest.raises(TtastatsError, match="applies to times") as error:
        api.compare(
            with_test(40.0, ACCURACIES), with_test(20.0, WORSE), also=["test_accuracy"], at_end=True
        )
    assert "at_end=True metric='test_accuracy'" in (error.value.remedy or "")


def test_the_option_of_the_command(tmp_path: Any) -> None:
    files = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    store.write(with_test(40.0, ACCURACIES), files[0])
    store.write(with_test(20.0, WORSE), files[1])
    result = run("compare", *files, "--also", "test_accuracy, val_loss")
    assert result.returncode == 0, result.stderr
    assert "also test_accuracy" in result.stdout
    assert "also val_loss" in result.stdout


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
