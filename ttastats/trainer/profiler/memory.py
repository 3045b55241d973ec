"""What is the memory of a step for, at its peak? Weights, gradients, optimizer, feature maps, rest.

One step is watched operator by operator: which storage is allocated and freed when, and which of
them autograd keeps for the backward pass (the feature maps). Another is measured by the allocator:
what nothing else explains is workspace. Scratch that a library takes past it is not seen.
"""

from __future__ import annotations

import itertools
import json
import weakref
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from operator import itemgetter
from typing import Any, Self

import torch
from msgspec import Struct
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from ttastats.trainer.profiler.trace import Recorder, hiding_profiler_output

#: What the memory of a step is for, in the order of a plot (Zhu et al., Figure 8).
KINDS = ("weights", "gradients", "optimizer state", "feature maps", "workspace")


class TrainingState(Struct, frozen=True, eq=False):
    """A model and its optimizers, whose memory stays from step to step."""

    model: nn.Module
    optimizers: tuple[Any, ...]

    def begin_step(self) -> dict[str, dict[int, int]]:
        """Free the gradients, which each step creates anew; return what stays, by kind.

        It is given in bytes by the address of each storage, buffers among the weights.
        """
        for weight in self.model.parameters():
            weight.grad = None
        weights = _storage_sizes((*self.model.parameters(), *self.model.buffers()))
        states = [
            dict(state)
            for optimizer in self.optimizers
            for state in getattr(optimizer, "state", {}).values()
        ]
        storages = _storage_sizes(tree_leaves(states))
        optimizer_state = {
            address: size for address, size in storages.items() if address not in weights
        }
        return {"weights": weights, "optimizer state": optimizer_state}


def _storage_sizes(tensors: Iterable[Any]) -> dict[int, int]:
    storages = (tensor.untyped_storage() for tensor in tensors if isinstance(tensor, Tensor))
    return {storage._cdata: storage.nbytes() for storage in storages}


class Watched(TorchDispatchMode):
    """Watches the step in a `with` block; `bytes_of` is the memory of each kind at its peak then.

    Logs each storage with its bytes when it is first seen, and with as many less when freed. A
    storage gets a number of its own: the address of one that was freed may be another's. What was
    there before the step is ignored, as the allocator ignores it. `_seen` are the numbers of those
    that live, by their addresses; `_maps` those autograd keeps, `_gradients` those of weights.
    """

    def __init__(self, state: TrainingState) -> None:
        super().__init__()
        self.bytes_of: dict[str, int] = {}
        self._state = state
        self._log: list[tuple[int, int]] = []
        self._seen: dict[int, int] = {}
        self._maps: set[int] = set()
        self._gradients: set[int] = set()
        self._numbers = itertools.count()
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        steady = self._state.begin_step()
        self.bytes_of = {kind: sum(sizes.values()) for kind, sizes in steady.items()}
        self._ignored = set(itertools.chain(*steady.values()))
        keep = partial(self._add, self._maps)
        hooks = torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor)
        self._stack.enter_context(hooks)
        for weight in self._state.model.parameters():
            if weight.requires_grad:
                hook = weight.register_post_accumulate_grad_hook(self._see_gradient)
                self._stack.callback(hook.remove)
        super().__enter__()
        return self

    def __exit__(self, *why: Any) -> None:
        super().__exit__(*why)
        self._stack.__exit__(*why)
        live = live_at_peak(self._log)
        kinds = {"gradients": self._gradients, "feature maps": self._maps - self._gradients}
        for kind, numbers in kinds.items():
            self.bytes_of[kind] = sum(live[number] for number in numbers & live.keys())

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        before = _storage_sizes(tree_leaves([args, kwargs])).keys() - self._seen.keys()
        self._ignored |= before  # no operator made them in this step
        result = func(*args, **(kwargs or {}))
        for tensor in tree_leaves(result):
            if not isinstance(tensor, Tensor):
                continue
            storage = tensor.untyped_storage()
            address, size = storage._cdata, storage.nbytes()
            if size and address not in self._ignored and address not in self._seen:
                self._seen[address] = next(self._numbers)
                self._log.append((self._seen[address], size))
                weakref.finalize(storage, self._gone, address, size)
        return result

    def _see_gradient(self, weight: Tensor) -> None:
        if weight.grad is not None:
            self._add(self._gradients, weight.grad)

    def _add(self, numbers: set[int], tensor: Tensor) -> Tensor:
        """Add the number of a tensor's storage, if it has one, to a set."""
        if (number := self._seen.get(tensor.untyped_storage()._cdata)) is not None:
            numbers.add(number)
        return tensor

    def _gone(self, address: int, size: int) -> None:
        self._log.append((self._seen.pop(address), -size))


def live_at_peak(log: Sequence[tuple[int, int]]) -> dict[int, int]:
    """Return the storages alive at the peak with their bytes, from a log of changes."""
    sizes = list(itertools.accumulate((size for _, size in log), initial=0))
    live: dict[int, int] = {}
    for number, size in log[: sizes.index(max(sizes))]:
        if size > 0:
            live[number] = size
        else:
            del live[number]
    return live


def measured_step(state: TrainingState, device: torch.device) -> Generator[None, None, int]:
    """Measure by the allocator a step that is taken at the yield; return the bytes at its peak."""
    before = sum(sum(sizes.values()) for sizes in state.begin_step().values())
    if device.type == "cuda":
        torch.cuda.synchronize(device)
        torch.cuda.reset_peak_memory_stats(device)
        allocated = torch.cuda.memory_allocated(device)
        yield
        torch.cuda.synchronize(device)
        return before + torch.cuda.max_memory_allocated(device) - allocated
    with Recorder(device, memory=True) as recorder, hiding_profiler_output():
        yield
    return before + peak_bytes(json.loads(recorder.trace)["traceEvents"])


def peak_bytes(trace: Iterable[Mapping[str, Any]]) -> int:
    """Return the peak bytes of a CPU by the allocations and frees of a trace."""
    changes = [
        event
        for event in trace
        if event.get("name") == "[memory]" and event["args"]["Device Type"] == 0
    ]
    sizes = (event["args"]["Bytes"] for event in sorted(changes, key=itemgetter("ts")))
    peak: int = max(itertools.accumulate(sizes, initial=0))
    return peak
