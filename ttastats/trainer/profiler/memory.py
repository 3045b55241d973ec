"""What is the memory of a step for, at its peak? Weights, gradients, optimizer, feature maps, rest.

One step is watched operator by operator: which storage is allocated and freed when, and which of
them autograd keeps for the backward pass (the feature maps). Another is measured by the allocator,
which also sees what operators need inside. What it measured and nothing else explains is workspace:
temporaries, the batch, and scratch memory. Scratch that a library of the CPU takes past PyTorch's
allocator is not seen.
"""

from __future__ import annotations

import itertools
import json
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from ttastats.trainer.profiler import kineto

#: What the memory of a step is for, in the order of a plot (Zhu et al., Figure 8).
KINDS = ("weights", "gradients", "optimizer state", "feature maps", "workspace")


@dataclass(frozen=True, slots=True, eq=False)
class Kept:
    """A model and its optimizers, whose memory stays from step to step."""

    model: nn.Module
    optimizers: tuple[Any, ...]

    def forget_gradients(self) -> None:
        """Free the gradients, which are made anew in each step."""
        for weight in self.model.parameters():
            weight.grad = None

    def weights(self) -> dict[int, int]:
        """Return the bytes of weights and buffers by the address of each storage."""
        return _storages((*self.model.parameters(), *self.model.buffers()))

    @contextmanager
    def each_gradient(self, seen: Callable[[Tensor], None]) -> Iterator[None]:
        """Let somebody see each gradient when it is made: some steps free them at their end."""

        def made(weight: Tensor) -> None:
            if weight.grad is not None:
                seen(weight.grad)

        weights = (one for one in self.model.parameters() if one.requires_grad)
        hooks = [weight.register_post_accumulate_grad_hook(made) for weight in weights]
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()

    def optimizer_state(self) -> dict[int, int]:
        """Return the bytes that optimizers keep by the address of each storage."""
        states = [
            dict(state)
            for optimizer in self.optimizers
            for state in getattr(optimizer, "state", {}).values()
        ]
        weights = self.weights()
        found = _storages(tree_leaves(states))
        return {address: size for address, size in found.items() if address not in weights}


def _storages(tensors: Iterable[Any]) -> dict[int, int]:
    found = (one.untyped_storage() for one in tensors if isinstance(one, Tensor))
    return {one._cdata: one.nbytes() for one in found}


def split(whole: int, watched: Watched) -> Mapping[str, int]:
    """Return the bytes of each kind; together they are what the allocator measured."""
    found = {**watched.bytes_of, "workspace": whole - sum(watched.bytes_of.values())}
    return {kind: found[kind] for kind in KINDS}


class Watched:
    """Watches the step in a `with` block; `bytes_of` tells of each kind at its peak afterwards."""

    bytes_of: Mapping[str, int]

    def __init__(self, kept: Kept) -> None:
        self._kept = kept
        self._stack = ExitStack()

    def __enter__(self) -> Watched:
        self._kept.forget_gradients()
        self._steady = (sum(self._kept.weights().values()), self._kept.optimizer_state())
        self._mode = _Watch((*self._kept.weights(), *self._steady[1]))
        hooks = torch.autograd.graph.saved_tensors_hooks(self._mode.keep, lambda tensor: tensor)
        self._stack.enter_context(hooks)
        self._stack.enter_context(self._kept.each_gradient(self._mode.note_gradient))
        self._stack.enter_context(self._mode)
        return self

    def __exit__(self, *why: Any) -> None:
        self._stack.__exit__(*why)
        live, gradients = at_peak(self._mode.log), self._mode.gradients
        self.bytes_of = {
            "weights": self._steady[0],
            "gradients": sum(size for one, size in live.items() if one in gradients),
            "optimizer state": sum(self._steady[1].values()),
            "feature maps": sum(
                size
                for one, size in live.items()
                if one in self._mode.kept and one not in gradients
            ),
        }


