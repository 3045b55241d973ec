"""Which runs does a command ask for, which are there, and have two setups enough of them?

A run is what it is made of: the text of its workload, all values of its recipe, its seed and its
device. What is complete on disk is not made again. The runs of several setups take turns, seed by
seed, and no setup always comes first: a machine that grows slower is equally unfair to all.

The looks are those of a plan (`stats.sequential`), each at the first seeds of both setups. A
verdict that holds only if epochs are constant ends no plan: further runs show if they are.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import groupby, product
from pathlib import Path
from typing import Any

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from ttastats import api
from ttastats.answers.compare.rows import LookKeys, TimesRow
from ttastats.base import units
from ttastats.base.atomic import checked_folder_name, safe_file_name
from ttastats.base.errors import TtastatsError, raise_if
from ttastats.recording import run_log
from ttastats.recording.run_log import ResultFolder
from ttastats.report.answer import Report
from ttastats.report.row import expect_kind
from ttastats.sides import comparison
from ttastats.sides.options import CONFIDENCE, POWER, Options
from ttastats.stats.multiplicity import FIRST_LOOK
from ttastats.stats.power import runs_needed
from ttastats.stats.results import Verdict
from ttastats.trainer import hardware, parallel, session, workloads
from ttastats.trainer.session import Planned
from ttastats.trainer.settings import Overrides, Settings, complete_settings, setup_suffix
from ttastats.trainer.workloads.contract import Value

#: Why `run_stop` is written in a run that nobody stopped.
_COMPLETE = frozenset({"target", "epochs"})


class Request(Struct, frozen=True):
    """What to train and where to write; `system` None is the machine as detected.

    `dawnbench` asks for DAWNBench files beside the logs.
    """

    workload: str
    root: Path
    org: str
    system: str | None
    dawnbench: bool = False


class Plan(Struct, frozen=True):
    """All runs of a command in their order; `missing` are those not complete on disk.

    `setups` are the places of the setups by their names for people, the baseline first.
    """

    runs: tuple[Planned, ...]
    missing: tuple[Planned, ...]
    setups: Mapping[str, ResultFolder]


def plan_runs(
    request: Request,
    options: Overrides,
    seeds: Sequence[int],
    grid: Mapping[str, Sequence[Value]] | None = None,
) -> Plan:
    """Return the runs of a grid (values by name in the recipe), all checked before any begins."""
    workload = workloads.load_workload(request.workload)
    metric = workload.recipe.metric
    other = f"DAWNBench tables hold accuracies, not {metric}"
    remedy = "Remove the option; the log contains all metrics."
    raise_if(request.dawnbench and metric != "accuracy", other, "--dawnbench", remedy)
    grid = {name: values for name, values in (grid or {}).items() if values}
    setups = {}
    for values in product(*grid.values()):
        chosen = dict(zip(grid, values, strict=True))
        varied = [f"{name} {value}" for name, value in chosen.items() if len(grid[name]) > 1]
        name = ", ".join(varied) or "the only setup"
        setups[name] = _runs_of_setup(request, options, chosen, seeds)
    digests = {planned[0].settings.setup_digest() for planned in setups.values()}
    twice = len(digests) < math.prod(len(values) for values in grid.values())
    raise_if(twice, "two setups of the grid are identical", remedy="Give each value once.")
    for planned in setups.values():
        settings = planned[0].settings
        folder = Path(settings.data) if settings.data else None
        with workloads.mistakes_located(request.workload):
            workload.check(folder, **settings.hook_arguments())
    runs: list[Planned] = []  # by seed, starting with another setup at each
    for number, of_seed in enumerate(zip(*setups.values(), strict=True)):
        first = number % len(of_seed)
        runs += of_seed[first:] + of_seed[:first]
    missing = tuple(run for run in runs if not _is_complete(run))
    return Plan(tuple(runs), missing, {name: planned[0].place for name, planned in setups.items()})


def make_runs(planned: Sequence[Planned]) -> None:
    """Make the planned runs in order, in this process or in workers."""
    for workers, alike in groupby(planned, key=lambda run: run.settings.workers):
        runs = list(alike)
        if workers == 1 or parallel.is_worker():
            _make_here(runs)
            continue
        try:
            parallel.run_workers(workers, _make_here, runs)
        except TtastatsError:
            # Now and then gloo aborts a worker that has finished: the logs tell what was done.
            if not all(map(_is_complete, runs)):
                raise


def _make_here(planned: list[Planned]) -> None:
    with session.progress_watcher() as watcher:
        session.make_all(planned, watcher)


def is_leader() -> bool:
    """Return whether this process is the first worker, the one that writes output."""
    return parallel.rank() == 0


def _runs_of_setup(
    request: Request, options: Overrides, chosen: Mapping[str, Value], seeds: Sequence[int]
) -> list[Planned]:
    """Return the planned runs of one setup.

    A detected system, or one that a sweep varies, is named by what differs from the recipe as well.
    """
    workload = workloads.load_workload(request.workload)
    values = {**options.values, **chosen}
    if parallel.is_worker():
        workers, started = values.get("workers", 1), parallel.world_size()
        other = f"torchrun started {started} workers, not {workers}"
        raise_if(
            workers not in {1, started}, other, "--workers", "Remove the option under torchrun."
        )
        values["workers"] = started
    options = replace(options, values=values)
    settings = [complete_settings(options, request.workload, seed) for seed in seeds]
    suffix = setup_suffix(options, settings[0])
    system = checked_folder_name(
        request.system or hardware.default_system(settings[0].device), "--system"
    )
    place = ResultFolder(
        request.root,
        checked_folder_name(request.org, "--org"),
        safe_file_name(system + (suffix if chosen or not request.system else "")),
        checked_folder_name(workload.name, "workload"),
    )
    setup = settings[0].setup_digest()
    # Where runs of another setup lie, such as those of a file before a change, a name of its own.
    if any(logged is None or logged.setup_digest() != setup for logged, _ in _read_logs(place)):
        place = dataclasses.replace(place, system=f"{place.system}-{setup[:7]}")
    return [Planned(of_seed, place, request.dawnbench) for of_seed in settings]


def _is_complete(run: Planned) -> bool:
    identity = run.settings.identifying_values()
    return any(
        settings is not None and settings.identifying_values() == identity and reason in _COMPLETE
        for settings, reason in _read_logs(run.place)
    )


def _read_logs(place: ResultFolder) -> Iterator[tuple[Settings | None, str | None]]:
    """Yield the settings and the end reason of each log in a folder whose run has begun."""
    for path in place.results.glob("result_*.txt"):
        is_log = run_log.log_number(path) is not None
        if is_log and (read := _read_log(path, path.stat().st_size)):
            yield read


@cache
def _read_log(path: Path, _size: int) -> tuple[Settings | None, str | None] | None:
    """Return the settings of a log if by this version, and its end reason; None if none began."""
    text = path.read_text("utf-8", "replace")
    events = {str(event.get("key")): event for event in run_log.read_events(text)}
    if "run_start" not in events:
        return None
    values: Any = events.get("settings", {}).get("value")
    is_known = isinstance(values, dict) and values.keys() == set(Settings.__struct_fields__)
    reason = events["run_stop"]["metadata"].get("reason") if "run_stop" in events else None
    return Settings(**values) if is_known else None, reason


#: Gives the table of all logs, once both setups have runs of so many seeds.
Made = Callable[[int], pl.DataFrame]


class Decided(Struct, frozen=True):
    """The last look: its answer, and in words what came of the plan."""

    report: Report
    remark: str


def expect_two_setups(setups: Sequence[str], max_runs: int) -> None:
    """Raise an error for requests that no plan of looks can follow."""
    comparison.check_plan(max_runs)
    pair = f"--until-decided compares two setups, not {len(setups)}"
    values = "Give one option two values, such as --batch-size 32,512."
    raise_if(len(setups) != 2, pair, None, values)
    alone = "--until-decided does not run under torchrun"
    raise_if(parallel.is_worker(), alone, None, "Use --workers instead.")


def run_until_decided(made: Made, setups: Mapping[str, str], seed: int, max_runs: int) -> Decided:
    """Add a run to each setup after every undecided look; return the decision."""
    n = FIRST_LOOK
    while True:
        table = made(n).filter(pl.col("seed").is_between(seed, seed + n - 1))
        sides = [table.filter(pl.col("system") == system) for system in setups.values()]
        report = api.compare(*sides, labels=list(setups), options=Options(max_runs=max_runs))
        (row,) = expect_kind(report.records, TimesRow)
        if not isinstance(row.look, LookKeys) or row.look.look is None:
            remark = f"stopped after {n} runs per side: the plan does not cover these runs"
            return Decided(report, remark)
        undecided = row.verdict == Verdict.UNDECIDED or row.dagger
        if n == max_runs or not undecided:
            outcome = f"{'undecided' if undecided else 'decided'} after {n} runs per side"
            remark = f"{outcome}, of at most {max_runs}; {_fixed_plan_runs(row)}"
            return Decided(report, remark)
        n += 1


def _fixed_plan_runs(row: TimesRow) -> str:
    """Return how many runs a plan without looks would have needed."""
    cv = (((row.cv_a or 0.0) ** 2 + (row.cv_b or 0.0) ** 2) / 2) ** 0.5
    needed = runs_needed(row.speedup or 1.0, cv, power=POWER, alpha=1 - CONFIDENCE)
    if needed is None:
        return "no fixed number of runs detects a difference of 0"
    ratio = units.factor(row.speedup or 1.0)
    return f"with a fixed number, {ratio} would have needed {needed:,} (80% power)"
