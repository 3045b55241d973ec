"""What real logs do that a reader must survive: words, names, folders and sizes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.programs import within
from ttastats.base.records import Problem, Run
from ttastats.formats.dialect import log_from_bytes
from ttastats.ingestion import registry
from ttastats.outcomes import time_to_target
from ttastats.table import tables
from ttastats_parsers.mlflow import Logged, StoredRun, run_of

START = 1_600_000_000_000
PLACE = "/x/v4.0/Org/results/big/resnet/result_0.txt"


def line(key: str, seconds: float, value: Any = None, **metadata: Any) -> bytes:
    """Return one line of the JSON dialect, its time in seconds after the start of the run."""
    stamp = START + round(seconds * 1000)
    fields = {"time_ms": stamp, "key": key, "value": value, "metadata": metadata}
    return f":::MLLOG {json.dumps(fields)}\n".encode()


def log(*lines: bytes, benchmark: str = "resnet") -> bytes:
    return b"".join((line("submission_benchmark", -9, benchmark), line("run_start", 0), *lines))


def items(
    data: bytes, path: str = PLACE, companions: dict[str, bytes] | None = None
) -> list[Run | Problem]:
    dialect = registry.recognise(data)
    assert dialect is not None
    return list(dialect.parse(log_from_bytes(data, path, companions)))


def read(data: bytes, path: str = PLACE, companions: dict[str, bytes] | None = None) -> Run:
    (run,) = items(data, path, companions)
    assert isinstance(run, Run)
    return run


def row(run: Run) -> dict[str, Any]:
    """Return the row of a run as commands see it."""
    frame = tables.table_of_runs([tables.SourcedRun(run, "a", "0" * 32, 0, "mlperf-mllog")])
    return time_to_target.runs(frame).row(0, named=True)


def codes(run: Run) -> set[str]:
    return {problem.code for problem in run.problems}


GOOD = line("eval_accuracy", 100, 0.7591, epoch_num=40)
STOP = line("run_stop", 101, status="success")


@pytest.mark.parametrize(
    ("value", "metadata", "status"),
    [
        (None, {"status": "success"}, "success"),
        (None, {"status": " SUCCESS "}, "success"),
        ("succuss", {}, "success"),
        ("succuss", {"status": None}, "success"),
        (None, {"success": True}, "success"),
        ({"success": True}, {}, "success"),
        ({"success": "true"}, {"status": ""}, "success"),
        ({"status": "success"}, {}, "success"),
        (0.76, {"status": "success"}, "success"),
        (None, {"status": "'success'"}, "success"),
        (None, {"status": "aborted"}, "aborted"),
        (None, {"status": "abort"}, "aborted"),
        (None, {"status": "fail"}, "aborted"),
        ({"success": False}, {}, "aborted"),
        (None, {}, "unknown"),
        (None, {"status": "perhaps"}, "unknown"),
        (None, {"status": ["success"]}, "unknown"),
        (0.76, {}, "unknown"),
    ],
)
def test_every_spelling_of_a_status_is_understood(
    value: Any, metadata: dict[str, Any], status: str
) -> None:
    run = read(log(GOOD, line("run_stop", 101, value, **metadata)))
    assert run.run_status == status
    assert ("no_status" in codes(run)) == (status == "unknown")


def test_an_evaluation_before_the_start_is_never_the_crossing() -> None:
    early = line("eval_accuracy", -50, 0.77, epoch_num=0)
    run = row(read(log(early, GOOD, STOP)))
    assert (run["reached"], run["tta_seconds"], run["epochs"]) == (True, 101.0, 40.0)
    only = row(read(log(early, STOP)))
    assert (only["reached"], only["tta_seconds"]) == (False, None)


def test_evaluations_hours_after_the_stop_do_not_lengthen_the_run() -> None:
    late = line("eval_accuracy", 21_000, 0.7591, epoch_num=40)
    run = row(read(log(STOP, late)))
    assert (run["reached"], run["tta_seconds"]) == (True, 101.0)


def test_an_infinite_score_does_not_meet_the_target() -> None:
    data = log(line("eval_accuracy", 100, float("inf")), STOP)
    run = read(data)
    assert "unreadable_score" in codes(run)
    assert row(run)["reached"] is False


def test_weights_are_those_of_the_stretch_before_where_all_labels_are_alike() -> None:
    stretches = [
        line(key, seconds, value, epoch_num=1)
        for key, seconds, value in (
            ("eval_start", 90, None),
            ("eval_accuracy", 100, 0.3),
            ("eval_start", 190, None),
            ("eval_accuracy", 200, 0.4),
            ("epoch_stop", 300, None),
        )
    ]
    run = read(log(*stretches))
    assert [e.weights_seconds for e in run.evaluations] == [90.0, 190.0]


def test_initialisation_is_from_its_first_line_to_its_last() -> None:
    again = [line("init_start", -9), line("init_start", -8), line("init_stop", -3), GOOD, STOP]
    assert read(log(*again, line("init_stop", -2))).extra["init_seconds"] == 7.0
    untimed = line("init_stop", -2).replace(b'"time_ms": ', b'"time_ns": ')
    assert "init_seconds" not in read(log(*again[:2], GOOD, STOP, untimed)).extra


def test_of_a_key_logged_again_the_first_value_counts() -> None:
    again = [line("global_batch_size", 0, value) for value in (None, 7, 8, None)]
    assert read(log(*again, GOOD, STOP)).global_batch_size == 7


def test_train_samples_logged_at_the_end_belong_to_the_last_evaluation() -> None:
    scores = [line("eval_accuracy", 10 * n, n / 10) for n in (1, 2, 3)]
    end = (line("train_samples", 31, 3000), line("run_stop", 32, status="success"))
    found = read(log(*scores, *end, benchmark="bert")).evaluations
    assert [(one.value, one.samples) for one in found] == [(0.1, None), (0.2, None), (0.3, 3000)]


def test_train_samples_logged_at_the_start_are_a_plan_and_no_progress() -> None:
    plan = line("train_samples", 1, 3_630_144)
    scores = (line("eval_accuracy", seconds, 0.71, epoch_num=1) for seconds in (100, 200))
    run = read(log(plan, *scores, line("run_stop", 201, status="success"), benchmark="bert"))
    assert [e.samples for e in run.evaluations] == [None, None]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_two_events_without_a_line_end_between_them_are_both_read(order: tuple[int, int]) -> None:
    pair = (GOOD, STOP)
    glued = b"".join(pair[i].rstrip() for i in order)
    run = read(log(glued))
    assert (run.run_status, len(run.evaluations), run.run_seconds) == ("success", 1, 101.0)


def test_a_line_torn_by_another_loses_only_itself() -> None:
    torn = GOOD[:60] + STOP
    run = read(log(GOOD, torn))
    assert (run.run_status, len(run.evaluations)) == ("success", 1)
    assert [p.line for p in run.problems if p.code == "unreadable_line"] == [4]


def test_a_file_that_begins_with_a_cut_token_is_recognised_by_the_next() -> None:
    assert read(b":::ML\n:::MLPv0\n" + log(GOOD)).evaluations


@pytest.mark.parametrize(
    "torn",
    [
        b':::MLLOG {"time_ms": 1600000000000, "key": "run_start", "val\n',
        b":::MLL 1560000000.5 run_start: {\n",
        b":::MLPv0.5.0 resnet 1541500000 (a.py:1 run_start\n",
        b":::MLPv0.5.0 resnet 15415 run_start\n",
    ],
)
def test_a_torn_start_is_an_error_and_no_run(torn: bytes) -> None:
    (problem,) = items(torn)
    assert isinstance(problem, Problem)
    assert (problem.code, problem.severity) == ("no_run_start", "error")


@pytest.mark.parametrize(
    "name",
    ["result_run3.txt", "200711025203744603517_1.log", "result_4952-2405_06.txt", "x", "a.b.c"],
)
def test_a_log_is_read_whatever_its_name(name: str) -> None:
    run = read(log(GOOD), f"/x/v4.0/Org/results/big/resnet/{name}")
    assert (run.benchmark, run.entry) == ("resnet", "Org/big")


@pytest.mark.parametrize(
    ("logged", "round_", "canonical"),
    [
        ("mask", "v0.6", "maskrcnn"),
        ("gnn", "v4.1", "rgat"),
        ("language_model", "v1.0", "bert"),
        ("ssd", "v1.0", "ssd"),
        ("ssd", "v2.0", "retinanet"),
    ],
)
def test_an_alias_is_resolved_without_a_complaint(logged: str, round_: str, canonical: str) -> None:
    path = f"/x/{round_}/Org/results/big/{logged}/result_0.txt"
    run = read(log(GOOD, STOP, benchmark=logged), path)
    assert run.benchmark == canonical
    assert codes(run) == {"no_system_file"}


def test_a_stray_log_in_a_code_tree_is_a_run_with_what_it_says_itself() -> None:
    run = read(log(GOOD), "/x/v4.0/Org/benchmarks/resnet/implementation/train_run3.log")
    assert (run.benchmark, run.round, run.submitter) == ("resnet", "v4.0", None)


LOGGED_SYSTEM = rb"""org: {"value": "Example", "metadata": {"file": "a.py", "lineno": 1}}
division: {"value": "closed", "metadata": {"file": "a.py", "lineno": 2}}
entry: {"value": "{'hardware': 'Big', 'framework': 'Example 19.05', 'nodes': NODES}"}
poc_name: {"value": "Nobody", "metadata": {"file": "a.py", "lineno": 4}}
""".replace(b"NODES", rb"\"{'num_nodes': '30', 'num_accelerators': '8', 'cpu': 'C'}\"")


def test_a_system_described_by_log_lines_is_read() -> None:
    beside = {"/x/v0.6/Org/systems/big.json": LOGGED_SYSTEM}
    run = read(log(GOOD, STOP), "/x/v0.6/Org/results/big/resnet/result_0.txt", beside)
    assert (run.nodes, run.accelerators, run.hardware) == (30, 240, "Big")
    assert (run.framework, run.division) == ("Example 19.05", "closed")
    assert codes(run) == set()


@pytest.mark.parametrize(
    "system",
    [
        b"",
        b"[1, 2]",
        b"{" * 100_000,
        b"[" * 100_000,
        b"entry: {...}\n",
        b'entry: {"value": "{1, 2}"}\nnodes: {}\n',
        LOGGED_SYSTEM[:200],
        b"\xff\xfe\x00",
    ],
)
def test_a_system_file_of_any_kind_does_not_end_the_reading(system: bytes) -> None:
    run = read(log(GOOD, STOP), companions={"/x/v4.0/Org/systems/big.json": system})
    assert run.accelerators is None
    assert codes(run) == {"bad_system_file"}


@pytest.mark.parametrize(
    ("nodes", "accelerators", "expected"),
    [("2", 8.0, 16), (2, "8", 16), (2.0, 8, 16), (None, 8, None), ("?", 8, None), (2**62, 8, None)],
)
def test_numbers_of_a_system_are_read_however_they_are_written(
    nodes: Any, accelerators: Any, expected: int | None
) -> None:
    system = {"number_of_nodes": nodes, "accelerators_per_node": accelerators}
    beside = {"/x/v4.0/Org/systems/big.json": json.dumps(system).encode()}
    assert read(log(GOOD), companions=beside).accelerators == expected


@pytest.mark.parametrize("factor", [b"NaN", b"true", b"1e999", b'"?"', b"9" * 400, b"[" * 9999])
def test_a_scaling_factor_that_is_no_number_is_none(factor: bytes) -> None:
    beside = {"/x/v4.0/Org/results/big/resnet/scaling.json": b'{"scaling_factor": ' + factor + b"}"}
    assert read(log(GOOD), companions=beside).scaling_factor is None


@pytest.mark.parametrize(
    ("seed", "expected"),
    [
        (12_345_678_901_234_567, 12_345_678_901_234_567),
        ("12345678901234567", 12_345_678_901_234_567),
        (7.0, 7),
        (-3, -3),
        (2**63, None),
        (10**400, None),
        ("1_000", None),
        (1e300, None),
        (True, None),
        ([1], None),
    ],
)
def test_a_seed_keeps_its_digits_or_is_unknown(seed: Any, expected: int | None) -> None:
    run = read(log(line("seed", -1, seed), GOOD))
    assert run.seed == expected
    assert row(run)["seed"] == expected


NESTED = b"[" * 100_000
ODD_VALUES = [
    NESTED,
    NESTED + b"]" * 100_000,
    b'{"a":' * 5_000 + b"1" + b"}" * 5_000,
    b"-" * 10_000 + b"1",
    b"(" * 5_000,
    b"9" * 5_000,
    b"0x" + b"f" * 5_000,
    b"1e999",
    b'"\\ud800"',
    b'"\xff"',
    b"1+2j",
    b"{1, 2}",
    b"{(1, 2): 3}",
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
    odd = b':::MLLOG {"time_ms": 1600000050000, "key": "%b", "value": %b, "metadata": {}}\n'
    with within(1.0):
        (run,) = items(log(odd % (key.encode(), value), GOOD))
        assert isinstance(run, Run)
        assert row(run)["value_final"] == 0.7591


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
    with within(2.0):
        for name in ("mlperf-v0.5", "mlperf-mll", "mlperf-mllog", "dawnbench"):
            dialect = registry.named(name)
            dialect.recognises(data)
            list(dialect.parse(log_from_bytes(data)))


@pytest.mark.parametrize(
    "stamp", [b"1e400", b"-1e308", b"1e308", b"NaN", b"null", b'"soon"', b"9" * 400]
)
def test_a_stamp_that_is_no_time_is_unknown(stamp: bytes) -> None:
    text = b':::MLLOG {"time_ms": %b, "key": "%b", "value": 0.7591, "metadata": {"epoch_num": 1}}\n'
    for key in (b"run_start", b"eval_accuracy", b"run_stop"):
        run = read(text % (stamp, key) + log(GOOD, STOP))
        assert (run.run_seconds, run.run_status) == (101.0, "success")
        assert row(run)["tta_seconds"] == 101.0
    alone = read(text % (stamp, b"run_start"))
    assert (alone.run_seconds, alone.started_at) == (None, None)


@pytest.mark.parametrize("torn", [b"0.75_91", b"1_0", b"0x1f", b"'0.7_5'", b"0.7591.2"])
def test_a_number_with_a_torn_digit_is_no_score(torn: bytes) -> None:
    run = read(log(GOOD.replace(b"0.7591", torn), STOP))
    assert [e.logged_value for e in run.evaluations] in ([], [None])
    assert codes(run) & {"unreadable_line", "unreadable_score"}


@pytest.mark.parametrize(
    ("table", "seconds", "epochs"),
    [
        ("epoch\thours\ttop1Accuracy\n0\t1\t90\n1\t2\t94\n", 7200.0, 2.0),
        ("epoch\thours\ttop1Accuracy\n0\t0.0\t10\n1\t1\t94\n", 3600.0, 1.0),
        ("epoch\thours\ttop1Accuracy\n0\t0.01\t10\n2.9\t1\t94\n", 3600.0, 2.9),
        ("hours\tepoch\ttop1Accuracy\r\n1\t1\t90\r\n2\t2\t94\r\n", 7200.0, 2.0),
        ("epoch\ttop1Accuracy\thours\n1\t 94.0 \t1\n\n", 3600.0, 1.0),
        ("epoch\thours\ttop1Accuracy\n1.00096\t1\t94", 3600.0, 1.00096),
        ("epoch\thours\ttop1Accuracy\n18\t1\t93\n18\t2\t94\n19\t3\t93\n", 7200.0, 18.0),
        ("epoch\thours\ttop1Accuracy\n1\tnan\t94\n2\t2\t94\n", 7200.0, 2.0),
        ("epoch\thours\ttop1Accuracy\n1\t1\tinf\n2\t2\t94\n", 7200.0, 2.0),
    ],
)
def test_a_table_is_read_whatever_its_columns_and_labels(
    table: str, seconds: float, epochs: float
) -> None:
    run = row(read(table.encode(), "/x/CIFAR10/train/a.tsv"))
    assert (run["tta_seconds"], run["epochs"]) == (seconds, epochs)


@pytest.mark.parametrize(
    "description",
    [b"", b"{", b"[1]", b"[" * 100_000, b'{"author": "\\ud800", "\\ud800": "\\ud800"}', b"\xff"]
    + [b'{"costPerHour": %b}' % cost for cost in (b"null", b"true", b"NaN", b"9" * 400, b'"?"')],
    ids=lambda text: repr(text[:20]),
)
def test_a_description_of_any_kind_does_not_end_the_reading(description: bytes) -> None:
    table = b"epoch\thours\ttop1Accuracy\n1\t1\t94\n"
    run = read(table, "/x/CIFAR10/train/a.tsv", {"/x/CIFAR10/train/a.json": description})
    assert run.cost_per_hour is None
    assert row(run)["tta_seconds"] == 3600.0


@pytest.mark.parametrize(
    ("ended", "logged", "length", "at"),
    [
        (START + 60_000, START + 30_000, 60.0, 30.0),
        (START - 60_000, START + 30_000, None, 30.0),
        (START + 60_000, START - 30_000, 60.0, None),
        (None, START - 30_000, None, None),
    ],
)
def test_a_run_of_mlflow_has_no_time_before_its_start(
    ended: int | None, logged: int, length: float | None, at: float | None
) -> None:
    told = StoredRun(
        {"start_time": START, "end_time": ended, "status": "3"}, "mine", {}, {},
        [Logged("val_acc", logged, 0.5, 1)],
    )  # fmt: skip
    (run,) = run_of(told, log_from_bytes(b"", "/x/mlruns/0/a/meta.yaml"))
    assert isinstance(run, Run)
    assert (run.run_seconds, run.evaluations[0].seconds) == (length, at)
    assert ("before_start" in codes(run)) == (length is None or at is None)
