"""What is a history of runs: a point a night, its parts, and the changes of each part?"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from ttastats.base.errors import raise_if
from ttastats.base.units import Amount
from ttastats.outcomes import axis as axes
from ttastats.outcomes.time_to_target import common_progress
from ttastats.sides import blocking
from ttastats.stats import changes
from ttastats.stats.changes import Change
from ttastats.stats.results import Floats
from ttastats.table.schema import parse_extra

#: The order that needs no column.
BY_DATE = "date"
OPTION = "--order"
FAILURES = "failures"
#: Names under which logs record what was trained.
_COMMIT = re.compile(r"(^|[_.-])(commit|revision|git_sha|sha)([_.-]|$)", re.IGNORECASE)
#: A difference of logs that is rounding.
_DECIMALS = 9


class Night(Struct, frozen=True):
    """One point of a history: its name, the commits of its runs, and how many reached."""

    name: str
    commits: tuple[str, ...]
    n: int
    reached: int


class Part(Struct, frozen=True, eq=False):
    """One series of a history: the `values` (logs) of the nights that have one, and its borders.

    A border is a change by the numbers of nights from 0: the night `split` is the first after it,
    at 95 % that is one of `first` to `last`, and runs of `median` halve these: the change is before
    or after it.

    Of failures the values are shares. `unit` is that of the mean. `alike` is the autocorrelation of
    nights where there is one, `unseen` the change that stays unseen for some nights.
    """

    name: str
    unit: Amount | str
    places: tuple[int, ...]
    values: Floats
    borders: tuple[Change, ...]
    noise: float | None = None
    alike: float | None = None
    unseen: float | None = None

    def segments(self, nights: int) -> list[tuple[int, int]]:
        """Return the first night of each segment, and that after its last."""
        return list(pairwise([0, *(border.split for border in self.borders), nights]))

    def mean(self, start: int, end: int) -> float | None:
        """Return the mean of the nights of a segment; the geometric mean of times."""
        of = self.values[bisect_left(self.places, start) : bisect_left(self.places, end)]
        if not of.size:
            return None
        return float(of.mean()) if self.name == FAILURES else math.exp(float(of.mean()))


class History(Struct, frozen=True, eq=False):
    """The nights of one setup, and the parts of their times, the time to the target last."""

    nights: tuple[Night, ...]
    parts: tuple[Part, ...]
    unordered: int

    @property
    def whole(self) -> Part:
        """Return the part that is the time to the target."""
        return self.parts[-1]

    @property
    def latest(self) -> Night:
        """Return the first night that is certainly after all changes."""
        borders = [border.last for part in self.parts for border in part.borders]
        return self.nights[max(borders, default=0)]

    @property
    def failures(self) -> Part:
        """Return the part that is the share of failed runs."""
        return self.parts[-2]


def history(runs: pl.DataFrame, order: str) -> History:
    """Return the history of runs of one setup, by date or by a recorded column."""
    axis, (unit, _) = axes.axis_of(runs), common_progress(runs)
    undated = order == BY_DATE and runs["started_at"].null_count() == runs.height
    remedy = f"Order the runs by a column or a recorded name: {OPTION} commit."
    raise_if(undated, "no run records its date", f"{OPTION} {BY_DATE}", remedy)
    label = blocking.labelled(runs, ["day" if order == BY_DATE else order], OPTION)
    whole_name, time = axis.to_target, pl.col("tta_seconds")
    measures: dict[str, tuple[str, pl.Expr]] = {whole_name: (axis.unit, time)}
    if unit is not None and not axis.progress:
        amount = pl.col(unit).cast(pl.Float64)
        of_parts = {
            f"{axis.noun} per {unit[:-1]}": (axis.unit, time / amount),
            unit: (unit, amount),
        }
        measures = of_parts | measures
    commits = label
    if order == BY_DATE:  # else what each run trained is the column of the order
        extras = [parse_extra(extra) for extra in runs["extra"]]
        known = [extra.get(next(filter(_COMMIT.search, extra), "")) for extra in extras]
        commits = pl.Series([str(commit) if commit else None for commit in known], dtype=pl.String)
    points = (
        runs.with_columns(night=label.cast(pl.String), commit=commits)
        .filter(pl.col("night").is_not_null())
        .group_by("night", maintain_order=True)
        .agg(
            pl.col("started_at").min(),
            pl.col("commit").drop_nulls().unique(maintain_order=True),
            pl.len().alias("n"),
            pl.col("reached").sum(),
            **{name: of.log().filter("reached").mean() for name, (_, of) in measures.items()},
        )
    )
    numbers = [[int(digits) for digits in re.findall(r"\d+", name)] for name in points["night"]]
    points = points.with_columns(number=pl.Series(numbers, dtype=pl.List(pl.Int64)))
    points = points.sort("number" if points["started_at"].null_count() else "started_at", "night")
    nights = tuple(
        Night(name, tuple(commits), n, reached)
        for name, commits, n, reached in points["night", "commit", "n", "reached"].iter_rows()
    )
    *parts, whole = (
        _make_part(points[name], name, of, search=name != whole_name or len(measures) == 1)
        for name, (of, _) in measures.items()
    )
    failed, n = [night.n - night.reached for night in nights], [night.n for night in nights]
    places = tuple(range(len(nights)))
    fails_more = _borders(places, changes.find_changes_of_failures(failed, n))
    failures = Part(FAILURES, "fraction", places, np.divide(failed, n), fails_more)
    if parts:
        whole = _sum_of_parts(whole, [border for part in parts for border in part.borders])
    unordered = runs.height - sum(night.n for night in nights)
    return History(nights, (*parts, failures, whole), unordered)


def _make_part(logs: pl.Series, name: str, unit: str, *, search: bool) -> Part:
    places = tuple(np.flatnonzero(logs.is_not_null()).tolist())
    values: Floats = logs.drop_nulls().to_numpy().round(_DECIMALS)
    if not search or values.size < changes.WAIT:
        return Part(name, unit, places, values, ())
    every = _borders(places, changes.find_changes(values))
    splits = [bisect_left(places, border.split) for border in every]
    noise = changes.night_noise(values, splits)
    nights = values.size - (splits[-1] if splits else 0)
    unseen = None if noise is None else math.expm1(changes.detectable_change(noise, max(nights, 2)))
    alike = changes.shown_autocorrelation(values, splits)
    return Part(name, unit, places, values, every, noise, alike, unseen)


def _borders(places: Sequence[int], every: Sequence[Change]) -> tuple[Change, ...]:
    """Return the changes of a series in terms of nights."""
    return tuple(
        replace(
            change,
            split=places[change.split],
            first=(first := places[change.first - 1] + 1),
            last=places[change.last],
            median=places[(change.median or 0) - 1] if first < places[change.last] else None,
            alarm=places[(change.alarm or 0) - 1] + 1,
        )
        for change in every
    )


def _sum_of_parts(whole: Part, of_parts: Sequence[Change]) -> Part:
    """Return the time to the target with the changes of its parts, coinciding ones together."""
    merged: list[list[Change]] = []
    for border in sorted(of_parts, key=lambda border: border.split):
        if merged and border.first <= max(other.last for other in merged[-1]):
            merged[-1].append(border)
        else:
            merged.append([border])
    borders = [
        Change(
            split=min(group, key=lambda border: border.last - border.first).split,
            first=min(border.first for border in group),
            last=max(border.last for border in group),
            median=None,
            size=sum(border.size for border in group),
            low=sum(border.low for border in group),
            high=sum(border.high for border in group),
            drift=any(border.drift for border in group),
            autocorrelation=None,
            independent=all(border.independent for border in group),
            nights=max(border.nights for border in group),
        )
        for group in merged
    ]
    return replace(whole, borders=tuple(borders))
