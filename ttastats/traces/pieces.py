"""How is a trace of any size cut into lists of events by category, in bounded memory?

A trace is JSON: an object with the array `traceEvents`, or that array alone. It is decoded in
pieces of 128 kB, each cut between two events. A trace that breaks off, or is damaged
somewhere, gives the events that can be read.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

import msgspec
from msgspec import Struct, field

from ttastats.base.streams import UnreadableError

#: How much is decoded at a time: text and events of a piece stay in the cache of a core.
PIECE = 128 * 1024
#: Without an event in so many bytes this is no trace.
_LONGEST_EVENT = 128 * 1024 * 1024

#: A number that may stand as text, or as nothing.
Number = int | str | None
#: A number, or a text left as it stands, that an event does not have.
MISSING = -1
NOTHING = msgspec.Raw(b"")


#: How CUPTI calls the number of executed instructions of a kind.
_COUNTER = "smsp__sass_thread_inst_executed_op_{}_pred_on.sum"


class Args(msgspec.Struct, gc=False, frozen=True):
    """The arguments of an event that are used here; Raw is left as it stands."""

    external: Number = msgspec.field(name="External id", default=MISSING)
    correlation: Number = MISSING
    device: Number = MISSING
    stream: Number = MISSING
    dims: msgspec.Raw = msgspec.field(name="Input Dims", default=NOTHING)
    types: msgspec.Raw = msgspec.field(name="Input type", default=NOTHING)
    concrete: msgspec.Raw = msgspec.field(name="Concrete Inputs", default=NOTHING)
    bytes: Number = MISSING
    in_elements: Number = msgspec.field(name="In msg nelems", default=MISSING)
    out_elements: Number = msgspec.field(name="Out msg nelems", default=MISSING)
    dtype: Number = None


class MoreArgs(Args, gc=False, frozen=True, rename=_COUNTER.format):
    """Further arguments: of memory, of counted instructions and of old events.

    Every field costs time at every event, so that these are looked for where there may be some.
    """

    external_before: Number = msgspec.field(name="external id", default=MISSING)
    allocated: Number = msgspec.field(name="Total Allocated", default=MISSING)
    allocated_before: Number = msgspec.field(name="Total Allocated Bytes", default=MISSING)
    device_type: Number = msgspec.field(name="Device Type", default=0)
    device_id: Number = msgspec.field(name="Device Id", default=0)
    dadd: Number = MISSING
    dmul: Number = MISSING
    dfma: Number = MISSING
    fadd: Number = MISSING
    fmul: Number = MISSING
    ffma: Number = MISSING
    hadd: Number = MISSING
    hmul: Number = MISSING
    hfma: Number = MISSING


class Event(msgspec.Struct, gc=False):
    """One event of a trace; times are microseconds."""

    cat: str = ""
    name: str = ""
    tid: Number = None
    ts: float = 0.0
    dur: float | None = None
    args: Args = Args()


class FullEvent(Event, gc=False):
    """An event with all of its arguments."""

    pid: Number = None
    args: MoreArgs = MoreArgs()  # pyright: ignore[reportIncompatibleVariableOverride]


class _Whole(msgspec.Struct, gc=False):
    """The end of a trace: the last events, and the keys after them."""

    traceEvents: list[FullEvent] = []  # noqa: N815 - the name in the file


_EVENTS = msgspec.json.Decoder(list[Event], strict=False)
_FULL_EVENTS = msgspec.json.Decoder(list[FullEvent], strict=False)
_EVENT = msgspec.json.Decoder(FullEvent, strict=False)
_END = msgspec.json.Decoder(_Whole, strict=False)

ByCategory = Mapping[str, list[Event]]


def _by_category(events: Iterable[Event]) -> ByCategory:
    categories: dict[str, list[Event]] = defaultdict(list)
    for event in events:
        categories[event.cat].append(event)
    return categories


#: Categories of events that have more arguments: those in capitals are of 2021, none is of before.
_DETAILED = {"cpu_instant_event", "cuda_profiler_range", "Operator", "Kernel", ""}


#: How many of the last events of a piece may be the first of the next.
_TRIES = 3
#: The last event of a piece ends in so many last bytes, and what follows the events has so many.
_NEAR, _TAIL = 4 * 1024, 8 * 1024
_END_OF_ARRAY = ord("]")
#: How the array of events ends; other keys may follow.
_CLOSED = re.compile(rb'\}\s*\]\s*(?:\Z|\}\s*\Z|,\s*")')
_ARRAY = re.compile(rb'"traceEvents"\s*:\s*\[')
_BARE_LIST = re.compile(rb"\s*\[")
#: Between two events: the end of one, and the first key of the next.
_BETWEEN = re.compile(rb'\}\s*,\s*(?=\{\s*"(?:ph|cat|name|pid|tid|ts|dur|args|id|s|bp)"\s*:)')
#: Numbers that JSON does not have, as some versions of the recorder write them.
_NO_NUMBER = re.compile(rb"(?<=[:,\[\s])[-+]?(?:inf(?:inity)?|nan)(?=\s*[,}\]])", re.IGNORECASE)


class TraceInfo(Struct):
    """Facts of a trace beside its events, as far as it has been read.

    `head` is what stands before the events, `ending` why it ends before its end, `damaged` counts
    events that could not be read.
    """

    head: dict[str, Any] = field(default_factory=dict)
    ending: str = ""
    damaged: int = 0


class NoTraceError(Exception):
    """The bytes hold no array of events."""


def event_pieces(chunks: Iterable[bytes], info: TraceInfo) -> Iterator[ByCategory]:
    """Yield the events of a trace piece by piece; `info` receives the other metadata.

    NoTraceError if there is no array of events.
    """
    stream = _Stream(chunks, info)
    piece = _skip_to_events(stream, info)
    while stream.fill(piece):
        events, piece = _split_piece(piece, info)
        yield events
        del events  # they hold on to the piece
        if len(piece) > _LONGEST_EVENT:
            raise NoTraceError
    yield _by_category(_last_events(bytes(piece[1:]), info))


class _Stream:
    """Bytes on demand; the first unreadable one ends them with a note."""

    def __init__(self, chunks: Iterable[bytes], info: TraceInfo) -> None:
        self._chunks, self._info, self._has_read = iter(chunks), info, False

    def fill(self, piece: bytearray) -> bool:
        """Append more bytes to a piece; return whether there may be more."""
        size = len(piece) + PIECE
        while len(piece) < size:
            try:
                chunk = next(self._chunks)
            except StopIteration:
                return False
            except UnreadableError as error:
                if not self._has_read:
                    raise
                self._info.ending = str(error)  # what came before is used
                return False
            piece += chunk
            self._has_read |= bool(chunk)
        return True


def _skip_to_events(stream: _Stream, info: TraceInfo) -> bytearray:
    """Return `[` and the bytes from the first event on."""
    before = bytearray()
    has_more = stream.fill(before)
    if before.startswith(b"\xef\xbb\xbf"):
        del before[:3]
    if match := _BARE_LIST.match(before):
        return bytearray(b"[") + before[match.end() :]
    while not (match := _ARRAY.search(before)):
        if not has_more or len(before) > _LONGEST_EVENT:
            raise NoTraceError
        has_more = stream.fill(before)
    head = bytes(before[: match.end()])
    for text in (head, _NO_NUMBER.sub(b"null", head)):
        with suppress(msgspec.MsgspecError, UnicodeDecodeError):
            info.head = msgspec.json.decode(text + b"]}", type=dict[str, Any])
            break
    return bytearray(b"[") + before[match.end() :]


def _split_piece(piece: bytearray, info: TraceInfo) -> tuple[ByCategory, bytearray]:
    """Return the events of a piece but the last, and `[` with the bytes from that on.

    The piece begins with `[`; it is ended by `]` in its place, so that nothing is copied.
    """
    for cut, following in _cut_candidates(piece):
        after = piece[cut]
        piece[cut] = _END_OF_ARRAY
        try:
            array = memoryview(piece)[: cut + 1]
            events = _by_category(_EVENTS.decode(array))
            if not _DETAILED.isdisjoint(events):
                events = _by_category(_FULL_EVENTS.decode(array))
        except (msgspec.MsgspecError, UnicodeDecodeError):
            piece[cut] = after
            continue
        return events, bytearray(b"[") + memoryview(piece)[following:]
    text = bytes(piece[1:])
    ends = list(_BETWEEN.finditer(text))
    if not ends:
        return {}, piece
    events = _by_category(_decode_one_by_one(text[: ends[-1].start() + 1], info))
    return events, bytearray(b"[") + text[ends[-1].end() :]


def _cut_candidates(piece: bytearray) -> list[tuple[int, int]]:
    """Return the possible starts of the last events of a piece, with the ends of those before.

    A name may look like the space between two events.
    """
    for near in (_NEAR, len(piece)):
        matches = _BETWEEN.finditer(piece, max(1, len(piece) - near))
        if cuts := [(match.start() + 1, match.end()) for match in matches]:
            return cuts[: -_TRIES - 1 : -1]
    return []


def _last_events(tail: bytes, info: TraceInfo) -> Iterable[Event]:
    """Return the events of the last piece, whether or not the trace ends properly."""
    for end in (b"", b"}"):  # an array that stands alone has no end of an object
        with suppress(msgspec.MsgspecError, UnicodeDecodeError):
            return _END.decode(b'{"traceEvents":[' + tail + end).traceEvents
    is_whole = _CLOSED.search(tail, max(0, len(tail) - _TAIL)) is not None
    if not is_whole:
        info.ending = info.ending or "it ends within the events"
    return _decode_one_by_one(tail, info, is_whole=is_whole)


def _decode_one_by_one(tail: bytes, info: TraceInfo, *, is_whole: bool = True) -> list[Event]:
    """Return the events that can be decoded one by one; the last may be cut off."""
    events: list[Event] = []
    between = list(_BETWEEN.finditer(tail))
    starts = [0, *(match.end() for match in between)]
    ends = [*(match.start() + 1 for match in between), len(tail)]
    for number, (start, end) in enumerate(zip(starts, ends, strict=True)):
        text, is_last = tail[start:end], number == len(between)
        if (event := _decode_event(text, is_last=is_last)) is not None:
            events.append(event)
        elif text.strip(b" \t\r\n,[]}") and (is_whole or not is_last):
            info.damaged += 1
    return events


def _decode_event(text: bytes, *, is_last: bool) -> Event | None:
    """Return one event, with invalid numbers and bytes repaired, or None."""
    ends = [end.end() for end in re.finditer(rb"\}", text)] if is_last else []
    for attempt in (text, *(text[:end] for end in reversed(ends))):
        mended = _NO_NUMBER.sub(b"null", attempt).decode("utf-8", "replace").encode()
        for whole in (attempt, mended):
            with suppress(msgspec.MsgspecError, UnicodeDecodeError):
                return _EVENT.decode(whole)
    return None
