"""Targets of the user: how they are written, and of which benchmarks they can be asked."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.made_curves import logs
from tests.test_time_to_target import evaluation, mlperf
from ttastats import api
from ttastats.base.errors import TtastatsError
from ttastats.base.records import Run
from ttastats.outcomes.target import UserTarget, parse, parse_all, suited


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("0.75", UserTarget(0.75)),
        ("75%", UserTarget(0.75)),
        (" 75 % ", UserTarget(0.75)),
        (">=.5", UserTarget(0.5, None, True)),
        ("<=1e-2", UserTarget(0.01, None, False)),
        ("map=0.2", UserTarget(0.2, "map")),
        ("acc = 97%", UserTarget(0.97, "acc")),
        ("eval_loss<=-0.9", UserTarget(-0.9, "eval_loss", False)),
        ("val/acc@1>=.9", UserTarget(0.9, "val/acc@1", True)),
        ("val/acc-top(5):ema=0.9", UserTarget(0.9, "val/acc-top(5):ema", None)),
        ("hit.rate@10=0.6", UserTarget(0.6, "hit.rate@10")),
        ('"validation loss"<=0.3', UserTarget(0.3, "validation loss", False)),
        ('"a<=b=c"=3', UserTarget(3.0, "a<=b=c")),
    ],
)
def test_a_target_is_read(text: str, target: UserTarget) -> None:
    assert parse(text) == target


@pytest.mark.parametrize(
    "text",
    ["", "x", "0.7.5.", "loss<", "a b=1", "acc0.9", "acc==0.9", "=", "nan", "a=1e999", "0.9 acc"],
)
def test_what_is_no_target_is_refused(text: str) -> None:
    with pytest.raises(TtastatsError, match="is not a quality target") as refused:
        parse(text)
    assert refused.value.where == "--target"


@given(st.text() | st.from_regex(r"[a-z/@]+(=|<=|>=)-?[0-9.e]+%?"))
@example("a=" + "9" * 5000)
def test_any_text_is_a_target_or_is_refused(text: str) -> None:
    try:
        target = parse(text)
    except TtastatsError:
        return
    assert math.isfinite(target.value)


@pytest.mark.parametrize(
    ("texts", "what"),
    [(("0.7", "0.8"), "two targets without a metric"), (("a=1", "a=2"), "two targets of a")],
)
def test_two_targets_of_one_metric_are_refused(texts: tuple[str, ...], what: str) -> None:
    with pytest.raises(TtastatsError, match=what):
        parse_all(texts)


def rows(*runs: Run) -> pl.LazyFrame:
    return logs(runs).lazy()


def curve(benchmark: str, metric: str, *values: float, **more: Any) -> Run:
    """Return a run that was evaluated every ten seconds."""
    evaluations = [
        evaluation(
            index,
            value,
            10.0 * (index + 1),
            metric=metric,
            target_value=more.get("target"),
            higher_is_better=more.get("higher", True),
        )
        for index, value in enumerate(values)
    ]
    return mlperf(*evaluations, benchmark=benchmark)


RESNET = curve("resnet", "top1_accuracy", 0.001, 0.5, 0.769, target=0.749)
GNMT = curve("gnmt", "bleu", 16.2, 22.7, target=21.8)
LORA = curve("lora", "eval_loss", 1.2, 0.95, 0.91, target=0.925, higher=False)
NEVER = mlperf(benchmark="never")


def message(*runs: Run, target: str) -> str:
    with pytest.raises(TtastatsError) as refused:
        api.summary(rows(*runs), target=[target])
    return str(refused.value)


def test_a_metric_that_nobody_logs_is_refused_and_those_there_are_named() -> None:
    assert message(RESNET, GNMT, target="acc=0.9") == (
        "--target acc=0.9: no benchmark logs the metric 'acc'\n  Nearest: "
        "top1_accuracy. Metrics: bleu (gnmt); top1_accuracy (resnet)."
    )


def test_a_percentage_written_as_a_number_is_refused_with_the_range_logged() -> None:
    assert message(RESNET, target="top1_accuracy=97") == (
        "--target top1_accuracy=97: 97 is far outside the logged range: "
        "top1_accuracy of resnet lies between 0.001 and 0.769\n  Write 0.97 or "
        "97%."
    )


def test_a_number_for_accuracies_is_not_asked_of_bleu() -> None:
    assert message(RESNET, GNMT, target="0.75") == (
        "--target 0.75: 0.75 is far outside the logged range: bleu of gnmt lies "
        "between 16.2 and 22.7\n  Write it in that unit. To select one of "
        "several metrics: --target bleu=..."
    )


@pytest.mark.parametrize(
    ("run", "value", "legal"),
    [
        (RESNET, 0.99, True),  # beyond the best ever logged: 0 of 1 is the truth
        (RESNET, 1.0, True),
        (RESNET, 1.01, False),
        (RESNET, -0.1, False),
        (GNMT, 30.0, True),
        (GNMT, 2180.0, False),
        (GNMT, 0.218, False),
        (LORA, 0.8, True),
        (LORA, 2.0, True),
        (LORA, 92.5, False),
        (curve("x", "loss", -3.0, -5.0), -20.0, True),
        (curve("x", "loss", -3.0, -5.0), -200.0, False),
        (curve("x", "loss", float("nan")), 7.0, True),
    ],
)
def test_a_target_may_lie_beyond_what_was_logged_but_not_in_another_unit(
    run: Run, value: float, *, legal: bool
) -> None:
    (metric,) = {one.metric for one in run.evaluations}
    target = f"{metric}={value}"
    if legal:
        assert api.summary(rows(run), target=[target]).rows[0]["n"] == 1
    else:
        assert "is far outside the logged range" in message(run, target=target)


def test_a_benchmark_without_the_metric_is_left_out_and_named_not_counted_as_failed() -> None:
    report = api.summary(rows(RESNET, GNMT, LORA), target=["top1_accuracy=50%"])
    assert [(row["benchmark"], row["reached"]) for row in report.rows] == [("resnet", 1)]
    (note,) = [note for note in report.notes if note.code == "not_asked"]
    assert note.text == (
        "--target top1_accuracy=0.5: excluded (not counted as failed): gnmt "
        "(logs bleu), lora (logs eval_loss)."
    )


def test_a_benchmark_whose_unit_differs_is_left_out_where_another_has_it() -> None:
    percent = curve("older", "top1_accuracy", 20.0, 75.0)
    report = api.summary(rows(RESNET, percent), target=["top1_accuracy=0.5"])
    assert [row["benchmark"] for row in report.rows] == ["resnet"]
    assert "older (top1_accuracy lies between 20 and 75)" in report.notes[-1].text


def test_a_run_that_was_never_evaluated_failed_by_any_target() -> None:
    report = api.summary(rows(RESNET, NEVER), target=["top1_accuracy=0.5"])
    assert {row["benchmark"]: row["reached"] for row in report.rows} == {"resnet": 1, "never": 0}
    assert api.summary(rows(NEVER), target=["top1_accuracy=0.5"]).rows[0]["reached"] == 0


def test_a_name_for_none_of_several_metrics_without_a_target_is_asked_for() -> None:
    two = mlperf(
        evaluation(0, 0.5, 10.0, metric="a", target_value=None),
        evaluation(0, 0.6, 10.0, metric="b", target_value=None),
    )
    assert message(two, target="0.5") == (
        "--target 0.5: resnet has several metrics, none of which has a target\n  "
        "Select one: a (resnet); b (resnet)."
    )


def test_runs_of_no_known_benchmark_are_not_called_by_one() -> None:
    own = curve("x", "acc", 0.1, 0.9)
    own = msgspec.structs.replace(own, suite=None, round=None, benchmark=None)
    assert "logged range: acc lies between" in message(own, target="acc=97")
    assert "Metrics: acc." in message(own, target="bleu=3")


def test_rounds_of_one_benchmark_are_told_apart() -> None:
    newer = mlperf(evaluation(0, 0.7, 10.0, metric="accuracy"), round="v5.0")
    report = api.summary(rows(RESNET, newer), target=["accuracy=0.7"])
    assert "excluded (not counted as failed): mlperf v4.0 resnet" in report.notes[-1].text


def test_each_side_says_what_it_leaves_out() -> None:
    a, b = rows(RESNET, GNMT), rows(RESNET, LORA)
    report = api.compare(a, b, target=["top1_accuracy=0.5"])
    found = [note.text for note in report.notes if note.code == "not_asked"]
    assert found == [
        "A: --target top1_accuracy=0.5: excluded (not counted as failed): gnmt (logs bleu).",
        "B: --target top1_accuracy=0.5: excluded (not counted as failed): lora (logs eval_loss).",
    ]
    same = api.compare(a, rows(RESNET, GNMT), target=["top1_accuracy=0.5"])
    assert [note.text[:8] for note in same.notes if note.code == "not_asked"] == ["--target"]


def test_without_targets_nothing_is_left_out() -> None:
    table = rows(RESNET)
    assert suited(table, ()) == (table, ())
