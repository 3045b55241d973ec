"""Who else works on this run? Nothing to do for one process; PyTorch's process groups for several.

Workers find each other by the variables torchrun sets, or by a file where `--workers` started them.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

#: The file through which workers started by `--workers` find each other.
STORE_VARIABLE = "TTASTATS_STORE"

#: A worker that waits longer than this for another gives up.
_PATIENCE = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Team:
    """The number of a worker and how many there are; `device` is where its tensors live."""

    rank: int
    size: int
    device: torch.device

    @property
    def leads(self) -> bool:
        """Tell whether this worker logs, evaluates and decides."""
        return self.rank == 0

    def wait(self) -> None:
        """Wait until every worker is here."""
        if self.size > 1:
            dist.barrier()

    def share(self, samples: Tensor) -> Tensor:
        """Give this worker's part of a batch."""
        return samples[self.rank :: self.size]

    def leader_says(self, decision: bool) -> bool:
        """Give the first worker's decision to all."""
        if self.size == 1:
            return decision
        word = torch.tensor([int(decision)], device=self.device)
        dist.broadcast(word, src=0)
        return bool(word.item())

    def total(self, number: float) -> float:
        """Give the sum of a number over the workers."""
        if self.size == 1:
            return number
        word = torch.tensor([number], dtype=torch.float64, device=self.device)
        dist.all_reduce(word)
        return float(word.item())


def started_by_torchrun() -> bool:
    """Tell whether this process is one worker of several, whoever started them."""
    return world_size() > 1


def world_size() -> int:
    """Give the number of workers the environment tells of."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def rank() -> int:
    """Give this worker's number, from 0."""
    return int(os.environ.get("RANK", "0"))


@contextmanager
def team(device: str) -> Iterator[Team]:
    """Join the workers the environment tells of, and leave them at the end."""
    size = world_size()
    place = torch.device(device, int(os.environ.get("LOCAL_RANK", "0")))
    place = place if device == "cuda" else torch.device(device)
    if place.type == "cuda":
        torch.cuda.set_device(place)
    if size == 1:
        yield Team(0, 1, place)
        return
    store = os.environ.get(STORE_VARIABLE)
    dist.init_process_group(
        "nccl" if device == "cuda" else "gloo",
        init_method=f"file://{store}" if store else "env://",
        rank=rank(),
        world_size=size,
        timeout=_PATIENCE,
    )
    try:
        yield Team(rank(), size, place)
    finally:
        dist.destroy_process_group()


def shared_by_workers(model: nn.Module, team: Team) -> DistributedDataParallel:
    """Give a model whose gradients are averaged over the workers.

    The statistics of batch normalisation stay each worker's own, as the first worker evaluates:
    sending them before every step would be communication that training does not need.
    """
    # Remarks a user of this trainer can do nothing about: on 1x1 convolutions, and on an option
    # whose new name the oldest supported PyTorch does not know.
    warnings.filterwarnings("ignore", message="Grad strides do not match bucket view strides")
    warnings.filterwarnings("ignore", message="`broadcast_buffers` is deprecated")
    devices = [team.device] if team.device.type == "cuda" else None
    return DistributedDataParallel(model, device_ids=devices, broadcast_buffers=False)
