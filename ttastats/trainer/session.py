"""How are several runs made one after the other, each with its own log and a terminal line?"""

from __future__ import annotations

import gc
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import torch
from msgspec import Struct
from rich.console import Console
from rich.progress import Progress, TextColumn

from ttastats.base.errors import TtastatsError
from ttastats.recording import run_log
from ttastats.recording.run_log import Clock, ResultFolder, RunLog, SilentLog, SystemDiffers
from ttastats.trainer import events, hardware, workloads
from ttastats.trainer.events import Checkpoint, Outcome
from ttastats.trainer.loop import Interrupted, Oddity, StopRequest, stop_on_signals, train_run
from ttastats.trainer.network import set_numerics
from ttastats.trainer.parallel import Team, is_lost_worker, join_team
from ttastats.trainer.settings import Settings

#: Warnings that say all, without the line of the trainer's code.
_OF_A_RUN = (SystemDiffers, Oddity)


class PlannedRun(Struct, frozen=True):
    """A run and the folder of its log; `dawnbench` asks for DAWNBench files beside it."""

    settings: Settings
    folder: ResultFolder
    dawnbench: bool = False


class FinishedRun(Struct, frozen=True):
    """A run with its log and outcome."""

    settings: Settings
    log: Path
    outcome: Outcome


class Watcher:
    """Draws one line that follows the run, and one that stays for each run made."""

    def __init__(self, bar: Progress | None = None) -> None:
        self._bar = bar or Progress(console=Console(quiet=True), disable=True)
        self._task = self._bar.add_task("setting up", total=None, state="")
        self._folder: ResultFolder | None = None

    def on_begin(self, planned: PlannedRun, number: int, count: int) -> None:
        """Draw an empty progress line for a run; `number` counts from 1."""
        if self._folder != planned.folder:
            self._bar.console.print(planned.folder.system, highlight=False, style="bold")
        self._folder, self._settings = planned.folder, planned.settings
        self._run = f"run {number}/{count} seed {planned.settings.seed}"
        epochs = planned.settings.epochs
        self._bar.reset(self._task, total=epochs, description=self._run, state="warming up")

    def on_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Draw the progress of the run and its latest quality."""
        settings, quality = self._settings, checkpoint.quality
        recipe = workloads.load_workload(settings.workload).recipe
        gap = f"{abs(settings.target - quality):.4f} to go"
        reached = recipe.target(settings.target).is_met_by(quality)
        distance = "target reached" if reached else gap
        state = (
            f"epoch {checkpoint.epoch:g}/{settings.epochs:g} {recipe.metric} {quality:.4f} "
            f"{checkpoint.known_at.wall:.1f} s, {distance}"
        )
        self._bar.update(self._task, completed=checkpoint.epoch, state=state)

    def on_end(self, run: FinishedRun) -> None:
        """Replace the progress line by one with the result."""
        outcome, last = run.outcome, run.outcome.checkpoints[-1]
        how = "reached" if outcome.reached else "NOT reached"
        line = (
            f"{self._run}: {run.settings.target:g} {how}, {last.epoch:g} epochs, "
            f"{last.quality:.4f}, {outcome.run.wall:.2f} s ({outcome.run.cpu:.2f} s CPU)"
        )
        self._bar.console.print(line, highlight=False)


@contextmanager
def progress_watcher() -> Iterator[Watcher]:
    """Yield a watcher that draws progress if this is a terminal; print warnings at the end."""
    console = Console(stderr=True)
    with warnings.catch_warnings(record=True) as caught:
        for category in _OF_A_RUN:
            warnings.simplefilter("always", category)
        if console.is_terminal:
            line = TextColumn("{task.description}  {task.fields[state]}")
            with Progress(line, console=console, transient=True) as bar:
                yield Watcher(bar)
        else:
            yield Watcher()
    messages = (
        f"warning: {caution.message}"
        if issubclass(caution.category, _OF_A_RUN)
        else warnings.formatwarning(
            caution.message, caution.category, caution.filename, caution.lineno
        ).rstrip()
        for caution in caught
    )
    for message in dict.fromkeys(messages):
        sys.stderr.write(f"{message}\n")


def make_all(planned: Sequence[PlannedRun], watcher: Watcher) -> list[FinishedRun]:
    """Make the runs in this process, which may be one worker of several."""
    finished: list[FinishedRun] = []
    with (
        join_team(planned[0].settings.device) as workers,
        stop_on_signals(obey=workers.is_leader, alone=workers.size == 1) as stop,
    ):
        listener = watcher if workers.is_leader else Watcher()
        workload = workloads.load_workload(planned[0].settings.workload)
        for text in workload.unused if workers.is_leader else ():
            warnings.warn(f"{workload.file}: {text}", Oddity, stacklevel=2)
        setup = planned[0].settings.setup_digest()
        for number, run in enumerate(planned, start=1):
            if run.settings.setup_digest() != setup:
                setup = run.settings.setup_digest()
                torch.compiler.reset()  # graphs of other setups count against the limit of graphs
            listener.on_begin(run, number, len(planned))
            with workloads.mistakes_located(run.settings.workload):
                done = _make_run(run, workers, stop, listener.on_checkpoint)
            if done:
                if run.dawnbench:
                    events.write_entry(run.folder, done.settings, done.log, done.outcome)
                listener.on_end(done)
                finished.append(done)
    return finished


def _make_run(
    planned: PlannedRun,
    workers: Team,
    stop: StopRequest,
    on_checkpoint: Callable[[Checkpoint], None],
) -> FinishedRun | None:
    """Return one finished run; None in workers other than the first."""
    settings = planned.settings
    if settings.threads:
        torch.set_num_threads(settings.threads)
    set_numerics(settings)
    on_gpu = workers.device.type == "cuda"
    clock = Clock(lambda: torch.cuda.synchronize(workers.device)) if on_gpu else Clock()
    gc.collect()  # what the last run left is not collected on the clock of this one
    if not workers.is_leader:
        train_run(settings, workers, SilentLog(), clock, stop, on_checkpoint)
        return None
    run_log.write_description(planned.folder, hardware.system_description(planned.folder, settings))
    path, stream = run_log.create_log(planned.folder)
    log = RunLog(path, stream, clock)
    try:
        events.log_head(log, planned.folder)
        outcome = train_run(settings, workers, log, clock, stop, on_checkpoint)
        log.save()
    except Exception as error:
        log.save()
        if failure := _expected_failure(error, workers):
            message, remedy = failure
            raise TtastatsError(message, where=str(path), remedy=remedy) from error
        raise
    finally:
        log.close()
    return FinishedRun(settings, path, outcome)


def _expected_failure(error: Exception, workers: Team) -> tuple[str, str] | None:
    """Return the cause of a broken run and advice; None for an error of the code."""
    if text := workers.failure_text():
        first, _, trace = text.partition("\n")
        return f"{first}: the run counts as failed", trace
    if isinstance(error, Interrupted):
        return (
            f"interrupted by {error}; this is recorded in the log, and the run is left out",
            "The runs before it are complete. Run the same command again to resume.",
        )
    if is_lost_worker(error):
        return (
            "another worker was lost during the run, which counts as failed",
            "A worker may have run out of memory. Run the same command again to repeat the run; "
            "delete the log if the loss says nothing about the setup.",
        )
    return None
