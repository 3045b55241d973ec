"""What the three MLPerf line formats share below the grammar: tokens, lines, events, traces."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

import msgspec
from msgspec import Struct

from ttastats.formats.dialect import Log, Metrics
from ttastats_parsers.payloads import as_float, as_mapping


class Metadata(msgspec.Struct, gc=False, frozen=True):
    """What is used of an event's metadata: how far training was, and what the value means."""

    samples_count: Any = None
    step_num: Any = None
    epoch_num: Any = None
    metric: Any = None
    higher_is_better: Any = None
    status: Any = None
    success: Any = None
    timestamp: Any = None
    lr: Any = None
    reason: Any = None
    cpu_seconds: Any = None
    training_seconds: Any = None
    training_cpu_seconds: Any = None

    @classmethod
    def from_value(cls, value: Any) -> Metadata:
        """Return metadata a mapping holds; it is sometimes an empty string, which holds none."""
        mapping = as_mapping(value)
        return cls(**{word: mapping.get(word) for word in cls.__struct_fields__})


#: The values of metadata that may tell how far training was, the most exact first.
labels_of: Callable[[Metadata], tuple[Any, Any, Any]] = attrgetter(
    "samples_count", "step_num", "epoch_num"
)


class Event(msgspec.Struct, gc=False):
    """One logged event: `time` in seconds on the log's own clock, `line` counted from 1.

    The JSON dialect is decoded straight into it: most of its logs say `time_ms`, some `time_s`.
    """

    key: str
    time_ms: float | None = None
    time: float | None = msgspec.field(default=None, name="time_s")
    value: Any = None
    metadata: Metadata = Metadata()
    line: int = 0


class Style(Struct, frozen=True):
    """How a line format differs from the others in what its events mean.

    An evaluation is labelled with the epochs so far, or with the epoch just trained, before it.
    """

    round: str | None = None
    fractional_bleu: bool = False
    counts_cache_clears: bool = False
    labels_epoch_just_trained: bool = False


#: Bytes of an unreadable line that are kept to show it; a line may have any length.
_EXCERPT = 200
_MOST_KEPT = 100
#: The end of the year 9999, in seconds: later stamps, and those before zero, are no times.
_NO_DATE = 253_402_000_000.0
_TOKEN_START = b":::ML"
_COMPLETE_TOKEN = re.compile(_TOKEN_START + rb"(?:Pv0\.5|L[ \t]|LOG)")


def first_token(head: bytes) -> bytes:
    """Return the first complete MLPerf token of a block, or nothing: a line may be cut inside it.

    Each of the dialects asks, one after the other, about the same block.
    """
    global _last_token
    block, answer = _last_token
    if head is not block:
        match, position = None, -1
        # `find` is faster than the search of a pattern, and much lies before the first token.
        while match is None and (position := head.find(_TOKEN_START, position + 1)) >= 0:
            match = _COMPLETE_TOKEN.match(head, position)
        answer = match.group() if match else b""
        _last_token = head, answer
    return answer


_last_token = (b"", b"")

#: The rest of a line, up to another token on it: ranks may write without a line end between them.
REST = rb"((?:[^\n:]++|:(?!::ML))*+)"


#: Keys of which every event counts.
LISTED = frozenset(
    {
        "run_start", "run_stop", "eval_accuracy", "eval_error", "eval_result", "train_epoch",
        "run_clear_caches", "init_stop", "seed",
    }
)  # fmt: skip
#: Keys of events that training logs again and again; `tracked_stats` holds several numbers.
TRAINING_KEYS = ("train_loss", "tracked_stats")
#: Keys that tell when the weights of a progress label were ready. The end of the training stretch
#: is better evidence than the start of the evaluation.
_READY = {"eval_start": 0, "block_stop": 1, "epoch_stop": 1}


class Trace:
    """What is kept of a log while it is read: little, however long the log.

    `events` by key, in the order of the file, are all of the keys that count and the first of any
    other; `ready` tells by progress label how good each evidence is, and when it says the weights
    were ready. `unreadable` are the first lines, and their texts, that carry the token and no event
    that can be understood, `unreadable_count` is how many there are; `torn_start` if one names
    `run_start`.
    """

    def __init__(self, metrics: Metrics) -> None:
        # They do not tell how long a run was: it is as long where they are not read.
        self._training = frozenset(TRAINING_KEYS if metrics == "all" else ())
        self._listed = LISTED | self._training
        self.events: dict[str, list[Event]] = {}
        self.ready: defaultdict[float, list[tuple[int, float]]] = defaultdict(list)
        self.last_time = 0.0
        self.unreadable: list[tuple[int, str]] = []
        self.unreadable_count = 0
        self.torn_start = False

    def add(self, events: Sequence[Event], lines: Sequence[int]) -> None:
        """Append the next events of the file, which are in these lines."""
        by_key, last_time = self.events, self.last_time
        keys, training = self._listed, self._training
        for event, line in zip(events, lines, strict=True):
            key, time, event.line = event.key, event.time, line
            if event.time_ms is not None:
                time = event.time = event.time_ms / 1e3
            if time is not None and last_time < time < _NO_DATE:
                last_time = last_time if key in training else time
            elif time is not None and not 0.0 <= time <= last_time:
                time = event.time = None
            if key in _READY:
                if time is not None:
                    self._note_ready(event.metadata, (_READY[key], time))
            elif key not in by_key:
                by_key[key] = [event]
            elif key in keys:
                by_key[key].append(event)
            elif by_key[key][0].value is None and event.value is not None:
                by_key[key] = [event]
        self.last_time = last_time

    def _note_ready(self, metadata: Metadata, evidence: tuple[int, float]) -> None:
        """Append an evidence that weights were ready to those of each progress label."""
        for value in labels_of(metadata):
            # A whole number is the same key as a float.
            label = value if value is None or type(value) is int else as_float(value)
            if label is not None:
                self.ready[label].append(evidence)

    def skip(self, line: int, content: bytes) -> None:
        """Record a line that cannot be parsed; of very many only the first."""
        self.unreadable_count += 1
        self.torn_start = self.torn_start or b"run_start" in content[:_EXCERPT]
        if len(self.unreadable) < _MOST_KEPT:
            self.unreadable.append((line, content[:_EXCERPT].decode("utf-8", "replace")))


def read_lines(
    log: Log, pattern: re.Pattern[bytes], event_of: Callable[[re.Match[bytes]], Event]
) -> Trace:
    """Return the events of the lines that match; a ValueError says that one is unreadable.

    Lines end at a line feed only: progress bars leave lone carriage returns inside lines.
    """
    trace, line = Trace(log.metrics), 1
    for block in log.blocks():
        position = 0
        for match in pattern.finditer(block):
            line += block.count(b"\n", position, match.start())
            position = match.start()
            try:
                trace.add([event_of(match)], [line])
            except ValueError:
                trace.skip(line, match.group())
        line += block.count(b"\n", position)
    return trace
