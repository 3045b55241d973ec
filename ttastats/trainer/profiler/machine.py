"""How fast can this machine compute and copy at most, and how busy is its GPU meanwhile?

Peaks are measured. A GPU's driver is asked through NVML if `nvidia-ml-py` is installed; how busy
tensor cores, other arithmetic and memory are, GPUs count from Hopper on. Not yet run on a GPU.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from statistics import fmean
from types import ModuleType
from typing import Any

import torch

from ttastats.trainer.profiler.timing import Stopwatch

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
        has_bf16 = torch.ops.mkldnn._is_mkldnn_bf16_supported()
        precisions = ["fp32", "bf16"] if has_bf16 else ["fp32"]
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
    if nvml is None:
        yield measures
        return
    index = device.index or 0
    uuid = str(getattr(torch.cuda.get_device_properties(index), "uuid", ""))
    if uuid:  # NVML may number the devices differently
        handle = nvml.nvmlDeviceGetHandleByUUID(f"GPU-{uuid.removeprefix('GPU-')}")
    else:
        handle = nvml.nvmlDeviceGetHandleByIndex(index)
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
    if before is not None:
        measures |= _counter_shares(nvml, before, _counter_sample(nvml, handle))
    measures |= {name: fmean(values) for name, values in samples.items() if values}


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
    for place, name in enumerate(COUNTERS.values()):
        query.metrics[place].metricId = getattr(nvml, name)
    try:
        nvml.nvmlGpmMetricsGet(query)
    finally:
        nvml.nvmlGpmSampleFree(before)
        nvml.nvmlGpmSampleFree(after)
    answers = zip(COUNTERS, query.metrics, strict=False)
    return {name: answer.value / 100 for name, answer in answers if answer.nvmlReturn == 0}
