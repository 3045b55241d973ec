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
from ttastats.trainer.session import Made, Nobody, Planned, Watcher
from ttastats.trainer.settings import Settings
from ttastats.trainer.workloads.contract import Recipe


@contextmanager
def watcher() -> Iterator[Watcher]:
    """Return a watcher that draws on stderr if a person looks at it, and otherwise does nothing."""
    console = Console(stderr=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", SystemDiffers)
        if console.is_terminal:
            with _Terminal(console) as terminal:
                yield terminal
        else:
            yield Nobody()
    for message in dict.fromkeys(_text(warning) for warning in caught):
        sys.stderr.write(f"{message}\n")


class _Terminal:
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

    def begins(self, planned: Planned, number: int, count: int) -> None:
        """Draw an empty line for a run."""
        if self._planned is None or self._planned.place != planned.place:
            self._bar.console.print(planned.place.system, highlight=False, style="bold")
        self._planned = planned
        self._recipe = workloads.load(planned.settings.workload).recipe
        self._run = f"run {number}/{count}"
        self._bar.reset(
            self._task,
            total=planned.settings.epochs,
            description=f"{self._run} seed {planned.settings.seed}",
            state="warming up",
        )

    def checkpoint(self, checkpoint: Checkpoint) -> None:
        """Draw how far the run has come, and how far it has to go."""
        if self._planned is None or self._recipe is None:
            return
        state = _state(checkpoint, self._recipe, self._planned.settings)
        self._bar.update(self._task, completed=checkpoint.epoch, state=state)

    def ends(self, made: Made) -> None:
        """Leave one line for the run."""
        self._bar.console.print(f"{self._run} {one_line(made)}", highlight=False)


def one_line(made: Made) -> str:
    """Return a run in one line."""
    outcome, last = made.outcome, made.outcome.checkpoints[-1]
    how = "reached" if outcome.reached else "NOT reached"
    return (
        f"seed {made.settings.seed}: {made.settings.target:g} {how}, {last.epoch:g} epochs, "
        f"{last.quality:.4f}, {outcome.run.wall:.2f} s ({outcome.run.cpu:.2f} s CPU)"
    )


def _state(checkpoint: Checkpoint, recipe: Recipe, settings: Settings) -> str:
    missing = settings.target - checkpoint.quality
    missing = missing if recipe.higher_is_better else -missing
    distance = "target reached" if missing <= 0 else f"{missing:.4f} to go"
    return (
        f"epoch {checkpoint.epoch:g}/{settings.epochs:g} {recipe.metric} {checkpoint.quality:.4f} "
        f"{checkpoint.known_at.wall:.1f} s, {distance}"
    )


def _text(warning: warnings.WarningMessage) -> str:
    if issubclass(warning.category, SystemDiffers):
        return f"warning: {warning.message}"
    return warnings.formatwarning(
        warning.message, warning.category, warning.filename, warning.lineno
    ).rstrip()
