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
    from rich.table import Table

#: The table is drawn again at most so often.
_SECONDS = 0.5


@contextmanager
def watcher(
    note: Callable[[str], None], *, is_terminal: bool
) -> Iterator[Callable[[State, str], None]]:
    """Yield what shows the state of a race; `note` takes each event in words."""
    if not is_terminal:
        yield lambda _, event: note(event) if event else None
        return
    from rich.console import Console
    from rich.live import Live

    console = Console(stderr=True)
    with Live(console=console, auto_refresh=False, transient=True) as live:
        drawn = 0.0

        def show(state: State, event: str) -> None:
            nonlocal drawn
            if event:
                note(event)
            if event or time.monotonic() - drawn >= _SECONDS:
                drawn = time.monotonic()
                live.update(_table(state), refresh=True)

        yield show


def _table(state: State) -> Table:
    from rich.table import Table

    ahead = state.hours_to_come()
    most = "" if ahead is None else f", at most {units.seconds(3600 * ahead)} more"
    caption = f"{standing_text(state.standing)}\n{units.seconds(3600 * state.hours)} used{most}"
    table = Table("setup", "seed", "slot", "time", "expected", "last value", box=None,
                  caption=caption, caption_justify="left")  # fmt: skip
    for run in state.running.values():
        expected = state.mean_seconds(run.record.setup)
        table.add_row(
            run.record.setup, str(run.record.seed), str(run.record.slot), units.seconds(run.lasted),
            "" if expected is None else units.seconds(expected), run.progress.text,
        )  # fmt: skip
    return table
