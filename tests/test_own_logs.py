"""What is said of own logs: blocks of `ttastats.toml`, patterns, guesses; and where it is wrong."""

from __future__ import annotations

import pytest

from ttastats.base.errors import TtastatsError
from ttastats.formats.own_logs import config, patterns
from ttastats.formats.own_logs.block import (
    Block,
    CellCondition,
)


def block(text: str) -> Block:
    return config.blocks(f"[[logs]]\n{text}", "ttastats.toml", "/logs")[0]


def refused(text: str) -> str:
    with pytest.raises(TtastatsError) as caught:
        config.blocks(text, "logs/ttastats.toml", "/logs")
    return str(caught.value)


class TestMetric:
    @pytest.mark.parametrize("text", ["acc = 0.9", "acc > 0.9", "acc >= much", ">= 0.9"])
    def test_that_says_nothing_is_refused_with_what_to_write(self, text: str) -> None:
        assert "Write 'val_loss'" in refused(f'[[logs]]\nmetric = "{text}"\n')


def test_rows_of_runs_that_failed_are_told_by_a_condition() -> None:
    assert block('failed = "State = crashed, killed"').failed == CellCondition(
        "State", ("crashed", "killed")
    )


class TestFile:
    def test_that_is_no_toml_is_refused_with_the_line(self) -> None:
        said = refused("[[logs]]\nfiles = {entry}\n")
        assert said.startswith("logs/ttastats.toml: invalid TOML:")
        assert "line 2" in said

    def test_with_a_wrong_key_is_answered_with_the_nearest_and_the_line(self) -> None:
        said = refused('[[logs]]\nfiles = "a"\n\n[[logs]]\nfiles = "b"\nmetrics = "val_loss"\n')
        assert said.startswith("logs/ttastats.toml:6: unknown key 'metrics'")
        assert "Nearest: metric" in said

    def test_with_a_wrong_table_is_refused(self) -> None:
        assert "unknown table 'log'" in refused('[[log]]\nfiles = "a"\n')

    def test_with_a_single_table_is_refused(self) -> None:
        assert "Start each table with [[logs]]" in refused('[logs]\nfiles = "a"\n')

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("files = 3", "files is not a string"),
            ('files = "{entry"', "unbalanced braces"),
            ('files = "{a b}/x"', "braces without a name"),
            ("line = [1]", "is neither a string nor a list of strings"),
            ('resume = "yes"', 'Write "step back" or "time back"'),
            ('new_epoch = "time back"', 'Write "step back"'),
            ('failed = "crash"', "Write 'status = crash'"),
            ('preset = "nanogtp"', "Nearest: nanogpt"),
            ('new_run = "^start"', "is a regular expression, but the block has no line"),
        ],
    )
    def test_with_a_value_that_cannot_be_is_refused(self, text: str, said: str) -> None:
        assert said in refused(f"[[logs]]\n{text}\n")

    def test_a_block_may_say_more_than_its_preset(self) -> None:
        found = block('preset = "ultralytics"\nmetric = "metrics/mAP50(B) >= 0.6"')
        assert [one.name for one in found.metrics] == ["metrics/mAP50(B)"]
        assert found.seconds


class TestExpression:
    @pytest.mark.parametrize(
        ("pattern", "said"),
        [
            (r"(?P<loss>\d+)(?=x)", "look-around"),
            (r"(?P<loss>\d+) \1", "backreferences are not supported"),
            ("(?P<loss>", "unclosed group"),
            (r"(?P<loss>((\w{99}){99}){99})", "exceeds size limit"),
            (r"loss \d+", "has no named group"),
        ],
    )
    def test_that_cannot_be_used_is_refused_with_the_reason(self, pattern: str, said: str) -> None:
        text = refused(f"[[logs]]\nfiles = 'a'\nline = '{pattern}'\n")
        assert text.startswith("logs/ttastats.toml:3: ")
        assert "regular expression" in text
        assert "col(" not in text
        assert said in text


class TestPattern:
    @pytest.mark.parametrize(
        ("pattern", "path", "named"),
        [
            ("{entry}/{run}.csv", "a/1.csv", {"entry": "a", "run": "1"}),
            ("{entry}/{run}.csv", "a/b/1.csv", None),
            ("**/{run}.csv", "a/b/1.csv", {"run": "1"}),
            ("**/{run}.csv", "1.csv", {"run": "1"}),
            ("{_}/{run}.csv", "a/1.csv", {"run": "1"}),
            ("{entry}_{seed}.csv", "big_net_3.csv", {"entry": "big_net", "seed": "3"}),
            ("{entry}_{seed}.csv", "big_net.csv", None),
            ("{a}/{a}.csv", "x/x.csv", {"a": "x"}),
            ("{a}/{a}.csv", "x/y.csv", None),
            ("log?.*", "log1.txt", {}),
            ("{run}.csv", "1.csv.gz", {"run": "1"}),
            ("v1.0 (old)/{run}", "v1.0 (old)/2", {"run": "2"}),
        ],
    )
    def test_names_parts_of_a_path(
        self, pattern: str, path: str, named: dict[str, str] | None
    ) -> None:
        assert patterns.match_path(pattern, path) == named
