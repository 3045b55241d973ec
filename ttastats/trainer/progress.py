"""How does a person see what goes on? Lines on a terminal, nothing anywhere else."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress, TextColumn

from ttastats.recording.result_files import SystemDiffers
from ttastats.trainer import workloads
from ttastats.trainer.events import Checkpoint
from ttastats.trainer.session import Made, Planned, Watcher
from ttastats.trainer.settings import Settings
from ttastats.trainer.workloads.contract import Recipe


@contextmanager
def progress_watcher() -> Iterator[Watcher]:
    """Yield a watcher that draws progress on a terminal, or one that does nothing."""
    console = Console(stderr=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", SystemDiffers)
        if console.is_terminal:
            with _Terminal(console) as terminal:
                yield terminal
        else:
            yield Watcher()
    for message in dict.fromkeys(_warning_text(warning) for warning in caught):
        sys.stderr.write(f"{message}\n")


class _Terminal(Watcher):
    """One line that follows the run, and one that stays for each run made."""

    def __init__(self, console: Console) -> None:
        self._bar = Progress(
            TextColumn("{task.description}  {task.fields[state]}"), console=console, transient=True
        )
        self._task = self._bar.add_task("setting up", total=None, state="")
        self._planned: Planned | None = None
        self._recipe: Recipe | None = None
        self._run = ""

    def __enter__(self) -> _Terminal:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def on_begin(self, planned: Planned, number: int, count: int) -> None:
        """Draw an empty progress line for a run."""
        if self._planned is None or self._planned.place != planned.place:
            self._bar.console.print(planned.place.system, highlight=False, style="bold")
        self._planned = planned
        self._recipe = workloads.load_workload(planned.settings.workload).recipe
        self._run = f"run {number}/{count}"
        self._bar.reset(
            self._task,
            total=planned.settings.epochs,
            description=f"{self._run} seed {planned.settings.seed}",
            state="warming up",
        )

    def on_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Draw the progress of the run and its latest quality."""
        if self._planned is None or self._recipe is None:
            return
        state = _progress_text(checkpoint, self._recipe, self._planned.settings)
        self._bar.update(self._task, completed=checkpoint.epoch, state=state)

    def on_end(self, made: Made) -> None:
        """Replace the progress line by one with the result."""
        self._bar.console.print(f"{self._run} {result_line(made)}", highlight=False)


def result_line(made: Made) -> str:
    """Return the result of a run as one line."""
    outcome, last = made.outcome, made.outcome.checkpoints[-1]
    how = "reached" if outcome.reached else "NOT reached"
    return (
        f"seed {made.settings.seed}: {made.settings.target:g} {how}, {last.epoch:g} epochs, "
        f"{last.quality:.4f}, {outcome.run.wall:.2f} s ({outcome.run.cpu:.2f} s CPU)"
    )


def _progress_text(checkpoint: Checkpoint, recipe: Recipe, settings: Settings) -> str:
    missing = settings.target - checkpoint.quality
    missing = missing if recipe.higher_is_better else -missing
    distance = "target reached" if missing <= 0 else f"{missing:.4f} to go"
    return (
        f"epoch {checkpoint.epoch:g}/{settings.epochs:g} {recipe.metric} {checkpoint.quality:.4f} "
        f"{checkpoint.known_at.wall:.1f} s, {distance}"
    )


def _warning_text(warning: warnings.WarningMessage) -> str:
    if issubclass(warning.category, SystemDiffers):
        return f"warning: {warning.message}"
    return warnings.formatwarning(
        warning.message, warning.category, warning.filename, warning.lineno
    ).rstrip()
