"""Which step is measured, what does it take that nobody watches, and what can the machine at most?

Peaks are measured. A GPU's driver is asked through NVML if `nvidia-ml-py` is installed; how busy
tensor cores, other arithmetic and memory are, GPUs count from Hopper on. Not yet run on a GPU.
"""

from __future__ import annotations

import itertools
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from statistics import fmean, median
from types import ModuleType
from typing import Any

import torch
from msgspec import Struct
from torch import nn
from torch.utils.flop_counter import FlopCounterMode, sdpa_backward_flop_count, sdpa_flop_count

from ttastats.trainer import hardware, network, workloads
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
    """Wait until a device has finished its work."""
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
    steady = [number for number in range(1, half + 1) if seconds[number] <= limit]
    rule = f"step 1 and all steps before the first within {TOLERANCE:.0%} of the median of the "
    ending = "last half" if steady else "last half; there was none, so half of them are excluded"
    return min(steady, default=half), rule + ending


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


#: Side of the square matrices, by device: large enough for the highest rate.
_SIDE = {"cpu": 1024, "cuda": 8192}
#: Bytes that are copied, by device: far more than any cache holds.
_COPIED = {"cpu": 128 * 2**20, "cuda": 2**30}
_TRIES = 8
_DTYPES = {"fp32": torch.float32, "tf32": torch.float32, "bf16": torch.bfloat16,
           "fp16": torch.float16}  # fmt: skip

#: How often power and utilization are asked for.
_EVERY_SECONDS = 0.02
#: What the counters of a GPU are called in NVML, by our measures; all are percentages.
COUNTERS: Mapping[str, str] = {
    "sm_utilization": "NVML_GPM_METRIC_SM_UTIL",
    "tensor_core_utilization": "NVML_GPM_METRIC_ANY_TENSOR_UTIL",
    "fp32_utilization": "NVML_GPM_METRIC_FP32_UTIL",
    "memory_utilization": "NVML_GPM_METRIC_DRAM_BW_UTIL",
}


def peak_flops(device: torch.device) -> Mapping[str, float]:
    """Return the highest measured FLOP/s of a matrix product, by precision."""
    precisions = list(_DTYPES)
    if device.type == "cpu":  # some only emulate bf16
        precisions = ["fp32", "bf16"] if hardware.cpu_has_bf16() else ["fp32"]
    before, side = torch.backends.cuda.matmul.allow_tf32, _SIDE[device.type]
    rates: dict[str, float] = {}
    try:
        for precision in precisions:
            torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
            dtype = _DTYPES[precision]
            a, b = (torch.randn(side, side, device=device).to(dtype) for _ in range(2))
            rates[precision] = 2 * side**3 / _shortest_time(partial(torch.matmul, a, b), device)
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before
    return rates


def peak_bandwidth(device: torch.device) -> float:
    """Return the highest measured bytes/s of a copy in memory, read and written bytes counted."""
    source = torch.ones(_COPIED[device.type], dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    return 2 * source.nbytes / _shortest_time(lambda: target.copy_(source), device)


def _shortest_time(work: Callable[[], object], device: torch.device) -> float:
    work()
    watch = Stopwatch(device)
    return min(watch.time(work) for _ in range(_TRIES))


@contextmanager
def driver_measures(device: torch.device) -> Iterator[dict[str, float]]:
    """Yield measures of a `with` block by a GPU's driver, complete when the block has ended.

    Without a GPU, without the package, or where the driver refuses, there are none.
    """
    measures: dict[str, float] = {}
    nvml: Any = _nvml() if device.type == "cuda" else None
    handle = nvml and _handle(nvml, device.index or 0)
    if handle is None:
        yield measures
        return
    samples: dict[str, list[float]] = {"power": [], "gpu_utilization": []}
    ended = threading.Event()

    def sample_loop() -> None:
        while not ended.wait(_EVERY_SECONDS):
            try:
                samples["power"].append(nvml.nvmlDeviceGetPowerUsage(handle) / 1000)
                busy = nvml.nvmlDeviceGetUtilizationRates(handle).gpu
                samples["gpu_utilization"].append(busy / 100)
            except nvml.NVMLError:  # some GPUs tell one, some neither
                return

    before = _counter_sample(nvml, handle)
    thread = threading.Thread(target=sample_loop, daemon=True)
    thread.start()
    try:
        yield measures
    finally:
        ended.set()
        thread.join()
    after = None if before is None else _counter_sample(nvml, handle)
    if after is not None:
        with suppress(nvml.NVMLError):
            measures |= _counter_shares(nvml, before, after)
    measures |= {name: fmean(values) for name, values in samples.items() if values}


def _handle(nvml: Any, index: int) -> Any:
    """Return the handle of a GPU in NVML; None for unknown names, such as a MIG slice."""
    uuid = str(getattr(torch.cuda.get_device_properties(index), "uuid", ""))
    name = uuid if uuid.startswith(("GPU-", "MIG-")) else f"GPU-{uuid}"
    with suppress(nvml.NVMLError):
        if uuid:  # NVML may number the devices differently
            return nvml.nvmlDeviceGetHandleByUUID(name)
        return nvml.nvmlDeviceGetHandleByIndex(index)
    return None


def _nvml() -> ModuleType | None:
    with suppress(ModuleNotFoundError):
        import pynvml

        with suppress(pynvml.NVMLError):
            pynvml.nvmlInit()
            return pynvml  # type: ignore[no-any-return]
    return None


def _counter_sample(nvml: Any, handle: Any) -> Any:
    """Return a sample of the counters now; None where the GPU has none."""
    try:
        if not nvml.nvmlGpmQueryDeviceSupport(handle).isSupportedDevice:
            return None
        sample = nvml.nvmlGpmSampleAlloc()
        nvml.nvmlGpmSampleGet(handle, sample)
    except (nvml.NVMLError, AttributeError):  # an older driver, or an older package
        return None
    return sample


def _counter_shares(nvml: Any, before: Any, after: Any) -> dict[str, float]:
    """Return the counters between two samples as fractions."""
    query = nvml.c_nvmlGpmMetricsGet_t()
    query.version = nvml.NVML_GPM_METRICS_GET_VERSION
    query.numMetrics = len(COUNTERS)
    query.sample1, query.sample2 = before, after
    for number, name in enumerate(COUNTERS.values()):
        query.metrics[number].metricId = getattr(nvml, name)
    try:
        nvml.nvmlGpmMetricsGet(query)
    finally:
        nvml.nvmlGpmSampleFree(before)
        nvml.nvmlGpmSampleFree(after)
    answers = zip(COUNTERS, query.metrics, strict=False)
    return {name: answer.value / 100 for name, answer in answers if answer.nvmlReturn == 0}
