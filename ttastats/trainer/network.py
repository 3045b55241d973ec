"""What does one step compute, and how do the weights move? The model and its optimizers.

The first steps of a process and of each shape of a batch take several times as long as the next:
another network like it is warmed up before the clock runs.
"""

from __future__ import annotations

import itertools
import math
import os
import random
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from msgspec import Struct
from torch import Tensor, nn

from ttastats.base.errors import TtastatsError, raise_if
from ttastats.trainer.parallel import Team, average_gradients
from ttastats.trainer.settings import Settings
from ttastats.trainer.workloads import load_workload
from ttastats.trainer.workloads.contract import Data, Workload

#: Batches of a file's own kind that are tried before the clock runs.
_TRIED = 3


def learning_rate_share(epochs_trained: float, warmup_epochs: float, epochs: float) -> float:
    """Return the share of the peak learning rate: up in a line, then down to zero at `epochs`."""
    rising = epochs_trained / warmup_epochs if warmup_epochs else 1.0
    falling_epochs = epochs - warmup_epochs
    falling = (epochs - epochs_trained) / falling_epochs if falling_epochs > 0 else 1.0
    return max(0.0, min(1.0, rising, falling))


def make_optimizers(model: nn.Module, workload: Workload, settings: Settings) -> list[Any]:
    """Return the optimizers of a run; each parameter group keeps its peak learning rate.

    An optimizer is whatever has `param_groups`, `zero_grad` and `step`.
    """
    if workload.optimizer is not None:
        choice = workload.optimizer(model, **settings.hook_arguments())
    else:
        rates: dict[str, Any] = {"lr": settings.lr, "weight_decay": settings.weight_decay}
        rates["fused"] = settings.device == "cuda" or None
        if settings.optimizer == "adamw":
            choice = torch.optim.AdamW(model.parameters(), **rates)
        else:
            momentum, nesterov = settings.momentum, settings.nesterov and settings.momentum > 0
            rates |= {"momentum": momentum, "nesterov": nesterov}
            choice = torch.optim.SGD(model.parameters(), **rates)
    optimizers = list(choice) if isinstance(choice, Sequence) else [choice]
    for group in (group for optimizer in optimizers for group in optimizer.param_groups):
        group.setdefault("initial_lr", group["lr"])
    return optimizers


