"""What a comparison claims of runs that fail, straggle, are pooled, or tell little."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.test_compare import VARIED_A, VARIED_B, Outcome, compared, row, side
from ttastats.report.answer import Report
from ttastats.sides.comparison import compare
from ttastats.sides.options import Options, View
from ttastats.sides.pairing import Pair

STEADY: list[Outcome] = [(100.0, 3), (100.3, 3), (99.8, 3), (100.1, 3), (99.9, 3)]
LEADING: list[Outcome] = [(97.0, 3), (97.3, 3), (96.8, 3), (97.1, 3), (96.9, 3)]
THRICE: list[Outcome] = [
    (seconds / 3.3, 3 + number % 2) for number, (seconds, _) in enumerate(STEADY)
]
CRASH: Outcome = (0.5, None)


def note(report: Report, code: str) -> str:
    """Return the one note of a code, or nothing."""
    found = [each.text for each in report.notes if each.code == code]
    assert len(found) < 2
    return found[0] if found else ""


class TestConstantEpochs:
    """A failed run, or a log that tells less, takes no condition away from a claim."""

    def test_a_quick_crash_keeps_the_dagger(self) -> None:
        for b, marks in ((LEADING, "†"), ([*LEADING, CRASH], "†‡")):
            found = row(STEADY, b)
            assert (found["verdict"], found["marks"]) == ("faster", marks)
            assert (found["epoch_safe_low"], found["epoch_safe_high"]) == (
                pytest.approx(0.803, abs=1e-3),
                pytest.approx(1.322, abs=2e-3),
            )

    def test_without_epochs_the_evaluations_are_counted(self) -> None:
        told, untold = side(LEADING), without(side(LEADING), "epochs", "evaluation_interval_epochs")
        other = without(side(STEADY), "epochs", "evaluation_interval_epochs")
        (found,) = compared(side(STEADY), told).rows
        (less,) = compared(other, untold).rows
        assert (less["verdict"], less["marks"]) == ("faster", "†")
        assert less["epoch_safe_low"] == pytest.approx(found["epoch_safe_low"])

    def test_without_any_progress_no_claim_is_made_that_epochs_could_undo(self) -> None:
        columns = ("epochs", "evaluation_interval_epochs", "evaluations_to_target")
        a, b = (without(side(runs), *columns) for runs in (STEADY, THRICE))
        report = compared(a, b)
        (found,) = report.rows
        assert (found["verdict"], found["marks"]) == ("faster", "†")
        assert (found["epoch_safe_low"], found["non_inferiority_low"]) == (None, 0.0)
        assert "progress is not logged, so it is unknown whether epochs vary" in note(
            report, "constant_epochs"
        )

    def test_the_note_names_one_evaluation_interval_and_no_more(self) -> None:
        text = note(compared(side(STEADY), side(LEADING)), "constant_epochs")
        assert "allows for one evaluation interval more or less" in text
        assert "[0.803, 1.323] includes 1" in text


def without(runs: pl.DataFrame, *names: str) -> pl.DataFrame:
    return runs.with_columns(pl.lit(None, runs.schema[name]).alias(name) for name in names)


#: Times as `VARIED_A`, one of them three times as long for as many epochs.
STRAGGLING: list[Outcome] = [*VARIED_A, (3 * VARIED_A[0][0], VARIED_A[0][1])]


class TestStragglers:
    """A claim allows for failures and stragglers where these runs give a reason to expect them."""

    @pytest.mark.parametrize(
        ("a", "b", "reason"),
        [
            (VARIED_A * 2, [*VARIED_A * 2, (1.0, None)], "1 of 11 runs of B failed"),
            (STRAGGLING * 2, VARIED_A * 2, None),
            ([*STRAGGLING, *VARIED_A], VARIED_A * 2, "one run of A took far longer than the other"),
            (VARIED_A * 4, VARIED_A, "unbalanced: 20 vs 5 runs"),
        ],
    )
    def test_a_small_lead_carries_a_mark_with_its_reason(
        self, a: list[Outcome], b: list[Outcome], reason: str | None
    ) -> None:
        report = compared(side(a), side([(s / 1.5, e) for s, e in b]))
        (found,) = report.rows
        assert found["verdict"] == "faster"
        if reason is None:  # two of twelve are no straggler, but a second speed
            assert found["conditions"] == ["mixed_speeds"]
            return
        assert (found["marks"], found["conditions"]) == ("‡", ["no_stragglers"])
        assert found["robust_low"] < 1 < found["speedup_low"]
        assert f"(resnet: {reason}" in note(report, "no_stragglers")
        assert note(report, "assumption") == ""
        assert report.sentence.endswith("if no further run fails or straggles.")

    def test_a_lead_of_steady_runs_carries_none_and_the_assumption_is_stated_once(self) -> None:
        lead = side([(s / 1.6, e) for s, e in VARIED_A])
        both = pl.concat([lead, side([(s / 1.6, e) for s, e in VARIED_A], "bert")])
        report = compared(pl.concat([side(VARIED_A), side(VARIED_A, "bert")]), both)
        for found in report.rows:
            assert (found["verdict"], found["marks"]) == ("faster", "")
            assert found["robust_low"] < 1 < found["speedup_low"]
        assert note(report, "no_stragglers") == ""
        assert note(report, "assumption") == (
            "claims assume further runs like these. At most 45% (5 of 5 reached) of runs may fail."
        )

    def test_a_lead_no_straggler_could_undo_states_no_assumption(self) -> None:
        report = compared(side(VARIED_A), side([(s / 3, e) for s, e in VARIED_A]))
        assert report.rows[0]["marks"] == ""
        assert note(report, "no_stragglers") == note(report, "assumption") == ""

    def test_a_claim_that_is_not_shown_has_no_mark_to_explain(self) -> None:
        a, b = side(VARIED_A * 2), side([(s * 0.9, e) for s, e in VARIED_A])
        plain, asked = (
            compared(a, b, margin=0.3, view=View(margin_claims=shown)) for shown in (False, True)
        )
        assert plain.rows[0]["claim"] == "not slower by more than 30%"
        assert (note(plain, "no_stragglers") != "", note(asked, "no_stragglers") != "") == (
            False, True,
        )  # fmt: skip
        assert "not slower by more than 30% ‡" in str(asked.tables[0].rows[0].cells)


class TestFailures:
    def test_a_failure_after_an_unknown_time_leaves_no_speedup(self) -> None:
        lost = side([*LEADING, (60.0, None)])
        untimed = lost.with_columns(
            observed_seconds=pl.when("reached").then("observed_seconds"),
            run_seconds=pl.when("reached").then("run_seconds"),
        )
        report = compared(side(STEADY), untimed)
        (found,) = report.rows
        assert (found["estimand"], found["speedup"], found["ert_b_seconds"]) == (
            "fraction", None, None,
        )  # fmt: skip
        assert (found["verdict"], found["n_b"], found["reached_b"]) == ("undecided", 6, 5)
        assert "untimed_failures" in found["flags"]

    def test_a_run_that_failed_at_once_is_counted_with_its_zero_seconds(self) -> None:
        found = row(VARIED_A, [*VARIED_B, (0.0, None)])
        assert (found["n_b"], found["reached_b"]) == (6, 5)
        assert found["ert_b_seconds"] == pytest.approx(sum(s for s, _ in VARIED_B) / 5)

    def test_failures_are_not_called_uncertain_epochs(self) -> None:
        a = [(300, 3), (301, 4), (299, 3), (1000, None), (1000, None)]
        b = [(200, 3), (201, 4), (199, 3), (900, None), (50, None)]
        report = compared(side(a), side(b))
        assert report.rows[0]["verdict"] == "undecided"
        assert report.sentence == "The comparison is undecided."

    def test_geometric_means_are_named_only_where_they_are_used(self) -> None:
        a = pl.concat([side(VARIED_A), side([*VARIED_A, CRASH], "bert")])
        b = pl.concat([side(VARIED_B), side([*VARIED_B, CRASH], "bert")])
        report = compared(a, b, estimand="geomean")
        estimands = {found["benchmark"]: found["estimand"] for found in report.rows}
        assert estimands == {"resnet": "geomean", "bert": "ert"}
        assert "where no run failed" in note(report, "geomean")
        only = compared(side([*VARIED_A, CRASH]), side(VARIED_B), estimand="geomean")
        assert note(only, "geomean") == ""


class TestManyComparisons:
    def test_what_no_outcome_could_decide_is_no_test(self) -> None:
        alone = pairs(("resnet", VARIED_A, [(s / 1.2, e) for s, e in VARIED_A]))
        single = [("bert", VARIED_A[:1], VARIED_B[:1]), ("dlrm", VARIED_A, [(9, None)] * 2)]
        beside = alone + pairs(*single)
        (one,) = compare(alone)
        found = compare(beside)
        assert [each.p_value is None for each in found] == [False, True, False]
        pairs_of_two = alone + pairs(("bert", VARIED_A[:1], VARIED_B[:1]))
        assert compare(pairs_of_two)[0].p_adjusted == one.p_adjusted

    def test_a_verdict_is_that_of_the_adjusted_p(self) -> None:
        b = [(s / 1.35, e) for s, e in VARIED_A]
        (one,) = compare(pairs(("resnet", VARIED_A, b)))
        many = compare(pairs(*((name, VARIED_A, b) for name in "abcdefgh")))
        assert one.verdict is not None
        assert one.verdict.word == "faster"
        assert {each.verdict.word for each in many if each.verdict} == {"undecided"}

    def test_same_within_a_margin_is_adjusted_too(self) -> None:
        rng = np.random.default_rng(5)
        a = [(float(s), 10 + k % 2) for k, s in enumerate(rng.normal(100, 1.4, 8))]
        options = Options(margin=0.015)
        (one,) = compare(pairs(("a", a, a[::-1])), options)
        rest = [(name, VARIED_A, VARIED_A[::-1]) for name in "bcdefghijklm"]
        many = compare(pairs(("a", a, a[::-1]), *rest), options)
        assert one.verdict is not None
        assert many[0].verdict is not None
        assert one.verdict.claim == "same within 1.5%"
        assert many[0].verdict.word == "undecided"


def pairs(*rows: tuple[str, Sequence[Outcome], Sequence[Outcome]]) -> list[Pair]:
    return [Pair({"benchmark": name}, side(a, name), side(b, name)) for name, a, b in rows]


class TestPlan:
    def test_runs_needed_are_those_of_the_test_among_all_that_are_undecided(self) -> None:
        """The numbers of runs are those at which a simulated t test has 80 % power."""
        b = [(s / 1.112, e) for s, e in VARIED_A]
        (one,) = compare(pairs(("resnet", VARIED_A, b)))
        four = compare(pairs(*((name, VARIED_A, b) for name in "abcd")))[0]
        assert one.plan is not None
        assert four.plan is not None
        assert (one.plan.tests, four.plan.tests) == (1, 4)
        assert one.plan.needed == needed(1.112, one.plan.cv, 0.05)
        assert four.plan.needed == needed(1.112, four.plan.cv, 0.05 / 4)
        assert four.plan.needed > one.plan.needed
        assert one.plan.cv == pytest.approx(0.160, abs=1e-3)

    def test_the_number_named_is_more_than_were_not_enough(self) -> None:
        a: list[Outcome] = [(100.4, 10), (103.3, 11), (97.9, 12)]
        b: list[Outcome] = [(71.3, 10), (84.8, 11), (66.2, 12)]
        report = compared(side(a), side(b))
        (found,) = report.rows
        assert (found["verdict"], found["n_a"], found["runs_needed"]) == ("undecided", 3, 4)
        assert "needs 4 runs per side" in note(report, "power")

    def test_constant_epochs_need_as_many_runs_as_bound_what_was_not_seen(self) -> None:
        (found,) = compared(side(STEADY), side(LEADING, benchmark="resnet")).rows
        free = row(STEADY, LEADING, epochs_fixed=True)
        assert (free["runs_needed"], found["runs_needed"]) == (3, 56)


def needed(ratio: float, cv: float, alpha: float) -> int:
    """Return the runs per side by simulation of the power: independent of the noncentral t."""
    from scipy import stats

    rng = np.random.default_rng(1)
    sigma = np.sqrt(np.log1p(cv**2))
    for n in range(2, 200):
        gap = np.log(ratio) + rng.normal(0, sigma * np.sqrt(2 / n), 400_000)
        spread = np.sqrt(rng.chisquare(2 * n - 2, 400_000) / (2 * n - 2)) * sigma * np.sqrt(2 / n)
        if np.mean(np.abs(gap / spread) > stats.t.ppf(1 - alpha / 2, 2 * n - 2)) >= 0.8:
            return n
    raise AssertionError


class TestSameConvergence:
    def test_is_refused_where_the_epochs_rule_it_out(self) -> None:
        a = [(100.0 + k / 10, 10) for k in range(6)] + [(110.0, 11)]
        b = [(90.0 + k / 10, 15) for k in range(6)] + [(96.0, 16)]
        report = compared(side(a), side(b), same_convergence=True)
        (found,) = report.rows
        assert (found["estimand"], found["speedup"]) == ("mean", row(a, b)["speedup"])
        assert "convergence_differs" in found["flags"]
        assert "--same-convergence refused: epochs to target differ (p < .001)" in note(
            report, "convergence_differs"
        )

    def test_is_not_ignored_in_silence_when_runs_fail(self) -> None:
        report = compared(side(VARIED_A), side([*VARIED_B, CRASH]), same_convergence=True)
        assert report.rows[0]["estimand"] == "ert"
        assert "ignored: some runs failed" in note(report, "convergence_not_used")


class TestPooledSetups:
    def test_are_the_unit_of_evidence(self) -> None:
        def pooled(factors: Sequence[float]) -> pl.DataFrame:
            parts = [
                side([(s * factor + k / 100, e) for s, e in VARIED_A], entry=f"system {k}")
                for k, factor in enumerate(factors)
            ]
            return pl.concat(parts)

        one, other = pooled([1, 1.6, 2.6]), pooled([0.4, 0.5, 1.0])
        report = compared(one, other)
        (found,) = report.rows
        names = pl.lit("the same").alias("entry")
        (blind,) = compared(one.with_columns(names), other.with_columns(names)).rows
        assert found["speedup"] == blind["speedup"]
        assert (blind["verdict"], found["verdict"]) == ("faster", "undecided")
        assert found["speedup_high"] / found["speedup_low"] > 2 * (
            blind["speedup_high"] / blind["speedup_low"]
        )
        assert (found["setups_a"], found["p_permutation"], blind["setups_a"]) == (3, None, 1)
        assert "A pools 3 setups" in " ".join(each.text for each in report.notes)

    def test_with_one_run_each_are_like_runs(self) -> None:
        spread = [side([run], entry=f"system {k}") for k, run in enumerate(VARIED_A)]
        (found,) = compared(pl.concat(spread), side(VARIED_B)).rows
        assert found["speedup_low"] == pytest.approx(row(VARIED_A, VARIED_B)["speedup_low"])


class TestSessions:
    @pytest.mark.parametrize(("hours", "warned"), [(0, False), (3, False), (9, True)])
    def test_that_do_not_overlap_are_named(self, hours: int, warned: bool) -> None:
        def started(runs: Sequence[Outcome], first: int) -> pl.DataFrame:
            begin = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=first)
            times = [begin + timedelta(hours=number) for number in range(len(runs))]
            return side(runs).with_columns(
                pl.Series("started_at", times, dtype=pl.Datetime("us", "UTC"))
            )

        report = compared(started(VARIED_A, 0), started(VARIED_B, hours))
        assert ("separate_sessions" in report.rows[0]["flags"]) is warned
        assert bool(note(report, "separate_sessions")) is warned


class TestConfidence:
    def test_is_that_of_every_word_about_an_interval(self) -> None:
        names = ("resnet", "bert")
        a, b = (pl.concat([side(runs, name) for name in names]) for runs in (VARIED_A, VARIED_B))
        report = compared(a, b, confidence=0.8)
        said = " ".join(
            [
                report.sentence,
                *(column.title for table in report.tables for column in table.columns),
            ]
        )
        assert "95%" not in said
        assert "80% CI" in said
        wide, narrow = compared(a, b).tables[0].rows[-1], report.tables[0].rows[-1]
        assert "geo-mean" in str(wide.cells[0])
        assert quantity(narrow).high < quantity(wide).high

    def test_the_margin_is_judged_at_it(self) -> None:
        sure = row(VARIED_A, VARIED_A[::-1], margin=0.2, confidence=0.6)
        unsure = row(VARIED_A, VARIED_A[::-1], margin=0.2)
        assert (sure["claim"], unsure["claim"]) == ("same within 20%", "undecided")


def quantity(shown: Any) -> Any:
    return next(cell for cell in shown.cells if getattr(cell, "high", None) is not None)


class TestSpread:
    def test_ddof_0_divides_by_n(self) -> None:
        one, none = row(VARIED_A, VARIED_B), row(VARIED_A, VARIED_B, ddof=0)
        assert none["cv_a"] / one["cv_a"] == pytest.approx((4 / 5) ** 0.5)
        assert none["speedup_low"] == one["speedup_low"]


class TestNames:
    def test_the_sentence_and_the_notes_name_what_was_grouped_by(self) -> None:
        a = pl.concat([side(VARIED_A, hardware=name) for name in ("H100", "B200")])
        b = pl.concat([side(VARIED_B, hardware=name) for name in ("H100", "B200")])
        from ttastats import api

        report = api.compare(a, b, by=("benchmark", "hardware"), view=View(named=True),
                             labels=("old", "new"))  # fmt: skip
        assert "new is 2.0" in report.sentence
        assert "than old on resnet H100" in report.sentence
