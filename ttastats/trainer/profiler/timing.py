"""How long does a step take that nobody watches, on the wall and in CPU time?"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

import torch


@dataclass(frozen=True, slots=True)
class Length:
    """Seconds of a stretch of work: on the wall, of this thread, and of all threads."""

    wall: float
    thread: float
    process: float


class Timed:
    """Measures the work of a `with` block, until the device is done with it."""

    length = Length(0.0, 0.0, 0.0)

    def __init__(self, device: torch.device) -> None:
        self._device = device

    def __enter__(self) -> Timed:
        self._began = _now()
        return self

    def __exit__(self, *_: object) -> None:
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)
        now, began = _now(), self._began
        self.length = Length(
            now.wall - began.wall, now.thread - began.thread, now.process - began.process
        )


def _now() -> Length:
    return Length(time.perf_counter(), time.thread_time(), time.process_time())


def timed(work: Callable[[], object], device: torch.device) -> Length:
    """Do some work and give how long it took until the device was done with it."""
    with Timed(device) as it:
        work()
    return it.length


def in_cpu_time(device: torch.device) -> bool:
    """Return whether a step is as long as this thread computes, however busy the machine is.

    With several threads, CPU time would count those that wait for others without sleeping.
    """
    return device.type == "cpu" and torch.get_num_threads() == 1


def seconds(length: Length, *, by_cpu_time: bool) -> float:
    """Return the length on one of two clocks: in CPU time of the thread, or on the wall."""
    return length.thread if by_cpu_time else length.wall


def typical(lengths: Sequence[Length], *, by_cpu_time: bool) -> float:
    """Return the median length on one of two clocks."""
    return median(seconds(one, by_cpu_time=by_cpu_time) for one in lengths)


def cpu_utilization(lengths: Sequence[Length], cores: int) -> float:
    """Return the busy share of the cores by this process (Zhu et al., equation 3)."""
    return sum(one.process for one in lengths) / (sum(one.wall for one in lengths) * cores)
