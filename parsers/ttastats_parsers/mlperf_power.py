"""How much energy did a run take, by the power logs beside it?

From v4.0 on a result may have `power/result_N/node_K.txt` with the watts of each node, and
`sw_K.txt` with those of each switch. As in the official summary, `conversion_eff` is a factor of
what was measured, and a switch may tell one estimate for the whole run. The official figure is the
mean power over the measurement times the length of the run; here the readings between `run_start`
and `run_stop` are integrated by trapezoids.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Any

import msgspec

from ttastats.base.records import Problem
from ttastats.formats.dialect import Log
from ttastats_parsers.mlperf_scan import NO_JSON, decoded_at_once, payloads_in
from ttastats_parsers.payloads import as_float

#: Logs of a node, or of a switch.
_PART = re.compile(r"(?:node|sw)_.*\.txt")
#: Keys of events that decide nothing begin with these.
_LEFT_OUT = (b"power_measurement",)
#: Readings that cover less of a run say too little of it.
_LEAST_COVERED = 0.9


class _Event(msgspec.Struct, gc=False):
    key: str
    time_ms: float | None = None
    value: float | None = None


class _AnyEvent(msgspec.Struct, gc=False):
    """An event of a file in which some number is written as something else."""

    key: str
    time_ms: Any = None
    value: Any = None


_decode = msgspec.json.Decoder(_AnyEvent).decode
_decode_lines = msgspec.json.Decoder(_Event).decode_lines


def energy(log: Log, start: float, stop: float) -> tuple[float | None, tuple[Problem, ...]]:
    """Return the joules of all nodes and switches between two times in seconds since 1970.

    None with a problem where the logs of a part do not cover the run: a sum without it is no sum.
    """
    folder = log.folder / "power" / log.name.partition(".")[0]
    names = [name for name in log.listing(folder) if _PART.fullmatch(name)]
    if not names or not stop > start:
        return None, ()
    total = 0.0
    for name in names:
        joules = _part_energy(log.companion(folder / name) or b"", start, stop)
        if joules is None:
            text = f"power/{folder.name}/{name} does not cover the run: its energy is unknown"
            return None, (Problem("no_energy", text, "warning"),)
        total += joules
    return round(total, 3), ()


def _part_energy(content: bytes, start: float, stop: float) -> float | None:
    """Return the joules of one node or switch between two times; None if not covered."""
    times: list[float] = []
    watts: list[float] = []
    constants: dict[str, float] = {}
    payloads, lines, _ = payloads_in(content, 1, with_init=False, left_out=_LEFT_OUT)
    events = decoded_at_once(_decode_lines, payloads, len(lines))
    if events is None:
        events = []
        for payload in payloads.split(b"\n"):
            with suppress(*NO_JSON):
                any_ = _decode(payload)
                events.append(_Event(any_.key, as_float(any_.time_ms), as_float(any_.value)))
    for event in events:
        if event.value is None:
            continue
        if event.key != "power_reading":
            if event.key == "conversion_eff" or event.key not in constants:
                constants[event.key] = event.value
        elif event.time_ms is not None:
            times.append(event.time_ms / 1e3)
            watts.append(event.value)
    efficiency = constants.get("conversion_eff", 1.0)
    if "interconnect_power_est" in constants:
        return efficiency * constants["interconnect_power_est"] * (stop - start)
    joules = integral(times, watts, start, stop)
    return None if joules is None else efficiency * joules


def integral(
    times: Sequence[float], watts: Sequence[float], start: float, stop: float
) -> float | None:
    """Return the joules between two times by the trapezoidal rule; None if not covered.

    Between a moment and the nearest reading beyond it power changes evenly; before the first
    reading and after the last it is taken to be theirs.
    """
    readings = sorted(zip(times, watts, strict=True))
    times = [time for time, _ in readings]
    if not times:
        return None
    covered = min(stop, times[-1]) - max(start, times[0])
    if covered < _LEAST_COVERED * (stop - start):
        return None

    def power_at(moment: float) -> float:
        after = bisect_left(times, moment)
        if after in {0, len(times)}:
            return readings[max(0, after - 1)][1]
        (earlier, before), (later, then) = readings[after - 1 : after + 1]
        return before + (then - before) * (moment - earlier) / (later - earlier)

    inside = readings[bisect_right(times, start) : bisect_left(times, stop)]
    points = [(start, power_at(start)), *inside, (stop, power_at(stop))]
    return sum((then - now) * (a + b) for (now, a), (then, b) in pairwise(points)) / 2
