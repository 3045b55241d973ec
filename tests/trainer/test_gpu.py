"""Does the same trainer work on a GPU?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

if not torch.cuda.is_available():
    pytest.skip("no GPU is present", allow_module_level=True)

from tests.trainer.runs import curve, events, log_of, recipe, request, small, summary, trained
from tests.trainer.test_cifar10 import write_binary
from ttastats.trainer import experiment

two_gpus = pytest.mark.skipif(
    torch.cuda.device_count() < 2, reason="one GPU is present, two are needed"
)


def values(log: Path) -> dict[str, Any]:
    return {event["key"]: event["value"] for event in events(log)}


@pytest.mark.parametrize("precision", ["fp32", "tf32", "bf16"])
def test_digits_reach_their_target_on_a_gpu(precision: str, tmp_path: Path) -> None:
    options = small(device="cuda", width=16, epochs=30, target=0.95, precision=precision)
    (row,) = summary(trained(tmp_path, options, seeds=(0, 1)))
    assert (row["n"], row["reached"]) == (2, 2)


@pytest.mark.parametrize(
    ("workload", "changes"),
    [
        ("digits", {"compile": True}),
        ("digits", {"optimizer": "adamw"}),
        ("digits-lm", {"precision": "bf16"}),
        (recipe("cifar10"), {"batch_size": 40, "channels_last": True, "precision": "bf16"}),
    ],
)
def test_networks_learn_on_a_gpu_with_all_settings(
    workload: str, changes: dict[str, object], tmp_path: Path
) -> None:
    folder = str(write_binary(tmp_path / "bin"))
    options = small(device="cuda", epochs=3, data=folder, **changes)
    (run,) = trained(tmp_path, options, workload)
    losses = [checkpoint.train_loss for checkpoint in run.outcome.checkpoints]
    assert "cifar10" in workload or losses[-1] < losses[0]
    assert len(losses) == 3


def test_the_log_names_driver_clocks_libraries_and_peak_memory(tmp_path: Path) -> None:
    (run,) = trained(tmp_path, small(device="cuda"))
    logged = values(run.log)
    assert logged["software"]["cudnn"]
    assert logged["gpu"]["driver_version"]
    assert logged["gpu_after"]["clocks.sm"]
    assert logged["run_totals"]["gpu_peak_bytes"] > 0


def test_the_loss_falls_alike_on_a_gpu_and_on_a_cpu(tmp_path: Path) -> None:
    # Orders and shifts come from other generators, so that the curves are only alike.
    (gpu,) = trained(tmp_path / "gpu", small(device="cuda", epochs=3))
    (cpu,) = trained(tmp_path / "cpu", small(device="cpu", epochs=3))
    assert curve(gpu)[-1][0] == pytest.approx(curve(cpu)[-1][0], rel=0.5)


@two_gpus
def test_two_gpus_share_a_run(tmp_path: Path) -> None:
    planned = experiment.plan_runs(request(tmp_path), small(device="cuda", workers=2), (0,)).runs
    experiment.make_runs(planned)
    assert values(log_of(tmp_path))["workers"] == 2
