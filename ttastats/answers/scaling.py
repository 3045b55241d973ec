"""What do more accelerators buy, and where is the rest lost? (Figures 3 and 4, Table 7)"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import polars as pl

from ttastats.answers.compare.cells import FAILED
from ttastats.base import units
from ttastats.base.errors import refuse_if
from ttastats.base.note import Note, note
from ttastats.outcomes import axis as axes
from ttastats.outcomes.axis import Axis
from ttastats.outcomes.counted import counted
from ttastats.outcomes.time_to_target import common_progress
from ttastats.report import fields, grouping
from ttastats.report import keys as key
from ttastats.report.answer import Report
from ttastats.report.cells import Cell, Column, Quantity, Table, Text
from ttastats.report.fields import Field
from ttastats.report.row import AnyRow, Key, Row
from ttastats.sides.numbers import expected_seconds, outcomes_of
from ttastats.stats.outcomes import Outcomes, outcomes
from ttastats.stats.results import Ratio
from ttastats.stats.scaling import ScalePoint, Scaling, loglog_slope, scaling
from ttastats.stats.speedup import ratio_between

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
    speedup: Annotated[float | None, Key("mean of the base over that of the entry", "ratio")]
    speedup_low: key.Low
    speedup_high: key.High
    efficiency: Annotated[
        float | None, Key("speedup over the ratio of the accelerators", "fraction")
    ]
    efficiency_low: key.Low
    efficiency_high: key.High
    throughput_speedup: Annotated[float | None, Key("speedup of the time per epoch", "ratio")]
    throughput_speedup_low: key.Low
    throughput_speedup_high: key.High
    throughput_efficiency: Annotated[
        float | None, Key("that over the ratio of the accelerators", "fraction", "= throughput")
    ]
    throughput_efficiency_low: key.Low
    throughput_efficiency_high: key.High
    statistical_efficiency: Annotated[
        float | None, Key("epochs of the base over those of the entry", "fraction", "× statistical")
    ]
    statistical_efficiency_low: key.Low
    statistical_efficiency_high: key.High
    left_out: key.LeftOutKeys = key.LeftOutKeys()


def report(runs: pl.DataFrame, by: Sequence[str] = CURVE) -> Report:
    """Return speedup and efficiency of every entry against the smallest of its curve."""
    by = grouping.row_keys(by) if by else CURVE  # a curve never mixes benchmarks or rounds
    known = runs.filter(pl.col("accelerators").is_not_null(), pl.col("accelerators") > 0)
    rows: list[ScalingRow] = []
    curves: list[_Curve] = []
    for keys, group in grouping.groups(known, by):
        points = _curve(keys, group)
        rows += points
        if points:
            curves.append((keys, group))
    one_scale = f"runs with the same {', '.join(by)} have only one number of accelerators"
    remedy = "Give logs at several scales, or group by fewer columns: --by submitter."
    refuse_if(not rows, one_scale, None, remedy)
    axis = axes.of(runs)
    failed = any(row.failed_runs for row in rows)
    unknown = counted(runs, by).height - counted(known, by).height
    notes = [*_notes(by, curves, axis)]
    if failed:
        notes.append(note("expected", FAILED, expected=axis.expected))
    notes += grouping.left_out_notes(runs, by)
    notes += grouping.failed_notes(pl.concat([group for _, group in curves]))
    if unknown:
        notes.append(note("unknown_scale", n=unknown))
    table, sentence = _table(rows, by, axis), _sentence(rows, by, axis)
    report = Report("scaling", tuple(rows), (table,), tuple(notes), sentence, by=by)
    return grouping.with_left_out(report, runs, (*by, "entry", "accelerators"))


#: Curves of which each has a sentence; of more, how far their efficiencies go.
_SEVERAL = 3


def _sentence(rows: Sequence[ScalingRow], by: Sequence[str], axis: Axis) -> str:
    """Return what the most accelerators of each curve come to against the fewest."""
    if not axis.is_time:
        return ""
    largest: dict[tuple[Any, ...], ScalingRow] = {}
    for row in rows:
        if row.speedup is not None and row.accelerators > row.base_accelerators:
            largest[tuple(map(row.get, by))] = row  # the rows of a curve stand by their size
    if len(largest) > _SEVERAL:
        shares = sorted(row.efficiency or 0.0 for row in largest.values())
        least, median, most = (
            units.percent(shares[n]) for n in (0, len(shares) // 2, len(shares) - 1)
        )
        return (
            f"{len(largest)} curves: the most accelerators of each have an efficiency of "
            f"{least} to {most} (median {median})."
        )
    names = distinct_keys(rows, by)
    return " ".join(
        f"{_name(row.keys, names)}: {row.accelerators:,} accelerators are "
        f"{units.times(row.speedup or 0.0, row.speedup_low, row.speedup_high)} as fast as "
        f"{row.base_accelerators:,}, an efficiency of {units.percent(row.efficiency or 0.0)}."
        for row in largest.values()
    )


#: What the runs of one curve agree in, and these.
_Curve = tuple[Mapping[str, Any], pl.DataFrame]


@dataclass(frozen=True, slots=True, eq=False)
class _Point:
    """The runs of an entry, and what came of them, None where one has no time."""

    entry: str
    accelerators: int
    runs: pl.DataFrame
    solved: pl.DataFrame
    outcomes: Outcomes | None


def _curve(keys: Mapping[str, Any], curve: pl.DataFrame) -> list[ScalingRow]:
    """Return the rows of one curve, smallest scale first; none if there is one scale only."""
    if curve.filter("reached")["accelerators"].n_unique() < 2:
        return []
    ordered = curve.sort("accelerators", "entry")
    points = [
        _Point(
            str(entry),
            int(accelerators),
            runs,
            runs.filter("reached"),
            None if runs["observed_seconds"].null_count() else outcomes_of(runs),
        )
        for (entry, accelerators), runs in ordered.group_by(
            "entry", "accelerators", maintain_order=True
        )
    ]
    base = next(point for point in points if point.solved.height)
    return [_row_of(keys, base, point) for point in points]


def _row_of(keys: Mapping[str, Any], base: _Point, point: _Point) -> ScalingRow:
    runs, solved, axis = point.runs, point.solved, axes.of(point.runs)
    fair = base.accelerators / point.accelerators
    batches = runs.get_column("global_batch_size").drop_nulls().unique().to_list()
    speedup, parts = _compared(base, point) if solved.height else (None, None)
    return ScalingRow(
        point.entry,
        point.accelerators,
        base.entry,
        base.accelerators,
        batches[0] if len(batches) == 1 else None,
        runs.height,
        solved.height,
        axis.name,
        grouping.mean_of(solved.get_column("tta_seconds")),
        expected_seconds(runs),
        base.solved.height < base.runs.height or solved.height < runs.height,
        *_limits(speedup),
        *_limits(speedup, fair if axis.is_time else None),
        *_limits(parts.throughput_speedup if parts else None),
        *_limits(parts.throughput_efficiency if parts else None),
        *_limits(parts.statistical_efficiency if parts else None),
        keys=dict(keys),
    )


def _compared(base: _Point, point: _Point) -> tuple[Ratio | None, Scaling | None]:
    """Return the speedup that `compare` gives, and its parts where both tell their progress.

    Failed runs count with their time. The parts are those of the runs that reached the target.
    """
    a, b = base.outcomes, point.outcomes
    speedup = ratio_between(a, b) if a and b else None
    unit, _ = common_progress(base.runs, point.runs)
    if unit is None or not axes.of(point.runs).is_time:
        return speedup, None
    small, large = (
        ScalePoint(
            each.accelerators,
            each.solved["tta_seconds"].to_numpy(),
            each.solved[unit].cast(pl.Float64).to_numpy(),
        )
        for each in (base, point)
    )
    return speedup, scaling(small, large)


#: A ratio and the limits of its interval.
_Limits = tuple[float | None, float | None, float | None]


def _limits(ratio: Ratio | None, factor: float | None = 1.0) -> _Limits:
    if ratio is None or factor is None:
        return None, None, None
    value, low, high = (
        None if end is None else end * factor for end in (ratio.estimate, ratio.low, ratio.high)
    )
    return value, low, high


def _slope(curve: pl.DataFrame) -> str:
    known = curve.filter(
        pl.col("reached").any().over("accelerators"),
        pl.col("observed_seconds").is_not_null().all().over("accelerators"),
    ).sort("accelerators")
    scales, sides = [], []
    for (accelerators,), group in known.group_by("accelerators", maintain_order=True):
        scales.append(int(str(accelerators)))
        sides.append(outcomes(group["observed_seconds"].to_numpy(), group["reached"].to_numpy()))
    slope = loglog_slope(scales, sides)
    if slope.estimate is None:
        return "unknown"
    return f"{slope.estimate:.2f}{units.within(slope.low, slope.high)}"


def distinct_keys(rows: Sequence[AnyRow], by: Sequence[str]) -> tuple[str, ...]:
    """Return the benchmark and the keys in which curves differ; no more than tell them apart."""
    differ = [name for name in by if len({row.get(name) for row in rows}) > 1]
    shown = [name for name in by if name == "benchmark" or name in differ]
    number = len({tuple(row.get(name) for name in differ) for row in rows})
    for name in ("framework", "hardware"):
        others = [other for other in shown if other != name]
        if len({tuple(row.get(other) for other in others) for row in rows}) == number:
            shown = others
    return tuple(shown)


def _table(rows: Sequence[ScalingRow], by: Sequence[str], axis: Axis) -> Table:
    keys = distinct_keys(rows, by)
    same = [name for name in by if name not in keys and len({row.get(name) for row in rows}) == 1]
    title = "speedup [95%]" if axis.is_time else f"{axis.noun} base/entry [95%]"

    def speedup(row: ScalingRow) -> Cell:
        if row.entry == row.base_entry:
            return Text("base")
        mark = FAILED if row.failed_runs and row.speedup is not None else ""
        return Quantity(row.speedup, "ratio", row.speedup_low, row.speedup_high, mark=mark)

    shown: list[Field[ScalingRow]] = [
        *fields.keys(keys),
        Field(Column("entry", rank=1), partial(fields.key, "entry")),
        *fields.of(ScalingRow, "accelerators"),
        *fields.of(ScalingRow, "global_batch_size", rank=3),
        fields.reached(rank=2),
        fields.number(axis.mean, "tta_mean_seconds", axis.unit),
        *fields.expected(rows, axis),
        Field(Column(title, "right"), speedup),
    ]
    if axis.is_time:
        shown += [
            *fields.of(ScalingRow, "efficiency"),
            *fields.of(ScalingRow, "throughput_efficiency", "statistical_efficiency", rank=1),
        ]
    common = (str(rows[0].get(name)) for name in same if rows[0].get(name) is not None)
    return fields.table(rows, shown, " ".join(common))


def _notes(by: Sequence[str], curves: Sequence[_Curve], axis: Axis) -> Iterator[Note]:
    names = distinct_keys([keys for keys, _ in curves], by)
    if axis.is_time:
        yield note("definitions.scaling")
        slopes = [f"{_name(keys, names)} {_slope(runs)}" for keys, runs in curves]
        yield note("slope", slopes=slopes)
    else:
        yield note("no_throughput.scaling", to_target=axis.to_target)
    mixed = []
    for keys, runs in curves:
        several = [name for name in CURVE if runs[name].drop_nulls().n_unique() > 1]
        how = {name: f"several of {name}" for name in several}
        if runs["hardware"].null_count():
            how.setdefault("hardware", "hardware unknown")
        if how:
            listed = ", ".join(how[name] for name in CURVE if name in how)
            mixed.append(f"{_name(keys, names)}: {listed}")
    if mixed:
        yield note("mixed_curves", curves=mixed)


def _name(keys: Mapping[str, Any], names: Sequence[str]) -> str:
    return " ".join("unknown" if keys[name] is None else str(keys[name]) for name in names)
