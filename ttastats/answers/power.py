"""How many runs are needed to see a difference, and what can so many runs see?"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import polars as pl
from msgspec import UNSET, UnsetType, structs

from ttastats.answers.summary import row_of
from ttastats.base.note import Note, note, wording
from ttastats.outcomes import axis as axes
from ttastats.outcomes.axis import SECONDS, Axis
from ttastats.report import fields, grouping
from ttastats.report.answer import Report
from ttastats.report.cells import Column, Quantity
from ttastats.report.fields import Field
from ttastats.report.keys import AxisName, High, LeftOutKeys, Low, ReachedCount
from ttastats.report.row import Key, Row
from ttastats.stats.failures import expected_time
from ttastats.stats.power import LEAST_RUNS, detectable_ratio, runs_needed
from ttastats.stats.sequential import FIRST_LOOK, expected

#: Differences that are asked about if the user names none.
EFFECTS = (0.01, 0.02, 0.05, 0.1, 0.2)

_ROUND = ("suite", "round")

#: Groups without a plan that are named; of more only their number is given.
_NAMED = 6


#: By effect, as the ratio of the means: `1.05`.
_ByEffect = dict[str, int | None]


class LooksKeys(Row, frozen=True):
    """What a plan of looks takes."""

    max_runs: Annotated[int, Key("most runs a side of a plan of looks", "runs")]
    sequential_runs: Annotated[
        dict[str, float | None], Key("runs a side that it takes on average, by ratio", "runs")
    ]
    sequential_decided: Annotated[
        dict[str, float | None], Key("how often it ends decided, by ratio", "fraction")
    ]


class PowerRow(Row, frozen=True):
    """The plan for one CV: of a group of runs, or supposed."""

    n: Annotated[int | None, Key("runs on each side", "runs", "runs per side")]
    cv: Annotated[
        float | None,
        Key(
            "coefficient of variation that the plan is for; where runs failed, that of the "
            "expected time to a success",
            "fraction",
            "CV [95%]",
            interval=True,
        ),
    ]
    detectable_ratio: Annotated[float | None, Key("the ratio that `n` runs detect", "ratio")]
    runs_needed: Annotated[_ByEffect, Key("runs on each side to detect a ratio, by ratio", "runs")]
    cv_low: Low
    cv_high: High
    reached: ReachedCount | UnsetType
    axis: AxisName | UnsetType
    runs_needed_low: Annotated[_ByEffect, Key("the same at the lower limit of the CV", "runs")]
    runs_needed_high: Annotated[_ByEffect, Key("the same at the upper limit of the CV", "runs")]
    looks: LooksKeys | UnsetType
    left_out: LeftOutKeys | UnsetType = UNSET


def from_runs(
    runs: pl.DataFrame,
    by: Sequence[str],
    *,
    effects: Sequence[float],
    n: int | None,
    power: float,
    max_runs: int | None = None,
) -> Report:
    """Return the plan for each group, from the CV its runs show; `n` replaces their number.

    With `max_runs` also what a plan of looks, of so many runs a side, takes on average.
    """
    rows: list[PowerRow] = []
    few: list[Note] = []
    for keys, group in grouping.groups(runs, by):
        if _successes_lacking(group):
            few.append(_few_successes(keys, group))
        cv, low, high = _spread(group)
        plan = _Plan(effects, power, max_runs)
        row = _row_of(cv, low, high, group.height if n is None else n, plan)
        about = {"reached": int(group["reached"].sum()), "axis": axes.of(runs).name}
        rows.append(structs.replace(row, keys=grouping.key_row(keys), **about))
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
    """Return the CV to plan from, with its limits where there are any.

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
    """Return the plan for a CV (a fraction) that is known or supposed."""
    row = _row_of(cv, None, None, n, _Plan(effects, power, max_runs))
    return _report([row], (), "", effects, power, max_runs=max_runs)


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is asked: which differences, with which power, and the most runs of a plan of looks."""

    effects: Sequence[float]
    power: float
    max_runs: int | None

    def runs_needed(self, cv: float | None) -> _ByEffect:
        """Return the runs needed by effect; None where no CV is known."""
        if cv is None or math.isinf(cv):
            return dict.fromkeys(_names(self.effects))
        return {
            name: runs_needed(1 + effect, cv, power=self.power)
            for effect, name in zip(self.effects, _names(self.effects), strict=True)
        }


def _row_of(
    cv: float | None, low: float | None, high: float | None, n: int | None, plan: _Plan
) -> PowerRow:
    detectable = detectable_ratio(n, cv, power=plan.power) if n and cv is not None else None
    return PowerRow(
        n=n,
        cv=cv,
        detectable_ratio=detectable,
        runs_needed=plan.runs_needed(cv),
        cv_low=low,
        cv_high=high,
        reached=UNSET,
        axis=UNSET,
        runs_needed_low=plan.runs_needed(low),
        runs_needed_high=plan.runs_needed(high),
        looks=UNSET if plan.max_runs is None else _looks(cv, plan.effects, plan.max_runs),
    )


def _looks(cv: float | None, effects: Sequence[float], max_runs: int) -> LooksKeys:
    """Return the runs that a plan of looks takes on average, and how often it ends decided."""
    ends = {
        name: None if cv is None else expected(1 + effect, cv, max_runs)
        for effect, name in zip(effects, _names(effects), strict=True)
    }
    return LooksKeys(
        max_runs,
        {name: end.runs if end else None for name, end in ends.items()},
        {name: end.decided if end else None for name, end in ends.items()},
    )


def _names(effects: Sequence[float]) -> list[str]:
    return [f"{1 + effect:g}" for effect in effects]


def _report(
    rows: Sequence[PowerRow],
    keys: Sequence[str],
    title: str,
    effects: Sequence[float],
    power: float,
    axis: Axis = SECONDS,
    max_runs: int | None = None,
) -> Report:
    shown: list[Field[PowerRow]] = [
        *fields.keys(keys, heads=False),
        *fields.of(PowerRow, "cv", "n"),
        fields.words("can detect", _detectable),
        *map(_needed, effects, _names(effects)),
        *(map(_taken, effects, _names(effects)) if max_runs is not None else ()),
    ]
    table = fields.table(rows, shown, title)
    method = note("method.power", mean=axis.mean, power=power, least=LEAST_RUNS)
    notes = [method, *_range_notes(rows)]
    if max_runs is not None:
        notes.append(note("sequential.power", max_runs=max_runs, first=FIRST_LOOK))
    if any(row.reached != row.n for row in rows if row.keys):
        notes.append(note("failed_runs.power", expected=axis.expected))
    if any(row.cv == 0 for row in rows):
        notes.append(note("zero_variance.power"))
    return Report("power", tuple(rows), (table,), tuple(notes))


def _range_notes(rows: Sequence[PowerRow]) -> Iterator[Note]:
    """Yield what the CV of few runs leaves open of a plan."""
    planned = [row for row in rows if row.cv is not None and row.keys]
    if any(row.cv_high is not None for row in planned):
        yield note("plan_range")
    if any(row.cv_high is None for row in planned):
        yield note("plan_guess")


def _detectable(row: PowerRow) -> str:
    ratio = row.detectable_ratio
    return "–" if ratio is None else f"{ratio:.3f}×"


def _needed(effect: float, name: str) -> Field[PowerRow]:
    title = Column(f"runs for {100 * effect:.3g}%", "right")

    def cell(row: PowerRow) -> Quantity:
        low, high = row.runs_needed_low[name], row.runs_needed_high[name]
        return Quantity(row.runs_needed[name], "count", low, high)

    return Field(title, cell)


def _taken(effect: float, name: str) -> Field[PowerRow]:
    def text(row: PowerRow) -> str:
        runs = row.looks.sequential_runs[name] if row.looks else None
        decided = row.looks.sequential_decided[name] if row.looks else None
        return "–" if runs is None else f"{runs:.1f} ({decided:.0%})"

    return fields.words(f"looks for {100 * effect:.3g}%", text)
