"""One row per group: how many reached, mean TTA, and its coefficient of variation (Table 3)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

import polars as pl

from ttastats.base import percentages, units
from ttastats.base.note import Note, note
from ttastats.outcomes import axis as axes
from ttastats.outcomes.counted import counted
from ttastats.outcomes.time_to_target import evaluation_interval, solved
from ttastats.report import fields, grouping, strips
from ttastats.report import keys as key
from ttastats.report.answer import Report
from ttastats.report.cells import Column, Text
from ttastats.report.fields import Field
from ttastats.report.row import Key, Row
from ttastats.sides.design.side import two_speeds
from ttastats.sides.numbers import expected_seconds
from ttastats.stats.means import RUNS_FOR_INTERVAL, mean_interval
from ttastats.stats.moments import mean, standard_deviation
from ttastats.stats.results import Floats
from ttastats.stats.variation import RUNS_FOR_MOMENTS, cv_interval

#: Intervals from which on they are also drawn.
_DRAWN = 2
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
    flags: Annotated[list[str], Key("`mixed_speeds` if the runs have two speeds")]
    left_out: key.LeftOutKeys = key.LeftOutKeys()


def report(
    runs: pl.DataFrame,
    by: Sequence[str] = grouping.ENTRY,
    *,
    ddof: int = 1,
    confidence: float = 0.95,
    dots: bool = False,
) -> Report:
    """Return the report of a table of runs, fastest group of a benchmark first.

    `ddof` is 1 for the sample standard deviation, 0 for the population's (Coleman et al. 2019).
    With `dots` every run is shown as one, below its row.
    """
    entries = [
        (row_of(keys, group, ddof=ddof, confidence=confidence), group)
        for keys, group in grouping.groups(runs, by)
    ]
    entries.sort(
        key=lambda entry: grouping.unknown_last(*_benchmark(entry[0]), entry[0].tta_mean_seconds)
    )
    rows = [row for row, _ in entries]
    axis = axes.of(runs)
    shown = [
        *fields.keys(grouping.shown_keys(rows, by)),
        fields.reached(),
        mean_field(axis, confidence),
        *_drawing(rows, axis),
        *more_fields(axis, confidence),
        *fields.expected(rows, axis),
    ]
    notes = (*grouping.failed_notes(counted(runs, by)), *_notes(entries, by, ddof))
    details = [*_strips(entries)] if dots else ()
    answer = grouping.answer("summary", rows, shown, runs, by, notes, details=details)
    return replace(answer, groups=tuple(group for _, group in entries))


def limits_of(times: Floats, confidence: float) -> tuple[float | None, float | None]:
    """Return the interval of a mean; none of equal times, which hide how much others differ."""
    if times.size < RUNS_FOR_INTERVAL or not standard_deviation(times):
        return None, None
    around = mean_interval(times, confidence=confidence)
    return around.low, around.high


def mean_field(axis: axes.Axis, confidence: float, *, rank: int = 0) -> Field[SummaryRow]:
    """Return the column of the mean time of the runs that reached the target."""
    title = f"{axis.mean} [{percentages.text(confidence)}]"
    return fields.number(title, "tta_mean_seconds", axis.unit, interval=True, rank=rank)


def _drawing(rows: Sequence[SummaryRow], axis: axes.Axis) -> list[Field[SummaryRow]]:
    """Return the column of the intervals of the means, of one benchmark as a picture."""
    if len({_benchmark(row) for row in rows}) != 1 or sum(map(_has_limits, rows)) < _DRAWN:
        return []
    shared = strips.axis(map(_limits, rows), axis.unit)
    column = Column(shared.title, rank=4, drawn=True)
    return [Field(column, lambda row: Text(shared.drawn(_limits(row))))]


def _limits(row: SummaryRow) -> strips.Limits:
    return row.tta_mean_seconds_low, row.tta_mean_seconds, row.tta_mean_seconds_high


def _has_limits(row: SummaryRow) -> bool:
    return row.tta_mean_seconds_low is not None


def more_fields(axis: axes.Axis, confidence: float, *, rank: int = 0) -> list[Field[SummaryRow]]:
    """Return the columns of what is behind a mean: CV, epochs, time per epoch."""
    level = percentages.text(confidence)
    shown = [fields.number(f"CV [{level}]", "cv", "fraction", interval=True, rank=rank)]
    if axis.name != "epochs":
        shown += fields.of(SummaryRow, "epochs_mean", rank=rank + 1)
    if not axis.progress:
        shown.append(fields.number(axis.per_epoch, "epoch_seconds_mean", axis.unit, rank=rank + 2))
    return shown


def row_of(
    keys: Mapping[str, Any], group: pl.DataFrame, *, ddof: int = 1, confidence: float = 0.95
) -> SummaryRow:
    """Return the numbers of one group of runs."""
    times = solved(group, "tta_seconds").to_numpy()
    low, high = limits_of(times, confidence)
    axis, (unit, column) = axes.of(group), axes.progress_of(group)
    spread = cv_interval(
        times,
        epochs=solved(group, unit).to_numpy() if unit else None,
        evaluation_interval=evaluation_interval(group, column) if column else None,
        confidence=confidence,
        ddof=ddof,
    )
    epoch_seconds = None if axis.progress else grouping.mean_of(solved(group, "epoch_seconds"))
    return SummaryRow(
        keys=grouping.key_row(keys),
        n=group.height,
        reached=times.size,
        tta_mean_seconds=mean(times) if times.size else None,
        tta_mean_seconds_low=low,
        tta_mean_seconds_high=high,
        tta_std_seconds=standard_deviation(times, ddof),
        cv=spread.estimate,
        cv_low=spread.low,
        cv_high=spread.high,
        cv_withheld=spread.withheld,
        ert_seconds=expected_seconds(group),
        epochs_mean=grouping.mean_of(solved(group, "epochs")),
        epoch_seconds_mean=epoch_seconds,
        axis=axis.name,
        flags=["mixed_speeds"] if two_speeds(group) else [],
    )


def _strips(entries: Sequence[tuple[SummaryRow, pl.DataFrame]]) -> Iterator[tuple[str, ...]]:
    """Yield the runs of each group as dots, on one axis for all groups of a benchmark."""
    spans: dict[tuple[Any, ...], list[float]] = {}
    for row, group in entries:
        spans.setdefault(_benchmark(row), []).extend(_positive(group, "observed_seconds"))
    for row, group in entries:
        if not (span := spans[_benchmark(row)]):
            yield ()
            continue
        low, high = min(span), max(span)
        far = high > _FAR * low
        place = math.log if far else float
        reached, failed = group.filter("reached"), group.filter(~pl.col("reached"))
        marks = strips.strip(
            [place(time) for time in _positive(reached, "tta_seconds")],
            [place(time) for time in _positive(failed, "observed_seconds")],
            place(low),
            place(high),
        )
        left, right = (units.amount(end, axes.of(group).unit) for end in (low, high))
        yield (f"     {left} |{marks}| {right}{' (log)' if far else ''}",)


def _positive(group: pl.DataFrame, name: str) -> list[float]:
    times = group.get_column(name).drop_nulls()
    return times.filter(times > 0).to_list()


def _benchmark(row: SummaryRow) -> tuple[Any, ...]:
    return tuple(row.keys[name] for name in grouping.BENCHMARK)


#: Why a CV has no interval: parts of the keys of notes.
_WITHHELD = ("few_runs", "repeated_times", "unusual_run")


def _notes(
    entries: Sequence[tuple[SummaryRow, pl.DataFrame]], by: Sequence[str], ddof: int
) -> Iterator[Note]:
    rows = [row for row, _ in entries]
    names = grouping.row_names(rows, by)
    for code in _WITHHELD:
        without = [
            name
            for name, row in zip(names, rows, strict=True)
            if row.cv_withheld == code and row.reached
        ]
        if without:
            yield note(f"{code}.cv", names=without)
    if any(row.cv_low is not None and row.reached < RUNS_FOR_MOMENTS for row in rows):
        yield note("like_those_seen")
    if ddof == 0:
        yield note("ddof")
    for name, (row, group) in zip(names, entries, strict=True):
        if "mixed_speeds" in row.flags:
            yield note("mixed_speeds.summary", name=name, speeds=two_speeds(group))
