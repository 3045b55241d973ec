"""No run that failed, no rejected log and no missing run is left out in silence."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

import ttastats as tta
from tests.accepted import Case
from tests.questions import Questions, accepted_answers
from tests.test_recording import recorded
from ttastats.ingestion import absent
from ttastats.recording import run_log
from ttastats.report.answer import Report
from ttastats.stats.outcomes import fails_more_p

OOM = "RuntimeError: CUDA out of memory"


def log(seed: int, seconds: float, *, end: str = "target") -> str:
    """Return the log of a recorded run that takes so long to its target, or ends before it."""
    time = 1.7e12 + seed * 1e6
    lines = [
        run_log.event_line("POINT_IN_TIME", time, run_log.RECORDER, "ttastats 0.2", {}),
        run_log.event_line("POINT_IN_TIME", time, "submission_benchmark", "digits", {}),
        run_log.event_line("POINT_IN_TIME", time, "seed", seed, {}),
        run_log.event_line("POINT_IN_TIME", time, "eval_target", 0.9, {"metric": "acc"}),
        run_log.event_line("INTERVAL_START", time, "run_start", None, {}),
    ]
    for epoch in range(1, 4):
        time += 1e3 * seconds / 3
        value = 0.3 * epoch + (0.05 if end == "target" else -0.1)
        about = {"metric": "acc", "epoch_num": epoch}
        lines.append(run_log.event_line("POINT_IN_TIME", time, "eval_accuracy", value, about))
    status = "success" if end == "target" else "aborted"
    if end != "killed":
        about = {"status": status, "reason": end}
        lines.append(run_log.event_line("INTERVAL_END", time, "run_stop", None, about))
    return "".join(lines)


def side(
    folder: Path,
    n: int = 10,
    *,
    seconds: float = 30.0,
    crashed: Collection[int] = (),
    end: str = OOM,
    damaged: Collection[int] = (),
    gone: Collection[int] = (),
) -> Path:
    """Return the table of n runs of one entry, of which some ended early or left no log."""
    place = folder / "local" / "results" / "box" / "digits"
    place.mkdir(parents=True)
    spread = np.random.default_rng(ord(folder.name[0])).normal(1.0, 0.03, n)
    for number in range(n):
        early = number in crashed
        text = log(
            number, seconds * spread[number] * (0.1 if early else 1), end=end if early else "target"
        )
        if number in damaged:
            text = ""
        if number not in gone:
            (place / f"result_{number}.txt").write_text(text)
    tta.ingest([folder / "local"], folder / "runs.parquet")
    return folder / "runs.parquet"


def side_of(name: str, n: int = 10, **more: Any) -> pl.DataFrame:
    """Return the table of a side, with paths that do not depend on its folder."""
    with TemporaryDirectory() as place:
        table = pl.read_parquet(side(Path(place) / name, n, **more))
        return table.with_columns(
            pl.col("source", "problems").str.replace_all(place, "", literal=True)
        )


def damaged_twice() -> pl.DataFrame:
    return side_of("a", 6, damaged=(2, 4))


def early(crashes: int) -> pl.DataFrame:
    """Return runs of which some end after an evaluation, so that they have no value at the end."""
    with TemporaryDirectory() as place:
        table = side(Path(place) / "c")
        logs = table.parent / "local" / "results" / "box" / "digits"
        for number in range(crashes):
            lines = log(number, 3.0, end=OOM).splitlines(keepends=True)
            (logs / f"result_{number}.txt").write_text("".join([*lines[:6], lines[-1]]))
        tta.ingest([table.parent / "local"], table)
        return pl.read_parquet(table).with_columns(
            pl.col("source").str.replace(place, "", literal=True)
        )


def compared(
    b: Mapping[str, Any], *, back: bool = False, n: int = 10, **options: Any
) -> Callable[[], Report]:
    """Return the comparison of a side without failures and another, in either order."""
    places = [("a", {}), ("b", {"seconds": 20.0} | b)]
    return lambda: tta.compare(
        *(side_of(name, n, **more) for name, more in reversed(places) if back),
        *(side_of(name, n, **more) for name, more in places if not back),
        **options,
    )


def benchmark(name: str, *, log: str, crashed: Collection[int] = ()) -> pl.DataFrame:
    """Return the table of five runs of a benchmark."""
    columns = ("source", "run_id", "content_digest")
    renamed = {column: pl.concat_str(pl.lit(log), column) for column in columns}
    table = side_of("b" if crashed else "a", 5, crashed=crashed)
    return table.with_columns(benchmark=pl.lit(name), **renamed)


def one_of(benchmarks: str) -> Report:
    """Return the comparison of several benchmarks, in the first of which B fails more often."""
    a = [benchmark(name, log=f"a {name}") for name in benchmarks]
    b = [benchmark(name, log=f"b {name}") for name in benchmarks[1:]]
    failing = benchmark(benchmarks[0], log="b", crashed=range(4))
    return tta.compare(pl.concat(a), pl.concat([failing, *b]), fail_on="slower:99%")


SLOWER, EIGHT = {"fail_on": "slower:5%"}, {"crashed": range(8)}
AT_3 = {"at": "epoch=3", "fail_on": "worse:0.5"}
QUESTIONS: Questions = {
    **{
        f"runs that ended by {end} failed": lambda end=end: tta.summary(
            side_of("a", crashed=(1, 2), end=end)
        )
        for end in (OOM, "killed", "worker_lost", "epochs")
    },
    "interrupted runs stand in a summary": lambda: tta.summary(
        side_of("a", crashed=(1,), end="KeyboardInterrupt")
    ),
    "interrupted runs that are censored": lambda: tta.summary(
        side_of("a", crashed=(1,), end="KeyboardInterrupt"), censor_stopped=True
    ),
    "and at a budget": lambda: tta.summary(
        side_of("a", crashed=(1,), end="KeyboardInterrupt"), censor_stopped=True, at="epoch=3"
    ),
    "logs that could not be read stand in a summary": lambda: tta.summary(damaged_twice()),
    "in a variance": lambda: tta.variance(damaged_twice()),
    "in a plan": lambda: tta.power(damaged_twice()),
    "at a budget": lambda: tta.summary(damaged_twice(), at="epoch=3"),
    "in targets": lambda: tta.targets(damaged_twice()),
    "in a comparison": compared({"damaged": (2, 4)}, n=6),
    "a gap in the numbers of files": lambda: tta.summary(side_of("a", 4, gone=(2,))),
    "more gaps than are named": lambda: tta.summary(side_of("a", 15, gone=(2, 5, 8, 11))),
    "a rejected log may be the run that is missing": lambda: tta.summary(
        side_of("a", 4, damaged=(2,))
    ),
    "more failures of B fail": compared(EIGHT, **SLOWER),
    "what is required fails too": compared(EIGHT, require="not-slower:90%"),
    "more failures of A are counted": compared(EIGHT, back=True, **SLOWER),
    "and are no lack": compared(EIGHT, back=True, require="not-slower:90%"),
    "failures within chance pass": compared({"crashed": (3,)}, fail_on="slower:95%"),
    "no failures are not spoken of": compared({}, **SLOWER),
    "logs that cannot be read count as failures": compared({"damaged": range(6)}, n=12, **SLOWER),
    "interrupted runs are no failures": compared({"crashed": range(5), "end": "SIGTERM"}, **SLOWER),
    "unless they are censored": compared(
        {"crashed": range(5), "end": "SIGTERM"}, censor_stopped=True, **SLOWER
    ),
    "a benchmark fails more often": lambda: one_of("x"),
    "which may be chance among three": lambda: one_of("xyz"),
    "qualities without failures": lambda: tta.compare(side_of("a"), early(0), **AT_3),
    "the gate of qualities fails too": lambda: tta.compare(side_of("a"), early(8), **AT_3),
    "unless A fails": lambda: tta.compare(early(8), side_of("a"), **AT_3),
    "no run of a side is that long": lambda: tta.compare(side_of("a"), early(10), at="epoch=3"),
}


@accepted_answers("left_out", QUESTIONS)
@pytest.mark.usefixtures("in_codes")
def test_left_out_runs_are_noted_as_accepted(case: Case) -> None:
    assert case.is_as_accepted()


@pytest.mark.parametrize(
    ("n", "more", "number", "seed", "counts"),
    [
        (10, {"crashed": (1,), "end": "KeyboardInterrupt"}, 10, 1, ((9, 1, 0), (10, 0, 0))),
        (6, {"damaged": (2,)}, 2, 2, ((5, 0, 1), (6, 0, 0))),
    ],
)
def test_rejected_logs_are_counted_until_they_are_replaced(
    n: int, more: Any, number: int, seed: int, counts: tuple[Any, Any], tmp_path: Path
) -> None:
    table = side(tmp_path, n, **more)
    for again in counts:
        (row,) = tta.summary(table).rows
        assert (row["n"], row["interrupted"], row["rejected_logs"]) == again
        place = tmp_path / "local" / "results" / "box" / "digits"
        (place / f"result_{number}.txt").write_text(log(seed, 31.0))
        tta.ingest([tmp_path / "local"], table)


def test_an_exception_after_the_target_was_met_is_no_reason_of_a_failure(tmp_path: Path) -> None:
    for name in "ab":
        for seed in range(3):
            error = OSError("disk full") if (name, seed) == ("b", 1) else None
            recorded(tmp_path / name, [0.95], error, seed=seed)
        tta.ingest([tmp_path / name], tmp_path / f"{name}.parquet")
    (row,) = tta.compare(tmp_path / "a.parquet", tmp_path / "b.parquet").rows
    assert (row["reached_b"], row["exceptions_a"], row["exceptions_b"]) == (3, None, None)


def test_a_rejected_log_is_of_the_entry_of_its_folder(tmp_path: Path) -> None:
    side(tmp_path, 6, damaged=(2,))
    results = tmp_path / "local" / "results"
    shutil.copytree(results / "box", results / "tower")
    for path in (results / "tower" / "digits").iterdir():
        path.write_text(log(100 + int(path.stem[-1]), 30.0))
    table = tta.ingest([tmp_path / "local"], tmp_path / "runs.parquet").output
    left = {row["entry"]: (row["n"], row["rejected_logs"]) for row in tta.summary(table).rows}
    assert [left[entry] for entry in sorted(left)] == [(5, 1), (6, 0)]


def test_a_rejected_log_named_by_a_pattern_is_like_the_runs_of_its_entry(tmp_path: Path) -> None:
    for name, machine in (("adam", "small"), ("muon", "large")):
        for seed in range(3):
            epochs = [1, 2, 1, 2, 3] if (name, seed) == ("muon", 1) else [1, 2, 3]
            lines = [
                {"epoch": epoch, "val": 0.3 * epoch, "time": n + seed / 10, "machine": machine}
                for n, epoch in enumerate(epochs, start=1)
            ]
            text = "\n".join(map(json.dumps, lines))
            (tmp_path / f"{name}-{seed}.jsonl").write_text(text)
    block = {
        "files": "{entry}-{seed}.jsonl", "metric": "val >= 0.9", "epoch": "epoch",
        "seconds": "time s", "system": "machine",
    }  # fmt: skip
    table = tta.ingest([tmp_path], tmp_path / "runs.parquet", block=block).output
    rows = tta.read(table).filter(run_status="unreadable").collect()
    assert rows.select("entry", "system").rows() == [("muon", "large")]


def test_an_ingest_of_unchanged_logs_keeps_their_problems(tmp_path: Path) -> None:
    side(tmp_path, 6, damaged=(2,), gone=(4,), crashed=(1,), end="killed")
    logs, table = tmp_path / "local", tmp_path / "again.parquet"
    first = tta.ingest([logs], table)
    before = tta.read(table).collect()
    again = tta.ingest([logs], table)
    assert (first.written, again.written) == (True, False)
    assert again.problems == first.problems
    codes = {problem.code for problem in first.problems}
    assert codes >= {"not_like_its_set", "missing_run", "no_run_stop"}
    assert tta.read(table).collect().equals(before)


@pytest.mark.parametrize(
    ("numbers", "missing"),
    [
        ({0, 1, 3}, [2]),
        ({1, 2, 4, 5}, [3]),
        ({0, 1, 2}, []),
        ({0, 2}, []),
        ({2, 3, 5}, []),
        ({0, 1, 2, 100}, []),
        ({0, 17, 42}, []),
        ({0, 2, 4, 6, 8}, []),
    ],
)
def test_only_small_numbers_in_a_row_count_runs(numbers: set[int], missing: list[int]) -> None:
    assert absent._gaps(numbers)[0] == missing


def test_a_gap_in_the_seeds_is_a_missing_run_unless_another_table_has_it(tmp_path: Path) -> None:
    for seed in (0, 1, 3):
        recorded(tmp_path / "logs", [0.5, 0.95], seed=seed)
    table = tta.ingest([tmp_path / "logs"], tmp_path / "runs.parquet").output
    report = tta.summary(table)
    assert report.rows[0]["missing_runs"] == 1
    assert "the run of seed 2 is missing (0 to 3)" in str(report)
    assert tta.summary(table, where=["seed!=2"]).rows[0]["missing_runs"] == 0
    recorded(tmp_path / "more", [0.5, 0.95], seed=2)
    more = tta.ingest([tmp_path / "more"], tmp_path / "more.parquet").output
    (row,) = tta.summary(pl.concat([tta.read(table).collect(), tta.read(more).collect()])).rows
    assert (row["n"], row["missing_runs"]) == (4, 0)


def test_a_file_that_is_there_and_no_log_is_no_missing_run(tmp_path: Path) -> None:
    for number in range(7):
        text = log(100 * number, 30.0) if number in {0, 1, 3} else ""
        (tmp_path / f"rank_{number}.log").write_text(text)
    account = tta.ingest([tmp_path], tmp_path / "runs.parquet")
    (row,) = tta.summary(account.output).rows
    assert (row["n"], row["rejected_logs"], row["missing_runs"]) == (3, 0, 0)
    (tmp_path / "rank_2.log").unlink()
    (row,) = tta.summary(tta.ingest([tmp_path], account.output).output).rows
    assert (row["n"], row["missing_runs"]) == (3, 1)


def test_a_worker_beside_does_not_hide_a_file_that_is_named(tmp_path: Path) -> None:
    empty = absent.empty_logs(["x/rank_0.log"], [f"x/rank_{n}.log" for n in range(1, 8)])
    assert empty == []
    (problem,) = absent.empty_logs([f"x/rank_{n}.log" for n in (0, 1)], ["x/rank_2.log"])
    assert problem.source == "x/rank_2.log"
    assert absent.empty_logs([f"x/rank_0{n}.log" for n in (0, 1)], ["x/rank_02.log"]) == []


def test_the_p_of_failing_more_often_is_that_of_scipy() -> None:
    for a, n_a, b, n_b in ((10, 10, 2, 10), (5, 5, 1, 5), (3, 7, 6, 9), (0, 4, 0, 3), (4, 4, 3, 3)):
        table = [[b, n_b - b], [a, n_a - a]]
        expected: Any = stats.fisher_exact(table, alternative="less")
        assert fails_more_p(a, n_a, b, n_b) == pytest.approx(expected.pvalue), (a, n_a, b, n_b)
