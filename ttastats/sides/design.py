"""How were the runs of one side made: setups, starts, seeds, evaluation intervals, speeds?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np
import polars as pl
from msgspec import Struct
from numpy.typing import NDArray

from ttastats.base import units
from ttastats.base.codes import TEXTS, wording
from ttastats.base.records import ESTIMATED_START
from ttastats.outcomes import settings
from ttastats.outcomes.time_to_target import PROGRESS
from ttastats.stats.moments import count_by_group, count_faster, groups_by_size, speed_splits
from ttastats.stats.outcomes import number_clusters
from ttastats.stats.results import Floats

#: The column of runs that are compared within blocks (`blocking`): its number, alike on both sides.
BLOCK = "block"

#: When the first and the last run of a side were started.
Starts = tuple[datetime, datetime]

#: What grids are counted in where no progress is logged.
EVALUATIONS = "evaluations"


class Pace(Struct, frozen=True, eq=False):
    """The seconds of each run per unit of progress, or of the whole run; NaN where unknown."""

    unit: str
    seconds: Floats


class Grid(Struct, frozen=True):
    """The evaluation interval of a side where its runs met the target, in one unit.

    `interval` is that of the median run, `share` that of the mean run's progress.
    """

    interval: float
    share: float


#: What a design keeps of each run.
_RUN: dict[str, pl.DataType] = {
    "started_at": pl.Datetime("us", "UTC"),
    "run_seconds": pl.Float64(),
    "seed": pl.Int64(),
    "system": pl.String(),
    "submitter": pl.String(),
    "round": pl.String(),
}


@dataclass(frozen=True, slots=True)
class Design:
    """The design of the runs of one side, as far as a comparison depends on it.

    `setups` are the names of what is pooled, `pooled`: there are several, and not one run of each.
    `grids` tells how often runs were evaluated, by unit of progress, best first. `runs` has the
    start, seconds, seed, system, submitter and round of each run. `blocked`: the sides are compared
    within blocks. `speeds` are the two of runs of one setup, `parallel`: most started together.
    `doubts` counts the runs that may have been read wrongly, by code. `near_end` says where all
    runs end, if one that is a little slower would have ended there without the target. `pace`
    is that of the runs, where it is looked at.
    """

    setups: tuple[str, ...] = ()
    pooled: bool = False
    grids: Mapping[str, Grid] = field(default_factory=dict)
    runs: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=_RUN), compare=False)
    blocked: bool = False
    speeds: str = ""
    parallel: bool = False
    doubts: Mapping[str, int] = field(default_factory=dict)
    near_end: str = ""
    pace: Pace | None = field(default=None, compare=False)


def design(runs: pl.DataFrame) -> Design:
    """Return the design of one side from its runs."""
    setups, blocked = setup_names(runs), BLOCK in runs.columns
    run_columns = runs.select(pl.col(name).cast(kind) for name, kind in _RUN.items())
    return Design(
        setups=tuple(setups.unique().sort()),
        pooled=not blocked and number_clusters(setups.to_numpy(), setups.len()) is not None,
        grids=grids_of(runs, [runs.height])[0],
        runs=run_columns,
        blocked=blocked,
        speeds="" if blocked else two_speeds(runs),
        parallel=_started_together(run_columns),
        doubts=reading_doubts(runs),
        near_end=near_end(runs),
        pace=_pace(runs) if runs.height else None,
    )


#: An end is near that is within so many standard deviations of the mean of what runs needed.
_NEAR = 3.0


def near_end(runs: pl.DataFrame) -> str:
    """Return the common end of runs that train on after the target, if it is near; else nothing.

    Runs that stop at the target end where they met it, and show no budget.
    """
    counts = runs.select("evaluations", "evaluations_to_target").drop_nulls()
    ends, met = (counts[name].to_numpy() for name in counts.columns)
    if counts.height < max(3, runs.height) or np.ptp(ends) or not np.ptp(met):
        return ""
    if ends[0] - met.mean() > _NEAR * met.std(ddof=1):
        return ""
    return wording("failures_likely.end", end=int(ends[0]), slowest=int(met.max()))


#: Codes of problems to repeat in a comparison: their text has a field `who`.
DOUBTS = tuple(code for code, text in TEXTS.items() if "{who}" in text)


def reading_doubts(runs: pl.DataFrame) -> dict[str, int]:
    """Return the number of runs with each code of `DOUBTS`, in their problems or by their clock."""
    counts = runs.select(has.sum().alias(code) for code, has in _doubted().items())
    return {code: n for code, n in counts.row(0, named=True).items() if n}


def _doubted() -> dict[str, pl.Expr]:
    """Return an expression for each code of `DOUBTS`: whether a run has it."""
    clock, jumps = pl.col("clock_zero"), pl.col("^clock_jump_seconds$")
    by_clock = {"clock_start_estimated": clock == ESTIMATED_START, "clock_changed": jumps != 0}
    expressions = {}
    for code in DOUBTS:
        has = pl.col("problems").str.contains(f'"{code}"', literal=True).fill_null(value=False)
        if code in by_clock:
            has = pl.any_horizontal(has, by_clock[code].fill_null(value=False))
        expressions[code] = has
    return expressions


def designs(runs: pl.DataFrame, sizes: Sequence[int]) -> list[Design]:
    """Return the designs of groups of runs in order, in full of those with anything odd."""
    counts = np.asarray(sizes, dtype=np.int64)
    run_columns = runs.select(pl.col(name).cast(kind) for name, kind in _RUN.items())
    doubted = runs.select(has=pl.any_horizontal(*_doubted().values()))["has"].to_numpy()
    odd_groups = (count_by_group(doubted, counts) > 0) | may_differ(runs, counts)
    odd_groups |= np.array(mixed_setups(runs, sizes), dtype=np.bool_)
    per, _, timed, by = _paces(runs, counts)
    ends = np.cumsum(counts).tolist()
    paces = [Pace(_PER.get(unit, "run"), part) for unit, part in
             zip(by, np.split(np.where(timed, per, np.nan), ends[:-1]), strict=True)]  # fmt: skip
    groups = zip(ends, sizes, grids_of(runs, sizes), odd_groups, paces, strict=True)
    return [
        design(runs.slice(end - size, size))
        if is_odd
        else Design(grids=grids, runs=run_columns.slice(end - size, size), pace=pace)
        for end, size, grids, is_odd, pace in groups
    ]


#: The setup of a run by name, and the number of its group.
_SETUP, _GROUP = pl.coalesce("entry", "system", pl.lit("")), "group"


def setup_names(runs: pl.DataFrame) -> pl.Series:
    """Return the setup of each run: its entry, else its system, and its settings if they differ."""
    names = runs.select(setup=_SETUP)["setup"]
    if (
        "extra" not in runs.columns
        or (setting_texts := settings.apart(runs["extra"])).n_unique() < 2
    ):
        return names
    return pl.select(setup=pl.concat_str(names, setting_texts, separator=" "))["setup"]


def mixed_setups(runs: pl.DataFrame, sizes: Sequence[int]) -> list[bool]:
    """Return for each group of runs whether it may have several setups."""
    is_recorded = settings.recorded_by(runs["extra"]) if "extra" in runs.columns else pl.lit(False)
    of_group = runs.select(
        pl.Series(_GROUP, np.repeat(np.arange(len(sizes)), sizes)),
        name=_SETUP,
        marked=is_recorded,
    )
    has_several = (pl.col("name").n_unique() > 1) | pl.col("marked").any()
    return of_group.group_by(_GROUP, maintain_order=True).agg(has_several)["name"].to_list()


def grids_of(runs: pl.DataFrame, sizes: Sequence[int]) -> list[dict[str, Grid]]:
    """Return the evaluation intervals of runs that reached, by unit, of groups in order."""
    groups = pl.Series(_GROUP, np.repeat(np.arange(len(sizes)), sizes))
    logged = [name for unit in PROGRESS for name in unit]
    reached_runs = runs.select(groups, "reached", "evaluations_to_target", *logged).filter(
        "reached"
    )
    grid_columns = [
        pl.struct(
            all=pl.all_horizontal(pl.col(unit, column).null_count() == 0),
            interval=pl.median(column).cast(pl.Float64),
            share=pl.mean(column) / pl.mean(unit),
        ).alias(unit)
        for unit, column in PROGRESS
    ]
    evaluation_grid = pl.struct(
        all=pl.col("evaluations_to_target").null_count() == 0,
        interval=pl.lit(1.0),
        share=1.0 / pl.mean("evaluations_to_target"),
    ).alias(EVALUATIONS)
    grids: list[dict[str, Grid]] = [{} for _ in sizes]
    for row in (
        reached_runs.group_by(_GROUP).agg(*grid_columns, evaluation_grid).iter_rows(named=True)
    ):
        group = row.pop(_GROUP)
        grids[group] = {
            unit: Grid(grid["interval"], grid["share"]) for unit, grid in row.items() if grid["all"]
        }
    return grids


def two_speeds(runs: pl.DataFrame) -> str:
    """Return the two speeds of runs in words; empty if all have one, or several setups."""
    return speeds(runs) if runs.height and setup_names(runs).n_unique() == 1 else ""


#: What times are taken per, best first; without progress, evaluations count it.
_PER = {
    "steps": "step",
    "epochs": "epoch",
    "samples": "sample",
    "evaluations_to_target": "evaluation",
}


def speeds(runs: pl.DataFrame) -> str:
    """Return the two speeds of runs of one setup: `5 runs of about 1.06 s and ...`.

    Times are those per step, epoch, sample or evaluation where logs show these. Runs that stop at
    different evaluations differ in length without another machine, and where each has a start-up
    time, per epoch too: if all runs of one speed trained longer than those of the other, that
    explains the speeds. Empty if all are of one.
    """
    per, amount, timed, (unit,) = _paces(runs, np.array([runs.height]))
    positions = np.flatnonzero(timed)
    order = positions[np.argsort(per[positions], kind="stable")]
    split = count_faster(per[order])
    if split is None or _trained_longer(amount[order[:split]], amount[order[split:]]):
        return ""
    means = (float(per[part].mean()) for part in (order[:split], order[split:]))
    fast, slow = units.amounts(means, "seconds")
    return (
        f"{split} runs of about {fast} and {order.size - split} of about {slow} per "
        f"{_PER.get(unit, 'run')}"
    )


def _pace(runs: pl.DataFrame) -> Pace:
    per, _, timed, (unit,) = _paces(runs, np.array([runs.height]))
    return Pace(_PER.get(unit, "run"), np.where(timed, per, np.nan))


def may_differ(runs: pl.DataFrame, sizes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return for each group of runs whether their times alone show two speeds (`speeds`)."""
    per, amount, timed, _ = _paces(runs, sizes)
    has_two_speeds = np.zeros(sizes.size, dtype=bool)
    per, amount = per[timed], amount[timed]
    for groups, positions in groups_by_size(count_by_group(timed, sizes)):
        splits = speed_splits(per[positions])
        for row in np.flatnonzero(splits):
            amounts = amount[positions[row]][np.argsort(per[positions[row]], kind="stable")]
            has_two_speeds[groups[row]] = not _trained_longer(
                amounts[: splits[row]], amounts[splits[row] :]
            )
    return has_two_speeds


