"""Real files of Hugging Face, TensorBoard, W&B, MLflow and Stable-Baselines3, against the truth.

`wild/truth.json` was made by readers that have nothing in common with ours.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from ttastats.base.records import Evaluation, Problem, Run
from ttastats.formats.dialect import log_from_bytes
from ttastats.ingestion import registry

pytestmark = pytest.mark.real

KINDS = ("hf-trainer", "tfevents", "wandb-local", "mlflow", "sb3")
#: How the truth calls a metric that its files do not name.
NAMES = {"mean evaluation reward": "eval/mean_reward"}
TORN = "aorvieto r8mtbfdx: truncated store"


@cache
def truth(wild: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((wild / "truth.json").read_text())
    return [setup for setup in found if setup["kind"] in KINDS]


@cache
def read_alone(wild: Path, name: str) -> list[Run | Problem]:
    """Read a file with all the files that lie around it, but no longer state of its training."""
    file = wild / name
    around = [] if file.name == "trainer_state.json" else (p for p in around_of(file).rglob("*"))
    beside = {str(path): path.read_bytes() for path in around if path.is_file()}
    data = file.read_bytes()
    dialect = registry.recognise(data, str(file))
    assert dialect is not None, name
    return list(dialect.parse(log_from_bytes(data, str(file), beside)))


def around_of(file: Path) -> Path:
    return file.parent.parent if file.parent.name in {"files", "metrics"} else file.parent


def teller(run: dict[str, Any], wild: Path) -> str:
    """Return the file that tells a run: the description of an MLflow run, the store of W&B."""
    file: str = run["file"]
    if "/metrics/" in file:
        return f"{file.partition('/metrics/')[0]}/meta.yaml"
    folder = (wild / file).parent.parent
    if file.endswith("wandb-summary.json") and (stores := list(folder.glob("*.wandb"))):
        return str(stores[0].relative_to(wild))
    return file


def cases(wild: Path) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    return [(setup, run) for setup in truth(wild) for run in setup["runs"]]


def of_metric(run: Run, metric: str) -> list[Evaluation]:
    wanted = NAMES.get(metric, metric)
    return [evaluation for evaluation in run.evaluations if evaluation.metric == wanted]


def near(found: float | None, expected: float | None) -> bool:
    if found is None or expected is None:
        return found is expected
    return abs(found - expected) <= 2e-9 * max(abs(found), abs(expected), 1e-30)


def test_every_run_is_read_as_the_truth_has_it(wild: Path) -> None:
    compared = 0
    for setup, expected in cases(wild):
        if setup["setup"] == TORN or expected.get("lifecycle_stage") == "deleted":
            continue
        (run,) = read_alone(wild, teller(expected, wild))
        assert isinstance(run, Run)
        found = of_metric(run, expected["metric"])
        where = expected["file"]
        assert len(found) == expected["evaluations"], where
        compared += 1
        if not found:
            continue
        directions = {e.higher_is_better for e in found}
        assert directions == {expected["higher_is_better"]}, where
        best = max if expected["higher_is_better"] else min
        values = [e.value for e in found if e.value is not None]
        assert near(values[-1], expected["final"]), where
        assert near(best(values), expected["best"]), where
        assert near(found[-1].seconds, expected["last_eval_seconds"]), where
        assert found[-1].step == expected["last_step"], where
        if expected["last_epoch"] is not None:
            assert near(found[-1].epoch, expected["last_epoch"]), where
    assert compared >= 50


def test_time_and_steps_to_the_target_are_those_of_the_truth(wild: Path) -> None:
    for setup, expected in cases(wild):
        if expected.get("target") is None or not expected.get("reached"):
            continue
        if setup["setup"] == TORN:
            continue
        (run,) = read_alone(wild, teller(expected, wild))
        assert isinstance(run, Run)
        sign = 1 if expected["higher_is_better"] else -1
        first = next(
            evaluation
            for evaluation in of_metric(run, expected["metric"])
            if sign * (evaluation.value or 0.0) >= sign * expected["target"]
        )
        assert near(first.seconds, expected["tta_seconds"]), expected["file"]
        assert first.step == expected["step_to_target"], expected["file"]
        if expected["epoch_to_target"] is not None:
            assert near(first.epoch, expected["epoch_to_target"]), expected["file"]


def test_a_store_that_was_copied_while_it_was_written_tells_where_it_ends(wild: Path) -> None:
    (expected,) = next(setup["runs"] for setup in truth(wild) if setup["setup"] == TORN)
    (run,) = read_alone(wild, expected["file"])
    assert isinstance(run, Run)
    assert run.extra["history_rows"] == expected["history_rows"]
    assert run.extra["last_history_step"] == expected["last_history_step"]
    assert [p.code for p in run.problems] == ["torn_tail", "no_exit_record", "summary_is_later"]
    (last,) = run.evaluations  # of the summary: the history has none of this metric
    assert (last.value, last.step) == (expected["summary_test_acc"], expected["summary_step"])
    assert near(last.seconds, expected["summary_runtime"])


def test_no_other_file_is_taken_for_one_of_these(wild: Path) -> None:
    own = {"hf-trainer", "tfevents", "wandb", "mlflow", "mlflow-db", "evaluations-npz"}
    kinds: dict[str, set[str]] = {}
    for path in sorted(p for p in wild.rglob("*") if p.is_file()):
        dialect = registry.recognise(path.read_bytes(), str(path))
        if dialect is not None and dialect.name in own:
            kinds.setdefault(dialect.name, set()).add(path.relative_to(wild).parts[0])
    assert kinds == {
        "hf-trainer": {"hf-trainer"},
        "tfevents": {"algoperf", "tfevents"},
        "wandb": {"wandb-local"},
        "mlflow": {"mlflow"},
        "evaluations-npz": {"sb3"},
    }
