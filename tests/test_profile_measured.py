"""What a profile tells beside its operators: the step as a whole, batch sizes, layers, workers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from tests.plotting.test_profiled import profile
from ttastats.answers.profile import profile as profile_report
from ttastats.report.answer import Report
from ttastats.traces import table
from ttastats.traces.table import measure_row


def measured(*more: Mapping[str, Any]) -> Report:
    """Return the report of a profile in which more was measured."""
    rows = table.frame_of(more, profile="made", profile_id="made")
    return profile_report.report(pl.concat([profile(), rows]))


def notes(*more: Mapping[str, Any]) -> dict[str, str]:
    return {note.code: note.text for note in measured(*more).notes}


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


def test_a_batch_size_without_flops_achieves_nothing_known() -> None:
    rows = measured(measure_row("batch_samples_per_second", 5000.0, of="4096")).rows
    (row,) = (row for row in rows if row.get("name") == "4096")
    assert (row["samples_per_second"], row["flops_per_second"]) == (5000.0, None)
