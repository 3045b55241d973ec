"""Which facts go into the log at which moment? Everything but the stretches of the loop itself."""

from __future__ import annotations

import math
import platform
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from ttastats.clock import Seconds
from ttastats.run_log import EventLog
from ttastats.trainer.optimisation import schedule
from ttastats.trainer.parallel import Team
from ttastats.trainer.settings import Settings
from ttastats.trainer.workloads.contract import Data, Workload
from ttastats.version import __version__

if TYPE_CHECKING:
    from ttastats.trainer.network import Network
    from ttastats.trainer.outcome import Epoch


def log_head(log: EventLog, *, benchmark: str, org: str, system: str) -> None:
    """Say what is run by whom, on what. Nothing is cached between runs that could be cleared."""
    log.point("cache_clear", True)
    log.point("submission_benchmark", benchmark)
    log.point("submission_org", org)
    log.point("submission_division", "open")
    log.point("submission_status", "research")
    log.point("submission_platform", system)


def log_setup(log: EventLog, workload: Workload, settings: Settings, team: Team) -> None:
    """Say everything that decides how the run will go."""
    recipe = workload.recipe
    rates = schedule(settings, recipe)
    log.point("seed", settings.seed)
    log.point("global_batch_size", settings.batch_size)
    log.point("gradient_accumulation_steps", 1)
    log.point("opt_name", settings.optimizer)
    log.point("opt_base_learning_rate", rates.peak)
    log.point("opt_learning_rate_warmup_epochs", rates.warmup_epochs)
    log.point("opt_learning_rate_decay_epochs", rates.epochs)
    log.point("opt_weight_decay", recipe.learning_rates[settings.optimizer].weight_decay)
    log.point(
        "eval_target",
        settings.target,
        metric=recipe.metric,
        higher_is_better=recipe.higher_is_better,
    )
    log.point("settings", settings.as_dict())
    log.point("software", _software())
    log.point("workers", team.size)


def log_data(log: EventLog, data: Data) -> None:
    """Say how many samples there are, and what is odd about them."""
    log.point("train_samples", len(data.train_targets))
    log.point("eval_samples", len(data.eval_targets))
    for note in data.notes:
        log.point("data_note", note)


def log_training(
    log: EventLog,
    network: Network,
    number: int,
    training: Seconds,
    loss: float,
    collective_seconds: float,
    samples: int,
) -> None:
    """Say what an epoch of training cost; throughput is in samples per second."""
    per_epoch = samples // number
    steps = math.ceil(per_epoch / network.settings.batch_size)
    stats: dict[str, Any] = {
        "throughput": round(per_epoch / training.wall, 3) if training.wall else None,
        "train_loss": loss if math.isfinite(loss) else None,
        "wall_seconds": round(training.wall, 6),
        "cpu_seconds": round(training.cpu, 6),
    }
    if network.team.size > 1:
        stats["collective_seconds"] = round(collective_seconds, 6)
    log.point("tracked_stats", stats, step=number * steps, epoch_num=number)


def log_totals(
    log: EventLog, run: Seconds, cpu_all_workers: float, epochs: Sequence[Epoch]
) -> None:
    """Say what the counted time was made of."""
    totals = {
        "wall_seconds": run.wall,
        "cpu_seconds": run.cpu,
        "cpu_seconds_all_workers": cpu_all_workers,
        "training_seconds": sum(epoch.training.wall for epoch in epochs),
        "evaluation_seconds": sum(epoch.evaluation.wall for epoch in epochs),
    }
    log.point("run_totals", {name: round(value, 6) for name, value in totals.items()})


def log_communication(
    log: EventLog,
    network: Network,
    data: Data,
    epochs: Sequence[Epoch],
    measured: dict[str, float],
) -> None:
    """Say what the workers' talk cost over the run, by each of the three measures.

    `share` is that of the collective time in the time spent training. Exposed time is a difference
    of two measurements: where it is small, it can come out below zero.
    """
    steps = len(epochs) * math.ceil(len(data.train_targets) / network.settings.batch_size)
    training = sum(epoch.training.wall for epoch in epochs)
    collective = sum(epoch.collective_seconds for epoch in epochs)
    log.point(
        "communication",
        {
            "collective_seconds": round(collective, 6),
            "exposed_seconds": round(steps * measured["exposed_step_seconds"], 6),
            "allreduce_seconds": round(steps * measured["allreduce_step_seconds"], 6),
            "share": round(collective / training, 6) if training else None,
            "workers": network.team.size,
            "steps": steps,
            **{name: round(value, 9) for name, value in measured.items()},
        },
    )


def _software() -> dict[str, Any]:
    return {
        "ttastats": __version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "cuda": torch.version.cuda,
    }
