"""MLPerf Training v0.6: `:::MLL 1560888652.055 key: {"value": .., "metadata": {..}}`, seconds."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ttastats.base.records import Problem, Run
from ttastats.formats.dialect import Log
from ttastats_parsers.mlperf_events import REST, Event, Metadata, Style, Trace, first_token, matches
from ttastats_parsers.mlperf_grammar import runs_of
from ttastats_parsers.payloads import as_mapping, decode, seconds_of

name = "mlperf-mll"

_LINE = re.compile(rb":::MLL[ \t]+([0-9.]+)[ \t]+(?!model_hp_)(\w+)[ \t]*:[ \t]*" + REST)
_TORN = re.compile(rb":::MLL[ \t]++(?![0-9.]+[ \t]+\w+[ \t]*:)" + REST)
_STYLE = Style(round="v0.6")


def recognises(head: bytes) -> bool:
    """Return whether the first MLPerf token is v0.6's."""
    return first_token(head) in {b":::MLL ", b":::MLL\t"}


def parse(log: Log) -> Iterator[Run | Problem]:
    """Yield the one run of a v0.6 log."""
    trace = Trace(log.metrics)
    for line, match in matches(log.blocks(), _TORN):
        trace.skip(line, match.group())
    for line, match in matches(log.blocks(), _LINE):
        stamp, key, payload = match.groups()
        try:
            time, body = seconds_of(stamp), as_mapping(decode(payload.strip()))
        except ValueError:
            trace.skip(line, match.group())
            continue
        metadata = Metadata.from_value(body.get("metadata"))
        event = Event(key.decode(), value=body.get("value"), metadata=metadata, time=time)
        trace.add([event], [line])
    yield from runs_of(trace, log, _STYLE)
