"""What a profile tells beside its operators: the step as a whole, batch sizes, layers, workers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl
import pytest

from tests.plotting.test_profiled import profile
from ttastats.answers.profile import profile as profile_report
from ttastats.traces import answers, table
from ttastats.traces.table import measure_row


def rows(section: str) -> dict[str, Mapping[str, Any]]:
    found = profile_report.report(profile()).rows
    return {str(row["name"]): row for row in found if row["section"] == section}


def notes(*more: Mapping[str, Any]) -> dict[str, str]:
    own = table.frame_of(more, profile="made", profile_id="made")
    report = profile_report.report(pl.concat([profile(), own]))
    return {note.code: note.text for note in report.notes}


def test_the_whole_step_is_held_against_the_peak_of_its_precision() -> None:
    found = {name: row["value"] for name, row in rows("measured").items()}
    assert found["flops_per_second"] == pytest.approx(38e7 / 0.011)
    assert found["utilization"] == pytest.approx(38e7 / 0.011 / 1e11)
    assert found["operators_share"] == pytest.approx(0.010 / 0.011)
    assert found["intensity"] == pytest.approx(380 / 17)
    assert found["ridge"] == pytest.approx(10)
    assert "samples" not in found


def test_a_precision_without_a_peak_is_held_against_none() -> None:
    other = profile().with_columns(
        text=pl.when(pl.col("name") == "precision").then(pl.lit("fp16")).otherwise("text")
    )
    assert answers.peak(other, "peak_flops") is None
    assert answers.peak(other, "peak_bandwidth") == 1e10
    assert answers.peak(profile(), "peak_flops") == 1e11
    unknown = profile().filter(pl.col("name") != "precision")
    assert answers.peak(unknown, "peak_flops") == 9e11


def test_batch_sizes_have_gains_and_shares_of_the_peak() -> None:
    found = rows("batch_size")
    assert list(found) == ["8", "16", "32"]
    assert [row["gain"] for row in found.values()] == [
        None,
        *map(pytest.approx, (0.9, 195 / 190 - 1)),
    ]
    assert found["16"]["utilization"] == pytest.approx(190e6 / 1e11)
    assert found["8"]["cpu_utilization"] is None


def test_speedups_of_fewer_layers_are_over_the_whole_network() -> None:
    found = rows("ablation")
    assert {name: row["speedup"] for name, row in found.items()} == {
        "all layers": 1.0, "no batch norm": pytest.approx(11 / 8),
    }  # fmt: skip


def test_communication_is_a_share_of_the_step_of_the_workers() -> None:
    (row,) = rows("workers").values()
    shares = (row["under_way_share"], row["exposed_share"], row["pure_share"])
    assert shares == pytest.approx((0.5, 0.2, 0.1))


def test_a_busy_machine_is_noted() -> None:
    assert "contended" not in notes(measure_row("wall_step_seconds", 0.0115))
    said = notes(measure_row("wall_step_seconds", 0.022))["contended"]
    assert said == (
        "other processes used this machine: a step took 2.0 times its CPU time in wall-clock time."
    )
    assert (
        "wall-clock time includes delays"
        in notes(measure_row("wall_step_seconds", 0.011))["contended"]
    )


def test_the_side_of_the_ridge_is_told() -> None:
    assert "22.4 FLOPs per byte is above the ridge point of 10.0" in notes()["roofline"]
    assert "limited by compute" in notes()["roofline"]
    copies = {"kind": "operator", "name": "aten::copy_", "step": 0, "calls": 1, "seconds": 0.0}
    said = notes({**copies, "device": "cpu", "category": "copy", "bytes": 100_000_000})["roofline"]
    assert "is below the ridge point of 10.0" in said
    assert "limited by memory" in said


def test_operators_that_sum_to_more_than_the_step_are_noted() -> None:
    assert "disturbed" not in notes()
    slow = {"kind": "operator", "name": "aten::add", "step": 0, "calls": 1, "seconds": 0.008}
    said = notes({**slow, "device": "cpu", "category": "elementwise"})["disturbed"]
    assert said.startswith("operators sum to 1.3 times the unprofiled step")


def test_the_rule_of_a_batch_size_that_is_large_enough_is_told() -> None:
    rule = "the smallest at which doubling the batch gains less than 5%"
    said = notes(measure_row("saturation_batch_size", 16, text=rule))["saturation"]
    assert said == f"large enough: 16 samples ({rule})."
    said = notes(measure_row("saturation_batch_size", None, text=f"none is {rule}"))["saturation"]
    assert said == f"large enough: no batch size (none is {rule})."


def test_a_trace_of_others_tells_nothing_of_this() -> None:
    report = profile_report.report(profile(measured=False))
    assert {row["section"] for row in report.rows} <= {"operator", "category", "step"}
    assert not {"clock", "contended", "ablation"} & {note.code for note in report.notes}
