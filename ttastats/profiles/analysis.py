"""From the events of a trace to the rows of a profile: per step, what took how long?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ttastats.profiles import categories, intervals, steps, table, work
from ttastats.profiles.events import DEVICE_KINDS, STEP, Events, Numbers
from ttastats.profiles.measures import measure
from ttastats.profiles.steps import NONE, Steps
from ttastats.profiles.work import UNKNOWN, Operators

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Objects = NDArray[np.object_]

#: Times of a trace are microseconds.
_MICRO = 1e-6
#: What parts of a step may miss of its length, as a share, for nothing but rounding.
_ROUNDING = 1e-9
#: Calls of the driver in which the host waits for the device.
_WAITING = ("Synchronize", "EventQuery", "StreamWaitEvent")
_INPUT = ("enumerate(DataLoader)", "DataLoader")
_OPTIMIZER = "Optimizer."


@dataclass(frozen=True, slots=True)
class _Trace:
    """The events of a trace, brought together: what lies in which step, launched by what."""

    names: Sequence[str]
    category: Objects
    work: Operators
    host: Numbers
    device: Numbers
    notes: Numbers
    launcher: Ints
    steps: Steps
    step_of_work: Ints
    step_of_device: Ints


def rows(events: Events, head: Mapping[str, Any]) -> pl.DataFrame:
    """Give the rows of a profile; those of whom it is are still to be added."""
    trace = _brought_together(events)
    frames = [
        _operator_rows(trace),
        _device_rows(trace),
        _host_rows(trace),
        _note_rows(trace),
        _range_rows(events, trace.names),
        table.frame([*_step_measures(trace), *_whole_measures(trace), *_machine(head, events)]),
    ]
    return pl.concat([table.whole([frame]) for frame in frames])


def _brought_together(events: Events) -> _Trace:
    names = [str(name) for name in events.names.all()]
    columns = events.operators.taken()
    host, device, notes = events.host.taken(), events.device.taken(), events.notes.taken()
    kinds = (columns, host, device, notes)
    zero = min((float(one["start"].min()) for one in kinds if len(one["start"])), default=0.0)
    for one in kinds:
        one["start"] = one["start"] - zero
    grain = 1e-3 + 4 * float(np.spacing(abs(zero)))
    done = work.operators(events, columns, names, grain)
    launcher = work.launchers(done, columns["external"], device, host)
    launched_at = work.launched_at(launcher, done, device, host)
    found = _steps(names, notes, done, host, device)
    in_step = steps.place(launched_at, found.host)
    found = steps.on_device(found, in_step, device["start"], device["start"] + device["length"])
    kept = steps.without_warmup(found)
    shift = len(found.numbers) - len(kept.numbers)
    return _Trace(
        names,
        work.category_of(names),
        done,
        host,
        device,
        notes,
        launcher,
        kept,
        steps.place(done.start, kept.host),
        np.where(in_step >= shift, in_step - shift, NONE),
    )


def _steps(
    names: Sequence[str], notes: Numbers, done: Operators, host: Numbers, device: Numbers
) -> Steps:
    """Give the steps in which something was done."""
    numbers = np.array([_step_number(name) for name in names], np.int64)[notes["name"]]
    marks = numbers != NONE
    start, length = notes["start"][marks], notes["length"][marks]
    found = steps.marked(numbers[marks], start, start + length, _whole(done, host, device))
    busy = np.unique(steps.place(done.start, found.host))
    return (
        steps.chosen(found, np.isin(np.arange(len(found.numbers)), busy))
        if len(busy) > 1 or (len(busy) == 1 and busy[0] != NONE)
        else found
    )


def _step_number(name: str) -> int:
    text = name.removeprefix(STEP)
    return int(text) if text != name and text.isdecimal() else NONE


def _whole(done: Operators, host: Numbers, device: Numbers) -> tuple[float, float]:
    """Give the time from the first event to the end of the last."""
    starts = [done.start, host["start"], device["start"]]
    ends = [done.start + done.length, *(one["start"] + one["length"] for one in (host, device))]
    return (
        min((float(one.min()) for one in starts if len(one)), default=0.0),
        max((float(one.max()) for one in ends if len(one)), default=0.0),
    )


# -------------------------------------------------------------------------------------- operators


def _numbered(trace: _Trace, position: Ints) -> pl.Series:
    return (
        pl.Series(trace.steps.numbers)[pl.Series(position)]
        if len(position)
        else pl.Series([], dtype=pl.Int64)
    )


def _text(values: Sequence[str] | Objects, places: Ints) -> pl.Series:
    """Give texts by their places; NONE is null."""
    known = pl.Series(list(values), dtype=pl.String)
    found = pl.Series(np.where(places == NONE, len(known), places))
    return pl.concat([known, pl.Series([None], dtype=pl.String)])[found]


def _during(trace: _Trace, moment: Floats, *starts: str) -> NDArray[np.bool_]:
    """Tell which moments lie in annotations whose names begin so."""
    covered = _notes(trace, *starts)
    if not len(covered) or not len(moment):
        return np.zeros(len(moment), bool)
    found: NDArray[np.bool_] = steps.place(moment, covered) != NONE
    return found


def _notes(trace: _Trace, *starts: str) -> Floats:
    chosen = np.array([name.startswith(starts) for name in trace.names], bool)[trace.notes["name"]]
    start = trace.notes["start"][chosen]
    return intervals.union(start, start + trace.notes["length"][chosen])


def _operator_rows(trace: _Trace) -> pl.DataFrame:
    done = trace.work
    inside = np.flatnonzero(trace.step_of_work != NONE)
    account = done.account[inside]
    itself = account == inside
    on_device = np.bincount(
        trace.launcher[trace.launcher != NONE],
        weights=trace.device["length"][trace.launcher != NONE],
        minlength=len(done.start),
    )
    optimizes = _during(trace, done.start[account], _OPTIMIZER)
    frame = pl.DataFrame(
        {
            "name": done.name[account],
            "optimizes": optimizes,
            "step": trace.step_of_work[inside],
            "calls": itself.astype(np.int64),
            "seconds": done.own[inside] * _MICRO,
            "device_seconds": on_device[inside] * _MICRO,
            "flops": np.where(itself, np.maximum(done.flops[inside], 0), 0),
            "bytes": np.where(itself & (done.bytes[inside] != UNKNOWN), done.bytes[inside], 0),
        }
    )
    grouped = frame.group_by("name", "optimizes", "step").sum()
    known = trace.category[grouped["name"].to_numpy()]
    category = np.where(
        grouped["optimizes"].to_numpy() & (known != categories.COMMUNICATION),
        categories.OPTIMIZER,
        known,
    )
    has_device = bool(len(trace.device["start"]))
    return grouped.with_columns(
        name=_text(trace.names, grouped["name"].to_numpy()),
        category=pl.Series(list(category), dtype=pl.String),
        step=_numbered(trace, grouped["step"].to_numpy()),
        kind=pl.lit("operator"),
        device=pl.lit("cpu"),
        device_seconds=pl.col("device_seconds") if has_device else None,
        bytes=pl.when(pl.col("bytes") > 0).then("bytes"),
    )


# ----------------------------------------------------------------------------------------- device


def _device_rows(trace: _Trace) -> pl.DataFrame:
    device = trace.device
    inside = np.flatnonzero(trace.step_of_device != NONE)
    launcher = trace.launcher
    operator = np.where(
        launcher == NONE, NONE, trace.work.name[launcher] if len(trace.work.name) else NONE
    )
    launched = np.where(
        launcher == NONE,
        device["start"],
        trace.work.start[launcher] if len(trace.work.start) else 0.0,
    )
    flops = work.flops_of_kernels(launcher, device["length"], trace.work)
    frame = pl.DataFrame(
        {
            "name": device["name"][inside],
            "kind": device["kind"][inside],
            "device_index": device["index"][inside].astype(np.int64),
            "stream": device["stream"][inside],
            "operator": operator[inside],
            "optimizes": _during(trace, launched, _OPTIMIZER)[inside] & (launcher[inside] != NONE),
            "step": trace.step_of_device[inside],
            "seconds": device["length"][inside] * _MICRO,
            "flops": flops[inside],
            "bytes": np.maximum(device["bytes"][inside], 0),
        }
    )
    keys = ("name", "kind", "device_index", "stream", "operator", "optimizes", "step")
    grouped = frame.group_by(keys).agg(pl.len().cast(pl.Int64).alias("calls"), pl.all().sum())
    names = _text(trace.names, grouped["name"].to_numpy())
    operators = _text(trace.names, grouped["operator"].to_numpy())
    kinds = [DEVICE_KINDS[kind] for kind in grouped["kind"]]
    category = [
        _device_category(kind, name, operator, optimizes)
        for kind, name, operator, optimizes in zip(
            kinds, names, operators, grouped["optimizes"], strict=True
        )
    ]
    is_kernel = pl.Series([kind == "kernel" for kind in kinds], dtype=pl.Boolean)
    tensor = pl.Series([categories.is_tensor_core(name) for name in names], dtype=pl.Boolean)
    return grouped.with_columns(
        name=names,
        operator=operators,
        category=pl.Series(category, dtype=pl.String),
        kind=pl.Series(
            [
                "collective" if kind == "kernel" and one == categories.COMMUNICATION else kind
                for kind, one in zip(kinds, category, strict=True)
            ],
            dtype=pl.String,
        ),
        device=pl.lit("gpu"),
        step=_numbered(trace, grouped["step"].to_numpy()),
        flops=pl.when(is_kernel).then("flops"),
        bytes=pl.when(pl.col("bytes") > 0).then("bytes"),
        tensor_core=pl.when(is_kernel).then(tensor),
    )


def _device_category(kind: str, name: str, operator: str | None, optimizes: bool) -> str:
    if kind != "kernel":
        return categories.COPY
    found = categories.of_kernel(name, operator)
    if optimizes and found != categories.COMMUNICATION:
        return categories.OPTIMIZER
    return found


def _range_rows(events: Events, names: Sequence[str]) -> pl.DataFrame:
    """Give the kernels whose instructions were counted, without times."""
    ranges = events.ranges.taken()
    if not len(ranges["start"]):
        return pl.DataFrame(schema=table.POLARS)
    known = ranges["flops"] != UNKNOWN
    frame = pl.DataFrame({"name": ranges["name"][known], "flops": ranges["flops"][known]})
    grouped = frame.group_by("name").agg(
        pl.len().cast(pl.Int64).alias("calls"), pl.col("flops").sum()
    )
    own = _text(names, grouped["name"].to_numpy())
    return grouped.with_columns(
        name=own,
        kind=pl.lit("kernel"),
        device=pl.lit("gpu"),
        category=pl.Series([categories.of(name) for name in own], dtype=pl.String),
        tensor_core=pl.Series([categories.is_tensor_core(name) for name in own], dtype=pl.Boolean),
    )


# ------------------------------------------------------------------------------------------- host


def _host_rows(trace: _Trace) -> pl.DataFrame:
    return _named_rows(trace, trace.host, "host")


def _note_rows(trace: _Trace) -> pl.DataFrame:
    is_step = np.array([name.startswith(STEP) for name in trace.names], bool)
    keep = ~is_step[trace.notes["name"]]
    notes = {name: column[keep] for name, column in trace.notes.items()}
    return _named_rows(trace, notes, "annotation")


def _named_rows(trace: _Trace, of: Numbers, kind: str) -> pl.DataFrame:
    """Give rows of what has but a name and a time."""
    in_step = steps.place(of["start"], trace.steps.host)
    inside = in_step != NONE
    frame = pl.DataFrame(
        {
            "name": of["name"][inside],
            "step": in_step[inside],
            "seconds": of["length"][inside] * _MICRO,
        }
    )
    grouped = frame.group_by("name", "step").agg(
        pl.len().cast(pl.Int64).alias("calls"), pl.col("seconds").sum()
    )
    places = grouped["name"].to_numpy()
    return grouped.with_columns(
        name=_text(trace.names, places),
        category=pl.Series(list(trace.category[places]), dtype=pl.String),
        step=_numbered(trace, grouped["step"].to_numpy()),
        kind=pl.lit(kind),
        device=pl.lit("cpu"),
    )


# --------------------------------------------------------------------------------------- measures


def _step_measures(trace: _Trace) -> Iterator[Mapping[str, Any]]:
    """Give what each step's time was: the parts sum to its length."""
    windows = trace.steps.device
    length = windows[:, 1] - windows[:, 0]
    parts = _parts_on_device(trace) if len(trace.device["start"]) else _parts_on_host(trace)
    found = {name: intervals.within(one, windows) for name, one in parts.items()}
    known = ("compute_seconds", "exposed_seconds", "copy_seconds", "input_seconds", "host_seconds")
    rest = length - sum(found[name] for name in known)
    found["idle_seconds"] = np.where(rest > _ROUNDING * length, rest, 0.0)
    found["step_seconds"] = length
    for name, values in found.items():
        for number, value in zip(trace.steps.numbers, values, strict=True):
            yield measure(name, float(value) * _MICRO, step=int(number))


