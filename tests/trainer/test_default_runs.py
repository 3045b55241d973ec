"""The seed and the machine decide how many epochs a run of the default workload takes."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
import torch

from tests.trainer.runs import trained
from ttastats.trainer import hardware
from ttastats.trainer.settings import Overrides

#: The epochs of the twenty default runs, by their seeds, and what they were made on.
EPOCHS = (8, 8, 9, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 6, 9, 9, 7, 7, 8)
PROCESSOR, CAPABILITY, PYTORCH = ("AMD EPYC", "26", "2"), "AVX512", "2.13"


def processor() -> tuple[str, ...]:
    """Return name, family and model: processors of one name may round differently."""
    path = Path("/proc/cpuinfo")
    text = path.read_text("utf-8") if path.exists() else ""
    numbers = re.findall(r"^(?:cpu family|model)\s*: (\d+)$", text, re.MULTILINE)[:2]
    return (hardware.processor_name(), *numbers)


@pytest.mark.skipif(
    (processor(), torch.backends.cpu.get_cpu_capability()) != (PROCESSOR, CAPABILITY)
    or not torch.__version__.startswith(PYTORCH),
    reason="the runs were made on another processor, or with another PyTorch",
)
def test_a_fresh_run_takes_as_many_epochs_as_before(tmp_path: Path) -> None:
    seeds = range(len(EPOCHS)) if os.environ.get("TTASTATS_LONG") else range(1)
    made = trained(tmp_path, Overrides(device="cpu"), seeds=seeds)
    assert all(one.outcome.reached for one in made)
    assert tuple(one.outcome.checkpoints[-1].epoch for one in made) == EPOCHS[: len(made)]
