"""What a profile tells beside its operators: the step as a whole, batch sizes, layers, workers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from tests.plotting.test_profiled import profile
from ttastats.answers.profile import profile as profile_report
from ttastats.traces import table
from ttastats.traces.table import measure_row


def notes(*more: Mapping[str, Any]) -> dict[str, str]:
    own = table.frame_of(more, profile="made", profile_id="made")
    report = profile_report.report(pl.concat([profile(), own]))
    return {note.code: note.text for note in report.notes}


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
