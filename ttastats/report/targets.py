"""How does the answer depend on the quality target?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from ttastats.crossing import RUN
from ttastats.errors import TtastatsError
from ttastats.report.cells import Cell, Column, Note, PValue, Quantity, Report, Row, Table, Text
from ttastats.report.grouping import BENCHMARK, common_title, key_cells, key_columns, shown_keys
from ttastats.stats.sensitivity import (
    Curve,
    TargetComparison,
    compare_targets,
    hardest_common_target,
    stable_range,
    target_grid,
    target_sensitivity,
)

Rows = pl.LazyFrame


def report(
    sides: Sequence[tuple[str, Rows]], *, points: int = 9, metric: str | None = None
) -> Report:
    """Give, for one or two tables of evaluations, the answer at each target of a grid.

    Parameters
    ----------
    points
        Targets between the worst first quality and the best that every run reached.
    metric
        The metric to vary, where a benchmark has several; by default the first with a target.

    Raises
    ------
    TtastatsError
        No benchmark has evaluations on every side.
    """
    groups = [_curves(rows, metric) for _, rows in sides]
    shared = [key for key in groups[0] if all(key in group for group in groups)]
    rows: list[dict[str, Any]] = []
    notes: list[Note] = []
    for key in shared:
        found, said = _benchmark(key, [group[key] for group in groups], points)
        rows += found
        notes += said
    if not rows:
        raise TtastatsError(
            "no benchmark has evaluations on every side",
            remedy="`ttastats runs FILE` shows what there is.",
        )
    labels = [label for label, _ in sides]
    return Report("targets", tuple(rows), (_table(rows, labels),), (*notes, _method()))


@dataclass(frozen=True, slots=True)
class _Group:
    """The curves of one benchmark and metric, with the official target."""

    curves: list[Curve]
    higher_is_better: bool
    target: float | None


Key = tuple[Any, ...]


def _curves(rows: Rows, metric: str | None) -> dict[Key, _Group]:
    """Give the curves by suite, edition, benchmark and metric."""
    chosen = pl.col("metric") == metric if metric else pl.col("target_value").is_not_null()
    late = pl.col("seconds") > pl.col("run_seconds")
    table = (
        rows.filter(pl.col("metric").is_not_null(), chosen, pl.col("seconds") >= 0)
        .with_columns(
            at=pl.when(late)
            .then(pl.coalesce("weights_seconds", "seconds"))
            .otherwise(pl.col("seconds"))
        )
        .sort(*BENCHMARK, "metric", "source", "at", "eval_index")
        .group_by(*BENCHMARK, "metric", *RUN, maintain_order=True)
        .agg(
            "at",
            "value",
            "epoch",
            pl.col("run_seconds", "higher_is_better", "target_value").first(),
        )
        .collect()
    )
    groups: dict[Key, _Group] = {}
    for row in table.iter_rows(named=True):
        key = tuple(row[name] for name in (*BENCHMARK, "metric"))
        higher = row["higher_is_better"] is not False
        group = groups.setdefault(key, _Group([], higher, row["target_value"]))
        seconds, values, epochs = (
            np.asarray(row[name], dtype=np.float64) for name in ("at", "value", "epoch")
        )
        end = row["run_seconds"]
        end = None if end is None else max(end, seconds[-1])
        group.curves.append(Curve(seconds, values, end, epochs))
    return _one_metric_each(groups)


def _one_metric_each(groups: dict[Key, _Group]) -> dict[Key, _Group]:
    """Keep the first metric of a benchmark: a grid over two at once has no order."""
    kept: dict[Key, Key] = {}
    for key in groups:
        kept.setdefault(key[:-1], key)
    return {key: groups[key] for key in kept.values()}


def _benchmark(
    key: Key, sides: Sequence[_Group], points: int
) -> tuple[list[dict[str, Any]], list[Note]]:
    higher, official = sides[0].higher_is_better, sides[0].target
    curves = [curve for side in sides for curve in side.curves]
    grid = set(target_grid(curves, points, higher_is_better=higher))
    if official is not None:
        grid.add(official)
    targets = sorted(grid, reverse=not higher)
    if not targets:
        return [], []
    solved = [target_sensitivity(side.curves, targets, higher_is_better=higher) for side in sides]
    versus: Sequence[TargetComparison | None] = [None] * len(targets)
    if len(sides) == 2:
        versus = compare_targets(sides[0].curves, sides[1].curves, targets, higher_is_better=higher)
    base = dict(zip((*BENCHMARK, "metric"), key, strict=True))
    rows = []
    for number, target in enumerate(targets):
        row = base | {"target": target, "official": target == official}
        for name, answers in zip("ab", solved, strict=False):
            point = answers[number]
            row |= {
                f"n_{name}": point.fraction.n,
                f"reached_{name}": sum(first is not None for first in point.first_seconds),
                f"ert_{name}_seconds": point.expected_seconds,
            }
        rows.append(row | _speedup(versus[number]))
    return rows, _said(base, sides, versus, official)


def _speedup(one: TargetComparison | None) -> dict[str, Any]:
    if one is None:
        return {}
    ratio = one.speedup.ratio
    return {
        "speedup": ratio.estimate,
        "speedup_low": ratio.low,
        "speedup_high": ratio.high,
        "p_value": ratio.p_value,
        "verdict": one.verdict.word,
        "dagger": one.verdict.dagger,
        "conditions": list(one.verdict.conditions),
        "marks": one.verdict.marks,
    }


def _said(
    base: Mapping[str, Any],
    sides: Sequence[_Group],
    versus: Sequence[TargetComparison | None],
    official: float | None,
) -> list[Note]:
    """Say where the first run fails, and over which targets the official verdict holds."""
    name, higher = base["benchmark"], sides[0].higher_is_better
    curves = [curve for side in sides for curve in side.curves]
    hardest = hardest_common_target(curves, higher_is_better=higher)
    notes = []
    if hardest is not None:
        beyond = "above" if higher else "below"
        text = f"{name}: every run reaches {hardest:.5g}; {beyond} it a run first fails."
        notes.append(Note("first_failure", text))
    compared = [one for one in versus if one is not None]
    if compared and official is not None:
        found = stable_range(compared, official)
        text = (
            f"{name}: the verdict at {official:.5g}, {found.word}, holds for targets from "
            f"{found.lowest:.5g} to {found.highest:.5g} of those asked."
        )
        notes.append(Note("stable_range", text))
    return notes


def _method() -> Note:
    text = (
        "* the official target. TTA here is the first evaluation that meets the target, official "
        "rules aside; intervals hold for each target taken alone. A run that misses it counts "
        "with all its time (ERT). † holds only if epochs to target really are constant."
    )
    return Note("method", text)


def _table(rows: Sequence[Mapping[str, Any]], labels: Sequence[str]) -> Table:
    keys = shown_keys(rows, BENCHMARK)
    two = len(labels) == 2
    columns = (
        *key_columns(keys),
        Column("metric", rank=2),
        Column("target", "right"),
        *(
            column
            for name in "AB"[: len(labels)]
            for column in (Column(f"{name} reached", "right"), Column(f"{name} ERT", "right"))
        ),
        *((Column("speedup [95% CI]"), Column("p", "right"), Column("verdict")) if two else ()),
    )
    title = common_title(rows, BENCHMARK)
    if two:
        title = f"{title}   A = {labels[0]}   B = {labels[1]}".strip()
    return Table(columns, tuple(_row(row, keys, len(labels)) for row in rows), title)


def _row(row: Mapping[str, Any], keys: Sequence[str], sides: int) -> Row:
    mark = " *" if row["official"] else ""
    cells: list[Cell] = [
        *key_cells(row, keys),
        Text(row["metric"]),
        Text(f"{row['target']:.5g}{mark}"),
    ]
    for name in "ab"[:sides]:
        cells.append(Text(f"{row[f'reached_{name}']}/{row[f'n_{name}']}"))
        cells.append(Quantity(row[f"ert_{name}_seconds"], "seconds"))
    if sides == 2:
        cells.append(Quantity(row["speedup"], "ratio", row["speedup_low"], row["speedup_high"]))
        cells += [PValue(row["p_value"]), Text(f"{row['verdict']} {row['marks']}".strip())]
    return Row(tuple(cells))
