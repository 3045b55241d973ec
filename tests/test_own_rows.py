"""What rows mean: which run, when, how far; and three things that going back may mean."""

from __future__ import annotations

from typing import Any

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


class TestLines:
    def test_need_an_expression(self) -> None:
        (problem,) = registry.named("lines").parse(log_from_bytes(b"acc 0.5\n"))
        assert isinstance(problem, Problem)
        assert problem.code == "no_line"


def test_a_table_of_many_runs_takes_little_time() -> None:
    columns = [f"setting{number}" for number in range(40)]
    rows = "".join(f"n{number},0.5,{'1,' * 39}1\n" for number in range(1_000))
    text = f"name,acc,{','.join(columns)}\n{rows}"
    with within(3.0):
        runs, _ = read(text, metric="acc", new_run="row", entry="name")
    assert (len(runs), runs[7].entry, runs[7].extra["setting39"]) == (1_000, "n7", "1")
