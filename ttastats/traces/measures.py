"""What a profile says beside its operators, by name: each measure has one unit and one meaning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: Unit and meaning of each measure. Those of a step have its number in `step`.
MEASURES: dict[str, tuple[str, str]] = {
    # of each step
    "step_seconds": ("seconds", "length of the step"),
    "compute_seconds": ("seconds", "time with computation"),
    "communication_seconds": ("seconds", "time with a collective in flight"),
    "exposed_seconds": ("seconds", "communication without computation"),
    "copy_seconds": ("seconds", "copies without computation or communication"),
    "host_seconds": ("seconds", "time in which the device waited for the host"),
    "input_seconds": ("seconds", "time in which the device, or the step, waited for input"),
    "idle_seconds": ("seconds", "the rest of the step"),
    # of all steps together
    "steps": ("count", "number of steps in the rows"),
    "warmup_steps": ("count", "excluded steps at the start; `text` is the rule"),
    "window_seconds": ("seconds", "from the start of the first step to the end of the last"),
    "uninstrumented_step_seconds": (
        "seconds",
        "length of an unprofiled step; `text` is the clock",
    ),
    "wall_step_seconds": ("seconds", "its wall-clock length"),
    "samples_per_second": ("samples/second", "throughput; `of` is the batch size"),
    "batch_size": ("samples", "samples per step"),
    "precision": ("", "`text` is the precision of matrix products"),
    "step_flops": ("flop", "floating-point operations of one step by a second method"),
    "flops_unknown": ("count", "calls of matrix multiplications and similar with unknown FLOPs"),
    # of steps of other batch sizes, with fewer layers, shared by workers
    "batch_samples_per_second": ("samples/second", "throughput of the batch size in `of`"),
    "batch_step_flops": ("flop", "floating-point operations of a step of that size"),
    "batch_cpu_utilization": ("fraction", "utilization of the cores at that size"),
    "saturation_batch_size": ("samples", "batch size that is large enough, by the rule in `text`"),
    "ablated_step_seconds": ("seconds", "length of a step with the layers in `of`"),
    "ablated_step_flops": ("flop", "floating-point operations of that step"),
    "workers_step_seconds": ("seconds", "length of a step shared by `of` workers"),
    "workers_under_way_seconds": ("seconds", "its time with an all-reduce in flight"),
    "workers_exposed_seconds": ("seconds", "extra time compared with a step without communication"),
    "workers_pure_seconds": ("seconds", "all-reduce of the same bytes without computation"),
    "workers_sent_bytes": ("bytes", "gradients that each worker sends in a step"),
    # of the machine
    "threads": ("count", "threads of an operator on the host"),
    "peak_flops": ("flop/second", "peak matrix multiplication; `of` is the precision"),
    "peak_bandwidth": ("bytes/second", "peak copy bandwidth; `of` is the memory"),
    "cpu_utilization": ("fraction", "utilization of the cores"),
    "gpu_utilization": ("fraction", "share of time with a running kernel, by the driver"),
    "sm_utilization": ("fraction", "share of active multiprocessors, by the driver"),
    "fp32_utilization": ("fraction", "utilization of 32-bit arithmetic, by the driver"),
    "memory_utilization": ("fraction", "utilization of the memory bandwidth, by the driver"),
    "tensor_core_utilization": ("fraction", "utilization of the tensor cores, by the driver"),
    "power": ("watts", "mean power; `of` is the device"),
    "memory_bytes": ("bytes", "peak memory; `of` is weights, gradients, optimizer, ..."),
    "device_memory_bytes": ("bytes", "memory of the device; `of` is its number"),
    "world_size": ("count", "processes of distributed training"),
    # words
    "device_name": ("", "`text` is the name of the device; `of` its number"),
    "torch_version": ("", "`text` is the version of PyTorch"),
}


def measure(
    name: str,
    value: float | None = None,
    *,
    of: str | None = None,
    text: str | None = None,
) -> Mapping[str, Any]:
    """Return the row of a measure; the name must be known."""
    unit = MEASURES[name][0] or None
    return {
        "kind": "measure",
        "name": name,
        "of": of,
        "value": value,
        "unit": unit,
        "text": text,
    }
