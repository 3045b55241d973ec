"""Options for recognised files refine how they are read, and lose nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import ttastats as tta
from tests.made_logs import write

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


def read(folder: Path, **block: Any) -> tuple[pl.DataFrame, dict[str, str]]:
    account = tta.ingest([folder], folder.parent / "read.parquet", workers=1, **block)
    rows = pl.read_parquet(folder.parent / "read.parquet")
    return rows, {problem.code: problem.message for problem in account.problems}


def test_an_option_refines_a_preset_whose_signs_a_file_bears(tmp_path: Path) -> None:
    epochs = write(tmp_path / "logs", {"small/seed1/results.csv": EPOCHS})
    rows, problems = read(epochs, block={"metric": "metrics/mAP50(B) >= 0.5"})
    assert rows["metric"].unique().to_list() == ["metrics/mAP50(B)"]
    assert rows["seconds"].to_list() == [10.0, 20.0, 25.0]  # resumed, as the preset knows
    assert rows["epoch"].to_list() == [1.0, 2.0, 3.0]
    assert rows["target_value"].unique().to_list() == [0.5]
    assert problems["recognised"] == (
        "recognised as ultralytics and read as that, except for the given settings (metric)"
    )


@pytest.mark.parametrize("files", [{}, {"files": "{entry}/seed{seed}/trainer_state.json"}])
def test_a_block_chooses_the_metric_of_a_known_store(files: dict[str, str], tmp_path: Path) -> None:
    states = write(tmp_path / "logs", {"bert/seed1/trainer_state.json": json.dumps(STATE)})
    rows, _ = read(states, block={"metric": "eval_accuracy >= 80 %"} | files)
    assert rows["dialect"].unique().to_list() == ["hf-trainer"]
    assert rows.select("metric", "logged_value", "target_value", "target_source").rows() == [
        ("eval_accuracy", 0.7, None, None),
        ("eval_accuracy", 0.9, None, None),
    ]  # fractions, as is said beside: no target is taken
    rows, _ = read(states, block={"metric": "eval_accuracy >= 0.8"} | files)
    assert rows["target_value"].to_list() == [0.8, 0.8]
    assert rows["entry"].unique().to_list() == ["bert"]
