"""How many floating-point operations does a step take? PyTorch's counter, completed.

It knows products of matrices, convolutions and attention with their backward passes; attention on
a CPU is an operator of its own that its list lacks. All else counts nothing.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import torch
from torch.utils.flop_counter import FlopCounterMode, sdpa_backward_flop_count, sdpa_flop_count

Shape = Sequence[int]


class Counted:
    """Counts the FLOPs of a `with` block; they stand in `flops` afterwards."""

    flops: int = 0

    def __enter__(self) -> Counted:
        # The counter's hooks are gone after the block; a compiled network may warn of them.
        warnings.filterwarnings("ignore", message="Using `torch.compile")
        self._counter = FlopCounterMode(display=False, custom_mapping=_CPU_ATTENTION)
        self._counter.__enter__()
        return self

    def __exit__(self, *why: Any) -> None:
        self._counter.__exit__(*why)
        self.flops = int(self._counter.get_total_flops())


def _attention(query: Shape, key: Shape, value: Shape, *_: Any, **__: Any) -> int:
    return int(sdpa_flop_count(query, key, value))


def _attention_backward(
    gradient: Shape, query: Shape, key: Shape, value: Shape, *_: Any, **__: Any
) -> int:
    return int(sdpa_backward_flop_count(gradient, query, key, value))


_CPU_ATTENTION = {
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu: _attention,
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward: _attention_backward,
}
