"""Fractions and percent are not compared, and a value has to fit its metric and its target."""

from __future__ import annotations

from pathlib import Path

import pytest

import ttastats as tta
from tests.made_logs import log, reaching, write
from tests.reading.asking import ask
from tests.reading.curves import GUISES, Curves, compared
from ttastats.base.errors import TtastatsError

in_guises = pytest.mark.parametrize("seed", GUISES)


@in_guises
@pytest.mark.parametrize("budget", ["--at-end", "--at"])
def test_fractions_against_percent_are_refused(seed: int, budget: str, tmp_path: Path) -> None:
    draw = Curves(seed)
    column = draw.draw.choice(("val_acc", "eval_f1", "test_dice", "val_err"))
    separator, ending = draw.draw.choice(((",", "csv"), ("\t", "tsv")))
    for side, scale in (("a", 1.0), ("b", 100.0)):
        for run in range(3):
            lines = [separator.join((draw.unit, column))] + [
                f"{row['progress']}{separator}{row['quality'] * (1 + run / 1000):.5g}"
                for row in draw.rows(10.0, scale=scale)
            ]
            write(tmp_path, {f"{side}/seed{run}.{ending}": "\n".join(lines) + "\n"})
    options = ["--at-end"] if budget == "--at-end" else ["--at", f"{draw.unit}={3 * draw.every}"]
    for more in ((), ("--require", "not-worse:0.001")):
        answer = ask("compare", tmp_path / "a", tmp_path / "b", "--guess", *options, *more)
        assert (answer.code, answer.rows) == (2, [])
        assert "fractions and percent?" in answer.text
    both = ask("summary", tmp_path / "a", tmp_path / "b", "--guess", *options)
    assert (both.code, "fractions and percent?" in both.text) == (2, True)
    assert ask("compare", tmp_path / "a", tmp_path / "b", "--guess", "--at-end", "--where",
               "source=*/a/*").code == 2  # fmt: skip


@in_guises
def test_other_metrics_that_differ_in_scale_have_no_verdict(seed: int) -> None:
    draw = Curves(seed)
    tables = []
    for pace, scale in ((20.0, 1.0), (15.0, 100.0)):
        rows = [row | {"other_acc": scale * 0.7 + number % 3 / 1000}
                for n in range(4)
                for number, row in enumerate(draw.rows(pace, seed=n))]  # fmt: skip
        quality = {"metric": ["quality", "other_acc"], "target": {"quality": 0.9}}
        tables.append(draw.table(rows, **quality))
    row, text = compared(*tables, also=["other_acc"])
    assert (row["verdict"], row["other_acc_verdict"]) == ("faster", "unavailable")
    assert row["other_acc_difference"] is None
    assert "fractions and percent?" in text


@pytest.mark.parametrize(
    ("metric", "better", "low", "high"),
    [
        ("reward", True, 0.4, 40.0),  # a policy that learned, against one that did not
        ("val_loss", False, 0.02, 2.3),
        ("val_acc", True, 0.9, 1.0),
        ("fancy", True, 0.9, 1.9),
    ],
)
def test_qualities_that_only_differ_are_compared(
    metric: str, better: bool, low: float, high: float
) -> None:
    draw = Curves(5)
    tables = [
        draw.table(
            [row | {"quality": end * (1 + row["seed"] / 999)} for n in range(4)
             for row in draw.rows(pace, seed=n)],
            metric=metric, higher_is_better=better,
        ).drop("target_value")
        for pace, end in ((20.0, low), (21.0, high))
    ]  # fmt: skip
    row, _ = compared(*tables, at_end=True)
    assert row["verdict"] == ("better" if better else "worse")


@in_guises
def test_a_target_below_1_is_not_asked_of_percent(seed: int) -> None:
    draw = Curves(seed)
    percent = draw.side(20.0, scale=100.0)  # some of them are below 9 % at the start
    low = draw.table([row | {"quality": 100 * row["quality"] - 49} for n in range(3)
                      for row in draw.rows(20.0, seed=n)])  # fmt: skip
    for table in (percent, low):
        with pytest.raises(TtastatsError, match="far outside the logged range"):
            tta.summary(table, target=[f'"{draw.metric}">=0.9'])


@in_guises
def test_percent_meets_no_target_of_a_table_below_1(seed: int) -> None:
    draw = Curves(seed)
    percent = draw.side(20.0, scale=100.0)
    assert not tta.runs(percent).frame["reached"].any()
    (note,) = (note for note in tta.summary(percent).notes if note.code == "failed_runs")
    assert "above 1 against a target below 1" in note.text
    row, text = compared(draw.side(20.0), percent)
    assert (row["verdict"], row["speedup"]) == ("unavailable", None)
    assert "off the scale of the target" in text
    absurd = draw.table([row | {"quality": 1e308} for row in draw.rows(20.0)])
    assert not tta.runs(absurd).frame["reached"].any()


def test_a_reward_may_be_above_a_target_below_1() -> None:
    draw = Curves(6)
    rewards = draw.table([row | {"quality": 3 * row["quality"]} for row in draw.rows(20.0)],
                         metric="reward")  # fmt: skip
    assert tta.runs(rewards.with_columns(target_value=0.9)).frame["reached"].all()


@pytest.mark.parametrize("values", [(40, 50, 60, 95), (0.4, 0.5, 1e308), (0.95, 47.0)])
def test_percent_in_an_official_log_meet_no_fraction(
    values: tuple[float, ...], tmp_path: Path
) -> None:
    folder = write(tmp_path / "logs", {"x/results/s/digits/result_0.txt": log(values)})
    answer = ask("runs", folder)
    assert [row["reached"] for row in answer.rows] == [False]
    problems = ask("problems", folder)
    assert "percent_or_fraction" in {row["code"] for row in problems.rows}
    good = write(tmp_path / "good", {"x/results/s/digits/result_0.txt": reaching(3)})
    assert [row["reached"] for row in ask("runs", good).rows] == [True]
    assert "percent_or_fraction" not in {row["code"] for row in ask("problems", good).rows}
