"""MLPerf Training v0.7 and later: `:::MLLOG {"key": .., "time_ms": .., ..}`, milliseconds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from ttastats.base.records import Problem, Run
from ttastats.formats.dialect import Log
from ttastats_parsers.mlperf_events import Event, Metadata, Style, Trace, first_token
from ttastats_parsers.mlperf_grammar import runs_of
from ttastats_parsers.mlperf_scan import (
    LEFT_OUT,
    NO_JSON,
    TOKEN,
    WITHOUT_TRAINING,
    decoded_at_once,
    payloads_in,
)
from ttastats_parsers.payloads import as_float, decode

name = "mlperf-mllog"

_STYLE = Style(fractional_bleu=True)

_decode = msgspec.json.Decoder(Event).decode
_decode_lines = msgspec.json.Decoder(Event).decode_lines


def recognises(head: bytes) -> bool:
    """Return whether the first MLPerf token is the JSON one."""
    return first_token(head).startswith(TOKEN)


def parse(log: Log) -> Iterator[Run | Problem]:
    """Yield the one run of a log."""
    trace = Trace(log.metrics)
    left_out = LEFT_OUT if log.metrics == "evaluations" else WITHOUT_TRAINING
    line = 1
    for block in log.blocks():
        with_init = "init_start" not in trace.events
        payloads, lines, next_line = payloads_in(
            block, line, with_init=with_init, left_out=left_out
        )
        events = decoded_at_once(_decode_lines, payloads, len(lines))
        if events is not None:
            trace.add(events, lines)
        else:
            with_metadata = payloads_in(
                block, line, with_init=with_init, left_out=left_out, is_whole=True
            )
            _add_one_by_one(trace, with_metadata[0], lines)
        line = next_line
    yield from runs_of(trace, log, _STYLE)


def _add_one_by_one(trace: Trace, payloads: bytes, lines: Sequence[int]) -> None:
    """Add the events of payloads of which one is torn; several writers may have shared its line."""
    for content, line in zip(payloads.split(b"\n"), lines, strict=True):
        try:
            trace.add([_decode(content)], [line])
            continue
        except NO_JSON:
            parts = [part.strip() for part in content.split(TOKEN)]
        for payload in filter(None, parts) if any(parts) else [content]:
            if (event := _lenient_event(payload)) is not None:
                trace.add([event], [line])
            else:
                trace.skip(line, payload)


def _lenient_event(payload: bytes) -> Event | None:
    """Return the event of a payload in Python's notation or an invalid one, or None."""
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
        metadata=Metadata.from_value(fields.get("metadata")),
        time=seconds if milliseconds is None else milliseconds / 1e3,
    )
