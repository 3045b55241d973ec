"""Which part of a trace is which training step, which steps count, and what lies in each?

The annotations `ProfilerStep#N` of the host mark steps. Where the host runs ahead of the device,
steps begin with their first kernels instead. Without annotations the whole trace is one step. Times
are microseconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import polars as pl
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from ttastats.traces import categories, intervals, work
from ttastats.traces.events import STEP, Events, Numbers
from ttastats.traces.intervals import NONE, Floats, Ints
from ttastats.traces.work import UNKNOWN, Launches, Operators

Objects = NDArray[np.object_]

#: Seconds of a unit of time.
MICRO = 1e-6
OPTIMIZER = "Optimizer."
#: Frames of operators that are summed at once.
_FRAMES = 20
_OPERATOR_ROWS = {
    "name": pl.Int32, "optimizes": pl.Boolean, "step": pl.Int64, "calls": pl.Int64,
    "seconds": pl.Float64, "flops": pl.Int64, "bytes": pl.Int64,
}  # fmt: skip
#: A first step this much longer than the median of those after it warms up.
_LONGER = 1.5
_FEWEST = 3
WARM_UP_RULE = (
    f"first steps longer than {_LONGER:g} times the median of those after them, "
    f"where {_FEWEST} or more follow"
)


class Steps(Struct, frozen=True):
    """Steps by number, with the window of each on the host and on the device (starts, ends).

    `warmup` counts steps that were left out at the start; `marked` tells whether the trace marks
    steps, `ahead` whether the windows of the device are those of its kernels.
    """

    numbers: Ints
    host: Floats
    device: Floats
    warmup: int = 0
    marked: bool = True
    ahead: bool = False


def find_windows(moment: Floats, windows: Floats) -> Ints:
    """Return the index of the window that each moment lies in, or NONE."""
    if not len(windows):
        return np.full(len(moment), NONE)
    position = np.searchsorted(windows[:, 0], moment, side="right") - 1
    inside = (position >= 0) & (moment <= windows[np.maximum(position, 0), 1])
    return np.where(inside, position, NONE)


def select_steps(steps: Steps, keep: NDArray[np.bool_]) -> Steps:
    """Return the chosen steps."""
    parts = {name: getattr(steps, name)[keep] for name in ("numbers", "host", "device")}
    return replace(steps, **parts)


def device_windows(steps: Steps, launched_in: Ints, start: Floats, end: Floats) -> Steps:
    """Return the steps with their windows on the device, by the step that launched each kernel.

    Windows are those of the host unless most steps end on the device after they end on the host.
    """
    count = len(steps.numbers)
    inside = launched_in != NONE
    begins, ends = np.full(count, np.inf), np.full(count, -np.inf)
    np.minimum.at(begins, launched_in[inside], start[inside])
    np.maximum.at(ends, launched_in[inside], end[inside])
    if not steps.marked:
        low, high = steps.host[0]
        return replace(steps, device=np.array([[low, max(high, ends[0])]]))
    late = ends > steps.host[:, 1]
    if not np.isfinite(begins).all() or late.sum() * 2 <= count:
        return steps
    device = np.column_stack((begins, np.append(begins[1:], ends[-1])))
    return replace(steps, device=device, ahead=True)


def without_warmup(steps: Steps) -> Steps:
    """Return the steps without the first ones if these are much longer than the others."""
    lengths, first = steps.device[:, 1] - steps.device[:, 0], 0
    for first, length in enumerate(lengths):
        rest = lengths[first + 1 :]
        if len(rest) < _FEWEST or length <= _LONGER * np.median(rest):
            break
    return replace(select_steps(steps, np.arange(len(lengths)) >= first), warmup=first)


class OperatorTotals(Struct, frozen=True):
    """What all operators of a trace come to.

    `rows` have a position of a step in `step`. Sets of intervals tell when any operator was under
    way, when one computed, and when one communicated; `unknown` counts calls of unknown FLOPs.
    """

    rows: pl.DataFrame
    busy: Floats
    computes: Floats
    communicates: Floats
    unknown: Ints


class SteppedTrace(Struct, frozen=True):
    """The events of a trace by step; `optimizing` is the time in the steps of optimizers."""

    names: Sequence[str]
    category: Objects
    totals: OperatorTotals
    launches: Launches
    host: Numbers
    device: Numbers
    annotations: Numbers
    steps: Steps
    step_of_device: Ints
    optimizing: Floats


def assign_steps(events: Events) -> SteppedTrace:
    """Return the events of a trace with their steps; columns only operators need are dropped."""
    names = [str(name) for name in events.names]
    columns, host = events.operators.take_arrays(), events.host.take_arrays()
    device, annotations = events.device.take_arrays(), events.annotations.take_arrays()
    kinds = (columns, host, device, annotations)
    zero = min((float(kind["start"].min()) for kind in kinds if len(kind["start"])), default=0.0)
    for kind in kinds:
        kind["start"] -= zero
    category = np.array([categories.categorize(name) for name in names], dtype=object)
    marked = _annotated_steps(names, annotations, columns, host, device)
    order = work.operator_order(columns)
    launches = Launches(device, host, columns, order)
    for kind, ids in ((columns, "external"), (host, "thread"), (device, "external")):
        for name in (ids, "correlation"):
            kind.pop(name, None)  # millions of numbers not needed any more
    grain = 1e-3 + 4 * float(np.spacing(abs(zero)))
    known = work.call_costs(events.calls, names)
    operators = work.operator_batches(columns, order, known, grain)
    optimizing = annotated_time(names, annotations, OPTIMIZER)
    on_device = bool(len(device["start"]))
    totals = _operator_totals(
        operators, launches, marked.host, category, optimizing, on_device=on_device
    )
    del columns, operators
    in_step = find_windows(launches.launch_times(device), marked.host)
    worked = np.union1d(totals.rows["step"].to_numpy(), in_step)
    at_work = np.isin(np.arange(len(marked.numbers)), worked)
    active = select_steps(marked, at_work) if at_work.any() else marked
    position = np.append(np.where(at_work, np.cumsum(at_work) - 1, NONE), NONE)
    in_step = position[in_step]
    end = device["start"] + device["length"]
    final = without_warmup(device_windows(active, in_step, device["start"], end))
    moved = position - final.warmup
    frame = totals.rows.with_columns(step=pl.Series(moved[totals.rows["step"].to_numpy()]))
    totals = replace(totals, rows=frame.filter(pl.col("step") >= 0))
    in_step = np.maximum(in_step - final.warmup, NONE)
    return SteppedTrace(
        names, category, totals, launches, host, device, annotations, final, in_step, optimizing
    )


def _annotated_steps(names: Sequence[str], annotations: Numbers, *kinds: Numbers) -> Steps:
    """Return the steps that annotations mark, each once, or the whole trace as step 0."""
    texts = pl.Series(names, dtype=pl.String).str.extract(rf"^{STEP}(\d+)$")
    by_name = texts.cast(pl.Int64, strict=False).fill_null(NONE).to_numpy()
    numbers = by_name[annotations["name"]]
    marks = np.flatnonzero(numbers != NONE)
    if not len(marks):
        present = [(kind["start"], kind["length"]) for kind in kinds if len(kind["start"])]
        first = min((float(start.min()) for start, _ in present), default=0.0)
        last = max((float((start + length).max()) for start, length in present), default=0.0)
        window = np.array([(first, last)])
        return Steps(np.zeros(1, np.int64), window, window, marked=False)
    by_start = marks[np.lexsort((numbers[marks], annotations["start"][marks]))]
    _, places = np.unique(numbers[by_start], return_index=True)
    chosen = by_start[np.sort(places)]
    start, length = annotations["start"][chosen], annotations["length"][chosen]
    windows = np.column_stack((start, start + length))
    return Steps(numbers[chosen], windows, windows)


def _operator_totals(
    batches: Iterable[Operators],
    launches: Launches,
    windows: Floats,
    category: Objects,
    optimizing: Floats,
    *,
    on_device: bool,
) -> OperatorTotals:
    """Return the summed costs of all operators, computed batch by batch.

    Where a device computes, the time of operators that compute is left out.
    """
    frames = [pl.DataFrame(schema=_OPERATOR_ROWS)]
    idle = (categories.OTHER, categories.COMMUNICATION, categories.INPUT)
    computing, communicating = ~np.isin(category, idle), category == categories.COMMUNICATION
    sets: tuple[list[Floats], ...] = ([], [], [])
    unknown = np.zeros(len(windows), np.int64)
    for operators in batches:
        launches.add(operators)
        in_step = find_windows(operators.start, windows)
        frames.append(_operator_sums(operators, in_step, optimizing))
        lost = (operators.flops == UNKNOWN) & (in_step != NONE)
        unknown += np.bincount(in_step[lost], minlength=len(windows))
        outside = operators.nest.parent == NONE
        chosen = (outside, computing[operators.name], communicating[operators.name])
        for spans, mask in zip(sets, chosen[: 1 if on_device else 3], strict=False):
            start = operators.start[mask]
            spans.append(intervals.merge_intervals(start, start + operators.length[mask]))
        if len(frames) > _FRAMES:
            frames = [pl.concat(frames).group_by("name", "optimizes", "step").sum()]
    busy, computes, communicates = (intervals.union_all(spans) for spans in sets)
    keys = ("name", "optimizes", "step")
    rows = pl.concat(frames).group_by(keys).sum().sort(keys)
    return OperatorTotals(rows, busy, computes, communicates, unknown)


def _operator_sums(operators: Operators, in_step: Ints, optimizing: Floats) -> pl.DataFrame:
    inside = np.flatnonzero(in_step != NONE)
    account = operators.account[inside]
    calls = (account == inside).astype(np.int64)
    frame = pl.DataFrame(
        {
            "name": operators.name[account],
            "optimizes": lies_within(operators.start[account], optimizing),
            "step": in_step[inside],
            "calls": calls,
            "seconds": operators.self_time[inside] * MICRO,
            "flops": calls * np.maximum(operators.flops[inside], 0),
            "bytes": calls * np.maximum(operators.bytes[inside], 0),
        },
        schema=_OPERATOR_ROWS,
    )
    return frame.group_by("name", "optimizes", "step").sum()


def lies_within(moment: Floats, windows: Floats) -> NDArray[np.bool_]:
    """Return which moments lie in some windows."""
    inside: NDArray[np.bool_] = find_windows(moment, windows) != NONE
    return inside


def annotated_time(names: Sequence[str], annotations: Numbers, *starts: str) -> Floats:
    """Return the time in annotations whose names start with one of some prefixes."""
    chosen = np.array([name.startswith(starts) for name in names], bool)[annotations["name"]]
    start = annotations["start"][chosen]
    return intervals.merge_intervals(start, start + annotations["length"][chosen])
