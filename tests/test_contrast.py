"""What is claimed of a contrast, alone and among others."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from msgspec.structs import replace

from ttastats.outcomes.direction import is_upwards
from ttastats.sides.contrast import ValuesContrast, judged
from ttastats.sides.design.findings import Finding
from ttastats.sides.options import Options
from ttastats.stats.decision import decide_difference, side_of
from ttastats.stats.means import mean_difference
from ttastats.stats.results import Verdict

A = np.array([0.50, 0.52, 0.51, 0.49, 0.50, 0.51])


def of(b: np.ndarray, **changes: Any) -> ValuesContrast[None]:
    gap = mean_difference(A, b)
    return ValuesContrast({}, None, None, difference=gap, p_value=gap.p_value, **changes)


def words(
    *contrasts: ValuesContrast[None], margin: float | None = None, **options: Any
) -> list[str]:
    return [one.verdict.word.value for one in judged(contrasts, Options(**options), margin)]


def test_a_difference_is_better_or_worse_by_the_direction_of_its_values() -> None:
    assert words(of(A + 0.1)) == ["worse"]
    assert words(of(A + 0.1, higher_is_better=True)) == ["better"]
    assert words(of(A - 0.1)) == ["better"]


def test_p_values_share_one_alpha_and_those_without_a_verdict_take_no_part() -> None:
    weak = of(A + 0.0145)
    assert weak.p_value is not None
    assert 0.025 < weak.p_value < 0.05
    assert words(weak) == ["worse"]
    assert words(weak, weak) == ["undecided", "undecided"]
    prevented = of(A, findings=(Finding("looks_differ", "a message", "undecided"),))
    assert words(weak, prevented) == ["worse", "unavailable"]
    assert judged([prevented], Options())[0].verdict.reason == (
        "best of unequal numbers of evaluations"
    )
    assert words(weak, weak, fdr=True) == ["worse", "worse"]


@pytest.mark.parametrize("incomplete", [(True, False), (False, True)])
def test_no_side_with_failed_runs_is_called_better_or_the_same(
    incomplete: tuple[bool, bool],
) -> None:
    of_better, of_worse = of(A + 0.1), of(A - 0.1)
    if incomplete[1]:
        of_better, of_worse = of_worse, of_better
    (one,) = judged([replace(of_better, incomplete=incomplete)], Options())
    assert (one.verdict.word, one.verdict.why) == (Verdict.UNDECIDED, "runs missing")
    assert words(replace(of_worse, incomplete=incomplete)) != ["undecided"]
    assert words(of(A), margin=0.1) == ["same"]
    assert words(of(A, incomplete=incomplete), margin=0.1) == ["undecided"]


def test_slack_leaves_a_direction_undecided_and_names_its_reason() -> None:
    allowance = Finding("grids_differ", "a message", "allowance")
    (one,) = judged([of(A + 0.1, slack=(-0.2, 0.0), findings=(allowance,))], Options())
    assert (one.verdict.word, one.verdict.why) == (
        Verdict.UNDECIDED,
        "evaluation intervals differ",
    )


def test_a_claim_carries_the_conditions_of_its_design_and_nothing_else_does() -> None:
    pooled = Finding("pooled_setups", "a message", "condition")
    claimed, open_ = judged(
        [of(A + 0.1, findings=(pooled, pooled)), of(A, findings=(pooled,))], Options()
    )
    assert claimed.verdict.conditions == ("pooled_setups",)
    assert open_.verdict.conditions == ()


def test_without_a_p_the_interval_alone_decides() -> None:
    wide = mean_difference(A[:2], A[:2] + 0.1)
    assert decide_difference(wide, higher_is_better=True, p_value=1.0).word is Verdict.UNDECIDED
    assert decide_difference(wide, higher_is_better=True).word is Verdict.BETTER
    assert decide_difference(mean_difference(A[:1], A), higher_is_better=True).why == "one run"


def test_an_interval_lies_above_or_below_a_value_or_holds_it() -> None:
    assert [side_of(1.0, low, 2.0) for low in (1.1, 1.0, 0.5, None)] == [1, 0, 0, 0]
    assert side_of(1.0, 0.5, 0.9) == -1


def test_every_verdict_says_how_it_is_shown() -> None:
    assert [(one.value, one.signed, one.tone, one.answer) for one in Verdict][:5] == [
        ("faster", "▲ faster", "good", "Yes"),
        ("slower", "▼ slower", "bad", "No"),
        ("better", "▲ better", "good", "Yes"),
        ("worse", "▼ worse", "bad", "No"),
        ("earlier", "< earlier", "plain", "Yes"),
    ]
    assert [one.value for one in Verdict if not one.directed] == [
        "same", "undecided", "unavailable", "no reference",
    ]  # fmt: skip
    assert Verdict.SAME.decided
    assert (Verdict.UNAVAILABLE.label, Verdict.UNDECIDED.colour) == ("no verdict", "plain")


def test_higher_is_better_unless_a_run_says_otherwise() -> None:
    def runs(*ways: bool | None) -> pl.DataFrame:
        return pl.DataFrame({"higher_is_better": ways}, schema={"higher_is_better": pl.Boolean})

    assert is_upwards(runs(None), runs(True, None), runs())
    assert not is_upwards(runs(True), runs(None, False))
