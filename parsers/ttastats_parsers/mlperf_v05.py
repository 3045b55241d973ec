"""MLPerf Training v0.5: `:::MLPv0.5.0 resnet 1541720386.71 (file.py:49) key: payload`, seconds."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ttastats.base.records import Problem, Run
from ttastats.formats.dialect import Log
from ttastats_parsers.mlperf_events import REST, Event, Metadata, Style, first_token, read_lines
from ttastats_parsers.mlperf_grammar import runs_of
from ttastats_parsers.payloads import as_int, decode, seconds_of

name = "mlperf-v0.5"

#: Benchmark, seconds and the place in the source, which no real line writes longer than this.
_HEAD = rb"0\.5\.\d+[ \t]+\S+[ \t]+[0-9.]+[ \t]+\([^\n]{0,512}?\)[ \t]+"
#: A line without a head is torn.
_LINE = re.compile(
    rb":::MLPv(?:(" + _HEAD + rb")"
    # The schedules and layers of a model are most of a log and decide nothing.
    rb"(?!model_|opt_learning_rate|opt_hp_|eval_hp_|input_hp_|eval_size|run_set_random_seed)"
    rb"(\w+)[ \t]*:?[ \t]*" + REST + rb"|(?!" + _HEAD + rb"\w)" + REST + rb")"
)
_STYLE = Style(round="v0.5", counts_cache_clears=True, labels_epoch_just_trained=True)


def recognises(head: bytes) -> bool:
    """Return whether the first MLPerf token is v0.5's."""
    return first_token(head).startswith(b":::MLPv0.5")


def parse(log: Log) -> Iterator[Run | Problem]:
    """Yield the one run of a v0.5 log."""
    benchmarks: list[bytes] = []

    def event_of(match: re.Match[bytes]) -> Event:
        head, key, payload, _ = match.groups(b"")
        _, benchmark, stamp, _ = head.split(None, 3)
        benchmarks.append(benchmark)
        return _event(seconds_of(stamp), key.decode(), payload.strip())

    trace = read_lines(log, _LINE, event_of)
    benchmark = benchmarks[0].decode("utf-8", "replace") if benchmarks else None
    yield from runs_of(trace, log, _STYLE, benchmark)


def _event(time: float, key: str, payload: bytes) -> Event:
    """Return the event of a line, whose payload depends on its key."""
    value: Any = None
    epoch: Any = None
    if key == "train_epoch":
        # One system writes prose behind the number: "61, but this epoch only has ...".
        digits = re.match(rb'"?(-?\d+)', payload)
        value = int(digits.group(1)) if digits else None
    elif payload:
        value = decode(payload)
    if key == "eval_accuracy" and isinstance(value, dict):
        epoch, value = value.get("epoch"), value.get("value")
    elif key in {"eval_start", "eval_stop"}:
        epoch = as_int(value)
    return Event(key, None, time, value, Metadata(epoch_num=epoch))
