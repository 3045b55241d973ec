"""How many runs are needed to see a difference, and what can so many runs see?"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from ttastats.answers.summary import row_of
from ttastats.base.note import Note, note, wording
from ttastats.outcomes import axis as axes
from ttastats.outcomes.axis import SECONDS, Axis
from ttastats.report import fields, grouping
from ttastats.report.answer import Report
from ttastats.report.cells import Column, Quantity
from ttastats.report.fields import Field
from ttastats.stats.failures import expected_time
from ttastats.stats.power import LEAST_RUNS, detectable_ratio, runs_needed
from ttastats.stats.sequential import FIRST_LOOK, expected

#: Differences that are asked about if the user names none.
EFFECTS = (0.01, 0.02, 0.05, 0.1, 0.2)

_ROUND = ("suite", "round")

#: Groups without a plan that are named; of more only their number is given.
_NAMED = 6


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
    rows: list[dict[str, Any]] = []
    few: list[Note] = []
    for keys, group in grouping.groups(runs, by):
        if _successes_lacking(group):
            few.append(_few_successes(keys, group))
        cv, low, high = _spread(group)
        count = n if n is not None else group.height
        limits: dict[str, Any] = {"cv_low": low, "cv_high": high}
        limits["reached"] = int(group["reached"].sum())
        limits["axis"] = axes.of(runs).name
        needed = _runs_by_limit(low, high, effects, power)
        rows.append(grouping.key_row(keys) | plan(cv, count, effects, power) | limits | needed)
        rows[-1] |= _looks(cv, effects, max_runs)
    keys_shown = grouping.shown_keys(rows, by)
    report = _report(
        rows, keys_shown, grouping.common_title(rows, by), effects, power, axes.of(runs), max_runs
    )
    if len(few) > _NAMED:
        few = [note("few_successes.groups", n=len(few))]
    notes = (*grouping.group_notes(runs, by), *few, *report.notes)
    report = replace(report, notes=notes, by=grouping.row_keys(by, grouping.ENTRY))
    return grouping.with_left_out(report, runs, by)


def _spread(group: pl.DataFrame) -> tuple[float | None, float | None, float | None]:
    """Give the CV to plan from, with its limits where there are any.

    Where runs failed it is the CV one run would have to have for the uncertainty of the expected
    time to a success: failures are what so many runs must outweigh.
    """
    if _successes_lacking(group):
        return None, None, None
    if not group["reached"].all():
        timed = group.filter(pl.col("observed_seconds").is_not_null())
        expected = expected_time(timed["observed_seconds"].to_numpy(), timed["reached"].to_numpy())
        variance = expected.variance_log
        return None if variance is None else math.sqrt(variance * expected.n), None, None
    row = row_of({}, group)
    return row.cv, row.cv_low, row.cv_high


def _successes_lacking(group: pl.DataFrame) -> int:
    """Return how many runs more must reach the target before the runs of a group show a CV.

    Two runs show one. Where others failed it takes three, as for an interval of it: from fewer, the
    CV shows little more than how many failed.
    """
    needed = 2 if group["reached"].all() else 3
    return max(0, needed - int(group["reached"].sum()))


def _few_successes(keys: Mapping[str, Any], group: pl.DataFrame) -> Note:
    """Return what a plan needs where too few runs of a group reached the target."""
    reached = int(group["reached"].sum())
    needed = reached + _successes_lacking(group)
    name = " ".join(str(keys[one]) for one in keys if one not in _ROUND and keys[one] is not None)
    rate = ""
    if 0 < reached < group.height:
        rate = wording("few_successes.rate", total=math.ceil(needed * group.height / reached))
    of = f"{name}: " if name else ""
    return note("few_successes", of=of, reached=reached, n=group.height, needed=needed, rate=rate)


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
    row |= _runs_by_limit(None, None, effects, power)
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


def _runs_by_limit(
    low: float | None, high: float | None, effects: Sequence[float], power: float
) -> dict[str, dict[str, int | None]]:
    """Return the runs needed by effect at both limits of the CV; None where there are none."""
    return {
        f"runs_needed_{name}": {
            effect_name: None
            if cv is None or math.isinf(cv)
            else runs_needed(1 + effect, cv, power=power)
            for effect, effect_name in zip(effects, _names(effects), strict=True)
        }
        for name, cv in (("low", low), ("high", high))
    }


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
    method = note("method.power", mean=axis.mean, power=power, least=LEAST_RUNS)
    notes = [method, *_range_notes(rows)]
    if max_runs is not None:
        notes.append(note("sequential.power", max_runs=max_runs, first=FIRST_LOOK))
    if any(row.get("reached", row["n"]) != row["n"] for row in rows if "entry" in row):
        notes.append(note("failed_runs.power", expected=axis.expected))
    if any(row["cv"] == 0 for row in rows):
        notes.append(note("zero_variance.power"))
    return Report("power", tuple(rows), (table,), tuple(notes))


def _range_notes(rows: Sequence[Mapping[str, Any]]) -> Iterator[Note]:
    """Yield what the CV of few runs leaves open of a plan."""
    planned = [row for row in rows if row["cv"] is not None and "entry" in row]
    if any(row["cv_high"] is not None for row in planned):
        yield note("plan_range")
    if any(row["cv_high"] is None for row in planned):
        yield note("plan_guess")


def _detectable(row: Mapping[str, Any]) -> str:
    ratio = row["detectable_ratio"]
    return "–" if ratio is None else f"{ratio:.3f}×"


def _needed(effect: float, name: str) -> Field:
    title = Column(f"runs for {100 * effect:.3g}%", "right")

    def cell(row: Mapping[str, Any]) -> Quantity:
        needed, *limits = (row[f"runs_needed{end}"][name] for end in ("", "_low", "_high"))
        return Quantity(needed, "count", *limits)

    return Field(title, cell)


def _taken(effect: float, name: str) -> Field:
    def said(row: Mapping[str, Any]) -> str:
        runs, decided = row["sequential_runs"][name], row["sequential_decided"][name]
        return "–" if runs is None else f"{runs:.1f} ({decided:.0%})"

    return fields.words(f"looks for {100 * effect:.3g}%", said)
