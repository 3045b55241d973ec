"""Which events of a trace count, and how are millions of them kept in little memory?

Each kind of event is kept as columns of numbers; names and other texts are kept once. Times are
microseconds, as the trace tells them.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttastats.profiles import flops
from ttastats.profiles.pieces import Args, Event, Text

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
    "cpu_instant_event": "memory",
}
#: Of recorders before kineto, which write no category: processes that stand for machines.
_PROCESSES = {"CPU functions": "operator", "CUDA functions": "kernel"}

STEP = "ProfilerStep#"


class Texts:
    """Texts by number, each kept once."""

    def __init__(self) -> None:
        self._numbers: dict[object, int] = {}

    def number(self, text: object) -> int:
        """Give the number of a text, a new one for a new text."""
        return self._numbers.setdefault(text, len(self._numbers))

    def all(self) -> list[object]:
        """Give all texts in the order of their numbers."""
        return list(self._numbers)


#: Columns whose numbers may be large; those of others count texts, threads and devices.
_WIDE = ("external", "correlation", "bytes", "stream", "flops")


class Columns:
    """Numbers of one kind of event, one array for each name."""

    def __init__(self, floats: Iterable[str], ints: Iterable[str]) -> None:
        self._of: dict[str, array[Any]] = {name: array("d") for name in floats}
        self._of |= {name: array("q" if name in _WIDE else "i") for name in ints}

    def add(self, **values: Iterable[float]) -> None:
        """Add some events."""
        for name, numbers in values.items():
            self._of[name].extend(numbers)

    def taken(self) -> Numbers:
        """Give the columns as arrays of NumPy, which share their memory."""
        return {name: np.frombuffer(one, dtype=one.typecode) for name, one in self._of.items()}

    def __len__(self) -> int:
        return len(next(iter(self._of.values())))


def _number(value: Text, unknown: int = -1) -> int:
    """Give a number that may stand as text; `0x7` is 7."""
    try:
        number = int(value, 0) if isinstance(value, str) else value
    except ValueError:
        return unknown
    return unknown if number is None or abs(number) > _LARGEST else number


_LARGEST = 2**62


def _external(args: Args | None) -> int:
    if args is None:
        return -1
    return _number(args.external if args.external is not None else args.external_before)


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


def _moved(args: Args) -> int:
    """Give the bytes of a copy, or those that a collective makes out of the others' or its own."""
    if args.collective is None:
        return _number(args.bytes)
    elements = max(_number(args.in_elements), _number(args.out_elements))
    size = _SIZES.get(str(args.dtype), -1)
    return elements * size if min(elements, size) > 0 else -1


#: Kinds of events on a device, by number.
DEVICE_KINDS = ("kernel", "memcpy", "memset")


@dataclass(slots=True)
class Peaks:
    """The most memory that was allocated at a time, by device."""

    bytes_of: dict[str, int] = field(default_factory=dict)

    def add(self, events: Iterable[Event]) -> None:
        """Look at some events of memory."""
        for event in events:
            args = event.args
            if args is None:
                continue
            now = _number(args.allocated if args.allocated is not None else args.allocated_before)
            on_host = _number(args.device_type, 0) == 0
            place = "cpu" if on_host else f"gpu {_number(args.device_id, 0)}"
            self.bytes_of[place] = max(self.bytes_of.get(place, 0), now)


