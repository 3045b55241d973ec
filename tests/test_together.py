"""The same run in two stores at once is one run, with all that both know."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl

from tests import made_stores as made
from ttastats.ingestion.ingest import Account, ingest
from ttastats.table import store

BEGUN = 1_700_000_000.0
NAME = "events.out.tfevents.{:.0f}.host.1.0"


def state(values: list[float], steps: list[int]) -> bytes:
    history: list[dict[str, Any]] = []
    for number, (step, value) in enumerate(zip(steps, values, strict=True), 1):
        history += [
            {"loss": 1 / step, "epoch": number, "step": step},
            {"eval_accuracy": value, "eval_loss": 1 - value, "epoch": number, "step": step},
        ]
    fields = {"log_history": history, "global_step": steps[-1], "max_steps": 30}
    return json.dumps(fields).encode()


def events(values: list[float], steps: list[int], begun: float = BEGUN) -> bytes:
    found = made.first_event(begun) + made.text(begun, 0, "args/text_summary", '{"seed": 3}')
    return found + b"".join(
        made.scalar(begun + step, step, eval__accuracy=value, train__loss=1 / step)
        for step, value in zip(steps, values, strict=True)
    )


def read(folder: Path, files: dict[str, bytes]) -> tuple[pl.DataFrame, Account]:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    account = ingest([folder], folder.parent / "x.parquet", workers=1)
    return store.read_tables([account.output]).collect(), account


VALUES, STEPS = [0.5, 0.7, 0.8], [10, 20, 30]


def test_a_training_that_was_resumed_is_one_run(tmp_path: Path) -> None:
    """Only checkpoints tell it, and each session has event files in a folder of its own."""
    later = BEGUN + 100
    files = {
        "out/checkpoint-30/trainer_state.json": state(VALUES, STEPS),
        f"out/runs/Jan28_23-42-14_host/{NAME.format(BEGUN)}": events([0.5, 0.7, 0.1], STEPS),
        f"out/runs/Jan28_23-44-14_host/{NAME.format(later)}": events(VALUES[2:], STEPS[2:], later),
    }
    rows, account = read(tmp_path / "logs", files)
    assert account.runs == 1
    accuracy = rows.filter(metric="eval_accuracy")
    assert accuracy["value"].to_list() == VALUES
    assert accuracy["seconds"].to_list() == [10.0, 20.0, 130.0]


def test_event_files_of_another_run_are_a_run(tmp_path: Path) -> None:
    files = {
        "out/trainer_state.json": state(VALUES, STEPS),
        f"out/runs/a/{NAME.format(BEGUN)}": events([0.4, 0.6, 0.7], STEPS),
    }
    rows, account = read(tmp_path / "logs", files)
    assert account.runs == 2
    assert rows.filter(dialect="hf-trainer")["seconds"].null_count() == 6
