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
from numpy.typing import NDArray

from ttastats.traces import categories, flops, intervals, work
from ttastats.traces.events import STEP, Events, Numbers
from ttastats.traces.intervals import NONE, Floats, Ints
from ttastats.traces.work import UNKNOWN, Launches, Operators

Objects = NDArray[np.object_]

#: Seconds of a unit of time.
MICRO = 1e-6
OPTIMIZER = "Optimizer."
#: Frames of operators that are summed at once.
_FRAMES = 20
_KEYS = ("name", "optimizes", "step")
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
    warmup: int
    marked: bool
    ahead: bool


class SteppedTrace(Struct, frozen=True):
    """The events of a trace by step.

    `operators` are sums with the place of a step in `step`; `busy`, `computes` and `communicates`
    are the times in any operator, in one that computes, and in one that communicates, `optimizing`
    that in the steps of optimizers. `unknown` counts calls of unknown FLOPs.
    """

    names: Sequence[str]
    category: Objects
    operators: pl.DataFrame
    busy: Floats
    computes: Floats
    communicates: Floats
    unknown: int
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
    numbers, windows, marked = _annotated_steps(names, annotations, columns, host, device)
    order = work.operator_order(columns)
    launches = Launches(device, host, columns, order)
    for kind, ids in ((columns, "external"), (host, "thread"), (device, "external")):
        for name in (ids, "correlation"):
            kind.pop(name, None)  # millions of numbers not needed any more
    grain = 1e-3 + 4 * float(np.spacing(abs(zero)))
    is_costed = np.array([name in flops.COUNTED for name in names], bool)
    costs = work.call_costs(events.calls)
    batches = work.operator_batches(columns, order, costs, is_costed, grain)
    optimizing = annotated_time(names, annotations, OPTIMIZER)
    on_device = bool(len(device["start"]))
    operators, (busy, computes, communicates), unknown = _sum_operators(
        batches, launches, windows, category, optimizing, on_device=on_device
    )
    del columns, batches
    launched_in = find_windows(launches.launch_times(device), windows)
    worked = np.union1d(operators["step"].to_numpy(), launched_in)
    steps, step_numbers = _warm_steps(numbers, windows, marked, worked, launched_in, device)
    operators = operators.with_columns(step=pl.Series(step_numbers[operators["step"].to_numpy()]))
    return SteppedTrace(
        names,
        category,
        operators.filter(pl.col("step") != NONE),
        busy,
        computes,
        communicates,
        int(unknown[steps.warmup :].sum()),
        launches,
        host,
        device,
        annotations,
        steps,
        step_numbers[launched_in],
        optimizing,
    )


def find_windows(moment: Floats, windows: Floats) -> Ints:
    """Return the index of the window that each moment lies in, or NONE."""
    if not len(windows):
        return np.full(len(moment), NONE)
    position = np.searchsorted(windows[:, 0], moment, side="right") - 1
    inside = (position >= 0) & (moment <= windows[np.maximum(position, 0), 1])
    return np.where(inside, position, NONE)


def _annotated_steps(
    names: Sequence[str], annotations: Numbers, *kinds: Numbers
) -> tuple[Ints, Floats, bool]:
    """Return numbers and windows of the steps that annotations mark, each once, and True.

    Without annotations it is the whole trace as step 0, and False.
    """
    texts = pl.Series(names, dtype=pl.String).str.extract(rf"^{STEP}(\d+)$")
    by_name = texts.cast(pl.Int64, strict=False).fill_null(NONE).to_numpy()
    numbers = by_name[annotations["name"]]
    marks = np.flatnonzero(numbers != NONE)
    if not len(marks):
        present = [(kind["start"], kind["length"]) for kind in kinds if len(kind["start"])]
        first = min((float(start.min()) for start, _ in present), default=0.0)
        last = max((float((start + length).max()) for start, length in present), default=0.0)
        return np.zeros(1, np.int64), np.array([(first, last)]), False
    by_start = marks[np.lexsort((numbers[marks], annotations["start"][marks]))]
    _, firsts = np.unique(numbers[by_start], return_index=True)
    order = by_start[np.sort(firsts)]
    start, length = annotations["start"][order], annotations["length"][order]
    return numbers[order], np.column_stack((start, start + length)), True


