"""What the folders around an MLPerf log say, and how conflicts with the log are solved."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.accepted import Case, cases
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
    beside: dict[str, bytes] | None = None,
    round_: str | None = None,
) -> Run:
    log = log_from_bytes(data or mllog(), path, beside, round=round_)
    dialect = registry.recognise(log.read())
    assert dialect is not None
    (run,) = dialect.parse(log)
    assert isinstance(run, Run)
    return run


V05 = b""":::MLPv0.5.0 resnet 100.0 (a.py:1) run_clear_caches
:::MLPv0.5.0 resnet 100.5 (a.py:1) run_clear_caches
:::MLPv0.5.0 resnet 101.0 (a.py:1) run_start
:::MLPv0.5.0 resnet 111.0 (a.py:1) eval_accuracy: {"epoch": 60, "value": 0.75}
:::MLPv0.5.0 resnet 112.0 (a.py:1) run_stop: {"success": true}
"""
BIG = "/x/v4.0/Org/results/big/resnet/result_0.txt"
DESCRIBED = json.dumps(SYSTEM).encode()
OF_V05 = "/x/v0.5.0/org/submission/results/big/resnet/result_0.txt"
COSMOFLOW = mllog("cosmoflow").replace(b"eval_accuracy", b"eval_error").replace(b"0.76", b"0.12")


def beside(description: bytes) -> dict[str, bytes]:
    return {"/x/v4.0/Org/systems/big.json": description}


def described(number: int) -> dict[str, bytes]:
    entry = {"hardware": "big", "nodes": [{"num_nodes": number, "num_accelerators": 8}]}
    return {"/x/v0.5.0/org/submission/results/big/entry.json": json.dumps(entry).encode()}


#: Where a log lies, what it holds, what lies beside it, and the round that the user names.
LAYOUTS: dict[str, tuple[Any, ...]] = {
    "the official tree": (BIG, None, beside(DESCRIBED)),
    **{
        f"a round named {folder}": (BIG.replace("v4.0", folder),)
        for folder in ("v4.0", "4.0", "training_results_v4.0", "v4.0.0")
    },
    "a person's own results": ("/home/me/results/bs64/result_0.txt",),
    "a system without a round": (
        "/x/Org/results/big/digits/result_0.txt",
        mllog("digits"),
        {"/x/Org/systems/big.json": DESCRIBED},
    ),
    "the round of the user": (BIG, None, None, "v3.1"),
    "a folder of another benchmark": (
        "/x/v1.0/Org/results/big/resnet/bert/result_0.txt", mllog("bert")
    ),
    "a folder of an alias": ("/x/v0.6/Google/results/tpu/mask/result_0.txt", mllog("maskrcnn")),
    "a log that names no benchmark": (
        BIG, b"".join(line + b"\n" for line in mllog().splitlines() if b"submission" not in line)
    ),
    "a placeholder": (
        "/home/me/result_0.txt",
        mllog(submission_org="SUBMISSION_ORG_PLACEHOLDER", submission_platform="1xBig"),
    ),
    "a broken description": (BIG, None, beside(b"org: {...python repr...}")),
    "a comma too many": (BIG, None, beside(DESCRIBED[:-1] + b",}")),
    "a scaling factor": (
        "/x/v5.0/Org/results/big/bert/result_0.txt",
        mllog("bert"),
        {"/x/v5.0/Org/results/big/bert/scaling.json": b'{"scaling_factor": 1.05}'},
    ),
    "more nodes than took part": (OF_V05, V05, described(128)),
    "one node": (OF_V05, V05, described(1)),
    "lines of another round": ("/x/v4.0/org/results/big/resnet/result_0.txt", V05),
    "an error of MLPerf HPC": (
        "/x/hpc_results_v1.0/Org/results/big/cosmoflow/result_0.txt", COSMOFLOW
    ),
    "a name of MLPerf training in it": (
        "/x/hpc_results_v1.0/Org/results/big/resnet/result_0.txt",
    ),
}  # fmt: skip


def of_layouts() -> Iterator[Any]:
    for name, layout in LAYOUTS.items():
        yield name, read(*layout)


@cases("pieces", of_layouts=of_layouts)
def test_what_folders_say_is_as_accepted(case: Case) -> None:
    assert case.is_as_accepted()
