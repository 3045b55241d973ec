"""How is a trace of any size cut into lists of events, in bounded memory?

A trace is JSON: an object with the array `traceEvents`, or that array alone. It is decoded in
pieces of 16 MB, each cut between two events. A trace that breaks off, or is damaged somewhere,
gives the events that can be read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

#: How much is decoded at a time.
PIECE = 16 * 1024 * 1024
#: Without an event in so many bytes this is no trace.
_LONGEST_EVENT = 8 * PIECE

Text = int | str | None


def _counter(instruction: str) -> Any:
    """Give the field of a counter of CUPTI: how often threads executed an instruction."""
    name = f"smsp__sass_thread_inst_executed_op_{instruction}_pred_on.sum"
    return msgspec.field(name=name, default=None)


class Args(msgspec.Struct, gc=False):
    """What is told of an event and used here; Raw is left as it stands."""

    external: Text = msgspec.field(name="External id", default=None)
    external_before: Text = msgspec.field(name="external id", default=None)
    correlation: Text = None
    device: Text = None
    stream: Text = None
    dims: msgspec.Raw = msgspec.field(name="Input Dims", default=msgspec.Raw(b""))
    types: msgspec.Raw = msgspec.field(name="Input type", default=msgspec.Raw(b""))
    concrete: msgspec.Raw = msgspec.field(name="Concrete Inputs", default=msgspec.Raw(b""))
    bytes: Text = None
    moved: Text = msgspec.field(name="Bytes", default=None)
    allocated: Text = msgspec.field(name="Total Allocated", default=None)
    allocated_before: Text = msgspec.field(name="Total Allocated Bytes", default=None)
    device_type: Text = msgspec.field(name="Device Type", default=None)
    device_id: Text = msgspec.field(name="Device Id", default=None)
    collective: Text = msgspec.field(name="Collective name", default=None)
    in_elements: Text = msgspec.field(name="In msg nelems", default=None)
    out_elements: Text = msgspec.field(name="Out msg nelems", default=None)
    dtype: Text = None
    dadd: Text = _counter("dadd")
    dmul: Text = _counter("dmul")
    dfma: Text = _counter("dfma")
    fadd: Text = _counter("fadd")
    fmul: Text = _counter("fmul")
    ffma: Text = _counter("ffma")
    hadd: Text = _counter("hadd")
    hmul: Text = _counter("hmul")
    hfma: Text = _counter("hfma")


class Event(msgspec.Struct, gc=False):
    """One event of a trace; times are microseconds."""

    ph: str = ""
    cat: str = ""
    name: str = ""
    ts: float = 0.0
    dur: float | None = None
    pid: Text = None
    tid: Text = None
    args: Args | None = None


class _Whole(msgspec.Struct, gc=False):
    """The end of a trace: the last events, and what stands behind them."""

    traceEvents: list[Event] = []  # noqa: N815 - the name in the file


_EVENTS = msgspec.json.Decoder(list[Event], strict=False)
_EVENT = msgspec.json.Decoder(Event, strict=False)
_END = msgspec.json.Decoder(_Whole, strict=False)

_ARRAY = re.compile(rb'"traceEvents"\s*:\s*\[')
_ALONE = re.compile(rb"\s*\[")
#: Between two events: the end of one, and the first key of the next.
_BETWEEN = re.compile(rb'\}\s*,\s*(?=\{\s*"(?:ph|cat|name|pid|tid|ts|dur|args|id|s|bp)"\s*:)')
#: Numbers that JSON does not have, as some versions of the recorder write them.
_NO_NUMBER = re.compile(rb"(?<=[:,\[\s])[-+]?(?:inf(?:inity)?|nan)(?=\s*[,}\]])", re.IGNORECASE)


@dataclass(slots=True)
class Found:
    """What a trace said beside its events, as far as it has been read.

    `head` is what stands before the events, `ending` why it ends before its end, `damaged` counts
    events that could not be read.
    """

    head: dict[str, Any] = field(default_factory=dict)
    ending: str = ""
    damaged: int = 0
    bytes: int = 0


class NoTraceError(Exception):
    """The bytes hold no array of events."""


def pieces(chunks: Iterable[bytes], found: Found) -> Iterator[list[Event]]:
    """Give the events of a trace in lists, and note in `found` what else it says.

    Raises
    ------
    NoTraceError
        There is no array of events.
    """
    stream = _Stream(chunks, found)
    rest, is_alone = _opened(stream, found)
    while not stream.ended:
        rest += stream.more(PIECE - min(len(rest), PIECE // 2))
        if stream.ended:
            break
        events, rest = _first(rest, found)
        yield events
        if len(rest) > _LONGEST_EVENT:
            raise NoTraceError
    yield _last(rest, is_alone, found)


class _Stream:
    """Bytes on demand; where they cannot be read any further, that is noted."""

    def __init__(self, chunks: Iterable[bytes], found: Found) -> None:
        self._chunks = iter(chunks)
        self._found = found
        self.ended = False

    def more(self, size: int) -> bytes:
        """Give at least so many bytes, or what there is."""
        taken: list[bytes] = []
        missing = size
        while missing > 0:
            try:
                chunk = next(self._chunks, None)
            except Exception as error:  # whatever reads the file: what came before is used
                if not self._found.bytes:
                    raise
                self._found.ending, chunk = str(error) or type(error).__name__, None
            if chunk is None:
                self.ended = True
                break
            taken.append(chunk)
            missing -= len(chunk)
            self._found.bytes += len(chunk)
        return b"".join(taken)


def _opened(stream: _Stream, found: Found) -> tuple[bytes, bool]:
    """Give the bytes from the first event on, and whether the array stands alone."""
    rest = stream.more(PIECE // 16)
    if rest.startswith(b"\xef\xbb\xbf"):
        rest = rest[3:]
    if match := _ALONE.match(rest):
        return rest[match.end() :], True
    while not (match := _ARRAY.search(rest)):
        if stream.ended or len(rest) > _LONGEST_EVENT:
            raise NoTraceError
        rest += stream.more(PIECE)
    found.head = _head(rest[: match.end()])
    return rest[match.end() :], False


def _head(before: bytes) -> dict[str, Any]:
    """Give what stands before the events: the devices, the rank."""
    for text in (before, _NO_NUMBER.sub(b"null", before)):
        try:
            head = msgspec.json.decode(text + b"]}")
        except (msgspec.MsgspecError, UnicodeDecodeError):
            continue
        return head if isinstance(head, dict) else {}
    return {}


def _first(rest: bytes, found: Found) -> tuple[list[Event], bytes]:
    """Give the events of a piece but the last, and the bytes from that on."""
    for cut in _cuts(rest):
        try:
            return _EVENTS.decode(b"[" + rest[: cut + 1] + b"]"), rest[rest.index(b"{", cut) :]
        except (msgspec.MsgspecError, UnicodeDecodeError):
            continue
    ends = list(_BETWEEN.finditer(rest))
    if not ends:
        return [], rest
    return _one_by_one(rest[: ends[-1].start() + 1], found), rest[ends[-1].end() :]


def _cuts(rest: bytes) -> list[int]:
    """Give the ends of the last events of a piece, the last first; a name may look like one."""
    start = max(0, len(rest) - PIECE // 16)
    ends = [match.start() for match in _BETWEEN.finditer(rest, start)]
    return ends[: -_TRIES - 1 : -1]


_TRIES = 3


def _last(rest: bytes, is_alone: bool, found: Found) -> list[Event]:
    """Give the last events, whether or not the trace ends as it should."""
    try:
        if is_alone:
            return _EVENTS.decode(b"[" + rest)
        return _END.decode(b'{"traceEvents":[' + rest).traceEvents
    except (msgspec.MsgspecError, UnicodeDecodeError):
        pass
    ends = _CLOSED.search(rest) is not None
    if not ends:
        found.ending = found.ending or "it breaks off within the events"
    return _one_by_one(rest, found, is_whole=ends)


#: How the array of events ends: what may follow are the other keys of the object.
_CLOSED = re.compile(rb'\]\s*(?:,\s*"[^"]*"\s*:[^{}]*)*\}?\s*\Z')


def _one_by_one(rest: bytes, found: Found, *, is_whole: bool = True) -> list[Event]:
    """Give the events that can be read each for itself; the last may be cut off."""
    events: list[Event] = []
    texts = _split(rest)
    for number, text in enumerate(texts):
        is_last = number == len(texts) - 1
        event = _event(text, is_last=is_last)
        if event is not None:
            events.append(event)
        elif text.strip(b" \t\r\n,[]}") and (is_whole or not is_last):
            found.damaged += 1
    return events


def _split(rest: bytes) -> list[bytes]:
    found, start = [], 0
    for match in _BETWEEN.finditer(rest):
        found.append(rest[start : match.start() + 1])
        start = match.end()
    found.append(rest[start:])
    return found


def _event(text: bytes, *, is_last: bool) -> Event | None:
    """Give one event, mended where only a number or a byte of a name is none."""
    ended = [text[: end.start() + 1] for end in re.finditer(rb"\}", text)][::-1] if is_last else []
    for attempt in (text, *ended):
        for whole in (attempt, _mended(attempt)):
            try:
                return _EVENT.decode(whole)
            except (msgspec.MsgspecError, UnicodeDecodeError):
                continue
    return None


def _mended(text: bytes) -> bytes:
    return _NO_NUMBER.sub(b"null", text).decode("utf-8", "replace").encode()
