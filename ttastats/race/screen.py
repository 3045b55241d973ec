"""What one sees of a race: a table that is drawn again on a terminal, else a line an event."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ttastats.base import units
from ttastats.race.outcome import standing_text
from ttastats.race.race import State

if TYPE_CHECKING:
    from rich.console import Group

    from ttastats.race.folder import Record

#: The table is drawn again at most so often.
_SECONDS = 0.5
_HEADS = ("setup", "seed", "progress", "last value", "slot")


@contextmanager
def watcher(
    note: Callable[[str], None], *, is_terminal: bool
) -> Iterator[Callable[[State, str], None]]:
    """Yield a function that shows the state of a race; `note` takes each event in words."""
    if not is_terminal:
        yield lambda _, event: note(event) if event else None
        return
    from rich.console import Console
    from rich.live import Live

    console = Console(stderr=True)
    with Live(console=console, auto_refresh=False, transient=True) as live:
        last_drawing = 0.0

        def show(state: State, event: str) -> None:
            nonlocal last_drawing
            if event:
                note(event)
            if event or time.monotonic() - last_drawing >= _SECONDS:
                last_drawing = time.monotonic()
                live.update(screen(state), refresh=True)

        yield show


def screen(state: State) -> Group:
    """Return the screen: a line a run, the standing of the setups, and hours."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    several = len(state.definition.slots) > 1
    table = Table(*_HEADS[: 5 if several else 4], box=None, pad_edge=False)
    for _, run in sorted(state.running.items()):
        record, mean = run.record, state.mean_seconds(run.record.setup)
        cells = [record.setup, _seed(record), _progress(run.lasted, mean), run.progress.text]
        table.add_row(*map(Text, [*cells, str(record.slot)][: len(table.columns)]))
    ahead = state.hours_to_come()
    most = "" if not ahead else f", at most about {units.seconds(3600 * ahead)} to come"
    hours = f"{units.seconds(3600 * state.hours)} of runs so far{most}"
    summary = f"{standing_text(state.standing)}; at most {state.definition.rules.most}"
    return Group(*([table] if state.running else []), Text(summary), Text(hours))


def _seed(record: Record) -> str:
    return str(record.seed) if record.block >= 0 else "warm-up"


def _progress(lasted: float, mean: float | None) -> str:
    """Return the duration of a run, and its expected end by the mean of its setup."""
    if not mean:
        return units.seconds(lasted)
    if lasted >= mean:
        return f"{units.seconds(lasted)}, longer than the mean of {units.seconds(mean)}"
    remaining = units.seconds(mean - lasted)
    return f"{units.seconds(lasted)}, {100 * lasted / mean:.0f}%, ends in about {remaining}"
