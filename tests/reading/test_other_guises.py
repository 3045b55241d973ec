"""Are ways in which other programs write the same thing read, or at least asked about?"""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

import pytest

from tests.made_logs import write
from tests.random_cases import SEEDS, Draw
from tests.reading.asking import Answer, ask


@pytest.fixture(params=SEEDS)
def draw(request: pytest.FixtureRequest) -> Draw:
    return Draw(f"guises {request.param}")


def runs_of(folder: Path, text: str, target: str, name: str = "seed0.log") -> Answer:
    """Return the runs of a file by a target."""
    write(folder, {name: text})
    return ask("runs", folder, "--guess", "--target", target)


@pytest.mark.parametrize(
    "form",
    ["epoch {n} | epoch_time: 00:00:{t:02d} | val_f1: {v}", "epoch {n} epoch_time={t}.0 val_f1={v}",
     "epoch {n} time_per_epoch: {t} s val_f1: {v}", "epoch {n} val_f1 {v}\nEpoch took {t}s",
     "epoch {n} val_f1 {v}\nepoch done in {t} sec"],
)  # fmt: skip
def test_times_of_epochs_are_added_up(form: str, draw: Draw, tmp_path: Path) -> None:
    times = [draw.randrange(20, 24) for _ in range(10)]
    lines = [form.format(n=n, t=t, v=0.5 + n / 25) for n, t in enumerate(times, 1)]
    row = runs_of(tmp_path, "\n".join(lines) + "\n", "val_f1>=0.7").row("seed0")
    assert (row["epochs"], row["tta_seconds"]) == (5, sum(times[:5]))


@pytest.mark.parametrize("name", ["elapsed", "duration", "elapsed_time"])
def test_a_duration_is_no_time_of_day(name: str, draw: Draw, tmp_path: Path) -> None:
    pace = draw.randrange(36_000, 40_000)
    lines = [f"epoch {n} val_loss {4 / n} {name} {dt.timedelta(seconds=pace * n)}"
             for n in range(1, 10)]  # fmt: skip
    assert runs_of(tmp_path, "\n".join(lines) + "\n", "val_loss<=0.5").row("seed0")[
        "tta_seconds"
    ] == 8 * pace  # fmt: skip


@pytest.mark.parametrize("form", ["{0:.3e}", "{0:_}", "{0:.0f}", "{0:,}"])
def test_counts_are_whole(form: str, draw: Draw, tmp_path: Path) -> None:
    every = draw.choice([1000, 2000, 25_000])
    lines = [f"step={form.format(every * n)} val_loss={4 / n}" for n in range(1, 12)]
    row = runs_of(tmp_path, "\n".join(lines) + "\n", "val_loss<=0.5").row("seed0")
    assert row["steps"] == 8 * every


def test_a_clock_that_is_set_back_is_asked_about(draw: Draw, tmp_path: Path) -> None:
    start = dt.datetime(2024, 10, 26, 23, draw.randrange(60))
    pace, form = (
        draw.randrange(500, 600),
        draw.choice(["%Y/%m/%d %H:%M:%S", "%Y-%m-%d %H:%M:%S.%f"]),
    )
    rows = ["epoch,timestamp,val_acc"]
    for n in range(31):
        at = start + dt.timedelta(seconds=pace * n)
        at -= dt.timedelta(hours=at >= dt.datetime(2024, 10, 27, 3))
        rows.append(f"{n},{at.strftime(form)},{0.3 + n / 50}")
    answer = runs_of(tmp_path, "\n".join(rows) + "\n", "val_acc>=0.8", "seed0.csv")
    assert "goes back: was the clock set" in answer.text


def test_epochs_that_start_at_0_in_some_files_are_asked_about(draw: Draw, tmp_path: Path) -> None:
    ends = range(8, 8 + draw.randrange(1, 4))
    for first in (0, 1):
        rows = [f"{n + first},{0.5 + n / 25}" for n in ends for n in range(n)][-ends[-1] :]
        write(tmp_path, {f"x/{'ab'[first]}.csv": "\n".join(["epoch,val_acc", *rows]) + "\n"})
    answer = ask("runs", tmp_path / "x", "--guess", "--target", "val_acc>=0.7")
    assert "starts at 0 in some of these files only" in answer.text


