"""What was measured beside the operators: the step itself, batch sizes, fewer layers, workers?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Annotated, Any

import polars as pl

from ttastats.base.codes import Note, note
from ttastats.report import fields
from ttastats.report.cells import Column, Quantity, Table, Text, Unit
from ttastats.report.fields import Field
from ttastats.report.row import Key, Number, Row
from ttastats.traces import answers

#: A step that takes so many times its CPU time waited for a core.
_CONTENDED = 1.1
#: Operators that sum to so many steps were not disturbed as the steps were.
_DISTURBED = 1.2

_Achieved = Annotated[Number, Key("FLOPs per second", "flop/second", "achieved")]
_Utilization = Annotated[Number, Key("share of the peak", "fraction", "of peak")]
_Step = Annotated[float, Key("time of a step", "seconds", "step")]


class MeasuredRow(Row, frozen=True, kw_only=True):
    """A number of the step as a whole."""

    section: Annotated[str, Key("`measured`")] = "measured"
    name: Annotated[str, Key("what is measured")]
    title: Annotated[str, Key("the same in words")]
    value: Annotated[float, Key("the number", "unit")]
    unit: Annotated[Unit, Key("its unit")]


class BatchRow(Row, frozen=True, kw_only=True):
    """Steps of one batch size."""

    section: Annotated[str, Key("`batch_size`")] = "batch_size"
    name: Annotated[str, Key("the batch size")]
    samples_per_second: Annotated[float, Key("samples per second", "samples/second")]
    gain: Annotated[Number, Key("gain over half of it", "fraction", "gain per doubling")]
    flops_per_second: _Achieved
    utilization: _Utilization
    cpu_utilization: Annotated[Number, Key("utilization of the cores", "fraction", "cores busy")]


class AblationRow(Row, frozen=True, kw_only=True):
    """Steps without some layers."""

    section: Annotated[str, Key("`ablation`")] = "ablation"
    name: Annotated[str, Key("the layers that are there")]
    seconds: _Step
    speedup: Annotated[float, Key("over a step with all layers", "ratio")]
    flops_per_second: _Achieved
    utilization: _Utilization


class WorkersRow(Row, frozen=True, kw_only=True):
    """Steps that some workers share."""

    section: Annotated[str, Key("`workers`")] = "workers"
    name: Annotated[str, Key("the number of workers")]
    seconds: _Step
    under_way_share: Annotated[
        Number, Key("share of the step with data in flight", "fraction", "in flight")
    ]
    exposed_share: Annotated[
        Number, Key("share beyond a step without communication", "fraction", "exposed")
    ]
    pure_share: Annotated[Number, Key("the same bytes without computation", "fraction", "pure")]
    bytes: Annotated[Number, Key("bytes that a step sends", "bytes", "gradients")]


def tables(rows: Sequence[Row], title: str) -> Iterator[Table]:
    """Yield the tables of such rows."""
    for kind, (heading, section_fields) in _SHOWN.items():
        if section_rows := [row for row in rows if isinstance(row, kind)]:
            yield fields.make_table(section_rows, section_fields, f"{title}{heading}")


def notes(profile: pl.DataFrame) -> Iterator[Note]:
    """Yield notes on the measured numbers."""
    clock = _measure_text(profile, "uninstrumented_step_seconds")
    step, wall = (
        _measure_value(profile, f"{name}_step_seconds") for name in ("uninstrumented", "wall")
    )
    if clock:
        yield note("clock", clock=clock)
    if step and wall and wall > _CONTENDED * step:
        yield note("contended.profile", times=wall / step)
    elif clock and step == wall and not answers.runs_on_device(profile):
        yield note("contended.unknown")
    values_by_name = {row.name: row.value for row in _step_rows(profile)}
    if (share := values_by_name.get("operators_share", 0.0)) > _DISTURBED:
        yield note("disturbed", times=share)
    intensity, ridge = values_by_name.get("intensity"), values_by_name.get("ridge")
    if intensity and ridge:  # on which side of the roofline's ridge the step lies as a whole
        side, binds = ("below", "memory") if intensity < ridge else ("above", "compute")
        yield note("roofline", intensity=intensity, side=side, ridge=ridge, binds=binds)
    if size := _measure_text(profile, "batch_size"):
        yield note("batch_size", size=size)
    for value, rule in (
        answers.measure_rows(profile, "saturation_batch_size").select("value", "text").rows()
    ):
        size = "no batch size" if value is None else f"{value:,.0f} samples"
        yield note("saturation", size=size, rule=rule)
    for code, measure in (("ablation", "ablated_step"), ("workers", "workers_step")):
        if not answers.measure_rows(profile, f"{measure}_seconds").is_empty():
            yield note(code)


def _step_rows(profile: pl.DataFrame) -> Iterator[MeasuredRow]:
    measure = partial(_measure_value, profile)
    step = measure("uninstrumented_step_seconds")
    if step is None:
        return
    number = answers.step_count(profile)
    working = answers.compute_rows(profile)
    busy, moved = (float(working[name].sum()) / number for name in ("seconds", "bytes"))
    flops = measure("step_flops")
    fastest = answers.peak(profile, "peak_flops")
    rate = flops / step if flops else None
    utilization = rate / fastest if rate and fastest else None
    intensity = flops / moved if flops and moved else None
    # FLOPs a byte from which the fastest product, not the memory, is what binds.
    copied = answers.peak(profile, "peak_bandwidth")
    ridge = fastest / copied if fastest and copied else None
    machine = (("cpu", "the cores"), ("gpu", "the GPU"), ("tensor_core", "its tensor cores"))
    known_values: list[tuple[str, str, float | None, Unit]] = [
        ("step_seconds", "unprofiled step", step, "seconds"),
        ("wall_step_seconds", "the same, wall-clock", measure("wall_step_seconds"), "seconds"),
        ("operators_share", "operators sum to", busy / step, "fraction"),
        ("samples", "samples per step", measure("batch_size"), "count"),
        ("samples_per_second", "samples per second", measure("samples_per_second"), "number"),
        ("flops_per_second", "achieved", rate, "flop/second"),
        ("peak_flops", "peak matrix multiplication", fastest, "flop/second"),
        ("utilization", "share of peak", utilization, "fraction"),
        ("intensity", "FLOPs per byte, at least", intensity, "number"),
        ("ridge", "ridge point", ridge, "number"),
        *((f"{part}_utilization", f"utilization of {title}", measure(f"{part}_utilization"),
           "fraction") for part, title in machine),
        ("power_watts", "watts", measure("power"), "number"),
    ]  # fmt: skip
    for name, title, value, unit in known_values:
        if value is not None:
            yield MeasuredRow(name=name, title=title, value=value, unit=unit)


def rows(profile: pl.DataFrame) -> Iterator[Row]:
    """Yield the rows of measurements in one profile: of whole steps, and of their variants."""

    def values(name: str) -> dict[str, float]:
        """Return the values of a measure by their `of`."""
        of_measure = answers.measure_rows(profile, name).select("of", "value")
        return dict(of_measure.drop_nulls().iter_rows())

    yield from _step_rows(profile)
    fastest = answers.peak(profile, "peak_flops")
    throughput, flops = values("batch_samples_per_second"), values("batch_step_flops")
    busy = values("batch_cpu_utilization")
    gains = answers.doubling_gains({int(size): rate for size, rate in throughput.items()})
    for size in sorted(throughput, key=int):
        achieved = flops.get(size, 0.0) * throughput[size] / int(size) or None
        yield BatchRow(
            name=size,
            samples_per_second=throughput[size],
            gain=gains.get(int(size)),
            flops_per_second=achieved,
            utilization=achieved / fastest if achieved and fastest else None,
            cpu_utilization=busy.get(size),
        )
    steps, flops = values("ablated_step_seconds"), values("ablated_step_flops")
    total = steps.get("all layers", max(steps.values(), default=0.0))
    for variant in sorted(steps, key=len):  # the whole network first
        rate = flops[variant] / steps[variant]
        yield AblationRow(
            name=variant,
            seconds=steps[variant],
            speedup=total / steps[variant],
            flops_per_second=rate,
            utilization=rate / fastest if fastest else None,
        )
    parts = {name: values(f"workers_{name}_seconds") for name in ("under_way", "exposed", "pure")}
    sent = values("workers_sent_bytes")
    for workers, seconds in values("workers_step_seconds").items():
        shares: dict[str, Any] = {
            f"{name}_share": part[workers] / seconds if workers in part else None
            for name, part in parts.items()
        }
        yield WorkersRow(name=workers, seconds=seconds, bytes=sent.get(workers), **shares)


_SHOWN: Mapping[type[Row], tuple[str, Sequence[Field[Any]]]] = {
    BatchRow: (
        "throughput over batch sizes",
        (
            fields.text_field("batch size", lambda row: f"{int(row.name):,}"),
            fields.text_field("samples per second", lambda row: f"{row.samples_per_second:,.0f}"),
            *fields.number_fields(BatchRow, "gain", "flops_per_second", "utilization"),
            *fields.number_fields(BatchRow, "cpu_utilization", rank=1),
        ),
    ),
    AblationRow: (
        "without memory-bound layers",
        (
            Field(Column("layers"), lambda row: Text(row.name)),
            *fields.number_fields(
                AblationRow, "seconds", "speedup", "flops_per_second", "utilization"
            ),
        ),
    ),
    WorkersRow: (
        "communication per step, wall-clock",
        (
            Field(Column("workers"), lambda row: Text(row.name)),
            *fields.number_fields(WorkersRow, "seconds", "under_way_share", "exposed_share"),
            *fields.number_fields(WorkersRow, "pure_share", "bytes"),
        ),
    ),
    MeasuredRow: (
        "whole step",
        (
            Field(Column("measured", names=True), lambda row: Text(row.title)),
            Field(Column("", "right"), lambda row: Quantity(row.value, row.unit)),
        ),
    ),
}


def _measure_value(profile: pl.DataFrame, name: str) -> float | None:
    return answers.mean_of_known(answers.measure_rows(profile, name)["value"])


def _measure_text(profile: pl.DataFrame, name: str) -> str:
    return str(answers.measure_rows(profile, name)["text"].drop_nulls().first() or "")
