"""One row per run: did it reach the target, when, and how far had it trained?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from ttastats.counted import standing
from ttastats.report.answer import Report
from ttastats.report.cells import Cell, Column, Quantity, Row, Table, Text
from ttastats.report.grouping import (
    common_title,
    failed_notes,
    key_cells,
    key_columns,
    no_length_notes,
    set_aside_notes,
    shown_keys,
)

KEYS = (
    "run_id", "source", "dialect", "suite", "edition", "benchmark", "entry", "submitter", "system",
    "run_status", "reached", "tta_seconds", "run_seconds", "epochs", "epoch_seconds", "samples",
    "steps", "value_final", "target_metric", "target_value", "accelerators", "nodes",
    "global_batch_size", "seed", "cost", "set_aside",
)  # fmt: skip

_SHOWN = ("suite", "edition", "benchmark", "entry")


def report(runs: pl.DataFrame) -> Report:
    """Give the report of a table of runs, in the order of its sources."""
    ordered = runs.sort("source", "run_id")
    rows = tuple(ordered.select(KEYS).iter_rows(named=True))
    keys = shown_keys(rows, _SHOWN)
    priced = any(row["cost"] is not None for row in rows)
    untimed = [
        unit
        for unit in ("samples", "steps")
        if all(row["run_seconds"] is None for row in rows)
        and any(row[unit] is not None for row in rows)
    ]
    columns = (
        *key_columns(keys, heads=True),
        Column("log", rank=1, names=True),
        Column("reached"),
        Column("TTA", "right"),
        *(Column(unit, "right") for unit in untimed),
        Column("epochs", "right", rank=2),
        Column("per epoch", "right", rank=3),
        Column("quality", "right", rank=4),
        Column("target", "right", rank=4),
        *((Column("cost", "right", rank=2),) if priced else ()),
    )
    table = Table(
        columns, tuple(_row(row, keys, priced, untimed) for row in rows), common_title(rows, _SHOWN)
    )
    notes = [*failed_notes(standing(runs)), *set_aside_notes(runs), *no_length_notes(runs)]
    return Report("runs", rows, (table,), tuple(notes))


def _row(row: dict[str, Any], keys: tuple[str, ...], priced: bool, untimed: Sequence[str]) -> Row:
    reached = "yes" if row["reached"] else "no"
    if row["run_status"] in {"aborted", "truncated"}:
        reached += f" ({row['run_status']})"
    if row["set_aside"] is not None:
        reached += f" (not counted: {row['set_aside'].replace('_', ' ')})"
    cells: list[Cell] = [
        *key_cells(row, keys),
        Text(row["source"].rsplit("/", 1)[-1]),
        Text(reached),
        _time(row),
        *(Quantity(row[unit], "count") for unit in untimed),
        Quantity(row["epochs"], "count"),
        Quantity(row["epoch_seconds"], "seconds"),
        _quality(row["value_final"]),
        _quality(row["target_value"]),
    ]
    if priced:
        cells.append(Quantity(row["cost"], "dollars"))
    return Row(tuple(cells))


def _time(row: dict[str, Any]) -> Cell:
    """Give the time to accuracy; of a run that failed, how long it was watched."""
    if row["reached"] or row["run_seconds"] is None:
        return Quantity(row["tta_seconds"], "seconds")
    return Quantity(row["run_seconds"], "seconds", mark="+")


def _quality(value: float | None) -> Text:
    return Text("–" if value is None else f"{value:.5g}")
