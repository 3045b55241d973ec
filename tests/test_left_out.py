"""No run that failed, no rejected log and no missing run is left out in silence."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

import ttastats as tta
from tests.test_cli import run
from tests.test_recording import recorded
from ttastats.ingestion import absent
from ttastats.recording import mllog
from ttastats.report.answer import Report
from ttastats.stats.outcomes import fails_more_p

OOM = "RuntimeError: CUDA out of memory"


def log(seed: int, seconds: float, *, end: str = "target") -> str:
    """Return the log of a recorded run that takes so long to its target, or ends before."""
    time = 1.7e12 + seed * 1e6
    lines = [
        mllog.event_line("POINT_IN_TIME", time, mllog.RECORDER, "ttastats 0.2", {}),
        mllog.event_line("POINT_IN_TIME", time, "submission_benchmark", "digits", {}),
        mllog.event_line("POINT_IN_TIME", time, "seed", seed, {}),
        mllog.event_line("POINT_IN_TIME", time, "eval_target", 0.9, {"metric": "acc"}),
        mllog.event_line("INTERVAL_START", time, "run_start", None, {}),
    ]
    for epoch in range(1, 4):
        time += 1e3 * seconds / 3
        value = 0.3 * epoch + (0.05 if end == "target" else -0.1)
        about = {"metric": "acc", "epoch_num": epoch}
        lines.append(mllog.event_line("POINT_IN_TIME", time, "eval_accuracy", value, about))
    status = "success" if end == "target" else "aborted"
    if end != "killed":
        about = {"status": status, "reason": end}
        lines.append(mllog.event_line("INTERVAL_END", time, "run_stop", None, about))
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


def codes(report: Report) -> set[str]:
    return {note.code for note in report.notes}


def gate_lines(report: Report) -> dict[str, str]:
    assert report.gate is not None
    return {found.code: found.text for found in report.gate.findings}


class TestFailures:
    def test_eight_of_ten_runs_out_of_memory_fail_the_job_and_the_line_says_why(
        self, tmp_path: Path
    ) -> None:
        for name, crashes in (("a", 0), ("b", 8)):
            for seed in range(10):
                with (
                    contextlib.suppress(RuntimeError),
                    tta.record(
                        tmp_path / name, benchmark="digits", metric="acc", target=0.9, seed=seed
                    ) as one,
                ):
                    if seed < crashes:
                        raise RuntimeError("CUDA out of memory")
                    one.evaluation(0.5, epoch=1)
                    one.evaluation(0.95, epoch=2)
            tta.ingest([tmp_path / name], tmp_path / f"{name}.parquet")
        words = ("compare", tmp_path / "a.parquet", tmp_path / "b.parquet")
        done = run(*words, "--fail-on", "slower:5%")
        said = done.stdout
        assert done.returncode == 3
        assert "10/10 2/10" in said
        assert f"failed runs: A 0 of 10, B 8 of 10 (8 {OOM})" in " ".join(said.split())
        assert "B faster" not in said

    @pytest.mark.parametrize("end", [OOM, "killed", "worker_lost", "epochs"])
    def test_every_end_but_an_interruption_is_a_failure_in_every_answer(
        self, end: str, tmp_path: Path
    ) -> None:
        table = side(tmp_path, crashed=(1, 2), end=end)
        (row,) = tta.summary(table).rows
        assert (row["n"], row["reached"], row["interrupted"]) == (10, 8, 0)
        runs = tta.runs(table).rows
        assert [one["reached"] for one in runs[:4]] == [True, False, False, True]
        assert runs[1]["run_seconds"] == pytest.approx(3.0, rel=0.1)

    def test_an_interruption_is_counted_in_the_row_until_its_seed_is_made_again(
        self, tmp_path: Path
    ) -> None:
        table = side(tmp_path, crashed=(1,), end="KeyboardInterrupt")
        (row,) = tta.summary(table).rows
        assert (row["n"], row["reached"], row["interrupted"]) == (9, 9, 1)
        assert "1 run interrupted by the user" in str(tta.summary(table))
        place = tmp_path / "local" / "results" / "box" / "digits"
        (place / "result_10.txt").write_text(log(1, 31.0))
        tta.ingest([tmp_path / "local"], table)
        (row,) = tta.summary(table).rows
        assert (row["n"], row["interrupted"]) == (10, 0)
        assert "interrupted by the user" not in str(tta.summary(table))

    def test_an_exception_after_the_target_was_met_is_no_reason_of_a_failure(
        self, tmp_path: Path
    ) -> None:
        for name in "ab":
            for seed in range(3):
                with (
                    contextlib.suppress(OSError),
                    tta.record(
                        tmp_path / name, benchmark="digits", metric="acc", target=0.9, seed=seed
                    ) as one,
                ):
                    one.evaluation(0.95, epoch=1)
                    if (name, seed) == ("b", 1):
                        raise OSError("disk full")
            tta.ingest([tmp_path / name], tmp_path / f"{name}.parquet")
        (row,) = tta.compare(tmp_path / "a.parquet", tmp_path / "b.parquet").rows
        assert (row["reached_b"], row["exceptions_a"], row["exceptions_b"]) == (3, None, None)

    def test_a_failure_is_not_replaced_by_a_run_of_its_seed(self, tmp_path: Path) -> None:
        table = side(tmp_path, crashed=(1,))
        place = tmp_path / "local" / "results" / "box" / "digits"
        (place / "result_10.txt").write_text(log(1, 31.0))
        tta.ingest([tmp_path / "local"], table)
        (row,) = tta.summary(table).rows
        assert (row["n"], row["reached"]) == (11, 10)


class TestRejectedLogs:
    def test_an_answer_says_in_its_row_how_many_logs_could_not_be_read(
        self, tmp_path: Path
    ) -> None:
        table = side(tmp_path, 6, damaged=(2, 4))
        for report in (tta.summary(table), tta.variance(table), tta.power(table)):
            (row,) = report.rows
            assert (row["n"], row["rejected_logs"], row["missing_runs"]) == (4, 2, 0)
            assert "2 of 6 logs could not be read" in str(report)
        report = tta.summary(table, at="epoch=3")
        assert (report.rows[0]["rejected_logs"], report.rows[0]["n"]) == (2, 4)
        assert "2 of 6 logs could not be read" in str(report)
        targets = tta.targets(table)
        assert {row["rejected_logs_a"] for row in targets.rows} == {2}
        assert "digits: 2 of 6 logs could not be read" in str(targets)

    def test_the_row_of_a_rejected_log_says_what_it_is(self, tmp_path: Path) -> None:
        table = side(tmp_path, 6, damaged=(2,))
        rows = tta.read(table).collect()
        (entry,) = rows.filter(run_status="success")["entry"].unique()
        (row,) = rows.filter(run_status="unreadable").iter_rows(named=True)
        assert row["source"].endswith("result_2.txt")
        assert (row["entry"], row["benchmark"], row["metric"]) == (entry, "digits", None)
        (problem,) = json.loads(row["problems"])
        assert problem["code"] == "not_like_its_set"
        shown = str(tta.runs(table))
        assert "– (unreadable)" in shown

    def test_a_rejected_log_is_of_the_entry_of_its_folder(self, tmp_path: Path) -> None:
        side(tmp_path, 6, damaged=(2,))
        results = tmp_path / "local" / "results"
        shutil.copytree(results / "box", results / "tower")
        for path in (results / "tower" / "digits").iterdir():
            path.write_text(log(100 + int(path.stem[-1]), 30.0))
        table = tta.ingest([tmp_path / "local"], tmp_path / "runs.parquet").output
        left = {row["entry"]: (row["n"], row["rejected_logs"]) for row in tta.summary(table).rows}
        assert [left[entry] for entry in sorted(left)] == [(5, 1), (6, 0)]

    def test_a_rejected_log_named_by_a_pattern_is_like_the_runs_of_its_entry(
        self, tmp_path: Path
    ) -> None:
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

    def test_a_file_that_has_an_error_is_kept_with_its_reason(self, tmp_path: Path) -> None:
        table = side(tmp_path, 4)
        place = tmp_path / "local" / "results" / "box" / "digits"
        (place / "result_4.txt").write_bytes(b"version https://git-lfs.github.com/spec/v1\noid x\n")
        account = tta.ingest([tmp_path / "local"], table)
        assert (account.runs, len(account.rejected)) == (4, 1)
        (row,) = tta.summary(table).rows
        assert (row["n"], row["rejected_logs"]) == (4, 1)

    def test_logs_with_a_restart_are_two_of_six(self, tmp_path: Path) -> None:
        folder = tmp_path / "logs"
        folder.mkdir()
        for seed in range(6):
            epochs = [1, 2, 1, 2, 3] if seed in {1, 4} else [1, 2, 3]
            lines = [
                json.dumps({"epoch": epoch, "val_accuracy": 0.3 * epoch, "time": 10.0 * n + seed})
                for n, epoch in enumerate(epochs, start=1)
            ]
            (folder / f"seed{seed}.jsonl").write_text("\n".join(lines))
        block = {"metric": "val_accuracy >= 0.9", "epoch": "epoch", "seconds": "time s"}
        account = tta.ingest([folder], tmp_path / "runs.parquet", block=block)
        assert {one.code for one in account.rejected} == {"step_back"}
        report = tta.summary(account.output)
        (row,) = report.rows
        assert (row["n"], row["rejected_logs"]) == (4, 2)
        assert "2 of 6 logs could not be read" in str(report)

    def test_a_log_that_can_be_read_again_is_a_run_again(self, tmp_path: Path) -> None:
        table = side(tmp_path, 6, damaged=(2,))
        assert tta.summary(table).rows[0]["rejected_logs"] == 1
        place = tmp_path / "local" / "results" / "box" / "digits"
        (place / "result_2.txt").write_text(log(2, 30.0))
        tta.ingest([tmp_path / "local"], table)
        (row,) = tta.summary(table).rows
        assert (row["n"], row["rejected_logs"]) == (6, 0)

    def test_an_ingest_of_what_has_not_changed_keeps_what_was_wrong(self, tmp_path: Path) -> None:
        table = side(tmp_path, 6, damaged=(2,), gone=(4,))
        before = tta.read(table).collect()
        again = tta.ingest([tmp_path / "local"], table)
        assert not again.written
        assert {one.code for one in again.problems} >= {"not_like_its_set", "missing_run"}
        assert tta.read(table).collect().equals(before)

    def test_both_sides_are_told_in_a_comparison(self, tmp_path: Path) -> None:
        a, b = side(tmp_path / "a", 6), side(tmp_path / "b", 6, seconds=20, damaged=(2, 4))
        report = tta.compare(a, b)
        (row,) = report.rows
        assert (row["rejected_logs_a"], row["rejected_logs_b"], row["n_b"]) == (0, 2, 4)
        assert "rejected_logs" in row["flags"]
        assert "B: 2 of 6 logs could not be read" in str(report)

    def test_export_writes_no_log_that_was_rejected(self, tmp_path: Path) -> None:
        table = side(tmp_path, 6, damaged=(2, 4))
        assert tta.export(table, tmp_path / "out").runs == 4


class TestMissingRuns:
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
    def test_only_small_numbers_in_a_row_count_runs(
        self, numbers: set[int], missing: list[int]
    ) -> None:
        assert absent._gaps(numbers)[0] == missing

    def test_a_gap_in_the_numbers_of_files_is_a_missing_run(self, tmp_path: Path) -> None:
        report = tta.summary(side(tmp_path, 4, gone=(2,)))
        (row,) = report.rows
        assert (row["n"], row["missing_runs"]) == (3, 1)
        assert "run 2 of 0 to 3 is missing" in str(report)
        assert "missing" in codes(report)

    def test_of_more_than_three_missing_runs_the_rest_is_counted(self, tmp_path: Path) -> None:
        report = tta.summary(side(tmp_path, 15, gone=(2, 5, 8, 11)))
        assert report.rows[0]["missing_runs"] == 4
        said = " ".join(str(report).split())
        assert said.count("of 0 to 14 is missing") == 3
        assert "is missing · 1 more run missing" in said

    def test_a_gap_in_the_seeds_is_a_missing_run(self, tmp_path: Path) -> None:
        for seed in (0, 1, 3):
            recorded(tmp_path / "logs", [0.5, 0.95], seed=seed)
        table = tta.ingest([tmp_path / "logs"], tmp_path / "runs.parquet").output
        report = tta.summary(table)
        assert report.rows[0]["missing_runs"] == 1
        assert "the run of seed 2 is missing (0 to 3)" in str(report)
        assert tta.summary(table, where=["seed!=2"]).rows[0]["missing_runs"] == 0

    def test_a_rejected_log_may_be_the_run_whose_seed_is_missing(self, tmp_path: Path) -> None:
        (row,) = tta.summary(side(tmp_path, 4, damaged=(2,))).rows
        assert (row["rejected_logs"], row["missing_runs"]) == (1, 0)

    def test_a_file_that_is_there_and_no_log_is_no_missing_run(self, tmp_path: Path) -> None:
        for number in range(7):
            text = log(100 * number, 30.0) if number in {0, 1, 3} else ""
            (tmp_path / f"rank_{number}.log").write_text(text)
        account = tta.ingest([tmp_path], tmp_path / "runs.parquet")
        (row,) = tta.summary(account.output).rows
        assert (row["n"], row["rejected_logs"], row["missing_runs"]) == (3, 0, 0)
        (tmp_path / "rank_2.log").unlink()
        (row,) = tta.summary(tta.ingest([tmp_path], account.output).output).rows
        assert (row["n"], row["missing_runs"]) == (3, 1)

    def test_a_run_in_another_table_fills_the_gap(self, tmp_path: Path) -> None:
        for seed in (0, 1, 3):
            recorded(tmp_path / "logs", [0.5, 0.95], seed=seed)
        tta.ingest([tmp_path / "logs"], tmp_path / "some.parquet")
        recorded(tmp_path / "more", [0.5, 0.95], seed=2)
        tta.ingest([tmp_path / "more"], tmp_path / "rest.parquet")
        both = pl.concat(
            [tta.read(tmp_path / f"{name}.parquet").collect() for name in ("some", "rest")]
        )
        (row,) = tta.summary(both).rows
        assert (row["n"], row["missing_runs"]) == (4, 0)

    def test_a_worker_beside_does_not_hide_a_file_that_is_named(self, tmp_path: Path) -> None:
        found = absent.unlike(["x/rank_0.log"], [f"x/rank_{n}.log" for n in range(1, 8)])
        assert found == []
        (problem,) = absent.unlike([f"x/rank_{n}.log" for n in (0, 1)], ["x/rank_2.log"])
        assert problem.source == "x/rank_2.log"


class TestGate:
    ASKED: tuple[dict[str, str], ...] = ({"fail_on": "slower:5%"}, {"require": "not-slower:90%"})

    @pytest.mark.parametrize("asked", ASKED)
    def test_a_b_that_fails_more_often_fails_and_an_a_that_does_is_counted(
        self, asked: dict[str, str], tmp_path: Path
    ) -> None:
        a, b = side(tmp_path / "a"), side(tmp_path / "b", seconds=20, crashed=range(8))
        report = tta.compare(a, b, **asked)
        line = f"failed runs: A 0 of 10, B 8 of 10 (8 {OOM}); B has more than by chance"
        assert gate_lines(report)["fails_more"].startswith(line)
        assert (report.gate and report.gate.passed, report.rows[0]["gate"]) == (False, "failed")
        other = tta.compare(b, a, **asked)
        assert "fails_more" not in gate_lines(other)
        assert gate_lines(other)["failed_runs"] == f"failed runs: A 8 of 10 (8 {OOM}), B 0 of 10"

    def test_failures_within_chance_pass_and_are_counted(self, tmp_path: Path) -> None:
        a, b = side(tmp_path / "a"), side(tmp_path / "b", seconds=20, crashed=(3,))
        report = tta.compare(a, b, fail_on="slower:95%")
        assert gate_lines(report)["failed_runs"] == f"failed runs: A 0 of 10, B 1 of 10 (1 {OOM})"
        assert report.gate is not None
        assert "fails_more" not in gate_lines(report)

    def test_runs_without_failures_are_not_spoken_of(self, tmp_path: Path) -> None:
        a, b = side(tmp_path / "a"), side(tmp_path / "b", seconds=20)
        assert (
            not {"fails_more", "failed_runs"}
            & gate_lines(tta.compare(a, b, fail_on="slower:5%")).keys()
        )

    def test_logs_that_cannot_be_read_count_as_failures_of_a_gate(self, tmp_path: Path) -> None:
        a, b = side(tmp_path / "a", 12), side(tmp_path / "b", 12, seconds=20, damaged=range(6))
        line = gate_lines(tta.compare(a, b, fail_on="slower:5%"))["fails_more"]
        assert line.startswith("failed runs: A 0 of 12, B 6 of 12 (6 without a readable log)")

    def test_interrupted_runs_are_no_failures_of_a_gate(self, tmp_path: Path) -> None:
        a = side(tmp_path / "a")
        b = side(tmp_path / "b", seconds=20, crashed=range(5), end="SIGTERM")
        report = tta.compare(a, b, fail_on="slower:5%")
        assert report.rows[0]["interrupted_b"] == 5
        assert not {"fails_more", "failed_runs"} & gate_lines(report).keys()

    def test_the_gate_of_qualities_fails_too(self, tmp_path: Path) -> None:
        a, b = side(tmp_path / "a"), side(tmp_path / "b")
        clean = tta.compare(a, b, at="epoch=3", fail_on="worse:0.5")
        assert clean.gate is not None
        assert clean.gate.passed
        early = tmp_path / "c" / "local" / "results" / "box" / "digits"
        table = side(tmp_path / "c")
        for number in range(8):
            lines = log(number, 3.0, end=OOM).splitlines(keepends=True)
            (early / f"result_{number}.txt").write_text("".join([*lines[:6], lines[-1]]))
        tta.ingest([tmp_path / "c" / "local"], table)
        broken = tta.compare(a, table, at="epoch=3", fail_on="worse:0.5")
        line = f"runs without a value: A 0 of 10, B 8 of 10 (8 {OOM})"
        assert gate_lines(broken)["fails_more"].startswith(line)
        other = tta.compare(table, a, at="epoch=3", fail_on="worse:0.5")
        assert "fails_more" not in gate_lines(other)
        assert "A 8 of 10" in gate_lines(other)["failed_runs"]

    def test_p_values_are_adjusted_for_the_benchmarks(self, tmp_path: Path) -> None:
        a, b = side(tmp_path / "a", 5), side(tmp_path / "b", 5, crashed=range(4))
        tables = [tta.read(one).collect() for one in (a, b)]
        assert "fails_more" in gate_lines(tta.compare(*tables, fail_on="slower:99%"))
        several = [
            pl.concat(
                [
                    table.with_columns(
                        benchmark=pl.lit(name),
                        source=pl.lit(name) + pl.col("source"),
                        run_id=pl.lit(name) + pl.col("run_id"),
                        content_digest=pl.lit(name) + pl.col("content_digest"),
                    )
                    if failing or table is tables[0]
                    else tables[0].with_columns(
                        benchmark=pl.lit(name),
                        source=pl.lit(name) + "b" + pl.col("source"),
                        run_id=pl.lit(name) + "b" + pl.col("run_id"),
                        content_digest=pl.lit(name) + "b" + pl.col("content_digest"),
                    )
                    for name, failing in (("x", True), ("y", False), ("z", False))
                ]
            )
            for table in tables
        ]
        found = gate_lines(tta.compare(*several, fail_on="slower:99%"))
        assert "fails_more" not in found  # p = .024 of one is .071 among three


def test_the_p_of_failing_more_often_is_that_of_scipy() -> None:
    for a, n_a, b, n_b in ((10, 10, 2, 10), (5, 5, 1, 5), (3, 7, 6, 9), (0, 4, 0, 3), (4, 4, 3, 3)):
        table = [[b, n_b - b], [a, n_a - a]]
        expected: Any = stats.fisher_exact(table, alternative="less")
        assert fails_more_p(a, n_a, b, n_b) == pytest.approx(expected.pvalue), (a, n_a, b, n_b)


def test_the_command_line_says_it_in_the_row(tmp_path: Path) -> None:
    table = side(tmp_path, 6, damaged=(2, 4))
    assert "2 of 6 logs could not be read" in run("summary", table).stdout
    assert (
        json.loads(run("summary", table, "--format", "json").stdout)["rows"][0]["rejected_logs"]
        == 2
    )
