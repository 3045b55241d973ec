"""Why does a recorded run end early: by an exception, or because somebody stopped the process?"""

from __future__ import annotations

import itertools
import os
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any

#: What a shell reports of a process that a signal ended; programs exit with it in a handler.
_EXIT_CODES = {128 + number: number.name for number in (signal.SIGINT, signal.SIGTERM)}


def is_orderly(error: BaseException) -> bool:
    """Return whether a block ended without a failure: also by exit code 0 or a closed generator."""
    if isinstance(error, SystemExit):
        return error.code is None or error.code == 0
    return isinstance(error, GeneratorExit)


def reason_of(error: BaseException) -> str:
    """Return the reason that a log gives for an early end, in one line.

    A user's interruption is the name of its signal or `KeyboardInterrupt`; all else is the type
    of the exception with its message.
    """
    name = type(error).__name__
    if name == "SIGTERMException":  # that of Lightning
        return "SIGTERM"
    if isinstance(error, KeyboardInterrupt):
        return "KeyboardInterrupt"
    if isinstance(error, SystemExit):
        code = error.code
        return _EXIT_CODES.get(code if isinstance(code, int) else 0, f"{name}: {code}")
    message = str(error).strip().partition("\n")[0]
    return f"{name}: {message}" if message else name


#: The reason of a run whose process went on without its end: by an exception that was caught.
UNFINISHED = "never finished"


class Open:
    """An open recording: `finish` takes the reason why it ends, `heard` is its last sign of life.

    Both moments are places in the order of all signs of life of a process.
    """

    _order = itertools.count()

    def __init__(self, finish: Callable[[str], None]) -> None:
        self.finish = finish
        self.began = self.heard = next(self._order)
        EndWatch.add(self)

    def hear(self) -> None:
        """Note a sign of life."""
        self.heard = next(self._order)


class EndWatch:
    """Ends open recordings when SIGTERM or an uncaught exception ends this process.

    A framework that calls back says nothing of either. One that was not heard of since a later one
    began was broken off before. Handlers of others stay in place.
    """

    _current: EndWatch | None = None

    def __init__(self) -> None:
        self._open: list[Open] = []
        self._hook = sys.excepthook
        sys.excepthook = self._on_exception

    @classmethod
    def add(cls, recording: Open) -> None:
        """Watch for a recording, too."""
        watch = cls._current = cls._current or cls()
        watch._open.append(recording)
        watch._replace_handler(signal.SIG_DFL, watch._on_sigterm)

    @classmethod
    def remove(cls, recording: Open) -> None:
        """Forget a recording; after the last, restore the handlers, unless replaced since."""
        watch = cls._current
        if watch is None or recording not in watch._open:
            return
        watch._open.remove(recording)
        if watch._open:
            return
        cls._current = None
        if sys.excepthook == watch._on_exception:
            sys.excepthook = watch._hook
        watch._replace_handler(watch._on_sigterm, signal.SIG_DFL)

    def _end_all(self, reason: str) -> None:
        began = max((recording.began for recording in self._open), default=0)
        for recording in [*self._open]:
            recording.finish(reason if recording.heard >= began else UNFINISHED)

    @staticmethod
    def _replace_handler(old: Any, new: Any) -> None:
        """Handle SIGTERM anew, in the main thread alone: Python lets no other handle signals."""
        main = threading.current_thread() is threading.main_thread()
        if main and signal.getsignal(signal.SIGTERM) == old:
            signal.signal(signal.SIGTERM, new)

    def _on_exception(
        self, kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        self._end_all(reason_of(error))
        self._hook(kind, error, trace)

    def _on_sigterm(self, number: int, _frame: FrameType | None) -> None:
        try:
            self._end_all("SIGTERM")
        finally:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