@pytest.mark.parametrize("mark", [",", "\t", ";"])
def test_a_panel_without_limits_has_a_run_in_each_column(
    mark: str, draw: Draw, tmp_path: Path
) -> None:
    axis, metric = draw.choice(["Step", "trainer/global_step"]), draw.choice(["val/acc", "f1"])
    names = [f"{word}-{n}" for n, word in enumerate(draw.sample(["sun", "bird", "sea", "x"], 3))]
    rows = [[100 * n, *(0.4 + n / 20 + at / 100 for at in range(3))] for n in range(1, 9)]
    table = [[axis, *(f"{name} - {metric}" for name in names)], *rows]
    text = "".join(mark.join(map(str, row)) + "\n" for row in table)
    answer = runs_of(tmp_path, text, f"{metric}>=0.7", "export.csv")
    assert sorted(row["steps"] for row in answer.rows) == [600, 600, 600]


@pytest.mark.parametrize(
    "head",
    [
        "Setting random seed: {0}",
        "  lr: 0.1\n  seed: {0}",
        "seed = {0}",
        '{{"seed": {0}, "lr": 1}}',
    ],
)
def test_the_head_of_a_log_tells_its_seed(head: str, draw: Draw, tmp_path: Path) -> None:
    name = draw.choice(["baseline", "net", "exp"])
    lines = [f"epoch {n} val_acc {0.5 + n / 25} elapsed {20 * n} s" for n in range(1, 12)]
    for seed in (1, 2, 3):
        text = "\n".join([head.format(seed), *lines]) + "\n"
        write(tmp_path, {f"x/{name}{seed}.log": text})
    rows = ask("summary", tmp_path / "x", "--guess", "--target", "val_acc>=0.7").rows
    assert [row["n"] for row in rows] == [3]


def test_a_column_tells_the_seeds_that_names_repeat(draw: Draw, tmp_path: Path) -> None:
    name = draw.choice(["baseline", "net", "exp"])
    for seed in (1, 2, 3):
        rows = [json.dumps({"epoch": n, "seed": seed, "val_acc": 0.5 + n / 25})
                for n in range(1, 12)]  # fmt: skip
        write(tmp_path, {f"x/{name}{seed}.jsonl": "\n".join(rows) + "\n"})
    rows = ask("summary", tmp_path / "x", "--guess", "--target", "val_acc>=0.7").rows
    assert [row["n"] for row in rows] == [3]


@pytest.mark.parametrize(
    "start", ["Trial {0} begins: lr=0.1", "run {0} started", "fold {0} starting"]
)
def test_a_start_line_with_a_number_begins_a_run(start: str, draw: Draw, tmp_path: Path) -> None:
    number = draw.randrange(2, 6)
    lines = [f"{start.format(n)}\nbest val_f1: {0.6 + n / 20:.4f}" for n in range(number)]
    write(tmp_path, {"multirun.log": "\n".join(lines) + "\n"})
    assert len(ask("runs", tmp_path, "--guess").rows) == number


@pytest.mark.parametrize("count", ["samples_seen", "images_seen", "total_samples"])
def test_a_log_that_begins_late_in_samples_is_a_part(
    count: str, draw: Draw, tmp_path: Path
) -> None:
    every, pace = draw.choice([512, 50_000]), draw.randrange(15, 30)
    rows = [json.dumps({count: every * n, "seconds": pace * (n - 8), "val_acc": n / 25})
            for n in range(9, 21)]  # fmt: skip
    write(tmp_path, {"seed0.jsonl": "\n".join(rows) + "\n"})
    codes = [row["code"] for row in ask("problems", tmp_path, "--guess").rows]
    assert "begins_late" in codes


def test_a_time_in_a_name_is_no_setting(draw: Draw, tmp_path: Path) -> None:
    for side in ("adam", "sgd"):
        for day, time in (("2024-03-28", "19-30-41"), ("2024-04-02", "07-12-05")):
            pace = draw.uniform(18, 22)
            rows = [f"{n},{pace * n:.2f},{0.5 + n / 25}" for n in range(1, 12)]
            text = "\n".join(["epoch,seconds,val_acc", *rows]) + "\n"
            write(tmp_path, {f"x/{day}/{time}-{side}/log.csv": text})
    rows = ask("summary", tmp_path / "x", "--guess", "--target", "val_acc>=0.7").rows
    assert [row["n"] for row in rows] == [2, 2]
