"""What the three MLPerf line formats have in common below the grammar: events and payloads."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

TOKEN = b":::ML"


class Event(msgspec.Struct, gc=False):
    """One logged event: `time` in seconds on the log's own clock, `line` counted from 1.

    The fields named by the JSON dialect are decoded straight into it.
    """

    key: str
    time_ms: float | None = None
    time_s: float | None = None
    value: Any = None
    metadata: Any = None
    time: float | None = None
    line: int = 0


class Unreadable(NamedTuple):
    """A line that carries the token but no event that can be understood."""

    line: int
    text: str


def first_token(head: bytes) -> bytes:
    """Give the first MLPerf token of a block and a few bytes more, or nothing."""
    at = head.find(TOKEN)
    return b"" if at < 0 else head[at : at + 16]


#: Keys of which every event counts.
_LISTED = frozenset(
    {
        "run_start",
        "run_stop",
        "eval_accuracy",
        "eval_result",
        "train_epoch",
        "run_clear_caches",
        "seed",
    }
)
#: Keys that tell when the weights of a progress label were ready. The end of the training stretch
#: is better evidence than the start of the evaluation.
_READY = {"eval_start": 0, "block_stop": 1, "epoch_stop": 1}
_LABELS = ("samples_count", "step_num", "epoch_num")


class Trace:
    """What is kept of a log while it is read: little, however long the log.

    Attributes
    ----------
    events
        By key, in the order of the file: all of the keys that count, the first of any other.
    ready
        By progress label: how good the evidence is, and when the weights were ready.
    last_time
        The latest time stamp.
    unreadable
        Lines that carry the token and no event that can be understood.
    """

    __slots__ = ("events", "last_time", "ready", "unreadable")

    def __init__(self) -> None:
        self.events: dict[str, list[Event]] = {}
        self.ready: dict[float, tuple[int, float]] = {}
        self.last_time = 0.0
        self.unreadable: list[Unreadable] = []

    def add(self, event: Event) -> None:
        """Take the next event of the file."""
        key, time = event.key, event.time
        if time is not None and time > self.last_time:
            self.last_time = time
        evidence = _READY.get(key)
        if evidence is not None:
            self._note_ready(event, evidence)
        elif key not in self.events:
            self.events[key] = [event]
        elif key in _LISTED or self.events[key][0].value is None:
            self.events[key].append(event)

    def _note_ready(self, event: Event, evidence: int) -> None:
        if event.time is None or not isinstance(event.metadata, dict):
            return
        for word in _LABELS:
            label = as_float(event.metadata.get(word))
            if label is not None:
                known = self.ready.get(label)
                if known is None or known[0] <= evidence:
                    self.ready[label] = (evidence, event.time)


def matches(
    blocks: Iterator[bytes], pattern: re.Pattern[bytes]
) -> Iterator[tuple[int, re.Match[bytes]]]:
    """Give every match of `pattern` with its line number.

    Lines end at a line feed only: progress bars leave lone carriage returns inside lines.
    """
    line = 1
    for block in blocks:
        counted = 0
        for match in pattern.finditer(block):
            start = match.start()
            line += block.count(b"\n", counted, start)
            counted = start
            yield line, match
        line += block.count(b"\n", counted)


_decode_json = msgspec.json.Decoder().decode
_BARE_WORD = re.compile(r"(?<=[{,:\[ ])\s*([A-Za-z_][\w./-]*)\s*(?=[:,}\]])")
_LITERALS = {"true", "false", "null", "NaN", "Infinity"}
_lenient_json = json.JSONDecoder(strict=False)


def decode(payload: bytes) -> Any:
    """Give the value of a payload: JSON, else a Python literal, else JSON with unquoted words.

    Text glued behind a complete JSON value is ignored, as other programs write to the same line.

    Raises
    ------
    ValueError
        The payload is none of these.
    """
    try:
        return _decode_json(payload)
    except (msgspec.DecodeError, UnicodeDecodeError):
        pass
    text = payload.decode("utf-8", "replace").strip()
    for attempt in (_json_prefix, _python_literal, _unquoted_json):
        try:
            return attempt(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
    raise ValueError(f"neither JSON nor a Python literal: {text[:80]!r}")


def _json_prefix(text: str) -> Any:
    return _lenient_json.raw_decode(text)[0]


def _python_literal(text: str) -> Any:
    """Read `{"value": null, "metadata": {'lineno': 615}}`: JSON words inside a Python literal."""
    python = re.sub(r"\bnull\b", "None", text)
    python = re.sub(r"\btrue\b", "True", python)
    return ast.literal_eval(re.sub(r"\bfalse\b", "False", python))


def _unquoted_json(text: str) -> Any:
    """Read `{value: true, metadata: {lineno: 0, file: manual}}`."""

    def quoted(match: re.Match[str]) -> str:
        word = match.group(1)
        return word if word in _LITERALS else f'"{word}"'

    return _json_prefix(_BARE_WORD.sub(quoted, text))


def as_mapping(value: Any) -> dict[str, Any]:
    """Give `value` if it is a mapping, else an empty one: metadata is sometimes an empty string."""
    return value if isinstance(value, dict) else {}


def as_float(value: Any) -> float | None:
    """Give a number that is logged as a number, as text, or as text in brackets."""
    kind = type(value)
    if kind is float:
        return float(value)
    if kind is int:
        return _float_of(value)
    if isinstance(value, str):
        try:
            return float(value.strip().strip("[]()"))
        except ValueError:
            return None
    return None


def _float_of(value: int) -> float | None:
    """Give a whole number as a float; one too large for that is no measurement."""
    try:
        return float(value)
    except OverflowError:
        return None


def as_int(value: Any) -> int | None:
    """Give a whole number however it is logged: 8, 8.0 or "8"; None for anything else."""
    number = as_float(value)
    if number is None or number != number or not float(number).is_integer():
        return None
    return int(number)
