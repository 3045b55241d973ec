"""Comparisons that are repeated after every run a side, as a user meets them."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from tests.test_compare import STEADY, VARIED_A, VARIED_B, compared, side
from ttastats import api
from ttastats.base.errors import TtastatsError
from ttastats.cli import app
from ttastats.sides.options import Options

SPREAD = [7.0 * (5 * k % 12) for k in range(12)]
SLOW = [(300.0 + more, 3) for more in SPREAD]
QUICK = [(250.0 + more, 3) for more in SPREAD]


def looked(a: list[Any], b: list[Any], most: int = 20, **options: Any) -> dict[str, Any]:
    report = compared(side(a), side(b), max_runs=most, **options)
    (found,) = report.rows
    assert any(note.code == "sequential" for note in report.notes)
    return found


def test_a_look_has_a_wider_interval_a_larger_p_and_its_plan_in_the_row() -> None:
    found = looked(SLOW[:5], QUICK[:5])
    (plain,) = compared(side(SLOW[:5]), side(QUICK[:5])).rows
    assert found["speedup"] == plain["speedup"]
    assert found["speedup_low"] < plain["speedup_low"] < plain["speedup_high"]
    assert found["speedup_high"] > plain["speedup_high"]
    assert found["throughput_low"] < plain["throughput_low"]
    assert found["p_value"] > plain["p_value"]
    assert (found["sequential"], found["max_runs"], found["look"]) == (True, 20, 5)
    assert 0 < found["look_level"] < 0.01
    assert "sequential" not in plain


def test_it_is_decided_once_there_are_enough_runs() -> None:
    verdicts = [looked(SLOW[:n], QUICK[:n], epochs_fixed=True)["verdict"] for n in range(3, 13)]
    assert verdicts[0] == "undecided"
    assert verdicts[-1] == "faster"


def test_claims_about_a_margin_hold_at_every_look() -> None:
    same = [(300 + 0.5 * (k % 3), 3) for k in range(6)]
    plain = looked(same, same, margin=0.01, epochs_fixed=True)
    assert plain["verdict"] == "same"
    (fixed,) = compared(side(same), side(same), margin=0.001, epochs_fixed=True).rows
    assert plain["non_inferiority_low"] < fixed["non_inferiority_low"]


@pytest.mark.parametrize(
    ("a", "b", "why"),
    [
        (SLOW[:5], QUICK[:6], "5 vs 6 runs"),
        (SLOW[:2], QUICK[:2], "the first look is at 3"),
        (SLOW, QUICK, "the plan ended at 8"),
        ([*SLOW[:4], (600.0, None)], QUICK[:5], "1 of 10 runs failed"),
        ([(600.0, None)] * 5, QUICK[:5], "5 of 10 runs failed"),
    ],
)
def test_runs_of_which_the_plan_has_no_look_are_undecided(
    a: list[Any], b: list[Any], why: str
) -> None:
    report = compared(side(a), side(b), max_runs=8)
    (found,) = report.rows
    assert (found["verdict"], found["p_value"], found["look"]) == ("undecided", 1.0, None)
    assert found["flags"] == [*found["flags"][:-1], "no_look"]
    assert any(note.code == "no_look" and why in note.text for note in report.notes)
    assert report.sentence == "The comparison is undecided."


def test_pooled_setups_have_no_plan() -> None:
    setups = [side(SLOW[:3], entry="one"), side(SLOW[3:6], entry="two")]
    pooled = pl.concat(setups)
    report = api.compare(pooled, side(QUICK[:6]), pool=True, options=Options(max_runs=20))
    assert any(note.code == "no_look" and "pooled" in note.text for note in report.notes)


def test_several_benchmarks_share_the_error() -> None:
    names = ("resnet", "bert", "unet3d")
    a = pl.concat([side(VARIED_A, name) for name in names])
    b = pl.concat([side(VARIED_B, name) for name in names])
    report = compared(a, b, max_runs=20)
    for found in report.rows:
        assert found["p_adjusted"] == pytest.approx(min(1.0, 3 * found["p_value"]))
    assert not any("geo-mean" in str(row.cells[0]) for row in report.tables[0].rows)


def test_a_benchmark_whose_look_is_to_come_shares_the_error() -> None:
    a, b = side(SLOW[:6]), side(QUICK[:6])
    (alone,) = compared(a, b, max_runs=20).rows
    early = [pl.concat([one, side(SLOW[:2], "bert")]) for one in (a, b)]
    _, beside = sorted(compared(*early, max_runs=20).rows, key=lambda row: row["benchmark"])
    assert beside["p_adjusted"] == pytest.approx(2 * alone["p_adjusted"])
    same = [(300 + 0.5 * (k % 3), 3) for k in range(4)]
    both = [side(same), side(same)]
    margin = {"max_runs": 20, "epochs_fixed": True, "margin": 0.005}
    (shown,) = compared(*both, **margin).rows
    more = [pl.concat([one, side(SLOW[:2], "bert")]) for one in both]
    waiting = sorted(compared(*more, **margin).rows, key=lambda row: row["benchmark"])[1]
    assert (shown["verdict"], waiting["verdict"]) == ("same", "undecided")


def test_a_gate_passes_and_fails_by_the_look() -> None:
    sides = side(STEADY), side(STEADY)
    for margin, outcome in (("10%", True), ("0.001%", False)):
        report = api.compare(
            *sides,
            options=Options(max_runs=20, epochs_fixed=True),
            require=f"not-slower:{margin}",
        )
        assert report.gate is not None
        assert report.gate.passed is outcome


def test_undecided_looks_say_how_it_goes_on() -> None:
    report = compared(side(VARIED_A), side(VARIED_A), max_runs=20)
    assert any("Add one run to each side" in note.text for note in report.notes)
    last = compared(side(VARIED_A), side(VARIED_A), max_runs=len(VARIED_A))
    assert not any("Add one run to each side" in note.text for note in last.notes)


@pytest.mark.parametrize(
    ("more", "options"),
    [
        ({"at_end": True}, {}),
        ({"also": ["top1_accuracy"], "prior": "missing.parquet"}, {}),
        ({}, {"same_convergence": True}),
        ({}, {"max_runs": 2}),
        ({}, {"max_runs": 201}),
    ],
)
def test_what_holds_at_no_look_is_refused(more: Any, options: Any) -> None:
    with pytest.raises(TtastatsError, match=r"sequentially valid|runs per side"):
        api.compare(
            side(VARIED_A), side(VARIED_B), options=Options(**{"max_runs": 20} | options), **more
        )


def test_a_plan_without_looks_is_refused() -> None:
    words = ["compare", "a.parquet", "b.parquet", "--max-runs", "8"]
    with pytest.raises(TtastatsError, match="needs --sequential"):
        app(words, standalone_mode=False)
