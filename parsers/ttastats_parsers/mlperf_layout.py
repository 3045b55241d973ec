"""What the folders of an MLPerf results repository say of logs, and power logs of energy.

From v0.6 on `ORG/results/SYSTEM/BENCHMARK/result_N.txt` with `ORG/systems/SYSTEM.json`; in v0.5
`v0.5.0/ORG/ENTRY/results/SYSTEM/BENCHMARK/result_N.txt` with `entry.json` beside the benchmarks.

From v4.0 on a result may have `power/result_N/node_K.txt` with the watts of each node, and
`sw_K.txt` with those of each switch. As in the official summary, `conversion_eff` is a factor of
what was measured, and a switch may tell one estimate for the whole run. The official figure is the
mean power over the measurement times the length of the run; here the readings between `run_start`
and `run_stop` are integrated by trapezoids.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ttastats.base import benchmarks
from ttastats.base.records import Problem
from ttastats.formats.dialect import Log
from ttastats_parsers.mlperf_scan import NO_JSON, decoded_at_once, payloads_in
from ttastats_parsers.payloads import LENIENT_JSON, as_float, as_int, as_mapping, decode, json_value

Companion = Callable[[PurePosixPath], bytes | None]

_ROUND = re.compile(r"(?:^|_)v?(\d+\.\d+)(?:\.\d+)?$")


class System(Struct, frozen=True):
    """What a system description says."""

    hardware: str | None = None
    accelerators: int | None = None
    nodes: int | None = None
    framework: str | None = None
    division: str | None = None


class LogPlace(Struct, frozen=True):
    """Where a log lies and what lies beside it, None where that does not tell.

    `scaling_factor` is that of a `scaling.json`, which multiplies official scores only; `metered`
    says that power logs lie below.
    """

    suite: str = "mlperf"
    round: str | None = None
    submitter: str | None = None
    system: str | None = None
    benchmark: str | None = None
    entry: str | None = None
    described: System = System()
    scaling_factor: float | None = None
    metered: bool = False
    problems: tuple[Problem, ...] = ()


@lru_cache(maxsize=256)
def place_of(
    folder: PurePosixPath, round_: str | None, user_round: str | None, companion: Companion
) -> LogPlace:
    """Return the round, submitter, system and benchmark in the path of a folder of logs.

    Folders count as an official results tree only where something else agrees: a round among
    them, or a system description in its place. A person's own `results/` folder is not one.
    """
    folders = folder.parts
    results = max((i for i, name in enumerate(folders) if name == "results"), default=None)
    parents = enumerate(folders[:results])
    round_at = max((i for i, name in parents if _round_name(name)), default=None)
    path_round = _round_name(folders[round_at]) if round_at is not None else None
    problems: tuple[Problem, ...] = ()
    if path_round and round_ and path_round != round_:
        text = f"the lines are those of {round_}, the folders say {path_round}: the lines are used"
        problems = (Problem("round_mismatch", text),)
    is_hpc = round_at is not None and folders[round_at].startswith("hpc_results")
    suite = "mlperf_hpc" if is_hpc else "mlperf"
    scaling = companion(folder / "scaling.json") or b""
    factors = _mapping_of(scaling) if scaling and len(scaling) <= _LARGEST else None
    # One look at a folder that has no power logs.
    power = ("power/result_0/node_0.txt", "power/result_1/node_0.txt")
    layout = LogPlace(
        suite,
        user_round or round_ or path_round,
        scaling_factor=as_float((factors or {}).get("scaling_factor")),
        metered=any(companion(folder / path) is not None for path in power),
        problems=problems,
    )
    if results is None or results + 1 >= len(folders):
        return layout
    system = folders[results + 1]
    # The file that describes the system, in the place of either layout.
    candidates = (
        PurePosixPath(*folders[:results]) / "systems" / f"{system}.json",
        PurePosixPath(*folders[: results + 2]) / "entry.json",
    )
    description = next((path for path in candidates if companion(path) is not None), None)
    if round_at is None and description is None:
        return layout
    owner_at = results - 1 if round_at is None else round_at + 1
    owner = folders[min(owner_at, results - 1) : results]
    described, system_problems = _read_system(system, description, companion)
    return replace(
        layout,
        submitter=owner[0] if owner else None,
        system=system,
        benchmark=folders[results + 2] if results + 2 < len(folders) else None,
        entry="/".join((*owner, system)),
        described=described,
        problems=(*system_problems, *problems),
    )


def benchmark_name(logged: str | None, place: LogPlace) -> tuple[str | None, list[Problem]]:
    """Return the canonical name of the benchmark; the log takes precedence over its folder."""

    def canonical(name: str | None) -> str | None:
        return benchmarks.canonical_name(place.suite, name, place.round) if name else None

    from_log, from_folder = canonical(logged), canonical(place.benchmark)
    names = benchmarks.benchmarks_by_name(place.suite)
    from_folder = from_folder if from_folder in names else None
    problems = []
    if from_log and from_folder and from_folder != from_log:
        text = f"the log says {logged}, its folder {place.benchmark}: the log is used"
        problems.append(Problem("benchmark_mismatch", text))
    return from_log or from_folder, problems


#: Bytes of the description of a system; what was read of many of them is kept.
_LARGEST = 1024 * 1024


def _read_system(
    system: str, file: PurePosixPath | None, companion: Companion
) -> tuple[System, tuple[Problem, ...]]:
    """Return the description of a system, with a problem if its file cannot be used."""
    if file is None:
        return System(), (Problem("no_system_file", f"no description of system {system}", "info"),)
    content = companion(file) or b""
    if len(content) > _LARGEST:
        text = f"{file.name} is not read: larger than {_LARGEST // 2**20} MB"
        return System(), (Problem("bad_system_file", text),)
    fields = _mapping_of(content) or _logged_mapping_of(content)
    if fields is None:
        return System(), (Problem("bad_system_file", f"{file.name} is not JSON"),)
    return _system(fields), ()


@lru_cache(maxsize=1024)
def _round_name(folder: str) -> str | None:
    """Return the round in the name of a folder, or None."""
    match = _ROUND.search(folder)
    name = f"v{match.group(1)}" if match else None
    return name if name in benchmarks.rounds("mlperf") else None


@lru_cache(maxsize=1024)
def _mapping_of(content: bytes) -> dict[str, Any] | None:
    """Return a JSON object, also with a comma before the closing brace, or None."""
    value = json_value(content, LENIENT_JSON)
    if value is None:
        text = content.decode("utf-8-sig", "replace")
        value = json_value(re.sub(r",(\s*[}\]])", r"\1", text), LENIENT_JSON)
    return value if isinstance(value, dict) else None


_SYSTEM_LINE = re.compile(r"^(\w+): (\{.*\})\s*$", re.MULTILINE)


def _logged_mapping_of(content: bytes) -> dict[str, Any] | None:
    """Return the object in `key: {"value": ..}` lines, as v0.6 has them, or None."""

    def mapping(text: Any) -> dict[str, Any]:
        try:
            return as_mapping(decode(text.encode()) if isinstance(text, str) else None)
        except ValueError:
            return {}

    # The value of `entry` is the text of a Python mapping, and its `nodes` are once more.
    lines = _SYSTEM_LINE.findall(content.decode("utf-8-sig", "replace"))
    fields = {key: mapping(body).get("value") for key, body in lines}
    entry = mapping(fields.pop("entry", None))
    nodes = mapping(entry.get("nodes"))
    return {**fields, **entry, "nodes": [nodes]} if nodes else None


def _system(fields: dict[str, Any]) -> System:
    """Return the system of a description, in the form of v0.5 if it has `nodes`."""
    if "nodes" in fields:
        descriptions = fields["nodes"] if isinstance(fields["nodes"], list) else []
        node = as_mapping(descriptions[0]) if descriptions else {}
        hardware = (fields.get("hardware"), node.get("accelerator"))
        nodes, per_node = node.get("num_nodes"), node.get("num_accelerators")
        division = fields.get("division")
    else:
        hardware = (fields.get("accelerator_model_name"), fields.get("system_name"))
        nodes, per_node = fields.get("number_of_nodes"), fields.get("accelerators_per_node")
        division = fields.get("division", fields.get("divison"))  # the slip of a whole round
    count, per_node_count = as_int(nodes), as_int(per_node)
    accelerators = as_int(count * per_node_count) if count and per_node_count else None
    name = _text(hardware[0]) or _text(hardware[1])
    return System(name, accelerators, count, _text(fields.get("framework")), _text(division))


def _text(value: Any) -> str | None:
    """Return a text or number as text, None if it says that there is none."""
    text = str(value).strip() if isinstance(value, str | int | float) else ""
    return text if text and text.lower() not in {"-", "n/a", "na", "none"} else None


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
                row = _decode(payload)
                events.append(_Event(row.key, as_float(row.time_ms), as_float(row.value)))
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
        right = bisect_left(times, moment)
        if right in {0, len(times)}:
            return readings[max(0, right - 1)][1]
        (t_left, p_left), (t_right, p_right) = readings[right - 1 : right + 1]
        return p_left + (p_right - p_left) * (moment - t_left) / (t_right - t_left)

    readings_between = readings[bisect_right(times, start) : bisect_left(times, stop)]
    points = [(start, power_at(start)), *readings_between, (stop, power_at(stop))]
    return sum((b_time - a_time) * (a + b) for (a_time, a), (b_time, b) in pairwise(points)) / 2
