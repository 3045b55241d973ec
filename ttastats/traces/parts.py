"""What is the time of steps spent with: computing, communication, copies, input, host, nothing?

The parts of a step sum to its length. Millions of events are looked at a span of time at a time.
Times are microseconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ttastats.traces import categories, intervals
from ttastats.traces.events import DEVICE_KINDS, Numbers
from ttastats.traces.intervals import Floats
from ttastats.traces.stepped import SteppedTrace, annotated_time

#: Calls of the driver in which the host waits for the device.
_WAITING = ("Synchronize", "EventQuery", "StreamWaitEvent")
#: The parts of a step but the rest, by the measures that hold them.
_PARTS = ("compute_seconds", "exposed_seconds", "copy_seconds", "input_seconds", "host_seconds")
#: Events of a kind that are looked at together, and those that share a mark of how late they end.
_BATCH = 50_000
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
        """Return the part of the timeline between two moments."""
        first = int(np.searchsorted(self.reached, low, side="right")) * _BLOCK
        last = int(np.searchsorted(self.start, high, side="left"))
        overlapping = slice(first, max(first, last))
        return intervals.merge_intervals(
            np.maximum(self.start[overlapping], low), np.minimum(self.end[overlapping], high)
        )


def timeline(start: Floats, length: Floats) -> Timeline:
    """Return intervals that may overlap as a timeline."""
    if (start[1:] < start[:-1]).any():
        order = np.argsort(start, kind="stable")
        start, length = start[order], length[order]
    end = start + length
    blocks = np.arange(0, len(end), _BLOCK)
    latest = np.maximum.reduceat(end, blocks) if len(end) else end
    return Timeline(start, end, np.maximum.accumulate(latest))


def timeline_from(spans: Floats) -> Timeline:
    """Return a set of disjoint intervals as a timeline."""
    return timeline(spans[:, 0], spans[:, 1] - spans[:, 0])


def step_parts(trace: SteppedTrace) -> dict[str, Floats]:
    """Return the length of each part of each step, by part."""
    windows = trace.steps.device
    length = windows[:, 1] - windows[:, 0]
    has_device = bool(len(trace.device["start"]))
    timelines = _device_timelines(trace) if has_device else _host_timelines(trace)
    loading = annotated_time(trace.names, trace.annotations, "enumerate(DataLoader)", "DataLoader")
    timelines["input"] = timeline_from(loading)
    starts = max((timelines["compute"].start, timelines["calls"].start), key=len)
    parts = {name: np.zeros(len(windows)) for name in (*_PARTS, "communication_seconds")}
    for low, high in _span_windows(starts, windows):
        clipped = np.clip(windows, low, high)
        for name, part in _split_span(timelines, low, high).items():
            parts[name] += intervals.overlap_lengths(part, clipped)
    rest = length - sum(parts[name] for name in _PARTS)
    parts["idle_seconds"] = np.where(rest > _ROUNDING * length, rest, 0.0)
    parts["step_seconds"] = length
    return parts


def _span_windows(starts: Floats, windows: Floats) -> Iterator[tuple[float, float]]:
    """Yield spans of time that together hold all windows, each with a bounded number of events."""
    first, last = float(windows[:, 0].min()), float(windows[:, 1].max())
    inner = starts[_BATCH::_BATCH]
    edges = np.unique([first, *inner[(inner > first) & (inner < last)], last])
    yield from zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)


def _device_timelines(trace: SteppedTrace) -> dict[str, Timeline]:
    """Return the timelines of computing, communication and copies on a device."""
    device, host = trace.device, trace.host
    devices, place = np.unique(device["index"], return_inverse=True)
    # The device of a process that worked longest; few processes have several.
    here = device["index"] == devices[np.argmax(np.bincount(place, weights=device["length"]))]
    is_kernel = device["kind"] == DEVICE_KINDS.index("kernel")
    communicates = (trace.category == categories.COMMUNICATION)[device["name"]] & is_kernel
    waiting = np.array([any(word in name for word in _WAITING) for name in trace.names], bool)
    waits = waiting[host["name"]]
    return {
        "compute": _timeline_where(device, here & is_kernel & ~communicates),
        "communication": _timeline_where(device, here & communicates),
        "copies": _timeline_where(device, here & ~is_kernel),
        "operators": timeline_from(trace.totals.busy),
        "calls": _timeline_where(host, ~waits),
        "waits": _timeline_where(host, waits),
    }


def _timeline_where(events: Numbers, chosen: NDArray[np.bool_]) -> Timeline:
    return timeline(events["start"][chosen], events["length"][chosen])


def _host_timelines(trace: SteppedTrace) -> dict[str, Timeline]:
    """Return the timelines of the host's activities, for steps without a device."""
    none = timeline_from(intervals.NOTHING)
    return {
        "compute": timeline_from(trace.totals.computes),
        "communication": timeline_from(trace.totals.communicates),
        "copies": none,
        "operators": timeline_from(trace.steps.device),
        "calls": none,
        "waits": none,
    }


def _split_span(timelines: Mapping[str, Timeline], low: float, high: float) -> Mapping[str, Floats]:
    """Return the parts of a span of time, each a set of intervals."""
    active = {name: timeline.between(low, high) for name, timeline in timelines.items()}
    compute, communication = active["compute"], active["communication"]
    busy = intervals.union(compute, communication)
    copies = intervals.difference(active["copies"], busy)
    busy = intervals.union(busy, copies)
    loading = intervals.difference(active["input"], busy)
    at_work = intervals.union(active["operators"], active["calls"])
    at_work = intervals.difference(at_work, active["waits"])
    return {
        "compute_seconds": compute,
        "communication_seconds": communication,
        "exposed_seconds": intervals.difference(communication, compute),
        "copy_seconds": copies,
        "input_seconds": loading,
        "host_seconds": intervals.difference(at_work, intervals.union(busy, loading)),
    }
