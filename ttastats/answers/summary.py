"""One row per group: how many reached, mean TTA, and its coefficient of variation (Table 3)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Annotated, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ttastats.base import percentages, units
from ttastats.base.codes import note
from ttastats.outcomes import aims, settings
from ttastats.outcomes import axis as axes
from ttastats.outcomes.left_out import counted
from ttastats.outcomes.time_to_target import PROGRESS
from ttastats.report import fields, grouping, pictures
from ttastats.report import keys as key
from ttastats.report.answer import Report
from ttastats.report.fields import Field
from ttastats.report.grouping import Groups
from ttastats.report.row import Key, Row, lazy_subset
from ttastats.sides.design import may_differ, two_speeds
from ttastats.stats.means import mean_limits
from ttastats.stats.moments import count_by_group, deviations, groups_by_size, means
from ttastats.stats.outcomes import expected_times
from ttastats.stats.results import Floats, Withheld, none_for_nan
from ttastats.stats.variation import RUNS_FOR_MOMENTS, cv_intervals

#: Groups whose times lie further apart than this share a logarithmic axis.
_FAR = 10.0


class SummaryRow(Row, frozen=True):
    """One group of runs: how many reached the target, and when."""

    n: key.RunCount
    reached: key.ReachedCount
    tta_mean_seconds: key.TtaMean
    tta_mean_seconds_low: key.Low
    tta_mean_seconds_high: key.High
    tta_std_seconds: key.TtaStd
    cv: key.Cv
    cv_low: key.Low
    cv_high: key.High
    cv_withheld: key.Withheld
    ert_seconds: key.Ert
    epochs_mean: key.EpochsMean
    epoch_seconds_mean: key.EpochSecondsMean
    axis: key.AxisName
    flags: Annotated[
        list[str],
        Key(
            "`mixed_speeds`: the runs have two speeds; `runs_vary`: they record different "
            "settings; `no_target`: they were evaluated and have no target"
        ),
    ]
    left_out: key.LeftOutKeys = key.LeftOutKeys()

    @property
    def is_aimless(self) -> bool:
        """Return whether the runs were evaluated and have no target."""
        return "no_target" in self.flags


def report(
    runs: pl.DataFrame,
    by: Sequence[str] = grouping.ENTRY,
    *,
    ddof: int,
    confidence: float,
    dots: bool = False,
) -> Report:
    """Return the report of groups of runs, fastest group of a benchmark first.

    `ddof` is 1 for the sample standard deviation, 0 for the population's (Coleman et al. 2019).
    With `dots` every run is shown as one, below its row.
    """
    groups = grouping.group_runs(runs, by)
    unsorted = rows_of(groups, ddof=ddof, confidence=confidence)
    order = sorted(
        range(len(unsorted)),
        key=lambda index: grouping.sort_key(
            *_benchmark_key(unsorted[index]), unsorted[index].tta_mean_seconds
        ),
    )
    rows = [unsorted[index] for index in order]
    parts = lazy_subset(groups.frames, order)
    axis = axes.axis_of(runs)
    table_fields = [
        fields.reached_field(axis=axis),
        # Times of several benchmarks are on no common axis.
        mean_field(axis, confidence, drawn=len(set(map(_benchmark_key, rows))) == 1),
        *more_fields(axis, confidence),
        *fields.expected_time_field(rows, axis),
    ]
    notes = [*grouping.failed_notes(counted(runs, by))]
    named_rows = list(zip(grouping.row_names(rows, by), rows, strict=True))
    for code in ("few_runs", "repeated_times", "unusual_run"):
        names = [name for name, row in named_rows if row.cv_withheld == code and row.reached]
        if names:
            notes.append(note(f"{code}.cv", names=names))
    if any(row.cv_low is not None and row.reached < RUNS_FOR_MOMENTS for row in rows):
        notes.append(note("like_those_seen", takes=axis.takes, much=axis.much))
    if ddof == 0:
        notes.append(note("ddof"))
    for index, (name, row) in enumerate(named_rows):
        if "mixed_speeds" in row.flags:
            speeds = two_speeds(parts[index])
            notes.append(note("mixed_speeds.summary", name=name, speeds=speeds))
    details = [*_dot_lines(list(zip(rows, parts, strict=True)))] if dots else ()
    answer = grouping.group_report("summary", rows, table_fields, runs, by, notes, details=details)
    return replace(answer, groups=parts)


def mean_field(
    axis: axes.Axis, confidence: float, *, rank: int = 0, drawn: bool = False
) -> Field[SummaryRow]:
    """Return the column of the mean time of the runs that reached the target."""
    title = f"{axis.mean} [{percentages.percent_text(confidence)}]"
    key = "tta_mean_seconds"
    return fields.number_field(title, key, axis.unit, interval=True, rank=rank, drawn=drawn)


def more_fields(axis: axes.Axis, confidence: float, *, rank: int = 0) -> list[Field[SummaryRow]]:
    """Return the columns behind a mean: CV, epochs, time per epoch."""
    level = percentages.percent_text(confidence)
    table_fields = [
        fields.number_field(f"CV [{level}]", "cv", "fraction", interval=True, rank=rank)
    ]
    if axis.alone:
        return table_fields
    if axis.name != "epochs":
        table_fields += fields.number_fields(SummaryRow, "epochs_mean", rank=rank + 1)
    if not axis.progress:
        table_fields.append(
            fields.number_field(axis.per_epoch, "epoch_seconds_mean", axis.unit, rank=rank + 2)
        )
    return table_fields


def rows_of(groups: Groups, *, ddof: int, confidence: float) -> list[SummaryRow]:
    """Return the row of each group of runs."""
    runs, sizes = groups.runs, groups.sizes
    reached, axis = runs["reached"].to_numpy(), axes.axis_of(runs)
    reached_runs = runs.filter("reached")
    n_reached_of_groups = count_by_group(reached, sizes)
    groups_of = np.repeat(np.arange(sizes.size), n_reached_of_groups)
    times = reached_runs["tta_seconds"].to_numpy()
    progress, interval = _progress_of_runs(reached_runs, groups_of, sizes.size, axis)
    numbers = np.full((len(_NUMBERS), sizes.size), np.nan)
    withheld: list[Withheld | None] = ["few_runs"] * sizes.size
    for group_numbers, of_runs in groups_by_size(n_reached_of_groups):
        group_times = times[of_runs]
        spread = cv_intervals(
            group_times,
            progress[of_runs],
            interval[group_numbers],
            confidence=confidence,
            ddof=ddof,
        )
        columns = [
            means(group_times),
            *mean_limits(group_times, confidence=confidence),
            deviations(group_times, ddof),
        ]
        numbers[:-1, group_numbers] = [*columns, spread.estimate, spread.low, spread.high]
        for index, code in zip(group_numbers, spread.withheld, strict=True):
            withheld[index] = code
    observed = runs["observed_seconds"].to_numpy()
    for group_numbers, of_runs in groups_by_size(sizes):
        numbers[-1, group_numbers] = expected_times(observed[of_runs], reached[of_runs])
    cells: dict[str, Any] = dict(zip(_NUMBERS, map(none_for_nan, numbers), strict=True))
    for name in ("epochs", "epoch_seconds"):
        amounts = reached_runs[name].to_numpy()
        # Numpy adds in the order of the rows: with polars' threads the last digit would vary.
        known_groups = groups_of[is_known := ~np.isnan(amounts)]
        sums = np.bincount(known_groups, amounts[is_known], sizes.size)
        with np.errstate(invalid="ignore"):  # 0 / 0 is none
            cells[f"{name}_mean"] = none_for_nan(
                sums / np.bincount(known_groups, minlength=sizes.size)
            )
    if axis.progress:
        cells["epoch_seconds_mean"] = [None] * sizes.size
    aimless = [
        not n and aims.lack_target(groups.frames[at]) for at, n in enumerate(n_reached_of_groups)
    ]
    for index in np.flatnonzero(aimless):
        cells["ert_seconds"][index] = None
    may_be_mixed, pooled = may_differ(runs, sizes), settings.pooled(runs, groups.keys.columns)
    group_rows = zip(
        groups.keys.rows(named=True),
        sizes.tolist(),
        n_reached_of_groups.tolist(),
        withheld,
        strict=True,
    )
    return [
        SummaryRow(
            keys=grouping.key_values(keys),
            n=n,
            reached=n_reached,
            cv_withheld=code,
            axis=axis.name,
            flags=[
                *(
                    ["mixed_speeds"]
                    if may_be_mixed[index] and two_speeds(groups.frames[index])
                    else []
                ),
                *(["runs_vary"] if tuple(keys.values()) in pooled else []),
                *(["no_target"] if aimless[index] else []),
            ],
            **{name: values[index] for name, values in cells.items()},
        )
        for index, (keys, n, n_reached, code) in enumerate(group_rows)
    ]


#: Numbers of a row that are computed for all groups of one size together.
_NUMBERS = (
    "tta_mean_seconds", "tta_mean_seconds_low", "tta_mean_seconds_high", "tta_std_seconds",
    "cv", "cv_low", "cv_high", "ert_seconds",
)  # fmt: skip


def _progress_of_runs(
    reached_runs: pl.DataFrame, groups: NDArray[np.int64], n: int, axis: axes.Axis
) -> tuple[Floats, Floats]:
    """Return the progress of each run in its group's best unit, and the evaluation intervals.

    The interval of a group is the widest between two evaluations, if every run tells its own.
    """
    progress, interval = np.full(reached_runs.height, np.nan), np.full(n, np.nan)
    complete = np.zeros(n, dtype=bool)
    for unit, column in [axis.progress] if axis.progress else PROGRESS:
        amounts = reached_runs[unit].cast(pl.Float64).to_numpy()  # unknown: NaN
        suits = (np.bincount(groups, np.isnan(amounts), n) == 0) & ~complete
        mask = suits[groups]
        progress[mask] = amounts[mask]
        complete |= suits
        if column is not None:
            widest = np.full(n, -np.inf)
            with np.errstate(invalid="ignore"):  # NaN stays
                np.maximum.at(widest, groups, reached_runs[column].cast(pl.Float64).to_numpy())
            interval[suits] = np.where(np.isinf(widest), np.nan, widest)[suits]
    return progress, interval


def _dot_lines(entries: Sequence[tuple[SummaryRow, pl.DataFrame]]) -> Iterator[tuple[str, ...]]:
    """Yield the runs of each group as dots, on one axis for all groups of a benchmark."""
    spans: dict[tuple[Any, ...], list[float]] = {}
    for row, group in entries:
        spans.setdefault(_benchmark_key(row), []).extend(
            _positive_values(group, "observed_seconds")
        )
    for row, group in entries:
        if not (span := spans[_benchmark_key(row)]):
            yield ()
            continue
        low, high = min(span), max(span)
        far = high > _FAR * low
        scale = math.log if far else float
        reached, failed = group.filter("reached"), group.filter(~pl.col("reached"))
        marks = pictures.draw_strip(
            [scale(time) for time in _positive_values(reached, "tta_seconds")],
            [scale(time) for time in _positive_values(failed, "observed_seconds")],
            scale(low),
            scale(high),
        )
        left, right = units.amounts((low, high), axes.axis_of(group).unit)
        yield (f"     {left} |{marks}| {right}{' (log)' if far else ''}",)


def _positive_values(group: pl.DataFrame, name: str) -> list[float]:
    times = group.get_column(name).drop_nulls()
    return times.filter(times > 0).to_list()


def _benchmark_key(row: SummaryRow) -> tuple[Any, ...]:
    return tuple(row.keys[name] for name in grouping.BENCHMARK)