def _paces(
    runs: pl.DataFrame, sizes: NDArray[np.int64]
) -> tuple[Floats, Floats, NDArray[np.bool_], list[str]]:
    """Return each run's time per unit, number of units, and whether it counts; each group's unit.

    That is the first of `_PER` that all runs of the group have, else all that reached; or none.
    """
    reached, numbers = runs["reached"].to_numpy(), np.repeat(np.arange(sizes.size), sizes)
    amount, timed, group_units = np.ones(runs.height), reached.copy(), [""] * sizes.size
    for is_counted in (np.ones_like(reached), reached):
        for unit in _PER:
            logged = runs[unit].cast(pl.Float64).to_numpy()  # unknown: NaN
            suits = count_by_group(is_counted & ~(logged > 0), sizes) == 0
            suits &= np.array([not group_unit for group_unit in group_units], dtype=bool)
            mask = suits[numbers]
            amount[mask], timed[mask] = logged[mask], is_counted[mask]
            group_units = [
                unit if new else group_unit
                for new, group_unit in zip(suits, group_units, strict=True)
            ]
    with np.errstate(divide="ignore", invalid="ignore"):  # of what is not timed
        per = runs["observed_seconds"].to_numpy() / amount
    return per, amount, timed & ~np.isnan(per), group_units


