"""What time is it, and which seconds count?

Stamps are wall time at the start of the process plus the monotonic clock since then: a correction
of the system clock moves nothing. Before a stamp is taken the device finishes what it was given.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from ttastats.recording.mllog import milliseconds


@dataclass(frozen=True, slots=True)
class Seconds:
    """A length of time: on the wall, and of this process's CPUs together."""

    wall: float
    cpu: float


@dataclass(frozen=True, slots=True)
class Stamp:
    """A moment: `time_ms` for the log, the rest for differences."""

    time_ms: float
    wall: float
    cpu: float

    def since(self, earlier: Stamp) -> Seconds:
        """Return the seconds between two stamps, by each clock."""
        return Seconds(self.wall - earlier.wall, self.cpu - earlier.cpu)


@dataclass(slots=True)
class Clock:
    """Makes stamps, and measures the counted stretch of a run, from `start` to `stop`.

    The clock is never paused between the two: loading data and evaluating count, as in the rules
    of MLPerf; setting up and warming up come before, measuring communication after.
    """

    finish_device: Callable[[], None] = lambda: None  # a CPU has always finished
    wall: Callable[[], float] = time.perf_counter
    cpu: Callable[[], float] = time.process_time
    epoch: Callable[[], float] = time.time
    started: Stamp | None = None
    stopped: Stamp | None = None
    _zero: float = 0.0

    def __post_init__(self) -> None:
        self._zero = self.epoch() - self.wall()

    def stamp(self) -> Stamp:
        """Return the present moment, once the device has finished its work."""
        self.finish_device()
        wall = self.wall()
        return Stamp(milliseconds(self._zero + wall), wall, self.cpu())

    def start(self) -> Stamp:
        """Start counting seconds."""
        self.started = self.stamp()
        return self.started

    def stop(self) -> Stamp:
        """Stop counting seconds."""
        self.stopped = self.stamp()
        return self.stopped

    def counted(self, until: Stamp | None = None) -> Seconds:
        """Return the seconds counted until a moment: the stop, or else now."""
        if self.started is None:
            return Seconds(0.0, 0.0)
        return (until or self.stopped or self.stamp()).since(self.started)
