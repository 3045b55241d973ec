"""A progress bar on stderr where a person watches, and silence elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress


@contextmanager
def progress(label: str) -> Iterator[Callable[[int, int], None] | None]:
    """Yield what takes how much of how much is done, or None where nobody watches."""
    if not sys.stderr.isatty():
        yield None
        return
    with _display() as bars:
        task = bars.add_task(label, total=None)
        yield lambda done, total: bars.update(task, completed=done, total=total)


_shown: list[Progress] = []


@contextmanager
def _display() -> Iterator[Progress]:
    """Yield what shows bars; those of a task inside another stand in one display."""
    if _shown:
        yield _shown[0]
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bars:
        _shown.append(bars)
        try:
            yield bars
        finally:
            _shown.clear()
