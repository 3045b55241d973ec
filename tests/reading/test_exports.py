"""Are the tables that Optuna and MLflow export read to the end: settings, failures, lengths?"""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.made_logs import write
from tests.random_cases import SEEDS
from tests.reading.asking import ask


def stamp(draw: random.Random, at: datetime, *, zone: bool) -> str:
    """Return a stamp as pandas writes it, with and without digits behind the seconds."""
    text = at.isoformat(" ", draw.choice(["seconds", "microseconds", "milliseconds"]))
    return text if zone else text.removesuffix("+00:00")


def optuna(draw: random.Random, states: dict[str, tuple[str, ...]]) -> str:
    """Return a trials frame with the states of the trials of each optimizer."""
    rows = [f"{draw.choice(['', ','])}number,value,datetime_start,datetime_complete,duration,"
            "params_optimizer,params_seed,user_attrs_host,state"]  # fmt: skip
    index = rows[0].startswith(",")
    begun, number = datetime(2026, 3, 4, 10, tzinfo=UTC), 0
    for name, ends in states.items():
        for seed, state in enumerate(ends):
            begun += timedelta(hours=1)
            length = timedelta(seconds=60 + seed if name == "adam" else 80 + seed)
            ended = begun + length
            value = "" if state == "FAIL" else f"{0.9 + seed / 1000:g}"
            days = f"0 days {str(length).rjust(8, '0')}"
            cells = [f"{number}", value, stamp(draw, begun, zone=False),
                     stamp(draw, ended, zone=False), days, name, f"{seed}", "n", state]  # fmt: skip
            rows.append(",".join([f"{number}"] * index + cells))
            number += 1
    return "\n".join(rows) + "\n"


def mlflow(draw: random.Random, states: dict[str, tuple[str, ...]]) -> str:
    """Return a table of `search_runs` with the states of the runs of each optimizer."""
    metric = draw.choice(["val_acc", "eval/accuracy", "test_f1"])
    columns = ["run_id", "experiment_id", "status", "artifact_uri", "start_time", "end_time",
               f"metrics.{metric}", "metrics.train_loss", "params.optimizer", "params.seed",
               "tags.mlflow.runName"]  # fmt: skip
    order, rows = draw.sample(columns, len(columns)), []
    begun = datetime(2026, 3, 4, 10, tzinfo=UTC)
    for name, ends in states.items():
        for seed, state in enumerate(ends):
            begun += timedelta(hours=1)
            length = 5 if state == "FAILED" else 60 + seed if name == "adam" else 80 + seed
            ended = begun + timedelta(seconds=length)
            value = "" if state == "FAILED" else f"{0.9 + seed / 1000:g}"
            cells = dict(zip(columns, [
                f"{name}{seed}", "0", state, "/x", stamp(draw, begun, zone=True),
                stamp(draw, ended, zone=True), value, "0.1", name, f"{seed}", f"run-{seed}",
            ], strict=True))  # fmt: skip
            rows.append(",".join(cells[column] for column in order))
    return "\n".join([",".join(order), *rows]) + "\n"


OPTUNA = {"adam": ("COMPLETE", "FAIL", "COMPLETE"), "sgd": ("COMPLETE",) * 3}
MLFLOW = {"adam": ("FINISHED", "FAILED", "FINISHED"), "sgd": ("FINISHED",) * 3}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("make", "states"), [(optuna, OPTUNA), (mlflow, MLFLOW)])
@pytest.mark.parametrize("guess", [(), ("--guess",)])
def test_a_row_is_a_run_with_its_settings_its_length_and_its_end(
    make: object, states: object, seed: int, guess: tuple[str, ...], tmp_path: Path
) -> None:
    assert callable(make)
    write(tmp_path, {"export.csv": make(random.Random(seed), states)})
    answer = ask("runs", tmp_path, *guess)
    known = sorted((row["entry"], row["seed"], row["run_status"]) for row in answer.rows)
    assert known == [
        ("optimizer=adam", 0, "success"), ("optimizer=adam", 1, "aborted"),
        ("optimizer=adam", 2, "success"), ("optimizer=sgd", 0, "success"),
        ("optimizer=sgd", 1, "success"), ("optimizer=sgd", 2, "success"),
    ]  # fmt: skip
    lengths = {row["seed"]: row["run_seconds"] for row in answer.rows if "sgd" in row["entry"]}
    assert lengths == {0: 80.0, 1: 81.0, 2: 82.0}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("make", "states"), [(optuna, OPTUNA), (mlflow, MLFLOW)])
def test_a_failed_run_without_a_value_is_counted_as_failed(
    make: object, states: object, seed: int, tmp_path: Path
) -> None:
    assert callable(make)
    write(tmp_path, {"export.csv": make(random.Random(seed), states)})
    sides = ["--a", "optimizer=sgd", "--b", "optimizer=adam"]
    (row,) = ask("compare", tmp_path, *sides, "--at-end").rows
    assert (row["n_a"], row["n_b"], row["missing_a"], row["missing_b"]) == (3, 2, 0, 1)
    assert row["why"] != "ends differ"


@pytest.mark.parametrize("seed", SEEDS)
def test_a_target_of_a_trial_says_which_way_is_better(seed: int, tmp_path: Path) -> None:
    write(tmp_path, {"trials.csv": optuna(random.Random(seed), OPTUNA)})
    rows = ask("summary", tmp_path, "--target", "value<=0.9005").rows
    assert {row["entry"]: row["reached"] for row in rows} == {
        "optimizer=adam": 1, "optimizer=sgd": 1
    }  # fmt: skip
    assert "value>=" in ask("summary", tmp_path).text


def test_what_was_pruned_has_failed_and_what_waits_is_no_run(tmp_path: Path) -> None:
    states = {"adam": ("COMPLETE", "PRUNED", "RUNNING", "WAITING")}
    write(tmp_path, {"trials.csv": optuna(random.Random(1), states)})
    ends = [row["run_status"] for row in ask("runs", tmp_path).rows]
    assert sorted(ends) == ["aborted", "success", "truncated"]


def test_logs_beside_an_export_are_read_too(tmp_path: Path) -> None:
    logs = {f"adam/seed{k}.csv": "epoch,seconds,val_acc\n1,9,.8\n2,19,.9\n" for k in range(3)}
    write(tmp_path, {**logs, "adam/export.csv": mlflow(random.Random(1), MLFLOW)})
    kinds = [row["dialect"] for row in ask("runs", tmp_path, "--guess").rows]
    assert sorted(kinds) == ["mlflow-table"] * 6 + ["table"] * 3
