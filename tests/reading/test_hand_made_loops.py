"""Logs that nobody described: counts that are abbreviated, ordinal or named freely, late clocks."""

from __future__ import annotations

import datetime as dt
import random
from pathlib import Path

import pytest

from tests.made_logs import write
from tests.random_cases import SEEDS
from tests.reading.asking import ask

GUISES = pytest.mark.parametrize("seed", SEEDS)
START = dt.datetime(2023, 6, 5, 8, 30)


@GUISES
def test_a_log_that_begins_late_by_an_abbreviated_count_tells_no_time(
    seed: int, tmp_path: Path
) -> None:
    rng = random.Random(seed)
    word, metric = rng.choice(["Up.", "It.", "Iter.", "upd."]), rng.choice(["bleu", "chrf", "f1"])
    every, pace = rng.choice([500, 1500, 4000]), rng.choice([0.3, 0.9])
    first = rng.choice([7, 11])
    lines = []
    for number in range(first, first + 6):
        at = START + dt.timedelta(seconds=(number - first) * every * pace)
        late = at + dt.timedelta(seconds=every * pace / 30)
        lines += [
            f"[{at}] [valid] {word} {number * every} : ce : {4 / number:.4f} : new best",
            f"[{late}] [valid] {word} {number * every} : {metric} : {20 + number} : new best",
        ]
    write(tmp_path, {"runs/valid.log": "\n".join(lines) + "\n"})
    target = f"{metric}>={20 + first + 4}"
    answer = ask("runs", tmp_path / "runs", "--guess", "--target", target)
    row = answer.row("valid.log")
    assert (row["reached"], row["steps"], row["tta_seconds"]) == (True, (first + 4) * every, None)
    problems = ask("problems", tmp_path / "runs", "--guess")
    assert "begins_late" in {row["code"] for row in problems.rows}


@GUISES
def test_a_clock_that_starts_just_before_the_first_evaluation_lacks_the_work(
    seed: int, tmp_path: Path
) -> None:
    rng = random.Random(seed)
    pace, metric = rng.choice([200, 700, 3000]), rng.choice(["val_acc", "test_f1"])
    form = rng.choice(["%Y-%m-%d %H:%M:%S", "%H:%M:%S"])
    soon = pace * rng.uniform(0.02, 0.1)
    lines = [f"{START:{form}} evaluation begins"]
    for epoch in range(1, 8):
        at = START + dt.timedelta(seconds=soon + (epoch - 1) * pace)
        lines.append(f"{at:{form}} epoch {epoch} {metric} {0.5 + epoch / 20:.2f}")
    write(tmp_path, {"runs/train.log": "\n".join(lines) + "\n"})
    answer = ask("runs", tmp_path / "runs", "--guess", "--target", f"{metric}>=0.7")
    row = answer.row("train.log")
    assert row["tta_seconds"] == pytest.approx(4 * pace, rel=0.02)
    problems = ask("problems", tmp_path / "runs", "--guess")
    assert "clock_start_estimated" in {row["code"] for row in problems.rows}


@GUISES
def test_an_ordinal_counts_steps(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    word, every = rng.choice(["current step", "iteration", "at step"]), rng.choice([1, 7, 10])
    endings = {1: "st", 2: "nd", 3: "rd"} if rng.random() < 0.5 else {}
    lines = []
    for number in range(1, 15):
        ending = endings.get(number * every % 10, "th")
        loss = f"val loss: {3 - number / 10:.2f}"
        lines += [f"{word}: {number * every}{ending}", loss]
    write(tmp_path, {"runs/out.txt": "\n".join(lines) + "\n"})
    answer = ask("runs", tmp_path / "runs", "--guess", "--target", "val_loss<=2.2")
    assert answer.row("out.txt")["steps"] == 8 * every


@GUISES
def test_a_verb_behind_a_metric_is_no_part_of_its_name(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    metric, verb = rng.choice(["val_acc", "test accuracy", "dev f1"]), rng.choice(["is", "at"])
    mark = rng.choice([":", " ="])
    lines = [f"epoch: {n}, {metric} {verb}{mark} {n / 10:.3f}" for n in range(1, 9)]
    write(tmp_path, {"runs/out.log": "\n".join(lines) + "\n"})
    name = metric.replace(" ", "_")
    answer = ask("runs", tmp_path / "runs", "--guess", "--target", f"{name}>=0.5")
    assert answer.row("out.log")["epochs"] == 5


@GUISES
def test_a_rising_column_with_a_word_for_steps_counts_them_and_a_time_of_rows_may_be_summed(
    seed: int, tmp_path: Path
) -> None:
    rng = random.Random(seed)
    count = rng.choice(["steps_done", "frames steps", "agent_timesteps", "iterations_so_far"])
    time = rng.choice(["episode_time", "time", "duration"])
    header, done, rows, spent = f"episode,{time},test_reward,{count}", 0, [], []
    for number in range(12):
        done += rng.randint(50, 400)
        spent.append(round(rng.uniform(1, 9), 3))
        rows.append(f"{number},{spent[-1]},{number * 10},{done}")
        if number == 6:
            reached = done
    write(tmp_path, {"runs/progress.csv": "\n".join([header, *rows]) + "\n"})
    answer = ask("runs", tmp_path / "runs", "--guess", "--target", "test_reward>=60")
    assert answer.row("progress.csv")["steps"] == reached
    asked = ask("runs", tmp_path / "runs", "--target", "test_reward>=60")
    if "does not increase" in asked.text:
        assert f"--seconds 'sum {time} s'" in asked.text


@GUISES
def test_a_sentence_counts_whatever_class_writes_it(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    writer = rng.choice(["ScoreListener", "AccuracyHook", "LossPrinter"])
    quality = rng.choice(["Accuracy", "Reward"])
    lines = ["Parameters:  803,605"]
    for number in range(1, 9):
        at = START + dt.timedelta(seconds=60 * number)
        lines.append(
            f"{at:%H:%M:%S} INFO {writer} - {quality} at iteration {number * 20} is {number / 8}"
        )
    write(tmp_path, {"runs/train.log": "\n".join(lines) + "\n"})
    answer = ask("runs", tmp_path / "runs", "--guess", "--target", f"{quality.lower()}>=0.5")
    assert answer.row("train.log")["steps"] == 80
