"""How busy is a GPU by what its driver counts, while steps are taken? Not yet run on a GPU.

The driver is asked through NVML, by the package `nvidia-ml-py` if it is installed. How busy tensor
cores, other arithmetic and memory are, GPUs count from Hopper on.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from statistics import fmean
from types import ModuleType
from typing import Any

import torch

#: How often power and utilization are asked for.
_EVERY_SECONDS = 0.02
#: What the counters of a GPU are called in NVML, by our measures; all are percentages.
COUNTERS: Mapping[str, str] = {
    "sm_utilization": "NVML_GPM_METRIC_SM_UTIL",
    "tensor_core_utilization": "NVML_GPM_METRIC_ANY_TENSOR_UTIL",
    "fp32_utilization": "NVML_GPM_METRIC_FP32_UTIL",
    "memory_utilization": "NVML_GPM_METRIC_DRAM_BW_UTIL",
}


class Asked:
    """Asks the driver between `start` and `stop`; `found` are our measures by name afterwards.

    Without a GPU, without the package, or where the driver refuses, nothing is found.
    """

    def __init__(self, device: torch.device) -> None:
        self.found: dict[str, float] = {}
        self._nvml = _nvml() if device.type == "cuda" else None
        self._index = device.index or 0
        self._power: list[float] = []
        self._busy: list[float] = []
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._ask, daemon=True)

    def start(self) -> None:
        """Begin to ask."""
        if self._nvml is None:
            return
        self._handle = _handle(self._nvml, self._index)
        self._before = _sample(self._nvml, self._handle)
        self._thread.start()

    def stop(self) -> None:
        """End, and find what was told."""
        if self._nvml is None:
            return
        self._ended.set()
        self._thread.join()
        if self._before is not None:
            after = _sample(self._nvml, self._handle)
            self.found |= _counted(self._nvml, self._before, after)
        if self._power:
            self.found["power"] = fmean(self._power)
        if self._busy:
            self.found["gpu_utilization"] = fmean(self._busy)

    def _ask(self) -> None:
        nvml: Any = self._nvml
        while not self._ended.wait(_EVERY_SECONDS):
            try:
                self._power.append(nvml.nvmlDeviceGetPowerUsage(self._handle) / 1000)
                self._busy.append(nvml.nvmlDeviceGetUtilizationRates(self._handle).gpu / 100)
            except nvml.NVMLError:  # some GPUs tell one, some neither
                return


def _nvml() -> ModuleType | None:
    try:
        import pynvml
    except ModuleNotFoundError:
        return None
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return None
    return pynvml  # type: ignore[no-any-return]


def _handle(nvml: Any, index: int) -> Any:
    """Return the driver's handle of a device, which may number devices in its own way."""
    uuid = str(getattr(torch.cuda.get_device_properties(index), "uuid", ""))
    if uuid:
        return nvml.nvmlDeviceGetHandleByUUID(f"GPU-{uuid.removeprefix('GPU-')}")
    return nvml.nvmlDeviceGetHandleByIndex(index)


def _sample(nvml: Any, handle: Any) -> Any:
    """Return a sample of the counters at this moment; None where the GPU has none."""
    try:
        if not nvml.nvmlGpmQueryDeviceSupport(handle).isSupportedDevice:
            return None
        sample = nvml.nvmlGpmSampleAlloc()
        nvml.nvmlGpmSampleGet(handle, sample)
    except (nvml.NVMLError, AttributeError):  # an older driver, or an older package
        return None
    return sample


def _counted(nvml: Any, before: Any, after: Any) -> dict[str, float]:
    """Return the counters between two samples as fractions."""
    asked = nvml.c_nvmlGpmMetricsGet_t()
    asked.version = nvml.NVML_GPM_METRICS_GET_VERSION
    asked.numMetrics = len(COUNTERS)
    asked.sample1, asked.sample2 = before, after
    for place, name in enumerate(COUNTERS.values()):
        asked.metrics[place].metricId = getattr(nvml, name)
    try:
        nvml.nvmlGpmMetricsGet(asked)
    finally:
        nvml.nvmlGpmSampleFree(before)
        nvml.nvmlGpmSampleFree(after)
    answers = zip(COUNTERS, asked.metrics, strict=False)
    return {name: one.value / 100 for name, one in answers if one.nvmlReturn == 0}