class Network(Struct, eq=False):
    """The model three ways: bare, as it evaluates, and as it trains (shared by the workers)."""

    bare: nn.Module
    evaluating: nn.Module
    training: nn.Module
    optimizers: list[Any]
    workload: Workload
    settings: Settings
    team: Team
    #: Whether steps return their loss.
    has_loss: bool = True

    def batches(
        self, data: Data, rng: torch.Generator, epoch: int
    ) -> Iterator[tuple[Any, Any, int]]:
        """Yield this worker's part of each batch of an epoch, and the size of the whole batch.

        Every worker gets the same number of samples: the average over workers counts them alike.
        """
        team, settings = self.team, self.settings
        if self.workload.batches is not None:
            arguments = settings.hook_arguments(team.device)
            for batch in self.workload.batches(data, rng, epoch, **arguments):
                if not isinstance(batch, Sequence) or len(batch) != 2:
                    message = "yielded something else than a pair of inputs and targets"
                    raise TtastatsError(message, where=self.workload.batches.where)
                inputs, targets = batch
                count = len(targets) - len(targets) % team.size
                yield team.own_share(inputs[:count]), team.own_share(targets[:count]), count
            return
        samples, batch_size = len(data.train_inputs), settings.batch_size
        message = (
            f"{samples:,} samples are fewer than a batch of {batch_size:,}, and smaller batches "
        )
        remedy = "Use a smaller --batch-size, or --set drop_last=false."
        none_left = settings.drop_last and samples < batch_size
        raise_if(none_left, f"{message}are dropped", remedy=remedy)
        shuffled = torch.randperm(samples, generator=rng, device=team.device)
        usable = shuffled[: samples - samples % team.size]
        for batch in torch.split(usable, batch_size):
            if len(batch) == batch_size or not settings.drop_last:
                mine = team.own_share(batch)
                yield data.train_inputs[mine], data.train_targets[mine], len(batch)

    def train_step(
        self, inputs: Any, targets: Any, rng: torch.Generator, epoch: float, step: int
    ) -> Tensor:
        """Take one training step, whose middle is at `epoch`; return the loss before it."""
        workload, settings = self.workload, self.settings
        args = settings.hook_arguments(self.team.device)
        for group in (group for optimizer in self.optimizers for group in optimizer.param_groups):
            if workload.schedule is not None:
                share = workload.schedule(epoch, step, group, **args)
            else:
                share = learning_rate_share(epoch, settings.warmup_epochs, settings.schedule_epochs)
            group["lr"] = group["initial_lr"] * share
        inputs = workload.augment(inputs, rng, int(epoch), step, **args)
        if workload.step is not None:
            loss = workload.step(
                self.training, inputs, targets, self.optimizers, epoch, step, self.autocast, **args
            )
            self.has_loss = loss is not None
            return torch.as_tensor(loss if self.has_loss else math.nan).detach()
        for optimizer in self.optimizers:
            optimizer.zero_grad(set_to_none=True)
        with self.autocast():
            loss = workload.loss(self.training(inputs), targets, **args)
        torch.autograd.backward(loss)
        for optimizer in self.optimizers:
            optimizer.step()
        return torch.as_tensor(loss).detach()

    @torch.no_grad()
    def evaluate_quality(self, data: Data) -> float:
        """Return the quality over the evaluation samples."""
        arguments, workload = self.settings.hook_arguments(self.team.device), self.workload
        self.bare.eval()
        if workload.evaluate is not None:
            with self.autocast():
                quality = float(workload.evaluate(self.evaluating, data, **arguments))
        else:
            total = torch.zeros((), dtype=torch.float64, device=data.eval_targets.device)
            size = self.settings.eval_batch_size
            parts = (torch.split(part, size) for part in (data.eval_inputs, data.eval_targets))
            for inputs, targets in zip(*parts, strict=True):
                with self.autocast():
                    outputs = self.evaluating(inputs)
                total += workload.score(outputs, targets, **arguments).double().sum()
            quality = float(total) / len(data.eval_targets)
        self.bare.train()
        name = workload.recipe.metric
        beyond = workload.recipe.is_share and not -1e-6 <= quality <= 1 + 1e-6
        wrong = f"{name} is {quality:g}, which is not from 0 to 1"
        where = (workload.evaluate or workload.score).where
        raise_if(beyond and math.isfinite(quality), wrong, where)
        return quality

    def autocast(self) -> AbstractContextManager[Any]:
        """Return the autocast context for the precision in the settings."""
        return torch.autocast(
            self.team.device.type, dtype=torch.bfloat16, enabled=self.settings.precision == "bf16"
        )


def set_numerics(settings: Settings) -> None:
    """Set the GPU's matrix precision, and let it choose its fastest convolutions.

    PyTorch's own default for 32 bit convolutions is TF32, which has 10 bits where fp32 has 23.
    """
    tf32 = settings.precision != "fp32"
    torch.backends.cuda.matmul.allow_tf32 = tf32
    torch.backends.cudnn.allow_tf32 = tf32
    torch.backends.cudnn.benchmark = True


def steps_per_epoch(samples: int, settings: Settings) -> int:
    """Return the number of batches of an epoch; the last one may be smaller."""
    batches = samples / settings.batch_size
    return max(1, int(batches) if settings.drop_last else math.ceil(batches))


def load_data(settings: Settings, team: Team) -> Data:
    """Return the data of a run, on the device."""
    workload = load_workload(settings.workload)
    folder = Path(settings.data) if settings.data else None
    data: Data = workload.data(folder, **settings.hook_arguments(team.device))
    return data.to_device(team.device)


