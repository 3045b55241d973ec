"""Which runs does a command ask for, and who makes them: this process or several workers?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

from ttastats.errors import TtastatsError
from ttastats.file_names import own_name
from ttastats.result_files import Place
from ttastats.trainer import dawnbench, hardware, launch, parallel, progress, session, workloads
from ttastats.trainer.session import Made, Planned
from ttastats.trainer.settings import Options, settings_of, setup_suffix


@dataclass(frozen=True, slots=True)
class Request:
    """What to train and where to write; `system` None names the machine as detected.

    `dawnbench` asks for DAWNBench files beside the logs.
    """

    workload: str
    root: Path
    org: str
    system: str | None
    dawnbench: bool = False


def plan(request: Request, options: Options, seeds: Iterable[int]) -> list[Planned]:
    """Give one run per seed, every one of them checked before the first begins.

    A system that the user named keeps its name; a detected one also says what differs from the
    recipe, so that different setups do not end up as one entry.

    Raises
    ------
    TtastatsError
        The options contradict each other, or a name cannot be a folder.
    """
    workload = workloads.load(request.workload)
    if request.dawnbench:
        dawnbench.check(workload.recipe)
    workload.check(Path(options.data) if options.data else None)
    options = replace(options, workers=_workers(options.workers))
    planned = []
    for seed in seeds:
        settings = settings_of(options, workload, request.workload, seed)
        system = request.system or (
            hardware.default_system(settings.device) + setup_suffix(settings, workload)
        )
        place = Place(
            request.root,
            own_name(request.org, "--org"),
            own_name(system, "--system"),
            own_name(workload.name, "workload"),
        )
        planned.append(Planned(settings, place))
    return planned


def make(planned: Sequence[Planned], *, write_dawnbench: bool = False) -> list[Made]:
    """Make the runs in their order; workers beside the first give nothing.

    Raises
    ------
    TtastatsError
        A log could not be written, a worker died, or somebody interrupted.
    """
    made: list[Made] = []
    for workers, some in groupby(planned, key=lambda one: one.settings.workers):
        if workers > 1 and not parallel.started_by_torchrun():
            made += launch.run_with_workers(list(some), write_dawnbench=write_dawnbench)
            continue
        with progress.watcher() as watcher:
            made += session.run_all(list(some), watcher, write_dawnbench=write_dawnbench)
    return made


def leads() -> bool:
    """Tell whether this process speaks for all workers."""
    return parallel.rank() == 0


def _workers(asked: int) -> int:
    if not parallel.started_by_torchrun():
        return asked
    there = parallel.world_size()
    if asked not in {1, there}:
        raise TtastatsError(
            f"torchrun started {there} workers, not {asked}",
            where="--workers",
            remedy="Leave the option out under torchrun.",
        )
    return there
