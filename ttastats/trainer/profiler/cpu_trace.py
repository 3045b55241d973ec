"""What does each operator of a step cost on a CPU, in the CPU time of the thread that computes?

A trace of PyTorch's own profiler is timed by the wall: on a machine that others use as well, an
operator is as long as it was interrupted. With one thread every operator is timed here by the
CPU time of that thread instead, and written in the form of such a trace, so that one reader reads
both. What watching costs lies between the operators: the gaps are scaled so that a step is as long
as one that nobody watches.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

#: How the trace calls the types of numbers in a tensor.
_TYPES = {
    torch.float32: "float",
    torch.float64: "double",
    torch.float16: "c10::Half",
    torch.bfloat16: "c10::BFloat16",
    torch.int64: "long int",
    torch.int32: "int",
    torch.int16: "short int",
    torch.int8: "signed char",
    torch.uint8: "unsigned char",
    torch.bool: "bool",
}


#: How a note such as `Optimizer.step#SGD.step` begins and ends: operators without any work.
_NOTE_BEGINS, _NOTE_ENDS = "profiler::_record_function_enter", "profiler::_record_function_exit"


@dataclass(frozen=True, slots=True)
class Call:
    """One call of an operator; `begin` and `seconds` are CPU time of the thread.

    Where a note begins or ends, `seconds` is 0, and the name of the note stands in `args`.
    """

    name: str
    begin: float
    seconds: float
    args: Mapping[str, Any]


class Watched:
    """Watches the operators of a step, which is the work of a `with` block."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.begin = self.seconds = 0.0

    @property
    def operator_seconds(self) -> float:
        """Return the time of all operators together."""
        return sum(call.seconds for call in self.calls)

    def __enter__(self) -> Watched:
        self._mode = _Watch(self.calls)
        self.begin = time.thread_time()
        self._mode.__enter__()
        return self

    def __exit__(self, *why: Any) -> None:
        self._mode.__exit__(*why)
        self.seconds = time.thread_time() - self.begin


class _Watch(TorchDispatchMode):
    """Times every operator below autograd."""

    def __init__(self, calls: list[Call]) -> None:
        super().__init__()
        self._calls = calls

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = kwargs or {}
        began = time.thread_time_ns()
        result = func(*args, **given)
        took = time.thread_time_ns() - began
        self._calls.append(_call(func, args, given, began / 1e9, took / 1e9))
        return result


def _call(func: Any, args: Any, given: Mapping[str, Any], begin: float, seconds: float) -> Call:
    name = func._schema.name
    if name.startswith((_NOTE_BEGINS, _NOTE_ENDS)):
        return Call(name, begin, 0.0, {"note": args[0]})
    return Call(name, begin, seconds, _described(_in_order(func, args, given)))


def _in_order(func: Any, args: Sequence[Any], given: Mapping[str, Any]) -> list[Any]:
    """Return all arguments in the order of the operator's signature, defaults included."""
    rest = func._schema.arguments[len(args) :]
    return [*args, *(given.get(one.name, one.default_value) for one in rest)]


def _described(values: Sequence[Any]) -> Mapping[str, Any]:
    """Describe arguments as `record_shapes` does."""
    parts = [_argument(value) for value in values]
    names = ("Input Dims", "Input type", "Concrete Inputs")
    return {name: [part[place] for part in parts] for place, name in enumerate(names)}


def _argument(value: Any) -> tuple[Any, str, str]:
    if isinstance(value, Tensor):
        return list(value.shape), _TYPES.get(value.dtype, str(value.dtype)), ""
    if isinstance(value, list | tuple) and value and isinstance(value[0], Tensor):
        dims = [list(one.shape) if isinstance(one, Tensor) else [] for one in value]
        return dims, "TensorList", ""
    if value is None:
        return [], "", ""
    if isinstance(value, list | tuple):
        return [], "ScalarList", f"[{', '.join(map(str, value))}]"
    return [], "Scalar", str(value)


def events(steps: Sequence[Watched], unwatched_seconds: float) -> Iterator[dict[str, Any]]:
    """Yield the events of a trace of some steps, each as long as one that nobody watched.

    Times are microseconds. Where operators take longer than the whole step that nobody watched,
    the step is as long as they are.
    """
    at = 0.0
    for number, step in enumerate(steps):
        busy = step.operator_seconds
        gaps = step.seconds - busy
        scale = max(0.0, unwatched_seconds - busy) / gaps if gaps > 0 else 0.0
        begin, end, notes = at, step.begin, []
        for call in step.calls:
            at += max(0.0, call.begin - end) * scale
            if call.name.startswith(_NOTE_BEGINS):
                notes.append((call.args["note"], at))
            elif call.name.startswith(_NOTE_ENDS):
                name, since = notes.pop()
                yield _event(name, "user_annotation", since, at - since, {})
            else:
                yield _event(call.name, "cpu_op", at, call.seconds, call.args)
            at, end = at + call.seconds, call.begin + call.seconds
        at += max(0.0, step.begin + step.seconds - end) * scale
        yield _event(f"ProfilerStep#{number}", "user_annotation", begin, at - begin, {})


def _event(
    name: str, category: str, at: float, seconds: float, args: Mapping[str, Any]
) -> dict[str, Any]:
    return {
        "ph": "X", "cat": category, "name": name, "pid": 1, "tid": 1,
        "ts": round(at * 1e6, 3), "dur": round(seconds * 1e6, 3), "args": args,
    }  # fmt: skip
