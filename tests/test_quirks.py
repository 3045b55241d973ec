"""Odd values and long lines of real logs are read, in time linear in their length."""

from __future__ import annotations

from typing import Any

import pytest

from tests import made_logs
from tests.programs import cpu_limit
from ttastats.base.records import Run
from ttastats.formats.dialect import log_from_bytes
from ttastats.ingestion import registry
from ttastats.outcomes import time_to_target
from ttastats.table import tables

PLACE = "/x/v4.0/Org/results/big/resnet/result_0.txt"
GOOD = made_logs.line("eval_accuracy", 0.7591, 100, epoch_num=40).encode()


def log(*lines: bytes) -> bytes:
    begun = made_logs.line("submission_benchmark", "resnet") + made_logs.line("run_start", None, 9)
    return b"".join((begun.encode(), *lines))


def row(run: Run) -> dict[str, Any]:
    """Return the row of a run as commands see it."""
    frame = tables.table_of_runs([tables.SourcedRun(run, "a", "0" * 32, 0, "mlperf-mllog")])
    return time_to_target.runs(frame).row(0, named=True)


NESTED = b"[" * 100_000
ODD_VALUES = [
    NESTED,
    NESTED + b"]" * 100_000,
    b'{"a":' * 5_000 + b"1" + b"}" * 5_000,
    b"-" * 10_000 + b"1",
    b"(" * 5_000,
    b"9" * 5_000,
    b"0x" + b"f" * 5_000,
    b"-0x" + b"f" * 5_000,
    b"1e999",
    b'"\\ud800"',
    b'"\xff"',
    b"1+2j",
    b"{1, 2}",
    b"{(1, 2): 3}",
    b"{1: {2.5: 3}, 1.0: [{4: 5}]}",
    b"{None: 3}",
    b"...",
    b"b'x'",
    b"'\\d'",
    b"1if 2else 3",
    b"{" + b"a, " * 3_000,
    b"{a" + b" " * 10_000,
    b"," + b" " * 10_000,
    b"a." * 7_000,
]


@pytest.mark.parametrize("value", ODD_VALUES, ids=lambda value: repr(value[:12]))
@pytest.mark.parametrize("key", ["eval_accuracy", "seed", "made_up", "run_stop", "eval_start"])
def test_an_odd_value_is_never_more_than_a_problem(key: str, value: bytes) -> None:
    odd = b':::MLLOG {"time_ms": 1767225650000, "key": "%b", "value": %b, "metadata": {}}\n'
    with cpu_limit(1.0):
        data = log(odd % (key.encode(), value), GOOD)
        dialect = registry.recognise(data)
        assert dialect is not None
        (run,) = dialect.parse(log_from_bytes(data, PLACE))
        assert isinstance(run, Run)
        assert row(run)["value_final"] == 0.7591


@pytest.mark.parametrize("number", [b"9" * 5_000, b"-0x" + b"f" * 5_000, b"-0x" + b"f" * 3_000])
def test_a_description_of_a_system_may_hold_any_number(number: bytes) -> None:
    """Python makes no text of a whole number of more than 4,300 digits."""
    beside = {"/x/v4.0/Org/systems/big.json": b'framework: {"value": %b}' % number}
    (run,) = registry.named("mlperf-mllog").parse(log_from_bytes(log(GOOD), PLACE, beside))
    assert isinstance(run, Run)
    assert len(run.framework or "") < 4_300


@pytest.mark.parametrize(
    "line",
    [
        b":::MLPv0.5.0 a 1 (" * 10_000,
        b":::MLL 1 a " * 10_000,
        b":::MLL " + b"1" * 300_000,
        b':::MLLOG {"namespace": "' * 10_000,
        b':::MLLOG {"key": "init_start' * 10_000,
        b":::MLLOG {" * 10_000,
        b":::ML" * 130_000,
        b":::MLLOG " + b" " * 700_000,
        b":::MLPv0.5.0 " + b"a" * 700_000,
        b':::MLLOG {"key": "x", "value": "' + b"a" * 1_000_000,
        b'{"author' * 130_000,
    ],
    ids=lambda line: repr(line[:24]),
)
def test_a_long_line_takes_no_more_than_its_length(line: bytes) -> None:
    data = log(GOOD) + line + b"\n" + line
    with cpu_limit(2.0):
        for name in ("mlperf-v0.5", "mlperf-mll", "mlperf-mllog", "dawnbench"):
            dialect = registry.named(name)
            dialect.recognises(data)
            list(dialect.parse(log_from_bytes(data)))


def test_numbers_may_name_scores() -> None:
    scores = b':::MLLOG {"time_ms": 1767225650000, "key": "eval_accuracy", "value": {1: 0.5}}\n'
    (run,) = registry.named("mlperf-mllog").parse(log_from_bytes(log(scores, GOOD), PLACE))
    assert isinstance(run, Run)
    assert [evaluation.metric for evaluation in run.evaluations] == ["1", "top1_accuracy"]
