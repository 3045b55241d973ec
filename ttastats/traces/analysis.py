"""Which rows does a profile have of a trace: per step, what took how long?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from ttastats.traces import categories, parts, steps, table
from ttastats.traces.events import DEVICE_KINDS, STEP, Events, Numbers
from ttastats.traces.intervals import Ints
from ttastats.traces.stepped import (
    MICRO,
    OPTIMIZER,
    Objects,
    SteppedTrace,
    annotated_time,
    assign_steps,
    lies_within,
)
from ttastats.traces.steps import NONE
from ttastats.traces.table import measure_row
from ttastats.traces.work import UNKNOWN

_TIMED = {"calls": pl.Int64, "seconds": pl.Float64}
#: Events that are looked at together.
_BATCH = 100_000


def profile_rows(events: Events, head: Mapping[str, Any]) -> pl.DataFrame:
    """Return the rows of a profile from the events of a trace, without the name of the profile."""
    trace = assign_steps(events)
    is_step = np.array([name.startswith(STEP) for name in trace.names], bool)
    keep = ~is_step[trace.annotations["name"]]
    annotations = {name: column[keep] for name, column in trace.annotations.items()}
    frames = [
        _operator_rows(trace),
        _device_rows(trace),
        _named_rows(trace, trace.host, "host"),
        _named_rows(trace, annotations, "annotation"),
        _counted_kernel_rows(events, trace.names),
        *_step_measures(trace),
        table.frame_of([*_whole_measures(trace), *_machine_measures(head, trace, events)]),
    ]
    return pl.concat([table.concatenated([frame]) for frame in frames])


def _step_numbers(trace: SteppedTrace, position: Ints) -> pl.Series:
    """Return the step numbers at the given positions."""
    return pl.Series(trace.steps.numbers[position], dtype=pl.Int64)


def _texts_at(values: Sequence[str] | Objects, places: Ints) -> pl.Series:
    """Return the texts at the given indices; NONE becomes null."""
    known = pl.Series([*values, None], dtype=pl.String)
    return known[pl.Series(np.where(places == NONE, len(values), places))]


def _operator_rows(trace: SteppedTrace) -> pl.DataFrame:
    grouped = trace.totals.rows
    known = trace.category[grouped["name"].to_numpy()]
    optimizes = grouped["optimizes"].to_numpy() & (known != categories.COMMUNICATION)
    category = np.where(optimizes, categories.OPTIMIZER, known)
    if len(trace.device["start"]):
        keys = ("name", "optimizes", "step")
        grouped = grouped.join(_launched_seconds(trace), on=keys, how="left", maintain_order="left")
        grouped = grouped.with_columns(pl.col("device_seconds").fill_null(0.0))
    return grouped.with_columns(
        name=_texts_at(trace.names, grouped["name"].to_numpy()),
        category=pl.Series(list(category), dtype=pl.String),
        step=_step_numbers(trace, grouped["step"].to_numpy()),
        kind=pl.lit("operator"),
        device=pl.lit("cpu"),
        bytes=pl.when(pl.col("bytes") > 0).then("bytes"),
    )


def _launched_seconds(trace: SteppedTrace) -> pl.DataFrame:
    """Return the device time that operators launched, by name and step."""
    launches = trace.launches
    known = launches.account != NONE
    start = launches.account_start[known]
    frame = pl.DataFrame(
        {
            "name": launches.account_name[known],
            "optimizes": lies_within(
                start, annotated_time(trace.names, trace.annotations, OPTIMIZER)
            ),
            "step": steps.find_windows(start, trace.steps.host),
            "device_seconds": trace.device["length"][known] * MICRO,
        }
    )
    return frame.group_by("name", "optimizes", "step").sum()


def _device_rows(trace: SteppedTrace) -> pl.DataFrame:
    flops = trace.launches.flops_of_kernels(trace.device["length"])
    keys = ("name", "kind", "device_index", "stream", "operator", "optimizes", "step")
    parts = [
        _device_event_rows(trace, part, flops).group_by(keys).sum()
        for part in (slice(0), *_slices(len(flops)))
    ]
    grouped = pl.concat(parts).group_by(keys).sum().sort(keys)
    names = _texts_at(trace.names, grouped["name"].to_numpy())
    operators = _texts_at(trace.names, grouped["operator"].to_numpy())
    kinds = [DEVICE_KINDS[kind] for kind in grouped["kind"]]
    about = zip(kinds, names, operators, grouped["optimizes"], strict=True)
    category = [_device_category(*each) for each in about]
    is_kernel = pl.Series([kind == "kernel" for kind in kinds], dtype=pl.Boolean)
    kinds = [
        "collective" if kind == "kernel" and work == categories.COMMUNICATION else kind
        for kind, work in zip(kinds, category, strict=True)
    ]
    tensor = pl.Series([categories.is_tensor_core(name) for name in names], dtype=pl.Boolean)
    return grouped.with_columns(
        name=names,
        operator=operators,
        category=pl.Series(category, dtype=pl.String),
        kind=pl.Series(kinds, dtype=pl.String),
        device=pl.lit("gpu"),
        step=_step_numbers(trace, grouped["step"].to_numpy()),
        flops=pl.when(is_kernel).then("flops"),
        bytes=pl.when(pl.col("bytes") > 0).then("bytes"),
        tensor_core=pl.when(is_kernel).then(tensor),
    )


def _device_event_rows(trace: SteppedTrace, part: slice, flops: Ints) -> pl.DataFrame:
    """Return rows of those events of the device that belong to a step."""
    device, launches = trace.device, trace.launches
    in_step = trace.step_of_device[part]
    inside = np.flatnonzero(in_step != NONE) + (part.start or 0)
    optimizing = annotated_time(trace.names, trace.annotations, OPTIMIZER)
    return pl.DataFrame(
        {
            "name": device["name"][inside],
            "kind": device["kind"][inside],
            "device_index": device["index"][inside].astype(np.int64),
            "stream": device["stream"][inside].astype(np.int64),
            "operator": launches.name[inside],
            "optimizes": lies_within(launches.account_start[inside], optimizing),
            "step": trace.step_of_device[inside],
            "calls": np.ones(len(inside), np.int64),
            "seconds": device["length"][inside] * MICRO,
            "flops": flops[inside],
            "bytes": np.maximum(device["bytes"][inside], 0),
        }
    )


def _device_category(kind: str, name: str, operator: str | None, optimizes: bool) -> str:
    if kind != "kernel":
        return categories.COPY
    category = categories.categorize_kernel(name, operator)
    is_update = optimizes and category != categories.COMMUNICATION
    return categories.OPTIMIZER if is_update else category


def _counted_kernel_rows(events: Events, names: Sequence[str]) -> pl.DataFrame:
    """Return rows of the kernels whose instructions were counted, without times."""
    ranges = events.ranges.take_arrays()
    known = ranges["flops"] != UNKNOWN
    frame = pl.DataFrame({"name": ranges["name"][known], "flops": ranges["flops"][known]})
    grouped = frame.group_by("name").agg(
        pl.len().cast(pl.Int64).alias("calls"), pl.col("flops").sum()
    )
    kernels = _texts_at(names, grouped["name"].to_numpy())
    return grouped.with_columns(
        name=kernels,
        kind=pl.lit("kernel"),
        device=pl.lit("gpu"),
        category=pl.Series([categories.categorize(name) for name in kernels], dtype=pl.String),
        tensor_core=pl.Series(
            [categories.is_tensor_core(name) for name in kernels], dtype=pl.Boolean
        ),
    )


def _slices(count: int) -> Iterator[slice]:
    """Yield slices of the events of a kind; one table of all would take too much memory."""
    yield from (slice(begin, begin + _BATCH) for begin in range(0, count, _BATCH))


def _named_rows(trace: SteppedTrace, events: Numbers, kind: str) -> pl.DataFrame:
    """Return rows of events that have only a name and a time."""
    frames = [pl.DataFrame(schema={"name": pl.Int32, "step": pl.Int64, **_TIMED})]
    for part in _slices(len(events["start"])):
        in_step = steps.find_windows(events["start"][part], trace.steps.host)
        inside = in_step != NONE
        frame = pl.DataFrame(
            {
                "name": events["name"][part][inside],
                "step": in_step[inside],
                "calls": np.ones(int(inside.sum()), np.int64),
                "seconds": events["length"][part][inside] * MICRO,
            }
        )
        frames.append(frame.group_by("name", "step").sum())
    grouped = pl.concat(frames).group_by("name", "step").sum().sort("name", "step")
    places = grouped["name"].to_numpy()
    return grouped.with_columns(
        name=_texts_at(trace.names, places),
        category=pl.Series(list(trace.category[places]), dtype=pl.String),
        step=_step_numbers(trace, grouped["step"].to_numpy()),
        kind=pl.lit(kind),
        device=pl.lit("cpu"),
    )


def _step_measures(trace: SteppedTrace) -> Iterator[pl.DataFrame]:
    """Yield the measures of each step: its length and the parts that sum to it."""
    for name, values in parts.step_parts(trace).items():
        alike = measure_row(name)
        yield pl.DataFrame({"step": trace.steps.numbers, "value": values * MICRO}).with_columns(
            pl.lit(alike[key], pl.String).alias(key) for key in ("kind", "name", "unit")
        )


def _whole_measures(trace: SteppedTrace) -> Iterator[table.Row]:
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
    yield measure_row("flops_unknown", int(trace.totals.unknown[trace.steps.warmup :].sum()))


def _machine_measures(
    head: Mapping[str, Any], trace: SteppedTrace, events: Events
) -> Iterator[table.Row]:
    """Yield the measures of the machine that the trace holds."""
    devices = head.get("deviceProperties")
    used = set(np.unique(trace.device["index"]).tolist())
    for device in devices if isinstance(devices, list) else ():
        if not isinstance(device, dict) or (used and device.get("id") not in used):
            continue
        number = str(device.get("id"))
        if isinstance(device.get("name"), str):
            yield measure_row("device_name", of=number, text=device["name"])
        if isinstance(device.get("totalGlobalMem"), int | float):
            yield measure_row("device_memory_bytes", float(device["totalGlobalMem"]), of=number)
    for place, peak in sorted(events.peaks.of_step().items()):
        yield measure_row("memory_bytes", peak, of=f"allocated on {place}")
    distributed = head.get("distributedInfo")
    if isinstance(distributed, dict) and isinstance(distributed.get("world_size"), int):
        yield measure_row("world_size", distributed["world_size"])
