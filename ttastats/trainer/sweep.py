"""What do a few settings do to throughput and to time-to-accuracy? A grid of runs, and Table 7.

The runs of the grid take turns, seed by seed, and no setup always comes first: a machine that
grows slower in the course of the sweep is equally unfair to all. What is complete on disk is not
run again; a log that breaks off stays, and counts as a run that did not reach its target.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ttastats import mllog, result_files
from ttastats.errors import TtastatsError
from ttastats.result_files import Place
from ttastats.trainer import experiment, hardware, workloads
from ttastats.trainer.experiment import Request
from ttastats.trainer.session import Planned
from ttastats.trainer.settings import Options, Settings, settings_of, setup_suffix

#: Why `run_stop` is written in a run that nobody stopped.
_COMPLETE = frozenset({"target", "epochs"})


@dataclass(frozen=True, slots=True)
class Plan:
    """All runs of a sweep in their order; `missing` are those not complete on disk.

    `setups` are the names of the setups for people with their places, the baseline first.
    """

    runs: tuple[Planned, ...]
    missing: tuple[Planned, ...]
    setups: Mapping[str, Place]


def plan(
    request: Request, options: Options, grid: Mapping[str, Sequence[Any]], seeds: Sequence[int]
) -> Plan:
    """Give the runs of a grid.

    Parameters
    ----------
    grid
        Values by the name of an option; an option without values is as in `options`.

    Raises
    ------
    TtastatsError
        A combination is impossible, or two are the same.
    """
    setups = {
        _name(chosen, grid): _planned(request, replace(options, **chosen), seeds)
        for chosen in _combinations(grid)
    }
    places = {name: runs[0].place for name, runs in setups.items()}
    if len(set(places.values())) < math.prod(len(values) for values in grid.values() if values):
        raise TtastatsError("two setups of the grid are the same", remedy="Name each value once.")
    runs = tuple(_in_turns(list(setups.values())))
    done = {place: [_settings(log) for log in complete_logs(place)] for place in places.values()}
    missing = tuple(one for one in runs if one.settings.as_dict() not in done[one.place])
    return Plan(runs, missing, places)


def complete_logs(place: Place) -> list[Path]:
    """Give the logs of runs that ended by themselves, at the target or at the last epoch."""
    return [
        path
        for path in result_files.existing(place)
        if any(
            event.get("key") == "run_stop" and event["metadata"].get("reason") in _COMPLETE
            for event in mllog.events(path.read_text("utf-8", "replace"))
        )
    ]


def _planned(request: Request, options: Options, seeds: Sequence[int]) -> list[Planned]:
    """Give the runs of one setup; its name always says what differs from the recipe."""
    workload = workloads.load(request.workload)
    first = settings_of(options, workload, request.workload, seeds[0])
    system = request.system or hardware.default_system(first.device)
    named = replace(request, system=system + setup_suffix(first, workload))
    return experiment.plan(named, options, seeds)


def _combinations(grid: Mapping[str, Sequence[Any]]) -> Iterator[dict[str, Any]]:
    named = {name: values for name, values in grid.items() if values}
    for values in itertools.product(*named.values()):
        yield dict(zip(named, values, strict=True))


def _name(chosen: Mapping[str, Any], grid: Mapping[str, Sequence[Any]]) -> str:
    """Give what is particular about a setup, such as `batch_size 512`."""
    varied = {name: value for name, value in chosen.items() if len(grid[name]) > 1}
    return ", ".join(f"{name} {value}" for name, value in varied.items()) or "the only setup"


def _in_turns(setups: Sequence[Sequence[Planned]]) -> Iterator[Planned]:
    """Give run after run of all setups, beginning with another setup at each seed."""
    for number, runs in enumerate(zip(*setups, strict=True)):
        first = number % len(runs)
        yield from runs[first:] + runs[:first]


def _settings(path: Path) -> dict[str, Any] | None:
    """Give the settings a log names, as far as it is of this version of the trainer."""
    named = (
        event["value"]
        for event in mllog.events(path.read_text("utf-8", "replace"))
        if event.get("key") == "settings"
    )
    found = next(named, None)
    known = set(Settings.__dataclass_fields__)
    return found if isinstance(found, dict) and found.keys() == known else None
