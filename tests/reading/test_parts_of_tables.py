"""Rows of training and validation data in one table, and times per epoch that are added up."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.made_logs import write
from tests.random_cases import SEEDS
from tests.reading.asking import ask
from tests.test_cli import run

Row = tuple[object, ...]
GUISES = pytest.mark.parametrize("seed", SEEDS)
PARTS = (("train", "val"), ("Training", "Validation"), ("learn", "test"), ("train", "dev"))


def rows_of(
    rng: random.Random, parts: tuple[str, str], slow: float
) -> Iterator[tuple[object, ...]]:
    """Yield progress, part, value and seconds; rows of the second part meet .8 at progress 8."""
    for at in range(1, 12):
        rows = [(parts[0], 0.45 + 0.1 * at), (parts[1], 0.4 + 0.05 * at)]
        rng.shuffle(rows)
        yield from ((at, part, round(value, 4), round(slow * at, 3)) for part, value in rows)


def table(rng: random.Random, header: list[str], rows: list[Row]) -> tuple[str, str]:
    """Return an ending and the text of a table in one of several forms."""
    if rng.random() < 0.4:
        lines = [json.dumps(dict(zip(header, row, strict=True))) for row in rows]
        return "jsonl", "\n".join(lines) + "\n"
    mark = rng.choice([",", "\t", ";"])
    lines = [mark.join(map(str, row)) for row in [header, *rows]]
    return "tsv" if mark == "\t" else "csv", "\n".join(lines) + "\n"


@GUISES
def test_the_rows_of_the_part_that_evaluates_are_the_metric(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    parts, progress = rng.choice(PARTS), rng.choice(["epoch", "step"])
    column = rng.choice(["split", "phase", "Mode", "x"])
    metric = rng.choice(["accuracy", "f1"])
    header = [progress, column, metric, "elapsed_s"]
    for side, slow in (("a", 12.0), ("b", 10.0)):
        for number in range(3):
            ending, text = table(rng, header, list(rows_of(rng, parts, slow + number / 100)))
            write(tmp_path, {f"{side}/seed{number}.{ending}": text})
    sides = [tmp_path / side for side in "ab"]
    answer = ask("compare", *sides, "--guess", "--target", f"{metric}>=0.8")
    assert answer.rows[0]["speedup"] == pytest.approx(1.2, rel=0.01)
    runs = ask("runs", sides[0], "--guess", "--target", f"{metric}>=0.8")
    name = "epochs" if progress == "epoch" else "steps"
    assert [row[name] for row in runs.rows] == [8] * 3
    problems = ask("problems", sides[0], "--guess")
    assert any(parts[1].lower() in row["message"] for row in problems.rows)


def test_test_data_beside_validation_data_are_a_metric_of_their_own(tmp_path: Path) -> None:
    rows = ["epoch,split,accuracy,seconds"]
    for at in range(1, 6):
        rows += [f"{at},{part},{at / 10 + more},{at}0" for part, more in
                 (("train", 0.5), ("val", 0.3), ("test", 0.2))]  # fmt: skip
    write(tmp_path, {"logs/seed0.csv": "\n".join(rows) + "\n"})
    for target, epochs in (("accuracy>=0.6", 3), ("test_accuracy>=0.6", 4)):
        (row,) = ask("runs", tmp_path / "logs", "--guess", "--target", target).rows
        assert (row["epochs"], row["tta_seconds"]) == (epochs, 10.0 * epochs)


def test_a_column_that_names_runs_is_no_part_of_the_data(tmp_path: Path) -> None:
    rows = [f"{at},{part},{at / 10}" for part in ("train", "test") for at in range(1, 6)]
    write(tmp_path, {"logs/x.csv": "\n".join(["epoch,split,accuracy", *rows]) + "\n"})
    result = run("ingest", tmp_path / "logs", "-o", tmp_path / "x.parquet", "--run", "split",
                 "--metric", "accuracy")  # fmt: skip
    assert "2 runs" in result.stderr


@pytest.mark.parametrize("progress", ["epoch", "step", "samples"])
def test_a_metric_told_twice_without_anything_to_tell_it_apart_is_asked(
    tmp_path: Path, progress: str
) -> None:
    rows = [f"{at},{at}0,{at / 10 + more}" for at in range(1, 6) for more in (0.0, 0.3)]
    write(tmp_path, {"logs/x.csv": "\n".join([f"{progress},seconds,val_acc", *rows]) + "\n"})
    answer = ask("runs", tmp_path / "logs", "--guess")
    assert answer.code == 2
    assert f"val_acc is told anew of the same {progress}" in answer.text


@GUISES
def test_equal_times_per_epoch_are_all_added(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    times = [rng.choice([40, 41]) for _ in range(rng.randint(6, 12))]
    is_text = rng.random() < 0.5
    values = [round(0.5 + 0.4 * (at + 1) / len(times), 4) for at in range(len(times))]
    rows = list(zip(range(1, len(times) + 1), times, values, strict=True))
    if is_text:
        text = "".join(f"epoch {at} time {time}s loss 1.0 val_acc {v}\n" for at, time, v in rows)
    else:
        text = "".join(
            f"{at},{time},{v}\n" for at, time, v in [("epoch", "time", "val_acc"), *rows]
        )
    write(tmp_path, {f"logs/seed0.{'log' if is_text else 'csv'}": text})
    (row,) = ask("runs", tmp_path / "logs", "--guess", "--target", "val_acc>=0.9").rows
    assert row["tta_seconds"] == sum(times)


def test_a_bar_that_is_drawn_twice_is_one_epoch(tmp_path: Path) -> None:
    bars = "".join(
        f"epoch {at}: 100%|####| 9/9 [00:40<00:00, 4.5s/it]\n" * 2
        + f"epoch {at} val_acc {at / 10}\n"
        for at in range(1, 10)
    )
    write(tmp_path, {"logs/seed0.log": bars})
    (row,) = ask("runs", tmp_path / "logs", "--guess", "--target", "val_acc>=0.9").rows
    assert row["tta_seconds"] == 360.0


STAMPS = {
    "at %Y-%m-%dT%H:%M:%S%z": lambda at: f"2024-03-04T1{at // 60}:{at % 60:02}:00+01:00",
    "when unix ms": lambda at: f"{1_700_000_000_000 + 60_000 * at}",
    "time unix": lambda at: f"{1_700_000_000 + 60 * at}.25",
    "created %Y/%m/%d %H:%M:%S.%f": lambda at: f"2024/03/04 1{at // 60}:{at % 60:02}:00.250",
}


@pytest.mark.parametrize("clock", STAMPS)
def test_a_column_of_time_stamps_is_the_clock_whatever_it_is_called(
    tmp_path: Path, clock: str
) -> None:
    name = clock.partition(" ")[0].replace("when", "timestamp")
    rows = [f"{at},{STAMPS[clock](at)},{0.4 + at / 20}" for at in range(1, 11)]
    write(tmp_path, {"logs/x.csv": "\n".join([f"epoch,{name},val_acc", *rows]) + "\n"})
    (row,) = ask("runs", tmp_path / "logs", "--guess", "--target", "val_acc>=0.9").rows
    assert row["tta_seconds"] == 600.0


@GUISES
def test_a_time_of_each_epoch_by_its_name_is_added_up(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    name, unit = rng.choice(
        [("epoch_time", 1), ("time_per_epoch_min", 60), ("epoch_duration_ms", 1e-3)]
    )
    times = [rng.choice([40, 41, 42]) for _ in range(8)]
    rows = [f"{at},{time},{0.5 + at / 20}" for at, time in enumerate(times, start=1)]
    write(tmp_path, {"logs/x.csv": "\n".join([f"epoch,{name},val_acc", *rows]) + "\n"})
    (row,) = ask("runs", tmp_path / "logs", "--guess", "--target", "val_acc>=0.9").rows
    assert row["tta_seconds"] == pytest.approx(sum(times) * unit)


@GUISES
def test_a_table_of_one_value_a_row_has_a_metric_for_each_name(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    named, valued = rng.choice([("metric", "value"), ("Tag", "Value"), ("key", "scalar")])
    header = ["step", named, valued, "seconds"]
    rows = [
        (at, name, round(value * at / 10, 3), at * 7.0)
        for at in range(1, 11)
        for name, value in (("train_acc", 0.99), ("val_acc", 0.9), ("lr", 0.1))
    ]
    ending, text = table(rng, header, rows)
    write(tmp_path, {f"logs/x.{ending}": text})
    (row,) = ask("runs", tmp_path / "logs", "--guess", "--target", "val_acc>=0.9").rows
    assert (row["steps"], row["tta_seconds"], row["value_final"]) == (10, 70.0, 0.9)


@GUISES
def test_lines_of_training_and_evaluation_without_a_word_between_are_asked(
    tmp_path: Path, seed: int
) -> None:
    rng = random.Random(seed)
    metric, mark = rng.choice(["acc", "accuracy", "f1"]), rng.choice([": ", "=", " is: "])
    text = "".join(
        "testing in eval mode\n" * (part == "test") + f"epoch: {at}, {metric}{mark}{value:.4f}\n"
        for at in range(8)
        for part, value in (("train", 0.9 + at / 100), ("test", 0.5 + at / 100))
    )
    write(tmp_path, {"logs/out.log": text})
    answer = ask(
        "runs", tmp_path / "logs", "--target", f"{metric}>=0.55", *["--guess"] * (seed % 2)
    )
    assert answer.code == 2
    assert f"{metric} is told anew of the same epoch" in answer.text