def _trained_longer(fast: Floats, slow: Floats) -> bool:
    return bool(fast.min() > slow.max() or slow.min() > fast.max())


def starts(runs: pl.DataFrame) -> Starts | None:
    """Return the first and the last start of several runs; None if one is unknown."""
    started = runs["started_at"].sort()
    return None if started.len() < 2 or started.null_count() else (started[0], started[-1])


def in_separate_sessions(a: Starts | None, b: Starts | None) -> bool:
    """Return whether all runs of one side started before the first of the other."""
    return a is not None and b is not None and (a[1] < b[0] or b[1] < a[0])


#: Runs that start within so many seconds of each other were started together.
TOGETHER_SECONDS = 10.0


def _started_together(runs: pl.DataFrame) -> bool:
    """Return whether most runs of one system started within seconds of another."""
    if runs["started_at"].null_count() > runs.height - 2:
        return False
    runs = runs.drop_nulls(["started_at", "run_seconds"])
    if runs.height < 2 or runs["system"].n_unique() > 1:
        return False
    close = np.diff(np.sort(epoch_seconds(runs))) <= TOGETHER_SECONDS
    has_neighbour = np.convolve(close, [1, 1]) > 0  # a run close to the one before or after it
    shortest = float(runs["run_seconds"].to_numpy().min())
    return bool(2 * has_neighbour.sum() > runs.height) and shortest > TOGETHER_SECONDS


def epoch_seconds(runs: pl.DataFrame) -> Floats:
    """Return the start of each run in seconds since 1970, shape (n,)."""
    seconds: Floats = runs["started_at"].dt.epoch("us").to_numpy() / 1e6
    return seconds
