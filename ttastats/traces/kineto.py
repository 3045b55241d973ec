"""What does a trace of PyTorch (Chrome JSON, as Kineto writes it) say of the steps it shows?"""

from __future__ import annotations

import re
from collections.abc import Iterable

import polars as pl
from msgspec import Struct

from ttastats.base.records import Problem, without_garbage_collection
from ttastats.traces.pieces import NoTraceError, TraceInfo, event_pieces

_HEAD_BYTES = 65536
_OPENING = re.compile(rb"(?:\xef\xbb\xbf)?\s*[\[{]")
_KEYS = (b'"traceEvents"', b'"deviceProperties"', b'"baseTimeNanoseconds"', b'"ph"')
_HEAD = re.compile(
    rb'(?:\xef\xbb\xbf)?\s*(?:\{.*?"(?:traceEvents|deviceProperties|baseTimeNanoseconds)"\s*:|'
    rb'\[?\s*\{[^{}]*"ph"\s*:\s*"[XMisfBEbeC]")',
    re.DOTALL,
)


def recognises(head: bytes) -> bool:
    """Return whether the first block of a file is that of a trace."""
    if _OPENING.match(head) is None or not any(key in head[:_HEAD_BYTES] for key in _KEYS):
        return False  # of most files, before a pattern tries every quote
    return _HEAD.match(head, 0, _HEAD_BYTES) is not None


class ReadTrace(Struct, frozen=True):
    """The content of one trace: rows of a profile without its name, and problems."""

    rows: pl.DataFrame
    rank: int | None
    world_size: int | None
    problems: tuple[Problem, ...]
    origin: str = "kineto"


def read_trace(chunks: Iterable[bytes]) -> ReadTrace:
    """Return the steps and metadata of a trace, read in bounded memory; NoTraceError if empty."""
    from ttastats.traces import analysis  # NumPy, which most logs are read without
    from ttastats.traces.events import Events

    events, info = Events(), TraceInfo()
    with without_garbage_collection():
        for events_of_piece in event_pieces(chunks, info):
            events.add(events_of_piece)
    if not (len(events.operators) or len(events.device) or len(events.ranges)):
        raise NoTraceError
    problems = []
    if info.ending:
        message = (
            f"the trace is truncated ({info.ending}); everything before that is read, but "
            "device activity may be missing"
        )
        problems.append(Problem("truncated_trace", message))
    if info.damaged:
        message = f"{info.damaged:,} unreadable events are ignored"
        problems.append(Problem("damaged_events", message))
    if len(events.ranges):
        message = (
            "CUPTI counted instructions of its kernels, which slowed them down many times; their "
            "times are ignored"
        )
        problems.append(Problem("counted_instructions", message, "info"))
    rows = analysis.profile_rows(events, info.head)
    distributed = info.head.get("distributedInfo")
    team = distributed if isinstance(distributed, dict) else {}
    rank, size = (
        number if isinstance(number := team.get(name), int) and number >= least else None
        for name, least in (("rank", 0), ("world_size", 1))
    )
    origin = "autograd" if events.is_before_kineto else "kineto"
    return ReadTrace(rows, rank, size, tuple(problems), origin)
