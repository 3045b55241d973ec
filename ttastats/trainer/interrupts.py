"""Was the run asked to stop? Ctrl-C and SIGTERM are noted, and obeyed between two steps."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Interrupted(Exception):  # noqa: N818 - asked for, no error
    """The run was asked to stop, by the signal of this name."""


class StopRequest:
    """A flag that a signal handler sets: raising from it could tear a line of the log apart."""

    def __init__(self, *, alone: bool = True) -> None:
        self.reason: str | None = None
        self._alone = alone

    def raise_if_stopped(self) -> None:
        """Raise an error if the run was asked to stop."""
        if self.reason is not None:
            raise Interrupted(self.reason)

    def handle_signal(self, number: int, _frame: FrameType | None) -> None:
        """Record a stop signal; a second Ctrl-C ends the program, unless it is one of several."""
        if self._alone and self.reason is not None and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.reason = signal.Signals(number).name


@contextmanager
def stop_on_signals(*, obey: bool = True, alone: bool = True) -> Iterator[StopRequest]:
    """Yield a stop request set by Ctrl-C and SIGTERM; restore their handlers afterwards.

    `obey` is False for workers beside the one that logs, which stop when it does; `alone` is True
    for a single process.
    """
    request = StopRequest(alone=alone)
    if threading.current_thread() is not threading.main_thread():
        yield request  # Python lets no other thread handle signals
        return
    handler = request.handle_signal if obey else signal.SIG_IGN
    before = {number: signal.signal(number, handler) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield request
    finally:
        for number, old in before.items():
            signal.signal(number, old)
