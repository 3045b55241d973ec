"""What does the log of one run say, and when? Events in the vocabulary of MLPerf.

Stamps are wall time at the start of the process plus the monotonic clock since then: a correction
of the system clock moves nothing. Before a stamp is taken the device finishes what it was given.

A log is `ROOT/ORG/results/SYSTEM/BENCHMARK/result_N.txt`, the layout of official results, beside
the description of its system and DAWNBench entries. It is written in place from the first line: a
run that is killed leaves what it had said, and is counted.

Only the standard library is imported, so that a training script can log at no cost.
"""

from __future__ import annotations

import io
import itertools
import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, Literal, TextIO

from ttastats.base import atomic
from ttastats.base.errors import TtastatsError, warn
from ttastats.base.json_safe import json_value

_RESULT = re.compile(r"result_(\d+)\.txt")


@dataclass(frozen=True, slots=True)
class Seconds:
    """A length of time: on the wall, and of this process's CPUs together."""

    wall: float
    cpu: float


@dataclass(frozen=True, slots=True)
class Stamp:
    """A moment: `time_ms` for the log, the rest for differences."""

    time_ms: float
    wall: float
    cpu: float

    def since(self, earlier: Stamp) -> Seconds:
        """Return the seconds between two stamps, by each clock."""
        return Seconds(self.wall - earlier.wall, self.cpu - earlier.cpu)


@dataclass(slots=True)
class Clock:
    """Makes stamps, and measures the counted stretch of a run, from `start` to `stop`.

    The clock is never paused between the two: loading data and evaluating count, as in the rules
    of MLPerf; setting up and warming up come before, measuring communication after.
    """

    finish_device: Callable[[], None] = lambda: None  # a CPU has always finished
    wall: Callable[[], float] = time.perf_counter
    cpu: Callable[[], float] = time.process_time
    epoch: Callable[[], float] = time.time
    started: Stamp | None = None
    stopped: Stamp | None = None
    _zero: float = 0.0

    def __post_init__(self) -> None:
        self._zero = self.epoch() - self.wall()

    def stamp(self) -> Stamp:
        """Return the present moment, once the device has finished its work."""
        self.finish_device()
        wall = self.wall()
        return Stamp(milliseconds(self._zero + wall), wall, self.cpu())

    def start(self) -> Stamp:
        """Start counting seconds."""
        self.started = self.stamp()
        return self.started

    def stop(self) -> Stamp:
        """Stop counting seconds."""
        self.stopped = self.stamp()
        return self.stopped

    def counted(self, until: Stamp | None = None) -> Seconds:
        """Return the seconds counted until a moment: the stop, or else now."""
        if self.started is None:
            return Seconds(0.0, 0.0)
        return (until or self.stopped or self.stamp()).since(self.started)


EventType = Literal["INTERVAL_START", "INTERVAL_END", "POINT_IN_TIME"]


#: The key of the event by which a log says that it is of somebody's own run: no rules of a round
#: tell its target, and its time to accuracy ends when the target is met, not when the run does.
RECORDER = "recorder"
#: The key of the event by which a run says after how much of its training it begins.
RESUMED = "resumed_at"


def event_line(
    event_type: EventType, time_ms: float | None, key: str, value: Any, metadata: Mapping[str, Any]
) -> str:
    """Return an event as a line of an MLPerf log; without a time it has no time stamp.

    NaN and infinity, which JSON cannot hold, are null; what is no value of JSON is its text.
    """
    event = {
        "namespace": "",
        "time_ms": json_value(time_ms),
        "event_type": event_type,
        "key": key,
        "value": json_value(value),
        "metadata": json_value(metadata),
    }
    # A text that holds the token must not pass for another event.
    return (
        ":::MLLOG " + json.dumps(event, default=_plain_value).replace(":::ML", "\\u003a::ML") + "\n"
    )


def read_events(text: str) -> Iterator[dict[str, Any]]:
    """Yield the events of a log written by ttastats; an incomplete last line is ignored.

    Logs of others are read by the parsers, which take what is no JSON, too.
    """
    for line in text.splitlines():
        _, token, payload = line.partition(":::MLLOG ")
        try:
            event = json.loads(payload) if token else None
        except ValueError:
            continue
        if isinstance(event, dict):
            yield event


def milliseconds(seconds: float) -> float:
    """Return seconds as milliseconds rounded to the microsecond, as the official logger does."""
    time = round(seconds * 1e3, 3)  # infinity stays what it is
    return int(time) if time.is_integer() else time


def _plain_value(value: Any) -> Any:
    """Return the number in an array or tensor of one element, or the text of any other object."""
    item = getattr(value, "item", None)
    try:
        number = item() if callable(item) else None
    except (TypeError, ValueError, RuntimeError):  # of several numbers
        number = None
    return json_value(number) if isinstance(number, bool | int | float) else str(value)


