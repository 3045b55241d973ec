"""Where in a block of a `:::MLLOG` log are the lines that matter?

Most of a log is program output, and most of its events decide nothing. Finding the others is a
third of the work of reading, so it is done in C where a compiler was at hand (`_scan.c`), and else
here, in Python; the two give the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import TypeVar

import msgspec

from ttastats_parsers.payloads import LONGEST

#: Payloads joined by line feeds, the line of each, and the line on which the next block begins.
#: Where no brace is behind a token, the token itself is given; a long payload is cut at `LONGEST`.
#: Those in the logger's own field order lack what decides nothing, half of what is to be decoded:
#: namespace, kind of event and place in the source.
Payloads = tuple[bytes, list[int], int]

_AnEvent = TypeVar("_AnEvent")

_compiled: (
    Callable[[bytes, int, bytes, int, tuple[bytes, ...], bytes | None, bool], Payloads] | None
)
try:
    from ttastats_parsers._scan import scan as _compiled
except ImportError:  # no compiler was at hand
    _compiled = None

TOKEN = b":::MLLOG"
#: Every rank logs when it begins; only the first counts.
_INIT = b"init_start"
#: Events that are most of a log, in the logger's own field order, and decide nothing. Leaving them
#: out before they are decoded halves the work; one in another order is decoded all the same.
LEFT_OUT = (
    _INIT, b"weights_initialization", b"tracked_stats", b"cache_clear", b"power_reading",
    b"eval_stop", b"train_loss", b"block_start", b"epoch_start", b"dummy", b"num_games",
    b"resign_threshold", b"save_model", b"actual_selfplay_games_per_generation",
    b"min_selfplay_games_per_generation",
)  # fmt: skip
#: The same where training metrics are wanted.
WITHOUT_TRAINING = tuple(key for key in LEFT_OUT if key not in {b"tracked_stats", b"train_loss"})
_BEFORE_KEY = rb'\{"namespace": "[^"\n]*+", "time_ms": [^,\n]*+, "event_type": "[^"\n]*+", "key": "'
_POSITION = re.compile(
    rb'\{"namespace": "", ("time_ms": \d++, )'
    rb'"event_type": "(?:POINT_IN_TIME|INTERVAL_(?:START|END))", '
    rb'("key": "[^"\n]*+", "value": (?:"[^"\n]*+"|(?!["{\[])[^,\n]*+))(, "metadata": \{)'
    rb'"file": "[^"\\\x00-\x1f]*+", "lineno": [1-9]\d*+(?:, (?=")|(\})(?=\}))'
)


@cache
def _line(left_out: tuple[bytes, ...]) -> re.Pattern[bytes]:
    keys = b"|".join(left_out)
    return re.compile(TOKEN + rb"[ \t]*+(?!" + _BEFORE_KEY + b"(?:" + keys + rb')")(\{[^\n]*+)?')


def payloads_in(
    block: bytes,
    line: int,
    *,
    with_init: bool,
    left_out: tuple[bytes, ...] = LEFT_OUT,
    is_whole: bool = False,
) -> Payloads:
    """Return the relevant payloads in a block and their line numbers.

    With `with_init`, the first `init_start` of the block matters; events of the keys `left_out` in
    the logger's own field order do not. Where messages show payloads, they are given `is_whole`.
    """
    if _compiled is not None:
        init = _INIT if with_init else None
        return _compiled(block, line, TOKEN, LONGEST, left_out, init, is_whole)
    payloads: list[bytes] = []
    lines: list[int] = []
    position = 0
    for match in _matches(block, left_out, with_init=with_init):
        line += block.count(b"\n", position, match.start())
        position = match.start()
        payload = (match[match.lastindex] if match.lastindex else TOKEN)[:LONGEST]
        if not is_whole and (metadata := _POSITION.match(payload)) is not None:
            separator = b"" if metadata[4] else metadata[3]  # where nothing is left of the metadata
            payload = b"{%b%b%b%b" % (
                metadata[1],
                metadata[2],
                separator,
                payload[metadata.end() :],
            )
        payloads.append(payload)
        lines.append(line)
    return b"\n".join(payloads), lines, line + block.count(b"\n", position)


def _matches(
    block: bytes, left_out: tuple[bytes, ...], *, with_init: bool
) -> Iterator[re.Match[bytes]]:
    """Yield the relevant tokens of a block, each with its payload."""
    position = 0
    if with_init:
        init = TOKEN + rb"[ \t]*+(?P<init>" + _BEFORE_KEY + _INIT + rb'"[^\n]*+)|'
        for match in re.finditer(init + _line(left_out).pattern, block):
            yield match
            position = match.end()
            if match["init"] is not None:
                break
    yield from _line(left_out).finditer(block, position)


#: What the decoder raises for payloads that are not JSON.
NO_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def decoded_at_once(
    decode_lines: Callable[[bytes], list[_AnEvent]], payloads: bytes, count: int
) -> list[_AnEvent] | None:
    """Return the events of payloads decoded together, or None if one is invalid, torn or glued."""
    try:
        events = decode_lines(payloads)
    except NO_JSON:
        return None
    return events if len(events) == count else None
