"""What do more accelerators buy, and where is the rest lost? (Figures 3 and 4, Table 7)"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Annotated, Any

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from ttastats.answers.compare.cells import FAILED
from ttastats.answers.compare.rows import interval_keys
from ttastats.base import units
from ttastats.base.codes import Note, note, wording
from ttastats.base.errors import raise_if
from ttastats.base.percentages import percent_text
from ttastats.outcomes import axis as axes
from ttastats.outcomes.axis import Axis
from ttastats.outcomes.left_out import counted
from ttastats.outcomes.time_to_target import common_progress, values_of_reached
from ttastats.report import fields, grouping
from ttastats.report import keys as key
from ttastats.report.answer import Report
from ttastats.report.cells import Cell, Column, Quantity, Table, Text
from ttastats.report.fields import Field
from ttastats.report.grouping import Groups
from ttastats.report.row import AnyRow, Key, Number, Row
from ttastats.sides.design import mixed_setups
from ttastats.sides.numbers import expected_seconds, outcomes_of
from ttastats.stats.outcomes import Outcomes, make_outcomes
from ttastats.stats.results import Ratio
from ttastats.stats.speedup import loglog_slope, ratio_between, ratio_of_geometric_means

#: What must agree for one curve, unless asked otherwise.
CURVE = (*grouping.BENCHMARK, "submitter", "hardware", "framework")


class ScalingRow(Row, frozen=True):
    """One entry at its number of accelerators, against the smallest of its curve."""

    entry: Annotated[str, Key("the entry")]
    accelerators: Annotated[int, Key("its accelerators", "accelerators")]
    base_entry: Annotated[str, Key("the smallest entry of the curve with a success")]
    base_accelerators: Annotated[int, Key("its accelerators", "accelerators")]
    global_batch_size: Annotated[
        int | None, Key("batch size that the runs of the entry share", "samples", "batch")
    ]
    n: key.RunCount
    reached: key.ReachedCount
    axis: key.AxisName
    tta_mean_seconds: key.TtaMean
    ert_seconds: key.Ert
    failed_runs: Annotated[bool, Key("whether a run of the entry or of the base failed")]
    speedup: Annotated[Number, Key("mean of the base over that of the entry", "ratio")]
    speedup_low: key.Low
    speedup_high: key.High
    efficiency: Annotated[Number, Key("speedup over the ratio of the accelerators", "fraction")]
    efficiency_low: key.Low
    efficiency_high: key.High
    throughput_speedup: Annotated[Number, Key("speedup of the time per epoch", "ratio")]
    throughput_speedup_low: key.Low
    throughput_speedup_high: key.High
    throughput_efficiency: Annotated[
        Number, Key("that over the ratio of the accelerators", "fraction", "= throughput")
    ]
    throughput_efficiency_low: key.Low
    throughput_efficiency_high: key.High
    statistical_efficiency: Annotated[
        Number, Key("epochs of the base over those of the entry", "fraction", "× statistical")
    ]
    statistical_efficiency_low: key.Low
    statistical_efficiency_high: key.High
    left_out: key.LeftOutKeys = key.LeftOutKeys()


def report(runs: pl.DataFrame, by: Sequence[str] = CURVE, *, confidence: float) -> Report:
    """Return speedup and efficiency of every entry against the smallest of its curve."""
    by = grouping.row_keys(by) if by else CURVE  # a curve never mixes benchmarks or rounds
    runs_with_scale = counted(runs.filter(pl.col("accelerators") > 0), by)
    drawn = runs_with_scale.filter(pl.col("accelerators").filter("reached").n_unique().over(by) > 1)
    rows = _rows(drawn, by, confidence)
    one_scale = f"runs with the same {', '.join(by)} have only one number of accelerators"
    remedy = "Give logs at several scales, or group by fewer columns: --by submitter."
    raise_if(not rows, one_scale, None, remedy)
    axis = axes.axis_of(runs)
    notes = [*_scaling_notes(by, grouping.group_runs(drawn, by), axis, confidence)]
    if any(row.failed_runs for row in rows):
        parts = wording("expected.parts") if axis.is_time else ""
        notes.append(note("expected", FAILED, expected=axis.expected, parts=parts))
    notes += grouping.left_out_notes(runs, by)
    notes += grouping.failed_notes(drawn)
    if unknown := counted(runs, by).height - runs_with_scale.height:
        notes.append(note("unknown_scale", n=unknown))
    table, sentence = _scaling_table(rows, by, axis, confidence), _scaling_sentence(rows, by, axis)
    report = Report("scaling", tuple(rows), (table,), tuple(notes), sentence, by=by)
    return grouping.with_left_out(report, runs, (*by, "entry", "accelerators"))


def _scaling_sentence(rows: Sequence[ScalingRow], by: Sequence[str], axis: Axis) -> str:
    if not axis.is_time:
        return ""
    largest: dict[tuple[Any, ...], tuple[ScalingRow, float, float]] = {}
    for row in rows:  # those of a curve stand by their size
        if row.accelerators > row.base_accelerators and row.speedup and row.efficiency:
            largest[tuple(map(row.get, by))] = row, row.speedup, row.efficiency
    if len(largest) > 3:
        shares = sorted(efficiency for *_, efficiency in largest.values())
        lowest, median, highest = (
            units.percent(shares[n]) for n in (0, len(shares) // 2, len(shares) - 1)
        )
        return (
            f"{len(largest)} curves: the most accelerators of each have an efficiency of "
            f"{lowest} to {highest} (median {median})."
        )
    curve_keys = distinct_keys(rows, by)
    return " ".join(
        f"{_curve_name(row.keys, curve_keys)}: {row.accelerators:,} accelerators are "
        f"{units.factor(speedup, row.speedup_low, row.speedup_high)} as fast as "
        f"{row.base_accelerators:,}, an efficiency of {units.percent(efficiency)}."
        for row, speedup, efficiency in largest.values()
    )


class _Point(Struct, frozen=True, eq=False):
    """The runs of an entry, and what came of them, None where one has no time."""

    entry: str
    accelerators: int
    runs: pl.DataFrame
    outcomes: Outcomes | None


def _rows(runs: pl.DataFrame, by: Sequence[str], confidence: float) -> list[ScalingRow]:
    scale = ("accelerators", "entry")
    last = [*(True for _ in by), False, False]
    sorted_runs = runs.sort(*by, *scale, nulls_last=last, maintain_order=True)
    parts = sorted_runs.partition_by(*by, *scale)
    is_mixed = mixed_setups(sorted_runs, [part.height for part in parts])
    curves: dict[tuple[Any, ...], list[_Point]] = {}
    for part, may_be_mixed in zip(parts, is_mixed, strict=True):
        has_times = not part["observed_seconds"].null_count()
        outcomes = outcomes_of(part, mixed=may_be_mixed) if has_times else None
        point = _Point(str(part["entry"][0]), part["accelerators"][0], part, outcomes)
        curves.setdefault(tuple(part[name][0] for name in by), []).append(point)
    rows = []
    for values, points in curves.items():
        base = next(point for point in points if point.runs["reached"].any())
        for point in points:
            part, axis = point.runs, axes.axis_of(point.runs)
            reached, fair = int(part["reached"].sum()), base.accelerators / point.accelerators
            batches = {*part["global_batch_size"].to_list()} - {None}
            speedup, throughput, epochs = (
                _compared(base, point, confidence) if reached else (None,) * 3
            )
            rows.append(ScalingRow(
                point.entry,
                point.accelerators,
                base.entry,
                base.accelerators,
                batches.pop() if len(batches) == 1 else None,
                part.height,
                reached,
                axis.name,
                grouping.mean_of(values_of_reached(part, "tta_seconds")),
                expected_seconds(part),
                not all(side.runs["reached"].all() for side in (base, point)),
                **interval_keys("speedup", speedup),
                **interval_keys("efficiency", speedup if axis.is_time else None, factor=fair),
                **interval_keys("throughput_speedup", throughput),
                **interval_keys("throughput_efficiency", throughput, factor=fair),
                **interval_keys("statistical_efficiency", epochs),
                keys=dict(zip(by, values, strict=True)),
            ))  # fmt: skip
    return rows


def _compared(
    base: _Point, point: _Point, confidence: float
) -> tuple[Ratio | None, Ratio | None, Ratio | None]:
    """Return the speedup as in `compare`, and those of the time per epoch and of the epochs.

    Failed runs count with their time. The last two are ratios of geometric means, whose product
    is that of the times, of the runs that reached; None unless all of them tell their progress.
    """
    a, b = base.outcomes, point.outcomes
    speedup = ratio_between(a, b, estimand="mean", confidence=confidence) if a and b else None
    unit, _ = common_progress(base.runs, point.runs)
    if unit is None or not axes.axis_of(point.runs).is_time:
        return speedup, None, None
    runs_of_both = base.runs, point.runs
    epochs = [values_of_reached(runs, unit).cast(pl.Float64).to_numpy() for runs in runs_of_both]
    times = [values_of_reached(runs, "tta_seconds").to_numpy() for runs in runs_of_both]
    per_epoch = [seconds / n for seconds, n in zip(times, epochs, strict=True)]
    throughput = ratio_of_geometric_means(*per_epoch, confidence=confidence)
    return speedup, throughput, ratio_of_geometric_means(*epochs, confidence=confidence)


def distinct_keys(rows: Sequence[AnyRow], by: Sequence[str]) -> tuple[str, ...]:
    """Return the benchmark and the distinguishing keys of curves, no more than necessary."""
    varying_keys = [name for name in by if len({row.get(name) for row in rows}) > 1]
    chosen_keys = [name for name in by if name == "benchmark" or name in varying_keys]
    number = len({tuple(row.get(name) for name in varying_keys) for row in rows})
    for name in ("framework", "hardware"):
        other_keys = [other for other in chosen_keys if other != name]
        if len({tuple(row.get(other) for other in other_keys) for row in rows}) == number:
            chosen_keys = other_keys
    return tuple(chosen_keys)


def _scaling_table(
    rows: Sequence[ScalingRow], by: Sequence[str], axis: Axis, confidence: float
) -> Table:
    keys = distinct_keys(rows, by)
    common_keys = [
        name for name in by if name not in keys and len({row.get(name) for row in rows}) == 1
    ]
    quantity = "speedup" if axis.is_time else f"{axis.noun} base/entry"
    title = f"{quantity} [{percent_text(confidence)}]"

    def speedup(row: ScalingRow) -> Cell:
        if row.entry == row.base_entry:
            return Text("base")
        mark = FAILED if row.failed_runs and row.speedup is not None else ""
        return Quantity(row.speedup, "ratio", row.speedup_low, row.speedup_high, mark=mark)

    table_fields: list[Field[ScalingRow]] = [
        *(
            replace(field, column=replace(field.column, models=field.column.title == "hardware"))
            for field in fields.key_fields(keys)
        ),
        Field(Column("entry", rank=5), partial(fields.key_cell, "entry")),
        *fields.number_fields(ScalingRow, "accelerators"),
        *fields.number_fields(ScalingRow, "global_batch_size", rank=4),
        fields.reached_field(rank=2),
        fields.number_field(axis.mean, "tta_mean_seconds", axis.unit, rank=1),
        *fields.expected_time_field(rows, axis, rank=3),
        Field(Column(title, "right"), speedup),
    ]
    if axis.is_time:
        table_fields += [
            *fields.number_fields(ScalingRow, "efficiency"),
            *fields.number_fields(
                ScalingRow, "throughput_efficiency", "statistical_efficiency", rank=2
            ),
        ]
    common = (str(rows[0].get(name)) for name in common_keys if rows[0].get(name) is not None)
    return fields.make_table(rows, table_fields, " ".join(common))


def _scaling_notes(
    by: Sequence[str], curves: Groups, axis: Axis, confidence: float
) -> Iterator[Note]:
    curve_rows = curves.keys.rows(named=True)
    curve_keys = distinct_keys(curve_rows, by)
    names = [_curve_name(keys, curve_keys) for keys in curve_rows]
    if axis.is_time:
        yield note("definitions.scaling")
        slopes = []
        for name, runs in zip(names, curves.frames, strict=True):
            scales = runs.sort("accelerators", maintain_order=True).group_by(
                "accelerators", maintain_order=True
            )
            sides = {
                scale: make_outcomes(
                    scale_runs["observed_seconds"].to_numpy(), scale_runs["reached"].to_numpy()
                )
                for (scale,), scale_runs in scales
                if scale_runs["reached"].any() and not scale_runs["observed_seconds"].null_count()
            }
            slope = loglog_slope(tuple(sides), tuple(sides.values()), confidence)
            limits = units.interval_suffix(slope.low, slope.high)
            has_slope = slope.estimate is not None
            slopes.append(f"{name} {f'{slope.estimate:.2f}{limits}' if has_slope else 'unknown'}")
        yield note("slope", slopes=slopes)
    else:
        yield note("no_throughput.scaling", to_target=axis.to_target)
    mixed_curves = []
    for name, runs in zip(names, curves.frames, strict=True):
        mixed_columns = [column for column in CURVE if len({*runs[column].to_list()} - {None}) > 1]
        texts = {column: f"several of {column}" for column in mixed_columns}
        if runs["hardware"].null_count():
            texts.setdefault("hardware", "hardware unknown")
        if texts:
            mixed_curves.append(
                f"{name}: {', '.join(texts[column] for column in CURVE if column in texts)}"
            )
    if mixed_curves:
        yield note("mixed_curves", curves=mixed_curves)


def _curve_name(keys: Mapping[str, Any], names: Sequence[str]) -> str:
    return " ".join("unknown" if keys[name] is None else str(keys[name]) for name in names)
