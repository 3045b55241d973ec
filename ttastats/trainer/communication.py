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
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist
from torch import Tensor

from ttastats.trainer.parallel import Team

if TYPE_CHECKING:
    from ttastats.trainer.network import Network

#: Steps of each kind in the measurement after the run, in turns of `_TURN`.
_STEPS, _TURN = 20, 5


class Collectives:
    """Averages gradients over the workers and notes when each all-reduce was under way."""

    def __init__(self, team: Team) -> None:
        self._team = team
        self._spans: list[tuple[float, float]] = []
        self._events: list[tuple[Any, Any]] = []

    def reduce(self, bucket: Any) -> Any:
        """Average the gradients of one `GradBucket`; called in the backward pass."""
        gradients = bucket.buffer().div_(self._team.size)
        began = self._now()
        work = dist.all_reduce(gradients, async_op=True)
        assert work is not None  # noqa: S101 - given whenever async_op is

        def done(future: Any) -> Any:
            ended = self._now()
            (self._spans if isinstance(began, float) else self._events).append((began, ended))
            return future.value()[0]

        return work.get_future().then(done)

    def take_seconds(self) -> float:
        """Give the time since the last call during which an all-reduce was under way."""
        if self._events:
            torch.cuda.synchronize(self._team.device)
        milliseconds = sum(began.elapsed_time(ended) for began, ended in self._events)
        seconds = union_seconds(self._spans) + float(milliseconds) / 1000
        self._spans.clear()
        self._events.clear()
        return seconds

    def _now(self) -> Any:
        if self._team.device.type != "cuda":
            return time.perf_counter()
        # The host runs ahead of a GPU; only the GPU knows when the transfer began and ended.
        new_event: Any = torch.cuda.Event
        event = new_event(enable_timing=True)
        event.record()
        return event


def union_seconds(spans: list[tuple[float, float]]) -> float:
    """Give the time covered by spans that may overlap."""
    covered, until = 0.0, float("-inf")
    for began, ended in sorted(spans):
        covered += max(0.0, ended - max(began, until))
        until = max(until, ended)
    return covered


def measure(network: Network, batch: tuple[Tensor, Tensor]) -> dict[str, float]:
    """Give the seconds per step that synchronising and the bare all-reduce cost.

    Works on a copy of the network, which is thrown away. Synchronised steps and others take turns,
    so that a change of the machine's load meets both.
    """
    from ttastats.trainer.network import shared_by_workers

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