def make_model(settings: Settings, team: Team, data: Data | None) -> nn.Module:
    """Return the model of a run with weights decided by the seed; it may depend on the data.

    From here on a run is decided by its seed, whatever was computed before.
    """
    workload = load_workload(settings.workload)
    workload.restore_globals()
    torch.manual_seed(settings.seed)
    random.seed(settings.seed)
    np.random.seed(settings.seed % 2**32)
    arguments = {**settings.hook_arguments(team.device), "data": data}
    where: dict[str, Any] = {"device": team.device}
    if settings.channels_last:
        where["memory_format"] = torch.channels_last
    model: nn.Module = workload.model(**arguments).to(**where)
    return model


def build_network(settings: Settings, team: Team, data: Data | None = None) -> Network:
    """Return the network of a run; `data` are needed if the model depends on them."""
    workload, bare = load_workload(settings.workload), make_model(settings, team, data)
    if settings.channels_last:
        bare.register_forward_pre_hook(_channels_last)
    shared: nn.Module = average_gradients(bare, team) if team.size > 1 else bare
    name = os.environ.get("CXX", "clang++" if sys.platform == "darwin" else "g++")
    absent = f"compiling for a CPU needs a C++ compiler, but {name} was not found"
    remedy = "Install one, set the environment variable CXX, or remove --compile."
    on_cpu = settings.compile and team.device.type == "cpu"
    raise_if(on_cpu and shutil.which(name) is None, absent, "--compile", remedy)
    # Shapes are known: a graph for any shape would be slower in every step.
    compiled: Any = partial(torch.compile, dynamic=False) if settings.compile else lambda net: net
    optimizers = make_optimizers(bare, workload, settings)
    return Network(bare, compiled(bare), compiled(shared), optimizers, workload, settings, team)


def _channels_last(_model: nn.Module, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(
        tensor.contiguous(memory_format=torch.channels_last)
        if isinstance(tensor, Tensor) and tensor.dim() == 4
        else tensor
        for tensor in inputs
    )


def warm_up(network: Network, data: Data | None = None) -> None:
    """Train a network, which is of no use afterwards, on samples of every shape of a batch.

    The samples are dummies, or `data` where the workload has none.
    """
    settings, team = network.settings, network.team
    samples = _warm_up_samples(network, data).to_device(team.device)
    # At the end another graph may be compiled: some weights may no longer move.
    for epoch in (0.0, float(settings.epochs)):
        rng = torch.Generator(team.device).manual_seed(0)
        batches = network.batches(samples, rng, int(epoch))
        if network.workload.batches is not None:
            batches = itertools.islice(batches, _TRIED)
        for step, (inputs, targets, _) in enumerate(batches):
            network.train_step(inputs, targets, rng, epoch, step)
    if team.is_leader:
        network.evaluate_quality(samples)


def _warm_up_samples(network: Network, data: Data | None) -> Data:
    """Return samples for one full batch and one batch as at the end of an epoch."""
    settings, workload = network.settings, network.workload
    if workload.batches is not None and data is not None:
        return data
    train_samples = len(data.train_targets) if data else int(settings.train_samples)
    eval_samples = len(data.eval_targets) if data else int(settings.eval_samples)
    trained = min(train_samples, settings.batch_size + train_samples % settings.batch_size)
    chunk = int(settings.values.get("eval_batch_size", eval_samples))
    evaluated = min(eval_samples, chunk + eval_samples % chunk)
    if data is not None:
        training = (data.train_inputs[:trained], data.train_targets[:trained])
        return Data(*training, data.eval_inputs[:evaluated], data.eval_targets[:evaluated])
    dummy: Any = workload.dummy  # there is one, as no data are given
    arguments = settings.hook_arguments(network.team.device)
    return Data(*dummy(trained, **arguments), *dummy(evaluated, **arguments))
