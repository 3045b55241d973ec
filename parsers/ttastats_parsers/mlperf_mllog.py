"""MLPerf Training v0.7 and later: `:::MLLOG {"key": .., "time_ms": .., ..}`, milliseconds."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from ttastats.dialect import Log
from ttastats.records import Problem, Run
from ttastats_parsers.mlperf_events import (
    Event,
    Unreadable,
    as_float,
    as_mapping,
    decode,
    first_token,
    matches,
)
from ttastats_parsers.mlperf_grammar import Style, runs_of

name = "mlperf-mllog"

_LINE = re.compile(
    rb":::MLLOG[ \t]*+"
    # Most events are these few keys in the logger's own field order; skipping them before they
    # are decoded halves the work. A line in another order is decoded, and nothing is lost.
    rb'(?!\{"namespace": "[^"\n]*", "time_ms": \d+, "event_type": "\w+", "key": '
    rb'"(?:weights_initialization|cache_clear|tracked_stats|train_loss|power_reading|dummy'
    rb'|actual_selfplay_games_per_generation|num_games|resign_threshold)")'
    rb"(\{[^\n]*)?"
)
_STYLE = Style(fractional_bleu=True)


class _Line(msgspec.Struct, gc=False):
    key: str
    time_ms: float | None = None
    time_s: float | None = None
    value: Any = None
    metadata: Any = None


_decode_line = msgspec.json.Decoder(_Line).decode


def recognises(head: bytes) -> bool:
    """Tell whether the first MLPerf token is the JSON one."""
    return first_token(head).startswith(b":::MLLOG")


def parse(log: Log) -> Iterator[Run | Problem]:
    """Give the one run of a log."""
    events: list[Event] = []
    unreadable: list[Unreadable] = []
    for line, match in matches(log.blocks(), _LINE):
        payload = match.group(1)
        if payload is None:
            unreadable.append(Unreadable(line, match.group().decode("utf-8", "replace")))
            continue
        try:
            event = _line(payload)
        except ValueError:
            unreadable.append(Unreadable(line, payload.decode("utf-8", "replace")))
            continue
        time = event.time_s if event.time_ms is None else event.time_ms / 1e3
        events.append(Event(time, event.key, event.value, as_mapping(event.metadata), line))
    yield from runs_of(events, unreadable, log, _STYLE)


def _line(payload: bytes) -> _Line:
    try:
        return _decode_line(payload)
    except (msgspec.DecodeError, UnicodeDecodeError):
        pass
    fields = decode(payload)
    if not isinstance(fields, dict) or not isinstance(fields.get("key"), str):
        raise ValueError("no key")
    return _Line(
        fields["key"],
        as_float(fields.get("time_ms")),
        as_float(fields.get("time_s")),
        fields.get("value"),
        fields.get("metadata"),
    )
