"""Which runs does a command ask for, which are there, and have two setups enough of them?

A run is what it is made of: the text of its workload, all values of its recipe, its seed and its
device. What is complete on disk is not made again, nor a run that failed by an error of its own.
The order of runs, the looks at them and their verdict are those of a race (`ttastats.race`), whose
blocks are the seeds.
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
from ttastats.base.atomic import checked_folder_name, safe_file_name
from ttastats.base.errors import TtastatsError, raise_if
from ttastats.race import judge, outcome, plan
from ttastats.recording import run_log
from ttastats.recording.run_log import ResultFolder
from ttastats.report.answer import Report
from ttastats.sides import comparison
from ttastats.stats.multiplicity import FIRST_LOOK
from ttastats.trainer import hardware, parallel, session, workloads
from ttastats.trainer.loop import Interrupted
from ttastats.trainer.session import PlannedRun
from ttastats.trainer.settings import Overrides, Settings, complete_settings, setup_suffix
from ttastats.trainer.workloads.contract import Value

#: Why `run_stop` is written in a run that says nothing of its setup, and is made again.
_BROKEN_OFF = frozenset({None, "KeyboardInterrupt", "SIGINT", "SIGTERM", "worker_lost"})
#: Why `run_stop` is written in a run that nobody stopped and nothing ended.
_FINISHED = frozenset({"target", "epochs"})


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

    runs: tuple[PlannedRun, ...]
    missing: tuple[PlannedRun, ...]
    setups: Mapping[str, ResultFolder]


def plan_runs(
    request: Request,
    options: Overrides,
    seeds: Sequence[int],
    grid: Mapping[str, Sequence[Value]] | None = None,
    dropouts: Mapping[str, int] | None = None,
) -> Plan:
    """Return the runs of a grid (values by name in the recipe), all checked before any begins.

    `dropouts` gives the first seed without a run of a setup.
    """
    workload = workloads.load_workload(request.workload)
    metric = workload.recipe.metric
    message = f"DAWNBench tables hold accuracies, not {metric}"
    remedy = "Remove the option; the log contains all metrics."
    raise_if(request.dawnbench and metric != "accuracy", message, "--dawnbench", remedy)
    grid = {name: values for name, values in (grid or {}).items() if values}
    setups = {}
    for values in product(*grid.values()):
        setup_values = dict(zip(grid, values, strict=True))
        varied = [f"{name} {value}" for name, value in setup_values.items() if len(grid[name]) > 1]
        name = ", ".join(varied) or "the only setup"
        setups[name] = _runs_of_setup(request, options, setup_values, seeds)
    digests = {planned[0].settings.setup_digest() for planned in setups.values()}
    twice = len(digests) < math.prod(len(values) for values in grid.values())
    raise_if(twice, "two setups of the grid are identical", remedy="Give each value once.")
    for planned in setups.values():
        settings = planned[0].settings
        folder = Path(settings.data) if settings.data else None
        with workloads.mistakes_located(request.workload):
            workload.check(folder, **settings.hook_arguments())
    numbers = {seed: number for number, seed in enumerate(seeds)}
    order = plan.runs_in_order([*setups], seeds, 0, dropouts)
    runs = [setups[key.setup][numbers[key.block]] for key in order]
    pending = tuple(run for run in runs if not _is_complete(run))
    return Plan(tuple(runs), pending, {name: planned[0].folder for name, planned in setups.items()})


def make_runs(planned: Sequence[PlannedRun], *, keep_going: bool = False) -> list[str]:
    """Make the planned runs in order, in this process or in workers; return the failures.

    An error ends that, or with `keep_going` the run alone, unless it is an interruption.
    """
    failures: list[str] = []
    for workers, alike in groupby(planned, key=lambda run: run.settings.workers):
        runs = list(alike)
        while runs:
            try:
                if workers == 1 or parallel.is_worker():
                    _make_here(runs)
                else:
                    parallel.run_workers(workers, _make_here, runs)
                break
            except Exception as error:
                pending = [run for run in runs if not _is_complete(run)]
                # Now and then gloo aborts a worker that has finished: the logs tell what was done.
                finished = all(_end_reasons(run) & _FINISHED for run in runs)
                if workers > 1 and finished and isinstance(error, TtastatsError):
                    break
                if not keep_going or isinstance(error.__cause__, Interrupted):
                    raise
                is_ours = isinstance(error, TtastatsError)
                text = str(error) if is_ours else f"{type(error).__name__}: {error}"
                failures.append(text.partition("\n")[0])
                # Of a run that failed before its log began, nothing is left that says so.
                runs = pending if len(pending) < len(runs) else pending[1:]
    return failures


def _make_here(planned: list[PlannedRun]) -> None:
    with session.progress_watcher() as watcher:
        session.make_all(planned, watcher)


def is_leader() -> bool:
    """Return whether this process is the first worker, the one that writes output."""
    return parallel.rank() == 0


def _runs_of_setup(
    request: Request, options: Overrides, setup_values: Mapping[str, Value], seeds: Sequence[int]
) -> list[PlannedRun]:
    """Return the planned runs of one setup.

    A detected system, or one that a sweep varies, is named by what differs from the recipe as well.
    """
    workload = workloads.load_workload(request.workload)
    values = {**options.values, **setup_values}
    if parallel.is_worker():
        workers, started = values.get("workers", 1), parallel.world_size()
        message = f"torchrun started {started} workers, not {workers}"
        raise_if(
            workers not in {1, started}, message, "--workers", "Remove the option under torchrun."
        )
        values["workers"] = started
    options = replace(options, values=values)
    settings = [complete_settings(options, request.workload, seed) for seed in seeds]
    suffix = setup_suffix(options, settings[0])
    system = checked_folder_name(
        request.system or hardware.default_system(settings[0].device), "--system"
    )
    folder = ResultFolder(
        request.root,
        checked_folder_name(request.org, "--org"),
        safe_file_name(system + (suffix if setup_values or not request.system else "")),
        checked_folder_name(workload.name, "workload"),
    )
    setup = settings[0].setup_digest()
    # Where runs of another setup lie, such as those of a file before a change, a name of its own.
    if any(logged is None or logged.setup_digest() != setup for logged, _ in _read_logs(folder)):
        folder = dataclasses.replace(folder, system=f"{folder.system}-{setup[:7]}")
    return [PlannedRun(of_seed, folder, request.dawnbench) for of_seed in settings]


def _is_complete(run: PlannedRun) -> bool:
    return not _end_reasons(run) <= _BROKEN_OFF


def _end_reasons(run: PlannedRun) -> set[str | None]:
    """Return why the logs of a run say that it ended; None is in it for one that does not say."""
    identity = run.settings.identifying_values()
    return {
        reason
        for settings, reason in _read_logs(run.folder)
        if settings is not None and settings.identifying_values() == identity
    }


def _read_logs(folder: ResultFolder) -> Iterator[tuple[Settings | None, str | None]]:
    """Yield the settings and the end reason of each log in a folder whose run has begun."""
    for path in folder.results.glob("result_*.txt"):
        is_log = run_log.log_number(path) is not None
        if is_log and (entry := _read_log(path, path.stat().st_size)):
            yield entry


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


#: Return the table of all logs, with runs of so many seeds by setup; the other argument gives the
#: seeds of setups that dropped out.
TableMaker = Callable[[int, Mapping[str, int]], pl.DataFrame]


class Decided(Struct, frozen=True):
    """The last look: its answer, and the outcome of the plan in words."""

    report: Report
    remark: str


def expect_plan(setups: Sequence[str], max_runs: int) -> None:
    """Raise an error for requests that no plan of looks can follow."""
    comparison.check_plan(max_runs)
    values = "Give one option two values, such as --batch-size 32,512."
    raise_if(len(setups) < 2, "--until-decided compares two setups or more", None, values)
    message = "--until-decided does not run under torchrun"
    raise_if(parallel.is_worker(), message, None, "Use --workers instead.")


def run_until_decided(
    make_table: TableMaker, setups: Mapping[str, str], seed: int, max_runs: int
) -> Decided:
    """Add a run to each setup after every look, until the race of them is over."""
    names = {system: name for name, system in setups.items()}
    rules, standing, n = judge.Rules(max_runs), judge.before_any([*setups]), FIRST_LOOK
    while True:
        table = make_table(n, standing.left).filter(pl.col("seed").is_between(seed, seed + n - 1))
        setup = pl.col("system").replace_strict(names, default=None)
        runs = api.run_table(table).with_columns(entry=setup).drop_nulls("entry")
        standing = judge.judge(runs, rules, standing, n)
        if standing.ended:
            report = outcome.final_report(runs, standing, rules, seed)
            return Decided(report, outcome.end_text(standing, rules, runs))
        n += 1