class Events:
    """The events of one trace, as columns.

    `threads` are pairs of process and thread, `calls` what is told of the inputs of an operator.
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
        self.calls = Texts()
        self.calls.number(None)  # nothing is told
        self.operators = Columns(("start", "length"), ("name", "thread", "external", "call"))
        self.host = Columns(("start", "length"), ("name", "thread", "correlation"))
        self.device = Columns(
            ("start", "length"),
            ("name", "kind", "index", "stream", "external", "correlation", "bytes"),
        )
        self.notes = Columns(("start", "length"), ("name", "thread"))
        self.ranges = Columns(("start",), ("name", "flops"))
        self.peaks = Peaks()
        self.is_before_kineto = False

    def add(self, events: Iterable[Event]) -> None:
        """Sort some events by their kinds and keep what counts of them."""
        by_category: dict[str, list[Event]] = {}
        for event in events:
            by_category.setdefault(event.cat, []).append(event)
        for category, some in by_category.items():
            if category == "":
                self._add_uncategorized(some)
                continue
            self._add_kind(_KINDS.get(category.lower(), ""), some)

    def _add_uncategorized(self, events: Iterable[Event]) -> None:
        by_process: dict[Text, list[Event]] = {}
        for event in events:
            if event.ph == "X" and event.pid in _PROCESSES:
                by_process.setdefault(event.pid, []).append(event)
        for process, some in by_process.items():
            self.is_before_kineto = True
            self._add_kind(_PROCESSES[str(process)], some)

    def _add_kind(self, kind: str, events: list[Event]) -> None:
        if kind == "memory":
            self.peaks.add(events)
            return
        timed = [event for event in events if event.ph == "X" and event.dur is not None]
        if kind == "operator":
            steps = [event for event in timed if event.name.startswith(STEP)]
            if steps:  # as the first versions with steps wrote them
                self._add_notes(steps)
                timed = [event for event in timed if not event.name.startswith(STEP)]
            self._add_operators(timed)
        elif kind == "host":
            self._add_host(timed)
        elif kind == "annotation":
            self._add_notes(timed)
        elif kind == "range":
            self._add_ranges(timed)
        elif kind:
            self._add_device(timed, DEVICE_KINDS.index(kind))

    def _add_operators(self, events: list[Event]) -> None:
        call, name, thread = self._call, self.names.number, self.threads.number
        self.operators.add(
            start=[event.ts for event in events],
            length=[event.dur or 0.0 for event in events],
            name=[name(event.name) for event in events],
            thread=[thread((event.pid, event.tid)) for event in events],
            external=[_external(event.args) for event in events],
            call=[call(event) for event in events],
        )

    def _call(self, event: Event) -> int:
        """Give the number of what is told of the inputs of a call."""
        args = event.args
        if args is None:
            return 0
        dims = bytes(args.dims)
        if not dims or dims == b"[]":
            return 0
        concrete = bytes(args.concrete) if event.name in flops.COUNTED else b""
        return self.calls.number((event.name, dims, bytes(args.types), concrete))

    def _add_host(self, events: list[Event]) -> None:
        name, thread = self.names.number, self.threads.number
        self.host.add(
            start=[event.ts for event in events],
            length=[event.dur or 0.0 for event in events],
            name=[name(event.name) for event in events],
            thread=[thread((event.pid, event.tid)) for event in events],
            correlation=[_number(event.args.correlation) if event.args else -1 for event in events],
        )

    def _add_notes(self, events: list[Event]) -> None:
        name, thread = self.names.number, self.threads.number
        self.notes.add(
            start=[event.ts for event in events],
            length=[event.dur or 0.0 for event in events],
            name=[name(event.name) for event in events],
            thread=[thread((event.pid, event.tid)) for event in events],
        )

    def _add_device(self, events: list[Event], kind: int) -> None:
        name, none = self.names.number, Args()
        args = [event.args or none for event in events]
        self.device.add(
            start=[event.ts for event in events],
            length=[event.dur or 0.0 for event in events],
            name=[name(event.name) for event in events],
            kind=[kind] * len(events),
            index=[
                _number(one.device, _number(event.tid, 0) if self.is_before_kineto else 0)
                for one, event in zip(args, events, strict=True)
            ],
            stream=[_number(one.stream, 0) for one in args],
            external=[_external(one) for one in args],
            correlation=[_number(one.correlation) for one in args],
            bytes=[_moved(one) for one in args],
        )

    def _add_ranges(self, events: list[Event]) -> None:
        """Add kernels whose instructions CUPTI counted; their times are none of the program's."""
        self.ranges.add(
            start=[event.ts for event in events],
            name=[self.names.number(event.name) for event in events],
            flops=[_counted_flops(event.args) for event in events],
        )


def _counted_flops(args: Args | None) -> int:
    """Give the operations of the instructions that were counted; a fused one is two."""
    if args is None:
        return -1
    single = (args.dadd, args.dmul, args.fadd, args.fmul, args.hadd, args.hmul)
    fused = (args.dfma, args.ffma, args.hfma)
    if all(one is None for one in (*single, *fused)):
        return -1
    return sum(_number(one, 0) for one in single) + 2 * sum(_number(one, 0) for one in fused)
