"""The official score: each of its rules on made-up runs, and every result of a real round."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from typing import Any

import polars as pl
import pytest

from tests.conftest import ROOT
from ttastats import api
from ttastats.answers import score
from ttastats.base import benchmarks
from ttastats.base.records import Evaluation, Run
from ttastats.ingestion.ingest import Account
from ttastats.outcomes import time_to_target
from ttastats.report.answer import Report
from ttastats.table import tables

FOLDER = "round/Example/results/box/bert"


def run(minutes: float | None, **more: Any) -> Run:
    """Return a BERT run of v5.0 that reaches its target after so many minutes."""
    seconds = None if minutes is None else minutes * 60
    defaults: dict[str, Any] = {
        "suite": "mlperf",
        "round": "v5.0",
        "benchmark": "bert",
        "division": "closed",
        "submitter": "Example",
        "system": "box",
        "entry": "Example/box",
        "run_status": "success",
        "run_seconds": seconds,
        "evaluations": (evaluation(0.73, seconds or 60.0),),
    }
    return Run(**(defaults | more))


def evaluation(value: float, seconds: float, target: float | None = 0.72) -> Evaluation:
    return Evaluation(
        index=0,
        metric="masked_lm_accuracy",
        value=value,
        logged_value=value,
        seconds=seconds,
        higher_is_better=True,
        target_value=target,
    )


def missed(minutes: float, **more: Any) -> Run:
    return run(minutes, evaluations=(evaluation(0.71, minutes * 60),), **more)


def slow_init(minutes: float, init_minutes: float, **more: Any) -> Run:
    return run(minutes, extra={"init_seconds": init_minutes * 60}, **more)


def table(runs: Sequence[Run], names: Sequence[str] = ()) -> pl.DataFrame:
    """Return the run table of some runs, in files named result_0.txt and so on."""
    files = names or [f"{FOLDER}/result_{number}.txt" for number in range(len(runs))]
    sourced = [
        tables.SourcedRun(one, name, f"{number:032x}", 0, "test")
        for number, (one, name) in enumerate(zip(runs, files, strict=True))
    ]
    return time_to_target.runs(tables.table_of_runs(sourced))


def report(runs: Sequence[Run], names: Sequence[str] = ()) -> Report:
    return score.report(table(runs, names))


def scored(runs: Sequence[Run], names: Sequence[str] = ()) -> dict[str, Any]:
    (row,) = report(runs, names).rows
    return dict(row)


def notes(found: Report) -> dict[str, str]:
    return {note.code: note.text for note in found.notes}


#: Ten runs of 1, 2, ... 9 and 100 minutes.
MINUTES = (*(float(n) for n in range(1, 10)), 100.0)
TEN = [run(minutes) for minutes in MINUTES]


class TestOlympicMean:
    def test_the_fastest_and_the_slowest_run_are_left_out(self) -> None:
        row = scored(TEN)
        assert row["raw_minutes"] == pytest.approx(sum(range(2, 10)) / 8)
        assert (row["n"], row["required_runs"], row["dropped"]) == (10, 10, 1)
        assert (row["failed"], row["failures"], row["status"]) == (0, [], "scored")

    def test_it_is_said_how_many_entries_have_a_score(self) -> None:
        assert report(TEN).sentence == "1 of 1 entry has an official score."
        few = report(TEN[:1]).sentence
        assert few == "0 of 1 entry have an official score (1 too few runs)."

    def test_the_order_of_the_runs_does_not_matter(self) -> None:
        assert scored(TEN[::-1])["score_minutes"] == scored(TEN)["score_minutes"]

    def test_a_run_takes_from_run_stop_to_run_start_not_to_its_crossing(self) -> None:
        early = [run(m, evaluations=(evaluation(0.73, 6.0),)) for m in MINUTES]
        assert scored(early)["score_minutes"] == scored(TEN)["score_minutes"]

    def test_unet3d_leaves_out_four_and_four_of_forty(self) -> None:
        dice = Evaluation(
            index=0, metric="mean_dice", value=0.91, logged_value=0.91, seconds=60.0,
            higher_is_better=True, target_value=0.908,
        )  # fmt: skip
        slowest = (900.0 + n for n in range(4))
        times = [1.0, 2.0, 3.0, 4.0, *(10.0 + n for n in range(32)), *slowest]
        more: dict[str, Any] = {"round": "v3.1", "benchmark": "unet3d", "evaluations": (dice,)}
        row = scored([run(minutes, **more) for minutes in times])
        assert row["score_minutes"] == pytest.approx(10 + 31 / 2)
        assert (row["dropped"], row["status"]) == (4, "scored")
        failures = [run(60.0 + n, **more | {"run_status": "aborted"}) for n in range(5)]
        passed = [run(minutes, **more) for minutes in times[:36]]
        four = scored([*failures[:4], *passed])
        assert four["score_minutes"] == pytest.approx(10 + 31 / 2)
        five = scored([*failures, *passed[:35]])
        assert five["status"] == "too many failed runs: 5 of 40, 4 allowed"


class TestFailedRuns:
    def test_a_failed_run_takes_the_place_of_the_slowest(self) -> None:
        quick_failure = run(0.1, run_status="aborted")
        row = scored([*TEN[:9], quick_failure])
        assert row["raw_minutes"] == pytest.approx(sum(range(2, 10)) / 8)
        assert row["failures"] == ["result_9.txt: not reached: aborted"]
        assert row["status"] == "scored"

    def test_a_second_failed_run_leaves_no_score(self) -> None:
        failures = [run(0.1, run_status="aborted"), missed(0.2)]
        row = scored([*TEN[:8], *failures])
        assert (row["raw_minutes"], row["score_minutes"]) == (None, None)
        assert row["status"] == "too many failed runs: 2 of 10, 1 allowed"
        assert row["failed"] == 2

    @pytest.mark.parametrize(
        ("failure", "why"),
        [
            (run(5.0, run_status="aborted"), "not reached: aborted"),
            (run(5.0, run_status="truncated"), "not reached: truncated"),
            (missed(5.0), "not reached: target missed"),
            (run(5.0, evaluations=()), "not reached: no evaluation logged"),
            (run(5.0, evaluations=(), run_status="truncated"), "not reached: truncated"),
            (slow_init(5.0, 32.3), "initialisation took 32.3 min, under 30 allowed"),
            (run(None), "no usable time"),
        ],
    )
    def test_a_failed_run_is_named_with_its_reason(self, failure: Run, why: str) -> None:
        assert scored([*TEN[:9], failure])["failures"] == [f"result_9.txt: {why}"]

    def test_failed_runs_stand_below_their_row_of_the_table(self) -> None:
        (shown,) = report([*TEN[:9], missed(5.0)]).tables[0].rows
        assert shown.details == ("failed: result_9.txt: not reached: target missed",)


class TestInitialisation:
    @pytest.mark.parametrize(
        ("round_", "division", "limit"),
        [("v0.7", "closed", 20), ("v1.0", "closed", 30), ("v5.0", "closed", 30),
         ("v5.0", "open", 240), ("v5.0", "Open", 240), ("v5.0", None, 30)],
    )  # fmt: skip
    def test_it_must_take_less_than_the_limit_of_round_and_division(
        self, round_: str, division: str | None, limit: float
    ) -> None:
        more = {"round": round_, "division": division}
        below = scored([slow_init(minutes, limit - 0.001, **more) for minutes in MINUTES])
        reached = scored([slow_init(minutes, limit, **more) for minutes in MINUTES])
        assert (below["failed"], below["status"]) == (0, "scored")
        assert reached["failed"] == 10
        assert f"under {limit} allowed" in reached["failures"][0]

    def test_v05_has_no_limit_and_an_unlogged_initialisation_breaks_none(self) -> None:
        gnmt = {"round": "v0.5", "benchmark": "gnmt"}
        assert benchmarks.targets("mlperf", "gnmt", "v0.5")
        assert scored([slow_init(m, 300.0, **gnmt) for m in MINUTES])["status"] == "scored"
        assert scored([run(m, extra={"seeds": 2}) for m in MINUTES])["status"] == "scored"


class TestNumberOfRuns:
    def test_another_number_than_required_is_scored_and_said(self) -> None:
        found = report(TEN[:5])
        (row,) = found.rows
        assert row["score_minutes"] == pytest.approx(3.0)
        assert row["status"] == "scored: 5 runs, 10 required"
        assert "not a valid submission" in notes(found)["run_count"]
        assert "run_count" not in notes(report(TEN))

    def test_two_runs_leave_nothing_to_average(self) -> None:
        row = scored(TEN[:2])
        assert (row["score_minutes"], row["status"]) == (None, "too few runs: 2 of 10 required")

    def test_logs_beside_the_result_files_do_not_count(self) -> None:
        names = [f"{FOLDER}/result_{number}.txt" for number in range(5)]
        names += [f"{FOLDER}/logs/worker_{number}.txt" for number in range(5)]
        found = report(TEN, names)
        (row,) = found.rows
        assert (row["n"], row["score_minutes"]) == (5, pytest.approx(3.0))
        assert notes(found)["side_log"].startswith("5 logs")

    def test_logs_of_any_name_count_where_there_are_no_result_files(self) -> None:
        found = report(TEN, [f"mine/{number}.log" for number in range(10)])
        assert found.rows[0]["n"] == 10
        assert "side_log" not in notes(found)


class TestFirstThatConverge:
    """NCF of v0.5: run 100, use the first 50 that converge."""

    @staticmethod
    def ncf(converge: int) -> list[Run]:
        """Return 100 runs of 1, 2, ... minutes, in their order; the first ones fail."""
        hit = Evaluation(
            index=0, metric="hit_rate_at_10", value=0.64, logged_value=0.64, seconds=60.0,
            higher_is_better=True, target_value=0.635,
        )  # fmt: skip
        more: dict[str, Any] = {"round": "v0.5", "benchmark": "ncf", "evaluations": (hit,)}
        ends = ["aborted"] * (100 - converge) + ["success"] * converge
        return [run(n + 1.0, **more, run_status=end) for n, end in enumerate(ends)]

    def test_the_first_fifty_by_number_count_without_fastest_and_slowest(self) -> None:
        names = [f"{FOLDER}/result_{number}.txt" for number in range(100)]
        row = scored(self.ncf(60)[::-1], names[::-1])
        assert row["score_minutes"] == pytest.approx(sum(range(42, 90)) / 48)
        assert (row["failed"], row["status"]) == (40, "scored")

    def test_fewer_than_fifty_leave_no_score(self) -> None:
        row = scored(self.ncf(49))
        assert row["score_minutes"] is None
        assert row["status"] == "too few runs converged: 49 of 50 required"

    def test_the_table_names_a_few_of_many_failures(self) -> None:
        (shown,) = report(self.ncf(60)).tables[0].rows
        assert len(shown.details) == 5
        assert shown.details[-1] == "and 36 more failed"


class TestScaling:
    def test_raw_and_scaled_are_kept_apart(self) -> None:
        found = report([run(m, scaling_factor=1.1) for m in MINUTES])
        (row,) = found.rows
        assert row["raw_minutes"] == pytest.approx(5.5)
        assert row["score_minutes"] == pytest.approx(6.05)
        assert row["scaling_factor"] == 1.1
        assert notes(found)["scaled"].startswith("scaling: 1 of 1 result ")

    def test_without_scaling_the_factor_is_one(self) -> None:
        found = report(TEN)
        assert found.rows[0]["scaling_factor"] == 1.0
        assert "scaled" not in notes(found)

    def test_runs_of_different_factors_have_no_common_score(self) -> None:
        row = scored([*TEN[:9], run(9.5, scaling_factor=1.1)])
        assert (row["score_minutes"], row["scaling_factor"]) == (None, None)
        assert row["status"] == "several scaling factors in one group"


class TestNoRules:
    @pytest.mark.parametrize(
        ("more", "status"),
        [
            ({"suite": "dawnbench"}, "not an MLPerf Training suite: dawnbench"),
            ({"suite": None}, "not an MLPerf Training suite: unknown"),
            ({"round": None}, "round unknown"),
            ({"benchmark": None}, "benchmark unknown"),
            ({"benchmark": "resnet"}, "no quality target for resnet in v5.0"),
        ],
    )
    def test_what_has_no_official_rules_has_no_score_but_a_reason(
        self, more: dict[str, Any], status: str
    ) -> None:
        row = scored([run(minutes, **more) for minutes in MINUTES])
        assert (row["score_minutes"], row["raw_minutes"], row["status"]) == (None, None, status)
        assert (row["n"], row["failed"]) == (10, None)

    def test_a_group_of_several_benchmarks_is_not_one_result(self) -> None:
        mixed = table([*TEN, run(5.0, round="v4.1")])
        (row,) = score.report(mixed, ["submitter"]).rows
        assert row["score_minutes"] is None
        assert row["status"].startswith("not one result")


class TestEntries:
    @pytest.mark.parametrize("division", ["open", "Open"])
    def test_the_open_division_sets_its_own_target_so_the_log_is_believed(
        self, division: str
    ) -> None:
        missed_all = [missed(minutes, division=division) for minutes in MINUTES]
        assert scored(missed_all)["score_minutes"] == pytest.approx(5.5)
        aborted = [missed(m, division=division, run_status="aborted") for m in MINUTES]
        assert scored(aborted)["status"].startswith("too many failed runs: 10 of 10")
        closed = [missed(minutes) for minutes in MINUTES]
        assert scored(closed)["status"].startswith("too many failed runs: 10 of 10")

    def test_systems_of_one_name_in_two_entries_are_two_results_best_first(self) -> None:
        slow = [run(minutes * 2, entry="Example/a/box") for minutes in MINUTES]
        fast = [run(minutes, entry="Example/b/box") for minutes in MINUTES]
        found = report([*slow, *fast])
        entries = [(row["entry"], row["score_minutes"]) for row in found.rows]
        assert entries == [("Example/b/box", 5.5), ("Example/a/box", 11.0)]
        titles = [column.title for column in found.tables[0].columns]
        assert titles[:2] == ["benchmark", "entry"]

    def test_the_columns_hide_what_all_results_share(self) -> None:
        found = report(TEN)
        titles = [column.title for column in found.tables[0].columns]
        assert titles[:4] == ["benchmark", "submitter", "system", "runs"]
        assert "status" not in titles
        assert found.tables[0].title == "mlperf v5.0 closed"
        odd = [column.title for column in report(TEN[:5]).tables[0].columns]
        assert odd[-1] == "status"

    def test_the_report_says_that_a_score_is_no_statistic(self) -> None:
        assert "neither trim nor scale" in notes(report(TEN))["official_score"]


@pytest.fixture(scope="module")
def v50(ingested_round: Callable[[str], Account]) -> Report:
    return score.report(api.run_table(ingested_round("v5.0").output))


@pytest.mark.real
class TestRound50:
    """MLPerf Training v5.0, against its official results summary."""

    def test_all_201_results_equal_the_official_ones(self, v50: Report) -> None:
        text = (ROOT / "tests" / "reference" / "mlperf_v5.0_scores.csv").read_text("utf-8")
        lines = [line for line in text.splitlines() if not line.startswith("#")]
        official = {
            (row["division"], row["system"], row["benchmark"]): float(row["minutes"])
            for row in csv.DictReader(io.StringIO("\n".join(lines)))
        }
        ours = {
            (row["division"], row["system"], row["benchmark"]): row["score_minutes"]
            for row in v50.rows
        }
        assert len(official) == len(v50.rows) == 201
        assert ours.keys() == official.keys()
        differing = {
            key: (ours[key], minutes)
            for key, minutes in official.items()
            if ours[key] is None or abs(ours[key] - minutes) > 1e-6
        }
        assert differing == {}

    def test_ten_runs_failed_and_one_of_them_by_its_initialisation(self, v50: Report) -> None:
        failures = {
            (row["system"], row["benchmark"]): row["failures"] for row in v50.rows if row["failed"]
        }
        assert len(failures) == 10
        assert all(len(named) == 1 for named in failures.values())
        by_initialisation = {
            key: named for key, named in failures.items() if "initialisation" in named[0]
        }
        assert by_initialisation == {
            ("tinybox_green", "bert"): [
                "result_2.txt: initialisation took 32.3 min, under 30 allowed"
            ]
        }

    def test_half_of_the_results_are_scaled_up(self, v50: Report) -> None:
        scaled = [row for row in v50.rows if row["scaling_factor"] != 1.0]
        assert len(scaled) == 101
        assert all(row["score_minutes"] > row["raw_minutes"] for row in scaled)
