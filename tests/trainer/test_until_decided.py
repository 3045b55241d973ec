"""Does a sweep add runs while it is undecided, and no longer?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest

from tests.test_compare import side
from tests.trainer.runs import request, small
from ttastats.base.errors import TtastatsError
from ttastats.cli import app
from ttastats.trainer import experiment, tables

SETUPS = {"batch_size 64": "one", "batch_size 512": "two"}
#: Epochs and seconds of the seeds of a setup: they vary, so that no claim rests on constant ones.
EPOCHS = (3, 4, 3, 5, 4, 3, 4, 5)


def table(system: str, per_epoch: Sequence[float], epochs: Sequence[int] = EPOCHS) -> pl.DataFrame:
    runs = [
        side([(seconds * number, number)], system=system, entry=system, seed=seed)
        for seed, (seconds, number) in enumerate(zip(per_epoch, epochs, strict=True))
    ]
    return pl.concat(runs)


def looked(slower: float, most: int, *, there: int = 0) -> tuple[experiment.Decided, list[int]]:
    """Run a plan on made-up runs, of which `there` exist already."""
    runs = pl.concat([table("one", [100 * slower] * 8), table("two", [100.0] * 8, EPOCHS[::-1])])
    looks: list[int] = []

    def runs_of(number: int, _: object) -> pl.DataFrame:
        looks.append(number)
        return runs.filter(pl.col("seed") < max(number, there))

    return experiment.run_until_decided(runs_of, SETUPS, 0, most), looks


def test_runs_are_added_until_it_is_decided() -> None:
    decision, looks = looked(3.0, 8)
    (row,) = decision.report.rows
    assert row["verdict"] == "faster"
    assert looks == list(range(3, row["look"] + 1))
    assert 3 <= row["look"] < 8
    assert decision.remark.startswith(
        f"decided after {row['look']} runs each, of at most 8; a fixed plan would have taken"
    )
    again, the_same = looked(3.0, 8, there=8)  # a sweep that goes on takes the same looks
    assert (the_same, again.report.rows) == (looks, decision.report.rows)


def test_a_plan_ends_at_its_most_runs_or_when_these_would_decide_nothing() -> None:
    decision, looks = looked(1.1, 4)
    assert looks[-1] <= 4
    assert "undecided" in decision.remark
    assert "of at most 4; a fixed plan would have taken" in decision.remark


def test_a_verdict_that_rests_on_constant_epochs_ends_no_plan() -> None:
    a, b = (
        table(system, [seconds + seed / 10 for seed in range(5)], [3] * 5)
        for system, seconds in (("one", 310 / 3), ("two", 100.0))
    )
    decision = experiment.run_until_decided(lambda *_: pl.concat([a, b]), SETUPS, 0, 5)
    (row,) = decision.report.rows
    assert (row["verdict"], row["dagger"], row["look"]) == ("faster", True, 5)
    assert decision.remark.startswith("undecided")


@pytest.mark.parametrize(
    ("setups", "most", "why"),
    [
        (["a"], 20, "two setups"),
        (["a", "b"], 2, "runs per side"),
    ],
)
def test_runs_without_a_plan_are_refused(setups: list[str], most: int, why: str) -> None:
    with pytest.raises(TtastatsError, match=why):
        experiment.expect_plan(setups, most)


def test_a_plan_without_looks_is_refused(tmp_path: Path) -> None:
    words = ["sweep", "--batch-size", "64,512", "--max-runs", "8", "--emit-log", str(tmp_path)]
    with pytest.raises(TtastatsError, match="needs --until-decided"):
        app(words, standalone_mode=False)


def test_the_command_trains_both_sides_in_turns(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    words = (
        "sweep --width 8 --target 0.2 --epochs 12 --batch-size 64,128 --until-decided "
        f"--max-runs 3 --device cpu --org Test --system machine --emit-log {tmp_path}"
    )
    app(words.split(), standalone_mode=False)
    output = capfd.readouterr()
    assert "after 3 runs each, of at most 3" in output.err
    options = small(target=0.2, epochs=12)
    plan = experiment.plan_runs(request(tmp_path), options, range(3), {"batch_size": [64, 128]})
    assert plan.missing == ()
    table = tables.table_of_logs([place.results for place in plan.setups.values()])
    assert sorted(table["seed"].unique()) == [0, 1, 2]
