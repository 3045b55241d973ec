"""Which parts of a step, and kinds of work or operators, account for a change of its length?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from ttastats.base import percentages, units
from ttastats.base.errors import TtastatsError
from ttastats.base.note import Note, note, wording
from ttastats.report import fields
from ttastats.report.answer import Report
from ttastats.report.cells import Column, PValue, Text
from ttastats.stats.means import difference
from ttastats.stats.multiplicity import holm
from ttastats.traces import changes
from ttastats.traces.changes import By

_Row = dict[str, Any]
_WHOLE = changes.WHOLE
#: Rows of a table for people: the rows for programs hold all.
_MOST = 15


def report(
    a: pl.DataFrame,
    b: pl.DataFrame,
    labels: tuple[str, str],
    *,
    by: By = "work",
    confidence: float = 0.95,
) -> Report:
    """Give what the steps of B take less or more than those of A, the largest change first.

    Raises
    ------
    TtastatsError
        One of them holds no step.
    """
    first, second = changes.samples(a, by), changes.samples(b, by)
    for label, one in zip(labels, (first, second), strict=True):
        if one.is_empty():
            raise TtastatsError(
                "contains no training step",
                where=label,
                remedy="Record some with `profile --steps`.",
            )
    names = [*dict.fromkeys([*first.columns, *second.columns])]
    rows = [_row(name, first, second, confidence) for name in names]
    whole, *parts = [row for row in rows if row["a_seconds"] or row["b_seconds"]]
    for row in (whole, *parts):
        row["share"] = row["change"] / whole["change"] if whole["change"] else None
    for row, adjusted in zip(parts, holm([row["p_value"] for row in parts]), strict=True):
        row["p_adjusted"] = adjusted
    parts.sort(key=lambda row: -abs(row["change"]))
    shown = parts[:_MOST]
    title = f"A = {labels[0]}   B = {labels[1]}   time of a step"
    table = fields.table([whole, *shown], _columns(by, confidence), title)
    notes = [_noise(a, b, whole, len(parts))]
    if more := len(parts) - len(shown):
        notes.append(note("more.parts", n=more))
    return Report(
        "compare", (whole, *parts), (table,), tuple(notes), _said(whole, parts, 1 - confidence)
    )


def expect_others(a: pl.DataFrame, b: pl.DataFrame, label: str) -> None:
    """Refuse a side B, called by its label, that holds a profile of A.

    Raises
    ------
    TtastatsError
        It does.
    """
    if not set(a["profile_id"]).isdisjoint(b["profile_id"]):
        raise TtastatsError(
            "contains a profile that is also in A",
            where=label,
            remedy="Give two different profiles.",
        )


def _row(name: str, a: pl.DataFrame, b: pl.DataFrame, confidence: float) -> _Row:
    values = [one[name] if name in one.columns else pl.Series([0.0] * one.height) for one in (a, b)]
    found = difference(*(one.to_numpy() for one in values), confidence=confidence)
    return {
        "name": name,
        "n_a": a.height,
        "n_b": b.height,
        "a_seconds": values[0].mean(),
        "b_seconds": values[1].mean(),
        "change": found.estimate,
        "change_low": found.low,
        "change_high": found.high,
        "p_value": found.p_value,
        "p_adjusted": None,
    }


def _columns(by: By, confidence: float) -> list[fields.Field]:
    change = f"change [{percentages.text(confidence)}]"
    return [
        fields.Field(
            Column("part or operator" if by == "operator" else "part", names=True),
            lambda row: Text(str(row["name"])),
        ),
        fields.number("A", "a_seconds", "seconds"),
        fields.number("B", "b_seconds", "seconds"),
        fields.number(change, "change", "seconds", interval=True),
        fields.number("of the change", "share", "fraction"),
        fields.Field(
            Column("p", "right", rank=1),
            lambda row: PValue(row["p_value" if row["name"] == _WHOLE else "p_adjusted"]),
        ),
    ]


def _noise(a: pl.DataFrame, b: pl.DataFrame, whole: _Row, tests: int) -> Note:
    """Say what varies: profiles where both sides have several, steps elsewhere."""
    what = [
        units.plural(whole[n], "profile" if one["profile_id"].n_unique() > 1 else "step")
        for one, n in ((a, "n_a"), (b, "n_b"))
    ]
    holm = wording("samples.holm", tests=tests) if tests > 1 else ""
    steps = wording("samples.steps") if "step" in f"{what[0]}{what[1]}" else ""
    return note("samples.profile", a=what[0], b=what[1], holm=holm, steps=steps)


def _said(whole: _Row, parts: Sequence[_Row], alpha: float) -> str:
    change = whole["change"]
    low, high = whole["change_low"], whole["change_high"]
    if low is not None and low <= 0 <= high:
        return "The difference in the time of a step is not significant."
    ratio = whole["a_seconds"] / whole["b_seconds"]
    word = "shorter" if change < 0 else "longer"
    said = f"A step of B is {units.seconds(abs(change))} {word} ({ratio:.2f} times as fast)"
    alike = [row for row in parts if row["change"] * change > 0]
    if low is not None:
        alike = [row for row in alike if row["p_adjusted"] < alpha]
    told = [f"{row['name']} {units.seconds(abs(row['change']))}" for row in alike[:3]]
    return f"{said}: {', '.join(told) or 'no single part differs significantly'}."
