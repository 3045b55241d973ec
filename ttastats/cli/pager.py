"""Long answers go through the reader's pager; one that fails hides nothing."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

#: As git has it: leave at once if all fits, keep colours, leave the text on the screen.
_LESS = {"LESS": "FRX"}


def command(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the words of the pager, none where the reader wants none: `PAGER=` or `PAGER=cat`."""
    try:
        words = tuple(shlex.split(environment.get("PAGER", "less")))
    except ValueError:  # an open quotation mark
        return ()
    return () if words == ("cat",) else words


def shown(text: str, words: tuple[str, ...]) -> bool:
    """Show a text in a pager; False if that failed, and the text must be printed after all."""
    with _left_to_the_pager():
        try:
            pager = subprocess.Popen(  # noqa: S603 - the words are the reader's own
                words,
                stdin=subprocess.PIPE,
                text=True,
                encoding="utf-8",
                env=_LESS | dict(os.environ),
            )
        except OSError:
            return False
        pager.communicate(text)  # a reader who leaves before the end breaks nothing
    return pager.returncode in {0, -signal.SIGINT, 128 + signal.SIGINT}


@contextmanager
def _left_to_the_pager() -> Iterator[None]:
    """Let only the pager hear Ctrl-C: for it, that may mean no more than to stop a search.

    A handler that does nothing is not inherited, as ignoring the signal would be.
    """
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
