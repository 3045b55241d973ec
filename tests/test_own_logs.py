"""What blocks of `ttastats.toml` and patterns say, where it is wrong, and what is read by them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.accepted import Case, cases
from tests.programs import cpu_limit
from ttastats.base.errors import TtastatsError
from ttastats.base.records import Problem, Run
from ttastats.formats import config, patterns
from ttastats.formats.block import Block, CellCondition
from ttastats.formats.dialect import log_from_bytes
from ttastats.ingestion import registry
from ttastats.ingestion.ingest import ingest


def block(text: str) -> Block:
    return config.blocks(f"[[logs]]\n{text}", "ttastats.toml", "/logs")[0]


#: What may stand in a file, and cannot be meant.
BAD = (
    *(f'[[logs]]\nmetric = "{text}"\n' for text in ("acc = 0.9", "acc > 0.9", "acc >= much",
                                                   ">= 0.9")),
    "[[logs]]\nfiles = {entry}\n",
    '[[logs]]\nfiles = "a"\n\n[[logs]]\nfiles = "b"\nmetrics = "val_loss"\n',
    '[[log]]\nfiles = "a"\n', '[logs]\nfiles = "a"\n',
    *(f"[[logs]]\n{text}\n" for text in (
        "files = 3", 'files = "{entry"', 'files = "{a b}/x"', "line = [1]", 'resume = "yes"',
        'new_epoch = "time back"', 'failed = "crash"', 'preset = "nanogtp"', 'new_run = "^start"',
    )),
    *(f"[[logs]]\nfiles = 'a'\nline = '{pattern}'\n" for pattern in (
        r"(?P<loss>\d+)(?=x)", r"(?P<loss>\d+) \1", "(?P<loss>", r"(?P<loss>((\w{99}){99}){99})",
        r"loss \d+",
    )),
)  # fmt: skip
#: Patterns of paths, and paths that match them or not.
MATCHED = (
    ("{entry}/{run}.csv", "a/1.csv"), ("{entry}/{run}.csv", "a/b/1.csv"),
    ("**/{run}.csv", "a/b/1.csv"), ("**/{run}.csv", "1.csv"), ("{_}/{run}.csv", "a/1.csv"),
    ("{entry}_{seed}.csv", "big_net_3.csv"), ("{entry}_{seed}.csv", "big_net.csv"),
    ("{a}/{a}.csv", "x/x.csv"), ("{a}/{a}.csv", "x/y.csv"), ("log?.*", "log1.txt"),
    ("{run}.csv", "1.csv.gz"), ("v1.0 (old)/{run}", "v1.0 (old)/2"),
)  # fmt: skip


def of_blocks() -> Iterator[Any]:
    for text in BAD:
        with pytest.raises(TtastatsError) as caught:
            config.blocks(text, "logs/ttastats.toml", "/logs")
        yield [text, str(caught.value)]
    for pattern, path in MATCHED:
        yield [pattern, path, patterns.match_path(pattern, path)]


@cases("pieces", of_blocks=of_blocks)
def test_blocks_and_patterns_are_read_as_accepted(case: Case) -> None:
    assert case.is_as_accepted()


def test_rows_of_runs_that_failed_are_told_by_a_condition() -> None:
    failed = block('failed = "State = crashed, killed"').failed
    assert failed == CellCondition("State", ("crashed", "killed"))


def test_a_block_may_say_more_than_its_preset() -> None:
    parsed = block('preset = "ultralytics"\nmetric = "metrics/mAP50(B) >= 0.6"')
    assert [metric.name for metric in parsed.metrics] == ["metrics/mAP50(B)"]
    assert parsed.seconds


def test_lines_need_an_expression() -> None:
    (problem,) = registry.named("lines").parse(log_from_bytes(b"acc 0.5\n"))
    assert isinstance(problem, Problem)
    assert problem.code == "no_line"


def test_a_table_of_many_runs_takes_little_time() -> None:
    columns = [f"setting{number}" for number in range(40)]
    rows = "".join(f"n{number},0.5,{'1,' * 39}1\n" for number in range(1_000))
    text = f"name,acc,{','.join(columns)}\n{rows}"
    settings = {"metric": "acc", "new_run": "row", "entry": "name"}
    block = config.complete_block(settings, lambda key: key, "/logs")
    with cpu_limit(3.0):
        items = registry.named(block.dialect).parse(log_from_bytes(text.encode(), block=block))
        runs = [item for item in items if isinstance(item, Run)]
    assert (len(runs), runs[7].entry, runs[7].extra["setting39"]) == (1_000, "n7", "1")


def test_an_error_about_fifty_thousand_columns_takes_little_time_and_names_a_hundred() -> None:
    text = f"{','.join(f'c{number}x' for number in range(50_000))}\n1,2\n"
    with cpu_limit(2.0):
        problems: list[Any] = list(registry.named("table").parse(log_from_bytes(text.encode())))
    assert [problem.code for problem in problems] == ["row_width", "no_metric"]
    assert "c99x and 49,900 more." in problems[-1].message


@pytest.mark.parametrize("seed", range(6))
def test_a_text_in_another_encoding_is_read_or_refused_for_that(seed: int, tmp_path: Path) -> None:
    """Letters of any alphabet, with or without a mark; lines that end in CR alone are lines."""
    draw = random.Random(seed)
    name = "".join(draw.choices("aäéñøßþ", k=draw.randint(1, 9)))
    lines = [f"step,time,val_loss,{name}", *(f"{n},{n * 10},{5 - n / 4:.2f},1" for n in range(9))]
    end = draw.choice(["\n", "\r\n"])
    block = {"metric": "val_loss", "seconds": "time s", "step": "step"}
    path = tmp_path / "x.csv"

    def read(data: bytes) -> tuple[int, str]:
        path.write_bytes(data)
        try:
            return ingest([path], tmp_path / "x.parquet", block=block).evaluations, ""
        except TtastatsError as error:
            return 0, str(error)

    assert read("\r".join(lines).encode()) == (9, "")
    for encoding in ("utf-16", "utf-16-le", "utf-16-be", "utf-32"):
        number, what = read(end.join(lines).encode(encoding))
        assert number == 0
        assert f"a log in {encoding[:6].upper()}; convert it" in what
    number, what = read(end.join([*lines, ""]).replace("time", "é").encode("latin-1"))
    assert "it is not in UTF-8: convert it" in what
    assert "UTF-8" not in read(end.join(lines).replace("time", "é").encode())[1]