def _sum_operators(
    batches: Iterable[Operators],
    launches: Launches,
    windows: Floats,
    category: Objects,
    optimizing: Floats,
    *,
    on_device: bool,
) -> tuple[pl.DataFrame, list[Floats], Ints]:
    """Return the sums of all operators, when they ran, and the calls of unknown FLOPs by step.

    They ran: any of them, those that compute, those that communicate; the latter two are left out
    where a device computes.
    """
    frames = [pl.DataFrame(schema=_OPERATOR_ROWS)]
    idle = (categories.OTHER, categories.COMMUNICATION, categories.INPUT)
    computing, communicating = ~np.isin(category, idle), category == categories.COMMUNICATION
    sets: tuple[list[Floats], ...] = ([], [], [])
    unknown = np.zeros(len(windows), np.int64)
    for operators in batches:
        launches.add(operators)
        in_step = find_windows(operators.start, windows)
        inside = np.flatnonzero(in_step != NONE)
        account = operators.account[inside]
        calls = (account == inside).astype(np.int64)
        sums = {
            "name": operators.name[account],
            "optimizes": lies_within(operators.start[account], optimizing),
            "step": in_step[inside],
            "calls": calls,
            "seconds": operators.self_time[inside] * MICRO,
            "flops": calls * np.maximum(operators.flops[inside], 0),
            "bytes": calls * np.maximum(operators.bytes[inside], 0),
        }
        frames.append(pl.DataFrame(sums, schema=_OPERATOR_ROWS).group_by(_KEYS).sum())
        if len(frames) > _FRAMES:
            frames = [pl.concat(frames).group_by(_KEYS).sum()]
        lost = (operators.flops == UNKNOWN) & (in_step != NONE)
        unknown += np.bincount(in_step[lost], minlength=len(windows))
        outside = operators.nest.parent == NONE
        masks = (outside, computing[operators.name], communicating[operators.name])
        for spans, mask in zip(sets, masks[: 1 if on_device else 3], strict=False):
            start = operators.start[mask]
            spans.append(intervals.merge_intervals(start, start + operators.length[mask]))
    rows = pl.concat(frames).group_by(_KEYS).sum().sort(_KEYS)
    return rows, [intervals.union_all(spans) for spans in sets], unknown


def _warm_steps(
    numbers: Ints, host: Floats, marked: bool, worked: Ints, launched_in: Ints, device: Numbers
) -> tuple[Steps, Ints]:
    """Return the steps with work after the warm-up, and their numbers by marked step.

    A step left out has the number NONE; the last number is that of NONE itself. Windows on the
    device are those of the host unless most steps end on the device after they end on the host.
    """
    step_numbers = np.full(len(numbers) + 1, NONE)
    active = worked[worked != NONE]
    active = active if len(active) else np.arange(len(numbers))
    step_numbers[active] = np.arange(len(active))
    numbers, host = numbers[active], host[active]
    launched_in, start = step_numbers[launched_in], device["start"]
    inside = launched_in != NONE
    begins, ends = np.full(len(active), np.inf), np.full(len(active), -np.inf)
    np.minimum.at(begins, launched_in[inside], start[inside])
    np.maximum.at(ends, launched_in[inside], (start + device["length"])[inside])
    windows, ahead, warmup = host, False, 0
    if not marked:
        windows = np.array([[host[0, 0], max(host[0, 1], ends[0])]])
    elif np.isfinite(begins).all() and (ends > host[:, 1]).sum() * 2 > len(active):
        windows, ahead = np.column_stack((begins, np.append(begins[1:], ends[-1]))), True
    lengths = windows[:, 1] - windows[:, 0]
    for warmup, length in enumerate(lengths):
        later = lengths[warmup + 1 :]
        if len(later) < _FEWEST or length <= _LONGER * np.median(later):
            break
    steps = Steps(numbers[warmup:], host[warmup:], windows[warmup:], warmup, marked, ahead)
    return steps, np.maximum(step_numbers - warmup, NONE)


def lies_within(moment: Floats, windows: Floats) -> NDArray[np.bool_]:
    """Return a mask of the moments in some windows."""
    inside: NDArray[np.bool_] = find_windows(moment, windows) != NONE
    return inside


def annotated_time(names: Sequence[str], annotations: Numbers, *starts: str) -> Floats:
    """Return the time in annotations whose names start with one of some prefixes."""
    mask = np.array([name.startswith(starts) for name in names], bool)[annotations["name"]]
    start = annotations["start"][mask]
    return intervals.merge_intervals(start, start + annotations["length"][mask])
