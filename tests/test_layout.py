"""What the folders around an MLPerf log say, and what happens where they disagree with it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ttastats.base.records import Run
from ttastats.formats.dialect import log_from_bytes
from ttastats.ingestion import registry

SYSTEM = {
    "division": "closed",
    "number_of_nodes": "2",
    "accelerators_per_node": 8.0,
    "accelerator_model_name": "Example GPU",
    "framework": "Example 1.0",
}


def mllog(benchmark: str = "resnet", **more: Any) -> bytes:
    events = [
        ("submission_benchmark", 0, benchmark, {}),
        *((key, 0, value, {}) for key, value in more.items()),
        ("run_start", 1000, None, {}),
        ("eval_accuracy", 2000, 0.76, {"epoch_num": 1}),
        ("run_stop", 3000, None, {"status": "success"}),
    ]
    lines = [
        json.dumps({"time_ms": time, "key": key, "value": value, "metadata": metadata})
        for key, time, value, metadata in events
    ]
    return "".join(f":::MLLOG {line}\n" for line in lines).encode()


def read(
    path: str,
    data: bytes | None = None,
    companions: dict[str, bytes] | None = None,
    round_: str | None = None,
) -> Run:
    log = log_from_bytes(data or mllog(), path, companions, round=round_)
    dialect = registry.recognise(log.read())
    assert dialect is not None
    (run,) = dialect.parse(log)
    assert isinstance(run, Run)
    return run


def codes(run: Run) -> set[str]:
    return {problem.code for problem in run.problems}


def test_the_official_tree_names_submitter_system_and_entry() -> None:
    description = {"/x/v4.0/Org/systems/big.json": json.dumps(SYSTEM).encode()}
    run = read("/x/v4.0/Org/results/big/resnet/result_0.txt", companions=description)
    assert (run.round, run.submitter, run.system) == ("v4.0", "Org", "big")
    assert (run.entry, run.benchmark, run.division) == ("Org/big", "resnet", "closed")
    assert (run.nodes, run.accelerators, run.hardware) == (2, 16, "Example GPU")
    assert codes(run) == set()
    assert run.evaluations[0].target_value == 0.759


@pytest.mark.parametrize("folder", ["v4.0", "4.0", "training_results_v4.0", "v4.0.0"])
def test_a_round_is_found_in_the_name_of_a_folder(folder: str) -> None:
    assert read(f"/x/{folder}/Org/results/big/resnet/result_0.txt").round == "v4.0"


def test_a_persons_own_results_folder_is_no_official_tree() -> None:
    run = read("/home/me/results/bs64/result_0.txt")
    assert (run.submitter, run.system, run.entry, run.round) == (None, None, None, None)
    assert codes(run) == {"no_target"}


def test_a_system_description_makes_a_tree_without_a_round_official() -> None:
    description = {"/x/Org/systems/big.json": json.dumps(SYSTEM).encode()}
    run = read("/x/Org/results/big/digits/result_0.txt", mllog("digits"), description)
    assert (run.submitter, run.system, run.entry) == ("Org", "big", "Org/big")


def test_the_round_of_the_user_wins() -> None:
    run = read("/x/v4.0/Org/results/big/resnet/result_0.txt", round_="v3.1")
    assert run.round == "v3.1"


def test_the_log_is_believed_over_its_folder_and_it_is_said() -> None:
    run = read("/x/v1.0/Org/results/big/resnet/bert/result_0.txt", mllog("bert"))
    assert run.benchmark == "bert"
    assert "benchmark_mismatch" in codes(run)


def test_an_alias_in_the_folder_is_no_mismatch() -> None:
    run = read("/x/v0.6/Google/results/tpu/mask/result_0.txt", mllog("maskrcnn"))
    assert run.benchmark == "maskrcnn"
    assert "benchmark_mismatch" not in codes(run)


def test_the_folder_names_the_benchmark_where_the_log_does_not() -> None:
    data = b"".join(line + b"\n" for line in mllog().splitlines() if b"submission" not in line)
    assert read("/x/v4.0/Org/results/big/resnet/result_0.txt", data).benchmark == "resnet"


def test_a_placeholder_is_no_name() -> None:
    data = mllog(submission_org="SUBMISSION_ORG_PLACEHOLDER", submission_platform="1xBig")
    run = read("/home/me/result_0.txt", data)
    assert (run.submitter, run.system) == (None, "1xBig")


def test_a_broken_description_is_a_problem_and_not_the_end() -> None:
    broken = {"/x/v4.0/Org/systems/big.json": b"org: {...python repr...}"}
    run = read("/x/v4.0/Org/results/big/resnet/result_0.txt", companions=broken)
    assert codes(run) == {"bad_system_file"}
    assert run.accelerators is None


def test_a_comma_too_many_in_a_description_is_forgiven() -> None:
    text = json.dumps(SYSTEM)[:-1] + ",}"
    description = {"/x/v4.0/Org/systems/big.json": text.encode()}
    run = read("/x/v4.0/Org/results/big/resnet/result_0.txt", companions=description)
    assert run.accelerators == 16


def test_the_scaling_factor_is_kept_apart_from_the_times() -> None:
    beside = {"/x/v5.0/Org/results/big/bert/scaling.json": b'{"scaling_factor": 1.05}'}
    run = read("/x/v5.0/Org/results/big/bert/result_0.txt", mllog("bert"), beside)
    assert (run.scaling_factor, run.run_seconds) == (1.05, 2.0)


V05 = b""":::MLPv0.5.0 resnet 100.0 (a.py:1) run_clear_caches
:::MLPv0.5.0 resnet 100.5 (a.py:1) run_clear_caches
:::MLPv0.5.0 resnet 101.0 (a.py:1) run_start
:::MLPv0.5.0 resnet 111.0 (a.py:1) eval_accuracy: {"epoch": 60, "value": 0.75}
:::MLPv0.5.0 resnet 112.0 (a.py:1) run_stop: {"success": true}
"""


@pytest.mark.parametrize(("described", "nodes"), [(128, 2), (1, 1)])
def test_v05_counts_the_nodes_that_took_part(described: int, nodes: int) -> None:
    entry = {"hardware": "big", "nodes": [{"num_nodes": described, "num_accelerators": 8}]}
    path = "/x/v0.5.0/org/submission/results/big/resnet/result_0.txt"
    beside = {"/x/v0.5.0/org/submission/results/big/entry.json": json.dumps(entry).encode()}
    run = read(path, V05, beside)
    assert (run.nodes, run.accelerators) == (nodes, 8 * nodes)
    assert (run.submitter, run.entry) == ("org", "org/submission/big")


def test_lines_of_another_round_than_the_folders_are_believed() -> None:
    run = read("/x/v4.0/org/results/big/resnet/result_0.txt", V05)
    assert run.round == "v0.5"
    assert "round_mismatch" in codes(run)


def test_a_benchmark_of_mlperf_hpc_that_measures_an_error_has_its_own_target() -> None:
    data = mllog("cosmoflow").replace(b"eval_accuracy", b"eval_error").replace(b"0.76", b"0.12")
    run = read("/x/hpc_results_v1.0/Org/results/big/cosmoflow/result_0.txt", data)
    (evaluation,) = run.evaluations
    assert (run.suite, run.round, run.benchmark) == ("mlperf_hpc", "v1.0", "cosmoflow")
    assert (evaluation.metric, evaluation.value, evaluation.higher_is_better) == (
        "eval_error",
        0.12,
        False,
    )
    assert (evaluation.target_value, run.run_seconds) == (0.124, 2.0)


def test_a_name_of_mlperf_training_is_no_benchmark_of_mlperf_hpc() -> None:
    run = read("/x/hpc_results_v1.0/Org/results/big/resnet/result_0.txt")
    assert run.evaluations[0].target_value is None
    assert "no_target" in codes(run)
