"""How do the weights move? The optimizers and the learning rate at each moment of training."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

from ttastats.trainer.settings import Settings
from ttastats.trainer.workloads.contract import Recipe


@dataclass(frozen=True, slots=True)
class Schedule:
    """Up in a straight line for `warmup_epochs`, then down in one to zero at `epochs`."""

    peak: float
    warmup_epochs: float
    epochs: float

    def at(self, epochs_trained: float) -> float:
        """Give the learning rate of the step that starts after so many epochs."""
        rising = epochs_trained / self.warmup_epochs if self.warmup_epochs else 1.0
        left = self.epochs - self.warmup_epochs
        falling = (self.epochs - epochs_trained) / left if left > 0 else 1.0
        return self.peak * max(0.0, min(1.0, rising, falling))


def schedule(settings: Settings, recipe: Recipe) -> Schedule:
    """Give the schedule of a run; it is stretched only if the run may last longer than it does."""
    return Schedule(
        peak=recipe.learning_rates[settings.optimizer].scaled_to(settings.batch_size),
        warmup_epochs=recipe.warmup_epochs,
        epochs=max(recipe.schedule_epochs, settings.epochs),
    )


def optimizer(model: nn.Module, settings: Settings, recipe: Recipe) -> torch.optim.Optimizer:
    """Give the optimizer of a run; the learning rate is set before every step."""
    decay = recipe.learning_rates[settings.optimizer].weight_decay
    if settings.optimizer == "adamw":
        return torch.optim.AdamW(model.parameters(), lr=0.0, weight_decay=decay)
    return torch.optim.SGD(
        model.parameters(), lr=0.0, momentum=0.9, nesterov=True, weight_decay=decay
    )


def set_learning_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """Set the learning rate of the next step."""
    for group in optimizer.param_groups:
        group["lr"] = rate
