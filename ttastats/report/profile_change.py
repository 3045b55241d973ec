"""Which parts of a step, and kinds of work, account for a change of its length?"""

from __future__ import annotations

from typing import Any

import polars as pl

from ttastats import percentages, units
from ttastats.profiles import changes
from ttastats.report import fields
from ttastats.report.answer import Report
from ttastats.report.cells import Column, Note, Text
from ttastats.stats.means import difference

_WHOLE = changes.WHOLE


def report(
    a: pl.DataFrame, b: pl.DataFrame, labels: tuple[str, str], *, confidence: float = 0.95
) -> Report:
    """Give what the steps of B take less or more than those of A, the largest change first."""
    first, second = changes.samples(a), changes.samples(b)
    names = [*dict.fromkeys([*first.columns, *second.columns])]
    rows = [_row(name, first, second, confidence) for name in names]
    whole = next(row for row in rows if row["name"] == _WHOLE)
    for row in rows:
        row["share"] = row["change"] / whole["change"] if whole["change"] else None
    parts = sorted((row for row in rows if row is not whole), key=lambda row: -abs(row["change"]))
    shown = [row for row in parts if row["a_seconds"] or row["b_seconds"]]
    columns = [
        fields.Field(Column("part", names=True), lambda row: Text(str(row["name"]))),
        fields.number("A", "a_seconds", "seconds"),
        fields.number("B", "b_seconds", "seconds"),
        fields.number(
            f"change [{percentages.text(confidence)}]", "change", "seconds", interval=True
        ),
        fields.number("of the change", "share", "fraction"),
    ]
    title = f"A = {labels[0]}   B = {labels[1]}   time of a step"
    table = fields.table([whole, *shown], columns, title)
    return Report("compare", (whole, *shown), (table,), (_note(a, b, whole),), _said(whole, shown))


def _row(name: str, a: pl.DataFrame, b: pl.DataFrame, confidence: float) -> dict[str, Any]:
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
    }


def _note(a: pl.DataFrame, b: pl.DataFrame, whole: dict[str, Any]) -> Note:
    """Say what varies: profiles where both sides have several, steps elsewhere."""
    what = [
        units.plural(whole[n], "profile" if one["profile_id"].n_unique() > 1 else "step")
        for one, n in ((a, "n_a"), (b, "n_b"))
    ]
    text = f"A: {what[0]}, B: {what[1]}. Intervals are of means over them, by Welch."
    if "step" in f"{what[0]}{what[1]}":
        text += " Steps of one profile tell nothing of how profiles differ: repeat them."
    return Note("samples", text)


def _said(whole: dict[str, Any], parts: list[dict[str, Any]]) -> str:
    change = whole["change"]
    low, high = whole["change_low"], whole["change_high"]
    if low is not None and low <= 0 <= high:
        return "Whether a step of B is longer or shorter than one of A is undecided."
    ratio = whole["a_seconds"] / whole["b_seconds"]
    same = [row for row in parts if row["change"] * change > 0][:3]
    told = ", ".join(f"{row['name']} {units.seconds(abs(row['change']))}" for row in same)
    word = "shorter" if change < 0 else "longer"
    return (
        f"A step of B is {units.seconds(abs(change))} {word} ({ratio:.2f} times as fast): {told}."
    )
