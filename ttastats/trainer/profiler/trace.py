"""How is a step recorded operator by operator: by the CPU time of its thread, or by PyTorch?

PyTorch's own profiler times by the wall: an operator is longer if it was interrupted. With one
thread every operator is timed by the CPU time of that thread instead, and written in the form of
such a trace. What watching costs lies between the operators: the gaps are scaled so that a step is
as long as one that nobody watches.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import torch
from msgspec import Struct
from torch import Tensor
from torch.profiler import ProfilerActivity, profile
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
#: What PyTorch writes on the screen of each start and stop, and of memory that was there before.
_CHATTER = (b"USDT:", b"Memory block of unknown size was allocated before the profiling started")


class Call(Struct, frozen=True):
    """One call of an operator; `begin` and `seconds` are CPU time of the thread.

    Where a note begins or ends, `seconds` is 0, and the name of the note stands in `args`.
    """

    name: str
    begin: float
    seconds: float
    args: Mapping[str, Any]


class TimedOperators(TorchDispatchMode):
    """Times every operator below autograd in the step of a `with` block."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[Call] = []
        self.begin = self.seconds = 0.0

    @property
    def operator_seconds(self) -> float:
        """Return the time of all operators together."""
        return sum(call.seconds for call in self.calls)

    def __enter__(self) -> Self:
        self.begin = time.thread_time()
        super().__enter__()
        return self

    def __exit__(self, *why: Any) -> None:
        super().__exit__(*why)
        self.seconds = time.thread_time() - self.begin

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        by_name, name = kwargs or {}, func._schema.name
        began = time.thread_time_ns()
        result = func(*args, **by_name)
        seconds = (time.thread_time_ns() - began) / 1e9
        if name.startswith((_NOTE_BEGINS, _NOTE_ENDS)):
            seconds, details = 0.0, {"note": args[0]}
        else:  # as `record_shapes` does, in the order of the operator's signature
            omitted = func._schema.arguments[len(args) :]
            values = [
                *args,
                *(by_name.get(parameter.name, parameter.default_value) for parameter in omitted),
            ]
            parts = [_describe_argument(value) for value in values]
            names = ("Input Dims", "Input type", "Concrete Inputs")
            details = {name: [part[number] for part in parts] for number, name in enumerate(names)}
        self.calls.append(Call(name, began / 1e9, seconds, details))
        return result


def _describe_argument(value: Any) -> tuple[Any, str, str]:
    if isinstance(value, Tensor):
        return list(value.shape), _TYPES.get(value.dtype, str(value.dtype)), ""
    if value is None:
        return [], "", ""
    if not isinstance(value, list | tuple):
        return [], "Scalar", str(value)
    if value and isinstance(value[0], Tensor):
        dims = [list(tensor.shape) if isinstance(tensor, Tensor) else [] for tensor in value]
        return dims, "TensorList", ""
    return [], "ScalarList", f"[{', '.join(map(str, value))}]"


def trace_events(
    steps: Sequence[TimedOperators], unwatched_seconds: float
) -> Iterator[dict[str, Any]]:
    """Yield trace events of steps, scaled to the length of a step without the profiler.

    Times are microseconds. A step is at least as long as its operators together.
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
                yield _trace_event(name, "user_annotation", since, at - since, {})
            else:
                yield _trace_event(call.name, "cpu_op", at, call.seconds, call.args)
            at, end = at + call.seconds, call.begin + call.seconds
        at += max(0.0, step.begin + step.seconds - end) * scale
        yield _trace_event(f"ProfilerStep#{number}", "user_annotation", begin, at - begin, {})


def _trace_event(
    name: str, category: str, at: float, seconds: float, args: Mapping[str, Any]
) -> dict[str, Any]:
    return {
        "ph": "X", "cat": category, "name": name, "pid": 1, "tid": 1,
        "ts": round(at * 1e6, 3), "dur": round(seconds * 1e6, 3), "args": args,
    }  # fmt: skip


class Recorder:
    """Records the `with` block by PyTorch's profiler; then `trace` is what it wrote."""

    def __init__(self, device: torch.device, *, memory: bool = False) -> None:
        self.trace = b""
        activities = [ProfilerActivity.CPU]
        if device.type == "cuda":
            activities.append(ProfilerActivity.CUDA)
        self._profile = profile(
            activities=activities, record_shapes=not memory, profile_memory=memory
        )

    def __enter__(self) -> Self:
        with hiding_profiler_output():
            self._profile.start()
        return self

    def __exit__(self, *why: object) -> None:
        with hiding_profiler_output(), tempfile.TemporaryDirectory(prefix="ttastats-") as folder:
            path = Path(folder, "trace.json")
            self._profile.stop()
            self._profile.export_chrome_trace(str(path))
            self.trace = path.read_bytes()


@contextmanager
def hiding_profiler_output() -> Iterator[None]:
    """Hide what the profiler prints while the block runs; other output passes."""
    sys.stderr.flush()
    screen = os.dup(2)
    with tempfile.TemporaryFile() as caught:
        os.dup2(caught.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(screen, 2)
            os.close(screen)
            caught.seek(0)
            lines = [line for line in caught if not any(words in line for words in _CHATTER)]
            os.write(2, b"".join(lines))
