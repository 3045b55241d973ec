"""What rows mean: which run, when, how far; and three things that going back may mean."""

from __future__ import annotations

from typing import Any

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

    def test_may_be_a_resumed_run_whose_time_adds_up_and_whose_later_rows_count(self) -> None:
        (run,), problems = read(BACK, metric="acc", seconds="seconds s", resume="step back")
        assert steps(run) == [(1, 10.0), (2, 35.0), (3, 45.0)]
        assert [one.value for one in run.evaluations] == [0.1, 0.25, 0.35]
        assert any("2 repeated rows" in one.message for one in problems)


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


class TestTable:
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


class TestLines:
    def test_need_an_expression(self) -> None:
        (problem,) = registry.named("lines").parse(log_from_bytes(b"acc 0.5\n"))
        assert isinstance(problem, Problem)
        assert problem.code == "no_line"

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
