"""Where does a training step go, and which operators use the machine least?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from ttastats.answers.profile import profile_measured
from ttastats.base import units
from ttastats.base.note import Note, note
from ttastats.report import fields
from ttastats.report.answer import Report
from ttastats.report.cells import Column, Table, Text
from ttastats.traces import answers, categories

_Row = dict[str, Any]

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
#: Operators below the average that are shown.
_BELOW = 5


def report(rows: pl.DataFrame, *, top: int = TOP) -> Report:
    """Give the report of a table of profiles; `top` operators of each, 0 for all."""
    found: list[_Row] = []
    tables: list[Table] = []
    notes: list[Note] = []
    sentences: list[str] = []
    several = rows["profile_id"].n_unique() > 1
    for name, own in answers.profiles(rows):
        head = {"profile": name}
        parts = [head | row for row in of_step(own)]
        kinds = [head | row for row in _of(answers.by_category(own), "category")]
        operators = [head | row for row in _operators(own)]
        ranks = [head | row for row in _ranks(own)]
        memory = [head | row for row in _memory(own)]
        measured = [head | row for row in profile_measured.rows(own)]
        shown = operators[:top] if top else operators
        below = [row for row in operators if 0.0 < float(row["of_average"] or 0.0) < 1.0][:_BELOW]
        title = f"{name}: " if several else ""
        tables += _tables(title, own, parts, kinds, shown, below, ranks, memory)
        tables += profile_measured.tables(measured, title)
        found += [*parts, *kinds, *operators, *ranks, *memory, *measured]
        said = [*_notes(own), *profile_measured.notes(own)]
        notes += [note for note in said if note not in notes]
        sentences.append(_sentence(title, own, parts))
    return Report(
        "profile", tuple(found), tuple(tables), tuple(notes), " ".join(filter(None, sentences))
    )


# ------------------------------------------------------------------------------------------- rows


def of_step(own: pl.DataFrame) -> Iterator[_Row]:
    """Give the parts of a step with their seconds, spread over steps, and share."""
    steps = answers.steps(own)
    whole = answers.mean(steps["step_seconds"])
    if steps.is_empty() or not whole:
        return
    bound = answers.compute_bound(own)
    for name, measure in answers.PARTS.items():
        values = steps[measure]
        if name == "compute" and bound is not None:
            yield _part("compute_bound", values * bound, whole)
            yield _part("memory_bound", values * (1 - bound), whole)
        elif name == "compute":
            yield _part("compute_bound", values, whole)
        else:
            yield _part(name, values, whole)
    yield _part("step", steps["step_seconds"], whole)


def _part(name: str, values: pl.Series, whole: float) -> _Row:
    mean = answers.mean(values)
    return {
        "section": "step",
        "name": name,
        "n": values.count(),
        "seconds": mean,
        "seconds_std": values.std() if values.count() > 1 else None,
        "share": None if mean is None else mean / whole,
    }


def _of(frame: pl.DataFrame, section: str) -> Iterator[_Row]:
    for row in frame.rename({section: "name"}).iter_rows(named=True):
        yield {"section": section, **row}


def _operators(own: pl.DataFrame) -> Iterator[_Row]:
    """Give the operators beside their average utilization, the longest first."""
    found = answers.operators(own)
    seconds, flops = float(found["seconds"].sum()), float(found["flops"].sum())
    average = flops / seconds if seconds and flops else None
    fastest = answers.peak(own, "peak_flops")
    for row in _of(found, "operator"):
        rate = row["flops_per_second"]  # None of an operator without FLOPs, which is not slow
        row["utilization"] = rate / fastest if rate and fastest else None
        row["of_average"] = rate / average if rate and average else None
        row["average_flops_per_second"] = average
        row["average_utilization"] = average / fastest if average and fastest else None
        yield row


def _ranks(own: pl.DataFrame) -> Iterator[_Row]:
    found = answers.ranks(own)
    if found.height > 1:
        yield from _of(found, "rank")


def _memory(own: pl.DataFrame) -> Iterator[_Row]:
    found = (
        answers.measures(own, "memory_bytes")
        .group_by("of", maintain_order=True)
        .agg(pl.col("value").max())
    )
    for row in found.iter_rows(named=True):
        yield {"section": "memory", "name": row["of"], "bytes": row["value"]}


# ----------------------------------------------------------------------------------------- tables


def _tables(
    title: str,
    own: pl.DataFrame,
    parts: Sequence[_Row],
    kinds: Sequence[_Row],
    operators: Sequence[_Row],
    below: Sequence[_Row],
    ranks: Sequence[_Row],
    memory: Sequence[_Row],
) -> Iterator[Table]:
    unit = "kernels" if answers.runs_on_device(own) else "operators"
    if parts:
        yield fields.table(parts, _PARTS, f"{title}time of a step")
    if kinds:
        yield fields.table(kinds, _rates("kind of work", kinds), f"{title}{unit} by kind of work")
    if operators:
        yield fields.table(operators, _of_operators(operators), f"{title}longest operators")
    if below and (average := _average(below)):
        yield fields.table(below, _of_operators(below), f"{title}{average}")
    if ranks:
        yield fields.table(ranks, _RANKS, f"{title}ranks")
    if memory:
        shown = [_name("memory"), fields.number("at peak", "bytes", "bytes")]
        yield fields.table(memory, shown, f"{title}memory")


def _average(operators: Sequence[_Row]) -> str:
    """Name the operators below the average, if it is known (TBD, Tables V and VI)."""
    first = operators[0]
    average, peak = first["average_flops_per_second"], first["average_utilization"]
    if average is None:
        return ""
    of_peak = "" if peak is None else f", {units.percent(peak)} of the peak"
    return f"longest operators below the average of {units.scaled(average, 'FLOP/s')}{of_peak}"


def _name(title: str) -> fields.Field:
    return fields.Field(
        Column(title, names=True), lambda row: Text(TITLES.get(row["name"], str(row["name"])))
    )


_PARTS = (
    _name("part"),
    fields.number("time of a step", "seconds", "seconds", std="seconds_std"),
    fields.number("share", "share", "fraction"),
    fields.number("steps", "n", "count", rank=1),
)
_RANKS = (
    fields.Field(Column("rank"), lambda row: Text(_rank(row))),
    fields.number("step", "step_seconds", "seconds", std="step_std"),
    fields.number("self time", "work_seconds", "seconds"),
    fields.number("vs mean", "skew", "fraction"),
    fields.number("computing", "compute_seconds", "seconds"),
    fields.number("communication", "communication_seconds", "seconds"),
    fields.number("exposed", "exposed_seconds", "seconds"),
    fields.number("no work", "waiting", "seconds"),
)


def _rank(row: Mapping[str, Any]) -> str:
    name = "unknown" if row["name"] is None else str(row["name"])
    return f"{name} (slowest)" if row["slowest"] else name


def _rates(title: str, rows: Sequence[_Row]) -> list[fields.Field]:
    shown = [
        _name(title),
        fields.number("calls", "calls", "count"),
        fields.number("time", "seconds", "seconds"),
        fields.number("share", "share", "fraction"),
    ]
    if any(row["flops_per_second"] for row in rows):
        shown.append(fields.number("achieved", "flops_per_second", "flop/second"))
    if any(row["tensor_core_share"] for row in rows):
        shown.append(fields.number("on tensor cores", "tensor_core_share", "fraction"))
    return shown


def _of_operators(rows: Sequence[_Row]) -> list[fields.Field]:
    shown = _rates("operator", rows)
    shown.insert(1, fields.Field(Column("kind of work", rank=1), lambda r: Text(r["category"])))
    if any(row["utilization"] is not None for row in rows):
        shown.append(fields.number("of peak", "utilization", "fraction"))
    if any(row["of_average"] is not None for row in rows):
        shown.append(fields.number("of average", "of_average", "fraction"))
    return shown


# ------------------------------------------------------------------------------------------ notes


def _notes(own: pl.DataFrame) -> Iterator[Note]:
    devices = answers.measures(own, "device_name")["text"].unique().sort().to_list()
    if devices:
        yield note("device", names=[str(device) for device in devices])
    for row in answers.measures(own, "steps").head(1).iter_rows(named=True):
        yield note("steps", rule=row["text"])
    excluded = answers.measures(own, "warmup_steps").filter(pl.col("value") > 0)
    for number, rule in excluded.select("value", "text").head(1).iter_rows():
        yield note("warmup", n=int(number), rule=rule)
    if not answers.operators(own)["flops"].sum():
        yield note("no_flops")
    yield note("bound", kernels=", ".join(categories.COMPUTE_BOUND))
    if own["tensor_core"].any():
        yield note("tensor_core")


def _sentence(title: str, own: pl.DataFrame, parts: Sequence[_Row]) -> str:
    if not parts:
        return ""
    *some, whole = parts
    some.sort(key=lambda row: -(row["share"] or 0.0))
    said = ", ".join(
        f"{units.percent(row['share'])} {TITLES[row['name']]}" for row in some[:3] if row["share"]
    )
    ranks = answers.ranks(own)
    slowest = ""
    if ranks.height > 1:
        first = ranks.filter("slowest").row(0, named=True)
        slowest = f" Rank {first['rank']} is the slowest of {ranks.height}."
    parted = f": {said}" if said else ""
    return f"{title}A step takes {units.seconds(whole['seconds'])}{parted}.{slowest}"
