"""What is said of own logs: blocks of `ttastats.toml`, patterns, guesses; and where it is wrong."""

from __future__ import annotations

from typing import Any

import pytest

from ttastats.base import metric_names as names
from ttastats.base.errors import TtastatsError
from ttastats.base.metric_names import higher_is_better
from ttastats.formats.own_logs import config, patterns, presets
from ttastats.formats.own_logs.block import (
    Block,
    CellCondition,
    CountColumn,
    Metric,
    TimeColumn,
    parse_metric,
)


def block(text: str) -> Block:
    return config.blocks(f"[[logs]]\n{text}", "ttastats.toml", "/logs")[0]


def refused(text: str) -> str:
    with pytest.raises(TtastatsError) as caught:
        config.blocks(text, "logs/ttastats.toml", "/logs")
    return str(caught.value)


class TestMetric:
    @pytest.mark.parametrize(
        ("text", "metric"),
        [
            ("val_loss", Metric("val_loss", False, guessed=True)),
            ("val_loss <= 3.28", Metric("val_loss", False, 3.28)),
            ("metrics/mAP50-95(B)>=0.45", Metric("metrics/mAP50-95(B)", True, 0.45)),
            ("lm loss <= 1e1", Metric("lm loss", False, 10.0)),
            ("acc >= 97 %", Metric("acc", True, 0.97, percent=True)),
            ("acc>=97%", Metric("acc", True, 0.97, percent=True)),
            ('"a <= b" <= 2', Metric("a <= b", False, 2.0)),
            ("fancy higher", Metric("fancy", True)),
            ("fancy", Metric("fancy", None, guessed=True)),
        ],
    )
    def test_is_read_with_target_and_direction(self, text: str, metric: Metric) -> None:
        assert parse_metric(text) == metric

    @pytest.mark.parametrize("text", ["acc = 0.9", "acc > 0.9", "acc >= much", ">= 0.9"])
    def test_that_says_nothing_is_refused_with_what_to_write(self, text: str) -> None:
        assert "Write 'val_loss'" in refused(f'[[logs]]\nmetric = "{text}"\n')

    def test_may_be_one_for_each_benchmark(self) -> None:
        found = block('metric = { ogbg = "map >= 0.28", wmt = ["bleu >= 30", "loss"] }').metrics
        assert [(one.benchmark, one.name) for one in found] == [
            ("ogbg", "map"),
            ("wmt", "bleu"),
            ("wmt", "loss"),
        ]


class TestClock:
    @pytest.mark.parametrize(
        ("text", "clock"),
        [
            ("time ms", TimeColumn("time", 1e-3)),
            ("wall time min", TimeColumn("wall time", 60.0)),
            ("_timestamp unix", TimeColumn("_timestamp", format="unix")),
            ("stamp %Y-%m-%d %H:%M:%S,%f", TimeColumn("stamp", format="%Y-%m-%d %H:%M:%S,%f")),
            ("time s per iter", TimeColumn("time", 1.0, per="iter")),
        ],
    )
    def test_is_a_column_and_a_unit(self, text: str, clock: TimeColumn) -> None:
        assert block(f'seconds = "{text}"').seconds == (clock,)

    def test_without_a_unit_is_refused(self) -> None:
        said = refused('[[logs]]\nseconds = "time"\n')
        assert said.startswith("logs/ttastats.toml:2: seconds = 'time' names no unit")

    def test_may_be_said_to_be_none(self) -> None:
        assert block('seconds = ""').seconds == ()
        assert block("").seconds is None


def test_progress_is_a_column_with_what_to_add() -> None:
    found = block('step = "sum l"\nepoch = "epoch + 1"\nsamples = "consumed samples"')
    assert found.step == (CountColumn("l", summed=True),)
    assert found.epoch == (CountColumn("epoch", 1.0),)
    assert found.samples == (CountColumn("consumed samples"),)


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


@pytest.mark.parametrize(
    ("metric", "higher"),
    [
        ("val_loss", False),
        ("metrics/mAP50-95(B)", True),
        ("bbox_mAP", True),
        ("mIoU", True),
        ("test_acc1", True),
        ("valAcc", True),
        ("top1Accuracy", True),
        ("eval.wer", False),
        ("accuracy_loss", False),
        ("rollout/ep_rew", True),
        ("val/perplexity", False),
        ("temperature", None),
    ],
)
def test_a_direction_is_guessed_from_the_words_of_a_name(metric: str, higher: Any) -> None:
    assert higher_is_better(metric) is higher


def test_metrics_are_those_of_a_validation_before_all_others() -> None:
    assert names.guess_metrics(["epoch", "loss", "val_loss", "val_time", "lr"]) == ("val_loss",)
    assert names.guess_metrics(["step", "reward", "seed"]) == ("reward",)
    assert names.guess_metrics(["step", "train_loss", "accuracy"]) == ("accuracy",)
    assert names.guess_metrics(["eval_steps_per_second", "eval_loss"]) == ("eval_loss",)


def test_the_entry_of_a_run_of_mmengine_is_its_folder_of_work() -> None:
    head = b'{"lr": 0.1, "data_time": 0.1, "time": 0.4, "iter": 50, "step": 50}\n'
    found = presets.matching_presets(
        head, "/work_dirs/rtmdet/20240501_100000/vis_data/scalars.json"
    )
    assert found["mmengine"]["entry"] == "rtmdet"
    assert "mmengine" in presets.matching_presets(head, "/logs/seed1.json")
