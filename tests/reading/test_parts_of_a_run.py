"""Runs in several files: one for each metric, or one for training and one for evaluation."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.made_logs import write
from tests.random_cases import SEEDS
from tests.reading.asking import ask
from ttastats.ingestion import registry

GUISES = pytest.mark.parametrize("seed", SEEDS)
#: Words for the part that trains and the part that evaluates.
WORDS = (
    ("train", "val"),
    ("learn", "test"),
    ("Train", "Valid"),
    ("training", "eval"),
    ("TRAIN", "DEV"),
)
Row = Mapping[str, Any]


def text_of(form: str, rows: Sequence[Row]) -> str:
    """Return rows as a file of one of several forms."""
    if form == "jsonl":
        return "".join(json.dumps(row) + "\n" for row in rows)
    if form == "log":
        return "".join(" ".join(f"{key} {row[key]}" for key in row) + "\n" for row in rows)
    mark = {"csv": ",", "tsv": "\t"}[form]
    lines = [mark.join(rows[0]), *(mark.join(map(str, row.values())) for row in rows)]
    return "\n".join(lines) + "\n"


def rises(start: float, by: float) -> list[float]:
    return [round(start + by * at, 4) for at in range(1, 12)]


@GUISES
def test_files_that_hold_a_metric_each_are_one_run(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    form, progress = rng.choice(["csv", "tsv", "jsonl"]), rng.choice(["step", "epoch", "iteration"])
    clock, scale, begin = [
        ("timestamp", 1000, 1_700_000_000_000), ("seconds", 1, 0), ("timestamp", 1, 1_700_000_000),
        ("elapsed_ms", 1000, 0),
    ][seed]  # fmt: skip
    metrics = {"loss": rises(3, -0.1), "acc": rises(0.4, 0.05), "val_acc": rises(0.3, 0.05)}
    names = rng.choice(["{0}", "{0}_seed0", "metric-{0}", "x_{0}"])
    for run in rng.choice([("",), ("adam/", "sgd/", "lion/")]):
        for metric, values in metrics.items():
            column = rng.choice([metric, "value"]) if names == "{0}" else metric
            rows = [
                {clock: begin + at * 30 * scale, progress: at, column: value}
                for at, value in enumerate(values, start=1)
            ]
            name = f"{run}{names.format(metric)}.{form}"
            write(tmp_path, {f"x/{name}": text_of(form, rows)})
    rows = ask("runs", tmp_path / "x", "--guess", "--target", "val_acc>=0.6").rows
    assert len(rows) == len(list((tmp_path / "x").rglob(f"*.{form}"))) / 3
    shift = 30 if begin else 0  # of stamps, the first is the start
    for row in rows:
        assert row["steps" if progress != "epoch" else "epochs"] == 6
        assert row["tta_seconds"] == pytest.approx(180, abs=shift)


@GUISES
def test_files_of_dvclive_are_one_run_whatever_their_folders(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    metrics = {"val/acc": rises(0.3, 0.05), "train/acc": rises(0.5, 0.04), "loss": rises(3, -0.1)}
    metrics |= {"lr": rises(0.1, 0)} if rng.random() < 0.5 else {}
    folder = rng.choice(["dvclive/plots/metrics", "plots/metrics", "exp/live/plots/metrics"])
    for run in ("adam", "sgd"):
        for metric, values in metrics.items():
            cells: list[Row] = [
                {
                    "timestamp": 1_700_000_000_000 + at * 30_000,
                    "step": at,
                    metric.split("/")[-1]: value,
                }
                for at, value in enumerate(values)
            ]
            write(tmp_path, {f"x/{run}/{folder}/{metric}.tsv": text_of("tsv", cells)})
    for more in ((), ("--guess",)):
        rows = ask("runs", tmp_path / "x", "--target", "val/acc>=0.6", *more).rows
        assert [row["steps"] for row in rows] == [5, 5]
        assert {row["entry"].partition("/")[0] for row in rows} == {"adam", "sgd"}
        assert [row["tta_seconds"] for row in rows] == pytest.approx([150, 150], abs=31)


@GUISES
def test_learn_and_test_of_catboost_are_one_run_with_its_clock(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    metric = rng.choice(["Logloss", "RMSE", "MAE"])
    for run in range(rng.randrange(1, 4)):
        folder = f"x/seed{run}/catboost_info"
        for part, shift in (("learn", 0.1), ("test", 0.0)):
            values = rises(0.8 - shift, -0.04)
            rows = [{"iter": at, metric: value} for at, value in enumerate(values)]
            write(tmp_path, {f"{folder}/{part}_error.tsv": text_of("tsv", rows)})
        rows = [{"iter": at, "Passed": 500 * (at + 1), "Remaining": 9} for at in range(11)]
        write(tmp_path, {f"{folder}/time_left.tsv": text_of("tsv", rows)})
    for more in ((), ("--guess",)):
        answer = ask("runs", tmp_path / "x", "--target", f"{metric}<=0.6", *more)
        assert [(row["steps"], row["tta_seconds"]) for row in answer.rows] == [(5, 2.5)] * (run + 1)


@GUISES
def test_files_of_training_and_evaluation_are_one_run(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    trains, evaluates = rng.choice(WORDS)
    form = ("csv", "log", "jsonl")[seed]
    name = rng.choice(["{0}", "{0}_log", "metrics-{0}", "{0}/metrics", "log.{0}"])
    runs = rng.choice([("",), ("adam/", "sgd/"), ("seed0/", "seed1/", "seed2/"), ("adam-", "sgd-")])
    if "/" in name:
        runs = tuple(run.replace("-", "/") for run in runs)
    for run in runs:
        for word, start in ((trains, 0.5), (evaluates, 0.3)):
            rows = [
                {"epoch": at, "acc": value, "elapsed_s": 20 * at + (word == evaluates)}
                for at, value in enumerate(rises(start, 0.05), start=1)
            ]
            write(tmp_path, {f"x/{run}{name.format(word)}.{form}": text_of(form, rows)})
    answer = ask("runs", tmp_path / "x", "--guess", "--target", "acc>=0.6")
    assert [(row["epochs"], row["tta_seconds"]) for row in answer.rows] == [(6, 121)] * len(runs)
    problems = ask("problems", tmp_path / "x", "--guess").rows
    assert any(evaluates.lower() in row["message"].lower() for row in problems)
    entries = {row["entry"] for row in answer.rows}
    assert len(entries) == (len(runs) if "adam" in runs[0] else 1)


def test_other_columns_than_those_of_training_are_those_of_the_evaluation(tmp_path: Path) -> None:
    train = [{"epoch": at, "loss": 3 - at / 10, "lr": 0.1} for at in range(1, 9)]
    val = [{"epoch": at, "val_acc": at / 10} for at in range(2, 9, 2)]
    write(tmp_path, {"x/train.csv": text_of("csv", train), "x/val.csv": text_of("csv", val)})
    (row,) = ask("runs", tmp_path / "x", "--guess", "--target", "val_acc>=0.4").rows
    assert row["epochs"] == 4
    (row,) = ask("runs", tmp_path / "x", "--guess", "--target", "val_acc>=0.4").rows


def test_a_part_that_cannot_be_read_is_named_and_the_others_are_read(tmp_path: Path) -> None:
    rows = [{"iter": at, "Logloss": 0.9 - at / 10} for at in range(6)]
    folder = write(tmp_path, {"x/catboost_info/test_error.tsv": text_of("tsv", rows)}) / "x"
    write(folder / "catboost_info", {"learn_error.tsv": "\n", "time_left.tsv": "iter\t"})
    answer = ask("runs", tmp_path / "x", "--target", "Logloss<=0.6")
    assert [row["steps"] for row in answer.rows] == [4]
    problems = ask("problems", tmp_path / "x").rows
    assert any(row["code"] == "unreadable_part" for row in problems)


def test_a_block_says_which_files_are_parts_of_one_run(tmp_path: Path) -> None:
    for run in ("adam", "sgd"):
        for part in ("quality", "clock"):
            cells = {"quality": "f1", "clock": "minutes"}[part]
            table: list[Row] = [{"step": at, cells: at / 10} for at in range(1, 9)]
            write(tmp_path, {f"x/{run}.{part}.csv": text_of("csv", table)})
    block = 'files = "{entry}.{part}.csv"\nmetric = "f1 >= 0.5"\nseconds = "minutes min"\n'
    write(tmp_path, {"x/ttastats.toml": f"[[logs]]\n{block}"})
    rows = ask("runs", tmp_path / "x").rows
    assert [(row["entry"], row["tta_seconds"]) for row in rows] == [("adam", 30), ("sgd", 30)]


def test_presets_for_parts_are_recognised_by_their_places_alone() -> None:
    hit = registry.recognised_preset(b"iter\tRMSE\n0\t1\n", "/logs/catboost_info/test_error.tsv")
    assert hit is not None
    assert hit[1]["part"] == "test_error"
    assert registry.recognised_preset(b"iter\tRMSE\n0\t1\n", "/logs/other/test_error.tsv") is None


@GUISES
def test_metrics_in_folders_of_parts_are_of_the_run_above(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    trains, evaluates = rng.choice([("train", "val"), ("training", "test")])
    for run in ("adam", "sgd")[: rng.randrange(1, 3)]:
        for part, start in ((f"{trains}/", 0.5), (f"{evaluates}/", 0.3), ("", 0.9)):
            metric = "f1" if part else "lr_factor"
            rows = [{"step": at, metric: value} for at, value in enumerate(rises(start, 0.05), 1)]
            write(tmp_path, {f"x/{run}/{part}{metric}.csv": text_of("csv", rows)})
    rows = ask("runs", tmp_path / "x", "--guess", "--target", f"{evaluates}/f1>=0.6").rows
    assert [row["steps"] for row in rows] == [6] * len(rows)
    assert len(rows) == len(list((tmp_path / "x").iterdir()))


def test_a_run_before_its_metric_in_a_name_is_its_entry(tmp_path: Path) -> None:
    for run in ("adam", "sgd"):
        for metric in ("val_acc", "loss"):
            rows = [{"step": at, metric: value} for at, value in enumerate(rises(0.3, 0.05), 1)]
            write(tmp_path, {f"x/{run}_{metric}.csv": text_of("csv", rows)})
    rows = ask("runs", tmp_path / "x", "--guess", "--target", "val_acc>=0.6").rows
    assert [(row["entry"], row["steps"]) for row in rows] == [("adam", 6), ("sgd", 6)]
