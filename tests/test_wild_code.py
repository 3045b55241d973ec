"""Real files of Hugging Face, TensorBoard, W&B, MLflow and Stable-Baselines3, against the truth.

`wild/truth.json` was made by readers that have nothing in common with ours.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from ttastats.base.records import Problem, Run
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


def near(found: float | None, expected: float | None) -> bool:
    if found is None or expected is None:
        return found is expected
    return abs(found - expected) <= 2e-9 * max(abs(found), abs(expected), 1e-30)


def test_every_run_is_read_as_the_truth_has_it(wild: Path) -> None:
    compared = 0
    for expected in (run for setup in truth(wild) for run in setup["runs"]):
        if "history_rows" in expected or expected.get("lifecycle_stage") == "deleted":
            continue  # a store that is torn, or nothing
        (run,) = read_alone(wild, teller(expected, wild))
        assert isinstance(run, Run)
        wanted = NAMES.get(expected["metric"], expected["metric"])
        found = [evaluation for evaluation in run.evaluations if evaluation.metric == wanted]
        where = expected["file"]
        assert len(found) == expected["evaluations"], where
        compared += 1
        if not found:
            continue
        assert {e.higher_is_better for e in found} == {expected["higher_is_better"]}, where
        sign = 1 if expected["higher_is_better"] else -1
        values = [sign * e.value for e in found if e.value is not None]
        assert near(values[-1], sign * expected["final"]), where
        assert near(max(values), sign * expected["best"]), where
        places = [("last_eval_seconds", "last_step", "last_epoch", found[-1])]
        if expected.get("reached"):
            first = next(e for e in found if sign * (e.value or 0.0) >= sign * expected["target"])
            places.append(("tta_seconds", "step_to_target", "epoch_to_target", first))
        for seconds, step, epoch, evaluation in places:
            assert near(evaluation.seconds, expected[seconds]), where
            assert evaluation.step == expected[step], where
            assert expected[epoch] is None or near(evaluation.epoch, expected[epoch]), where
    assert compared >= 50


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
