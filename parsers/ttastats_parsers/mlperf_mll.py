"""MLPerf Training v0.6: `:::MLL 1560888652.055 key: {"value": .., "metadata": {..}}`, seconds."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ttastats.base.records import Problem, Run
from ttastats.formats.dialect import Log
from ttastats_parsers.mlperf_events import REST, Event, Metadata, Style, first_token, read_lines
from ttastats_parsers.mlperf_grammar import runs_of
from ttastats_parsers.payloads import as_mapping, decode, seconds_of

name = "mlperf-mll"

#: A line without a key is torn; the settings of models are most of a log and decide nothing.
_LINE = re.compile(
    rb":::MLL[ \t]++(?:([0-9.]+)[ \t]+(?!model_hp_)(\w+)[ \t]*:[ \t]*"
    + REST
    + rb"|(?![0-9.]+[ \t]+\w+[ \t]*:)"
    + REST
    + rb")"
)


def recognises(head: bytes) -> bool:
    """Return whether the first MLPerf token is v0.6's."""
    return first_token(head) in {b":::MLL ", b":::MLL\t"}


def parse(log: Log) -> Iterator[Run | Problem]:
    """Yield the one run of a v0.6 log."""
    yield from runs_of(read_lines(log, _LINE, _event), log, Style(round="v0.6"))


def _event(match: re.Match[bytes]) -> Event:
    """Return the event of a line."""
    stamp, key, payload, _ = match.groups(b"")
    body = as_mapping(decode(payload.strip()))
    metadata = Metadata.from_value(body.get("metadata"))
    return Event(key.decode(), None, seconds_of(stamp), body.get("value"), metadata)
