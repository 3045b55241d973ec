"""What is said of files that are recognised refines how they are read, and takes nothing away."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import ttastats as tta
from tests.made_logs import log, write

EPOCHS = (
    "epoch,time,metrics/precision(B),metrics/recall(B),metrics/mAP50(B),metrics/mAP50-95(B)\n"
    "1,10,0.1,0.1,0.2,0.1\n2,20,0.2,0.2,0.4,0.3\n3,5,0.2,0.2,0.6,0.5\n"
)
STATE = {
    "global_step": 20,
    "max_steps": 20,
    "log_history": [
        {"step": 10, "epoch": 1.0, "loss": 2.0},
        {"step": 10, "epoch": 1.0, "eval_loss": 1.5, "eval_accuracy": 0.7},
        {"step": 20, "epoch": 2.0, "loss": 1.0},
        {"step": 20, "epoch": 2.0, "eval_loss": 1.2, "eval_accuracy": 0.9},
    ],
}


def read(folder: Path, **said: Any) -> tuple[pl.DataFrame, dict[str, str]]:
    account = tta.ingest([folder], folder.parent / "read.parquet", workers=1, **said)
    rows = pl.read_parquet(folder.parent / "read.parquet")
    return rows, {problem.code: problem.message for problem in account.problems}


@pytest.fixture
def epochs(tmp_path: Path) -> Path:
    return write(tmp_path / "logs", {"small/seed1/results.csv": EPOCHS})


@pytest.fixture
def states(tmp_path: Path) -> Path:
    return write(tmp_path / "logs", {"bert/seed1/trainer_state.json": json.dumps(STATE)})


def test_an_option_refines_a_preset_whose_signs_a_file_bears(epochs: Path) -> None:
    rows, problems = read(epochs, block={"metric": "metrics/mAP50(B) >= 0.5"})
    assert rows["metric"].unique().to_list() == ["metrics/mAP50(B)"]
    assert rows["seconds"].to_list() == [10.0, 20.0, 25.0]  # resumed, as the preset knows
    assert rows["epoch"].to_list() == [1.0, 2.0, 3.0]
    assert rows["target_value"].unique().to_list() == [0.5]
    assert problems["recognised"] == (
        "recognised as ultralytics and read as that, except for the given settings (metric)"
    )


def test_what_is_said_goes_before_what_the_preset_says(epochs: Path) -> None:
    rows, _ = read(epochs, block={"seconds": "time min", "new_run": "time back"})
    assert rows["run_id"].n_unique() == 2
    assert rows["seconds"].max() == 1200.0


def test_a_block_with_a_pattern_refines_a_preset_too(epochs: Path) -> None:
    rows, _ = read(epochs, block={"files": "{entry}/seed{seed}/results.csv"})
    assert rows["entry"].unique().to_list() == ["small"]
    assert rows["seed"].unique().to_list() == [1]
    assert rows["seconds"].max() == 25.0


def test_a_block_that_says_where_things_stand_stands_for_itself(epochs: Path) -> None:
    said = {
        "files": "{entry}/{run}/results.csv",
        "metric": "metrics/mAP50(B)",
        "new_run": "time back",
    }
    rows, problems = read(epochs, block=said)
    assert rows["run_id"].n_unique() == 2
    assert "recognised" not in problems


def test_a_metric_that_a_preset_does_not_find_names_those_there_are(epochs: Path) -> None:
    said = r"recognised as ultralytics, but: no column .* Nearest: metrics/mAP50\(B\)"
    with pytest.raises(tta.TtastatsError, match=said):
        read(epochs, block={"metric": "metrics/mAP55(B)"})


@pytest.mark.parametrize("files", [None, "{entry}/seed{seed}/trainer_state.json"])
def test_a_block_chooses_the_metric_of_a_known_store(states: Path, files: str | None) -> None:
    rows, _ = read(states, block={"metric": "eval_accuracy >= 80 %"} | _pattern(files))
    assert rows["dialect"].unique().to_list() == ["hf-trainer"]
    assert rows.select("metric", "logged_value", "target_value", "target_source").rows() == [
        ("eval_accuracy", 0.7, None, None),
        ("eval_accuracy", 0.9, None, None),
    ]  # fractions, as is said beside: no target is taken
    rows, _ = read(states, block={"metric": "eval_accuracy >= 0.8"} | _pattern(files))
    assert rows["target_value"].to_list() == [0.8, 0.8]
    assert rows["entry"].unique().to_list() == ["bert"]


def _pattern(files: str | None) -> dict[str, str]:
    return {"files": files} if files else {}


def test_a_block_may_choose_a_metric_of_training(states: Path) -> None:
    rows, _ = read(states, block={"metric": "train_loss <= 1.1"})
    assert rows.select("eval_index", "metric", "value", "step").rows() == [
        (0, "train_loss", 2.0, 10),
        (1, "train_loss", 1.0, 20),
    ]


def test_percentages_and_fractions_are_told_apart_in_known_stores(states: Path) -> None:
    rows, problems = read(states, block={"metric": "eval_accuracy >= 80"})
    assert rows["target_value"].unique().to_list() == [None]
    assert "are these fractions?" in problems["percent_or_fraction"]


def test_a_run_without_the_metric_stays_and_says_which_it_has(states: Path) -> None:
    rows, problems = read(states, block={"metric": "eval_acuracy"})
    assert rows["run_id"].n_unique() == 1
    assert rows["value"].to_list() == [None]
    assert "Nearest: eval_accuracy" in problems["no_metric"]


def test_runs_of_known_stores_are_called_as_a_block_says(states: Path) -> None:
    rows, _ = read(
        states,
        block={"benchmark": "sst2", "entry": "steps {max_steps}", "accelerators": "8"},
    )
    assert rows.select("benchmark", "entry", "accelerators").unique().rows() == [
        ("sst2", "steps 20", 8)
    ]


def test_options_leave_runs_of_a_suite_as_they_are(tmp_path: Path) -> None:
    logs = write(
        tmp_path / "training_results_v5.0",
        {"Org/results/sys/digits/result_0.txt": log([0.5, 0.95])},
    )
    plain, _ = read(logs)
    rows, _ = read(logs, block={"metric": "val_loss", "benchmark": "other"})
    assert plain["suite"].unique().to_list() == ["mlperf"]
    named = ["benchmark", "metric", "value", "target_value"]
    assert rows.select(named).equals(plain.select(named))


def test_where_no_benchmark_is_known_none_is_shown(epochs: Path) -> None:
    read(epochs, block={"metric": "metrics/mAP50(B) >= 0.5", "entry": "a"})
    table = epochs.parent / "read.parquet"
    for report in (tta.summary(table), tta.runs(table), tta.targets(table)):
        text = str(report)
        assert "unknown" not in text
        assert "benchmark" not in text
        assert report.rows[0]["benchmark"] is None
