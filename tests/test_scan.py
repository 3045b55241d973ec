"""Finding the lines that matter: in C and in Python alike."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any
from unittest import mock

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ttastats_parsers import mlperf_scan
from ttastats_parsers.mlperf_events import Event
from ttastats_parsers.mlperf_scan import LEFT_OUT, NO_JSON, WITHOUT_TRAINING, payloads_in
from ttastats_parsers.payloads import LONGEST

COMPILED = mlperf_scan._compiled is not None
needs_compiled = pytest.mark.skipif(not COMPILED, reason="installed without a compiler")


def payloads_in_python(*words: Any, **more: Any) -> mlperf_scan.Payloads:
    """Return the payloads that the Python scanner finds."""
    with mock.patch.object(mlperf_scan, "_compiled", None):
        return payloads_in(*words, **more)


def event(key: str, rest: str = ', "value": 1}', kind: str = "INTERVAL_START") -> str:
    head = f':::MLLOG {{"namespace": "", "time_ms": 1700000000000, "event_type": "{kind}", '
    return f'{head}"key": "{key}"{rest}'


def payload(line: str) -> bytes:
    return line[line.index("{") :].encode()


def decoded(text: bytes) -> Event | None:
    try:
        return msgspec.json.decode(text, type=Event)
    except NO_JSON:
        return None


@pytest.fixture(params=["compiled", "python"])
def scan(request: pytest.FixtureRequest):
    if request.param == "compiled" and not COMPILED:
        pytest.skip("installed without a compiler")
    return payloads_in if request.param == "compiled" else payloads_in_python


def test_events_that_matter_come_with_their_lines(scan) -> None:
    start, score = event("run_start"), event("eval_accuracy")
    text = f"output\n{start}\n\nmore\r output\nrank 3: {score}\n{event('tracked_stats')}\nend"
    result = scan(text.encode(), 10, with_init=True)
    assert result == (payload(start) + b"\n" + payload(score), [11, 14], 16)
    assert scan(b"", 7, with_init=True) == (b"", [], 7)


PLACE = '"metadata": {"file": "a.py", "lineno": 7'
#: Values, and what follows them, of events of which nothing can be cut out.
NOT_PLAIN = (
    '1, "metadata": {"file": "a.py", "lineno": 07, "epoch_num": 3}}',
    '1, "metadata": {"file": "a.py", "lineno": 7.5, "epoch_num": 3}}',
    '1, "metadata": {"file": "a\\", "lineno": 7, "epoch_num": "}}',
    '1, "metadata": {"file": "a\tb", "lineno": 7, "epoch_num": 3}}',
    f"1, {PLACE}, }}}}", f'1, {PLACE} "epoch_num": 3}}}}',
    '1, "metadata": {"lineno": 7, "epoch_num": 3}}',
    f'[1], {PLACE}, "epoch_num": 3}}}}', f'{{"a": 1, {PLACE}, "epoch_num": 3}}}}}}',
)  # fmt: skip
WHOLE = (
    event("dummy_batches"),  # begins like the name of one that decides nothing
    # Their fields are in another order, or torn.
    ':::MLLOG {"key": "tracked_stats", "value": 1}',
    ':::MLLOG {"namespace": "", "time_ms": 1, "value": {"key": "tracked_stats"}}',
    ':::MLLOG {"namespace": "", "time_ms": 1, "event_type": "A", "key": tracked_stats}',
    ':::MLLOG {"namespace": "", "time_ms": 1',
    *(event("eval_accuracy", f', "value": {rest}') for rest in NOT_PLAIN),
)


@pytest.mark.parametrize("line", WHOLE)
def test_an_event_that_is_not_plain_is_given_whole(scan, line: str) -> None:
    assert scan(line.encode(), 1, with_init=True)[0] == payload(line)


def test_the_first_rank_to_begin_counts(scan) -> None:
    ranks = [event("init_start", f', "rank": {rank}}}') for rank in range(3)]
    text = "\n".join([event("seed"), *ranks, event("run_start")]).encode()
    expected = [payload(line) for line in (event("seed"), ranks[0], event("run_start"))]
    assert scan(text, 1, with_init=True)[:2] == (b"\n".join(expected), [1, 2, 5])
    assert scan(text, 1, with_init=False)[1] == [1, 5]


def test_a_token_without_an_event_is_given_itself(scan) -> None:
    events, lines, _ = scan(b":::MLLOG\n:::MLLOG \t:::MLLOG x {}\n", 1, with_init=True)
    assert (events, lines) == (b"\n".join([b":::MLLOG"] * 3), [1, 2, 2])


def test_fields_that_decide_nothing_are_cut_out_of_an_event(scan) -> None:
    line = event("eval_accuracy", f', "value": 0.5, {PLACE}, "epoch_num": 3}}}}')
    shorter = b'{"time_ms": 1700000000000, "key": "eval_accuracy", "value": 0.5, '
    shorter += b'"metadata": {"epoch_num": 3}}'
    assert scan(line.encode(), 1, with_init=True)[0] == shorter
    assert scan(line.encode(), 1, with_init=True, is_whole=True)[0] == payload(line)
    content, _, _ = scan(b":::MLLOG {" + b"1" * (2 * LONGEST), 1, with_init=True)
    assert content == b"{" + b"1" * (LONGEST - 1)


PIECES = [
    ":::MLLOG", ":::ML", ":", " ", "\t", "\n", "\r", "{", "}", '"', ",", "\x00", "é",
    '{"namespace": "', '", "time_ms": ', "17", ', "event_type": "', "INTERVAL_END",
    '", "key": "', "init_start", "tracked_stats", "run_start", event("init_start") + "\n",
    event("cache_clear") + "\n", event("train_loss") + "\n",
    event("eval_accuracy") + "\n", event("dummy"), "x" * 300 + "\n",
    event("eval_accuracy", ', "value": '), '"a"', ', "metadata": {', '"file": "', "a.py",
    '", "lineno": ', "70", ', "epoch_num": 1', "}}\n",
]  # fmt: skip


EVALUATED = event("eval_accuracy", f', "value": 1, {PLACE}, "epoch_num": 3}}}}')
LINE = f"{EVALUATED}\n{event('init_start')}".encode()
#: Pieces of lines in any order, and a line cut and spoiled.
BLOCKS = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=40).map(lambda pieces: "".join(pieces).encode()),
    st.builds(
        lambda noise, place: LINE[:place] + noise + LINE[place // 2 :],
        st.binary(max_size=60),
        st.integers(0, 400),
    ),
)


@needs_compiled
@settings(max_examples=200)
@given(BLOCKS, st.booleans(), st.sampled_from([LEFT_OUT, WITHOUT_TRAINING]))
def test_c_finds_what_python_finds(
    block: bytes, with_init: bool, left_out: tuple[bytes, ...]
) -> None:
    expected = payloads_in_python(block, 3, with_init=with_init, left_out=left_out)
    assert payloads_in(block, 3, with_init=with_init, left_out=left_out) == expected


@needs_compiled
@given(st.text('"\\\x01{},: 70a', max_size=3), st.integers(0, 250), st.integers(0, 9))
def test_an_event_says_the_same_without_what_is_cut_out(noise: str, place: int, lost: int) -> None:
    block = f"{EVALUATED[:place]}{noise}{EVALUATED[place + lost :]}".encode()
    shorter, whole = (
        payloads_in(block, 1, with_init=True, is_whole=is_whole)[0] for is_whole in (False, True)
    )
    assert decoded(shorter) == decoded(whole)


@needs_compiled
@pytest.mark.parametrize("block", [None, "text", bytearray(b":::MLLOG")])
def test_only_bytes_are_scanned(block: object) -> None:
    with pytest.raises(TypeError):
        payloads_in(block, 1, with_init=True)  # type: ignore[arg-type]


@pytest.mark.skipif(shutil.which("cc") is None, reason="no compiler is at hand")
def test_it_is_compiled_where_a_compiler_is_at_hand() -> None:
    assert COMPILED


def test_no_format_is_for_newer_pythons_alone() -> None:
    source = Path(mlperf_scan.__file__).with_name("_scan.c")
    if not source.exists():
        pytest.skip("the installed package has no source of it")
    # Built with Python 3.13 these would be calls that raise a SystemError in 3.11 and 3.12.
    assert re.findall(r'"[^"]*[suyz]#[^"]*"', source.read_text("utf-8")) == []
