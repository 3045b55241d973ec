"""What the three MLPerf line formats have in common below the grammar: events and payloads."""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Iterator
from math import isfinite
from typing import Any, NamedTuple

import msgspec

TOKEN = b":::ML"
#: The rest of a line, up to another token on it: ranks may write without a line end between them.
REST = rb"((?:[^\n:]++|:(?!::ML))*+)"


class Metadata(msgspec.Struct, gc=False):
    """What is used of an event's metadata: how far training was, and what the value means."""

    samples_count: Any = None
    step_num: Any = None
    epoch_num: Any = None
    metric: Any = None
    higher_is_better: Any = None
    status: Any = None
    success: Any = None
    timestamp: Any = None

    @classmethod
    def of(cls, value: Any) -> Metadata:
        """Give the metadata a mapping holds; it is sometimes an empty string, which holds none."""
        known = as_mapping(value)
        return cls(**{word: known.get(word) for word in cls.__struct_fields__})

    def labels(self) -> tuple[Any, Any, Any]:
        """Give what may tell how far training was, the most exact first."""
        return self.samples_count, self.step_num, self.epoch_num


class Event(msgspec.Struct, gc=False):
    """One logged event: `time` in seconds on the log's own clock, `line` counted from 1.

    The JSON dialect is decoded straight into it: most of its logs say `time_ms`, some `time_s`.
    """

    key: str
    time_ms: float | None = None
    time: float | None = msgspec.field(default=None, name="time_s")
    value: Any = None
    metadata: Metadata = msgspec.field(default_factory=Metadata)
    line: int = 0


class Unreadable(NamedTuple):
    """A line that carries the token but no event that can be understood."""

    line: int
    text: str


#: Bytes of an unreadable line that are kept to show it; a line may have any length.
_SHOWN = 200
_KEPT = 100


def unreadable(line: int, content: bytes) -> Unreadable:
    """Give the start of a line that cannot be understood."""
    return Unreadable(line, content[:_SHOWN].decode("utf-8", "replace"))


#: The end of the year 9999, in seconds: later stamps, and those before zero, are no times.
_NO_DATE = 253_402_000_000.0
_COMPLETE_TOKEN = re.compile(rb":::ML(?:Pv0\.5|L[ \t]|LOG)")


def first_token(head: bytes) -> bytes:
    """Give the first complete MLPerf token of a block, or nothing: a line may be cut inside it.

    Each of the dialects asks, one after the other, about the same block.
    """
    global _last_asked
    asked, answer = _last_asked
    if head is not asked:
        start = head.find(TOKEN)  # faster than a pattern, over megabytes that hold none
        match = _COMPLETE_TOKEN.search(head, start) if start >= 0 else None
        answer = match.group() if match else b""
        _last_asked = head, answer
    return answer


_last_asked = (b"", b"")


#: Keys of which every event counts.
LISTED = frozenset(
    {
        "run_start",
        "run_stop",
        "eval_accuracy",
        "eval_error",
        "eval_result",
        "train_epoch",
        "run_clear_caches",
        "init_stop",
        "seed",
    }
)
#: Keys that tell when the weights of a progress label were ready. The end of the training stretch
#: is better evidence than the start of the evaluation.
_READY = {"eval_start": 0, "block_stop": 1, "epoch_stop": 1}


class Trace:
    """What is kept of a log while it is read: little, however long the log.

    Attributes
    ----------
    events
        By key, in the order of the file: all of the keys that count, the first of any other.
    ready
        By progress label: how good each evidence is, and when it says the weights were ready.
    last_time
        The latest time stamp.
    unreadable
        The first lines that carry the token and no event that can be understood.
    unreadable_count
        How many such lines there are.
    torn_start
        One of them names `run_start`.
    """

    __slots__ = (
        "events",
        "last_time",
        "ready",
        "torn_start",
        "unreadable",
        "unreadable_count",
    )

    def __init__(self) -> None:
        self.events: dict[str, list[Event]] = {}
        self.ready: dict[float, list[tuple[int, float]]] = {}
        self.last_time = 0.0
        self.unreadable: list[Unreadable] = []
        self.unreadable_count = 0
        self.torn_start = False

    def add(self, *events: Event) -> None:
        """Take the next events of the file."""
        by_key, last_time = self.events, self.last_time
        for event in events:
            key, time = event.key, event.time
            if event.time_ms is not None:
                time = event.time = event.time_ms / 1e3
            if time is not None and not 0.0 <= time <= last_time:
                if 0.0 < time < _NO_DATE:
                    last_time = time
                else:
                    time = event.time = None
            if key in _READY:
                if time is not None:
                    self._note_ready(event.metadata, (_READY[key], time))
            elif key not in by_key:
                by_key[key] = [event]
            elif key in LISTED:
                by_key[key].append(event)
            elif by_key[key][0].value is None and event.value is not None:
                by_key[key] = [event]
        self.last_time = last_time

    def skip(self, line: int, content: bytes) -> None:
        """Take a line that cannot be understood; of very many only some are kept."""
        self.unreadable_count += 1
        self.torn_start = self.torn_start or b"run_start" in content[:_SHOWN]
        if len(self.unreadable) < _KEPT:
            self.unreadable.append(unreadable(line, content))

    def _note_ready(self, metadata: Metadata, evidence: tuple[int, float]) -> None:
        for value in metadata.labels():
            if value is None:
                continue
            label = value if type(value) is int else as_float(value)  # which are equal as keys
            if label is not None:
                self.ready.setdefault(label, []).append(evidence)


