"""Does training reach its target, and give the same curve for the same seed?"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
import torch

from tests.trainer.runs import curve, small, summary, trained
from ttastats import api
from ttastats.trainer import hardware
from ttastats.trainer.session import FinishedRun
from ttastats.trainer.settings import Overrides


def test_both_seeds_reach_the_target_in_different_ways_and_our_reader_finds_so(
    two_runs: list[FinishedRun], tmp_path: Path
) -> None:
    assert [run.outcome.reached for run in two_runs] == [True, True]
    for run in two_runs:
        qualities = [checkpoint.quality for checkpoint in run.outcome.checkpoints]
        assert [quality >= 0.85 for quality in qualities] == [False] * (len(qualities) - 1) + [True]
    assert curve(two_runs[0]) != curve(two_runs[1])
    account = api.ingest([two_runs[0].log.parent], tmp_path / "runs.parquet")
    epochs = [len(run.outcome.checkpoints) for run in two_runs]
    assert account.problems == ()
    assert (account.runs, account.evaluations) == (2, sum(epochs))
    rows = api.runs(tmp_path / "runs.parquet").rows
    assert [row["epochs"] for row in rows] == epochs
    assert [row["reached"] for row in rows] == [True, True]
    assert {(row["entry"], row["benchmark"]) for row in rows} == {("Test/machine", "digits")}
    for row, run in zip(rows, two_runs, strict=True):
        assert row["run_seconds"] == pytest.approx(run.outcome.run.wall, abs=0.002)
        assert 0 < row["tta_seconds"] <= row["run_seconds"]


def test_a_default_run_reaches_its_target_before_the_last_epoch(tmp_path: Path) -> None:
    (run,) = trained(tmp_path, Overrides(device="cpu"), seeds=(6,))
    assert run.outcome.reached
    assert run.outcome.checkpoints[-1].epoch < run.settings.epochs


#: The epochs of the twenty default runs, by their seeds, and what they were made on.
EPOCHS = (8, 8, 9, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 6, 9, 9, 7, 7, 8)
MACHINE = ("AMD EPYC", "26", "2", "AVX512", "2.13")


def machine() -> tuple[str, ...]:
    """Return the parts of a machine that affect rounding; processors of one name may differ."""
    path = Path("/proc/cpuinfo")
    text = path.read_text("utf-8") if path.exists() else ""
    numbers = re.findall(r"^(?:cpu family|model)\s*: (\d+)$", text, re.MULTILINE)[:2]
    capability = torch.backends.cpu.get_cpu_capability()
    return (hardware.processor_name(), *numbers, capability, torch.__version__[:4])


@pytest.mark.skipif(machine() != MACHINE, reason="the runs were made on another machine")
def test_a_fresh_run_takes_as_many_epochs_as_before(tmp_path: Path) -> None:
    seeds = range(len(EPOCHS)) if os.environ.get("TTASTATS_LONG") else range(1)
    outcomes = [run.outcome for run in trained(tmp_path, Overrides(device="cpu"), seeds=seeds)]
    assert all(outcome.reached for outcome in outcomes)
    epochs = tuple(outcome.checkpoints[-1].epoch for outcome in outcomes)
    assert epochs == EPOCHS[: len(outcomes)]


@pytest.mark.parametrize(
    ("workload", "options", "reached", "end"),
    [
        ("digits", small(target=0.9999, epochs=1), 0, '"aborted", "reason": "epochs"'),
        ("digits-lm", small(target=4.0, epochs=3, width=8), 1, '"success", "reason": "target"'),
    ],
)
def test_the_end_of_a_run_is_logged_and_counted(
    workload: str, options: Overrides, reached: int, end: str, tmp_path: Path
) -> None:
    (run,) = trained(tmp_path, options, workload)
    assert run.outcome.reached == reached
    (row,) = summary([run])
    assert (row["n"], row["reached"]) == (1, reached)
    assert f'"status": {end}' in run.log.read_text()
    if workload == "digits-lm":
        assert run.outcome.checkpoints[-1].quality < 4.0  # bits per pixel: lower is better


@pytest.mark.parametrize(
    ("workload", "changes"),
    [
        ("digits", {"precision": "bf16", "width": 4}),
        ("digits", {"channels_last": True, "optimizer": "adamw", "batch_size": 256}),
        ("digits-lm", {"width": 8, "batch_size": 256}),
    ],
)
def test_the_same_seed_gives_bitwise_the_same_curve(
    workload: str, changes: dict[str, object], tmp_path: Path
) -> None:
    options = small(**changes)
    first, second = (trained(tmp_path, options, workload)[0] for _ in range(2))
    assert len(curve(first)) == 2
    assert curve(first) == curve(second)
    assert first.outcome.dataset == second.outcome.dataset
    assert [first.log.name, second.log.name] == ["result_0.txt", "result_1.txt"]


def test_other_random_numbers_of_the_program_change_nothing(tmp_path: Path) -> None:
    (first,) = trained(tmp_path, small(epochs=1))
    torch.manual_seed(12345)
    torch.rand(7)
    (second,) = trained(tmp_path, small(epochs=1))
    assert curve(first) == curve(second)