def _parts_on_device(trace: _Trace) -> dict[str, Floats]:
    device = trace.device
    index = _busiest(device)
    here = device["index"] == index
    start, end = device["start"], device["start"] + device["length"]
    is_kernel = device["kind"] == DEVICE_KINDS.index("kernel")
    collective = np.array([one == categories.COMMUNICATION for one in trace.category], bool)
    communicates = collective[device["name"]] & is_kernel

    def of(chosen: NDArray[np.bool_]) -> Floats:
        return intervals.union(start[here & chosen], end[here & chosen])

    compute, communication = of(is_kernel & ~communicates), of(communicates)
    exposed = intervals.without(communication, compute)
    busy = intervals.either(compute, communication)
    copies = intervals.without(of(~is_kernel), busy)
    busy = intervals.either(busy, copies)
    waits = intervals.without(_notes(trace, *_INPUT), busy)
    host = intervals.without(_host_at_work(trace), intervals.either(busy, waits))
    return {
        "compute_seconds": compute,
        "communication_seconds": communication,
        "exposed_seconds": exposed,
        "copy_seconds": copies,
        "input_seconds": waits,
        "host_seconds": host,
    }


def _busiest(device: Numbers) -> int:
    """Give the device of a process that worked longest; few processes have several."""
    found, place = np.unique(device["index"], return_inverse=True)
    return int(found[np.argmax(np.bincount(place, weights=device["length"]))])


