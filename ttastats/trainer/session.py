"""How are several runs made, one after the other, each with its own log?"""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from ttastats.base.errors import TtastatsError
from ttastats.recording import result_files
from ttastats.recording.clock import Clock
from ttastats.recording.result_files import ResultFolder
from ttastats.recording.run_log import RunLog, SilentLog
from ttastats.trainer import dawnbench, events, hardware, workloads
from ttastats.trainer.events import Checkpoint, Outcome
from ttastats.trainer.interrupts import Interrupted, StopRequest, stop_on_signals
from ttastats.trainer.loop import train_run
from ttastats.trainer.network import set_numerics
from ttastats.trainer.parallel import Team, is_lost_worker, join_team
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


class Watcher:
    """Is told how the runs go; this one does nothing."""

    def on_begin(self, planned: Planned, number: int, count: int) -> None:
        """Handle the start of a run; `number` counts from 1."""

    def on_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Handle an evaluation."""

    def on_end(self, made: Made) -> None:
        """Handle the end of a run."""


def make_all(
    planned: Sequence[Planned], watcher: Watcher, *, write_dawnbench: bool = False
) -> list[Made]:
    """Make the runs in this process, which may be one worker of several."""
    made: list[Made] = []
    with (
        join_team(planned[0].settings.device) as workers,
        stop_on_signals(obey=workers.is_leader, alone=workers.size == 1) as stop,
    ):
        setup = planned[0].settings.setup_digest()
        for number, run in enumerate(planned, start=1):
            if run.settings.setup_digest() != setup:
                setup = run.settings.setup_digest()
                torch.compiler.reset()  # graphs of other setups count against the limit of graphs
            listener = watcher if workers.is_leader else Watcher()
            listener.on_begin(run, number, len(planned))
            done = _make_run(run, workers, stop, listener.on_checkpoint)
            if done is None:
                continue
            if write_dawnbench:
                dawnbench.write_entry(run.place, done.settings, done.log, done.outcome)
            watcher.on_end(done)
            made.append(done)
    return made


def _make_run(
    planned: Planned, workers: Team, stop: StopRequest, on_checkpoint: Callable[[Checkpoint], None]
) -> Made | None:
    """Return one finished run; None in workers other than the first."""
    settings = planned.settings
    if settings.threads:
        torch.set_num_threads(settings.threads)
    set_numerics(settings)
    workload = workloads.load_workload(settings.workload)
    on_gpu = workers.device.type == "cuda"
    clock = Clock(lambda: torch.cuda.synchronize(workers.device)) if on_gpu else Clock()
    gc.collect()  # what the last run left is not collected on the clock of this one
    if not workers.is_leader:
        train_run(workload, settings, workers, SilentLog(), clock, stop, on_checkpoint)
        return None
    result_files.write_description(
        planned.place, hardware.system_description(planned.place, settings)
    )
    path, stream = result_files.create_log(planned.place)
    log = RunLog(path, stream, clock)
    try:
        events.log_head(log, planned.place)
        outcome = train_run(workload, settings, workers, log, clock, stop, on_checkpoint)
        log.save()
    except Exception as error:
        log.save()
        if failure := _expected_failure(error, workers):
            what, remedy = failure
            raise TtastatsError(what, where=str(path), remedy=remedy) from error
        raise
    finally:
        log.close()
    return Made(settings, path, outcome)


def _expected_failure(error: Exception, workers: Team) -> tuple[str, str] | None:
    """Return what broke a run off and the advice; None for an error of the code."""
    if text := workers.failure_text():
        first, _, trace = text.partition("\n")
        return f"{first}: the run counts as failed", trace
    if isinstance(error, Interrupted):
        return (
            f"interrupted by {error.reason}; this is recorded in the log, and the run is left out",
            "The runs before it are complete. Run the same command again to resume.",
        )
    if is_lost_worker(error):
        return (
            "another worker was lost during the run, which counts as failed",
            "A worker may have run out of memory. Run the same command again to repeat the run; "
            "delete the log if the loss says nothing about the setup.",
        )
    return None