class Lines:
    """The line numbers of a log, counted only where they are asked for.

    Lines end at a line feed only: progress bars leave lone carriage returns inside lines.
    """

    __slots__ = ("_block", "_line", "_place")

    def __init__(self) -> None:
        self._line = 1
        self._block = b""
        self._place = 0

    def enter(self, block: bytes) -> None:
        """Go on to the next block."""
        self._line += self._block.count(b"\n", self._place)
        self._block, self._place = block, 0

    def at(self, match: re.Match[bytes]) -> int:
        """Give the line of a match; matches are asked about in their order."""
        self._line += self._block.count(b"\n", self._place, match.start())
        self._place = match.start()
        return self._line


def matches(
    blocks: Iterator[bytes], pattern: re.Pattern[bytes], lines: Lines
) -> Iterator[re.Match[bytes]]:
    """Give every match of `pattern`; `lines` follows, so that it can be asked for their lines."""
    for block in blocks:
        lines.enter(block)
        yield from pattern.finditer(block)


_decode_json = msgspec.json.Decoder().decode
_encode_json = msgspec.json.Encoder().encode
#: No logger writes a longer event (the longest known has 2,323 bytes); what lies behind is output
#: of other programs, and is not searched for more.
LONGEST = 1 << 20
#: Payloads that are no JSON are short; slower ways of reading are tried on no others.
_LONGEST_LENIENT = 1 << 14
_BARE_WORD = re.compile(r"(?<=[{,:\[ ])([A-Za-z_][\w./-]*+)(?=\s*[:,}\]])")
#: Python reads over `0.37_14` and knows `0x1f`; in a log they are numbers with a torn digit.
_NUMBER_OF_A_PROGRAM = re.compile(r"(?<![\w.'\"/-])(?:0[xXoObB]|\d[\d.]*_\d)")
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
    payload = payload[:LONGEST]
    try:
        return _decode_json(payload)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    text = payload.decode("utf-8", "replace").strip()
    torn = text.startswith("{") and "}" not in text
    attempts = (_json_prefix, _python_literal, _unquoted_json)
    for attempt in attempts if len(text) <= _LONGEST_LENIENT and not torn else attempts[:1]:
        try:
            value = attempt(text)
            _encode_json(value)
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError, OverflowError):
            continue
        return value
    raise ValueError(f"neither JSON nor a Python literal: {text[:80]!r}")


def shown(value: Any) -> str:
    """Give a value as text to compare; one nested too deeply for that is like no other."""
    try:
        return value if isinstance(value, str) else repr(value)
    except (ValueError, RecursionError):
        return f"{type(value).__name__} {id(value)}"


_PLAIN = {float, bool, type(None)}


def storable(value: Any) -> Any:
    """Give a value that a table can keep as JSON: itself, or its text where it is none."""
    if type(value) in _PLAIN or (isinstance(value, str) and value.isascii()):
        return value
    try:
        _encode_json(value)
    except (ValueError, TypeError, RecursionError, OverflowError):
        return (
            None
            if isinstance(value, dict | list)
            else shown(value)[:200].encode("utf-8", "replace").decode()
        )
    return value


def _json_prefix(text: str) -> Any:
    return _lenient_json.raw_decode(text)[0]


def _python_literal(text: str) -> Any:
    """Read `{"value": null, "metadata": {'lineno': 615}}`: JSON words inside a Python literal."""
    if _NUMBER_OF_A_PROGRAM.search(text):
        raise ValueError("a number that no logger writes")
    python = re.sub(r"\bnull\b", "None", text)
    python = re.sub(r"\btrue\b", "True", python)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of escapes that a program's paths may hold
        return ast.literal_eval(re.sub(r"\bfalse\b", "False", python))


def _unquoted_json(text: str) -> Any:
    """Read `{value: true, metadata: {lineno: 0, file: manual}}`."""

    def quoted(match: re.Match[str]) -> str:
        word = match.group(1)
        return word if word in _LITERALS else f'"{word}"'

    return _json_prefix(_BARE_WORD.sub(quoted, text))


def as_mapping(value: Any) -> dict[str, Any]:
    """Give `value` if it is a mapping, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_float(value: Any) -> float | None:
    """Give a number that is logged as a number, as text, or as text in brackets.

    What is not finite is no measurement: an infinite score would meet every target.
    """
    kind = type(value)
    if kind is float:
        return value if isfinite(value) else None
    if kind is int:
        try:
            return float(value)
        except OverflowError:  # too large to be a measurement
            return None
    if isinstance(value, str) and "_" not in value:  # which Python would read over
        try:
            number = float(value.strip().strip("[]()"))
        except ValueError:
            return None
        return number if isfinite(number) else None
    return None


def seconds_of(stamp: bytes) -> float:
    """Give the number of a time stamp.

    Raises
    ------
    ValueError
        It is none, as in a torn line.
    """
    number = as_float(stamp.decode())
    if number is None:
        raise ValueError(f"no time stamp: {stamp!r:.80}")
    return number


def as_int(value: Any) -> int | None:
    """Give a whole number however it is logged: 8, 8.0 or "8"; None for anything else.

    One beyond 64 bits is None too, as no column holds it; the digits of a long one are all kept.
    """
    if value is None:
        return None
    number: float | None
    if isinstance(value, str) and value.strip().lstrip("-").isdecimal():
        value = value.strip()[:40]
        number = int(value)
    else:
        number = value if type(value) is int else as_float(value)
    if number is None or not -(2**63) <= number < 2**63 or number != int(number):
        return None
    return int(number)