def _host_at_work(trace: _Trace) -> Floats:
    """Give the time in which the host ran operators or called the driver, but did not wait."""
    done, host = trace.work, trace.host
    waiting = np.array([any(word in name for word in _WAITING) for name in trace.names], bool)
    waits = waiting[host["name"]]
    start = np.concatenate((done.start, host["start"][~waits]))
    length = np.concatenate((done.length, host["length"][~waits]))
    idle = intervals.union(host["start"][waits], host["start"][waits] + host["length"][waits])
    return intervals.without(intervals.union(start, start + length), idle)


def _parts_on_host(trace: _Trace) -> dict[str, Floats]:
    """Give the parts of steps that run on the host alone, where it is what computes."""
    done = trace.work
    category = trace.category[done.name]
    start, end = done.start, done.start + done.length
    idle = (categories.OTHER, categories.COMMUNICATION, categories.INPUT)
    computes = ~np.isin(category, idle)
    communicates = category == categories.COMMUNICATION
    compute = intervals.union(start[computes], end[computes])
    communication = intervals.union(start[communicates], end[communicates])
    exposed = intervals.without(communication, compute)
    busy = intervals.either(compute, communication)
    waits = intervals.without(_notes(trace, *_INPUT), busy)
    rest = intervals.without(trace.steps.device, intervals.either(busy, waits))
    return {
        "compute_seconds": compute,
        "communication_seconds": communication,
        "exposed_seconds": exposed,
        "copy_seconds": intervals.NOTHING,
        "input_seconds": waits,
        "host_seconds": rest,
    }


