"""What does one step compute? The model of a run with everything a step needs.

Also warms it up: the first step of a process, and the first of every shape of a batch, take several
times as long as the next, which says nothing of the setup.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from ttastats.trainer import optimisation
from ttastats.trainer.collectives import Collectives
from ttastats.trainer.parallel import Team, shared_by_workers
from ttastats.trainer.settings import Settings
from ttastats.trainer.workloads.contract import Workload

#: Samples evaluated at once.
EVALUATION_BATCH = 1024


@dataclass(frozen=True, slots=True, eq=False)
class Network:
    """The model three ways: bare, as it evaluates, and as it trains (shared by the workers)."""

    bare: nn.Module
    evaluating: Callable[[Tensor], Tensor]
    training: Callable[[Tensor], Tensor]
    optimizer: torch.optim.Optimizer
    workload: Workload
    settings: Settings
    team: Team
    collectives: Collectives

    def step(self, inputs: Tensor, targets: Tensor) -> Tensor:
        """Take one step of training, and give the loss before it."""
        loss = self.gradients(inputs, targets)
        self.optimizer.step()
        return loss

    def gradients(self, inputs: Tensor, targets: Tensor) -> Tensor:
        """Compute the gradients of a batch, and give its loss."""
        self.optimizer.zero_grad(set_to_none=True)
        with self.precision():
            loss = self.workload.loss(self.training(self.laid_out(inputs)), targets)
        torch.autograd.backward(loss)
        return loss.detach()

    @torch.no_grad()
    def quality(self, inputs: Tensor, targets: Tensor) -> float:
        """Give the mean score of the evaluation samples."""
        self.bare.eval()
        total = torch.zeros((), dtype=torch.float64, device=inputs.device)
        for some, right in zip(
            torch.split(inputs, EVALUATION_BATCH),
            torch.split(targets, EVALUATION_BATCH),
            strict=True,
        ):
            with self.precision():
                outputs = self.evaluating(self.laid_out(some))
            total += self.workload.score(outputs, right).double().sum()
        self.bare.train()
        return float(total) / len(targets)

    def precision(self) -> AbstractContextManager[Any]:
        """Give the context in which numbers are as precise as the settings say."""
        return torch.autocast(
            self.team.device.type,
            dtype=torch.bfloat16,
            enabled=self.settings.precision == "bf16",
        )

    def laid_out(self, inputs: Tensor) -> Tensor:
        """Give images with their channels last, if the settings say so."""
        if self.settings.channels_last and inputs.dim() == 4:
            return inputs.contiguous(memory_format=torch.channels_last)
        return inputs


def build(workload: Workload, settings: Settings, team: Team) -> Network:
    """Give the network of a run, with weights that the seed decides."""
    torch.manual_seed(settings.seed)
    where: dict[str, Any] = {"device": team.device}
    if settings.channels_last:
        where["memory_format"] = torch.channels_last
    bare = workload.model(settings.width).to(**where)
    shared: nn.Module = bare
    collectives = Collectives(team)
    if team.size > 1:
        among_workers = shared_by_workers(bare, team)
        # PyTorch inspects the annotations of a hook, and takes one that has none.
        among_workers.register_comm_hook(collectives, lambda state, bucket: state.reduce(bucket))
        shared = among_workers
    return Network(
        bare=bare,
        evaluating=torch.compile(bare) if settings.compiled else bare,
        training=torch.compile(shared) if settings.compiled else shared,
        optimizer=optimisation.optimizer(bare, settings, workload.recipe),
        workload=workload,
        settings=settings,
        team=team,
        collectives=collectives,
    )


def warm_up(network: Network) -> None:
    """Take steps on dummy samples of every shape the run will meet, and undo them.

    Afterwards weights, statistics, optimizer and random numbers are what they were before.
    """
    settings, recipe = network.settings, network.workload.recipe
    state, rng = copy.deepcopy(network.bare.state_dict()), torch.get_rng_state()
    remainder = recipe.train_samples % settings.batch_size
    for batch in (settings.batch_size, settings.batch_size, remainder, remainder):
        share = len(network.team.share(torch.arange(batch - batch % network.team.size)))
        if share:
            network.step(*_dummy(network, share))
    if network.team.leads:
        for share in {
            min(EVALUATION_BATCH, recipe.eval_samples),
            recipe.eval_samples % EVALUATION_BATCH,
        }:
            if share:
                network.quality(*_dummy(network, share))
    network.bare.load_state_dict(state)
    network.optimizer.zero_grad(set_to_none=True)
    network.optimizer.state.clear()
    network.collectives.take_seconds()
    torch.set_rng_state(rng)


def _dummy(network: Network, samples: int) -> tuple[Tensor, Tensor]:
    inputs, targets = network.workload.dummy(samples)
    device, rng = network.team.device, torch.Generator(network.team.device)
    return network.workload.augment(inputs.to(device), rng), targets.to(device)
