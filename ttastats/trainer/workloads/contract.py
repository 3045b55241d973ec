"""What must a workload give? Data, a model, dummy samples and a recipe."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

#: Names a workload's file must define, and those it may.
REQUIRED = ("RECIPE", "data", "model", "dummy")
OPTIONAL = ("augment", "loss", "score", "check")


@dataclass(frozen=True, slots=True)
class LearningRate:
    """The peak learning rate at one batch size, and how it follows the batch size."""

    peak: float
    at_batch_size: int
    scaling: Literal["linear", "sqrt"]
    weight_decay: float

    def scaled_to(self, batch_size: int) -> float:
        """Give the peak learning rate for another global batch size."""
        ratio = batch_size / self.at_batch_size
        return self.peak * (ratio if self.scaling == "linear" else ratio**0.5)


@dataclass(frozen=True, slots=True)
class Recipe:
    """The defaults of a workload; every one but the sample counts can be set per run.

    Parameters
    ----------
    epochs
        A run that has not reached the target by then gives up.
    schedule_epochs, warmup_epochs
        The learning rate rises for `warmup_epochs` and falls to zero at `schedule_epochs`.
    train_samples, eval_samples
        What the data are expected to hold: the shapes of the untimed warm-up follow from them.
    """

    metric: str
    higher_is_better: bool
    target: float
    epochs: int
    schedule_epochs: int
    warmup_epochs: float
    batch_size: int
    width: int
    optimizer: str
    learning_rates: Mapping[str, LearningRate]
    train_samples: int
    eval_samples: int


@dataclass(frozen=True, slots=True, eq=False)
class Data:
    """All samples of a workload; the first dimension of each tensor counts samples."""

    train_inputs: Tensor
    train_targets: Tensor
    eval_inputs: Tensor
    eval_targets: Tensor
    notes: tuple[str, ...] = ()

    @property
    def tensors(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Give the four tensors."""
        return self.train_inputs, self.train_targets, self.eval_inputs, self.eval_targets

    def on(self, device: torch.device) -> Data:
        """Give the same data in the memory of a device."""
        inputs, targets, eval_inputs, eval_targets = (one.to(device) for one in self.tensors)
        return Data(inputs, targets, eval_inputs, eval_targets, self.notes)

    def digest(self) -> str:
        """Give the SHA-256 of the samples as the network sees them."""
        state = hashlib.sha256()
        for tensor in self.tensors:
            state.update(tensor.cpu().contiguous().numpy().tobytes())
        return state.hexdigest()


def no_augmentation(inputs: Tensor, _rng: torch.Generator) -> Tensor:
    """Give the samples as they are."""
    return inputs


def no_check(_folder: Path | None) -> None:
    """Find nothing wrong."""


def cross_entropy(outputs: Tensor, targets: Tensor) -> Tensor:
    """Give the mean cross entropy of a batch of class scores."""
    return functional.cross_entropy(outputs, targets)


def correct(outputs: Tensor, targets: Tensor) -> Tensor:
    """Give for each sample 1 if its highest class score is that of the right class, else 0."""
    return (outputs.argmax(dim=-1) == targets).double()


@dataclass(frozen=True, slots=True)
class Workload:
    """One task. `score` gives one number per sample; their mean is the quality.

    `data` and `check` take the folder the user named with --data, or None; `model` the width.
    `check` raises before anything begins if the data are not there, without reading them.
    """

    name: str
    recipe: Recipe
    data: Callable[[Path | None], Data]
    model: Callable[[int], nn.Module]
    dummy: Callable[[int], tuple[Tensor, Tensor]]
    augment: Callable[[Tensor, torch.Generator], Tensor] = field(default=no_augmentation)
    loss: Callable[[Tensor, Tensor], Tensor] = field(default=cross_entropy)
    score: Callable[[Tensor, Tensor], Tensor] = field(default=correct)
    check: Callable[[Path | None], None] = field(default=no_check)
