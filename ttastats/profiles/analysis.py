"""From the events of a trace to the rows of a profile: per step, what took how long?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ttastats.profiles import categories, intervals, parts, steps, table, work
from ttastats.profiles.events import DEVICE_KINDS, STEP, Events, Numbers
from ttastats.profiles.measures import measure
from ttastats.profiles.steps import NONE, Steps
from ttastats.profiles.work import UNKNOWN, Launches, Operators

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Objects = NDArray[np.object_]

#: Times of a trace are microseconds.
_MICRO = 1e-6
_OPTIMIZER = "Optimizer."


@dataclass(frozen=True, slots=True)
class _Done:
    """What all operators of a trace come to.

    `rows` have a position of a step in `step`. Sets of intervals tell when any operator was under
    way, when one computed, and when one communicated; `unknown` counts calls by position of the
    step whose FLOPs should be known and are not.
    """

    rows: pl.DataFrame
    busy: Floats
    computes: Floats
    communicates: Floats
    unknown: Ints


@dataclass(frozen=True, slots=True)
class _Trace:
    """The events of a trace, brought together: what lies in which step, launched by what."""

    names: Sequence[str]
    category: Objects
    done: _Done
    launches: Launches
    host: Numbers
    device: Numbers
    notes: Numbers
    steps: Steps
    first: int
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
        *_step_measures(trace),
        table.frame([*_whole_measures(trace), *_machine(head, trace, events)]),
    ]
    return pl.concat([table.whole([frame]) for frame in frames])


def _brought_together(events: Events) -> _Trace:
    names = [str(name) for name in events.names]
    columns, host = events.operators.taken(), events.host.taken()
    device, notes = events.device.taken(), events.notes.taken()
    kinds = (columns, host, device, notes)
    zero = min((float(one["start"].min()) for one in kinds if len(one["start"])), default=0.0)
    for one in kinds:
        one["start"] -= zero
    category = np.array([categories.of(name) for name in names], dtype=object)
    marked = _marked(names, notes, columns, host, device)
    order = work.ordered(columns)
    launches = Launches(device, host, columns, order)
    for one, told in ((columns, ["external"]), (host, ["thread"]), (device, ["external"])):
        for name in (*told, "correlation"):
            one.pop(name, None)  # millions of numbers that nobody needs any more
    grain = 1e-3 + 4 * float(np.spacing(abs(zero)))
    known = work.costs(events.calls, names)
    some = work.operators(columns, order, known, grain)
    optimizing = _notes(names, notes, _OPTIMIZER)
    on_device = bool(len(device["start"]))
    done = _done(some, launches, marked.host, category, optimizing, on_device=on_device)
    del columns, some
    in_step = steps.place(launches.moment(device), marked.host)
    worked = np.union1d(done.rows["step"].to_numpy(), in_step)
    at_work = np.isin(np.arange(len(marked.numbers)), worked)
    kept = steps.chosen(marked, at_work) if at_work.any() else marked
    position = np.append(np.where(at_work, np.cumsum(at_work) - 1, NONE), NONE)
    in_step = position[in_step]
    end = device["start"] + device["length"]
    final = steps.without_warmup(steps.on_device(kept, in_step, device["start"], end))
    moved = position - final.warmup
    frame = done.rows.with_columns(step=pl.Series(moved[done.rows["step"].to_numpy()]))
    return _Trace(
        names,
        category,
        replace(done, rows=frame.filter(pl.col("step") >= 0)),
        launches,
        host,
        device,
        notes,
        final,
        final.warmup,
        np.maximum(in_step - final.warmup, NONE),
    )


def _marked(
    names: Sequence[str], notes: Numbers, columns: Numbers, host: Numbers, device: Numbers
) -> Steps:
    """Give the steps that annotations mark, or the whole."""
    numbers = np.array([_step_number(name) for name in names], np.int64)[notes["name"]]
    marks = numbers != NONE
    start, length = notes["start"][marks], notes["length"][marks]
    whole = _whole(columns, host, device)
    return steps.marked(numbers[marks], start, start + length, whole)


def _step_number(name: str) -> int:
    text = name.removeprefix(STEP)
    return int(text) if text != name and text.isdecimal() else NONE


def _whole(*kinds: Numbers) -> tuple[float, float]:
    """Give the time from the first event to the end of the last."""
    some = [one for one in kinds if len(one["start"])]
    first = min((float(one["start"].min()) for one in some), default=0.0)
    return first, max((float((one["start"] + one["length"]).max()) for one in some), default=0.0)


def _done(
    some: Iterable[Operators],
    launches: Launches,
    windows: Floats,
    category: Objects,
    optimizing: Floats,
    *,
    on_device: bool,
) -> _Done:
    """Bring together what all operators took, some at a time.

    Where a device computes, when operators do is not asked.
    """
    frames = [pl.DataFrame(schema=_OPERATOR_ROWS)]
    idle = (categories.OTHER, categories.COMMUNICATION, categories.INPUT)
    computing, communicating = ~np.isin(category, idle), category == categories.COMMUNICATION
    sets: tuple[list[Floats], ...] = ([], [], [])
    unknown = np.zeros(len(windows), np.int64)
    for one in some:
        launches.add(one)
        in_step = steps.place(one.start, windows)
        frames.append(_grouped(one, in_step, optimizing))
        lost = (one.flops == UNKNOWN) & (in_step != NONE)
        unknown += np.bincount(in_step[lost], minlength=len(windows))
        outside = one.nest.parent == NONE
        chosen = (outside, computing[one.name], communicating[one.name])
        for found, some_of_them in zip(sets, chosen[: 1 if on_device else 3], strict=False):
            start = one.start[some_of_them]
            found.append(intervals.union(start, start + one.length[some_of_them]))
        if len(frames) > _FRAMES:
            frames = [pl.concat(frames).group_by("name", "optimizes", "step").sum()]
    busy, computes, communicates = (intervals.any_of(found) for found in sets)
    rows = pl.concat(frames).group_by("name", "optimizes", "step").sum()
    return _Done(rows, busy, computes, communicates, unknown)


#: Frames of operators that wait to be brought together.
_FRAMES = 20
_OPERATOR_ROWS = {
    "name": pl.Int32,
    "optimizes": pl.Boolean,
    "step": pl.Int64,
    "calls": pl.Int64,
    "seconds": pl.Float64,
    "flops": pl.Int64,
    "bytes": pl.Int64,
}


def _grouped(some: Operators, in_step: Ints, optimizing: Floats) -> pl.DataFrame:
    """Give the rows of some operators by name and step."""
    inside = np.flatnonzero(in_step != NONE)
    account = some.account[inside]
    itself = account == inside
    frame = pl.DataFrame(
        {
            "name": some.name[account],
            "optimizes": _lie_in(some.start[account], optimizing),
            "step": in_step[inside],
            "calls": itself.astype(np.int64),
            "seconds": some.own[inside] * _MICRO,
            "flops": np.where(itself, np.maximum(some.flops[inside], 0), 0),
            "bytes": np.where(itself & (some.bytes[inside] != UNKNOWN), some.bytes[inside], 0),
        },
        schema=_OPERATOR_ROWS,
    )
    return frame.group_by("name", "optimizes", "step").sum()


def _lie_in(moment: Floats, windows: Floats) -> NDArray[np.bool_]:
    """Tell which moments lie in some windows."""
    found: NDArray[np.bool_] = steps.place(moment, windows) != NONE
    return found


def _notes(names: Sequence[str], notes: Numbers, *starts: str) -> Floats:
    """Give the time in annotations whose names begin so."""
    chosen = np.array([name.startswith(starts) for name in names], bool)[notes["name"]]
    start = notes["start"][chosen]
    return intervals.union(start, start + notes["length"][chosen])


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


def _operator_rows(trace: _Trace) -> pl.DataFrame:
    grouped = trace.done.rows
    known = trace.category[grouped["name"].to_numpy()]
    optimizes = grouped["optimizes"].to_numpy() & (known != categories.COMMUNICATION)
    category = np.where(optimizes, categories.OPTIMIZER, known)
    if len(trace.device["start"]):
        keys = ("name", "optimizes", "step")
        grouped = grouped.join(_launched(trace), on=keys, how="left", maintain_order="left")
        grouped = grouped.with_columns(pl.col("device_seconds").fill_null(0.0))
    return grouped.with_columns(
        name=_text(trace.names, grouped["name"].to_numpy()),
        category=pl.Series(list(category), dtype=pl.String),
        step=_numbered(trace, grouped["step"].to_numpy()),
        kind=pl.lit("operator"),
        device=pl.lit("cpu"),
        bytes=pl.when(pl.col("bytes") > 0).then("bytes"),
    )


def _launched(trace: _Trace) -> pl.DataFrame:
    """Give the time of what operators launched, by name and step."""
    launches = trace.launches
    known = launches.account != NONE
    start = launches.account_start[known]
    frame = pl.DataFrame(
        {
            "name": launches.account_name[known],
            "optimizes": _lie_in(start, _notes(trace.names, trace.notes, _OPTIMIZER)),
            "step": steps.place(start, trace.steps.host),
            "device_seconds": trace.device["length"][known] * _MICRO,
        }
    )
    return frame.group_by("name", "optimizes", "step").sum()


# ----------------------------------------------------------------------------------------- device


def _device_rows(trace: _Trace) -> pl.DataFrame:
    flops = trace.launches.flops_of_kernels(trace.device["length"])
    keys = ("name", "kind", "device_index", "stream", "operator", "optimizes", "step")
    parts = [
        _some_of_device(trace, part, flops).group_by(keys).sum()
        for part in (slice(0), *_slices(len(flops)))
    ]
    grouped = pl.concat(parts).group_by(keys).sum()
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


def _some_of_device(trace: _Trace, part: slice, flops: Ints) -> pl.DataFrame:
    """Give some events of the device that belong to a step."""
    device, launches = trace.device, trace.launches
    in_step = trace.step_of_device[part]
    inside = np.flatnonzero(in_step != NONE) + (part.start or 0)
    optimizing = _notes(trace.names, trace.notes, _OPTIMIZER)
    return pl.DataFrame(
        {
            "name": device["name"][inside],
            "kind": device["kind"][inside],
            "device_index": device["index"][inside].astype(np.int64),
            "stream": device["stream"][inside].astype(np.int64),
            "operator": launches.name[inside],
            "optimizes": _lie_in(launches.account_start[inside], optimizing),
            "step": trace.step_of_device[inside],
            "calls": np.ones(len(inside), np.int64),
            "seconds": device["length"][inside] * _MICRO,
            "flops": flops[inside],
            "bytes": np.maximum(device["bytes"][inside], 0),
        }
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


_TIMED = {"calls": pl.Int64, "seconds": pl.Float64}


def _slices(count: int) -> Iterator[slice]:
    """Give the events of a kind some at a time: tables of all of them would take much memory."""
    yield from (slice(begin, begin + _TOGETHER) for begin in range(0, count, _TOGETHER))


_TOGETHER = 100_000


def _named_rows(trace: _Trace, of: Numbers, kind: str) -> pl.DataFrame:
    """Give rows of what has but a name and a time."""
    frames = [pl.DataFrame(schema={"name": pl.Int32, "step": pl.Int64, **_TIMED})]
    for part in _slices(len(of["start"])):
        in_step = steps.place(of["start"][part], trace.steps.host)
        inside = in_step != NONE
        frame = pl.DataFrame(
            {
                "name": of["name"][part][inside],
                "step": in_step[inside],
                "calls": np.ones(int(inside.sum()), np.int64),
                "seconds": of["length"][part][inside] * _MICRO,
            }
        )
        frames.append(frame.group_by("name", "step").sum())
    grouped = pl.concat(frames).group_by("name", "step").sum()
    places = grouped["name"].to_numpy()
    return grouped.with_columns(
        name=_text(trace.names, places),
        category=pl.Series(list(trace.category[places]), dtype=pl.String),
        step=_numbered(trace, grouped["step"].to_numpy()),
        kind=pl.lit(kind),
        device=pl.lit("cpu"),
    )


# --------------------------------------------------------------------------------------- measures


def _step_measures(trace: _Trace) -> Iterator[pl.DataFrame]:
    """Give what each step's time was: the parts sum to its length."""
    done = trace.done
    told = parts.Told(
        trace.names,
        trace.category,
        trace.device,
        trace.host,
        trace.notes,
        done.busy,
        done.computes,
        done.communicates,
    )
    for name, values in parts.of_steps(told, trace.steps.device).items():
        alike = measure(name)
        yield pl.DataFrame({"step": trace.steps.numbers, "value": values * _MICRO}).with_columns(
            pl.lit(alike[key], pl.String).alias(key) for key in ("kind", "name", "unit")
        )


def _whole_measures(trace: _Trace) -> Iterator[Mapping[str, Any]]:
    windows = trace.steps.device
    yield measure("steps", len(windows), text=_told_of_steps(trace.steps))
    yield measure("warmup_steps", trace.steps.warmup, text=steps.WARM_UP_RULE)
    yield measure("window_seconds", float(windows[-1, 1] - windows[0, 0]) * _MICRO)
    yield measure("flops_unknown", int(trace.done.unknown[trace.first :].sum()))


def _told_of_steps(found: Steps) -> str:
    if not found.marked:
        return "the trace marks no steps; the whole of it is taken for one"
    if found.ahead:
        return "from the first kernel of a step to that of the next: the host runs ahead"
    return f"the annotations {STEP}"


def _machine(head: Mapping[str, Any], trace: _Trace, events: Events) -> Iterator[Mapping[str, Any]]:
    """Give what the trace tells of the machine."""
    devices = head.get("deviceProperties")
    used = set(np.unique(trace.device["index"]).tolist())
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
