"""Why does a recorded run end early: by an exception, or because somebody stopped the process?"""

from __future__ import annotations

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


class EndWatch:
    """Passes the reason to `finish` when SIGTERM or an uncaught exception ends this process.

    A framework that calls back says nothing of either. Handlers of others stay in place.
    """

    def __init__(self, finish: Callable[[str], None]) -> None:
        self._finish = finish
        self._hook = sys.excepthook
        sys.excepthook = self._on_exception
        self._replace_handler(signal.SIG_DFL, self._on_sigterm)

    def close(self) -> None:
        """Restore the previous exception hook and signal handler, unless replaced since."""
        if sys.excepthook == self._on_exception:
            sys.excepthook = self._hook
        self._replace_handler(self._on_sigterm, signal.SIG_DFL)

    @staticmethod
    def _replace_handler(old: Any, new: Any) -> None:
        """Handle SIGTERM anew, in the main thread alone: Python lets no other handle signals."""
        main = threading.current_thread() is threading.main_thread()
        if main and signal.getsignal(signal.SIGTERM) == old:
            signal.signal(signal.SIGTERM, new)

    def _on_exception(
        self, kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        self._finish(reason_of(error))
        self._hook(kind, error, trace)

    def _on_sigterm(self, number: int, _frame: FrameType | None) -> None:
        try:
            self._finish("SIGTERM")
        finally:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
