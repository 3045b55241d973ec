"""How many runs are needed to see a difference, and what can so many runs see?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from ttastats import axis as axes
from ttastats.axis import SECONDS, Axis
from ttastats.report import fields, grouping
from ttastats.report.answer import Report
from ttastats.report.cells import Column, Note, Quantity
from ttastats.report.fields import Field
from ttastats.report.summary import numbers
from ttastats.stats.failures import expected_time
from ttastats.stats.power import detectable_ratio, runs_needed
from ttastats.stats.sequential import FIRST_LOOK, expected

#: Differences that are asked about if the user names none.
EFFECTS = (0.01, 0.02, 0.05, 0.1, 0.2)


def from_runs(
    runs: pl.DataFrame,
    by: Sequence[str],
    *,
    effects: Sequence[float],
    n: int | None,
    power: float,
    max_runs: int | None = None,
) -> Report:
    """Give the plan for each group, from the CV its runs show; `n` replaces their number.

    With `max_runs` also what a plan of looks, of so many runs a side, takes on average.
    """
    rows = []
    for keys, group in grouping.groups(runs, by):
        cv, low, high = _spread(group)
        count = n if n is not None else group.height
        limits: dict[str, Any] = {"cv_low": low, "cv_high": high}
        limits["reached"] = int(group["reached"].sum())
        limits["axis"] = axes.of(runs).name
        rows.append(grouping.key_row(keys) | plan(cv, count, effects, power) | limits)
        rows[-1] |= _looks(cv, effects, max_runs)
    keys_shown = grouping.shown_keys(rows, by)
    report = _report(
        rows, keys_shown, grouping.common_title(rows, by), effects, power, axes.of(runs), max_runs
    )
    notes = (*grouping.group_notes(runs, by), *report.notes)
    return replace(report, notes=notes, by=grouping.row_keys(by, grouping.ENTRY))


def _spread(group: pl.DataFrame) -> tuple[float | None, float | None, float | None]:
    """Give the CV to plan from, with its limits where there are any.

    Where runs failed it is the CV one run would have to have for the uncertainty of the expected
    time to a success: failures are what so many runs must outweigh.
    """
    if not group["reached"].all():
        timed = group.filter(pl.col("observed_seconds").is_not_null())
        expected = expected_time(timed["observed_seconds"].to_numpy(), timed["reached"].to_numpy())
        variance = expected.variance_log
        return None if variance is None else math.sqrt(variance * expected.n), None, None
    row = numbers(group, ddof=1, confidence=0.95)
    return row["cv"], row["cv_low"], row["cv_high"]


def from_cv(
    cv: float,
    *,
    effects: Sequence[float],
    n: int | None,
    power: float,
    max_runs: int | None = None,
) -> Report:
    """Give the plan for a CV (a fraction) that is known or supposed."""
    row = plan(cv, n, effects, power) | {"cv_low": None, "cv_high": None}
    row |= _looks(cv, effects, max_runs)
    return _report([row], (), "", effects, power, max_runs=max_runs)


def _looks(cv: float | None, effects: Sequence[float], max_runs: int | None) -> dict[str, Any]:
    """Give the runs that a plan of looks takes on average, and how often it ends decided."""
    if max_runs is None:
        return {}
    found = [None if cv is None else expected(1 + effect, cv, max_runs) for effect in effects]
    names = _names(effects)
    return {
        "max_runs": max_runs,
        "sequential_runs": {
            name: one.runs if one else None for name, one in zip(names, found, strict=True)
        },
        "sequential_decided": {
            name: one.decided if one else None for name, one in zip(names, found, strict=True)
        },
    }


def plan(cv: float | None, n: int | None, effects: Sequence[float], power: float) -> dict[str, Any]:
    """Give the numbers for one CV: what `n` runs a side detect, and runs needed by effect."""
    needed: dict[str, int | None] = dict.fromkeys(_names(effects))
    if cv is None:
        return {"n": n, "cv": None, "detectable_ratio": None, "runs_needed": needed}
    detectable = detectable_ratio(n, cv, power=power) if n else None
    for effect, name in zip(effects, needed, strict=True):
        needed[name] = runs_needed(1 + effect, cv, power=power)
    return {"n": n, "cv": cv, "detectable_ratio": detectable, "runs_needed": needed}


def _names(effects: Sequence[float]) -> list[str]:
    return [f"{1 + effect:g}" for effect in effects]


def _report(
    rows: Sequence[dict[str, Any]],
    keys: Sequence[str],
    title: str,
    effects: Sequence[float],
    power: float,
    axis: Axis = SECONDS,
    max_runs: int | None = None,
) -> Report:
    shown = [
        *fields.keys(keys, heads=False),
        fields.number("CV [95%]", "cv", "fraction", interval=True),
        fields.number("runs per side", "n"),
        fields.words("can detect", _detectable),
        *map(_needed, effects, _names(effects)),
        *(map(_taken, effects, _names(effects)) if max_runs is not None else ()),
    ]
    table = fields.table(rows, shown, title)
    text = (
        f"two-sided t test of the ratio of {axis.mean} at 5%, power {power:.0%}, with equal CV "
        "and equal numbers of runs on both sides. Fix the number of runs in advance: testing "
        "after every run and stopping at p < .05 inflates false positives."
    )
    notes = [Note("method", text)]
    if max_runs is not None:
        text = (
            f"looks: average runs per side of `compare --sequential --max-runs {max_runs}` with "
            f"a look after every run from {FIRST_LOOK} on and no failed runs, and how often it "
            "ends decided; 4,000 simulations at 5%."
        )
        notes.append(Note("sequential", text))
    if any(row.get("reached", row["n"]) != row["n"] for row in rows if "entry" in row):
        text = f"where runs failed, the CV is that of the {axis.expected} to a success (ERT)."
        notes.append(Note("failed_runs", text))
    if any(row["cv"] == 0 for row in rows):
        notes.append(Note("zero_variance", "a sample CV of 0 does not mean zero variance."))
    return Report("power", tuple(rows), (table,), tuple(notes))


def _detectable(row: Mapping[str, Any]) -> str:
    ratio = row["detectable_ratio"]
    return "–" if ratio is None else f"{ratio:.3f}×"


def _needed(effect: float, name: str) -> Field:
    title = Column(f"runs for {100 * effect:.3g}%", "right")
    return Field(title, lambda row: Quantity(row["runs_needed"][name], "count"))


def _taken(effect: float, name: str) -> Field:
    def said(row: Mapping[str, Any]) -> str:
        runs, decided = row["sequential_runs"][name], row["sequential_decided"][name]
        return "–" if runs is None else f"{runs:.1f} ({decided:.0%})"

    return fields.words(f"looks for {100 * effect:.3g}%", said)
