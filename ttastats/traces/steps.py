"""Which part of a trace is which training step, and which steps count?

The annotations `ProfilerStep#N` of the host mark steps. Where the host runs ahead of the device,
steps begin with their first kernels instead. Without annotations the whole trace is one step.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ttastats.traces.intervals import Floats, Ints

NONE = -1
#: A first step this much longer than the median of those after it warms up.
_LONGER = 1.5
_FEWEST = 3
WARM_UP_RULE = (
    f"first steps longer than {_LONGER:g} times the median of those after them, "
    f"where {_FEWEST} or more follow"
)


@dataclass(frozen=True, slots=True)
class Steps:
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


def from_annotations(
    numbers: Ints, start: Floats, end: Floats, whole: tuple[float, float]
) -> Steps:
    """Return the steps that annotations mark, each once, or the whole trace as step 0."""
    if not len(numbers):
        window = np.array([whole])
        return Steps(np.zeros(1, np.int64), window, window, marked=False)
    order = np.lexsort((numbers, start))
    _, first = np.unique(numbers[order], return_index=True)
    chosen = order[np.sort(first)]
    windows = np.column_stack((start[chosen], end[chosen]))
    return Steps(numbers[chosen], windows, windows)


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
    lengths = steps.device[:, 1] - steps.device[:, 0]
    first = 0
    while len(lengths) - first - 1 >= _FEWEST and lengths[first] > _LONGER * np.median(
        lengths[first + 1 :]
    ):
        first += 1
    return replace(select_steps(steps, np.arange(len(lengths)) >= first), warmup=first)
