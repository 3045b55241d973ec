"""One row per group: how many reached, mean TTA, and its coefficient of variation (Table 3)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from ttastats import axis as axes
from ttastats import percentages, units
from ttastats.counted import counted
from ttastats.crossing import evaluation_interval
from ttastats.report import strips
from ttastats.report.answer import Report
from ttastats.report.cells import Cell, Column, Note, Quantity, Reached, Row, Table
from ttastats.report.grouping import (
    BENCHMARK,
    ENTRY,
    common_title,
    failed_notes,
    group_notes,
    groups,
    key_cells,
    key_columns,
    key_row,
    row_keys,
    shown_keys,
)
from ttastats.sides import expected_seconds
from ttastats.stats.sample import summarise
from ttastats.stats.variation import cv_interval

#: Groups whose times lie further apart than this share a logarithmic axis.
_FAR = 10.0


def report(
    runs: pl.DataFrame,
    by: Sequence[str] = ENTRY,
    *,
    ddof: int = 1,
    confidence: float = 0.95,
    dots: bool = False,
) -> Report:
    """Give the report of a table of runs, fastest group of a benchmark first.

    `ddof` is 1 for the sample standard deviation, 0 for the population's (Coleman et al. 2019).
    With `dots` every run is shown as one, below its row.
    """
    found = [
        (key_row(keys) | numbers(group, ddof=ddof, confidence=confidence), group)
        for keys, group in groups(runs, by)
    ]
    found.sort(key=lambda one: [_known(one[0][name]) for name in (*BENCHMARK, "tta_mean_seconds")])
    rows = [row for row, _ in found]
    details = _strips(found) if dots else [()] * len(rows)
    keys = shown_keys(rows, by)
    failed = any(row["reached"] < row["n"] for row in rows)
    axis = axes.of(runs)
    columns = (
        *key_columns(keys, heads=True),
        Column("reached", "right"),
        Column(axis.mean, "right"),
        Column(f"CV [{percentages.text(confidence)}]", "right"),
        *((Column("epochs", "right", rank=1),) if axis.name != "epochs" else ()),
        *((Column(axis.per_epoch, "right", rank=2),) if not axis.progress else ()),
        *((Column("ERT" if axis.is_time else axis.expected, "right"),) if failed else ()),
    )
    body = [Row(_cells(row, keys, failed), lines) for row, lines in zip(rows, details, strict=True)]
    table = Table(columns, tuple(body), common_title(rows, by))
    notes = [*group_notes(runs, by), *failed_notes(counted(runs, by)), *_cv_notes(rows, ddof)]
    return Report("summary", tuple(rows), (table,), tuple(notes), by=row_keys(by, ENTRY))


def numbers(group: pl.DataFrame, *, ddof: int, confidence: float) -> dict[str, Any]:
    """Give the numbers of one group of runs; seconds, fractions, None for unknown."""
    solved = group.filter("reached")
    times = solved.get_column("tta_seconds").to_numpy()
    unit, quantum = axes.progress_of(group)
    spread = cv_interval(
        times,
        epochs=solved.get_column(unit).to_numpy() if unit else None,
        eval_quantum=evaluation_interval(solved, quantum) if quantum else None,
        confidence=confidence,
        ddof=ddof,
    )
    totals = summarise(times, confidence=confidence, ddof=ddof)
    return {
        "n": group.height,
        "reached": solved.height,
        "tta_mean_seconds": totals.mean.estimate,
        "tta_std_seconds": totals.standard_deviation,
        "cv": spread.estimate,
        "cv_low": spread.low,
        "cv_high": spread.high,
        "ert_seconds": expected_seconds(group),
        "epochs_mean": solved.get_column("epochs").mean(),
        "epoch_seconds_mean": None
        if axes.of(group).progress
        else solved.get_column("epoch_seconds").mean(),
        "axis": axes.of(group).name,
    }


def _known(value: Any) -> tuple[bool, Any]:
    return value is None, value if value is not None else 0


def _cells(row: Mapping[str, Any], keys: Sequence[str], failed: bool) -> tuple[Cell, ...]:
    axis = axes.of_row(row)
    return (
        *key_cells(row, keys),
        Reached(row["reached"], row["n"]),
        Quantity(row["tta_mean_seconds"], axis.unit),
        Quantity(row["cv"], "fraction", row["cv_low"], row["cv_high"]),
        *((Quantity(row["epochs_mean"], "count"),) if axis.name != "epochs" else ()),
        *((Quantity(row["epoch_seconds_mean"], axis.unit),) if not axis.progress else ()),
        *((Quantity(row["ert_seconds"], axis.unit),) if failed else ()),
    )


def _strips(found: Sequence[tuple[Mapping[str, Any], pl.DataFrame]]) -> list[tuple[str, ...]]:
    """Give the runs of each group as dots, on one axis for all groups of a benchmark."""
    spans: dict[tuple[Any, ...], list[float]] = {}
    for row, group in found:
        spans.setdefault(_benchmark(row), []).extend(_positive(group, "observed_seconds"))
    return [tuple(_strip(group, spans[_benchmark(row)])) for row, group in found]


def _strip(group: pl.DataFrame, span: Sequence[float]) -> Iterator[str]:
    if not span:
        return
    low, high = min(span), max(span)
    far = high > _FAR * low
    place = math.log if far else float
    solved, failed = group.filter("reached"), group.filter(~pl.col("reached"))
    marks = strips.strip(
        [place(time) for time in _positive(solved, "tta_seconds")],
        [place(time) for time in _positive(failed, "observed_seconds")],
        place(low),
        place(high),
    )
    left, right = (units.amount(end, axes.of(group).unit) for end in (low, high))
    yield f"     {left} |{marks}| {right}{' (log)' if far else ''}"


def _positive(group: pl.DataFrame, name: str) -> list[float]:
    times = group.get_column(name).drop_nulls()
    return times.filter(times > 0).to_list()


def _benchmark(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in BENCHMARK)


def _cv_notes(rows: Sequence[Mapping[str, Any]], ddof: int) -> list[Note]:
    notes = []
    if any(0 < row["reached"] < 3 for row in rows):
        notes.append(
            Note("few_runs", "an interval for the CV needs 3 runs that reached the target.")
        )
    if ddof == 0:
        notes.append(Note("ddof", "standard deviations divide by n (ddof 0), as in the paper."))
    return notes
