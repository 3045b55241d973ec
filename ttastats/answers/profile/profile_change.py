"""Which parts of a step, and kinds of work or operators, account for a change of its length?"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Annotated

import numpy as np
import polars as pl
from msgspec import structs

from ttastats.base import percentages, units
from ttastats.base.codes import note, wording
from ttastats.base.errors import raise_if
from ttastats.report import fields
from ttastats.report.answer import Report
from ttastats.report.cells import Column, PValue, Text
from ttastats.report.fields import Field
from ttastats.report.keys import High, Low
from ttastats.report.row import Key, Number, Row
from ttastats.sides.contrast import ValuesContrast, with_verdicts
from ttastats.sides.options import Options
from ttastats.stats.decision import side_of
from ttastats.stats.means import mean_difference
from ttastats.traces import answers
from ttastats.traces.answers import By

_WHOLE = answers.WHOLE
#: Rows of a table for people: the rows for programs hold all.
_MOST = 15


class ChangeRow(Row, frozen=True):
    """A part of a step, or the whole: what B takes less or more than A."""

    name: Annotated[str, Key("the part, kind of work or operator")]
    n_a: Annotated[int, Key("steps of A, or profiles if A has several", "steps")]
    n_b: Annotated[int, Key("steps of B, or profiles if B has several", "steps")]
    a_seconds: Annotated[float, Key("mean time of A", "seconds", "A")]
    b_seconds: Annotated[float, Key("mean time of B", "seconds", "B")]
    change: Annotated[float, Key("B minus A", "seconds", interval=True)]
    change_low: Low
    change_high: High
    p_value: Annotated[Number, Key("p of the change")]
    p_adjusted: Annotated[Number, Key("the same, adjusted for the number of parts")]
    share: Annotated[Number, Key("share of the change of a step", "fraction", "of the change")]


def report(
    a: pl.DataFrame,
    b: pl.DataFrame,
    labels: tuple[str, str],
    *,
    by: By = "work",
    confidence: float,
) -> Report:
    """Return the changes of the parts of a step from A to B, the largest first."""
    first, second = answers.sample_table(a, by), answers.sample_table(b, by)
    for label, side in zip(labels, (first, second), strict=True):
        remedy = "Record some with `profile --steps`."
        raise_if(side.is_empty(), "contains no training step", label, remedy)
    rows, contrasts = list[ChangeRow](), list[ValuesContrast[float]]()
    for name in dict.fromkeys([*first.columns, *second.columns]):  # the whole step first
        values_a, values_b = (
            side[name].to_numpy() if name in side.columns else np.zeros(side.height)
            for side in (first, second)
        )
        gap = mean_difference(values_a, values_b, confidence=confidence)
        means = float(values_a.mean()), float(values_b.mean())
        if any(means):
            length = rows[0].change if rows else gap.estimate
            rows.append(ChangeRow(
                name, gap.n_a, gap.n_b, *means, gap.estimate, gap.low, gap.high, gap.p_value, None,
                gap.estimate / length if length else None,
            ))  # fmt: skip
            contrast = ValuesContrast({"name": name}, *means, difference=gap, p_value=gap.p_value)
            contrasts.append(contrast)
    contrasts = [*with_verdicts(contrasts[1:], Options(confidence=confidence))]
    total, *parts = rows
    parts = [
        structs.replace(row, p_adjusted=contrast.p_adjusted)
        for row, contrast in zip(parts, contrasts, strict=True)
    ]
    decided_names = {part.keys["name"] for part in contrasts if part.verdict.word.directed}
    sentence = _change_sentence(total, parts, decided_names)
    parts.sort(key=lambda row: -abs(row.change))
    title = f"A = {labels[0]}   B = {labels[1]}   time of a step"
    change = f"change [{percentages.percent_text(confidence)}]"
    part = Column("part or operator" if by == "operator" else "part", names=True)
    table_fields: list[Field[ChangeRow]] = [
        Field(part, lambda row: Text(row.name)),
        *fields.number_fields(ChangeRow, "a_seconds", "b_seconds"),
        fields.number_field(change, "change", "seconds", interval=True),
        *fields.number_fields(ChangeRow, "share"),
        Field(
            Column("p", "right", rank=1),
            lambda row: PValue(row.p_value if row.name == _WHOLE else row.p_adjusted),
        ),
    ]
    table = fields.make_table([total, *parts[:_MOST]], table_fields, title)
    samples_a, samples_b = (  # what the intervals are based on
        units.plural(n, "profile" if side["profile_id"].n_unique() > 1 else "step")
        for side, n in ((a, total.n_a), (b, total.n_b))
    )
    holm = wording("samples.holm", tests=len(parts)) if len(parts) > 1 else ""
    steps = wording("samples.steps") if "step" in samples_a + samples_b else ""
    notes = [note("samples.profile", a=samples_a, b=samples_b, holm=holm, steps=steps)]
    if len(parts) > _MOST:
        notes.append(note("more.parts", n=len(parts) - _MOST))
    return Report("compare", (total, *parts), (table,), tuple(notes), sentence)


def expect_others(a: pl.DataFrame, b: pl.DataFrame, label: str) -> None:
    """Raise an error if side B holds a profile of A."""
    has_shared_profile = not set(a["profile_id"]).isdisjoint(b["profile_id"])
    raise_if(
        has_shared_profile,
        "contains a profile that is also in A",
        label,
        "Give two different profiles.",
    )


def _change_sentence(
    total: ChangeRow, parts: Sequence[ChangeRow], decided_names: Collection[str]
) -> str:
    tested = total.change_low is not None
    if tested and not side_of(0.0, total.change_low, total.change_high):
        return "The difference in the time of a step is not significant."
    if math.isclose(total.a_seconds, total.b_seconds):
        return "A step of B takes as long as one of A."
    word = "shorter" if total.change < 0 else "longer"
    contributions = [
        (abs(row.change), row.name)
        for row in parts
        if row.change * total.change > 0 and (row.name in decided_names or not tested)
    ]
    contributions.sort(key=lambda part: -part[0])
    largest = ", ".join(f"{name} {units.seconds(change)}" for change, name in contributions[:3])
    return (
        f"A step of B is {units.seconds(abs(total.change))} {word} "
        f"({total.a_seconds / total.b_seconds:.2f} times as fast): "
        f"{largest or 'no single part differs significantly'}."
    )