def _whole_measures(trace: _Trace) -> Iterator[Mapping[str, Any]]:
    windows = trace.steps.device
    yield measure("steps", len(windows), text=_told_of_steps(trace.steps))
    yield measure("warmup_steps", trace.steps.warmup, text=steps.WARM_UP_RULE)
    yield measure("window_seconds", float(windows[-1, 1] - windows[0, 0]) * _MICRO)
    done = trace.work
    unknown = int(((done.flops == UNKNOWN) & (trace.step_of_work != NONE)).sum())
    yield measure("flops_unknown", unknown)


def _told_of_steps(found: Steps) -> str:
    if not found.marked:
        return "the trace marks no steps; the whole of it is taken for one"
    if found.ahead:
        return "from the first kernel of a step to that of the next: the host runs ahead"
    return f"the annotations {STEP}"


def _machine(head: Mapping[str, Any], events: Events) -> Iterator[Mapping[str, Any]]:
    """Give what the trace tells of the machine."""
    devices = head.get("deviceProperties")
    used = set(events.device.taken()["index"].tolist())
    for one in devices if isinstance(devices, list) else ():
        if not isinstance(one, dict) or (used and one.get("id") not in used):
            continue
        number = str(one.get("id"))
        if isinstance(one.get("name"), str):
            yield measure("device_name", of=number, text=one["name"])
        if isinstance(one.get("totalGlobalMem"), int | float):
            yield measure("device_memory_bytes", float(one["totalGlobalMem"]), of=number)
    for place, peak in sorted(events.peaks.bytes_of.items()):
        yield measure("memory_bytes", peak, of=f"allocated on {place}")
    told = head.get("distributedInfo")
    if isinstance(told, dict) and isinstance(told.get("world_size"), int):
        yield measure("world_size", told["world_size"])
