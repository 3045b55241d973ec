"""What keeps a comparison of values at a budget from a verdict?"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from ttastats.base import units
from ttastats.outcomes.budget import AMOUNTS, Budget
from ttastats.sides.design.checks import of_runs
from ttastats.sides.design.findings import Finding
from ttastats.sides.design.side import design

#: Places of evaluations that differ by less of the interval there are one place.
_SAME_PLACE = 0.05

#: Evaluation intervals in seconds follow the pace of a setup too: those within this are alike.
_SAME_SECONDS = 1.5

#: The best of so many times the evaluations is better by little more than chance.
_SAME_LOOKS = 1.25


def at_budget(a: pl.DataFrame, b: pl.DataFrame, budget: Budget) -> tuple[Finding, ...]:
    """Return what limits a comparison of values at a budget.

    The sides are tables of `at_budget.runs`.
    """
    findings = [*of_runs(design(a), design(b))]
    if a.height and b.height:
        findings += _position_findings(a, b, budget)
        places_a, places_b = (float(np.median(runs["quality_seen"].to_numpy())) for runs in (a, b))
        if budget.best and max(places_a, places_b) >= _SAME_LOOKS * min(places_a, places_b):
            findings.append(Finding.worded("looks_differ", "undecided", a=places_a, b=places_b))
    return tuple(findings)


def _position_findings(a: pl.DataFrame, b: pl.DataFrame, budget: Budget) -> Iterator[Finding]:
    """Yield findings on values that were not measured at the budget itself."""
    if budget.amount is None:
        return
    if budget.unit == "seconds" and not budget.interpolate:
        if _differ_in_seconds(a, b):
            each = _both_sides_text(
                a, b, lambda runs: f"every {units.seconds(_median_interval(runs) or 0.0)}"
            )
            yield Finding.worded("grids_differ.budget", "allowance", each=each)
        return
    places = np.concatenate([runs["taken_at"].to_numpy() for runs in (a, b)])
    if evaluated_there(a, budget) and evaluated_there(b, budget):
        return
    if budget.interpolate:
        yield Finding.worded("interpolated", "allowance")
    elif np.ptp(places) <= _SAME_PLACE * min(
        _median_interval(runs) or budget.amount for runs in (a, b)
    ):
        where = units.mean_count(float(places.mean()), AMOUNTS[budget.unit])
        yield Finding.worded("earlier_values", at=budget.place, where=where)
    else:
        each = _both_sides_text(a, b, lambda runs: places_taken(runs, budget))
        remedy = common_budgets([a, b], budget)
        yield Finding.worded("not_evaluated", "undecided", each=each, remedy=remedy)


def evaluated_there(runs: pl.DataFrame, budget: Budget) -> bool:
    """Return whether all runs were evaluated exactly at a budget."""
    amount = budget.amount or 0.0
    most = _SAME_PLACE * (_median_interval(runs) or amount)
    return bool(((amount - runs["taken_at"]) <= most).all())


def _both_sides_text(
    a: pl.DataFrame, b: pl.DataFrame, worded: Callable[[pl.DataFrame], str]
) -> str:
    return f"A {worded(a)}, B {worded(b)}"


def places_taken(runs: pl.DataFrame, budget: Budget) -> str:
    """Return where runs were last evaluated up to a budget: `at 400 steps`."""
    ends = runs["taken_at"].unique().sort()
    least, most = (
        units.mean_count(float(end), AMOUNTS[budget.unit]) for end in (ends[0], ends[-1])
    )
    return f"at {least}" if least == most else f"at {least} to {most}"


def common_budgets(sides: Sequence[pl.DataFrame], budget: Budget) -> str:
    """Return the budgets near this one at which all runs were evaluated, as advice."""
    every = pl.concat([runs.select("places") for runs in sides], how="vertical_relaxed")
    counts = (
        every.select(pl.col("places").list.eval(pl.element().round_sig_figs(9)).list.unique())
        .explode("places")
        .group_by("places")
        .len()
        .filter(pl.col("len") == every.height)
        .sort("places")["places"]
        .drop_nulls()
    )
    amount = budget.amount or 0.0
    near = [*counts.filter(counts < amount)[-1:], *counts.filter(counts > amount)[:1]]
    if not near:
        return "no budget is common to all runs, but --interpolate takes values between evaluations"
    options = [replace(budget, amount=place) for place in near]
    where = " and ".join(f"{option.place} ({option.option})" for option in options)
    return f"all runs were evaluated {where}; --interpolate takes values between evaluations"


def _median_interval(runs: pl.DataFrame) -> float | None:
    """Return the median evaluation interval around a budget; None if unknown."""
    known = runs["taken_interval"].drop_nulls()
    return float(np.median(known.to_numpy())) if known.len() else None


def _differ_in_seconds(a: pl.DataFrame, b: pl.DataFrame) -> bool:
    interval_a, interval_b = _median_interval(a), _median_interval(b)
    if interval_a is None or interval_b is None:
        return False
    return max(interval_a, interval_b) >= _SAME_SECONDS * min(interval_a, interval_b)


def slack(a: pl.DataFrame, b: pl.DataFrame, budget: Budget) -> tuple[float, float]:
    """Return by how much the ends of B minus A may be too high and too low.

    Of values known by a time, each side's mean may be any up to that of the next evaluation. Of
    interpolated ones it may be any up to the nearer of two lines, through the two evaluations
    before the budget and the two after it: a curve that bends one way lies between them.
    """
    if budget.amount is None or not a.height or not b.height:
        return 0.0, 0.0
    if budget.interpolate:
        moves = [bend(runs) for runs in (a, b)]
    elif budget.unit == "seconds" and _differ_in_seconds(a, b):
        moves = [_column_mean(runs, "quality_change") for runs in (a, b)]
    else:
        return 0.0, 0.0
    if None in moves:
        return -math.inf, math.inf
    move_a, move_b = (move or 0.0 for move in moves)
    return min(move_b, 0.0) - max(move_a, 0.0), max(move_b, 0.0) - min(move_a, 0.0)


def bend(runs: pl.DataFrame) -> float | None:
    """Return how far the mean of interpolated values may be off; None of too few evaluations.

    It is the distance to the nearer of the two lines that `slack` describes.
    """
    known = [_column_mean(runs, name) for name in ("bend_before", "bend_after")]
    return min((move for move in known if move is not None), key=abs, default=None)


def _column_mean(runs: pl.DataFrame, name: str) -> float | None:
    values = runs[name].drop_nulls()
    return float(values.to_numpy().mean()) if values.len() else None
