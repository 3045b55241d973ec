"""What comes of a run, and which facts go into its log and its DAWNBench entry?

Everything but the stretches of the loop itself.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch
from msgspec import Struct
from msgspec.structs import asdict

from ttastats.base import __version__, atomic
from ttastats.recording import run_log
from ttastats.recording.run_log import (
    ResultFolder,
    RunLog,
    Seconds,
    Stamp,
    log_errors_named,
    log_number,
)
from ttastats.trainer import hardware
from ttastats.trainer.network import Network
from ttastats.trainer.settings import Settings
from ttastats.trainer.workloads.contract import Recipe


class Checkpoint(Struct, frozen=True):
    """A stretch of training and the evaluation after it, and what the run cost until then.

    `epoch` are the epochs trained by then, `trained` and `evaluated` the time spent on each by
    then, `known_at` all that was on the clock when the quality was known.
    """

    epoch: float
    step: int
    samples: int
    quality: float
    train_loss: float
    trained: Seconds
    evaluated: float
    known_at: Seconds

    @property
    def progress(self) -> dict[str, Any]:
        """Return the epochs trained, an integer if they are whole, and the samples, for a log."""
        epoch = int(self.epoch) if self.epoch == int(self.epoch) else round(self.epoch, 6)
        return {"epoch_num": epoch, "samples_count": self.samples}


class Outcome(Struct, frozen=True):
    """How a run ended. `run` is the counted time; `dataset` the digest of the samples."""

    reached: bool
    checkpoints: tuple[Checkpoint, ...]
    run: Seconds
    dataset: str
    notes: tuple[str, ...]


def log_head(log: RunLog, folder: ResultFolder) -> None:
    """Log who made the run, on what system, and that no rules of a round apply."""
    log.point(run_log.RECORDER, f"ttastats {__version__}")
    log.point("submission_benchmark", folder.benchmark)
    log.point("submission_org", folder.org)
    log.point("submission_division", "open")
    log.point("submission_status", "research")
    log.point("submission_platform", folder.system)


def log_settings(log: RunLog, settings: Settings, recipe: Recipe) -> None:
    """Log the settings, before anything can fail."""
    log.point("seed", settings.seed)
    metadata: dict[str, Any] = {
        "metric": recipe.metric,
        "higher_is_better": recipe.higher_is_better,
    }
    log.point("eval_target", settings.target, **metadata)
    log.point("settings", asdict(settings))


def log_setup(log: RunLog, net: Network, batch_size: int) -> None:
    """Log how the settings are carried out, and the source of the workload.

    `batch_size` is the one of the settings, or all samples if they are fewer.
    """
    workload, settings = net.workload, net.settings
    log.point("global_batch_size", batch_size)
    log.point("gradient_accumulation_steps", 1)
    log.point("opt_name", settings.optimizer)
    log.point("opt_base_learning_rate", net.optimizers[0].param_groups[0]["initial_lr"])
    log.point("workload_source", workload.source)
    for text in workload.imported:
        log.point("workload_import", text)
    log.point("software", hardware.software_versions())
    if settings.device == "cuda":
        log.point("gpu", hardware.gpu_state(net.team.device))
    log.point("workers", net.team.size)


def log_evaluation(log: RunLog, metric: str, checkpoint: Checkpoint, at: Stamp) -> None:
    """Log the quality and the cost of an evaluation; CPU time is that of all workers."""
    clocks = {
        "cpu_seconds": checkpoint.known_at.cpu,
        "training_seconds": checkpoint.trained.wall,
        "training_cpu_seconds": checkpoint.trained.cpu,
    }
    metadata = checkpoint.progress | {name: round(seconds, 6) for name, seconds in clocks.items()}
    log.point("eval_accuracy", checkpoint.quality, at=at, metric=metric, **metadata)


def log_totals(
    log: RunLog, outcome: Outcome, device: torch.device, cpu: float, waiting: float
) -> None:
    """Log the parts of the counted time; `cpu` and `waiting` are of all workers."""
    last = outcome.checkpoints[-1]
    totals = {
        "wall_seconds": outcome.run.wall,
        "cpu_seconds": outcome.run.cpu,
        "cpu_seconds_all_workers": cpu,
        "waiting_seconds": waiting,
        "training_seconds": last.trained.wall,
        "training_cpu_seconds": last.trained.cpu,
        "evaluation_seconds": last.evaluated,
    }
    if device.type == "cuda":
        totals["gpu_peak_bytes"] = torch.cuda.max_memory_allocated(device)
        log.point("gpu_after", hardware.gpu_state(device))
    log.point("run_totals", {name: round(value, 6) for name, value in totals.items()})
    log.point("dataset_sha256", outcome.dataset)


def write_entry(folder: ResultFolder, settings: Settings, log: Path, outcome: Outcome) -> Path:
    """Write the two DAWNBench files of a run; return the path of the table."""
    name = f"{folder.org}_{folder.benchmark}_{folder.system}_pytorch_run{log_number(log)}"
    table = folder.dawnbench / f"{name}.tsv"
    description = {
        "version": "v1.0",
        "author": folder.org,
        "authorEmail": "",
        "framework": f"PyTorch {torch.__version__}",
        "codeURL": "",
        "model": folder.benchmark,
        "hardware": folder.system,
        "costPerHour": None,
        "timestamp": datetime.now(UTC).strftime("%Y-%m-%d"),
        "logFilename": log.name,
        "ttastats": {
            "benchmark": folder.benchmark,
            "entry": f"{folder.org}/{folder.system}",
            "target": settings.target,
            "settings": asdict(settings),
        },
    }
    # DAWNBench counts all but validation: reading and preparing the data are on its clock.
    rows = (
        (
            checkpoint.epoch,
            round(checkpoint.known_at.wall - checkpoint.evaluated, 6),
            100 * checkpoint.quality,
        )
        for checkpoint in outcome.checkpoints
    )
    with log_errors_named(table):
        table.parent.mkdir(parents=True, exist_ok=True)
        atomic.write_text(table.with_suffix(".json"), run_log.description_json(description))
        atomic.write_text(table, run_log.curve_table(["top1_accuracy"], rows))
    return table
