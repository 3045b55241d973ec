"""What does a step take that nobody watches: seconds and FLOPs, and which steps warm up?"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from statistics import median

import torch
from msgspec import Struct
from torch.utils.flop_counter import FlopCounterMode, sdpa_backward_flop_count, sdpa_flop_count

#: A step has warmed up when it takes at most so much longer than the last half of the steps.
TOLERANCE = 0.05


class Length(Struct, frozen=True):
    """Seconds of a stretch of work: on the wall, of this thread, and of all threads."""

    wall: float
    thread: float
    process: float

    def on_clock(self, *, by_cpu_time: bool) -> float:
        """Return the length in CPU time of the thread, or in wall-clock time."""
        return self.thread if by_cpu_time else self.wall


_CLOCKS = (time.perf_counter, time.thread_time, time.process_time)


@contextmanager
def timed(device: torch.device, lengths: list[Length]) -> Iterator[None]:
    """Append the length of the work in a `with` block, until the device is done with it."""
    began = [clock() for clock in _CLOCKS]
    yield
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    lengths.append(Length(*(clock() - at for clock, at in zip(_CLOCKS, began, strict=True))))


def time_work(work: Callable[[], object], device: torch.device) -> Length:
    """Return how long some work took on each clock, until the device had finished."""
    lengths: list[Length] = []
    with timed(device, lengths):
        work()
    return lengths[0]


def timed_seconds(work: Callable[[], object], device: torch.device) -> float:
    """Return how long some work took on the clock that suits the device."""
    return time_work(work, device).on_clock(by_cpu_time=uses_cpu_time(device))


def uses_cpu_time(device: torch.device) -> bool:
    """Return whether steps are timed in the CPU time of the thread, as on a CPU.

    With several threads, CPU time would count those that wait for others without sleeping.
    """
    return device.type == "cpu" and torch.get_num_threads() == 1


def median_length(lengths: Sequence[Length], *, by_cpu_time: bool) -> float:
    """Return the median length on one of the two clocks."""
    return median(length.on_clock(by_cpu_time=by_cpu_time) for length in lengths)


def cpu_utilization(lengths: Sequence[Length], cores: int) -> float:
    """Return this process's share of the cores' time (Zhu et al., equation 3)."""
    return sum(step.process for step in lengths) / (sum(step.wall for step in lengths) * cores)


def warm_up_steps(seconds: Sequence[float]) -> tuple[int, str]:
    """Return how many of the first steps were warming up, and the rule in words.

    The first step always was: it imports what nobody imported before and allocates all memory. A
    median over windows of steps would hide it, so that the rule looks at each step. If no step
    settles, half of them are left out.
    """
    if len(seconds) < 4:
        raise ValueError("no rule for fewer than four steps")
    half = len(seconds) // 2
    limit = median(seconds[half:]) * (1 + TOLERANCE)
    settled = [number for number in range(1, half + 1) if seconds[number] <= limit]
    rule = f"step 1 and all steps before the first within {TOLERANCE:.0%} of the median of the "
    ending = "last half" if settled else "last half; there was none, so half of them are excluded"
    return min(settled, default=half), rule + ending


#: Attention on a CPU, which PyTorch's list lacks; of all else it counts products of matrices,
#: convolutions and other attention with their backward passes, and nothing for the rest.
_CPU_ATTENTION = {
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu: (
        lambda *shapes, **_: int(sdpa_flop_count(*shapes[:3]))
    ),
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward: (
        lambda *shapes, **_: int(sdpa_backward_flop_count(*shapes[:4]))
    ),
}


class FlopCounter(FlopCounterMode):
    """Counts the FLOPs of a `with` block, as PyTorch does and on a CPU as well."""

    def __init__(self) -> None:
        # The counter's hooks are gone after the block; a compiled network may warn of them.
        warnings.filterwarnings("ignore", message="Using `torch.compile")
        super().__init__(display=False, custom_mapping=_CPU_ATTENTION)

    @property
    def counted_flops(self) -> int:
        """Return the FLOPs counted in the block."""
        return int(self.get_total_flops())
