"""A log refutes a reading of its clock: work before the first stamp, a late begin, absurd times."""

from __future__ import annotations

import datetime as dt
import random
from pathlib import Path

import pytest

from tests.made_logs import write
from tests.made_stores import first_event, scalar
from tests.random_cases import SEEDS
from tests.reading.asking import ask
from ttastats.base.records import ESTIMATED_START, UNKNOWN_START, Evaluation, Run
from ttastats.ingestion.proof import prove

GUISES = pytest.mark.parametrize("seed", SEEDS)
START = dt.datetime(2024, 3, 4, 10)
STAMPS = ("%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%SZ", "%Y/%m/%d %H:%M:%S.%f")


def quality(progress: int, last: int) -> float:
    """Return a quality that rises to .9 at the last evaluation."""
    return round(0.9 - 0.5 * (last - progress) / last, 4)


def stamped(rng: random.Random, first: int, every: int, last: int, pace: float) -> str:
    """Return a log of stamps at evaluations alone, as a table or as lines."""
    form, metric = rng.choice(STAMPS), rng.choice(["val_acc", "eval_accuracy", "test_f1"])
    progress = rng.choice(["epoch", "step", "iteration"])
    rows = [
        ((START + dt.timedelta(seconds=pace * at)).strftime(form), at, quality(at, last))
        for at in range(first, last + 1, every)
    ]
    if rng.random() < 0.5:
        header = f"{progress},timestamp,{metric}"
        return "\n".join([header, *(f"{at},{time},{value}" for time, at, value in rows)]) + "\n"
    return "".join(f"{time} INFO {progress}={at} {metric}={value}\n" for time, at, value in rows)


def times(folder: Path) -> list[tuple[float, bool]]:
    answer = ask("runs", folder, "--guess", "--target", f"{metric_in(folder)}>=0.9")
    return [(row["tta_seconds"], row["reached"]) for row in answer.rows]


def metric_in(folder: Path) -> str:
    text = next(folder.rglob("*.*")).read_text()
    return next(name for name in ("eval_accuracy", "val_acc", "test_f1") if name in text)


