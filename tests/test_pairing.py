"""Which runs are set against which, and what is said of those that are not."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest

from tests.made_curves import evaluation, logs, of
from tests.test_compare import VARIED_A, VARIED_B, side
from ttastats import api
from ttastats.base.errors import TtastatsError
from ttastats.outcomes.select import parse_all
from ttastats.report.answer import Report
from ttastats.sides import comparison, setups
from ttastats.sides.pairing import Pair, _runs_by_key
from ttastats.sides.question import Selection

_HOURS = itertools.count(1)
FIVE = (100.0, 104.0, 96.0, 108.0, 92.0)
FASTER = (50.0, 52.0, 48.0, 54.0, 46.0)


def table(seconds: Sequence[float] = FIVE, *, values: Sequence[float] = (), **facts: Any) -> Any:
    """Return the tidy table of dated runs, evaluated at equal steps, the last time at their end.

    `values` are the qualities seen, by default 0.7 and then the target or a little more.
    """
    target = facts.pop("target", 0.75)
    metric, higher = facts.pop("metric", "accuracy"), facts.pop("higher_is_better", True)
    seen = values or (0.7, target)
    aim = {"metric": metric, "higher_is_better": higher, "target_value": target, "step": None}
    known = {
        "suite": "mlperf", "round": "v4.0", "benchmark": "resnet", "entry": "lab/one",
        "run_status": "success",
    }  # fmt: skip
    runs = []
    for length in seconds:
        times = (length * (index + 1) / len(seen) for index in range(len(seen)))
        evaluations = (
            evaluation(index, value, seconds=time, **aim)
            for index, (value, time) in enumerate(zip(seen, times, strict=True))
        )
        started = datetime(2024, 1, 1, tzinfo=UTC) + timedelta(hours=next(_HOURS))
        about = known | {"run_seconds": length, "started_at": started}
        runs.append(of(*evaluations, **about | facts))
    return logs(runs)


def notes(report: Report, code: str) -> list[str]:
    return [note.text for note in report.notes if note.code == code]


class TestPairsThatCannotBeJudged:
    def test_say_why_and_have_no_p(self) -> None:
        pair = Pair({"benchmark": "resnet"}, side(VARIED_A), side(VARIED_B), "the same runs")
        (found,) = comparison.compare([pair])
        assert found.verdict is not None
        assert (found.verdict.word, found.verdict.claim) == ("unavailable", "the same runs")
        assert (found.p_value, found.p_adjusted, found.speedup) == (None, None, None)
        assert (found.a.n, found.a.mean_seconds) == (5, 340.8)

    def test_take_no_part_in_the_adjustment_of_others(self) -> None:
        judged = Pair({"benchmark": "resnet"}, side(VARIED_A), side(VARIED_B))
        unjudged = Pair({"benchmark": "ssd"}, side(VARIED_A), side(VARIED_B), "the same runs")
        alone, beside = comparison.compare([judged]), comparison.compare([judged, unjudged])
        assert alone[0].p_adjusted == alone[0].p_value == beside[0].p_adjusted


class TestRunsOnBothSides:
    def test_are_named_and_left_out_of_both(self) -> None:
        again = table((70.0, 90.0))
        resent = again.with_columns(source=pl.col("source") + "_resent", round=pl.lit("v5.0"))
        newer = table(FASTER, round="v5.0")
        plain = api.compare(table(), newer)
        report = api.compare(pl.concat([table(), again]), pl.concat([newer, resent]))
        (row,) = report.rows
        assert (row["n_a"], row["n_b"], row["speedup"]) == (5, 5, plain.rows[0]["speedup"])
        (said,) = notes(report, "shared_runs")
        assert said.startswith("2 identical runs on both sides (resnet 2; such as log_")
        assert said.endswith("): excluded from both.")
        assert notes(plain, "shared_runs") == []

    def test_of_a_whole_benchmark_are_the_same_runs_and_cost_the_others_nothing(self) -> None:
        ssd = table(benchmark="ssd")
        resent = ssd.with_columns(source=pl.col("source") + "_resent")
        newer = table(FASTER)
        report = api.compare(pl.concat([table(), ssd]), pl.concat([newer, resent]))
        resnet, same = report.rows
        assert (same["verdict"], same["claim"]) == ("unavailable", "the same runs")
        assert (same["p_value"], same["speedup"], same["n_a"]) == (None, None, 5)
        assert resnet["p_adjusted"] == resnet["p_value"]

    def test_a_side_of_nothing_else_is_the_same_runs_too(self) -> None:
        some, more = table(benchmark="ssd"), table(benchmark="ssd")
        resent = some.with_columns(source=pl.col("source") + "_resent")
        report = api.compare(pl.concat([table(), some, more]), pl.concat([table(FASTER), resent]))
        assert [row["claim"] for row in report.rows][1:] == ["the same runs"]

    def test_and_nothing_else_end_the_comparison(self) -> None:
        runs = table()
        resent = runs.with_columns(source=pl.col("source") + "_resent")
        with pytest.raises(TtastatsError, match="A and B contain the same runs: 5 runs") as raised:
            api.compare(runs, resent)
        assert "--a 'system=...' --b 'system=...'" in (raised.value.remedy or "")

    def test_a_file_is_not_compared_with_itself(self, tmp_path: Any) -> None:
        api.ingest(["examples/two_systems/Example/results/one_gpu"], tmp_path / "a.parquet")
        file = tmp_path / "a.parquet"
        with pytest.raises(TtastatsError, match=r"a.parquet contain the same runs: 10 runs"):
            api.compare(file, file)

    def test_undated_runs_of_equal_names_and_other_lengths_are_others(self) -> None:
        frames = [
            table(seconds, started_at=None).with_columns(
                run_id=pl.lit("run-") + pl.int_range(pl.len()).floordiv(2).cast(pl.String),
                source=pl.lit("mine"),
            )
            for seconds in (FIVE, FASTER)
        ]
        (row,) = api.compare(*frames).rows
        assert (row["n_a"], row["n_b"]) == (5, 5)


class TestOverlappingParts:
    def test_are_refused_with_their_number_an_example_and_a_remedy(self) -> None:
        both = pl.concat([table(system="dgx2"), table(system="dgx2h")])
        a, b = (
            Selection(both, parse_all([f"system={name}"], option))
            for name, option in (("dgx2*", "--a"), ("dgx2h*", "--b"))
        )
        with pytest.raises(TtastatsError, match=r"5 runs would be on both sides: all of") as raised:
            api.compare(a, b, labels=["old", "new"])
        assert "such as log_" in raised.value.what
        assert raised.value.remedy == (
            "Exclude them from one side, for example --a 'system=dgx2*' --a 'system!=dgx2h*'."
        )
        apart = Selection(both, parse_all(["system=dgx2*", "system!=dgx2h*"], "--a"))
        assert [row["n_a"] for row in api.compare(apart, b).rows] == [5]

    def test_are_refused_by_every_command_that_has_sides(self) -> None:
        runs = table()
        for command in (api.compare, api.plots, api.targets):
            with pytest.raises(TtastatsError, match="5 runs would be on both sides"):
                command(runs, runs)


class TestRounds:
    def test_of_two_rounds_are_no_criterion_and_stand_in_the_title(self) -> None:
        report = api.compare(table(round="v0.5"), table(FASTER, round="v0.6"))
        (row,) = report.rows
        assert (row["suite"], row["round"], row["benchmark"]) == ("mlperf", None, "resnet")
        assert report.tables[0].title.startswith("mlperf: A v0.5, B v0.6   A = A   B = B")

    def test_that_are_equal_stand_in_the_title_once_whatever_the_groups(self) -> None:
        report = api.compare(table(), table(FASTER), by=["benchmark"])
        assert report.tables[0].title.startswith("mlperf v4.0   A = A   B = B")

    def test_of_several_sides_are_said_for_each(self) -> None:
        sides = (table(round="v1"), table(FASTER, round="v1"), table(FASTER, round="v2"))
        first, second = (one.title.split("   ")[0] for one in api.compare(*sides).tables)
        assert (first, second) == ("mlperf v1", "mlperf: A v1, B v2")

    def test_are_a_criterion_where_a_side_has_several(self) -> None:
        older = pl.concat([table(round="v0.5"), table(round="v0.6")])
        report = api.compare(older, table(FASTER, round="v0.6"))
        assert [row["round"] for row in report.rows] == ["v0.6"]
        assert report.only_a == ("mlperf v0.5 resnet",)

    def test_are_a_criterion_if_the_user_says_so(self) -> None:
        with pytest.raises(TtastatsError, match="no common round, benchmark"):
            api.compare(table(round="v0.5"), table(round="v0.6"), by=["round", "benchmark"])


class TestLikeForLike:
    def test_setups_that_agree_are_paired_and_the_others_named(self) -> None:
        a = pl.concat(
            [table(accelerators=8, hardware="H100"), table(accelerators=64, entry="lab/two")]
        )
        b = pl.concat(
            [
                table(FASTER, accelerators=8, hardware="H100"),
                table(FASTER, accelerators=8, hardware="B200"),
            ]
        )
        report = api.compare(a, b)
        (row,) = report.rows
        assert (row["n_a"], row["n_b"]) == (5, 5)
        assert (row["accelerators"], row["hardware"]) == (8, "H100")
        assert notes(report, "unmatched") == [
            "present on one side only: resnet 64 (5 runs of A), resnet 8 B200 (5 runs of B)."
        ]

    def test_a_pool_is_only_made_when_asked_for(self) -> None:
        a = pl.concat([table(accelerators=8), table(accelerators=16)])
        b = pl.concat([table(FASTER, accelerators=8), table(FASTER, accelerators=32)])
        assert [row["n_a"] for row in api.compare(a, b).rows] == [5]
        (pooled,) = api.compare(a, b, pool=True).rows
        assert (pooled["n_a"], pooled["n_b"], pooled["accelerators"]) == (10, 10, None)
        (named,) = api.compare(a, b, by=["benchmark"]).rows
        assert (named["n_a"], named["n_b"]) == (10, 10)

    def test_one_setup_a_side_is_compared_as_it_is_and_the_difference_said(self) -> None:
        report = api.compare(
            table(accelerators=1, hardware="V100"), table(FASTER, accelerators=8, hardware="A100")
        )
        (row,) = report.rows
        assert (row["verdict"], row["accelerators"], row["hardware"]) == ("faster", None, None)
        assert notes(report, "accelerators_differ") == ["A and B differ in accelerators: 1 vs 8."]
        assert notes(report, "hardware_differ") == ["A and B differ in hardware: V100 vs A100."]
        assert "accelerators" not in [column.title for column in report.tables[0].columns]

    def test_two_machines_of_several_sizes_are_paired_by_size(self) -> None:
        a = table(accelerators=16, hardware="DGX-2")
        b = pl.concat(
            [
                table(FASTER, accelerators=16, hardware="DGX-2H"),
                table(FASTER, accelerators=512, hardware="DGX-2H Pod"),
            ]
        )
        report = api.compare(a, b)
        (row,) = report.rows
        assert (row["accelerators"], row["n_b"]) == (16, 5)
        assert notes(report, "hardware_differ") == ["A and B differ in hardware: DGX-2 vs DGX-2H."]

    def test_another_name_of_the_same_hardware_agrees_and_is_said(self) -> None:
        a = pl.concat([table(hardware="DGX-2"), table(hardware="DGX-2H")])
        b = pl.concat([table(FASTER, hardware=f"NVIDIA DGX-2{more}") for more in ("", "H")])
        report = api.compare(a, b)
        assert [row["hardware"] for row in report.rows] == ["NVIDIA DGX-2", "NVIDIA DGX-2H"]
        assert notes(report, "hardware_names") == [
            "treated as the same hardware: DGX-2 and NVIDIA DGX-2; DGX-2H and NVIDIA DGX-2H."
        ]

    def test_a_name_that_may_be_several_setups_is_paired_with_none(self) -> None:
        a = pl.concat([table(accelerators=8, hardware="H100"), table(accelerators=4)])
        a = a.with_columns(entry=pl.lit("lab/") + pl.col("accelerators").cast(pl.String))
        b = pl.concat(
            [
                table(FASTER, accelerators=8, hardware="H100-SXM5", entry="lab/a"),
                table(FASTER, accelerators=8, hardware="H100-PCIe", entry="lab/b"),
                table(FASTER, accelerators=4, entry="lab/c"),
            ]
        )
        report = api.compare(a, b)
        assert [row["accelerators"] for row in report.rows] == [4]
        assert report.only_a == ("mlperf v4.0 resnet 8 H100",)

    def test_another_way_of_writing_a_name_is_not_worth_a_word(self) -> None:
        a = pl.concat([table(hardware="tpu-v3"), table(hardware="V100")])
        report = api.compare(a, table(FASTER, hardware="TPU v3"))
        assert [row["n_a"] for row in report.rows] == [5]
        assert notes(report, "hardware_names") == []

    def test_a_log_that_broke_off_early_stays_with_its_entry(self) -> None:
        cut = table((3.0,), values=(0.1,), run_status="aborted", entry="lab/eight")
        a = pl.concat([table(accelerators=8, entry="lab/eight"), cut, table(accelerators=16)])
        b = pl.concat([table(FASTER, accelerators=8), table(FASTER, accelerators=16)])
        found = {row["accelerators"]: row["n_a"] for row in api.compare(a, b).rows}
        assert found == {8: 6, 16: 5}

    def test_sides_without_any_setup_in_common_are_refused_with_what_to_do(self) -> None:
        a = pl.concat([table(accelerators=8), table(accelerators=16)])
        b = table(accelerators=32)
        with pytest.raises(
            TtastatsError,
            match="no runs with the same number of accelerators and the same hardware",
        ) as raised:
            api.compare(a, b)
        assert "A has mlperf v4.0 resnet 8, mlperf v4.0 resnet 16; B has" in raised.value.what
        assert "--pool" in (raised.value.remedy or "")

    def test_a_change_on_one_machine_needs_no_setup_at_all(self) -> None:
        report = api.compare(table(), table(FASTER))
        assert [row["verdict"] for row in report.rows] == ["faster"]
        assert not {"accelerators_differ", "hardware_differ"} & {n.code for n in report.notes}

    def test_plots_show_the_same_pairs(self) -> None:
        a = pl.concat([table(accelerators=8), table(accelerators=16)])
        b = pl.concat([table(FASTER, accelerators=8), table(FASTER, accelerators=32)])
        made = api.material(a, b)
        assert [(p.keys["accelerators"], p.runs.height) for p in made.panels] == [(8, 10)]
        (plot,) = api.plot("speedups", a, b)
        rows = plot.data["speedups"].get_column("row").unique()
        assert [row.partition("␤")[0] for row in rows] == ["resnet"]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("DGX-2H", "NVIDIA DGX-2H", True),
        ("tpu-v3", "TPU v3", True),
        ("NVIDIA V100", "NVIDIA V100-SXM2-16GB (300W)", True),
        ("anything", None, True),
        ("DGX-2", "DGX-2H", False),
        ("TPU", "TPU v3", False),
        ("NVIDIA H200-SXM5-141GB", "NVIDIA H200-NVL-141GB", False),
    ],
)
def test_names_of_hardware_agree_if_one_says_no_more_than_the_other(
    one: str, other: str | None, same: bool
) -> None:
    assert setups.same(one, other) is setups.same(other, one) is same


class TestDifferentTargets:
    def test_both_are_judged_at_the_stricter_where_the_evaluations_tell(self) -> None:
        a = table(values=(0.70, 0.749, 0.76), target=0.75, round="v0.5")
        b = table(FASTER, values=(0.70, 0.755, 0.759), target=0.759, round="v0.6")
        report = api.compare(a, b)
        (row,) = report.rows
        assert (row["target_value"], row["tta_a_seconds"]) == (0.759, 100.0)
        assert row["flags"][0] == "targets_differ"
        assert notes(report, "targets_differ") == [
            "A's target is accuracy 0.75, B's accuracy 0.759; both are compared "
            "at accuracy 0.759 (resnet)."
        ]

    def test_both_are_judged_at_the_laxer_where_a_side_stopped_there(self) -> None:
        a = table(values=(0.70, 0.75), target=0.75, round="v0.5")
        b = table(FASTER, values=(0.752, 0.759), target=0.759, round="v0.6")
        (row,) = api.compare(a, b).rows
        assert (row["target_value"], row["reached_a"], row["reached_b"]) == (0.75, 5, 5)
        assert (row["tta_a_seconds"], row["tta_b_seconds"]) == (100.0, 25.0)

    def test_the_stricter_is_the_smaller_where_less_is_better(self) -> None:
        how = {"metric": "loss", "higher_is_better": False}
        a = table(values=(0.9, 0.5, 0.4), target=0.5, round="v0.5", **how)
        b = table(FASTER, values=(0.9, 0.45, 0.4), target=0.4, round="v0.6", **how)
        (row,) = api.compare(a, b).rows
        assert row["target_value"] == 0.4

    def test_a_run_that_failed_its_own_target_forbids_nothing(self) -> None:
        a = table(values=(0.70, 0.76), target=0.75, round="v0.5")
        lost = table((200.0,), values=(0.5, 0.6), target=0.75, round="v0.5", run_status="aborted")
        b = table(FASTER, values=(0.70, 0.76), target=0.76, round="v0.6")
        (row,) = api.compare(pl.concat([a, lost]), b).rows
        assert (row["target_value"], row["reached_a"], row["n_a"]) == (0.76, 5, 6)

    def test_without_evaluations_they_are_not_comparable(self) -> None:
        a = api.run_table(table(target=0.75, round="v0.5"))
        b = api.run_table(table(FASTER, target=0.759, round="v0.6"))
        report = api.compare(a, b)
        (row,) = report.rows
        assert (row["verdict"], row["claim"]) == ("unavailable", "not comparable")
        assert (row["p_value"], row["speedup"], row["target_value"]) == (None, None, None)
        assert "the evaluations do not allow a common target" in notes(report, "targets_differ")[0]

    def test_of_other_metrics_are_not_comparable(self) -> None:
        report = api.compare(table(), table(FASTER, metric="top5"))
        assert [row["claim"] for row in report.rows] == ["not comparable"]
        assert notes(report, "targets_differ") == [
            "A's target is accuracy 0.75, B's is top5 0.75 (resnet)."
        ]

    def test_that_differ_by_rounding_are_one(self) -> None:
        report = api.compare(table(), table(FASTER, target=0.7500000001))
        assert notes(report, "targets_differ") == []

    def test_of_the_user_hold_for_both(self) -> None:
        a, b = table(round="v0.5"), table(FASTER, target=0.759, round="v0.6")
        report = api.compare(a, b, target=["accuracy=0.7"])
        assert [row["target_value"] for row in report.rows] == [0.7]
        assert notes(report, "targets_differ") == []


def test_groups_stand_in_the_order_of_their_keys_and_unknown_ones_last() -> None:
    runs = pl.DataFrame({"system": ["b", None, "a", "b"], "number": [2, 0, 1, 1]})
    parts = _runs_by_key(runs, ["system"])
    assert list(parts) == [("a",), ("b",), (None,)]
    assert parts["b",]["number"].to_list() == [2, 1]