#: File names in the log are those below the folder of the package, not of somebody's home.
ROOT = Path(__file__).resolve().parents[2]


class RunLog:
    """The log of one run in a file, a line per event, which happened `at` a moment or now.

    Only the process that opened it writes: a worker that is forked meanwhile inherits the file.
    """

    def __init__(self, path: Path, stream: TextIO, clock: Clock) -> None:
        self._path, self._stream, self._clock = path, stream, clock
        self._owner = os.getpid()

    @property
    def inherited(self) -> bool:
        """Return whether this process was forked from the one that writes the log."""
        return os.getpid() != self._owner

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
        with suppress(OSError):
            self._stream.close()

    def _write(
        self, event_type: EventType, key: str, value: Any, at: Stamp | None, about: dict[str, Any]
    ) -> None:
        if self.inherited:
            return
        time_ms, caller = (at or self._clock.stamp()).time_ms, sys._getframe(2)
        file = caller.f_code.co_filename.removeprefix(f"{ROOT}/")
        place = {"file": file, "lineno": caller.f_lineno}
        with log_errors_named(self._path):
            self._stream.write(event_line(event_type, time_ms, key, value, place | about))


class SilentLog(RunLog):
    """A log that is not written: that of workers beside the first."""

    def __init__(self) -> None:
        super().__init__(Path(), io.StringIO(), Clock())

    def _write(self, *_event: Any, **_about: Any) -> None:
        pass


@dataclass(frozen=True, slots=True)
class ResultFolder:
    """The folder names of a set of runs."""

    root: Path
    org: str
    system: str
    benchmark: str

    @property
    def results(self) -> Path:
        """Return the folder of the logs of this setup."""
        return self.root / self.org / "results" / self.system / self.benchmark

    @property
    def dawnbench(self) -> Path:
        """Return the folder of DAWNBench entries."""
        return self.root / self.org / "dawnbench" / self.benchmark


@contextmanager
def log_errors_named(path: Path) -> Iterator[None]:
    """Turn an OSError while writing into a message that names what is already written."""
    try:
        yield
    except OSError as error:
        raise TtastatsError(
            f"cannot write: {error.strerror or error}",
            where=str(path),
            remedy="Earlier output is kept. Free some space, or use another log folder.",
        ) from error


def create_log(place: ResultFolder) -> tuple[Path, TextIO]:
    """Create the log with the lowest free number; return its path and the open file.

    Creation is exclusive, so that two runs at once in one folder get two numbers.
    """
    with log_errors_named(place.results):
        place.results.mkdir(parents=True, exist_ok=True)
        for name in log_names():
            path = place.results / name
            try:
                return path, path.open("x", encoding="utf-8", buffering=1)
            except FileExistsError:
                continue
    raise AssertionError("numbers do not end")


def log_names() -> Iterator[str]:
    """Yield the names of logs: `result_0.txt`, `result_1.txt`, ..."""
    return (f"result_{number}.txt" for number in itertools.count())


def log_number(path: PurePath) -> int | None:
    """Return N of `result_N.txt`; None for any other name."""
    match = _RESULT.fullmatch(path.name)
    return int(match.group(1)) if match else None


class SystemDiffers(UserWarning):
    """The description of the system differs from what is given or detected."""


def write_description(place: ResultFolder, described: Mapping[str, Any]) -> None:
    """Write the system description; one that exists and differs is kept, with a warning."""
    path = place.root / place.org / "systems" / f"{place.system}.json"
    with log_errors_named(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            atomic.write_text(path, json.dumps(described, indent=2) + "\n")
            return
        content = path.read_bytes()
    fields = None
    with suppress(ValueError):
        fields = json.loads(content)
    if not isinstance(fields, dict) or not described.items() <= fields.items():
        text = f"{path} describes another machine or was edited; it is kept. If this is another "
        warn(f"{text}system, give it another name.", SystemDiffers)


#: The columns of the qualities that the format knows.
COLUMNS = {"top1_accuracy": "top1Accuracy", "top5_accuracy": "top5Accuracy", "f1": "f1Score"}


def curve_table(metrics: Sequence[str], rows: Iterable[Sequence[float | None]]) -> str:
    """Return the text of a DAWNBench table; a row holds epochs, seconds and metrics."""
    lines = ["\t".join(["epoch", "hours", *(COLUMNS[name] for name in metrics)])]
    for epoch, seconds, *qualities in rows:
        hours = None if seconds is None else seconds / 3600.0
        numbers = (epoch, hours, *qualities)
        lines.append("\t".join("" if number is None else f"{number!r}" for number in numbers))
    return "\n".join(lines) + "\n"


def description_json(fields: Mapping[str, Any]) -> str:
    """Return the text of a DAWNBench description."""
    return json.dumps(fields, indent=2) + "\n"
