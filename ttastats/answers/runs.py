"""One row per run: did it reach the target, when, and how far had it trained?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from ttastats.outcomes.counted import standing
from ttastats.report import fields, grouping
from ttastats.report.answer import Report
from ttastats.report.cells import Column, Quantity, Text
from ttastats.report.fields import Field
from ttastats.table import schema

KEYS = (
    "run_id", "source", "dialect", "suite", "round", "benchmark", "entry", "submitter", "system",
    "run_status", "reached", "tta_seconds", "run_seconds", "epochs", "epoch_seconds", "samples",
    "steps", "value_final", "target_metric", "target_value", "accelerators", "nodes",
    "global_batch_size", "seed", "cost", "set_aside",
)  # fmt: skip

_SHOWN = ("suite", "round", "benchmark", "entry")


def report(runs: pl.DataFrame) -> Report:
    """Give the report of a table of runs, in the order of its sources."""
    ordered = runs.sort("source", "run_id")
    rows = tuple(ordered.select(KEYS).iter_rows(named=True))
    untimed = [
        unit
        for unit in ("samples", "steps")
        if all(row["run_seconds"] is None for row in rows)
        and any(row[unit] is not None for row in rows)
    ]
    shown = [
        *fields.keys(grouping.shown_keys(rows, _SHOWN)),
        Field(Column("log", rank=1, names=True), lambda row: Text(row["source"].split("/")[-1])),
        Field(Column("reached"), _reached),
        Field(Column("TTA", "right"), _time),
        *(fields.number(unit, unit) for unit in untimed),
        fields.number("epochs", "epochs", rank=2),
        fields.number("per epoch", "epoch_seconds", "seconds", rank=3),
        fields.words("quality", lambda row: _quality(row["value_final"]), rank=4),
        fields.words("target", lambda row: _quality(row["target_value"]), rank=4),
    ]
    if any(row["cost"] is not None for row in rows):
        shown.append(fields.number("cost", "cost", "dollars", rank=2))
    table = fields.table(rows, shown, grouping.common_title(rows, _SHOWN))
    notes = [
        *grouping.failed_notes(standing(runs)),
        *grouping.set_aside_notes(runs),
        *grouping.no_length_notes(runs),
    ]
    return Report("runs", rows, (table,), tuple(notes))


def _reached(row: Mapping[str, Any]) -> Text:
    if row["run_status"] in schema.ABSENT:
        return Text(f"– ({row['run_status']})")
    reached = "yes" if row["reached"] else "no"
    if row["run_status"] in {"aborted", "truncated", "exception"}:
        reached += f" ({row['run_status']})"
    if row["set_aside"] is not None:
        reached += f" (not counted: {row['set_aside'].replace('_', ' ')})"
    return Text(reached)


def _time(row: Mapping[str, Any]) -> Quantity:
    """Give the time to accuracy; of a run that failed, how long it was watched."""
    if row["reached"] or row["run_seconds"] is None:
        return Quantity(row["tta_seconds"], "seconds")
    return Quantity(row["run_seconds"], "seconds", mark="+")


def _quality(value: float | None) -> str:
    return "–" if value is None else f"{value:.5g}"
