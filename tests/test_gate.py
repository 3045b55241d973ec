"""What fails a CI job, what lets it pass undecided, and that every format says so."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.compare_rows import typed
from tests.test_cli import failed, run
from tests.test_compare import STEADY, VARIED_A, VARIED_B, Outcome, compared, side
from ttastats import api
from ttastats.answers.compare import gate
from ttastats.report.answer import Report
from ttastats.report.cells import Gate
from ttastats.report.grouping import BENCHMARK
from ttastats.report.render import as_csv, as_html, as_json, as_markdown, words
from ttastats.sides.options import Options
from ttastats.stats.unseen import unseen_share

FAIL_ON, REQUIRE = "slower:2%", "not-slower:2%"
NEVER: list[Outcome] = [(900, None)] * 5


def asked(
    a: list[Outcome], b: list[Outcome], *, fail_on: str = "", require: str = "", **options: Any
) -> Gate:
    report = api.compare(
        side(a), side(b), options=Options(**options), fail_on=fail_on, require=require
    )
    assert report.gate is not None
    return report.gate


def times(outcomes: list[Outcome], factor: float) -> list[Outcome]:
    return [(seconds * factor, epochs) for seconds, epochs in outcomes]


def codes(found: Gate) -> list[str]:
    return [one.code for one in found.failures]


def row(low: float | None, high: float | None, **more: Any) -> dict[str, Any]:
    """Return a row of `compare` as far as the gate looks at it."""
    return {
        "suite": "mlperf", "round": "v4.0", "benchmark": "resnet", "a": "main", "b": "branch",
        "n_a": 5, "n_b": 5, "reached_a": 5, "reached_b": 5,
        "non_inferiority_low": low, "inferiority_high": high,
        "verdict": "undecided", "dagger": False, "claim": "undecided",
        "conditions": [], "robust_low": None, "flags": [],
        "planning_cv": 0.1, "epoch_shift_a": 0.0, "epoch_shift_b": 0.0, "estimand": "mean",
        "rejected_logs_a": 0, "rejected_logs_b": 0, "missing_runs_a": 0, "missing_runs_b": 0,
        "exceptions_a": None, "exceptions_b": None,
    } | more  # fmt: skip


def judged(one: dict[str, Any], *, fail_on: str = "", require: str = "") -> Gate:
    report = Report("compare", (typed(one),), (), by=BENCHMARK)
    report = gate.judged(report, gate.conditions(fail_on, require))
    assert report.gate is not None
    return report.gate


class TestFailOn:
    def test_a_lead_and_no_difference_pass(self) -> None:
        assert asked(VARIED_A, VARIED_B, fail_on=FAIL_ON).passed
        same = asked(VARIED_A, VARIED_A, fail_on=FAIL_ON)
        assert same.passed
        (undecided,) = same.undecided
        assert "B may be up to 20.7% slower; 2% is allowed" in undecided.text

    def test_a_slowdown_that_is_shown_fails_and_says_how_much(self) -> None:
        found = asked(VARIED_B, VARIED_A, fail_on=FAIL_ON)
        (failure,) = found.failures
        assert (failure.code, failure.group) == ("slower", "resnet")
        assert failure.text.startswith("B is at least 6")
        assert failure.text.endswith("; 2% is allowed")

    def test_a_slowdown_within_the_limit_passes(self) -> None:
        assert not asked(VARIED_A, times(VARIED_A, 2), fail_on=FAIL_ON).passed
        assert asked(VARIED_A, times(VARIED_A, 2), fail_on="slower:90%").passed

    @pytest.mark.parametrize(("high", "passed"), [(0.66, False), (0.67, True)])
    def test_the_limit_is_that_of_a_time_longer_by_so_much(self, high: float, passed: bool) -> None:
        # 50 % slower is a speedup of 1/1.5 = 0.667, not 0.5.
        slower = row(0.6, high, verdict="slower")
        assert judged(slower, fail_on="slower:50%").passed is passed

    def test_what_holds_only_if_epochs_are_constant_is_not_shown(self) -> None:
        found = asked(STEADY, times(STEADY, 1.1), fail_on=FAIL_ON)
        assert found.passed
        (undecided,) = found.undecided
        assert "slower if the number of epochs to the target is constant (declare" in undecided.text
        declared = asked(STEADY, times(STEADY, 1.1), fail_on=FAIL_ON, epochs_fixed=True)
        assert codes(declared) == ["slower"]
        assert judged(row(0.6, 0.7, verdict="slower", dagger=True), fail_on=FAIL_ON).passed

    def test_among_many_benchmarks_the_adjusted_verdict_has_to_say_so_too(self) -> None:
        found = judged(row(0.8, 0.97), fail_on=FAIL_ON)
        assert found.passed
        assert (
            "on its own, but not after p is adjusted for all comparisons" in found.undecided[0].text
        )

    def test_a_side_that_never_reached_the_target_fails(self) -> None:
        found = asked(VARIED_A, NEVER, fail_on=FAIL_ON)
        assert codes(found) == ["never_reached"]
        assert "none of 5 runs of B reached the target, 5 of 5 of A did" in found.failures[0].text
        assert asked(NEVER, VARIED_A, fail_on=FAIL_ON).passed

    def test_what_cannot_be_judged_fails(self) -> None:
        assert codes(asked(NEVER, NEVER, fail_on=FAIL_ON)) == ["not_judged"]
        single = asked(VARIED_A[:1], VARIED_A[:1], fail_on=FAIL_ON)
        assert codes(single) == ["not_judged"]
        assert "2 runs needed" in single.failures[0].text

    def test_a_lost_benchmark_fails(self) -> None:
        both = pl.concat([side(VARIED_A), side(VARIED_A, "bert")])
        report = api.compare(both, side(VARIED_A), fail_on=FAIL_ON)
        assert report.gate is not None
        (failure,) = report.gate.failures
        assert (failure.code, failure.group) == ("lost", "mlperf v4.0 bert")
        gained = api.compare(side(VARIED_A), both, fail_on=FAIL_ON)
        assert gained.gate is not None
        assert gained.gate.passed

    def test_what_nothing_bounds_cannot_be_judged(self) -> None:
        found = judged(row(0.0, math.inf, verdict="slower", dagger=True), fail_on=FAIL_ON)
        assert codes(found) == ["not_judged"]
        assert "--epochs-fixed" in found.failures[0].text

    def test_a_slowdown_that_a_straggler_could_explain_fails_with_its_condition(self) -> None:
        slower = row(0.6, 0.7, verdict="slower", conditions=["no_stragglers"])
        (failure,) = judged(slower, fail_on=FAIL_ON).failures
        assert "slower if no further run fails or straggles; 2%" in failure.text


class TestRequire:
    def test_what_passes_if_no_run_straggles_says_so(self) -> None:
        doubtful = {"robust_low": 0.5, "flags": ["straggler"]}
        found = judged(row(0.99, 1.1, **doubtful), require=REQUIRE)
        assert found.passed
        (conditional,) = found.conditional
        assert conditional.code == "no_stragglers"
        assert "branch is not slower by more than 2% if no further run" in conditional.text
        certain = doubtful | {"robust_low": 0.985}
        assert not judged(row(0.99, 1.1, **certain), require=REQUIRE).conditional
        assert not judged(row(0.99, 1.1, robust_low=0.5), require=REQUIRE).conditional
        assert not judged(row(0.99, 1.1, **doubtful), fail_on=FAIL_ON).conditional

    def test_a_lead_passes_and_a_slowdown_fails(self) -> None:
        assert asked(VARIED_A, VARIED_B, require=REQUIRE).passed
        assert codes(asked(VARIED_B, VARIED_A, require=REQUIRE)) == ["slower"]

    def test_what_the_runs_cannot_rule_out_fails(self) -> None:
        assert codes(asked(VARIED_A, VARIED_A, require=REQUIRE)) == ["undecided"]
        assert asked(VARIED_A, VARIED_A, require="not-slower:50%").passed

    @pytest.mark.parametrize(("low", "passed"), [(0.66, False), (0.67, True)])
    def test_the_limit_is_that_of_a_time_longer_by_so_much(self, low: float, passed: bool) -> None:
        assert judged(row(low, 1.1), require="not-slower:50%").passed is passed

    def test_epochs_that_were_never_seen_to_vary_may_yet_do_so(self) -> None:
        assert not asked(STEADY, STEADY, require=REQUIRE).passed
        assert asked(STEADY, STEADY, require=REQUIRE, epochs_fixed=True).passed

    def test_a_lead_with_a_dagger_does_not_pass(self) -> None:
        lead = asked(STEADY, times(STEADY, 1 / 1.05), require=REQUIRE)
        assert codes(lead) == ["undecided"]
        assert not judged(row(0.8, 1.2, verdict="faster", dagger=True), require=REQUIRE).passed

    def test_a_baseline_that_never_reached_is_judged_by_the_fractions(self) -> None:
        assert asked(NEVER, VARIED_A, require=REQUIRE).passed
        assert codes(asked(NEVER[:2], VARIED_A[:2], require=REQUIRE)) == ["undecided"]

    def test_both_conditions_may_be_asked(self) -> None:
        both = asked(VARIED_A, VARIED_A, fail_on=FAIL_ON, require=REQUIRE)
        assert both.conditions == ("--fail-on slower:2%", "--require not-slower:2%")
        assert [one.condition for one in both.failures] == ["--require not-slower:2%"]


class TestRunsNeeded:
    def test_undecided_says_how_many_runs_would_decide(self) -> None:
        found = judged(row(0.95, 1.05, planning_cv=0.12), fail_on=FAIL_ON)
        assert found.undecided[0].runs_needed == 452
        assert "452 runs per side would show that (80% power)" in found.undecided[0].text

    def test_constant_epochs_take_as_many_runs_as_bound_what_was_not_seen(self) -> None:
        def needed(**more: float) -> int | None:
            one = row(0.9, 1.1, planning_cv=0.002, **more)
            return judged(one, fail_on=FAIL_ON).undecided[0].runs_needed

        n = needed(epoch_shift_b=1 / 3)
        assert n is not None
        assert unseen_share(n, 0.9) / 3 <= 0.02 < unseen_share(n - 6, 0.9) / 3
        both = needed(epoch_shift_a=1 / 3, epoch_shift_b=1 / 3)
        assert both is not None
        assert both > n
        assert needed(epoch_shift_a=math.inf) is None

    def test_a_row_tells_what_one_evaluation_more_would_change(self) -> None:
        (steady,), (varied,) = (
            compared(side(a), side(b)).rows for a, b in ((STEADY, STEADY), (VARIED_A, STEADY))
        )
        assert (steady["epoch_shift_a"], steady["epoch_shift_b"]) == pytest.approx((1 / 3, 1 / 3))
        assert (varied["epoch_shift_a"], varied["epoch_shift_b"]) == pytest.approx((0, 1 / 3))
        (declared,) = compared(side(STEADY), side(STEADY), epochs_fixed=True).rows
        assert declared["epoch_shift_a"] == 0

    def test_the_confidence_level_counts(self) -> None:
        strict, loose = (
            asked(VARIED_A, VARIED_A, fail_on=FAIL_ON, confidence=level).undecided[0].runs_needed
            for level in (0.95, 0.8)
        )
        assert strict is not None
        assert loose is not None
        assert loose < strict


class TestEveryFormat:
    def report(self) -> Report:
        names = ("resnet", "bert")
        a = pl.concat([side(VARIED_A, name) for name in (*names, "ssd")])
        b = pl.concat([side(times(VARIED_A, 2), "resnet"), side(VARIED_A, "bert")])
        return api.compare(a, b, fail_on=FAIL_ON)

    def test_json(self) -> None:
        found = json.loads(as_json.render_json(self.report()))
        assert found["gate"]["condition"] == "--fail-on slower:2%"
        assert found["gate"]["passed"] is False
        assert [one["code"] for one in found["gate"]["failures"]] == ["lost", "slower"]
        assert [one["group"] for one in found["gate"]["undecided"]] == ["bert"]
        assert {one["benchmark"]: one["gate"] for one in found["rows"]} == {
            "bert": "undecided", "resnet": "failed"
        }  # fmt: skip

    def test_without_a_gate_nothing_is_said_of_one(self) -> None:
        assert "gate" not in as_json.render_json(compared(side(VARIED_A), side(VARIED_B)))

    def test_markdown_and_html(self) -> None:
        report = self.report()
        text = as_markdown.render_markdown(report)
        assert "\n**gate --fail-on slower:2%: failed**\n\n- failed: mlperf v4.0 ssd: A has" in text
        assert "\n- undecided: bert: B may be up to" in text
        assert "gate --fail-on slower:2%: failed" in as_html.render_html(report)

    def test_a_name_cannot_say_that_the_gate_passed(self) -> None:
        name = "x\ngate --fail-on slower:2%: passed\x1b[32m"
        report = api.compare(
            side(VARIED_B, name), side(VARIED_A, name), fail_on=FAIL_ON, labels=["A", name]
        )
        assert report.gate is not None
        headline, *said = words.gate_lines(report.gate)
        assert headline == "gate --fail-on slower:2%: failed"
        assert all(line.isprintable() for line in said)
        assert "\ngate" not in as_markdown.render_markdown(report).split("**gate")[1]

    def test_csv_has_a_column(self) -> None:
        head, *lines = as_csv.render_csv(self.report()).splitlines()
        place = head.split(",").index("gate")
        assert place == len(head.split(",")) - 1
        assert [line.rsplit(",", 1)[1] for line in lines] == ["undecided", "failed"]


@pytest.fixture(scope="module")
def tables_(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("gate")
    logs = Path(__file__).parent.parent / "examples" / "two_systems" / "Example" / "results"
    found = {}
    for name in ("one_gpu", "eight_gpus"):
        found[name] = folder / f"{name}.parquet"
        run("ingest", logs / name, "-o", found[name])
    return found


class TestCommand:
    @pytest.mark.parametrize("form", ["table", "json", "md", "csv"])
    def test_exit_code_3_and_the_verdict_whatever_the_format(
        self, tables_: dict[str, Path], form: str
    ) -> None:
        one, eight = tables_["one_gpu"], tables_["eight_gpus"]
        passed = run("compare", one, eight, "--fail-on", FAIL_ON, "-f", form)
        assert passed.returncode == 0
        done = run("compare", eight, one, "--fail-on", FAIL_ON, "-f", form)
        assert done.returncode == 3
        assert "gate --fail-on slower:2%: failed" in done.stderr
        assert "failed: digits: " in done.stderr
        if form in {"table", "md"}:
            assert "gate --fail-on slower:2%: passed" in passed.stdout
            assert "gate --fail-on slower:2%: failed" in done.stdout
            assert passed.stderr == ""
        if form == "csv":
            assert "gate --fail-on slower:2%: passed" in passed.stderr

    def test_both_directions(self, tables_: dict[str, Path]) -> None:
        one, eight = tables_["one_gpu"], tables_["eight_gpus"]
        assert run("compare", one, eight, "--fail-on", FAIL_ON).returncode == 0
        assert run("compare", eight, one, "--fail-on", FAIL_ON).returncode == 3
        assert run("compare", one, eight, "--require", REQUIRE).returncode == 0
        assert run("compare", eight, one, "--require", REQUIRE).returncode == 3

    def test_where_nothing_can_be_compared_the_code_is_2(
        self, tables_: dict[str, Path], tmp_path: Path
    ) -> None:
        (tmp_path / "a.tsv").write_text("epoch\thours\tf1Score\n1\t0.5\t0.8\n")
        run("ingest", "a.tsv", cwd=tmp_path)
        done = run("compare", tables_["one_gpu"], tmp_path / "a.parquet", "--fail-on", FAIL_ON)
        failed(done)

    def test_a_condition_is_refused_before_files_are_read(self) -> None:
        message = failed(run("compare", "none", "none2", "--fail-on", "not-slower:2%"))
        assert "--require not-slower:2%" in message