@GUISES
def test_a_start_before_the_first_stamp_is_estimated_by_the_pace(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    every = rng.choice([1, 2, 5])
    text = stamped(rng, every, every, 20 * every, pace := rng.choice([7.0, 60.0, 300.0]))
    write(tmp_path, {f"logs/seed{seed}.{'csv' if ',' in text[:12] else 'log'}": text})
    ((seconds, reached),) = times(tmp_path / "logs")
    assert reached
    assert seconds == pytest.approx(20 * every * pace, rel=0.01)
    problems = ask("problems", tmp_path / "logs", "--guess")
    assert "clock_start_estimated" in {row["code"] for row in problems.rows}


@GUISES
def test_an_equal_pace_at_unlike_intervals_is_no_difference(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    state = rng.getstate()
    files = {}
    for side, every in (("often", 1), ("rarely", rng.choice([4, 5]))):
        for run in range(4):
            rng.setstate(state)
            text = stamped(rng, every, every, 20, 60 + run / 5)
            files[f"{side}/run{run}.{'csv' if ',' in text[:12] else 'log'}"] = text
    write(tmp_path, files)
    target = f"{metric_in(tmp_path)}>=0.9"
    answer = ask("compare", tmp_path / "often", tmp_path / "rarely", "--guess", "--target", target)
    assert answer.rows[0]["speedup"] == pytest.approx(1.0, rel=0.01)
    assert answer.rows[0]["verdict"] not in {"faster", "slower"}


def run_of(points: list[tuple[float, float | None]], **fields: object) -> Run:
    evaluations = tuple(
        Evaluation(index, "val_acc", 0.5, 0.5, seconds, True, epoch=epoch, line=index + 2)
        for index, (epoch, seconds) in enumerate(points)
    )
    lasted = max((seconds for _, seconds in points if seconds is not None), default=None)
    return Run(**{"run_seconds": lasted, "evaluations": evaluations, **fields})  # type: ignore[arg-type]


def codes(run: Run) -> list[str]:
    return [problem.code for problem in run.problems]


def test_a_start_that_is_told_stays() -> None:
    for points in (
        [(0.0, 0.0), (1.0, 60.0), (2.0, 120.0)],  # evaluated before any training
        [(1.0, 90.0), (2.0, 120.0), (3.0, 150.0)],  # with a start-up
        [(1.0, 15.0), (2.0, 75.0), (3.0, 135.0)],  # with faster first epochs
        [(1.0, 5.0), (2.0, 10.0), (3.0, 110.0), (4.0, 210.0)],
        [(10.0, 300.0), (11.0, 330.0), (12.0, 360.0)],  # evaluated late, timed from the start
        [(5.0, 0.0)],  # without a pace
    ):
        run = run_of(points)
        assert prove(run) == run


def test_the_clock_of_a_suite_is_what_its_rules_say() -> None:
    points: list[tuple[float, float | None]] = [(3.0, 0.0), (4.0, 60.0), (5.0, 120.0)]
    for fields in ({"suite": "mlperf"}, {"clock_zero": "run_start"}):
        run = run_of(points, **fields)
        assert prove(run) == run
    assert codes(prove(run_of(points))) == ["begins_late"]


@GUISES
def test_a_log_that_begins_in_the_middle_tells_a_pace_and_no_time(seed: int) -> None:
    rng = random.Random(seed)
    first, every, pace = rng.randint(8, 30), rng.choice([1, 2, 4]), rng.choice([2.0, 60.0])
    points = [(float(at), (at - first + 1) * pace) for at in range(first, first + 40, every)]
    run = prove(run_of(points))
    assert run.clock_zero == UNKNOWN_START
    assert f"begins at epoch {first}" in run.problems[0].message
    assert [each.seconds for each in run.evaluations] == [seconds for _, seconds in points]


def test_the_progress_at_second_0_counts_where_training_was_logged_before() -> None:
    points: list[tuple[float, float | None]] = [(5.0, 240.0), (10.0, 540.0), (15.0, 840.0)]
    run = prove(run_of(points, zero_progress=1.0))
    assert run.clock_zero == ESTIMATED_START
    assert [each.seconds for each in run.evaluations] == [300.0, 600.0, 900.0]
    assert run.run_seconds == 900.0
    assert prove(run_of(points, zero_progress=0.1)).clock_zero is None  # a fiftieth of an interval
    assert prove(run_of(points, zero_progress=8.0)).clock_zero == UNKNOWN_START


@pytest.mark.parametrize("wrong", [-960.0, 1.7e12, float("inf"), float("nan"), -1e-9])
def test_an_absurd_time_takes_no_evaluation_with_it(wrong: float) -> None:
    run = prove(run_of([(1.0, 10.0), (2.0, wrong), (3.0, 30.0)]))
    assert [each.seconds for each in run.evaluations] == [10.0, None, 30.0]
    assert [each.epoch for each in run.evaluations] == [1.0, 2.0, 3.0]
    assert codes(run) == ["unusable_time"]
    assert run.problems[0].line == 3
    assert run.run_seconds == 30.0


@pytest.mark.parametrize(
    ("metric", "value", "kept"),
    [
        ("val_acc", 1e308, False),
        ("top1", -450.0, False),
        ("eval/F1", 1000.0, False),
        ("val_acc", 97.5, True),
        ("val_loss", 1e9, True),
        ("mean_reward", 5000.0, True),
    ],
)
def test_a_share_above_a_hundred_per_cent_is_no_value(
    metric: str, value: float, kept: bool
) -> None:
    evaluation = Evaluation(0, metric, value, value, 10.0, True, line=7)
    proved = prove(Run(run_seconds=10.0, evaluations=(evaluation,)))
    assert proved.evaluations[0].value == (value if kept else None)
    assert codes(proved) == ([] if kept else ["impossible_value"])


@GUISES
def test_a_second_training_in_a_folder_of_events_is_a_run_of_its_own(
    tmp_path: Path, seed: int
) -> None:
    rng = random.Random(seed)
    tag, first = rng.choice(["val__accuracy", "eval_acc"]), rng.choice([0, 1])
    starts = [1.7e9, 1.7e9 + rng.choice([5e3, 5e4]), 1.7e9 + 2e5][: rng.choice([2, 3])]
    for start in starts:
        events = [first_event(start), scalar(start, 0, train__loss=1.0)]
        events += [
            scalar(start + 30.0 * (at + 1), first + at, **{tag: 0.5 + at / 50}) for at in range(11)
        ]
        write(tmp_path, {f"logs/events.out.tfevents.{int(start)}.node": b"".join(events)})
    answer = ask("runs", tmp_path / "logs", "--target", f"{tag.replace('__', '/')}>=0.699")
    assert [row["tta_seconds"] for row in answer.rows] == [pytest.approx(330.0)] * len(starts)
    problems = ask("problems", tmp_path / "logs")
    assert "several_trainings" in {row["code"] for row in problems.rows}


@GUISES
def test_a_run_that_goes_on_under_another_name_is_proposed_as_one(
    tmp_path: Path, seed: int
) -> None:
    rng = random.Random(seed)
    cut, last, pace = rng.randint(6, 9), 20, rng.choice([5.0, 60.0])

    def table(first: int, end: int) -> str:
        rows = [f"{at},{(at - first + 1) * pace},{at / 40}" for at in range(first, end + 1)]
        return "\n".join(["epoch,seconds,val_acc", *rows]) + "\n"

    files = {f"logs/adam/seed{n}.csv": table(1, last) for n in (1, 2)}
    files |= {
        "logs/adam/seed3.csv": table(1, cut),
        "logs/adam/part2-seed3.csv": table(cut + 1, last),
    }
    files["logs/sgd/seed4.csv"] = table(cut + 1, last)  # of which no other part lies here
    files["logs/ttastats.toml"] = "".join(
        f'[[logs]]\nfiles = "{{entry}}/{part}seed{{seed}}.csv"\nmetric = "val_acc"\n'
        for part in ("{_}", "")
    )
    problems = ask("problems", write(tmp_path, files) / "logs").rows
    (row,) = (row for row in problems if row["code"] == "continued_run")
    assert row["source"].endswith("part2-seed3.csv")
    assert f"goes on at {cut + 1} where" in row["message"]
    assert "adam/seed3.csv" in row["message"]


@GUISES
def test_a_run_that_a_table_and_a_text_tell_counts_once(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    metric, timed = rng.choice(["val_acc", "test_f1"]), rng.choice(["table", "text"])
    table, text = [f"epoch,{metric}" + ",seconds" * (timed == "table")], []
    for at in range(1, rng.randint(6, 12)):
        value = rng.uniform(0.2, 0.9)
        table.append(f"{at},{value:.6f}" + f",{at * 20}" * (timed == "table"))
        text.append(f"epoch {at} {metric} {value:.4f}" + f" elapsed {at * 20}s" * (timed == "text"))
    files = {"a/metrics.csv": "\n".join(table) + "\n", "a/out.log": "\n".join(text) + "\n"}
    answer = ask("runs", write(tmp_path, files) / "a", "--guess", "--target", f"{metric}>=0.1")
    kept = "metrics.csv" if timed == "table" else "out.log"
    twin = {"metrics.csv": "out.log", "out.log": "metrics.csv"}[kept]
    summary = ask("summary", tmp_path / "a", "--guess", "--target", f"{metric}>=0.1")
    assert sum(row["n"] for row in summary.rows) == 1
    assert answer.row(kept)["tta_seconds"] == 20.0
    problems = ask("problems", tmp_path / "a", "--guess").rows
    (row,) = (row for row in problems if row["code"] == "duplicate_run")
    assert row["source"].endswith(twin)


def test_runs_of_unlike_formats_with_unlike_values_are_two(tmp_path: Path) -> None:
    rows = [f"{at},{at / 10},{at}0" for at in range(1, 6)]
    text = "".join(f"epoch {at} val_acc {at / 9:.4f} elapsed {at}0s\n" for at in range(1, 6))
    files = {"a/metrics.csv": "\n".join(["epoch,val_acc,seconds", *rows]) + "\n", "a/out.log": text}
    summary = ask("summary", write(tmp_path, files) / "a", "--guess", "--target", "val_acc>=0.4")
    assert sum(row["n"] for row in summary.rows) == 2
