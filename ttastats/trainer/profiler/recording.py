"""How is a profile recorded step by step, whoever takes the steps?

Every step is watched in one way at most, so that no way of watching is measured by another: first
nobody watches, until the steps have warmed up; then watched steps and steps that nobody watches
take turns; then one counts FLOPs, and two look at the memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import msgspec
import torch

from ttastats.trainer.profiler import memory, timing, trace
from ttastats.trainer.profiler.machine import Driver
from ttastats.trainer.profiler.memory import TrainingState
from ttastats.trainer.profiler.timing import FlopCounter, Length, Timed

#: Steps that are taken before the rule of warming up is asked.
_FIRST = 8
#: Steps that are watched, unless the user says how many: these many seconds of them.
_FEWEST, _MOST, _SECONDS = 5, 20, 1.0

Step = AbstractContextManager[Any]


class Recording:
    """What has been recorded so far, step after step.

    `state` is None where nobody says which model and optimizers there are: then nothing can be told
    of the memory.
    """

    def __init__(
        self,
        device: torch.device,
        state: TrainingState | None,
        *,
        steps: int | None,
        compiled: bool = False,
    ) -> None:
        self.device = device
        self.first: list[Length] = []
        self.plain: list[Length] = []
        self.watched: list[trace.TimedOperators] = []
        self.counter: FlopCounter = FlopCounter()
        self.memory: dict[str, int] = {}
        self.driver: Driver = Driver(device)
        #: The trace, and whether its clock is the CPU time of this thread.
        self.trace: bytes = b""
        self.by_cpu_time: bool = timing.uses_cpu_time(device) and not compiled
        self._state, self._steps = state, steps
        self._plan = self._all_steps()
        self._now: Step = nullcontext()
        self.done: bool = False

    def step(self) -> None:
        """Mark the end of a step and the start of the next."""
        if not self.done:
            self._now.__exit__(None, None, None)
            self.begin_step()

    def mark_broken(self, *why: Any) -> None:
        """Mark that a step failed."""
        self._now.__exit__(*why)

    def begin_step(self) -> None:
        """Start recording the next step as planned."""
        following = next(self._plan, None)
        self.done = following is None
        self._now = nullcontext() if following is None else following
        self._now.__enter__()

    @property
    def warm_up_steps(self) -> tuple[int, str]:
        """Return the number of warm-up steps, and the rule in words."""
        by_cpu_time = self.by_cpu_time
        seconds = [timing.length_on_clock(step, by_cpu_time=by_cpu_time) for step in self.first]
        return timing.warm_up_steps(seconds)

    @property
    def step_seconds(self) -> float:
        """Return the median length of a step without the profiler."""
        return timing.median_length(self.plain, by_cpu_time=self.by_cpu_time)

    def _all_steps(self) -> Iterator[Step]:
        for _ in range(_FIRST):
            yield from self._timed_steps(self.first)
        typical = timing.median_length(self.first, by_cpu_time=self.by_cpu_time)
        steps = self._steps or steps_to_profile(typical)
        yield from (
            self._alternating_steps(steps) if self.by_cpu_time else self._profiled_steps(steps)
        )
        yield self.counter
        if self._state is not None:
            watched, measured = (
                memory.Watched(self._state),
                memory.Measured(self._state, self.device),
            )
            yield watched
            yield measured
            self.memory = watched.split_by_kind(measured.bytes)

    def _timed_steps(self, lengths: list[Length]) -> Iterator[Step]:
        timed = Timed(self.device)
        yield timed
        lengths.append(timed.length)

    def _alternating_steps(self, steps: int) -> Iterator[Step]:
        """Yield profiled and plain steps in turn, so that slow phases affect both alike."""
        for _ in range(steps):
            yield from self._timed_steps(self.plain)
            self.watched.append(trace.TimedOperators())
            yield self.watched[-1]
        events = list(trace.trace_events(self.watched, self.step_seconds))
        self.trace = msgspec.json.encode({"schemaVersion": 1, "traceEvents": events})

    def _profiled_steps(self, steps: int) -> Iterator[Step]:
        """Yield steps recorded by PyTorch's profiler, which is started once."""
        self.driver.start()
        for _ in range(steps):
            yield from self._timed_steps(self.plain)
        self.driver.stop()
        recorder = trace.Recorder(self.device)
        recorder.start()
        for _ in range(steps):
            yield recorder.annotate_step()
        self.trace = recorder.stop()


def steps_to_profile(step_seconds: float) -> int:
    """Return how many steps are profiled, by the length of a step."""
    return max(_FEWEST, min(_MOST, round(_SECONDS / step_seconds)))