class _Watch(TorchDispatchMode):
    """Logs each storage with its bytes when it is first seen, and with as many less when freed.

    A storage gets a number of its own: the address of one that was freed may be another's. What was
    there before the step is ignored, as the allocator ignores it. `seen` are the numbers of those
    that live, by their addresses; `kept` those autograd keeps, `gradients` those of weights.
    """

    def __init__(self, ignored: Iterable[int]) -> None:
        super().__init__()
        self.log: list[tuple[int, int]] = []
        self.seen: dict[int, int] = {}
        self.kept: set[int] = set()
        self.gradients: set[int] = set()
        self._ignored = set(ignored)
        self._numbers = itertools.count()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        before = _storages(tree_leaves([args, kwargs])).keys() - self.seen.keys()
        self._ignored |= before  # no operator made them in this step
        result = func(*args, **(kwargs or {}))
        for one in tree_leaves(result):
            if isinstance(one, Tensor):
                self._see(one.untyped_storage())
        return result

    def keep(self, tensor: Tensor) -> Tensor:
        """Note that autograd keeps a tensor."""
        self._add(tensor, self.kept)
        return tensor

    def note_gradient(self, tensor: Tensor) -> None:
        """Note that a tensor is the gradient of a weight."""
        self._add(tensor, self.gradients)

    def _add(self, tensor: Tensor, numbers: set[int]) -> None:
        number = self.seen.get(tensor.untyped_storage()._cdata)
        if number is not None:
            numbers.add(number)

    def _see(self, storage: torch.UntypedStorage) -> None:
        address, size = storage._cdata, storage.nbytes()
        if size and address not in self._ignored and address not in self.seen:
            self.seen[address] = next(self._numbers)
            self.log.append((self.seen[address], size))
            weakref.finalize(storage, self._gone, address, size)

    def _gone(self, address: int, size: int) -> None:
        self.log.append((self.seen.pop(address), -size))


def at_peak(log: Sequence[tuple[int, int]]) -> dict[int, int]:
    """Return what lived when most bytes did, from numbers of storages with bytes more or less."""
    live: dict[int, int] = {}
    most: dict[int, int] = {}
    now = highest = 0
    rising = False
    for number, size in log:
        if size > 0:
            live[number] = size
        else:
            if rising:
                most, rising = dict(live), False
            del live[number]
        now += size
        if now > highest:
            highest, rising = now, True
    return dict(live) if rising else most


class Measured:
    """Measures the step in a `with` block by the allocator; `bytes` are those at its peak."""

    bytes = 0

    def __init__(self, kept: Kept, device: torch.device) -> None:
        self._kept, self._device = kept, device
        self._recorder = kineto.Recorder(device, memory=True)
        self._stack = ExitStack()

    def __enter__(self) -> Measured:
        self._kept.forget_gradients()
        steady = (*self._kept.weights().values(), *self._kept.optimizer_state().values())
        self._before = sum(steady)
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)
            torch.cuda.reset_peak_memory_stats(self._device)
            self._allocated = torch.cuda.memory_allocated(self._device)
        else:
            self._recorder.start()
            self._stack.enter_context(kineto.quietly())
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)
            risen = torch.cuda.max_memory_allocated(self._device) - self._allocated
        else:
            with tempfile.TemporaryDirectory(prefix="ttastats-") as folder:
                path = Path(folder, "memory.json")
                self._recorder.stop(path)
                risen = highest(json.loads(path.read_bytes())["traceEvents"])
        self.bytes = self._before + risen


def highest(trace: Iterable[Mapping[str, Any]]) -> int:
    """Return the most bytes a CPU held at once, by the allocations and frees of a trace."""
    changes = [
        (event["ts"], event["args"]["Bytes"])
        for event in trace
        if event.get("name") == "[memory]" and event["args"]["Device Type"] == 0
    ]
    now = most = 0
    for _, size in sorted(changes, key=lambda change: change[0]):
        now += size
        most = max(most, now)
    return most
