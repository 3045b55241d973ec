"""How are several runs made, one after the other, each with its own log?"""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import torch

from ttastats.base.errors import TtastatsError
from ttastats.recording import result_files, system_file
from ttastats.recording.result_files import ResultFolder
from ttastats.recording.run_log import RunLog, SilentLog
from ttastats.trainer import dawnbench, events, hardware, workloads
from ttastats.trainer.clock import clock_of
from ttastats.trainer.interrupts import Interrupted, StopRequest, listening
from ttastats.trainer.loop import train
from ttastats.trainer.network import set_numerics
from ttastats.trainer.outcome import Checkpoint, Outcome
from ttastats.trainer.parallel import Team, lost, team
from ttastats.trainer.settings import Settings


@dataclass(frozen=True, slots=True)
class Planned:
    """A run to be made and where its log goes."""

    settings: Settings
    place: ResultFolder


@dataclass(frozen=True, slots=True)
class Made:
    """A run that has been made."""

    settings: Settings
    log: Path
    outcome: Outcome


class Watcher(Protocol):
    """Is told how the runs go."""

    def begins(self, planned: Planned, number: int, of: int) -> None:
        """Learn that a run begins; `number` counts from 1."""

    def checkpoint(self, checkpoint: Checkpoint) -> None:
        """Learn how good the network has become."""

    def ends(self, made: Made) -> None:
        """Learn how a run ended."""


class Nobody:
    """Watches nothing."""

    def begins(self, planned: Planned, number: int, of: int) -> None:
        """Ignore it."""

    def checkpoint(self, checkpoint: Checkpoint) -> None:
        """Ignore it."""

    def ends(self, made: Made) -> None:
        """Ignore it."""


def run_all(
    planned: Sequence[Planned], watcher: Watcher, *, write_dawnbench: bool = False
) -> list[Made]:
    """Make the runs in this process, which may be one worker of several.

    Raises
    ------
    TtastatsError
        A log could not be written, or somebody interrupted; the logs say how far each run came.
    """
    made: list[Made] = []
    with (
        team(planned[0].settings.device) as us,
        listening(obey=us.leads, alone=us.size == 1) as stop,
    ):
        setup = planned[0].settings.setup()
        for number, one in enumerate(planned, start=1):
            if one.settings.setup() != setup:
                setup = one.settings.setup()
                torch.compiler.reset()  # graphs of other setups count against the limit of graphs
            if us.leads:
                watcher.begins(one, number, len(planned))
            done = _run(one, us, stop, watcher.checkpoint if us.leads else _ignore)
            if done is None:
                continue
            if write_dawnbench:
                dawnbench.write(one.place, done.settings, done.log, done.outcome)
            watcher.ends(done)
            made.append(done)
    return made


def _run(
    planned: Planned, us: Team, stop: StopRequest, on_checkpoint: Callable[[Checkpoint], None]
) -> Made | None:
    """Make one run; only the worker that leads has something to tell of it."""
    settings = planned.settings
    if settings.threads:
        torch.set_num_threads(settings.threads)
    set_numerics(settings)
    workload = workloads.load(settings.workload)
    clock = clock_of(us.device)
    gc.collect()  # what the last run left is not collected on the clock of this one
    if not us.leads:
        train(workload, settings, us, SilentLog(), clock, stop, on_checkpoint)
        return None
    system_file.write(planned.place, hardware.description(planned.place, settings))
    path, stream = result_files.create(planned.place)
    log = RunLog(path, stream, clock)
    try:
        events.log_head(log, planned.place)
        outcome = train(workload, settings, us, log, clock, stop, on_checkpoint)
        log.save()
    except Exception as error:
        log.save()
        if said := us.failure():
            raise _worker_failed(said, path) from error
        if isinstance(error, Interrupted):
            raise _interrupted(error, path) from error
        if lost(error):
            raise _worker_lost(path) from error
        raise
    finally:
        log.close()
    return Made(settings, path, outcome)


def _interrupted(error: Interrupted, path: Path) -> TtastatsError:
    return TtastatsError(
        f"interrupted by {error.reason}; this is recorded in the log, and the run is left out",
        where=str(path),
        remedy="The runs before it are complete. Run the same command again to resume.",
    )


def _worker_lost(path: Path) -> TtastatsError:
    return TtastatsError(
        "another worker was lost during the run, which counts as failed",
        where=str(path),
        remedy="A worker may have run out of memory. Run the same command again to repeat the run; "
        "delete the log if the loss says nothing about the setup.",
    )


def _worker_failed(said: str, path: Path) -> TtastatsError:
    first, _, trace = said.partition("\n")
    return TtastatsError(f"{first}: the run counts as failed", where=str(path), remedy=trace)


def _ignore(_checkpoint: Checkpoint) -> None:
    pass
