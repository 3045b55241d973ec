"""What is measured? One step of a workload's training, which can be taken again and again."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import torch
from msgspec import Struct
from torch import nn

from ttastats.trainer import network, workloads
from ttastats.trainer.network import Network
from ttastats.trainer.parallel import Team
from ttastats.trainer.settings import Settings
from ttastats.trainer.workloads.contract import Data


class Subject(Struct, frozen=True, eq=False):
    """A step of training; `samples` are those of one step over all workers."""

    step: Callable[[], object]
    samples: int
    model: nn.Module
    training: nn.Module
    optimizers: tuple[Any, ...]
    device: torch.device


def prepare_step(settings: Settings, team: Team) -> Subject:
    """Return the training step of a workload, on dummy samples if it can make them."""
    if settings.threads:
        torch.set_num_threads(settings.threads)
    network.set_numerics(settings)
    workload = workloads.load_workload(settings.workload)
    if workload.dummy is None or workload.batches is not None:
        data = network.load_data(settings, team)
    else:
        made_up = workload.dummy(settings.batch_size, **settings.hook_arguments(team.device))
        data = Data(*made_up, *(part[:1] for part in made_up)).to_device(team.device)
    net = network.build_network(settings, team, data)
    batches = _equal_batches(net, data)
    first = next(batches)
    following = enumerate(itertools.chain([first], batches))
    augmentation = torch.Generator(team.device).manual_seed(settings.seed + 2**32)

    def step() -> None:
        number, (inputs, targets, _) = next(following)  # chosen within the step, as in a run
        net.train_step(inputs, targets, augmentation, 0.0, number)

    optimizers = tuple(net.optimizers)
    return Subject(step, first[2], net.bare, net.training, optimizers, team.device)


def _equal_batches(net: Network, data: Data) -> Iterator[tuple[Any, Any, int]]:
    """Yield batches as large as the first, epoch after epoch."""
    order = torch.Generator(net.team.device).manual_seed(net.settings.seed)
    size = None
    for epoch in itertools.count():
        for batch in net.batches(data, order, epoch):
            size = size or batch[2]
            if batch[2] == size:
                yield batch
