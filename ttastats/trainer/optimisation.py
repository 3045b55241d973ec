"""How do the weights move? The optimizers and the learning rate at each moment of training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from ttastats.trainer.settings import Settings
from ttastats.trainer.workloads.contract import Workload


@dataclass(frozen=True, slots=True)
class Schedule:
    """Up in a straight line for `warmup_epochs`, then down in one to zero at `epochs`."""

    warmup_epochs: float
    epochs: float

    def at(self, epochs_trained: float) -> float:
        """Return the share of the peak learning rate in the step after so many epochs."""
        rising = epochs_trained / self.warmup_epochs if self.warmup_epochs else 1.0
        left = self.epochs - self.warmup_epochs
        falling = (self.epochs - epochs_trained) / left if left > 0 else 1.0
        return max(0.0, min(1.0, rising, falling))


def optimizers(model: nn.Module, workload: Workload, settings: Settings) -> list[Any]:
    """Return the optimizers of a run; each group of weights remembers its peak learning rate.

    An optimizer is whatever has `param_groups`, `zero_grad` and `step`.
    """
    if workload.optimizer is not None:
        made = workload.optimizer(model, **settings.given())
        found = list(made) if isinstance(made, Sequence) else [made]
    else:
        found = [_optimizer(model, settings)]
    for group in (group for one in found for group in one.param_groups):
        group.setdefault("initial_lr", group["lr"])
    return found


def _optimizer(model: nn.Module, settings: Settings) -> torch.optim.Optimizer:
    common: dict[str, Any] = {"lr": settings.lr, "weight_decay": settings.weight_decay}
    if settings.device == "cuda":
        common["fused"] = True
    if settings.optimizer == "adamw":
        return torch.optim.AdamW(model.parameters(), **common)
    momentum, nesterov = settings.momentum, settings.nesterov and settings.momentum > 0
    return torch.optim.SGD(model.parameters(), momentum=momentum, nesterov=nesterov, **common)


def set_learning_rates(
    found: Sequence[Any], workload: Workload, settings: Settings, epoch: float, step: int
) -> None:
    """Set the learning rate of the next step, in the middle of which `epoch` epochs are trained."""
    given = settings.given()
    share = 1.0
    if workload.schedule is None:  # else a workload may lack these settings
        share = Schedule(settings.warmup_epochs, settings.schedule_epochs).at(epoch)
    for group in (group for one in found for group in one.param_groups):
        if workload.schedule is not None:
            share = workload.schedule(epoch, step, group, **given)
        group["lr"] = group["initial_lr"] * share
