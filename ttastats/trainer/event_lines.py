"""How does an event become a line? By the official `mlperf_logging`, or by lines like its own."""

from __future__ import annotations

import logging
import re
import sys
from typing import Any, TextIO

from ttastats.mllog import EventType
from ttastats.run_log import ROOT, LineWriter, OwnLines


def writer(stream: TextIO) -> LineWriter:
    """Give the official writer where its package is installed, else our own."""
    try:
        return OfficialLines(stream)
    except ModuleNotFoundError:
        return OwnLines(stream)


class OfficialLines:
    """Lets the official package write the lines.

    Each run has a logger of its own, which no other part of the program knows: loggers that go by
    a name collect a handler per run, and every line then stands in several files.
    """

    def __init__(self, stream: TextIO) -> None:
        from mlperf_logging.mllog.mllog import MLLogger

        self._handler = _Handler(stream)
        logger = logging.Logger("ttastats", logging.INFO)
        logger.addHandler(self._handler)
        self._official = MLLogger(logger=logger, root_dir=re.escape(str(ROOT)))

    def __call__(
        self,
        event_type: EventType,
        time_ms: float,
        key: str,
        value: Any,
        metadata: dict[str, Any],
        *,
        depth: int,
    ) -> None:
        """Write the line."""
        write = {
            "INTERVAL_START": self._official.start,
            "INTERVAL_END": self._official.end,
            "POINT_IN_TIME": self._official.event,
        }[event_type]
        write(key, value, metadata=metadata, time_ms=time_ms, stack_offset=depth + 2)
        if self._handler.failure is not None:
            raise self._handler.failure


class _Handler(logging.StreamHandler[TextIO]):
    """Keeps the first failure; logging would print it and go on, and lines would be missing."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self.failure: OSError | None = None

    def emit(self, record: logging.LogRecord) -> None:
        if self.failure is None:
            super().emit(record)

    def handleError(self, _record: logging.LogRecord) -> None:  # noqa: N802 - logging's name
        error = sys.exc_info()[1]
        if not isinstance(error, OSError):
            raise
        self.failure = error
