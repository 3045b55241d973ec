"""When was an all-reduce under way? Averages gradients over the workers and keeps the times."""

from __future__ import annotations

import time
from typing import Any

import torch
import torch.distributed as dist

from ttastats.trainer.parallel import Team


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
