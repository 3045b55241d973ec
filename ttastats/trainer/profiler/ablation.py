"""What is a step without its batch norms, and without its ReLUs? (Coleman et al., Figure 11)

Such layers move bytes and compute little. Calls of them are answered with what they were given:
the network is not changed, and all variants are called the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from ttastats.trainer.profiler import timing
from ttastats.trainer.profiler.flop_count import Counted
from ttastats.trainer.profiler.subject import Subject

#: Functions by the kind of layer; their first argument is what comes in.
LAYERS: Mapping[str, frozenset[Callable[..., Any]]] = {
    "batch norm": frozenset({functional.batch_norm, torch.batch_norm}),
    "relu": frozenset(
        {functional.relu, functional.relu_, torch.relu, torch.relu_, torch.Tensor.relu,
         torch.Tensor.relu_}
    ),
}  # fmt: skip
#: What is measured, in this order.
VARIANTS: Mapping[str, tuple[str, ...]] = {
    "all layers": (),
    "no batch norm": ("batch norm",),
    "no batch norm, no relu": ("batch norm", "relu"),
}


class Without(TorchFunctionMode):
    """Leaves layers of some kinds out; `met` counts the calls of each kind it knows."""

    def __init__(self, left_out: Collection[str]) -> None:
        super().__init__()
        self._left_out = left_out
        self.met = dict.fromkeys(LAYERS, 0)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        for kind, functions in LAYERS.items():
            if func in functions:
                self.met[kind] += 1
                if kind in self._left_out:
                    return args[0] if args else (kwargs or {})["input"]
        return func(*args, **(kwargs or {}))


@dataclass(frozen=True, slots=True)
class Ablated:
    """A step without some layers; `left_out` counts the calls of them in one step."""

    variant: str
    seconds: float
    flops: int
    left_out: int
    steps: int


def measured(make: Callable[[], Subject], steps: int) -> list[Ablated]:
    """Return the step of each variant, all taken in turns; nothing where there are no such layers.

    Parameters
    ----------
    make
        Gives a network of its own to each variant.
    """
    subjects = {variant: make() for variant in VARIANTS}
    counted = {variant: _counted(subjects[variant], VARIANTS[variant]) for variant in VARIANTS}
    if not any(met for _, met in counted.values()):
        return []
    lengths: dict[str, list[timing.Length]] = {variant: [] for variant in VARIANTS}
    for _ in range(steps):
        for variant, subject in subjects.items():
            with Without(VARIANTS[variant]):
                lengths[variant].append(timing.timed(subject.step, subject.device))
    by_cpu_time = timing.in_cpu_time(next(iter(subjects.values())).device)
    return [
        Ablated(variant, timing.typical(some, by_cpu_time=by_cpu_time), *counted[variant], steps)
        for variant, some in lengths.items()
    ]


def _counted(subject: Subject, left_out: Collection[str]) -> tuple[int, int]:
    """Take the first two steps, which warm up, and give FLOPs and calls left out of the second."""
    with Without(left_out):
        subject.step()
    with Without(left_out) as mode, Counted() as counted:
        subject.step()
    return counted.flops, sum(mode.met[kind] for kind in left_out)
