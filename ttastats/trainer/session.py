"""How are several runs made, one after the other, each with its own log?"""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import torch

from ttastats import result_files, system_file
from ttastats.clock import Seconds
from ttastats.errors import TtastatsError
from ttastats.result_files import Place
from ttastats.run_log import RunLog, SilentLog
from ttastats.trainer import dawnbench, event_lines, events, machine, workloads
from ttastats.trainer.clock import clock_of
from ttastats.trainer.interrupts import Interrupted, StopRequest, listening
from ttastats.trainer.loop import train
from ttastats.trainer.outcome import Epoch, Outcome
from ttastats.trainer.parallel import Team, team
from ttastats.trainer.settings import Settings


@dataclass(frozen=True, slots=True)
class Planned:
    """A run to be made and where its log goes."""

    settings: Settings
    place: Place


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

    def epoch(self, epoch: Epoch) -> None:
        """Learn how an epoch ended."""

    def ends(self, made: Made) -> None:
        """Learn how a run ended."""


class Nobody:
    """Watches nothing."""

    def begins(self, planned: Planned, number: int, of: int) -> None:
        """Ignore it."""

    def epoch(self, epoch: Epoch) -> None:
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
    with team(planned[0].settings.device) as us, listening(obey=us.leads) as stop:
        for number, one in enumerate(planned, start=1):
            if us.leads:
                watcher.begins(one, number, len(planned))
            done = _run(one, us, stop, watcher.epoch if us.leads else _ignore)
            if done is None:
                continue
            if write_dawnbench:
                dawnbench.write(one.place, done.settings, done.log, done.outcome)
            watcher.ends(done)
            made.append(done)
    return made


def _run(
    planned: Planned, us: Team, stop: StopRequest, on_epoch: Callable[[Epoch], None]
) -> Made | None:
    """Make one run; only the worker that leads has something to tell of it."""
    settings = planned.settings
    if settings.threads is not None:
        torch.set_num_threads(settings.threads)
    workload = workloads.load(settings.workload)
    clock = clock_of(us.device)
    gc.collect()  # what the last run left is not collected on the clock of this one
    if not us.leads:
        train(workload, settings, us, SilentLog(), clock, stop, on_epoch)
        return None
    system_file.write(planned.place, machine.description(planned.place, settings))
    path, stream = result_files.create(planned.place)
    log = RunLog(path, stream, clock, event_lines.writer(stream))
    try:
        events.log_head(
            log,
            benchmark=workload.name,
            org=planned.place.org,
            system=planned.place.system,
        )
        outcome = train(workload, settings, us, log, clock, stop, on_epoch)
        log.save()
    except Interrupted as error:
        log.save()
        raise _interrupted(error, path, begun=clock.started is not None) from error
    except RuntimeError as error:
        if us.size > 1 and "connection" in str(error).lower():
            raise _worker_lost(path) from error
        raise
    finally:
        log.close()
    return Made(settings, path, outcome)


def _interrupted(error: Interrupted, path: Path, *, begun: bool) -> TtastatsError:
    how = "the log ends with run_stop aborted and counts" if begun else "the run had not begun"
    return TtastatsError(
        f"interrupted by {error.reason}: {how}",
        where=str(path),
        remedy="The runs before it are complete. `ttastats sweep` goes on where it was stopped.",
    )


def _worker_lost(path: Path) -> TtastatsError:
    return TtastatsError(
        "another worker was lost in the middle of the run",
        where=str(path),
        remedy="The log ends with run_stop aborted and counts. Was a worker killed for memory?",
    )


def _ignore(_epoch: Epoch) -> None:
    pass


def made_as_plain(made: Made) -> dict[str, Any]:
    """Give a finished run as plain values, to be sent from one process to another."""
    return {
        "settings": made.settings.as_dict(),
        "log": str(made.log),
        "outcome": asdict(made.outcome),
    }


def made_from_plain(plain: dict[str, Any]) -> Made:
    """Give the run that `made_as_plain` gave as plain values."""
    outcome = dict(plain["outcome"])
    epochs = tuple(
        Epoch(
            **{
                **epoch,
                "training": Seconds(**epoch["training"]),
                "evaluation": Seconds(**epoch["evaluation"]),
            }
        )
        for epoch in outcome.pop("epochs")
    )
    run, notes = Seconds(**outcome.pop("run")), tuple(outcome.pop("notes"))
    return Made(
        Settings(**plain["settings"]),
        Path(plain["log"]),
        Outcome(epochs=epochs, run=run, notes=notes, **outcome),
    )
