"""Which rows does a profile have of a trace: what took how long, and of which purpose?

The parts of a step sum to its length. Times are microseconds. When something was under way is a
sorted array of moments at which it began and ended, in turns.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ttastats.traces import categories, intervals, steps, table
from ttastats.traces.answers import PARTS
from ttastats.traces.events import DEVICE_KINDS, STEP, Events, Numbers
from ttastats.traces.intervals import NONE, Floats
from ttastats.traces.steps import MICRO, SteppedTrace, annotated_time, assign_steps, lies_within
from ttastats.traces.table import measure_row
from ttastats.traces.work import UNKNOWN

#: Events that are looked at together: one table of all would take too much memory.
_BATCH = 100_000


def profile_rows(events: Events, head: Mapping[str, Any]) -> pl.DataFrame:
    """Return the rows of a profile from the events of a trace, without the name of the profile."""
    trace = assign_steps(events)
    is_step = np.array([name.startswith(STEP) for name in trace.names], bool)
    keep = ~is_step[trace.annotations["name"]]
    annotations = {name: column[keep] for name, column in trace.annotations.items()}
    ranges = pl.DataFrame(events.ranges.take_arrays()).filter(pl.col("flops") != UNKNOWN)
    calls = ranges.group_by("name").agg(pl.len().alias("calls"), pl.col("flops").sum())
    work = pl.concat(
        [
            _operator_rows(trace),
            _device_rows(trace),
            _timed_rows(trace, trace.host, "host"),
            _timed_rows(trace, annotations, "annotation"),
            calls.with_columns(kind=pl.lit("kernel")),
        ],
        how="diagonal_relaxed",
    )
    frames = [_with_names(trace, work)]
    for name, values in step_parts(trace).items():
        of_steps = pl.DataFrame({"step": trace.steps.numbers, "value": values * MICRO})
        alike = {key: pl.lit(measure_row(name)[key]) for key in ("kind", "name", "unit")}
        frames.append(of_steps.with_columns(**alike))
    frames.append(table.frame_of(_measures(trace, events, head)))
    return pl.concat([table.concatenated([frame]) for frame in frames])


def _with_names(trace: SteppedTrace, rows: pl.DataFrame) -> pl.DataFrame:
    """Return rows of work with names and steps in the place of their indices, and categories."""
    texts = pl.Series(trace.names, dtype=pl.String)
    names, operators = texts.gather(rows["name"]), texts.gather(rows["operator"])
    work_keys = zip(rows["kind"], names, operators, rows["optimizes"], strict=True)
    category = pl.Series([_category(*work) for work in work_keys], dtype=pl.String)
    tensor = pl.Series([categories.is_tensor_core(name) for name in names], dtype=pl.Boolean)
    kind = pl.col("kind")
    is_collective = (kind == "kernel") & (category == categories.COMMUNICATION)
    return rows.with_columns(
        name=names,
        operator=operators,
        category=category,
        kind=pl.when(is_collective).then(pl.lit("collective")).otherwise(kind),
        device=pl.when(kind.is_in(DEVICE_KINDS)).then(pl.lit("gpu")).otherwise(pl.lit("cpu")),
        step=pl.Series(trace.steps.numbers).gather(rows["step"]),
        bytes=pl.when(pl.col("bytes") > 0).then("bytes"),
        tensor_core=pl.when(kind == "kernel").then(tensor),
    )


def _category(kind: str, name: str, operator: str | None, optimizes: bool | None) -> str:
    if kind in DEVICE_KINDS[1:]:
        return categories.COPY
    category = categories.categorize_kernel(name, operator)
    is_update = optimizes and category != categories.COMMUNICATION
    return categories.OPTIMIZER if is_update else category


def _operator_rows(trace: SteppedTrace) -> pl.DataFrame:
    """Return the rows of operators, with the device time that they launched."""
    grouped, launches = trace.operators, trace.launches
    if len(trace.device["start"]):
        is_assigned = launches.account != NONE
        start = launches.account_start[is_assigned]
        launched = pl.DataFrame(
            {
                "name": launches.account_name[is_assigned],
                "optimizes": lies_within(start, trace.optimizing),
                "step": steps.find_windows(start, trace.steps.host),
                "device_seconds": trace.device["length"][is_assigned] * MICRO,
            }
        )
        keys = ("name", "optimizes", "step")
        sums = launched.group_by(keys).sum()
        grouped = grouped.join(sums, on=keys, how="left", maintain_order="left")
        grouped = grouped.with_columns(pl.col("device_seconds").fill_null(0.0))
    return grouped.with_columns(kind=pl.lit("operator"))


def _device_rows(trace: SteppedTrace) -> pl.DataFrame:
    """Return the rows of device events, summed by name, stream and step."""
    device, launches = trace.device, trace.launches
    flops = launches.flops_of_kernels(device["length"])

    def columns_of(part: slice) -> dict[str, Any]:
        return {
            "name": device["name"][part],
            "kind": device["kind"][part],
            "device_index": device["index"][part].astype(np.int64),
            "stream": device["stream"][part].astype(np.int64),
            "operator": launches.name[part],
            "optimizes": lies_within(launches.account_start[part], trace.optimizing),
            "step": trace.step_of_device[part],
            "seconds": device["length"][part] * MICRO,
            "flops": flops[part],
            "bytes": np.maximum(device["bytes"][part], 0),
        }

    keys = ("name", "kind", "device_index", "stream", "operator", "optimizes", "step")
    grouped = _sums_of_steps(len(flops), columns_of, *keys)
    kinds = pl.Series(DEVICE_KINDS).gather(grouped["kind"])
    return grouped.with_columns(
        kind=kinds,
        operator=pl.when(pl.col("operator") != NONE).then("operator"),
        flops=pl.when(kinds == "kernel").then("flops"),
    )


def _timed_rows(trace: SteppedTrace, events: Numbers, kind: str) -> pl.DataFrame:
    """Return rows of events that have only a name and a time."""

    def columns_of(part: slice) -> dict[str, Any]:
        return {
            "name": events["name"][part],
            "step": steps.find_windows(events["start"][part], trace.steps.host),
            "seconds": events["length"][part] * MICRO,
        }

    grouped = _sums_of_steps(len(events["start"]), columns_of, "name", "step")
    return grouped.with_columns(kind=pl.lit(kind))


def _sums_of_steps(
    count: int, columns_of: Callable[[slice], dict[str, Any]], *keys: str
) -> pl.DataFrame:
    """Return the number and the sums of the events that lie in steps, by some columns."""
    frames = []
    for begin in range(0, max(count, 1), _BATCH):
        frame = pl.DataFrame(columns_of(slice(begin, begin + _BATCH)))
        inside = frame.filter(pl.col("step") != NONE).with_columns(calls=pl.lit(1, pl.Int64))
        frames.append(inside.group_by(keys).sum())
    return pl.concat(frames).group_by(keys).sum().sort(keys)


def _measures(trace: SteppedTrace, events: Events, head: Mapping[str, Any]) -> Iterator[table.Row]:
    """Yield the measures of the whole trace: steps, warm-up, window; devices and their memory."""
    windows = trace.steps.device
    if not trace.steps.marked:
        rule = "the trace does not mark steps; it is treated as one step"
    elif trace.steps.ahead:
        rule = "from the first kernel of a step to that of the next, because the host runs ahead"
    else:
        rule = f"the annotations {STEP}"
    yield measure_row("steps", len(windows), text=rule)
    yield measure_row("warmup_steps", trace.steps.warmup, text=steps.WARM_UP_RULE)
    yield measure_row("window_seconds", float(windows[-1, 1] - windows[0, 0]) * MICRO)
    yield measure_row("flops_unknown", trace.unknown)
    devices = head.get("deviceProperties")
    used_devices = set(np.unique(trace.device["index"]).tolist())
    for device in devices if isinstance(devices, list) else ():
        if not isinstance(device, dict) or (used_devices and device.get("id") not in used_devices):
            continue
        number = str(device.get("id"))
        if isinstance(device.get("name"), str):
            yield measure_row("device_name", of=number, text=device["name"])
        if isinstance(device.get("totalGlobalMem"), int | float):
            yield measure_row("device_memory_bytes", float(device["totalGlobalMem"]), of=number)
    for memory, peak in sorted(events.peak_bytes().items()):
        yield measure_row("memory_bytes", peak, of=f"allocated on {memory}")
    distributed = head.get("distributedInfo")
    if isinstance(distributed, dict) and isinstance(distributed.get("world_size"), int):
        yield measure_row("world_size", distributed["world_size"])


#: Calls of the driver in which the host waits for the device.
_WAITING = ("Synchronize", "EventQuery", "StreamWaitEvent")
#: A moment is of the first part of a step that applies, and idle if none does.
_ACTIVE = tuple(PARTS)[:-1]
_MEASURES = (*PARTS.values(), "communication_seconds")
#: Intervals of a kind that are looked at together.
_STEP_BATCH = 50_000
#: A rest of a step smaller than this share of it is that of rounded times.
_ROUNDING = 1e-9


def step_parts(trace: SteppedTrace) -> dict[str, Floats]:
    """Return the length of each part of each step, by part."""
    windows, device, host = trace.steps.device, trace.device, trace.host
    length = windows[:, 1] - windows[:, 0]
    if len(device["start"]):
        # The device of a process that worked longest; few processes have several.
        _, number = np.unique(device["index"], return_inverse=True)
        on_device = number == np.argmax(np.bincount(number, weights=device["length"]))
        is_kernel = device["kind"] == DEVICE_KINDS.index("kernel")
        communicates = (trace.category == categories.COMMUNICATION)[device["name"]] & is_kernel
        waiting = np.array([any(word in name for word in _WAITING) for name in trace.names], bool)
        waits = waiting[host["name"]]
        active = {
            "compute": _time_of(device, on_device & is_kernel & ~communicates),
            "communication": _time_of(device, on_device & communicates),
            "copies": _time_of(device, on_device & ~is_kernel),
            "operators": trace.busy,
            "calls": _time_of(host, ~waits),
            "waits": _time_of(host, waits),
        }
    else:
        active = dict.fromkeys(("copies", "calls", "waits"), intervals.NOTHING) | {
            "compute": trace.computes,
            "communication": trace.communicates,
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
    for begin, end in itertools.pairwise([low, *inside[_STEP_BATCH::_STEP_BATCH].tolist(), high]):
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


def _time_of(events: Numbers, mask: NDArray[np.bool_]) -> Floats:
    start = events["start"][mask]
    return intervals.merge_intervals(start, start + events["length"][mask])
