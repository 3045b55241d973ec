"""What is the time of steps spent with: computing, communication, copies, input, host, nothing?

The parts of a step sum to its length. Times are microseconds. When something was under way is a
sorted array of moments at which it began and ended, in turns.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ttastats.traces import categories, intervals
from ttastats.traces.answers import PARTS
from ttastats.traces.events import DEVICE_KINDS, Numbers
from ttastats.traces.intervals import Floats
from ttastats.traces.steps import SteppedTrace, annotated_time

#: Calls of the driver in which the host waits for the device.
_WAITING = ("Synchronize", "EventQuery", "StreamWaitEvent")
#: A moment is of the first part of a step that applies, and idle if none does.
_ACTIVE = tuple(PARTS)[:-1]
_MEASURES = (*PARTS.values(), "communication_seconds")
#: Intervals of a kind that are looked at together.
_BATCH = 50_000
#: A rest of a step smaller than this share of it is that of rounded times.
_ROUNDING = 1e-9


def step_parts(trace: SteppedTrace) -> dict[str, Floats]:
    """Return the length of each part of each step, by part."""
    windows = trace.steps.device
    length = windows[:, 1] - windows[:, 0]
    has_device = bool(len(trace.device["start"]))
    if has_device:
        active = _device_activity(trace)
    else:
        active = dict.fromkeys(("copies", "calls", "waits"), intervals.NOTHING) | {
            "compute": trace.totals.computes,
            "communication": trace.totals.communicates,
            "operators": intervals.merge_intervals(*windows.T),
        }
    active["input"] = annotated_time(
        trace.names, trace.annotations, "enumerate(DataLoader)", "DataLoader"
    )
    edges = {name: spans.ravel() for name, spans in active.items()}
    sums = np.array([_split_window(edges, *sorted(window)) for window in windows.tolist()])
    # With kernels out of order, a step may end before it begins; adding 0 leaves no negative 0.
    sums = sums.T * np.sign(length) + 0.0
    parts = dict(zip(_MEASURES, sums, strict=True))
    parts["idle_seconds"][parts["idle_seconds"] <= _ROUNDING * length] = 0.0
    return {**parts, "step_seconds": length}


def _split_window(edges: Mapping[str, Floats], low: float, high: float) -> Floats:
    """Return the time of each part between two moments, of none, and of communication in all."""
    sums = np.zeros(len(_MEASURES))
    most = max(edges.values(), key=len)
    inside = most[slice(*np.searchsorted(most, (low, high)))]
    # Spans of time with a bounded number of edges.
    for begin, end in itertools.pairwise([low, *inside[_BATCH::_BATCH].tolist(), high]):
        inner = (part[slice(*np.searchsorted(part, (begin, end)))] for part in edges.values())
        moments = np.unique(np.concatenate(([begin, end], *inner)))
        lengths = np.diff(moments)
        # What has begun once more than it has ended is under way.
        on = {
            name: np.searchsorted(part, moments[:-1], side="right") % 2 == 1
            for name, part in edges.items()
        }
        on["host"] = (on["operators"] | on["calls"]) & ~on["waits"]
        part_of = np.select([on[name] for name in _ACTIVE], range(len(_ACTIVE)), len(_ACTIVE))
        sums[:-1] += np.bincount(part_of, lengths, len(PARTS))
        sums[-1] += lengths[on["communication"]].sum()
    return sums


def _device_activity(trace: SteppedTrace) -> dict[str, Floats]:
    """Return when a device computed, communicated and copied, and the host worked or waited."""
    device, host = trace.device, trace.host
    # The device of a process that worked longest; few processes have several.
    _, place = np.unique(device["index"], return_inverse=True)
    on_device = place == np.argmax(np.bincount(place, weights=device["length"]))
    is_kernel = device["kind"] == DEVICE_KINDS.index("kernel")
    communicates = (trace.category == categories.COMMUNICATION)[device["name"]] & is_kernel
    waiting = np.array([any(word in name for word in _WAITING) for name in trace.names], bool)
    waits = waiting[host["name"]]
    return {
        "compute": _time_of(device, on_device & is_kernel & ~communicates),
        "communication": _time_of(device, on_device & communicates),
        "copies": _time_of(device, on_device & ~is_kernel),
        "operators": trace.totals.busy,
        "calls": _time_of(host, ~waits),
        "waits": _time_of(host, waits),
    }


def _time_of(events: Numbers, chosen: NDArray[np.bool_]) -> Floats:
    start = events["start"][chosen]
    return intervals.merge_intervals(start, start + events["length"][chosen])
