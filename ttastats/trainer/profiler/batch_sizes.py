"""How many samples a second does each batch size train? (TBD, Figures 4 to 6)"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import count

from ttastats.traces.saturation import point
from ttastats.trainer.profiler import timing
from ttastats.trainer.profiler.flop_count import Counted
from ttastats.trainer.profiler.subject import Subject

#: The smallest batch where sizes are looked for, and the longest step that is tried.
_FIRST, _LONGEST_SECONDS = 8, 4.0
#: Steps of each batch size after those that warm up: these many seconds of them.
_FEWEST, _MOST, _SECONDS = 3, 10, 0.5


@dataclass(frozen=True, slots=True)
class Point:
    """The step of one batch size; `cpu_utilization` is of the cores this process may use."""

    samples: int
    seconds: float
    flops: int
    cpu_utilization: float
    steps: int

    @property
    def throughput(self) -> float:
        """Return the samples per second."""
        return self.samples / self.seconds


def looked_for(make: Callable[[int], Subject], largest: int, cores: int) -> list[Point]:
    """Double the batch size until that hardly helps, or a step takes too long."""
    found: list[Point] = []
    for size in (_FIRST * 2**power for power in count()):
        if size > largest and found:
            break
        found.append(measured(make(min(size, largest)), cores))
        throughputs = {one.samples: one.throughput for one in found}
        if point(throughputs) is not None or 2 * found[-1].seconds > _LONGEST_SECONDS:
            break
    return found


def of_sizes(make: Callable[[int], Subject], sizes: Iterable[int], cores: int) -> list[Point]:
    """Return the step of some batch sizes, the smallest first."""
    return [measured(make(size), cores) for size in sorted(set(sizes))]


def measured(subject: Subject, cores: int) -> Point:
    """Take a few steps of a subject; the first two warm up."""
    with Counted() as counted:
        subject.step()
    device, by_cpu_time = subject.device, timing.in_cpu_time(subject.device)
    first = timing.seconds(timing.timed(subject.step, device), by_cpu_time=by_cpu_time)
    steps = max(_FEWEST, min(_MOST, round(_SECONDS / first)))
    lengths = [timing.timed(subject.step, device) for _ in range(steps)]
    typical = timing.typical(lengths, by_cpu_time=by_cpu_time)
    busy = timing.cpu_utilization(lengths, cores)
    return Point(subject.samples, typical, counted.flops, busy, steps)
