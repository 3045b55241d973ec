"""The verdict as a user meets it: sides, means, margins, gates and what is said beneath."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.made_curves import evaluation, logs, of
from ttastats import api
from ttastats.base.errors import TtastatsError
from ttastats.outcomes import time_to_target
from ttastats.report.answer import Report
from ttastats.sides.options import Options, View

Outcome = tuple[float, float | None]  # seconds, epochs to the target or None for a failed run


def side(outcomes: Sequence[Outcome], benchmark: str = "resnet", **more: Any) -> pl.DataFrame:
    """Return runs with these times and epochs; an evaluation ends each epoch."""
    aim = {"metric": "top1_accuracy", "higher_is_better": True, "target_value": 0.759, "step": None}
    runs = []
    for seconds, epochs in outcomes:
        last = int(epochs or 10)
        evaluations = (
            evaluation(epoch - 1, 0.76 if epoch == epochs else 0.7,
                       seconds=seconds * epoch / last, epoch=float(epoch), **aim)
            for epoch in range(1, last + 1)
        )  # fmt: skip
        facts: dict[str, Any] = {
            "suite": "mlperf", "round": "v4.0", "benchmark": benchmark, "entry": "one",
            "run_status": "success" if epochs else "aborted", "run_seconds": seconds,
        }  # fmt: skip
        runs.append(of(*evaluations, **facts | more))
    return time_to_target.runs(logs(runs))


def compared(a: pl.DataFrame, *others: pl.DataFrame, **options: Any) -> Report:
    view = options.pop("view", None)
    return api.compare(a, *others, options=Options(**options), view=view)


def row(a: Sequence[Outcome], b: Sequence[Outcome], **options: Any) -> dict[str, Any]:
    (found,) = compared(side(a), side(b), **options).rows
    return dict(found)


VARIED_A: list[Outcome] = [(300, 3), (402, 4), (301, 3), (399, 4), (302, 3)]
VARIED_B: list[Outcome] = [(150, 3), (201, 4), (151, 3), (149, 3), (199, 4)]
STEADY: list[Outcome] = [(300, 3), (301, 3), (299, 3), (300.5, 3), (299.5, 3)]


def test_a_clear_difference_is_faster_and_its_mirror_slower() -> None:
    ahead, back = row(VARIED_A, VARIED_B), row(VARIED_B, VARIED_A)
    assert (ahead["verdict"], back["verdict"]) == ("faster", "slower")
    assert ahead["speedup"] == pytest.approx(1 / back["speedup"])
    assert ahead["speedup_low"] == pytest.approx(1 / back["speedup_high"])
    assert ahead["p_value"] == pytest.approx(back["p_value"])


def test_the_parts_multiply_to_the_whole() -> None:
    found = row(VARIED_A, VARIED_B)
    assert found["throughput_speedup"] * found["epochs_ratio"] == pytest.approx(
        found["speedup"], rel=5e-3
    )
    exact = row(VARIED_A, VARIED_B, estimand="geomean")
    product = exact["throughput_speedup"] * exact["epochs_ratio"]
    assert product == pytest.approx(exact["speedup"], rel=1e-12)


def test_constant_epochs_are_marked_and_a_small_lead_gets_a_dagger() -> None:
    lead = [(seconds / 1.05, epochs) for seconds, epochs in STEADY]
    report = compared(side(STEADY), side(lead))
    (found,) = report.rows
    assert (found["verdict"], found["dagger"]) == ("faster", True)
    assert "constant_epochs" in found["flags"]
    assert found["epoch_safe_low"] < 1 < found["epoch_safe_high"]
    assert "if the number of epochs to the target is constant" in report.sentence
    (declared,) = compared(side(STEADY), side(lead), epochs_fixed=True).rows
    assert (declared["verdict"], declared["dagger"]) == ("faster", False)


def test_a_failed_run_is_paid_for() -> None:
    failed: list[Outcome] = [*VARIED_B[:4], (900, None)]
    found = row(VARIED_A, failed)
    assert found["estimand"] == "ert"
    assert found["reached_b"] == 4
    total = sum(seconds for seconds, _ in failed)
    assert found["ert_b_seconds"] == pytest.approx(total / 4)
    assert found["speedup"] < row(VARIED_A, VARIED_B)["speedup"]


def test_a_side_without_success_has_no_speedup_and_is_judged_by_fractions() -> None:
    never: list[Outcome] = [(900, None)] * 5
    report = compared(side(VARIED_A), side(never))
    (found,) = report.rows
    assert (found["speedup"], found["estimand"]) == (None, "fraction")
    assert found["verdict"] == "slower"
    assert found["p_value"] == pytest.approx(2 / math.comb(10, 5))
    assert any(note.code == "no_success" and "B: 0/5" in note.text for note in report.notes)
    (nobody,) = compared(side(never), side(never)).rows
    assert nobody["verdict"] == "unavailable"


def test_one_run_a_side_decides_nothing() -> None:
    report = compared(side([(300, 3)]), side([(150, 3)]))
    (found,) = report.rows
    assert (found["speedup"], found["speedup_low"]) == (2.0, None)
    assert found["verdict"] == "unavailable"
    assert any("2 runs needed" in note.text for note in report.notes)


def test_several_candidates_are_each_judged_against_the_first() -> None:
    slower = [(seconds * 1.5, epochs) for seconds, epochs in VARIED_A]
    report = api.compare(
        side(VARIED_A), side(VARIED_B), side(slower), labels=["base", "quick", "slow"]
    )
    assert [(found["b"], found["verdict"]) for found in report.rows] == [
        ("quick", "faster"),
        ("slow", "slower"),
    ]
    assert len(report.tables) == 2
    assert report.sentence.startswith("quick: B is")
    assert all(found["p_adjusted"] > found["p_value"] for found in report.rows[:1])


def test_benchmarks_of_one_side_only_are_named() -> None:
    a = pl.concat([side(VARIED_A), side(VARIED_A, "bert")])
    report = compared(a, side(VARIED_B))
    assert len(report.rows) == 1
    assert any(note.code == "unmatched" and "bert" in note.text for note in report.notes)


def test_what_only_the_baseline_has_is_told_from_what_only_the_other_has() -> None:
    first, again, other = (
        pl.concat([side(VARIED_A), side(VARIED_A, name)]) for name in ("bert", "bert", "ssd")
    )
    assert compared(first, other).only_a == ("mlperf v4.0 bert",)
    assert compared(first, again, other).only_a == ("C: mlperf v4.0 bert",)


def test_the_limits_of_one_sided_claims_are_those_of_the_90_percent_interval() -> None:
    ahead, back = row(VARIED_A, VARIED_B), row(VARIED_B, VARIED_A)
    assert 1 < ahead["speedup_low"] < ahead["non_inferiority_low"] < ahead["speedup"]
    assert ahead["speedup"] < ahead["inferiority_high"] < ahead["speedup_high"]
    assert ahead["non_inferiority_low"] == pytest.approx(1 / back["inferiority_high"])


def test_constant_epochs_widen_the_limits_of_one_sided_claims() -> None:
    found, declared = row(STEADY, STEADY), row(STEADY, STEADY, epochs_fixed=True)
    assert found["non_inferiority_low"] < 0.9 < declared["non_inferiority_low"]
    assert declared["inferiority_high"] < 1.1 < found["inferiority_high"]


def test_equal_convergence_turns_throughput_into_the_answer() -> None:
    found = row(VARIED_A, VARIED_B, same_convergence=True)
    assert found["estimand"] == "throughput"
    assert found["speedup"] == pytest.approx(found["throughput_speedup"])
    width = math.log(found["speedup_high"] / found["speedup_low"])
    usual = row(VARIED_A, VARIED_B)
    assert width < 0.2 * math.log(usual["speedup_high"] / usual["speedup_low"])


def test_different_batch_sizes_are_said() -> None:
    a, b = side(VARIED_A, global_batch_size=64), side(VARIED_B, global_batch_size=512)
    assert any(note.code == "batch_sizes" for note in compared(a, b).notes)


def test_unsteady_time_per_epoch_is_said() -> None:
    wild: list[Outcome] = [(300, 3), (380, 3), (250, 3), (500, 4), (390, 4)]
    codes = [note.code for note in compared(side(wild), side(VARIED_B)).notes]
    assert "unsteady" in codes


def test_the_same_within_a_margin_is_a_verdict_of_its_own() -> None:
    a: list[Outcome] = [(300 + k / 10, 60) for k in range(10)]
    b: list[Outcome] = [(300 + k / 10, 60) for k in range(1, 11)]
    found = row(a, b, epochs_fixed=True)
    assert (found["verdict"], found["claim"]) == ("same", "same within 1%")


@pytest.mark.parametrize(("factor", "said"), [(1.6, "slower by more than 50%"), (1.45, "slower")])
def test_slower_by_more_than_the_margin_is_a_speedup_below_its_inverse(
    factor: float, said: str
) -> None:
    b: list[Outcome] = [(seconds * factor, 3) for seconds, _ in STEADY]
    assert row(STEADY, b, epochs_fixed=True, margin=0.5)["claim"] == said
    assert row(b, STEADY, epochs_fixed=True, margin=0.5)["claim"] == said.replace("slow", "fast")


def test_every_run_is_a_dot() -> None:
    failed: list[Outcome] = [*VARIED_B[:4], (900, None)]
    report = compared(side(VARIED_A), side(failed), view=View(strips=True))
    row = report.tables[0].rows[0]
    lines = (*row.details, *row.more)
    (axis_b,) = [line for line in lines if line.startswith("     B  ")]
    assert axis_b.endswith("×")
    assert sum(axis_b.count(mark) for mark in "·∘•●") >= 2


def test_wide_shows_more_columns_of_the_same_rows() -> None:
    narrow = compared(side(VARIED_A), side(VARIED_B)).tables[0]
    wide = compared(side(VARIED_A), side(VARIED_B), view=View(wide=True)).tables[0]
    titles = [column.title for column in wide.columns]
    assert {column.title for column in narrow.columns} < set(titles)
    assert {"B wins", "p perm", "time saved"} <= set(titles)


outcomes = st.lists(
    st.tuples(st.floats(10, 1000), st.one_of(st.none(), st.integers(1, 6).map(float))),
    min_size=2,
    max_size=6,
)


@settings(max_examples=8)
@given(outcomes, outcomes)
def test_whatever_the_runs_a_comparison_is_symmetric(a: list[Outcome], b: list[Outcome]) -> None:
    ahead, back = row(a, b), row(b, a)
    opposite = {"faster": "slower", "slower": "faster"}
    assert back["verdict"] == opposite.get(ahead["verdict"], ahead["verdict"])
    if ahead["speedup"] is None or back["speedup"] is None:
        assert ahead["speedup"] is back["speedup"]
    else:
        assert ahead["speedup"] == pytest.approx(1 / back["speedup"])


@settings(max_examples=8)
@given(outcomes, st.floats(500, 2000))
def test_another_failed_run_never_makes_a_side_look_better(a: list[Outcome], spent: float) -> None:
    if not any(epochs for _, epochs in a):
        return
    before, after = row(VARIED_A, a), row(VARIED_A, [*a, (spent, None)])
    assert after["speedup"] <= before["speedup"] * (1 + 1e-12)


class TestOtherQuestions:
    @pytest.fixture(scope="class")
    def example(self) -> Callable[..., pl.DataFrame]:
        return side

    def test_power_asks_for_more_runs_to_see_less(self) -> None:
        (found,) = api.power(cv=0.14, n=5).rows
        assert found["detectable_ratio"] == pytest.approx(1.337, abs=1e-3)
        assert list(found["runs_needed"].values()) == [3079, 778, 129, 35, 11]

    def test_power_plans_from_runs(self) -> None:
        (found,) = api.power(side(VARIED_A)).rows
        assert found["n"] == 5
        assert found["cv"] == pytest.approx(0.158, abs=0.01)

    def test_power_needs_runs_or_a_cv(self) -> None:
        with pytest.raises(TtastatsError, match="no runs and no CV given"):
            api.power()

    def test_scaling_splits_efficiency(self) -> None:
        one = side(VARIED_A, accelerators=8, submitter="x", entry="small")
        two = side(VARIED_B, accelerators=32, submitter="x", entry="large")
        base, point = api.scaling(pl.concat([one, two])).rows
        assert base["efficiency"] == 1.0
        assert point["efficiency"] == pytest.approx(point["speedup"] / 4)
        product = point["throughput_efficiency"] * point["statistical_efficiency"]
        assert product == pytest.approx(point["efficiency"], rel=0.01)

    def test_scaling_needs_two_scales(self) -> None:
        with pytest.raises(TtastatsError, match="have only one number of accelerators"):
            api.scaling(side(VARIED_A, accelerators=8))

    def test_targets_say_where_the_verdict_holds_and_a_run_first_fails(
        self, two_systems: Any, tmp_path: Any
    ) -> None:
        files = []
        for name in ("one_gpu", "eight_gpus"):
            files.append(tmp_path / f"{name}.parquet")
            api.ingest([two_systems / name], files[-1])
        report = api.targets(*files, points=5)
        assert [found["target"] for found in report.rows] == [0.6, 0.7, 0.8, 0.9, 0.97]
        assert [found["official"] for found in report.rows] == [False] * 4 + [True]
        assert report.rows[-1]["reached_b"] == 9
        assert all(found["reached_b"] == 10 for found in report.rows[:-1])
        assert {note.code for note in report.notes} == {"first_failure", "stable_range", "method"}
