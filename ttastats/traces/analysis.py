"""Which rows does a profile have of a trace: per step, what took how long?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import polars as pl

from ttastats.traces import categories, parts, steps, table
from ttastats.traces.events import DEVICE_KINDS, STEP, Events, Numbers
from ttastats.traces.intervals import NONE
from ttastats.traces.steps import MICRO, SteppedTrace, assign_steps, lies_within
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
    work = pl.concat(
        [
            _operator_rows(trace),
            _device_rows(trace),
            _timed_rows(trace, trace.host, "host"),
            _timed_rows(trace, annotations, "annotation"),
            _counted_kernel_rows(events),
        ],
        how="diagonal_relaxed",
    )
    measures = table.frame_of([*_whole_measures(trace), *_machine_measures(head, trace, events)])
    frames = [_with_names(trace, work), *_step_measures(trace), measures]
    return pl.concat([table.concatenated([frame]) for frame in frames])


def _with_names(trace: SteppedTrace, rows: pl.DataFrame) -> pl.DataFrame:
    """Return rows of work with names and steps in the place of their indices, and categories."""
    texts = pl.Series(trace.names, dtype=pl.String)
    names, operators = texts.gather(rows["name"]), texts.gather(rows["operator"])
    about = zip(rows["kind"], names, operators, rows["optimizes"], strict=True)
    category = pl.Series([_category(*each) for each in about], dtype=pl.String)
    tensor = pl.Series([categories.is_tensor_core(name) for name in names], dtype=pl.Boolean)
    is_kernel = pl.col("kind") == "kernel"
    is_collective = is_kernel & (category == categories.COMMUNICATION)
    return rows.with_columns(
        name=names,
        operator=operators,
        category=category,
        kind=pl.when(is_collective).then(pl.lit("collective")).otherwise("kind"),
        device=pl.when(pl.col("kind").is_in(DEVICE_KINDS))
        .then(pl.lit("gpu"))
        .otherwise(pl.lit("cpu")),
        step=pl.Series(trace.steps.numbers).gather(rows["step"]),
        bytes=pl.when(pl.col("bytes") > 0).then("bytes"),
        tensor_core=pl.when(is_kernel).then(tensor),
    )


def _category(kind: str, name: str, operator: str | None, optimizes: bool | None) -> str:
    if kind in DEVICE_KINDS[1:]:
        return categories.COPY
    category = categories.categorize_kernel(name, operator)
    is_update = optimizes and category != categories.COMMUNICATION
    return categories.OPTIMIZER if is_update else category


def _operator_rows(trace: SteppedTrace) -> pl.DataFrame:
    """Return the rows of operators, with the device time that they launched."""
    grouped, launches = trace.totals.rows, trace.launches
    if len(trace.device["start"]):
        known = launches.account != NONE
        start = launches.account_start[known]
        launched = pl.DataFrame(
            {
                "name": launches.account_name[known],
                "optimizes": lies_within(start, trace.optimizing),
                "step": steps.find_windows(start, trace.steps.host),
                "device_seconds": trace.device["length"][known] * MICRO,
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
    keys = ("name", "kind", "device_index", "stream", "operator", "optimizes", "step")
    frames = []
    for part in (slice(0), *_slices(len(flops))):
        inside = np.flatnonzero(trace.step_of_device[part] != NONE) + (part.start or 0)
        frame = pl.DataFrame(
            {
                "name": device["name"][inside],
                "kind": device["kind"][inside],
                "device_index": device["index"][inside].astype(np.int64),
                "stream": device["stream"][inside].astype(np.int64),
                "operator": launches.name[inside],
                "optimizes": lies_within(launches.account_start[inside], trace.optimizing),
                "step": trace.step_of_device[inside],
                "calls": np.ones(len(inside), np.int64),
                "seconds": device["length"][inside] * MICRO,
                "flops": flops[inside],
                "bytes": np.maximum(device["bytes"][inside], 0),
            }
        )
        frames.append(frame.group_by(keys).sum())
    grouped = pl.concat(frames).group_by(keys).sum().sort(keys)
    kinds = pl.Series(DEVICE_KINDS).gather(grouped["kind"])
    return grouped.with_columns(
        kind=kinds,
        operator=pl.when(pl.col("operator") != NONE).then("operator"),
        flops=pl.when(kinds == "kernel").then("flops"),
    )


def _counted_kernel_rows(events: Events) -> pl.DataFrame:
    """Return rows of the kernels whose instructions were counted, without times."""
    ranges = events.ranges.take_arrays()
    known = ranges["flops"] != UNKNOWN
    frame = pl.DataFrame({"name": ranges["name"][known], "flops": ranges["flops"][known]})
    grouped = frame.group_by("name").agg(pl.len().alias("calls"), pl.col("flops").sum())
    return grouped.with_columns(kind=pl.lit("kernel"))


def _slices(count: int) -> Iterator[slice]:
    """Yield slices of the events of a kind; one table of all would take too much memory."""
    yield from (slice(begin, begin + _BATCH) for begin in range(0, count, _BATCH))


def _timed_rows(trace: SteppedTrace, events: Numbers, kind: str) -> pl.DataFrame:
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
    grouped = pl.concat(frames).group_by("name", "step").sum()
    return grouped.sort("name", "step").with_columns(kind=pl.lit(kind))


def _step_measures(trace: SteppedTrace) -> Iterator[pl.DataFrame]:
    """Yield the measures of each step: its length and the parts that sum to it."""
    for name, values in parts.step_parts(trace).items():
        alike = measure_row(name)
        yield pl.DataFrame({"step": trace.steps.numbers, "value": values * MICRO}).with_columns(
            pl.lit(alike[key], pl.String).alias(key) for key in ("kind", "name", "unit")
        )


def _whole_measures(trace: SteppedTrace) -> Iterator[table.Row]:
    """Yield the measures of the whole trace: steps, warm-up, window."""
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
    for place, peak in sorted(events.peak_bytes().items()):
        yield measure_row("memory_bytes", peak, of=f"allocated on {place}")
    distributed = head.get("distributedInfo")
    if isinstance(distributed, dict) and isinstance(distributed.get("world_size"), int):
        yield measure_row("world_size", distributed["world_size"])
