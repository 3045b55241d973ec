"""What do more accelerators buy, and where is the rest lost? (Figures 3 and 4, Table 7)"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from ttastats.crossing import common_progress
from ttastats.errors import TtastatsError
from ttastats.report.cells import Column, Note, Quantity, Reached, Report, Row, Table, Text
from ttastats.report.grouping import (
    common_title,
    failed_notes,
    groups,
    key_cells,
    key_columns,
    shown_keys,
)
from ttastats.stats.results import Ratio
from ttastats.stats.scaling import ScalePoint, Scaling, loglog_slope, scaling
from ttastats.stats.speedup import ratio_of_means

#: What must agree for one curve.
CURVE = ("suite", "edition", "benchmark", "submitter")


def report(runs: pl.DataFrame, by: Sequence[str] = CURVE) -> Report:
    """Give speedup and efficiency of every entry against the smallest of its curve.

    Raises
    ------
    TtastatsError
        No curve has two numbers of accelerators.
    """
    known = runs.filter(pl.col("accelerators").is_not_null(), pl.col("accelerators") > 0)
    rows: list[dict[str, Any]] = []
    slopes: list[str] = []
    for keys, curve in groups(known, by):
        found = _curve(keys, curve)
        rows += found
        if found:
            slopes.append(_slope(keys, curve))
    if not rows:
        raise TtastatsError(
            f"no two numbers of accelerators among runs that agree in {', '.join(by)}",
            remedy="Give logs of several scales, or group by less with --by.",
        )
    return Report("scaling", tuple(rows), (_table(rows, by),), tuple(_notes(runs, known, slopes)))


def _curve(keys: Mapping[str, Any], curve: pl.DataFrame) -> list[dict[str, Any]]:
    """Give the rows of one curve, smallest scale first; none if there is one scale only."""
    points = [
        (str(entry), int(accelerators), group)
        for (accelerators, entry), group in curve.sort("accelerators", "entry").group_by(
            "accelerators", "entry", maintain_order=True
        )
    ]
    solved = [point for point in points if point[2]["reached"].any()]
    if len({accelerators for _, accelerators, _ in solved}) < 2:
        return []
    base = solved[0]
    return [dict(keys) | _numbers(base, point) for point in points]


Point = tuple[str, int, pl.DataFrame]


def _numbers(base: Point, point: Point) -> dict[str, Any]:
    entry, accelerators, group = point
    solved = group.filter("reached")
    batches = group.get_column("global_batch_size").drop_nulls().unique().sort().to_list()
    row = {
        "entry": entry,
        "accelerators": accelerators,
        "base_entry": base[0],
        "base_accelerators": base[1],
        "global_batch_size": batches[0] if len(batches) == 1 else None,
        "n": group.height,
        "reached": solved.height,
        "tta_mean_seconds": solved.get_column("tta_seconds").mean(),
    }
    speedup, parts = _compared(base, point) if solved.height else (None, None)
    row |= _ratio("speedup", speedup)
    efficiency = None if speedup is None else (base[1] / accelerators)
    row |= _ratio("efficiency", speedup, efficiency)
    for name in ("throughput_speedup", "throughput_efficiency", "statistical_efficiency"):
        row |= _ratio(name, getattr(parts, name) if parts else None)
    return row


def _compared(base: Point, point: Point) -> tuple[Ratio, Scaling | None]:
    """Give the speedup, and its parts where both tell their progress."""
    (_, base_scale, base_runs), (_, scale, runs) = base, point
    a, b = (side.filter("reached") for side in (base_runs, runs))
    times = [side["tta_seconds"].to_numpy() for side in (a, b)]
    unit, _ = common_progress(base_runs, runs)
    if unit is None:
        return ratio_of_means(*times), None
    progress = [side[unit].cast(pl.Float64).to_numpy() for side in (a, b)]
    parts = scaling(
        ScalePoint(base_scale, times[0], progress[0]), ScalePoint(scale, times[1], progress[1])
    )
    return parts.speedup, parts


def _ratio(name: str, ratio: Ratio | None, factor: float | None = 1.0) -> dict[str, float | None]:
    values = (ratio.estimate, ratio.low, ratio.high) if ratio else (None, None, None)
    names = (name, f"{name}_low", f"{name}_high")
    return {
        key: None if value is None or factor is None else value * factor
        for key, value in zip(names, values, strict=True)
    }


def _slope(keys: Mapping[str, Any], curve: pl.DataFrame) -> str:
    solved = curve.filter("reached").sort("accelerators")
    scales, times = [], []
    for (accelerators,), group in solved.group_by("accelerators", maintain_order=True):
        scales.append(int(str(accelerators)))
        times.append(np.asarray(group["tta_seconds"].to_numpy()))
    slope = loglog_slope(scales, times)
    interval = (
        f" [{slope.low:.2f}, {slope.high:.2f}]"
        if slope.low is not None and slope.high is not None
        else ""
    )
    return f"{keys.get('benchmark')} {slope.estimate:.2f}{interval}"


def _table(rows: Sequence[Mapping[str, Any]], by: Sequence[str]) -> Table:
    keys = (*shown_keys(rows, by),)
    columns = (
        *key_columns(keys),
        Column("entry", rank=1),
        Column("accelerators", "right"),
        Column("batch", "right", rank=3),
        Column("reached", "right", rank=2),
        Column("mean TTA", "right"),
        Column("speedup [95%]", "right"),
        Column("efficiency", "right"),
        Column("= throughput", "right", rank=1),
        Column("× statistical", "right", rank=1),
    )
    body = []
    for row in rows:
        is_base = row["entry"] == row["base_entry"]
        body.append(
            Row(
                (
                    *key_cells(row, keys),
                    Text(row["entry"]),
                    Quantity(row["accelerators"], "count"),
                    Quantity(row["global_batch_size"], "count"),
                    Reached(row["reached"], row["n"]),
                    Quantity(row["tta_mean_seconds"], "seconds"),
                    Text("base")
                    if is_base
                    else Quantity(row["speedup"], "ratio", row["speedup_low"], row["speedup_high"]),
                    Quantity(row["efficiency"], "fraction"),
                    Quantity(row["throughput_efficiency"], "fraction"),
                    Quantity(row["statistical_efficiency"], "fraction"),
                )
            )
        )
    return Table(columns, tuple(body), common_title(rows, by))


def _notes(runs: pl.DataFrame, known: pl.DataFrame, slopes: Sequence[str]) -> list[Note]:
    text = (
        "efficiency = speedup / growth in accelerators; throughput efficiency: time per epoch; "
        "statistical efficiency: epochs of the base / epochs, what larger batches cost. The two "
        "multiply exactly for geometric means."
    )
    notes = [
        Note("definitions", text),
        Note("slope", f"log-log slope, 1 is linear: {'; '.join(slopes)}."),
        *failed_notes(known),
    ]
    if known.height < runs.height:
        lost = runs.height - known.height
        notes.append(Note("unknown_scale", f"{lost} runs tell no number of accelerators."))
    return notes
