"""Where does a training step go, and which operators use the machine least?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Annotated, Any, cast

import polars as pl
from msgspec import structs

from ttastats.answers.profile import profile_measured
from ttastats.base import units
from ttastats.base.codes import Note, note
from ttastats.report import fields
from ttastats.report.answer import Report
from ttastats.report.cells import Column, Table, Text
from ttastats.report.fields import Field
from ttastats.report.row import Key, Number, Row
from ttastats.traces import answers, categories

#: What each part of a step is called.
TITLES = {
    "compute_bound": "compute-bound kernels",
    "memory_bound": "memory-bound kernels",
    "communication": "communication, exposed",
    "copies": "copies, exposed",
    "input": "waiting for input",
    "host": "waiting for the host",
    "idle": "idle",
}
TOP = 10

_Calls = Annotated[float, Key("calls of a step", "calls", "calls")]
_Seconds = Annotated[Number, Key("time of a step", "seconds", "time")]
_Flops = Annotated[Number, Key("FLOPs of a step", "FLOPs")]
_OnTensorCores = Annotated[
    Number, Key("share of the time on tensor cores", "fraction", "on tensor cores")
]
_Share = Annotated[Number, Key("share of the time of all", "fraction", "share")]
_Achieved = Annotated[Number, Key("FLOPs per second", "flop/second", "achieved")]


class PartRow(Row, frozen=True, kw_only=True):
    """A part of a step."""

    section: Annotated[str, Key("`step`")] = "step"
    name: Annotated[str, Key("the part")]
    n: Annotated[int, Key("steps", "steps", "steps")]
    seconds: Annotated[
        Number,
        Key("mean time of the part over steps", "seconds", "time of a step", std="seconds_std"),
    ]
    seconds_std: Annotated[Number, Key("standard deviation over steps", "seconds")]
    share: Annotated[Number, Key("share of the step", "fraction", "share")]


class WorkRow(Row, frozen=True, kw_only=True):
    """A kind of work."""

    section: Annotated[str, Key("`category`")] = "category"
    name: Annotated[str, Key("the kind of work")]
    calls: _Calls
    seconds: _Seconds
    flops: _Flops
    tensor_core_share: _OnTensorCores
    share: _Share
    flops_per_second: _Achieved


class OperatorRow(Row, frozen=True, kw_only=True):
    """An operator beside the average of all, which counts FLOPs per second of the whole step."""

    section: Annotated[str, Key("`operator`")] = "operator"
    name: Annotated[str, Key("the operator")]
    category: Annotated[str, Key("its kind of work")]
    calls: _Calls
    seconds: _Seconds
    flops: _Flops
    tensor_core_share: _OnTensorCores
    bytes: Annotated[Number, Key("bytes of a step", "bytes")]
    share: _Share
    flops_per_second: _Achieved
    intensity: Annotated[Number, Key("FLOPs per byte", "number")]
    utilization: Annotated[Number, Key("share of the peak", "fraction", "of peak")]
    of_average: Annotated[Number, Key("share of the average", "fraction", "of average")]
    average_flops_per_second: Annotated[Number, Key("the average", "flop/second")]
    average_utilization: Annotated[Number, Key("the average over the peak", "fraction")]


class RankRow(Row, frozen=True, kw_only=True):
    """A process of several that share a step."""

    section: Annotated[str, Key("`rank`")] = "rank"
    name: Annotated[int | None, Key("the rank")]
    n: Annotated[int, Key("steps", "steps")]
    step_seconds: Annotated[Number, Key("time of a step", "seconds", "step", std="step_std")]
    step_std: Annotated[Number, Key("its standard deviation", "seconds")]
    work_seconds: Annotated[Number, Key("without exposed communication", "seconds", "self time")]
    compute_seconds: Annotated[Number, Key("computing", "seconds", "computing")]
    communication_seconds: Annotated[Number, Key("communicating", "seconds", "communication")]
    exposed_seconds: Annotated[
        Number, Key("communicating while nothing computes", "seconds", "exposed")
    ]
    waiting: Annotated[Number, Key("neither computing nor communicating", "seconds", "no work")]
    skew: Annotated[
        Number, Key("self time over the mean of all ranks, less 1", "fraction", "vs mean")
    ]
    slowest: Annotated[bool | None, Key("whether no rank has more self time")]


class MemoryRow(Row, frozen=True, kw_only=True):
    """Memory by what holds it."""

    section: Annotated[str, Key("`memory`")] = "memory"
    name: Annotated[str, Key("what holds it: weights, gradients, optimizer ...")]
    bytes: Annotated[Number, Key("the most that was held", "bytes", "at peak")]


def report(rows: pl.DataFrame, *, top: int = TOP) -> Report:
    """Return the report of profiles; `top` operators of each, 0 for all."""
    records: list[Row] = []
    tables: list[Table] = []
    notes: list[Note] = []
    sentences: list[str] = []
    several_profiles = rows["profile_id"].n_unique() > 1
    for name, profile in answers.profiles(rows):
        title = f"{name}: " if several_profiles else ""
        parts, measured = [*of_step(profile)], [*profile_measured.rows(profile)]
        work = answers.category_table(profile).rename({"category": "name"})
        kinds = [WorkRow(**row) for row in work.iter_rows(named=True)]
        operators, ranks = [*_operator_rows(profile)], answers.rank_table(profile)
        rank_rows = ranks.rename({"rank": "name"}).rows(named=True) if ranks.height > 1 else []
        sharing = [RankRow(**row) for row in rank_rows]
        held = answers.measure_rows(profile, "memory_bytes").group_by("of", maintain_order=True)
        peaks = held.agg(pl.col("value").max()).rows()
        memory = [MemoryRow(name=of, bytes=value) for of, value in peaks]
        all_rows = [*parts, *kinds, *operators, *sharing, *memory, *measured]
        records += [structs.replace(row, keys={"profile": name}) for row in all_rows]
        unit = "kernels" if answers.runs_on_device(profile) else "operators"
        slow_operators = [row for row in operators if row.of_average and row.of_average < 1.0][:5]
        longest, below_average = operators[:top] if top else operators, ""
        if slow_operators and (average := slow_operators[0].average_flops_per_second) is not None:
            peak = slow_operators[0].average_utilization  # (TBD, Tables V and VI)
            of_peak = "" if peak is None else f", {units.percent(peak)} of the peak"
            rate = units.with_prefix(average, "FLOP/s")
            below_average = f"longest operators below the average of {rate}{of_peak}"
        sections: list[tuple[Sequence[Row], Sequence[Field[Any]], str]] = [
            (parts, _PARTS, "time of a step"),
            (kinds, _rate_fields("kind of work", kinds), f"{unit} by kind of work"),
            (longest, _operator_fields(longest), "longest operators"),
            (slow_operators, _operator_fields(slow_operators), below_average),
            (sharing, _RANKS, "ranks"),
            (memory, [_name_field("memory"), *fields.number_fields(MemoryRow, "bytes")], "memory"),
        ]
        for section_rows, section_fields, heading in sections:
            if section_rows and heading:
                tables.append(fields.make_table(section_rows, section_fields, f"{title}{heading}"))
        tables += profile_measured.tables(measured, title)
        remarks = [*_profile_notes(profile), *profile_measured.notes(profile)]
        notes += [remark for remark in remarks if remark not in notes]
        if parts:
            sentences.append(_profile_sentence(title, ranks, parts))
    return Report("profile", tuple(records), tuple(tables), tuple(notes), " ".join(sentences))


def of_step(profile: pl.DataFrame) -> Iterator[PartRow]:
    """Yield the parts of a step with their seconds, spread over steps, and share."""
    steps = answers.step_table(profile)
    mean_step = answers.mean_of_known(steps["step_seconds"])
    if steps.is_empty() or not mean_step:
        return
    parts = {name: steps[measure] for name, measure in answers.PARTS.items()}
    compute, bound = parts.pop("compute"), answers.compute_bound_share(profile)
    if bound is None:
        computing = {"compute_bound": compute}
    else:
        computing = {"compute_bound": compute * bound, "memory_bound": compute * (1 - bound)}
    for name, values in {**computing, **parts, "step": steps["step_seconds"]}.items():
        mean = answers.mean_of_known(values)
        yield PartRow(
            name=name,
            n=values.count(),
            seconds=mean,
            seconds_std=cast("float | None", values.std()),
            share=None if mean is None else mean / mean_step,
        )


def _operator_rows(profile: pl.DataFrame) -> Iterator[OperatorRow]:
    """Yield the operators with their utilization relative to the average, the longest first."""
    operators = answers.operator_table(profile)
    seconds, flops = float(operators["seconds"].sum()), float(operators["flops"].sum())
    average = flops / seconds if seconds and flops else None
    fastest = answers.peak(profile, "peak_flops")
    for row in operators.rename({"operator": "name"}).iter_rows(named=True):
        rate = row["flops_per_second"]  # None of an operator without FLOPs, which is not slow
        yield OperatorRow(
            **row,
            utilization=rate / fastest if rate and fastest else None,
            of_average=rate / average if rate and average else None,
            average_flops_per_second=average,
            average_utilization=average / fastest if average and fastest else None,
        )


def _name_field(title: str) -> Field[PartRow | WorkRow | OperatorRow | MemoryRow]:
    return Field(Column(title, names=True), lambda row: Text(TITLES.get(row.name, str(row.name))))


_PARTS = (
    _name_field("part"),
    *fields.number_fields(PartRow, "seconds", "share"),
    *fields.number_fields(PartRow, "n", rank=1),
)
_RANKS: tuple[Field[RankRow], ...] = (
    Field(
        Column("rank"),
        lambda row: Text(
            f"{'unknown' if row.name is None else row.name}{' (slowest)' if row.slowest else ''}"
        ),
    ),
    *fields.number_fields(RankRow, "step_seconds", "work_seconds", "skew", "compute_seconds"),
    *fields.number_fields(RankRow, "communication_seconds", "exposed_seconds", "waiting"),
)


def _rate_fields(
    title: str, rows: Sequence[WorkRow | OperatorRow]
) -> list[Field[WorkRow | OperatorRow]]:
    rates = ("flops_per_second", "tensor_core_share")
    known_rates = [name for name in rates if any(row.get(name) for row in rows)]
    return [
        _name_field(title),
        *fields.number_fields(WorkRow, "calls", "seconds", "share", *known_rates),
    ]


def _operator_fields(rows: Sequence[OperatorRow]) -> list[Field[OperatorRow]]:
    name, *rates = _rate_fields("operator", rows)
    kind: Field[OperatorRow] = Field(Column("kind of work", rank=1), lambda row: Text(row.category))
    shown_keys = fields.known_keys(rows, ("utilization", "of_average"))
    return [name, kind, *rates, *fields.number_fields(OperatorRow, *shown_keys)]


def _profile_notes(profile: pl.DataFrame) -> Iterator[Note]:
    devices = answers.measure_rows(profile, "device_name")["text"].unique().sort().to_list()
    if devices:
        yield note("device", names=[str(device) for device in devices])
    for rule in answers.measure_rows(profile, "steps")["text"].head(1):
        yield note("steps", rule=rule)
    excluded = answers.measure_rows(profile, "warmup_steps").filter(pl.col("value") > 0)
    for number, rule in excluded.select("value", "text").head(1).iter_rows():
        yield note("warmup", n=int(number), rule=rule)
    if not answers.operator_table(profile)["flops"].sum():
        yield note("no_flops")
    yield note("bound", kernels=", ".join(categories.COMPUTE_BOUND))
    if profile["tensor_core"].any():
        yield note("tensor_core")


def _profile_sentence(title: str, ranks: pl.DataFrame, parts: Sequence[PartRow]) -> str:
    *parts_of_step, total = parts
    shares = [(row.share, TITLES[row.name]) for row in parts_of_step if row.share]
    shares.sort(key=itemgetter(0), reverse=True)
    largest = ", ".join(f"{units.percent(share)} {name}" for share, name in shares[:3])
    slowest = ""
    if ranks.height > 1:
        first = ranks.filter("slowest")["rank"][0]
        slowest = f" Rank {first} is the slowest of {ranks.height}."
    parted = f": {largest}" if largest else ""
    return f"{title}A step takes {units.seconds(total.seconds or 0.0)}{parted}.{slowest}"
