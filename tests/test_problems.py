"""All problems are kept with the table and shown on demand."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from typer.testing import CliRunner

import ttastats as tta
from tests.accepted import Case
from tests.made_curves import judged, of_spans
from tests.questions import Questions, accepted_answers
from ttastats.base.errors import TtastatsError
from ttastats.base.records import Problem
from ttastats.cli import app
from ttastats.ingestion.account import Account
from ttastats.report.answer import Report
from ttastats.table import store
from ttastats.table.kind import KEY, pack_json

LOGS = 10


@pytest.fixture
def logs(two_systems: Path, tmp_path: Path) -> Path:
    """Return ten logs, two of them mutilated, and a file with benchmark lines that is no run."""
    shutil.copytree(two_systems / "one_gpu", tmp_path / "logs" / "one_gpu")
    folder = tmp_path / "logs" / "one_gpu" / "digits"
    lines = (folder / "result_0.txt").read_bytes().splitlines(keepends=True)
    (folder / "result_0.txt").write_bytes(b"".join(lines[:-2]))
    rest = [line for line in lines if b"eval_accuracy" not in line]
    (folder / "result_1.txt").write_bytes(b"".join(rest))
    (tmp_path / "logs" / "power.txt").write_bytes(lines[0])
    return tmp_path / "logs"


@pytest.fixture
def table(logs: Path, tmp_path: Path) -> Path:
    return tta.ingest([logs], tmp_path / "x.parquet").output


def counts(*tables: Any, **words: Any) -> Counter[str]:
    return Counter(row["code"] for row in tta.problems(*tables, **words).rows)


def run(*words: str | Path) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, [str(word) for word in words])
    return result.exit_code, result.stdout, result.stderr


class TestKept:
    def test_every_problem_of_an_ingest_is_in_the_file(self, logs: Path, tmp_path: Path) -> None:
        account = tta.ingest([logs], tmp_path / "x.parquet")
        problems = store.read_problems(account.output)
        assert tuple(problems) == account.problems
        assert {p.code for p in problems} >= {"not_a_run", "no_run_stop", "no_evaluation"}
        in_rows = pl.read_parquet(account.output)["problems"].drop_nulls().str.join()[0]
        assert "not_a_run" not in in_rows  # its file has no row

    def test_they_stay_when_logs_are_read_again(self, logs: Path, tmp_path: Path) -> None:
        before = tta.ingest([logs], tmp_path / "x.parquet").problems
        assert tta.ingest([logs], tmp_path / "x.parquet").problems == before
        log = logs / "one_gpu" / "digits" / "result_5.txt"
        log.write_bytes(log.read_bytes() + b"\n")
        account = tta.ingest([logs], tmp_path / "x.parquet")
        assert account.unchanged > 0
        assert set(account.problems) == set(before)
        assert set(store.read_problems(account.output)) == set(before)

    def test_a_folder_keeps_them_too(self, logs: Path, tmp_path: Path) -> None:
        account = tta.ingest([logs], f"{tmp_path}/parts/")
        assert tuple(store.read_problems(account.output)) == account.problems

    def test_a_hundred_thousand_take_little_room(self, table: Path, tmp_path: Path) -> None:
        many = [Problem("odd", "said", "info", n, f"logs/{n}.txt") for n in range(100_000)]
        store.write(store.read_tables([table]), tmp_path / "many.parquet", problems=many)
        assert (tmp_path / "many.parquet").stat().st_size < 2_000_000
        assert store.read_problems(tmp_path / "many.parquet") == many

    def test_the_first_tables_kept_them_elsewhere(self, table: Path, tmp_path: Path) -> None:
        of_files = [["logs/a.txt", "not_a_run", "no log of a run", "info", 3]]
        metadata = {
            KEY: json.dumps({"schema": 1, "writer": "ttastats 0.1.0"}),
            "ttastats.ledger": pack_json({"problems": of_files}),
        }
        old = tmp_path / "old.parquet"
        store.read_tables([table]).collect().write_parquet(old, metadata=metadata)
        assert store.read_problems(old) == [
            Problem("not_a_run", "no log of a run", "info", 3, "logs/a.txt")
        ]

    def test_of_a_file_that_another_program_wrote_its_column_tells(
        self, table: Path, tmp_path: Path
    ) -> None:
        path = tmp_path / "other.parquet"
        duckdb.sql(f"SELECT * FROM '{table}'").write_parquet(str(path))
        problems = {p for p in store.read_problems(table) if p.code != "not_a_run"}
        assert set(store.read_problems(path)) == problems
        assert counts(pl.read_parquet(table)) == counts(path)
        odd = pl.read_parquet(table).with_columns(problems=pl.lit("free text"))
        assert counts(odd)["other"] == LOGS


class TestReport:
    def test_problems_of_no_run_are_of_no_entry(self, table: Path) -> None:
        rows = tta.problems(table).rows
        assert {row["benchmark"] for row in rows if row["code"] == "not_a_run"} == {None}

    def test_copies_within_and_across_tables_are_listed(self, logs: Path, tmp_path: Path) -> None:
        folder = logs / "one_gpu" / "digits"
        shutil.copy(folder / "result_5.txt", folder / "result_77.txt")
        path = tta.ingest([logs], tmp_path / "one.parquet").output
        assert counts(path)["duplicate_run"] == 1
        again = tmp_path / "again" / "result_8.txt"
        again.parent.mkdir()
        shutil.copy(folder / "result_8.txt", again)
        two = tta.ingest([again], tmp_path / "two.parquet").output
        across = [row for row in tta.problems(path, two).rows if row["code"] == "duplicate_run"]
        assert {row["source"] for row in across} == {str(folder / "result_77.txt"), str(again)}
        (message,) = (row["message"] for row in across if row["source"] == str(again))
        assert message == f"duplicate of {folder / 'result_8.txt'} in {path} ({two})"
        shutil.copy(path, tmp_path / "three.parquet")
        assert counts(path, tmp_path / "three.parquet")["duplicate_run"] == 1 + LOGS + 1
        assert counts(path, path) == counts(path)

    def test_equal_bytes_in_two_places_are_copies_even_without_a_date(self, tmp_path: Path) -> None:
        for name in ("a", "b"):
            place = tmp_path / "dawn" / name / "ImageNet"
            place.mkdir(parents=True)
            (place / "x.tsv").write_text(
                "epoch\thours\ttop1Accuracy\ttop5Accuracy\n1\t0.1\t50\t80\n2\t0.2\t75\t93.5\n"
            )
        path = tta.ingest([tmp_path / "dawn"], tmp_path / "d.parquet").output
        assert counts(path)["duplicate_run"] == 1

    def test_conditions_on_runs_leave_out_what_is_of_no_run(self, table: Path) -> None:
        report = tta.problems(table, where=["seed=1000"])
        assert {row["code"] for row in report.rows} == {"no_run_stop", "no_evaluation"}
        assert [note.text for note in report.notes if note.code == "left_out"] == [
            "1 problem of files without a run excluded: the conditions cannot be "
            "evaluated for them."
        ]

    def test_a_code_that_is_not_there_is_refused(self, table: Path) -> None:
        assert set(counts(table, codes=["no_run_stop"])) == {"no_run_stop"}
        with pytest.raises(TtastatsError, match="unknown problem code 'no_run'\n  Nearest: no_run"):
            tta.problems(table, codes=["no_run"])


def until(entries: Mapping[str, Sequence[int]], **pace: float) -> pl.DataFrame:
    """Return runs that reach their target after these epochs, of a second each."""
    spans = {
        f"{entry}{run}": [pace.get(f"{entry}{run}", 1 + run / 100)] * last
        for entry, lasts in entries.items()
        for run, last in enumerate(lasts)
    }
    return of_spans(spans).with_columns(entry=pl.col("source").str.head(1))


def spans(longest: float, at: int = 4, of: int = 8, runs: str = "b") -> Callable[[], Report]:
    """Return the problems of four runs evaluated every 10 s, with longer gaps in some."""
    usual, long = [10.0] * of, [10.0] * at + [longest] + [10.0] * (of - at - 1)
    return lambda: tta.problems(of_spans({run: long if run in runs else usual for run in "abcd"}))


def further_apart() -> Report:
    epochs = {"a": [1, 2, 3, 4, 14, 15, 16], "b": range(1, 17), "c": range(1, 17)}
    rows = [
        {"id": run, "epoch": epoch, "t": 10.0 * epoch, "acc": 0.8 * (epoch == 16)}
        for run, of_run in epochs.items()
        for epoch in of_run
    ]
    return tta.problems(judged(rows))


USUAL = dict.fromkeys("abc", [10.0] * 8)
QUESTIONS: Questions = {
    "a code where nothing is wrong": lambda: tta.problems(of_spans(USUAL), codes=["odd"]),
    "runs far from those of their entry": lambda: tta.problems(
        until({"a": [10, 10, 11, 10, 30, 10]}, a1=3.0)
    ),
    "every entry is judged by its own runs": lambda: tta.problems(
        until({"p": [10, 10, 11, 10, 30], "q": [4] * 6, "r": [30, 31, 30, 29, 10, 30]})
    ),
    "one evaluation more is no outlier": lambda: tta.problems(until({"a": [2, 2, 2, 2, 3]})),
    "all took as many epochs": lambda: tta.problems(until({"a": [4] * 5})),
    "but one": lambda: tta.problems(until({"a": [4, 4, 4, 4, 5]})),
    "a run that stood still": spans(100.0),
    "three times as long as usual": spans(30.0),
    "what is slow in all runs": spans(100.0, runs="abcd"),
    "slow in all of three runs": lambda: tta.problems(
        of_spans(dict.fromkeys("abc", [10.0] * 4 + [100.0] + [10.0] * 3))
    ),
    "slow from its start": lambda: tta.problems(of_spans({**USUAL, "d": [100.0] * 8})),
    "a schedule, for all one knows": lambda: tta.problems(
        of_spans({"a": [10.0] * 5 + [50.0, 60.0, 70.0]})
    ),
    "no schedule": lambda: tta.problems(of_spans({"a": [10.0] * 5 + [50.0, 10.0]})),
    "short ones first": lambda: tta.problems(of_spans({**USUAL, "d": [0.5, 1.6] + [10.0] * 7})),
    "40 s of 440": spans(50.0, of=40),
    "40 s of 1040": spans(50.0, of=100),
    "evaluations further apart in epochs": further_apart,
}


@accepted_answers("problems", QUESTIONS)
@pytest.mark.usefixtures("in_codes")
def test_oddities_of_runs_are_noted_as_accepted(case: Case) -> None:
    assert case.is_as_accepted()


class TestCommand:
    def test_every_format_has_all_of_them(self, table: Path) -> None:
        code, out, _ = run("problems", table, "--format", "json")
        assert code == 0
        rows = json.loads(out)["rows"]
        assert len(rows) == len(tta.problems(table).rows)
        assert run("problems", table, "--format", "csv")[1].count("\n") == len(rows) + 1
        assert "not_a_run" in run("problems", table, "--format", "md")[1]

    def test_the_screen_names_some_of_many_and_says_how_to_see_all(
        self, table: Path, tmp_path: Path
    ) -> None:
        many = [Problem("odd", "said", "info", n, "logs/a.txt") for n in range(1, 9)]
        many.append(Problem("other", "said", "error", None, "logs/b.txt"))
        store.write(store.read_tables([table]), tmp_path / "x.parquet", problems=many)
        _, out, _ = run("problems", tmp_path / "x.parquet")
        assert out.index("other") < out.index("odd")  # the gravest first
        assert "odd, 5 of 8" in out
        assert "logs/a.txt:5" in out
        assert "logs/a.txt:6" not in out
        assert "--code CODE shows all" in out
        assert "logs/a.txt:8" in run("problems", tmp_path / "x.parquet", "--code", "odd")[1]

    def test_an_ingest_points_to_problems(self, logs: Path, tmp_path: Path) -> None:
        folder = logs / "one_gpu" / "digits"
        for number in range(20, 27):
            shutil.copy(folder / "result_5.txt", folder / f"result_{number}.txt")
        code, _, stderr = run("ingest", logs, "-o", tmp_path / "x.parquet")
        assert f"and 2 more: ttastats problems {tmp_path / 'x.parquet'} --code dupl" in stderr
        assert code == 0


@pytest.mark.real
class TestReal:
    def test_all_problems_of_a_round_are_listed(
        self, ingested_round: Callable[[str], Account]
    ) -> None:
        account = ingested_round("v5.0")
        total = counts(account.output)
        assert {code: total[code] for code in account.problem_counts()} == account.problem_counts()
        assert total["not_a_run"] == 35
