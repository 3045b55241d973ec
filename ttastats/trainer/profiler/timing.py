"""Which step is measured, and what does it take that nobody watches: seconds and FLOPs?"""

from __future__ import annotations

import itertools
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from statistics import median
from typing import Any

import torch
from msgspec import Struct
from torch import nn
from torch.utils.flop_counter import FlopCounterMode, sdpa_backward_flop_count, sdpa_flop_count

from ttastats.trainer import network, workloads
from ttastats.trainer.network import Network
from ttastats.trainer.parallel import Team
from ttastats.trainer.settings import Settings
from ttastats.trainer.workloads.contract import Data

#: A step has warmed up when it takes at most so much longer than the last half of the steps.
TOLERANCE = 0.05


class Length(Struct, frozen=True):
    """Seconds of a stretch of work: on the wall, of this thread, and of all threads."""

    wall: float
    thread: float
    process: float


_CLOCKS = (time.perf_counter, time.thread_time, time.process_time)


class Stopwatch:
    """Times stretches of work, each until the device is done with it.

    On a CPU the CPU time of the thread counts, unless there are several, which wait for each other
    without sleeping; else, and if asked so, the time on the wall.
    """

    def __init__(self, device: torch.device, *, by_wall: bool = False) -> None:
        one_thread = device.type == "cpu" and torch.get_num_threads() == 1
        self.by_cpu_time: bool = one_thread and not by_wall
        self.lengths: list[Length] = []
        self._device = device

    @contextmanager
    def timing(self) -> Iterator[None]:
        """Append the length of the work in a `with` block."""
        began = [clock() for clock in _CLOCKS]
        yield
        synchronize(self._device)
        spent = (clock() - at for clock, at in zip(_CLOCKS, began, strict=True))
        self.lengths.append(Length(*spent))

    def time(self, work: Callable[[], object]) -> float:
        """Append the length of some work, and return its seconds."""
        with self.timing():
            work()
        return self.seconds[-1]

    @property
    def seconds(self) -> list[float]:
        """Return all lengths on the clock that counts."""
        return [length.thread if self.by_cpu_time else length.wall for length in self.lengths]

    @property
    def median(self) -> float:
        """Return the median of the seconds."""
        return median(self.seconds)

    def utilization(self, cores: int) -> float:
        """Return this process's share of the cores' time (Zhu et al., equation 3)."""
        wall = sum(length.wall for length in self.lengths)
        return sum(length.process for length in self.lengths) / (wall * cores)


def synchronize(device: torch.device) -> None:
    """Wait until a device has finished what it was given."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


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
