"""Which events of a trace count, and how are millions of them kept in little memory?

Each kind of event is kept as columns of numbers; names and other texts are kept once. Times are
microseconds, as the trace tells them.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttastats.traces import flops
from ttastats.traces.pieces import (
    MISSING,
    NOTHING,
    Args,
    ByCategory,
    Event,
    FullEvent,
    MoreArgs,
    Number,
)

#: Columns of one kind of event, by name.
Numbers = dict[str, NDArray[Any]]

#: What categories of all years are, in lower case. Others are left out: arrows between events,
#: frames of Python, what the recorder itself cost.
_KINDS = {
    "cpu_op": "operator",
    "operator": "operator",
    "kernel": "kernel",
    "gpu_memcpy": "memcpy",
    "memcpy": "memcpy",
    "gpu_memset": "memset",
    "memset": "memset",
    "cuda_runtime": "host",
    "cuda_driver": "host",
    "hip_runtime": "host",
    "xpu_runtime": "host",
    "runtime": "host",
    "user_annotation": "annotation",
    "user annotation": "annotation",
    "cuda_profiler_range": "range",
}
_MEMORY = "cpu_instant_event"
#: Of recorders before kineto, which write no category: processes that stand for machines.
_PROCESSES = {"CPU functions": "operator", "CUDA functions": "kernel"}

STEP = "ProfilerStep#"


class Texts(dict[Any, int]):
    """Texts with their numbers: a new text gets a new one."""

    def __missing__(self, text: Any) -> int:
        number = self[text] = len(self)
        return number


_NO_INPUTS = ("", b"", b"", b"")

#: Columns by the type of their numbers: d and f are floats, i, h, q and b are whole.
_TYPES = {
    "start": "d", "length": "d", "name": "i", "thread": "h", "external": "i", "correlation": "i",
    "call": "i", "kind": "b", "index": "h", "stream": "i", "bytes": "q", "flops": "q",
}  # fmt: skip


class Columns:
    """Numbers of one kind of event, one array for each name."""

    def __init__(self, *names: str) -> None:
        self.names = names
        self._arrays: dict[str, array[Any]] = {name: array(_TYPES[name]) for name in names}

    def add(self, **values: list[Any]) -> None:
        """Append events to the columns."""
        for name, numbers in values.items():
            column = self._arrays[name]
            try:
                column.fromlist(numbers)
            except (TypeError, OverflowError):  # text, nothing, or more than fits
                column.fromlist([_fit_to_column(number, column) for number in numbers])

    def take_arrays(self) -> Numbers:
        """Return the columns as NumPy arrays, and release them here."""
        arrays = {name: np.frombuffer(part, part.typecode) for name, part in self._arrays.items()}
        self._arrays = {name: array(_TYPES[name]) for name in arrays}
        return arrays

    def __len__(self) -> int:
        return len(next(iter(self._arrays.values())))


def parse_number(value: Number, default: int = MISSING) -> int:
    """Return a number that may be given as text; `0x7` is 7."""
    try:
        number = int(value, 0) if isinstance(value, str) else value
    except ValueError:
        return default
    return default if number is None else number


def _fit_to_column(value: Any, column: array[Any]) -> Any:
    """Return a number as a column can hold it; of one too large, the last digits."""
    if column.typecode == "d":
        return value or 0.0
    number, most = parse_number(value), 1 << (8 * column.itemsize - 1)
    return number if -most <= number < most else number % most


#: Kinds of events on a device, by number.
DEVICE_KINDS = ("kernel", "memcpy", "memset")

#: Bytes of an element by the name that a collective gives its type.
_SIZES = {
    "Float": 4, "Half": 2, "BFloat16": 2, "Double": 8, "Int": 4, "Long": 8, "Short": 2, "Char": 1,
    "Byte": 1, "Bool": 1,
}  # fmt: skip


def _bytes_moved(args: Args) -> Number:
    """Return the bytes of a copy, or the larger of input and output of a collective."""
    if args.in_elements == MISSING:
        return args.bytes
    elements = max(parse_number(args.in_elements), parse_number(args.out_elements))
    size = _SIZES.get(str(args.dtype), MISSING)
    return elements * size if min(elements, size) > 0 else MISSING


_HOST = "cpu"


class Events:
    """The events of one trace, as columns.

    `threads` are their numbers in the trace, `calls` the recorded inputs of operators.
    """

    def __init__(self) -> None:
        self.names, self.threads, self.calls = Texts(), Texts(), Texts({_NO_INPUTS: 0})
        self.operators = Columns("start", "length", "name", "thread", "external", "call")
        self.host = Columns("start", "length", "name", "thread", "correlation")
        self.device = Columns(
            "start", "length", "name", "kind", "index", "stream", "external", "correlation", "bytes"
        )
        self.annotations = Columns("start", "length", "name")
        self.ranges = Columns("start", "name", "flops")  # counting took many times as long
        self.is_before_kineto: bool = False
        self._columns_of = {
            "operator": self.operators,
            "host": self.host,
            "annotation": self.annotations,
            "range": self.ranges,
            **dict.fromkeys(DEVICE_KINDS, self.device),
        }
        self._peaks: dict[str, int] = {}

    def add(self, by_category: ByCategory) -> None:
        """Append the relevant events, given by category."""
        for category, events in by_category.items():
            if kind := _KINDS.get(category.lower()):
                self._add_kind(kind, events)
                continue
            full = [event for event in events if isinstance(event, FullEvent)]
            if category == _MEMORY:
                for args in (event.args for event in full):
                    on_host = parse_number(args.device_type, 0) == 0
                    memory = _HOST if on_host else f"gpu {parse_number(args.device_id, 0)}"
                    allocated = max(
                        parse_number(args.allocated), parse_number(args.allocated_before)
                    )
                    self._peaks[memory] = max(allocated, self._peaks.get(memory, 0))
            elif not category:  # traces that name processes instead of kinds
                for process, kind in _PROCESSES.items():
                    of_process: list[Any] = [event for event in full if event.pid == process]
                    self.is_before_kineto |= bool(of_process)
                    self._add_kind(kind, of_process)

    def peak_bytes(self) -> dict[str, int]:
        """Return the most memory that was allocated at a time, by device.

        Beside an accelerator the host allocates counters of a few bytes, not what the step holds.
        """
        device_peaks = {memory: peak for memory, peak in self._peaks.items() if memory != _HOST}
        return device_peaks or self._peaks

    def _add_kind(self, kind: str, events: list[Event]) -> None:
        """Append the events of a kind that have a duration."""
        lengths: list[Any] = [event.dur for event in events]
        if None in lengths or min(lengths, default=0) < 0:
            events = [event for event in events if event.dur is not None and event.dur >= 0]
        if kind == "operator":
            steps = {name for name in {event.name for event in events} if name.startswith(STEP)}
            if steps:  # the first versions with steps wrote them as operators
                self._add_kind("annotation", [event for event in events if event.name in steps])
                events = [event for event in events if event.name not in steps]
        columns = self._columns_of[kind]
        values = {name: _VALUES[name](self, events) for name in columns.names if name != "kind"}
        if columns is self.device:
            values["kind"] = [DEVICE_KINDS.index(kind)] * len(events)
        columns.add(**values)

    def call_numbers(self, events: list[Event]) -> list[int]:
        """Return the numbers of the recorded inputs of operators."""
        dims = [event.args.dims for event in events]
        if dims.count(NOTHING) == len(dims):
            return [0] * len(dims)
        # The values of inputs that are no tensors, where FLOPs depend on them.
        costed_names = flops.COUNTED
        values = [
            bytes(event.args.concrete) if event.name in costed_names else b"" for event in events
        ]
        types = map(bytes, [event.args.types for event in events])
        names = [event.name for event in events]
        calls = zip(names, map(bytes, dims), types, values, strict=True)
        return [*map(self.calls.__getitem__, calls)]


#: The values of each column of some events.
_VALUES: dict[str, Callable[[Events, list[Event]], list[Any]]] = {
    "start": lambda _, events: [event.ts for event in events],
    "length": lambda _, events: [event.dur for event in events],
    "name": lambda trace, events: [*map(trace.names.__getitem__, [event.name for event in events])],
    "thread": lambda trace, events: [
        *map(trace.threads.__getitem__, [event.tid for event in events])
    ],
    "external": lambda _, events: [_external_id(event.args) for event in events],
    "correlation": lambda _, events: [event.args.correlation for event in events],
    "call": Events.call_numbers,
    "index": lambda trace, events: [
        event.tid if trace.is_before_kineto else event.args.device for event in events
    ],
    "stream": lambda _, events: [event.args.stream for event in events],
    "bytes": lambda _, events: [_bytes_moved(event.args) for event in events],
    "flops": lambda _, events: [_counted_flops(event.args) for event in events],
}


def _external_id(args: Args) -> Number:
    """Return the number of an event's operator; older traces have it under another name."""
    if args.external == MISSING and isinstance(args, MoreArgs):
        return args.external_before
    return args.external


def _counted_flops(args: Args) -> int:
    """Return the FLOPs of the counted instructions; a fused one counts twice."""
    if not isinstance(args, MoreArgs):
        return MISSING
    fused = (args.dfma, args.ffma, args.hfma)
    counts = (args.dadd, args.dmul, args.fadd, args.fmul, args.hadd, args.hmul, *fused, *fused)
    if all(count == MISSING for count in counts):
        return MISSING
    return sum(max(parse_number(count), 0) for count in counts)
