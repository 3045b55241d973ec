"""How fast can this machine compute and copy at most? Measured, not what a vendor says."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch

from ttastats.trainer.profiler import timing

#: Side of the square matrices, by device: large enough for the highest rate.
_SIDE = {"cpu": 1024, "cuda": 8192}
#: Bytes that are copied, by device: far more than any cache holds.
_COPIED = {"cpu": 128 * 2**20, "cuda": 2**30}
_TRIES = 8

_DTYPES = {
    "cpu": {"fp32": torch.float32, "bf16": torch.bfloat16},
    "cuda": {
        "fp32": torch.float32,
        "tf32": torch.float32,
        "bf16": torch.bfloat16,
        "fp16": torch.float16,
    },
}


def flops_per_second(device: torch.device) -> Mapping[str, float]:
    """Return the FLOP/s of the fastest product of two square matrices, by precision."""
    before = torch.backends.cuda.matmul.allow_tf32
    try:
        return {
            precision: _product(device, dtype, tf32=precision == "tf32")
            for precision, dtype in _DTYPES[device.type].items()
            if _is_worth_it(device, precision)
        }
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before


def bytes_per_second(device: torch.device) -> float:
    """Return the rate of the fastest copy within the memory; each byte is read and written."""
    source = torch.ones(_COPIED[device.type], dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    return 2 * source.nbytes / _fastest(lambda: target.copy_(source), device)


def _product(device: torch.device, dtype: torch.dtype, *, tf32: bool) -> float:
    torch.backends.cuda.matmul.allow_tf32 = tf32
    side = _SIDE[device.type]
    left, right = (torch.randn(side, side, device=device).to(dtype) for _ in range(2))
    return 2 * side**3 / _fastest(lambda: left @ right, device)


def _is_worth_it(device: torch.device, precision: str) -> bool:
    """Leave out bf16 where a processor only imitates it: a single product can take seconds."""
    native = device.type != "cpu" or torch.ops.mkldnn._is_mkldnn_bf16_supported()
    return native or precision != "bf16"


def _fastest(work: Callable[[], object], device: torch.device) -> float:
    work()
    lengths = [timing.timed(work, device) for _ in range(_TRIES)]
    by_cpu_time = timing.in_cpu_time(device)
    return min(timing.seconds(one, by_cpu_time=by_cpu_time) for one in lengths)
