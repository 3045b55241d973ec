"""What a profile says beside its operators, by name: each measure has one unit and one meaning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: Unit and meaning of each measure. Those of a step have its number in `step`.
MEASURES: dict[str, tuple[str, str]] = {
    # of each step
    "step_seconds": ("seconds", "length of the step"),
    "compute_seconds": ("seconds", "time in which something was computed"),
    "communication_seconds": ("seconds", "time in which a collective was under way"),
    "exposed_seconds": ("seconds", "communication while nothing was computed"),
    "copy_seconds": ("seconds", "copies while nothing was computed or communicated"),
    "host_seconds": ("seconds", "time in which the device waited for a host that worked"),
    "input_seconds": ("seconds", "time in which the device, or the step, waited for input"),
    "idle_seconds": ("seconds", "the rest of the step"),
    # of all steps together
    "steps": ("count", "steps that the rows are of"),
    "warmup_steps": ("count", "steps at the start that were left out; `text` says by which rule"),
    "window_seconds": ("seconds", "from the start of the first step to the end of the last"),
    "uninstrumented_step_seconds": ("seconds", "length of a step that nobody watched"),
    "samples_per_second": ("samples/second", "throughput; `of` is the batch size"),
    "batch_size": ("samples", "samples of one step"),
    "step_flops": ("flop", "floating-point operations of one step by another count"),
    "flops_unknown": ("count", "calls of matrix products and the like whose FLOPs are not known"),
    # of the machine
    "peak_flops": ("flop/second", "fastest matrix product; `of` is the precision"),
    "peak_bandwidth": ("bytes/second", "fastest copy; `of` is the memory"),
    "cpu_utilization": ("fraction", "busy share of the cores"),
    "gpu_utilization": ("fraction", "share of time with a kernel at work, by the driver"),
    "tensor_core_utilization": ("fraction", "busy share of the tensor cores, by the driver"),
    "power": ("watts", "mean power; `of` is the device"),
    "memory_bytes": ("bytes", "memory at the peak; `of` is weights, gradients, optimizer, ..."),
    "device_memory_bytes": ("bytes", "memory of the device; `of` is its number"),
    "world_size": ("count", "processes of distributed training"),
    # words
    "device_name": ("", "`text` is the name of the device; `of` its number"),
    "torch_version": ("", "`text` is the version of PyTorch"),
    "truncated": ("", "the trace breaks off; `text` says where"),
}


def measure(
    name: str,
    value: float | None = None,
    *,
    of: str | None = None,
    step: int | None = None,
    text: str | None = None,
) -> Mapping[str, Any]:
    """Give the row of a measure; the name must be known."""
    unit = MEASURES[name][0] or None
    return {
        "kind": "measure",
        "name": name,
        "of": of,
        "step": step,
        "value": value,
        "unit": unit,
        "text": text,
    }
