"""Any bytes may come: nothing escapes a reader, nothing is made up, and it ends soon."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.conftest import FIXTURES
from ttastats import registry, tables
from ttastats.dialect import log_from_bytes
from ttastats.records import Problem, Run

LOGS = [p.read_bytes() for p in sorted(FIXTURES.glob("*/*")) if ".expected." not in p.name]
LINES = sorted({line for log in LOGS for line in log.split(b"\n")})
DIALECTS = sorted(registry.dialects())
NUMBER = re.compile(rb"(?:\d++\.?\d*+|\.\d++)(?:[eE][-+]?\d++)?")

positions = st.integers(0, 3_000)
odd_values = st.sampled_from(
    [
        *(b"NaN", b"-Infinity", b"1e999", b"-1e308", b"null", b"None", b'""', b"[]", b"{}", b"..."),
        *(b"9" * 400, b"9" * 5_000, b"[" * 5_000, b"[" * 400 + b"]" * 400, b'{"a":' * 2_000),
        *(b" " * 20_000, b"(" * 20_000, b":" * 20_000, b"\\" * 999, b"\r", b"\xff\xfe", b"\x00"),
        *(b":::MLLOG ", b":::MLL ", b":::MLPv0.5.0 a 1 (b) ", b":::ML"),
    ]
)


@st.composite
def mutilated(draw: st.DrawFn) -> bytes:
    """Give a fixture after a few misfortunes."""
    log = draw(st.sampled_from(LOGS))
    for _ in range(draw(st.integers(1, 4))):
        start, length = draw(positions) % (len(log) + 1), draw(st.integers(0, 200))
        way = draw(
            st.sampled_from(["cut", "drop", "repeat", "flip", "insert", "splice", "swap", "value"])
        )
        before, piece, behind = log[:start], log[start : start + length], log[start + length :]
        if way == "cut":
            log = before
        elif way == "drop":
            log = before + behind
        elif way == "repeat":
            log = before + piece * draw(st.integers(2, 20)) + behind
        elif way == "flip":
            log = before + bytes(255 - byte for byte in piece[:3]) + piece[3:] + behind
        elif way == "insert":
            log = before + draw(odd_values) + piece + behind
        elif way == "splice":
            log = before + draw(st.sampled_from(LOGS))[start:]
        elif way == "swap":
            log = behind + piece + before
        else:
            at = log.find(b": ", start) + 2
            end = next((i for i in range(at, len(log)) if log[i] in b",}\n"), len(log))
            log = log[:at] + draw(odd_values) + log[end:]
    return log


def read(name: str, content: bytes) -> list[Run | Problem]:
    dialect = registry.named(name)
    dialect.recognises(content)
    return list(dialect.parse(log_from_bytes(content, "/x/v5.0/Org/results/big/bert/result_0.txt")))


def made_up(runs: list[Run], content: bytes) -> list[float]:
    """Give the scores that are not written in the text."""
    written = {float(text) for text in NUMBER.findall(content)}
    logged = (e.logged_value for run in runs for e in run.evaluations)
    return [value for value in logged if value is not None and abs(value) not in written]


def check(content: bytes) -> None:
    for name in DIALECTS:
        begun = time.process_time()
        found = read(name, content)
        assert time.process_time() - begun < 2.0
        runs = [item for item in found if isinstance(item, Run)]
        assert made_up(runs, content) == []
        tables.frame_of([tables.SourcedRun(run, "a", "0" * 32, 0, name) for run in runs])


SHORT = settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))


@SHORT
@given(mutilated())
def test_a_mutilated_log_is_read_as_far_as_it_goes(content: bytes) -> None:
    check(content)


@SHORT
@given(st.lists(st.sampled_from(LINES), max_size=40), st.sampled_from([b"\n", b"\r\n", b"\r", b""]))
def test_lines_of_all_formats_in_any_order_are_read(lines: list[bytes], end: bytes) -> None:
    check(end.join(lines))


@SHORT
@given(st.binary(max_size=300), st.sampled_from([b"", b":::MLLOG {", b":::MLL 1 a: ", b"epoch\t"]))
def test_bytes_that_are_no_log_are_read(content: bytes, token: bytes) -> None:
    check(token + content)


@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.parametrize("piece", [b"a", b"\r 58%|####  ", b"{", b'"', b"0,", b":::MLLOG {"])
def test_a_line_of_megabytes_is_read_in_bounded_time(name: str, piece: bytes) -> None:
    log = next(log for log in LOGS if registry.recognise(log) is registry.named(name))
    content = log.rstrip(b"\n") + piece * (3_000_000 // len(piece)) + b"\n" + log
    begun = time.process_time()
    read(name, content)
    assert time.process_time() - begun < 8.0


def test_a_score_that_is_not_in_the_text_would_be_noticed() -> None:
    (log,) = (log for log in LOGS if b'"value": 0.9705' in log)
    runs = [item for item in read("mlperf-mllog", log) if isinstance(item, Run)]
    assert made_up(runs, log) == []
    assert made_up(runs, log.replace(b"0.9705", b"0.9706")) == [0.9705]
