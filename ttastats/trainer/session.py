"""How are several runs made, one after the other, each with its own log?"""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import torch

from ttastats.base.errors import TtastatsError
from ttastats.recording import result_files
from ttastats.recording.clock import Clock
from ttastats.recording.result_files import ResultFolder
from ttastats.recording.run_log import RunLog, SilentLog
from ttastats.trainer import dawnbench, events, hardware, workloads
from ttastats.trainer.events import Checkpoint, Outcome
from ttastats.trainer.interrupts import Interrupted, StopRequest, listening
from ttastats.trainer.loop import train
from ttastats.trainer.network import set_numerics
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

    def begins(self, planned: Planned, number: int, count: int) -> None:
        """Learn that a run begins; `number` counts from 1."""

    def checkpoint(self, checkpoint: Checkpoint) -> None:
        """Learn how good the network has become."""

    def ends(self, made: Made) -> None:
        """Learn how a run ended."""


class Nobody:
    """Watches nothing."""

    def begins(self, planned: Planned, number: int, count: int) -> None:
        """Ignore it."""

    def checkpoint(self, checkpoint: Checkpoint) -> None:
        """Ignore it."""

    def ends(self, made: Made) -> None:
        """Ignore it."""


def run_all(
    planned: Sequence[Planned], watcher: Watcher, *, write_dawnbench: bool = False
) -> list[Made]:
    """Make the runs in this process, which may be one worker of several."""
    made: list[Made] = []
    with (
        team(planned[0].settings.device) as workers,
        listening(obey=workers.leads, alone=workers.size == 1) as stop,
    ):
        setup = planned[0].settings.setup()
        for number, run in enumerate(planned, start=1):
            if run.settings.setup() != setup:
                setup = run.settings.setup()
                torch.compiler.reset()  # graphs of other setups count against the limit of graphs
            listener = watcher if workers.leads else Nobody()
            listener.begins(run, number, len(planned))
            done = _run(run, workers, stop, listener.checkpoint)
            if done is None:
                continue
            if write_dawnbench:
                dawnbench.write(run.place, done.settings, done.log, done.outcome)
            watcher.ends(done)
            made.append(done)
    return made


def _run(
    planned: Planned, workers: Team, stop: StopRequest, on_checkpoint: Callable[[Checkpoint], None]
) -> Made | None:
    """Make one run; only the worker that leads has something to tell of it."""
    settings = planned.settings
    if settings.threads:
        torch.set_num_threads(settings.threads)
    set_numerics(settings)
    workload = workloads.load(settings.workload)
    on_gpu = workers.device.type == "cuda"
    clock = Clock(lambda: torch.cuda.synchronize(workers.device)) if on_gpu else Clock()
    gc.collect()  # what the last run left is not collected on the clock of this one
    if not workers.leads:
        train(workload, settings, workers, SilentLog(), clock, stop, on_checkpoint)
        return None
    result_files.write_description(planned.place, hardware.description(planned.place, settings))
    path, stream = result_files.create_log(planned.place)
    log = RunLog(path, stream, clock)
    try:
        events.log_head(log, planned.place)
        outcome = train(workload, settings, workers, log, clock, stop, on_checkpoint)
        log.save()
    except Exception as error:
        log.save()
        if failure := _failure(error, workers):
            what, remedy = failure
            raise TtastatsError(what, where=str(path), remedy=remedy) from error
        raise
    finally:
        log.close()
    return Made(settings, path, outcome)


def _failure(error: Exception, workers: Team) -> tuple[str, str] | None:
    """Return what broke a run off and what to do; nothing for an error of the code."""
    if text := workers.failure():
        first, _, trace = text.partition("\n")
        return f"{first}: the run counts as failed", trace
    if isinstance(error, Interrupted):
        return (
            f"interrupted by {error.reason}; this is recorded in the log, and the run is left out",
            "The runs before it are complete. Run the same command again to resume.",
        )
    if lost(error):
        return (
            "another worker was lost during the run, which counts as failed",
            "A worker may have run out of memory. Run the same command again to repeat the run; "
            "delete the log if the loss says nothing about the setup.",
        )
    return None
