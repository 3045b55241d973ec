"""How much of a run do its workers spend on talking to each other? Three measures, kept apart.

*Collective time* is the time during which an all-reduce was under way in the run itself; it holds
the wait for slower workers, and what ran at the same time as computation. *Exposed time* is what a
step loses by synchronising: the same step is timed with and without. *All-reduce time* is that of
the bytes alone, with nothing else to do. The last two are measured after the run, off its clock.
"""

from __future__ import annotations

import copy
import statistics
import time
from collections.abc import Callable
from contextlib import nullcontext

import torch
import torch.distributed as dist
from torch import Tensor

from ttastats.trainer.network import Network
from ttastats.trainer.parallel import Team, shared_by_workers

#: Steps of each kind in the measurement after the run, in turns of `_TURN`.
_STEPS, _TURN = 20, 5


def measure(network: Network, batch: tuple[Tensor, Tensor]) -> dict[str, float]:
    """Give the seconds per step that synchronising and the bare all-reduce cost.

    Works on a copy of the network, which is thrown away. Synchronised steps and others take turns,
    so that a change of the machine's load meets both.
    """
    model = copy.deepcopy(network.bare)
    shared = shared_by_workers(model, network.team)

    def step() -> None:
        with network.precision():
            loss = network.workload.loss(shared(network.laid_out(batch[0])), batch[1])
        torch.autograd.backward(loss)

    synchronised: list[float] = []
    alone: list[float] = []
    for turn in range(2 * _STEPS // _TURN):
        with shared.no_sync() if turn % 2 else nullcontext():
            times = [_timed(step, network.team) for _ in range(_TURN)]
        (alone if turn % 2 else synchronised).extend(times[1:])  # the first of a turn is odd
    gradients = torch.zeros(sum(p.numel() for p in model.parameters()), device=network.team.device)
    reductions = [_timed(lambda: dist.all_reduce(gradients), network.team) for _ in range(_STEPS)]
    with_sync, without = statistics.median(synchronised), statistics.median(alone)
    return {
        "step_seconds": with_sync,
        "step_seconds_without_sync": without,
        "exposed_step_seconds": with_sync - without,
        "allreduce_step_seconds": statistics.median(reductions[1:]),
        "bytes_per_step": float(gradients.numel() * gradients.element_size()),
    }


def _timed(action: Callable[[], object], team: Team) -> float:
    _finish(team)
    began = time.perf_counter()
    action()
    _finish(team)
    return time.perf_counter() - began


def _finish(team: Team) -> None:
    if team.device.type == "cuda":
        torch.cuda.synchronize(team.device)
