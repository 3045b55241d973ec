"""MLPerf Training v0.7 and later: `:::MLLOG {"key": .., "time_ms": .., ..}`, milliseconds."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from ttastats.dialect import Log
from ttastats.records import Problem, Run
from ttastats_parsers.mlperf_events import (
    LISTED,
    LONGEST,
    Event,
    Lines,
    Trace,
    as_float,
    as_mapping,
    decode,
    first_token,
)
from ttastats_parsers.mlperf_grammar import Style, runs_of

name = "mlperf-mllog"

#: Most lines are these few keys in the logger's own field order, and decide nothing. Leaving them
#: out before they are decoded halves the work; a line in another order is decoded all the same.
_SKIPPED = (
    rb"weights_initialization|cache_clear|tracked_stats|train_loss|power_reading|dummy|init_start"
    rb"|eval_stop|block_start|epoch_start|num_games|resign_threshold|save_model"
    rb"|actual_selfplay_games_per_generation|min_selfplay_games_per_generation"
)
_LINE = re.compile(
    rb":::MLLOG[ \t]*+"
    rb'(?!\{"namespace": "[^"\n]*", "time_ms": \d++, "event_type": "\w++", "key": "(?:'
    + _SKIPPED
    + rb')")(\{[^\n]*+)?'
)
_EVENT = re.compile(rb":::MLLOG[ \t]*+(\{[^\n]*+)")
_STYLE = Style(fractional_bleu=True)

_decode = msgspec.json.Decoder(Event).decode
_decode_lines = msgspec.json.Decoder(Event).decode_lines
_NO_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def recognises(head: bytes) -> bool:
    """Tell whether the first MLPerf token is the JSON one."""
    return first_token(head).startswith(b":::MLLOG")


def parse(log: Log) -> Iterator[Run | Problem]:
    """Give the one run of a log."""
    trace = Trace()
    lines = Lines()
    for block in _with_init(log.blocks(), trace):
        lines.enter(block)
        found = list(_LINE.finditer(block))
        for match, event in zip(found, _events([match[1] for match in found]), strict=True):
            if event is None:
                _add_leniently(trace, lines.at(match), match[1] or match[0])
                continue
            if event.key in LISTED:
                event.line = lines.at(match)
            trace.add(event)
    yield from runs_of(trace, log, _STYLE)


def _add_leniently(trace: Trace, line: int, content: bytes) -> None:
    """Take what a line that is no plain JSON holds; several writers may have shared it."""
    parts = [part.strip() for part in content.split(b":::MLLOG")]
    for payload in filter(None, parts) if any(parts) else [content]:
        event = _lenient_event(payload)
        if event is not None:
            event.line = line
            trace.add(event)
        else:
            trace.skip(line, payload)


def _with_init(blocks: Iterator[bytes], trace: Trace) -> Iterator[bytes]:
    """Hand the blocks on, taking the first `init_start` of the skipped ones, one per rank."""
    for block in blocks:
        place = -1 if "init_start" in trace.events else block.find(b'"init_start"')
        if place >= 0:  # which is faster to find than a pattern
            token = block.rfind(b":::MLLOG", 0, place)
            found = _EVENT.match(block, token) if token >= 0 else None
            event = _event(found.group(1)) if found else None
            if event is not None and event.key == "init_start":
                trace.add(event)
        yield block


def _events(payloads: Sequence[bytes | None]) -> Sequence[Event | None]:
    """Give the event of each payload, or None where it is no plain JSON.

    All at once is twice as fast as one by one. One that is torn or glued spoils that, or changes
    how many there are.
    """
    plain = [payload for payload in payloads if payload is not None and len(payload) <= LONGEST]
    if len(plain) == len(payloads):
        try:
            events: list[Event] = _decode_lines(b"\n".join(plain))
        except _NO_JSON:
            events = []
        if len(events) == len(plain):
            return events
    return [None if payload is None else _event(payload) for payload in payloads]


def _event(payload: bytes) -> Event | None:
    """Give the event of a payload, or None where it is no plain JSON."""
    if len(payload) > LONGEST:
        return None
    try:
        event: Event = _decode(payload)
    except _NO_JSON:
        return None
    return event


def _lenient_event(payload: bytes) -> Event | None:
    """Give the event of a payload in Python's or nobody's notation, or None."""
    try:
        fields = decode(payload) if payload.startswith(b"{") else None
    except ValueError:
        return None
    if not isinstance(fields, dict) or not isinstance(fields.get("key"), str):
        return None
    milliseconds, seconds = as_float(fields.get("time_ms")), as_float(fields.get("time_s"))
    return Event(
        fields["key"],
        value=fields.get("value"),
        metadata=as_mapping(fields.get("metadata")),
        time=seconds if milliseconds is None else milliseconds / 1e3,
    )
