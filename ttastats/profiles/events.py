"""Which events of a trace count, and how are millions of them kept in little memory?

Each kind of event is kept as columns of numbers; names and other texts are kept once. Times are
microseconds, as the trace tells them.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttastats.profiles import flops
from ttastats.profiles.pieces import NOTHING, UNTOLD, Args, Event, FullEvent, MoreArgs, Number

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
        """Number a text."""
        found = self[text] = len(self)
        return found


_NOTHING_TOLD = ("", b"", b"", b"")

#: Columns by the type of their numbers: d and f are floats, i, h, q and b are whole.
_TYPES = {
    "start": "d",
    "length": "d",
    "name": "i",
    "thread": "h",
    "external": "i",
    "correlation": "i",
    "call": "i",
    "kind": "b",
    "index": "h",
    "stream": "i",
    "bytes": "q",
    "flops": "q",
}


class Columns:
    """Numbers of one kind of event, one array for each name."""

    def __init__(self, *names: str) -> None:
        self._of: dict[str, array[Any]] = {name: array(_TYPES[name]) for name in names}

    def add(self, **values: list[Any]) -> None:
        """Add some events."""
        for name, numbers in values.items():
            column = self._of[name]
            try:
                column.extend(array(column.typecode, numbers))
            except (TypeError, OverflowError):  # text, nothing, or more than fits
                column.extend(array(column.typecode, [_fitting(one, column) for one in numbers]))

    def taken(self) -> Numbers:
        """Give the columns as arrays of NumPy, which share their memory."""
        return {name: np.frombuffer(one, dtype=one.typecode) for name, one in self._of.items()}

    def __len__(self) -> int:
        return len(next(iter(self._of.values())))


def number_of(value: Number, untold: int = UNTOLD) -> int:
    """Give a number that may stand as text; `0x7` is 7."""
    try:
        found = int(value, 0) if isinstance(value, str) else value
    except ValueError:
        return untold
    return untold if found is None else found


def _fitting(value: Any, column: array[Any]) -> Any:
    """Give a number that a column can hold; of one too large, its last digits."""
    if column.typecode == "d":
        return value or 0.0
    found, most = number_of(value), 1 << (8 * column.itemsize - 1)
    return found if -most <= found < most else found % most


#: Kinds of events on a device, by number.
DEVICE_KINDS = ("kernel", "memcpy", "memset")

#: Bytes of an element by the name that a collective gives its type.
_SIZES = {
    "Float": 4,
    "Half": 2,
    "BFloat16": 2,
    "Double": 8,
    "Int": 4,
    "Long": 8,
    "Short": 2,
    "Char": 1,
    "Byte": 1,
    "Bool": 1,
}


def _moved(args: Args) -> Number:
    """Give the bytes of a copy, or the larger of what a collective takes and makes."""
    if args.in_elements == UNTOLD:
        return args.bytes
    elements = max(number_of(args.in_elements), number_of(args.out_elements))
    size = _SIZES.get(str(args.dtype), UNTOLD)
    return elements * size if min(elements, size) > 0 else UNTOLD


@dataclass(slots=True)
class Peaks:
    """The most memory that was allocated at a time, by device."""

    bytes_of: dict[str, int] = field(default_factory=dict)

    def add(self, events: Iterable[Event]) -> None:
        """Look at some events of memory."""
        for event in events:
            if isinstance(event, FullEvent):
                place, now = _allocated(event)
                self.bytes_of[place] = max(now, self.bytes_of.get(place, 0))


def _allocated(event: FullEvent) -> tuple[str, int]:
    """Give where memory was allocated, and how much of it was in all."""
    args = event.args
    on_host = number_of(args.device_type, 0) == 0
    place = "cpu" if on_host else f"gpu {number_of(args.device_id, 0)}"
    return place, max(number_of(args.allocated), number_of(args.allocated_before))


class Events:
    """The events of one trace, as columns.

    `threads` are their numbers in the trace, `calls` what is told of the inputs of an operator.
    """

    names: Texts
    threads: Texts
    calls: Texts
    operators: Columns
    host: Columns
    device: Columns
    notes: Columns
    ranges: Columns
    peaks: Peaks

    def __init__(self) -> None:
        self.names = Texts()
        self.threads = Texts()
        self.calls = Texts({_NOTHING_TOLD: 0})
        self.operators = Columns("start", "length", "name", "thread", "external", "call")
        self.host = Columns("start", "length", "name", "thread", "correlation")
        self.device = Columns(
            "start",
            "length",
            "name",
            "kind",
            "index",
            "stream",
            "external",
            "correlation",
            "bytes",
        )
        self.notes = Columns("start", "length", "name", "thread")
        self.ranges = Columns("start", "name", "flops")
        self.peaks = Peaks()
        self.is_before_kineto = False

    def add(self, events: Iterable[Event]) -> None:
        """Sort some events by their kinds and keep what counts of them."""
        by_category: dict[str, list[Event]] = defaultdict(list)
        moments: list[Event] = []
        for event in events:
            if event.dur is not None and event.dur >= 0:
                by_category[event.cat].append(event)
            elif event.cat == _MEMORY:
                moments.append(event)
        self.peaks.add(moments)
        uncategorized = by_category.pop("", [])
        for category, some in by_category.items():
            self._add_kind(_KINDS.get(category.lower(), ""), some)
        by_process: dict[Number, list[Event]] = defaultdict(list)
        for event in uncategorized:
            if event.pid in _PROCESSES:
                by_process[event.pid].append(event)
        for process, some in by_process.items():
            self.is_before_kineto = True
            self._add_kind(_PROCESSES[str(process)], some)

    def forget_operators(self) -> None:
        """Give back the memory of the operators, once they have been looked at."""
        self.operators = Columns("start")

    def _add_kind(self, kind: str, events: list[Event]) -> None:
        if kind == "operator":
            self._add_operators(events)
        elif kind == "host":
            correlation = [event.args.correlation for event in events]
            self.host.add(**self._timed(events), correlation=correlation)
        elif kind == "annotation":
            self.notes.add(**self._timed(events))
        elif kind == "range":
            self._add_ranges(events)
        elif kind:
            self._add_device(events, DEVICE_KINDS.index(kind))

    def _timed(self, events: list[Event]) -> dict[str, list[Any]]:
        """Give what every event of the host has."""
        names, threads = self.names, self.threads
        return {
            "start": [event.ts for event in events],
            "length": [event.dur for event in events],
            "name": [*map(names.__getitem__, [event.name for event in events])],
            "thread": [*map(threads.__getitem__, [event.tid for event in events])],
        }

    def _add_operators(self, events: list[Event]) -> None:
        if any(name.startswith(STEP) for name in {event.name for event in events}):
            # The first versions with steps wrote them as operators.
            steps = [event for event in events if event.name.startswith(STEP)]
            self.notes.add(**self._timed(steps))
            events = [event for event in events if not event.name.startswith(STEP)]
        self.operators.add(
            **self._timed(events),
            external=_external([event.args for event in events]),
            call=self._calls(events),
        )

    def _calls(self, events: list[Event]) -> list[int]:
        """Give the numbers of what is told of the inputs of operators."""
        dims = [event.args.dims for event in events]
        if dims.count(NOTHING) == len(dims):
            return [0] * len(dims)
        told = zip(
            [event.name for event in events],
            map(bytes, dims),
            map(bytes, [event.args.types for event in events]),
            _concrete(events),
            strict=True,
        )
        return [*map(self.calls.__getitem__, told)]

    def _add_device(self, events: list[Event], kind: int) -> None:
        names = self.names
        args = [event.args for event in events]
        index = [one.device for one in args]
        if self.is_before_kineto:
            index = [event.tid for event in events]
        self.device.add(
            start=[event.ts for event in events],
            length=[event.dur for event in events],
            name=[names[event.name] for event in events],
            kind=[kind] * len(events),
            index=index,
            stream=[one.stream for one in args],
            external=_external(args),
            correlation=[one.correlation for one in args],
            bytes=[_moved(one) for one in args],
        )

    def _add_ranges(self, events: list[Event]) -> None:
        """Add kernels whose instructions CUPTI counted; their times are none of the program's."""
        self.ranges.add(
            start=[event.ts for event in events],
            name=[self.names[event.name] for event in events],
            flops=[_counted_flops(event.args) for event in events],
        )


def _concrete(events: list[Event]) -> list[bytes]:
    """Give the values of inputs that are no tensors, where FLOPs depend on them."""
    counted = flops.COUNTED
    return [bytes(event.args.concrete) if event.name in counted else b"" for event in events]


def _external(args: list[Args]) -> list[Number]:
    found = [one.external for one in args]
    if not args or found[0] != UNTOLD or not isinstance(args[0], MoreArgs):
        return found
    return [one.external_before if isinstance(one, MoreArgs) else UNTOLD for one in args]


def _counted_flops(args: Args) -> int:
    """Give the operations of the instructions that were counted; a fused one is two."""
    if not isinstance(args, MoreArgs):
        return UNTOLD
    single = (args.dadd, args.dmul, args.fadd, args.fmul, args.hadd, args.hmul)
    fused = (args.dfma, args.ffma, args.hfma)
    if all(one == UNTOLD for one in (*single, *fused)):
        return UNTOLD
    once = sum(max(number_of(one), 0) for one in single)
    return once + 2 * sum(max(number_of(one), 0) for one in fused)
