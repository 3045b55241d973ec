"""What rows mean: which run, when, how far; and three things that going back may mean."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from tests.programs import within
from ttastats.base.records import Problem, Run
from ttastats.formats.dialect import log_from_bytes
from ttastats.formats.own_logs import config
from ttastats.formats.own_logs.block import Block
from ttastats.ingestion import registry


def block(**said: Any) -> Block:
    return config.complete_block(said, lambda key: key, "/logs")


def read(text: str | bytes, **said: Any) -> tuple[list[Run], list[Problem]]:
    own = block(**said)
    data = text.encode() if isinstance(text, str) else text
    items = list(registry.named(own.dialect).parse(log_from_bytes(data, block=own)))
    return (
        [item for item in items if isinstance(item, Run)],
        [item for item in items if isinstance(item, Problem)],
    )


def steps(run: Run) -> list[tuple[int | None, float | None]]:
    return [(one.step, one.seconds) for one in run.evaluations]


BACK = "step,seconds,acc\n1,10,0.1\n2,20,0.2\n3,30,0.3\n2,5,0.25\n3,15,0.35\n"


class TestAStepThatGoesBack:
    def test_is_an_error_that_names_the_choices_and_the_line(self) -> None:
        runs, problems = read(BACK, metric="acc", seconds="seconds s")
        assert runs == []
        (problem,) = [one for one in problems if one.severity == "error"]
        assert (problem.code, problem.line) == ("step_back", 5)
        for choice in ('new_run = "step back"', '--resume "step back"', "--new-epoch"):
            assert choice in problem.message

    def test_may_begin_a_new_run(self) -> None:
        runs, _ = read(BACK, metric="acc", seconds="seconds s", new_run="step back")
        assert [steps(run) for run in runs] == [
            [(1, 10.0), (2, 20.0), (3, 30.0)],
            [(2, 5.0), (3, 15.0)],
        ]

    def test_may_be_a_resumed_run_whose_time_adds_up_and_whose_later_rows_count(self) -> None:
        (run,), problems = read(BACK, metric="acc", seconds="seconds s", resume="step back")
        assert steps(run) == [(1, 10.0), (2, 35.0), (3, 45.0)]
        assert [one.value for one in run.evaluations] == [0.1, 0.25, 0.35]
        assert any("2 repeated rows" in one.message for one in problems)

    def test_may_be_told_by_the_time(self) -> None:
        (run,), _ = read(BACK, metric="acc", seconds="seconds s", resume="time back")
        assert steps(run) == [(1, 10.0), (2, 35.0), (3, 45.0)]

    def test_may_be_a_new_epoch(self) -> None:
        text = "step,acc\n1,0.1\n2,0.2\n1,0.3\n"
        (run,), problems = read(text, metric="acc", new_epoch="step back")
        assert [one.step for one in run.evaluations] == [1, 2, 1]
        assert [one.code for one in problems if one.code == "new_epoch"] == ["new_epoch"]

    def test_among_rows_that_are_no_evaluations_is_none(self) -> None:
        text = '{"iter": 50}\n{"iter": 10}\n{"iter": 60, "acc": 0.5}\n'
        runs, _ = read(text, metric="acc", step="iter")
        assert len(runs) == 1


class TestATimeThatGoesBack:
    TEXT = "step,seconds,acc\n1,10,0.1\n2,20,0.2\n3,5,0.3\n"

    def test_is_an_error_that_names_the_choices(self) -> None:
        runs, problems = read(self.TEXT, metric="acc", seconds="seconds s")
        assert runs == []
        assert problems[-1].code == "time_back"
        assert problems[-1].line == 4
        assert 'resume = "time back"' in problems[-1].message

    def test_may_begin_a_new_run_or_be_resumed(self) -> None:
        runs, _ = read(self.TEXT, metric="acc", seconds="seconds s", new_run="time back")
        assert [len(run.evaluations) for run in runs] == [2, 1]
        (run,), _ = read(self.TEXT, metric="acc", seconds="seconds s", resume="time back")
        assert steps(run)[-1] == (3, 25.0)


class TestRuns:
    def test_of_one_file_are_told_apart_by_columns_in_the_order_they_come(self) -> None:
        text = "seed,lr,step,acc\n7,0.1,1,0.1\n3,0.1,1,0.2\n7,0.1,2,0.3\n"
        runs, _ = read(text, metric="acc", run=["seed", "lr"])
        assert [run.seed for run in runs] == [7, 3]
        assert [len(run.evaluations) for run in runs] == [2, 1]
        assert runs[0].extra == {"lr": "0.1"}

    def test_are_named_by_texts_with_columns_in_them(self) -> None:
        text = "name,gpus,seed,acc\na,8,1,0.1\n"
        (run,), _ = read(
            text,
            metric="acc",
            new_run="row",
            entry="{name}-{gpus}",
            accelerators="gpus",
            benchmark="digits",
            system="name",
            hardware="{absent}",
        )
        assert (run.entry, run.accelerators, run.benchmark) == ("a-8", 8, "digits")
        assert (run.system, run.hardware) == ("a", None)
        assert run.extra["seed"] == "1"

    def test_that_failed_keep_no_values(self) -> None:
        text = "name,acc,State\na,0.9,finished\nb,0.0,crashed\n"
        runs, _ = read(text, metric="acc", new_run="row", failed="State = crashed, killed")
        assert [run.run_status for run in runs] == ["unknown", "aborted"]
        assert runs[1].evaluations == ()

    def test_have_the_metric_of_their_benchmark(self) -> None:
        text = "bench,loss,bleu\nwmt,2.0,30\nlm,3.0,0\nxx,3.0,0\n"
        runs, problems = read(
            text,
            run="bench",
            benchmark="bench",
            metric={"wmt": "bleu >= 30", "lm": "loss <= 3"},
        )
        assert [(run.benchmark, run.evaluations[0].metric) for run in runs] == [
            ("wmt", "bleu"),
            ("lm", "loss"),
        ]
        assert problems[-1].message == "no metric is set for benchmark 'xx' (wmt, lm)"


class TestClock:
    @pytest.mark.parametrize(
        ("clock", "cells", "seconds"),
        [
            ("t ms", ("500", "1500"), [0.5, 1.5]),
            ("t min", ("0.5", "2"), [30.0, 120.0]),
            ("t unix", ("1700000000.5", "1700000010.5"), [0.0, 10.0]),
            (
                "t %Y-%m-%d %H:%M:%S,%f",
                ("2023-04-18 01:46:59;171", "2023-04-18 01:47:00;421"),
                None,
            ),
            ("t %H:%M:%S", ("23:59:50", "00:00:10"), [0.0, 20.0]),
            (
                "t %Y-%m-%dT%H:%M:%S%z",
                ("2023-04-18T01:00:00+0200", "2023-04-17T23:00:30+0000"),
                [0.0, 30.0],
            ),
            ("t %Y", ("x", "y"), [None, None]),
        ],
    )
    def test_tells_seconds_since_the_start(
        self, clock: str, cells: tuple[str, str], seconds: list[float] | None
    ) -> None:
        first, second = (cell.replace(";", ",") for cell in cells)
        text = f'step,acc,t\n1,0.1,"{first}"\n2,0.2,"{second}"\n'
        (run,), _ = read(text, metric="acc", seconds=clock)
        found = [one.seconds for one in run.evaluations]
        assert found == pytest.approx(seconds or [0.0, 1.25])

    def test_that_tells_the_date_tells_the_start(self) -> None:
        text = "t,acc\n2023-04-18 01:46:59,0.1\n"
        (run,), _ = read(text, metric="acc", seconds="t %Y-%m-%d %H:%M:%S")
        assert str(run.started_at) == "2023-04-18 01:46:59+00:00"
        assert run.clock == "wall"

    def test_of_one_iteration_is_summed(self) -> None:
        text = "iter,time,acc\n50,0.5,\n100,0.25,0.1\n30,0.5,0.2\n"
        (run,), _ = read(text, metric="acc", step="", seconds="time s per iter")
        assert [one.seconds for one in run.evaluations] == [37.5, 52.5]

    def test_of_stamps_that_are_none_is_said(self) -> None:
        text = "t,acc\nyesterday,0.1\n"
        (run,), problems = read(text, metric="acc", seconds="t %H:%M:%S")
        assert run.evaluations[0].seconds is None
        assert any(one.code == "no_clock" and "yesterday" in one.message for one in problems)

    def test_is_not_guessed_where_two_may_be_it(self) -> None:
        (run,), problems = read("time,runtime,acc\n1,2,0.1\n", metric="acc")
        assert run.evaluations[0].seconds is None
        assert [one.code for one in problems if one.severity == "warning"] == ["two_clocks"]


class TestColumn:
    def test_that_is_not_there_is_answered_with_the_nearest(self) -> None:
        _, problems = read("step,val_loss\n1,2\n", metric="val_los")
        assert problems[-1].message.startswith("no column 'val_los'. Nearest: val_loss.")
        _, problems = read("step,val_loss\n1,2\n", metric="val_loss", seconds="tim s")
        assert problems[-1].message.startswith("seconds: no column 'tim'")
        _, problems = read("step,val_loss\n1,2\n", metric="val_loss", run="sed")
        assert problems[-1].message.startswith("run: no column 'sed'")

    def test_that_is_guessed_is_said(self) -> None:
        _, problems = read("iteration,runtime,val_acc\n1,2,0.5\n", metric="val_acc")
        assert {one.code: one.message for one in problems} == {
            "guessed_direction": "higher is better, by name: val_acc",
            "guessed_clock": "read as seconds: 'runtime s'",
            "guessed_column": "read as step: iteration",
        }

    def test_of_unknown_direction_is_asked_for(self) -> None:
        _, problems = read("step,fancy\n1,2\n", metric="fancy")
        assert problems[-1].code == "unknown_direction"
        assert "'fancy higher'" in problems[-1].message


class TestPercentages:
    def test_said_become_fractions(self) -> None:
        (run,), _ = read("epoch,acc\n1,97.5\n", metric="acc >= 97 %")
        (one,) = run.evaluations
        assert (one.value, one.logged_value, one.logged_unit) == (0.975, 97.5, "%")
        assert one.target_value == 0.97

    @pytest.mark.parametrize(
        ("values", "metric", "write"),
        [
            ("88.5 97.5", "acc >= 0.97", "'acc >= 97 %'"),
            ("0.885 0.975", "acc >= 97", "'acc >= 0.97'"),
            ("0.885 0.975", "acc >= 97 %", "'acc >= 0.97'"),
        ],
    )
    def test_against_fractions_are_named_and_meet_no_target(
        self, values: str, metric: str, write: str
    ) -> None:
        text = "acc\n" + "".join(f"{value}\n" for value in values.split())
        (run,), problems = read(text, metric=metric)
        assert [one.target_value for one in run.evaluations] == [None, None]
        (problem,) = [one for one in problems if one.code == "percent_or_fraction"]
        assert write in problem.message


class TestTable:
    def test_of_parquet_is_read(self) -> None:
        import io

        data = io.BytesIO()
        pl.DataFrame({"step": [1, 2], "acc": [0.5, float("nan")], "l": [[1], [2]]}).write_parquet(
            data
        )
        (run,), problems = read(data.getvalue(), metric="acc >= 0.5")
        assert [one.value for one in run.evaluations] == [0.5, None]
        assert [one.code for one in problems] == ["not_finite"]

    @pytest.mark.parametrize(
        ("data", "code"),
        [
            (b"", "no_header"),
            (b"PAR1", "unreadable_file"),
            (b"1 2\n3 4\n", "no_header"),
            (b"1,2\n3,4\n", "no_header"),
            (b"[1, 2]", "no_table"),
            (b'{"a": {"b": 1', "unreadable_file"),
            (b"{", "unreadable_file"),
            (b"[" * 100_000, "unreadable_file"),
            (b"a,b\rc,d", "no_metric"),
        ],
    )
    def test_that_is_none_is_named(self, data: bytes, code: str) -> None:
        runs, problems = read(data, metric="acc")
        assert runs == []
        assert problems[-1].code in {code, "no_table", "no_metric"}

    def test_of_numbers_that_are_too_large_or_none_is_read(self) -> None:
        text = f"step,seed,acc\n{'9' * 30},inf,0.5\n2,1e400,1e400\n"
        runs, _ = read(text, metric="acc", new_run="row", seed="seed")
        assert [(run.seed, run.evaluations[0].step) for run in runs] == [(None, None), (None, 2)]

    def test_with_a_late_quote_keeps_the_rows_behind(self) -> None:
        text = 'step,note,acc\n1,"fine",0.5\n2,"open,0.6\n3,"fine, too",0.7\n'
        (run,), problems = read(text, metric="acc")
        assert [one.step for one in run.evaluations] == [1, 3]
        assert [(one.code, one.line) for one in problems if one.severity == "error"] == [
            ("row_width", 3)
        ]

    def test_with_line_ends_in_quotes_has_the_lines_of_the_file(self) -> None:
        text = 'step,note,acc\n1,"a\nb\nc",0.5\n2,d,0.6\n'
        (run,), _ = read(text, metric="acc")
        assert [one.line for one in run.evaluations] == [2, 5]

    def test_rows_of_equal_progress_share_a_checkpoint(self) -> None:
        text = "step,val_acc,val_loss\n1,0.5,\n1,,2.0\n2,0.6,\n"
        (run,), _ = read(text, metric=["val_acc", "val_loss"])
        assert [(one.index, one.metric) for one in run.evaluations] == [
            (0, "val_acc"),
            (0, "val_loss"),
            (1, "val_acc"),
        ]


class TestTrainingMetrics:
    TEXT = "step,time,lr,train_loss,val_acc,note\n1,10,0.1,2.5,,a\n2,20,0.2,2.4,0.5,b\n"

    def test_come_on_request_with_numbers_below_those_of_evaluations(self) -> None:
        own = block(metric="val_acc", seconds="time s")
        log = log_from_bytes(self.TEXT.encode(), block=own, metrics="all")
        (run,) = [item for item in registry.named("table").parse(log) if isinstance(item, Run)]
        assert [(one.index, one.metric, one.value, one.seconds) for one in run.evaluations] == [
            (-2, "lr", 0.1, 10.0),
            (-2, "train_loss", 2.5, 10.0),
            (-1, "lr", 0.2, 20.0),
            (-1, "train_loss", 2.4, 20.0),
            (0, "val_acc", 0.5, 20.0),
        ]

    def test_may_be_none(self) -> None:
        own = block(metric="val_acc", step="step")
        log = log_from_bytes(b"step,val_acc\n1,0.5\n", block=own, metrics="all")
        (run,) = [item for item in registry.named("table").parse(log) if isinstance(item, Run)]
        assert [one.index for one in run.evaluations] == [0]

    def test_are_left_out_otherwise(self) -> None:
        (run,), _ = read(self.TEXT, metric="val_acc", seconds="time s")
        assert [one.metric for one in run.evaluations] == ["val_acc"]


class TestLines:
    def test_values_stay_until_they_are_overwritten(self) -> None:
        text = "epoch 1\ntime 10\nacc 0.5\ntime 20\nacc 0.6\nepoch 2\nacc 0.7\n"
        (run,), _ = read(
            text,
            line=[r"epoch (?P<epoch>\d+)", r"time (?P<time>\d+)", r"acc (?P<acc>\S+)"],
            metric="acc",
            seconds="time s",
        )
        assert [(one.epoch, one.seconds, one.line) for one in run.evaluations] == [
            (1.0, 10.0, 3),
            (1.0, 20.0, 5),
            (2.0, 20.0, 7),
        ]

    def test_values_of_one_run_are_not_those_of_the_next(self) -> None:
        text = "step 1\ntime 10\nacc 0.5\nstep 0\nacc 0.1\n"
        runs, _ = read(
            text,
            line=[r"step (?P<step>\d+)", r"time (?P<time>\d+)", r"acc (?P<acc>\S+)"],
            metric="acc",
            seconds="time s",
            new_run="step back",
        )
        assert [steps(run) for run in runs] == [[(1, 10.0)], [(0, None)]]

    def test_need_an_expression(self) -> None:
        (problem,) = registry.named("lines").parse(log_from_bytes(b"acc 0.5\n"))
        assert isinstance(problem, Problem)
        assert problem.code == "no_line"

    def test_of_which_none_matches_are_named(self) -> None:
        runs, problems = read("nothing\n", line="acc (?P<acc>.*)", metric="acc")
        assert (runs, problems[0].code) == ([], "no_line")

    def test_take_a_time_in_proportion_to_their_length(self) -> None:
        text = "a" * 200_000 + "\nacc 0.5\n"
        with within(5.0):
            (run,), _ = read(text, line=[r"(?P<x>(a+)+)$b", r"acc (?P<acc>\S+)"], metric="acc")
        assert len(run.evaluations) == 1

    def test_are_numbered_across_blocks(self) -> None:
        own = block(line=r"acc (?P<acc>\S+)", metric="acc")
        log = log_from_bytes(b"", block=own)
        import msgspec

        log = msgspec.structs.replace(log, blocks=lambda: iter((b"x\nacc 0.1\n", b"y\nacc 0.2\n")))
        (run,) = [item for item in registry.named("lines").parse(log) if isinstance(item, Run)]
        assert [one.line for one in run.evaluations] == [2, 4]


def test_a_panel_of_several_runs_is_parted() -> None:
    text = (
        '"Step","a - acc","a - acc__MIN","a - acc__MAX","b - acc","b - acc__MIN","b - acc__MAX"\n'
        '"1","0.5","0.5","0.5","0.4","0.4","0.4"\n'
    )
    runs, _ = read(text, metric="acc >= 0.5", run="run", step="Step")
    assert [(run.extra["run"], run.evaluations[0].value) for run in runs] == [
        ("a", 0.5),
        ("b", 0.4),
    ]


def test_a_panel_beside_columns_of_the_same_names_is_parted() -> None:
    text = "Step,run,acc,a - acc,a - acc__MIN,a - acc__MAX\n1,x,0.1,0.5,0.5,0.5\n"
    runs, _ = read(text, metric="loss", step="Step")
    assert runs == []
    runs, _ = read(text, step="Step", run="run")
    assert [(run.extra["run"], run.evaluations[0].value) for run in runs] == [("a", 0.5)]


def test_a_table_of_many_runs_takes_little_time() -> None:
    columns = [f"setting{number}" for number in range(40)]
    rows = "".join(f"n{number},0.5,{'1,' * 39}1\n" for number in range(1_000))
    text = f"name,acc,{','.join(columns)}\n{rows}"
    with within(3.0):
        runs, _ = read(text, metric="acc", new_run="row", entry="name")
    assert (len(runs), runs[7].entry, runs[7].extra["setting39"]) == (1_000, "n7", "1")


def test_a_time_that_is_no_finite_number_is_unknown() -> None:
    text = "hours,acc\n1,0.1\nnan,0.2\n1e999,0.3\n"
    (run,), _ = read(text, metric="acc", seconds="hours h")
    assert [one.seconds for one in run.evaluations] == [3600.0, None, None]
    assert run.run_seconds == 3600.0
