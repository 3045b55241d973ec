"""What is said of own logs: blocks of `ttastats.toml`, patterns, guesses; and where it is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.accepted import Case, cases
from ttastats.base.errors import TtastatsError
from ttastats.formats.own_logs import config, patterns
from ttastats.formats.own_logs.block import (
    Block,
    CellCondition,
)


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
    assert block('failed = "State = crashed, killed"').failed == CellCondition(
        "State", ("crashed", "killed")
    )


def test_a_block_may_say_more_than_its_preset() -> None:
    found = block('preset = "ultralytics"\nmetric = "metrics/mAP50(B) >= 0.6"')
    assert [one.name for one in found.metrics] == ["metrics/mAP50(B)"]
    assert found.seconds
