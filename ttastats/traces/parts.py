"""What is the time of steps spent with: computing, communication, copies, input, host, nothing?

The parts of a step sum to its length. Millions of events are looked at a span of time at a time.
Times are microseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ttastats.traces import categories, intervals
from ttastats.traces.events import DEVICE_KINDS, Numbers
from ttastats.traces.together import SteppedTrace, under_way

Floats = NDArray[np.float64]

#: Calls of the driver in which the host waits for the device.
_WAITING = ("Synchronize", "EventQuery", "StreamWaitEvent")
#: The parts of a step but the rest, by the measures that hold them.
_PARTS = ("compute_seconds", "exposed_seconds", "copy_seconds", "input_seconds", "host_seconds")
#: Events of a kind that are looked at together, and those that share a mark of how late they end.
_TOGETHER = 50_000
_BLOCK = 512
#: A rest of a step smaller than this share of it is that of rounded times.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Timeline:
    """Intervals in the order of their starts, which may overlap.

    `reached` tells of blocks of them how late they, or any before, end.
    """

    start: Floats
    end: Floats
    reached: Floats

    def between(self, low: float, high: float) -> Floats:
        """Return the time in which any is under way in a span of time."""
        first = int(np.searchsorted(self.reached, low, side="right")) * _BLOCK
        last = int(np.searchsorted(self.start, high, side="left"))
        some = slice(first, max(first, last))
        return intervals.union(np.maximum(self.start[some], low), np.minimum(self.end[some], high))


def timeline(start: Floats, length: Floats) -> Timeline:
    """Return some intervals as a timeline."""
    if (start[1:] < start[:-1]).any():
        order = np.argsort(start, kind="stable")
        start, length = start[order], length[order]
    end = start + length
    blocks = np.arange(0, len(end), _BLOCK)
    latest = np.maximum.reduceat(end, blocks) if len(end) else end
    return Timeline(start, end, np.maximum.accumulate(latest))


def of_set(found: Floats) -> Timeline:
    """Return a set of intervals as a timeline."""
    return timeline(found[:, 0], found[:, 1] - found[:, 0])


#: Gives the parts of a span of time, each a set of intervals.
_Split = Callable[[float, float], Mapping[str, Floats]]


def of_steps(trace: SteppedTrace) -> dict[str, Floats]:
    """Return how long each part of each step is."""
    windows = trace.steps.device
    length = windows[:, 1] - windows[:, 0]
    split, starts = _on_device(trace) if len(trace.device["start"]) else _on_host(trace)
    parts = {name: np.zeros(len(windows)) for name in (*_PARTS, "communication_seconds")}
    for low, high in _spans(starts, windows):
        clipped = np.clip(windows, low, high)
        for name, part in split(low, high).items():
            parts[name] += intervals.within(part, clipped)
    rest = length - sum(parts[name] for name in _PARTS)
    parts["idle_seconds"] = np.where(rest > _ROUNDING * length, rest, 0.0)
    parts["step_seconds"] = length
    return parts


def _spans(starts: Floats, windows: Floats) -> Iterator[tuple[float, float]]:
    """Yield spans of time that hold all windows, each with so many events."""
    first, last = float(windows[:, 0].min()), float(windows[:, 1].max())
    inner = starts[_TOGETHER::_TOGETHER]
    edges = np.unique([first, *inner[(inner > first) & (inner < last)], last])
    yield from zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)


def _on_device(trace: SteppedTrace) -> tuple[_Split, Floats]:
    """Return what splits time where a device computes."""
    device, host = trace.device, trace.host
    devices, place = np.unique(device["index"], return_inverse=True)
    # The device of a process that worked longest; few processes have several.
    here = device["index"] == devices[np.argmax(np.bincount(place, weights=device["length"]))]
    is_kernel = device["kind"] == DEVICE_KINDS.index("kernel")
    collective = np.array([one == categories.COMMUNICATION for one in trace.category], bool)
    communicates = collective[device["name"]] & is_kernel
    waiting = np.array([any(word in name for word in _WAITING) for name in trace.names], bool)
    waits = waiting[host["name"]]
    computing = _chosen(device, here & is_kernel & ~communicates)
    communicating = _chosen(device, here & communicates)
    copying = _chosen(device, here & ~is_kernel)
    calling, idling = _chosen(host, ~waits), _chosen(host, waits)
    operating, loading = of_set(trace.done.busy), _loading(trace)

    def split(low: float, high: float) -> Mapping[str, Floats]:
        compute = computing.between(low, high)
        communication = communicating.between(low, high)
        busy = intervals.either(compute, communication)
        copies = intervals.without(copying.between(low, high), busy)
        busy = intervals.either(busy, copies)
        waits = intervals.without(loading.between(low, high), busy)
        at_work = intervals.either(operating.between(low, high), calling.between(low, high))
        at_work = intervals.without(at_work, idling.between(low, high))
        return {
            "compute_seconds": compute,
            "communication_seconds": communication,
            "exposed_seconds": intervals.without(communication, compute),
            "copy_seconds": copies,
            "input_seconds": waits,
            "host_seconds": intervals.without(at_work, intervals.either(busy, waits)),
        }

    return split, max((computing, calling), key=lambda one: len(one.start)).start


def _chosen(of: Numbers, chosen: NDArray[np.bool_]) -> Timeline:
    return timeline(of["start"][chosen], of["length"][chosen])


def _loading(trace: SteppedTrace) -> Timeline:
    return of_set(under_way(trace.names, trace.notes, "enumerate(DataLoader)", "DataLoader"))


def _on_host(trace: SteppedTrace) -> tuple[_Split, Floats]:
    """Return what splits time where the host alone computes."""
    computing, communicating = of_set(trace.done.computes), of_set(trace.done.communicates)
    loading, whole = _loading(trace), of_set(trace.steps.device)

    def split(low: float, high: float) -> Mapping[str, Floats]:
        compute = computing.between(low, high)
        communication = communicating.between(low, high)
        busy = intervals.either(compute, communication)
        waits = intervals.without(loading.between(low, high), busy)
        rest = intervals.without(whole.between(low, high), intervals.either(busy, waits))
        return {
            "compute_seconds": compute,
            "communication_seconds": communication,
            "exposed_seconds": intervals.without(communication, compute),
            "input_seconds": waits,
            "host_seconds": rest,
        }

    return split, computing.start
