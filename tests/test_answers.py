"""Whole answers in numbers: what is passed from the runs to the statistics and on to the rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.test_compare import Outcome, compared, side
from ttastats import api
from ttastats.answers.compare.rows import TimesRow
from ttastats.answers.compare.sentences import finding
from ttastats.report.cells import Text
from ttastats.report.row import expect_kind
from ttastats.stats.permutation import permutation_test

SOME_FAIL: list[Outcome] = [(300, 3), (402, 4), (350, None), (399, 4), (302, 3)]
ALL_REACH: list[Outcome] = [(300, 3), (402, 4), (301, 3), (399, 4), (302, 3)]
SLOWER: list[Outcome] = [(2 * seconds, epochs) for seconds, epochs in reversed(ALL_REACH)]


def untimed(runs: pl.DataFrame) -> pl.DataFrame:
    """Return the runs as if nobody knew when those that failed ended."""
    return runs.with_columns(
        pl.when("reached").then(name).alias(name) for name in ("run_seconds", "observed_seconds")
    )


def test_power_plans_for_failures_with_the_cv_of_one_run() -> None:
    (found,) = api.power(side(SOME_FAIL)).rows
    # sum((T/mean(T) - s/mean(s))^2) / (n - 1), which does not shrink with n
    assert found["cv"] == pytest.approx(0.57583, abs=1e-5)
    assert found["detectable_ratio"] == pytest.approx(3.05071, abs=1e-5)
    assert list(found["runs_needed"].values()) == [45404, 11465, 1890, 496, 137]


@pytest.mark.parametrize(
    ("outcomes", "text"),
    [
        (
            [(300, 3), (350, None)],
            "no plan, since 1 of 2 runs reached the target; at least 3 must, which takes about "
            "6 runs at this failure rate.",
        ),
        (
            [(300, 3), (302, 3), (350, None), (350, None), (350, None)],
            "no plan, since 2 of 5 runs reached the target; at least 3 must, which takes about "
            "8 runs at this failure rate.",
        ),
        ([(350, None)] * 2, "no plan, since 0 of 2 runs reached the target; at least 3 must."),
        (
            [(300, 3)],
            "no plan, since 1 of 1 run reached the target; at least 2 must.",
        ),
    ],
)
def test_power_makes_no_plan_from_few_successes_and_states_how_many_it_takes(
    outcomes: list[Outcome], text: str
) -> None:
    report = api.power(side(outcomes))
    (found,) = report.rows
    assert (found["cv"], found["detectable_ratio"]) == (None, None)
    assert set(found["runs_needed"].values()) == {None}
    (note,) = [note.text for note in report.notes if note.code == "few_successes"]
    assert note.endswith(text)


def test_power_counts_many_groups_without_a_plan_in_one_note() -> None:
    entries = [side([(300, 3)], entry=f"x{number}") for number in range(7)]
    report = api.power(pl.concat(entries))
    (note,) = [note.text for note in report.notes if note.code == "few_successes"]
    assert note.startswith("7 groups: no plan")
    report = api.power(pl.concat(entries[:6]))
    assert len([note for note in report.notes if note.code == "few_successes"]) == 6


@pytest.mark.parametrize("outcomes", [ALL_REACH[:2], SOME_FAIL[:4]])
def test_power_plans_from_two_successes_or_from_three_beside_failures(
    outcomes: list[Outcome],
) -> None:
    report = api.power(side(outcomes))
    assert report.rows[0]["detectable_ratio"] > 1
    assert "few_successes" not in {note.code for note in report.notes}


def test_power_doubts_a_cv_of_zero_and_no_other() -> None:
    assert "zero_variance" in {note.code for note in api.power(cv=0.0).notes}
    assert "zero_variance" not in {note.code for note in api.power(cv=1.0).notes}


def test_without_a_number_of_runs_power_says_of_none_what_it_detects() -> None:
    (row,) = api.power(cv=0.14).tables[0].rows
    assert row.cells[2] == Text("–")
    (row,) = api.power(cv=0.14, n=5).tables[0].rows
    assert row.cells[2] == Text("1.337×")


def test_summary_has_no_expected_time_where_a_failure_took_nobody_knows_how_long() -> None:
    (known,) = api.summary(side(SOME_FAIL)).rows
    assert known["ert_seconds"] == pytest.approx(1753 / 4)
    (unknown,) = api.summary(untimed(side(SOME_FAIL))).rows
    assert unknown["ert_seconds"] is None
    assert unknown["tta_mean_seconds"] == pytest.approx(1403 / 4)


def test_variance_divides_by_n_if_asked() -> None:
    (by_n,) = api.variance(side(ALL_REACH), ddof=0).rows
    assert by_n["epochs_std"] == pytest.approx(0.489898, abs=1e-6)
    assert by_n["epoch_seconds_std"] == pytest.approx(1 / 3, abs=1e-6)
    report = api.variance(side(ALL_REACH))
    assert [note.code for note in report.notes] == ["definitions", "few_runs"]
    (sample,) = report.rows
    assert sample["epochs_std"] == pytest.approx(0.547723, abs=1e-6)
    assert sample["epoch_seconds_std"] == pytest.approx(0.372678, abs=1e-6)
    assert by_n["cv_ratio"] == sample["cv_ratio"] == pytest.approx(43.33436, abs=1e-5)
    assert sample["share_epochs"] == pytest.approx(1.006774, abs=1e-6)
    assert sample["share_epoch_time"] == pytest.approx(-0.006774, abs=1e-6)


def test_the_sentence_says_the_interval_of_the_slower_from_its_lower_end() -> None:
    (found,) = expect_kind(compared(side(ALL_REACH), side(SLOWER)).records, TimesRow)
    assert found.verdict == "slower"
    said = finding(found, "old", "new", 0.95)
    assert "2.00× slower" in said
    assert "1.58 to 2.53×" in said


def test_a_run_that_failed_cost_nothing_known_and_one_that_reached_its_time_to_accuracy() -> None:
    runs = side(SOME_FAIL, cost_per_hour=36.0)
    assert runs["cost"].to_list() == pytest.approx([3.0, 4.02, None, 3.99, 3.02])


def test_the_p_of_random_splits_counts_the_one_observed() -> None:
    apart = permutation_test(
        np.linspace(1, 2, 30), np.linspace(5, 6, 30), rng=np.random.default_rng(0)
    )
    assert apart == 1 / 10_000


def numbers(found: Mapping[str, Any], names: str) -> list[Any]:
    return [found[name] for name in names.split()]


SPEEDUP = "speedup speedup_low speedup_high robust_low robust_high p_value p_permutation"
ONE_SIDED = "non_inferiority_low inferiority_high planning_cv detectable_ratio runs_needed"
PARTS = "throughput_speedup throughput_low throughput_high epochs_ratio epochs_low epochs_high"
REACHED = "reached_difference reached_difference_low reached_difference_high p_reached"


def test_a_comparison_in_which_a_run_failed_in_numbers() -> None:
    report = compared(side(SOME_FAIL), side(SLOWER))
    assert {note.code: note.text for note in report.notes} == {
        "undecided": "~ not significant at 5%. That does not show equality; see --margin.",
        "failed_runs": "some runs failed: the speedup is the ratio of expected times to a "
        "success (ERT), which include failed runs: resnet 7.30 min vs 11.4 min.",
        "power": "at 80% power: resnet: n=5 can detect 2.33×, the observed 0.64× needs 15 runs "
        "per side.",
    }
    (found,) = report.rows
    assert numbers(found, SPEEDUP) == pytest.approx(
        [0.642972, 0.317791, 1.300900, 0.189398, 2.873300, 0.164225, 0.150794], rel=2e-5
    )
    assert numbers(found, ONE_SIDED) == pytest.approx(
        [0.371451, 1.112970, 0.422591, 2.327700, 15], rel=2e-5
    )
    assert numbers(found, PARTS) == pytest.approx(
        [0.499896, 0.496612, 0.503202, 1.029412, 0.791245, 1.339267], rel=2e-5
    )
    assert numbers(found, REACHED) == pytest.approx([0.2, -0.264325, 0.624465, 1.0], rel=2e-5)
    assert numbers(found, "ert_a_seconds ert_b_seconds prob_b_faster verdict marks") == [
        438.25, 681.6, 0.2, "undecided", "",
    ]  # fmt: skip


def test_a_comparison_without_failures_in_numbers() -> None:
    (found,) = compared(side(ALL_REACH), side(SLOWER)).rows
    assert numbers(found, SPEEDUP) == pytest.approx(
        [0.5, 0.395963, 0.631373, 0.181926, 1.374184, 0.000130776, 0.00793651], rel=2e-5
    )
    assert numbers(found, ONE_SIDED) == pytest.approx(
        [0.414257, 0.603491, 0.159957, 1.392769, 3], rel=2e-5
    )
    assert numbers(found, "verdict claim marks conditions") == [
        "slower", "slower by more than 1%", "", [],
    ]  # fmt: skip


def test_five_benchmarks_are_judged_together_in_numbers() -> None:
    gains = {"a": 1.05, "b": 1.3, "c": 1.4, "d": 1.5, "e": 2.0}
    before = pl.concat([side(ALL_REACH, name) for name in gains])
    after = [
        side([(seconds / gain, epochs) for seconds, epochs in reversed(ALL_REACH)], name)
        for name, gain in gains.items()
    ]
    found = compared(before, pl.concat(after)).rows
    assert [one["p_value"] for one in found] == pytest.approx(
        [0.642526, 0.0319431, 0.0104471, 0.00390629, 0.000130776], rel=2e-5
    )
    assert [one["p_adjusted"] for one in found] == pytest.approx(
        [0.642526, 0.0638863, 0.0313412, 0.0156252, 0.000653879], rel=2e-5
    )
    words = ["undecided", "undecided", "faster", "faster", "faster"]
    assert [one["verdict"] for one in found] == words
    # Planned among the two that are not decided yet.
    assert [one["runs_needed"] for one in found] == [204, 9, 6, 5, 4]
    assert {round(one["detectable_ratio"], 5) for one in found} == {1.46970}
