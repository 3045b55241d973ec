"""Lines need an expression, and a table of many runs little time."""

from __future__ import annotations

from tests.programs import within
from ttastats.base.records import Problem, Run
from ttastats.formats.dialect import log_from_bytes
from ttastats.formats.own_logs import config
from ttastats.ingestion import registry


def test_lines_need_an_expression() -> None:
    (problem,) = registry.named("lines").parse(log_from_bytes(b"acc 0.5\n"))
    assert isinstance(problem, Problem)
    assert problem.code == "no_line"


def test_a_table_of_many_runs_takes_little_time() -> None:
    columns = [f"setting{number}" for number in range(40)]
    rows = "".join(f"n{number},0.5,{'1,' * 39}1\n" for number in range(1_000))
    text = f"name,acc,{','.join(columns)}\n{rows}"
    said = {"metric": "acc", "new_run": "row", "entry": "name"}
    block = config.complete_block(said, lambda key: key, "/logs")
    with within(3.0):
        items = registry.named(block.dialect).parse(log_from_bytes(text.encode(), block=block))
        runs = [item for item in items if isinstance(item, Run)]
    assert (len(runs), runs[7].entry, runs[7].extra["setting39"]) == (1_000, "n7", "1")
