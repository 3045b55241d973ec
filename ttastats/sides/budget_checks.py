"""What limits a comparison of qualities at a budget: evaluations elsewhere, or the best of them?"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import polars as pl
from msgspec.structs import replace
from scipy import special

from ttastats.base import units
from ttastats.outcomes.budget import AMOUNTS, Budget
from ttastats.outcomes.target import is_upwards
from ttastats.sides.checks import SAME_INTERVAL, of_runs
from ttastats.sides.design import design
from ttastats.sides.findings import Finding
from ttastats.stats.results import Floats

#: Places of evaluations that differ by less of the interval there are one place.
_SAME_PLACE = 0.05

#: The best of so many times the evaluations is better by little more than chance.
_SAME_LOOKS = 1.25


def at_budget(
    a: pl.DataFrame, b: pl.DataFrame, budget: Budget
) -> tuple[tuple[Finding, ...], tuple[float, float]]:
    """Return what limits a comparison of values at a budget, of sides of `at_budget.runs`.

    Beside the findings, by how much the ends of B minus A may be too high and too low.
    """
    findings, slack = [*of_runs(design(a), design(b))], np.zeros(2)
    if a.height and b.height:
        for found, ends in (_positions(a, b, budget), _best_values(a, b, budget)):
            findings += found
            slack += ends
    return tuple(findings), (float(slack[0]), float(slack[1]))


#: What was found, if anything, and by how much the ends of B minus A may lie lower and higher.
_Limit = tuple[list[Finding], tuple[float, float]]
_NONE: tuple[float, float] = (0.0, 0.0)


def _positions(a: pl.DataFrame, b: pl.DataFrame, budget: Budget) -> _Limit:
    """Return a finding if values at a budget are of evaluations elsewhere.

    Of values known by a time, each side's mean may be any up to that of the next evaluation. Of
    interpolated ones it may be any up to the nearer of two lines, through the two evaluations
    before the budget and the two after it: a curve that bends one way lies between them.
    """
    if budget.amount is None:
        return [], _NONE
    if budget.unit == "seconds" and not budget.interpolate:
        known = [each for runs in (a, b) if (each := _median_interval(runs)) is not None]
        if len(known) < 2 or max(known) < SAME_INTERVAL * min(known):
            return [], _NONE
        every = "A every {}, B every {}".format(*units.amounts(known, "seconds"))
        moves = [_column_mean(runs, "quality_change") for runs in (a, b)]
        return [Finding.worded("grids_differ.budget", "allowance", each=every)], within(*moves)
    ends = within(bend(a), bend(b)) if budget.interpolate else _NONE
    if evaluated_there(a, budget.amount) and evaluated_there(b, budget.amount):
        return [], ends
    if budget.interpolate:
        return [Finding.worded("interpolated", "allowance")], ends
    places = np.concatenate([runs["taken_at"].to_numpy() for runs in (a, b)])
    interval = min(_median_interval(runs) or budget.amount for runs in (a, b))
    if np.ptp(places) <= _SAME_PLACE * interval:
        where = units.mean_count(float(places.mean()), AMOUNTS[budget.unit])
        return [Finding.worded("earlier_values", at=budget.place, where=where)], ends
    taken = f"A {places_taken(a, budget)}, B {places_taken(b, budget)}"
    remedy = common_budgets([a, b], budget)
    return [Finding.worded("not_evaluated", "undecided", each=taken, remedy=remedy)], ends


def within(move_a: float | None, move_b: float | None) -> tuple[float, float]:
    """Return by how much the ends of B minus A may move if each mean moves by up to so much."""
    if move_a is None or move_b is None:
        return -math.inf, math.inf
    return min(move_b, 0.0) - max(move_a, 0.0), max(move_b, 0.0) - min(move_a, 0.0)


def _best_values(a: pl.DataFrame, b: pl.DataFrame, budget: Budget) -> _Limit:
    """Return a finding on best values: the best of more or of noisier evaluations is better."""
    if not budget.best:
        return [], _NONE
    found, ends, of_a, of_b = list[Finding](), _NONE, _optimism(a), _optimism(b)
    if of_a is not None and of_b is not None:
        mean_a, mean_b = float(of_a.mean()), float(of_b.mean())
        found = [Finding.worded("optimism_differs", "allowance", a=mean_a, b=mean_b)]
        gap = (mean_b - mean_a) * (-1.0 if is_upwards(a, b) else 1.0)
        # The noise is itself estimated from few runs.
        gap += math.copysign(math.hypot(_error_of_mean(of_a), _error_of_mean(of_b)), gap)
        ends = (min(gap, 0.0), max(gap, 0.0))
    looks = [float(np.median(runs["quality_seen"].to_numpy())) for runs in (a, b)]
    if max(looks) >= _SAME_LOOKS * min(looks):
        found = [Finding.worded("looks_differ", "undecided", a=looks[0], b=looks[1])]
    return found, ends


def evaluated_there(runs: pl.DataFrame, amount: float) -> bool:
    """Return whether all runs were evaluated exactly at the amount of a budget."""
    most = _SAME_PLACE * (_median_interval(runs) or amount)
    return bool(((amount - runs["taken_at"]) <= most).all())


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
    rounded = pl.col("places").list.eval(pl.element().round_sig_figs(9)).list.unique()
    counts = every.select(rounded).explode("places").drop_nulls()["places"].value_counts()
    common = counts.filter(pl.col("count") == every.height)["places"].sort()
    amount = budget.amount
    near = [*common.filter(common < amount)[-1:], *common.filter(common > amount)[:1]]
    if not near:
        return "no budget is common to all runs, but --interpolate takes values between evaluations"
    options = [replace(budget, amount=place) for place in near]
    where = " and ".join(f"{option.place} ({option.option})" for option in options)
    return f"all runs were evaluated {where}; --interpolate takes values between evaluations"


def _median_interval(runs: pl.DataFrame) -> float | None:
    known = runs["taken_interval"].drop_nulls().to_numpy()
    return float(np.median(known)) if known.size else None


def _optimism(runs: pl.DataFrame) -> Floats | None:
    """Return by how much the best of each run's evaluations is too good by chance.

    The largest of m independent normal values lies so many deviations above their mean
    (Blom 1958). None where runs have too few evaluations to tell their noise.
    """
    noise, near = (runs[name].cast(pl.Float64) for name in ("quality_noise", "quality_near"))
    if noise.null_count():
        return None
    above: Floats = special.ndtri((near.to_numpy() - 0.375) / (near.to_numpy() + 0.25))
    return noise.to_numpy() * above


def _error_of_mean(values: Floats) -> float:
    return float(values.std(ddof=1)) / math.sqrt(values.size) if values.size > 1 else math.inf


def bend(runs: pl.DataFrame) -> float | None:
    """Return how far the mean of interpolated values is from the nearer line (`_positions`)."""
    known = [_column_mean(runs, name) for name in ("bend_before", "bend_after")]
    return min((move for move in known if move is not None), key=abs, default=None)


def _column_mean(runs: pl.DataFrame, name: str) -> float | None:
    values = runs[name].drop_nulls().to_numpy()
    return float(values.mean()) if values.size else None
