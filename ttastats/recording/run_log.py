"""What does the log of one run say? Events in the vocabulary of MLPerf, and a few of our own."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from pathlib import Path
from typing import Any, TextIO

from ttastats.recording import mllog
from ttastats.recording.clock import Clock, Stamp
from ttastats.recording.mllog import EventType
from ttastats.recording.result_files import log_errors_named

#: File names in the log are those below the folder of the package, not of somebody's home.
ROOT = Path(__file__).resolve().parents[2]


class RunLog:
    """The log of one run in a file, a line per event, which happened `at` a moment or now."""

    def __init__(self, path: Path, stream: TextIO, clock: Clock) -> None:
        self._path, self._stream, self._clock = path, stream, clock

    def now(self) -> Stamp:
        """Return the present moment, for events that happen together."""
        return self._clock.stamp()

    def point(self, key: str, value: Any = None, *, at: Stamp | None = None, **about: Any) -> None:
        """Write an event."""
        self._write("POINT_IN_TIME", key, value, at, about)

    def begin(self, key: str, value: Any = None, *, at: Stamp | None = None, **about: Any) -> None:
        """Write the start of an interval."""
        self._write("INTERVAL_START", key, value, at, about)

    def end(self, key: str, value: Any = None, *, at: Stamp | None = None, **about: Any) -> None:
        """Write the end of an interval."""
        self._write("INTERVAL_END", key, value, at, about)

    def save(self) -> None:
        """Flush the log to the disk, which is too slow to do for every line."""
        with log_errors_named(self._path):
            os.fsync(self._stream.fileno())

    def close(self) -> None:
        """Close the file."""
        # A line that could not be written is tried again here; its failure has been reported.
        with contextlib.suppress(OSError):
            self._stream.close()

    def _write(
        self, event_type: EventType, key: str, value: Any, at: Stamp | None, about: dict[str, Any]
    ) -> None:
        time_ms, caller = (at or self._clock.stamp()).time_ms, sys._getframe(2)
        file = caller.f_code.co_filename.removeprefix(f"{ROOT}/")
        place = {"file": file, "lineno": caller.f_lineno}
        with log_errors_named(self._path):
            self._stream.write(mllog.event_line(event_type, time_ms, key, value, place | about))


class SilentLog(RunLog):
    """A log that is not written: that of workers beside the first."""

    def __init__(self) -> None:
        super().__init__(Path(), io.StringIO(), Clock())

    def _write(self, *_event: Any, **_about: Any) -> None:
        pass
