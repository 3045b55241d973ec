"""Which targets are asked of each group of runs?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from ttastats.base import benchmarks, quality
from ttastats.outcomes import direction, time_to_target
from ttastats.stats.results import Floats
from ttastats.stats.sensitivity import hardest_common_target, target_grid
from ttastats.table import schema


@dataclass(frozen=True, slots=True)
class Grid:
    """One metric of a group and its targets, easiest first, with what is to be met beside it.

    `others` are the other official metrics with their targets: all must be met at one checkpoint.
    `official` is the metric's own target, None where it has none or runs of the group have
    several. `hardest` is met by every run of the group; None if one has no such quality.
    """

    keys: Mapping[str, Any]
    metric: str
    higher_is_better: bool
    others: Mapping[str, float]
    official: float | None
    targets: tuple[float, ...]
    hardest: float | None


def grids(
    sides: Sequence[pl.LazyFrame],
    by: Sequence[str],
    sizes: pl.DataFrame,
    *,
    points: int,
    metric: str | None,
) -> tuple[Grid, ...]:
    """Return the grid of targets for each group, sorted by the keys.

    `sides` are the evaluations of the runs that count, of one side or of two, and `sizes` the
    groups to ask about, with `n`, the number of their runs. There are at most so many `points`,
    round targets between the worst first quality and the best that every run reached, beside the
    official one. `metric` varies, by default the first with a target; other official metrics stay
    at their targets.
    """
    facts = (
        pl.concat(sides, how="vertical_relaxed")
        .filter(schema.is_evaluation())
        .group_by(*by, "metric")
        .agg(
            higher=direction.of_group(),
            targets=pl.col("target_value").filter(pl.col("target_value").is_finite()).unique(),
        )
        .sort(*by, "metric", nulls_last=True)
        .collect()
        .join(sizes, on=list(by), how="semi", nulls_equal=True, maintain_order="left")
    )
    chosen = [
        grid
        for keys, group in facts.group_by(by, maintain_order=True)
        if (grid := _empty_grid(dict(zip(by, keys, strict=True)), group, metric)) is not None
    ]
    if not chosen:
        return ()
    wanted = goals(chosen, [None] * len(chosen), sizes)
    curves: dict[tuple[Any, ...], list[Floats]] = {}
    for rows in sides:  # a run may stand in both
        for row in time_to_target.qualities(rows, wanted, by).iter_rows(named=True):
            place = tuple(row[name] for name in by)
            curves.setdefault(place, []).append(np.asarray(row["values"], dtype=np.float64))
    numbers = {row[:-1]: row[-1] for row in sizes.select(*by, "n").iter_rows()}
    places = [tuple(grid.keys[name] for name in by) for grid in chosen]
    return tuple(
        _fill_grid(grid, curves.get(place, []), numbers[place], points)
        for grid, place in zip(chosen, places, strict=True)
    )


def _empty_grid(keys: Mapping[str, Any], facts: pl.DataFrame, metric: str | None) -> Grid | None:
    """Return a grid with the metric to vary and the fixed targets beside it, no targets yet."""
    known = {name: (higher, targets) for name, higher, targets in
             facts.select("metric", "higher", "targets").iter_rows()}  # fmt: skip
    targeted = {name: targets for name, (_, targets) in known.items() if targets}
    chosen = metric or next(iter(targeted), None)
    if chosen is None or chosen not in known:
        return None
    others = {
        # Of several targets of one metric the strictest: what meets it meets all.
        name: max(targets) if known[name][0] else min(targets)
        for name, targets in targeted.items()
        if name != chosen and chosen in targeted
    }
    single = chosen in targeted and all(len(targets) == 1 for targets in targeted.values())
    suite, benchmark = keys.get("suite"), keys.get("benchmark")
    required = set()  # by the rules, where the keys tell the benchmark
    if suite is not None and benchmark is not None:
        rules = benchmarks.targets(suite, benchmark, keys.get("round"))
        required = {target.metric for target in rules}
    official = targeted[chosen][0] if single and required <= targeted.keys() else None
    return Grid(keys, chosen, known[chosen][0], others, official, (), None)


def _fill_grid(grid: Grid, curves: Sequence[Floats], n: int, points: int) -> Grid:
    higher = grid.higher_is_better
    targets = set(target_grid(curves, points, higher_is_better=higher))
    if (official := grid.official) is not None:
        slack = abs(official) * quality.TOLERANCE
        targets = {official, *(each for each in targets if abs(each - official) > slack)}
    hardest = hardest_common_target(curves, higher_is_better=higher) if len(curves) == n else None
    return replace(grid, targets=tuple(sorted(targets, reverse=not higher)), hardest=hardest)


def goals(
    grids: Sequence[Grid], targets: Sequence[float | None], runs: pl.DataFrame
) -> pl.DataFrame:
    """Return the goals of each grid at one target, as `runs_at` takes them.

    The columns of the keys are of the types they have in `runs`.
    """
    types = {name: runs.schema[name] for grid in grids for name in grid.keys}
    return pl.DataFrame(
        [
            {**grid.keys, "metric": name, "target_value": value}
            for grid, target in zip(grids, targets, strict=True)
            for name, value in {**grid.others, grid.metric: target}.items()
        ],
        schema_overrides={**types, "target_value": pl.Float64()},
        infer_schema_length=None,
    )
