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
    """Return the limits of a comparison of values at a budget, of sides of `at_budget.runs`.

    Beside the findings, the possible excess of either end of B minus A.
    """
    findings, slack = [*of_runs(design(a), design(b))], np.zeros(2)
    if a.height and b.height:
        for check_findings, ends in (_positions(a, b, budget), _best_values(a, b, budget)):
            findings += check_findings
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
        intervals = [median for runs in (a, b) if (median := _median_interval(runs)) is not None]
        if len(intervals) < 2 or max(intervals) < SAME_INTERVAL * min(intervals):
            return [], _NONE
        text = "A every {}, B every {}".format(*units.amounts(intervals, "seconds"))
        moves = [_column_mean(runs, "quality_change") for runs in (a, b)]
        return [Finding.worded("grids_differ.budget", "allowance", each=text)], within(*moves)
    ends = within(bend(a), bend(b)) if budget.interpolate else _NONE
    if evaluated_there(a, budget.amount) and evaluated_there(b, budget.amount):
        return [], ends
    if budget.interpolate:
        return [Finding.worded("interpolated", "allowance")], ends
    positions = np.concatenate([runs["taken_at"].to_numpy() for runs in (a, b)])
    interval = min(_median_interval(runs) or budget.amount for runs in (a, b))
    if np.ptp(positions) <= _SAME_PLACE * interval:
        position = units.mean_count(float(positions.mean()), AMOUNTS[budget.unit])
        return [Finding.worded("earlier_values", at=budget.place, where=position)], ends
    positions_text = f"A {places_taken(a, budget)}, B {places_taken(b, budget)}"
    remedy = common_budgets([a, b], budget)
    return [Finding.worded("not_evaluated", "undecided", each=positions_text, remedy=remedy)], ends


def within(move_a: float | None, move_b: float | None) -> tuple[float, float]:
    """Return the possible moves of the ends of B minus A, by those of each mean."""
    if move_a is None or move_b is None:
        return -math.inf, math.inf
    return min(move_b, 0.0) - max(move_a, 0.0), max(move_b, 0.0) - min(move_a, 0.0)


def _best_values(a: pl.DataFrame, b: pl.DataFrame, budget: Budget) -> _Limit:
    """Return a finding on best values: the best of more or of noisier evaluations is better."""
    if not budget.best:
        return [], _NONE
    findings, ends, optimism_a, optimism_b = list[Finding](), _NONE, _optimism(a), _optimism(b)
    if optimism_a is not None and optimism_b is not None:
        mean_a, mean_b = float(optimism_a.mean()), float(optimism_b.mean())
        findings = [Finding.worded("optimism_differs", "allowance", a=mean_a, b=mean_b)]
        gap = (mean_b - mean_a) * (-1.0 if is_upwards(a, b) else 1.0)
        # The noise is itself estimated from few runs.
        gap += math.copysign(
            math.hypot(_error_of_mean(optimism_a), _error_of_mean(optimism_b)), gap
        )
        ends = (min(gap, 0.0), max(gap, 0.0))
    looks = [float(np.median(runs["quality_seen"].to_numpy())) for runs in (a, b)]
    if max(looks) >= _SAME_LOOKS * min(looks):
        findings = [Finding.worded("looks_differ", "undecided", a=looks[0], b=looks[1])]
    return findings, ends


def evaluated_there(runs: pl.DataFrame, amount: float) -> bool:
    """Return whether all runs were evaluated exactly at the amount of a budget."""
    tolerance = _SAME_PLACE * (_median_interval(runs) or amount)
    return bool(((amount - runs["taken_at"]) <= tolerance).all())


def places_taken(runs: pl.DataFrame, budget: Budget) -> str:
    """Return the last positions of evaluations up to a budget: `at 400 steps`."""
    ends = runs["taken_at"].unique().sort()
    first, last = (
        units.mean_count(float(end), AMOUNTS[budget.unit]) for end in (ends[0], ends[-1])
    )
    return f"at {first}" if first == last else f"at {first} to {last}"


def common_budgets(sides: Sequence[pl.DataFrame], budget: Budget) -> str:
    """Return the budgets near this one at which all runs were evaluated, as advice."""
    positions = pl.concat([runs.select("places") for runs in sides], how="vertical_relaxed")
    rounded = pl.col("places").list.eval(pl.element().round_sig_figs(9)).list.unique()
    counts = positions.select(rounded).explode("places").drop_nulls()["places"].value_counts()
    common = counts.filter(pl.col("count") == positions.height)["places"].sort()
    amount = budget.amount
    near = [*common.filter(common < amount)[-1:], *common.filter(common > amount)[:1]]
    if not near:
        return "no budget is common to all runs, but --interpolate takes values between evaluations"
    options = [replace(budget, amount=value) for value in near]
    budget_texts = " and ".join(f"{option.place} ({option.option})" for option in options)
    return f"all runs were evaluated {budget_texts}; --interpolate takes values between evaluations"


def _median_interval(runs: pl.DataFrame) -> float | None:
    intervals = runs["taken_interval"].drop_nulls().to_numpy()
    return float(np.median(intervals)) if intervals.size else None


def _optimism(runs: pl.DataFrame) -> Floats | None:
    """Return the optimism of each run's best evaluation: its excess by chance.

    The largest of m independent normal values lies so many deviations above their mean
    (Blom 1958). None where runs have too few evaluations to tell their noise.
    """
    noise, near = (runs[name].cast(pl.Float64) for name in ("quality_noise", "quality_near"))
    if noise.null_count():
        return None
    quantiles: Floats = special.ndtri((near.to_numpy() - 0.375) / (near.to_numpy() + 0.25))
    return noise.to_numpy() * quantiles


def _error_of_mean(values: Floats) -> float:
    return float(values.std(ddof=1)) / math.sqrt(values.size) if values.size > 1 else math.inf


def bend(runs: pl.DataFrame) -> float | None:
    """Return the distance of the interpolated mean from the nearer line (`_positions`)."""
    bends = [_column_mean(runs, name) for name in ("bend_before", "bend_after")]
    return min((move for move in bends if move is not None), key=abs, default=None)


def _column_mean(runs: pl.DataFrame, name: str) -> float | None:
    values = runs[name].drop_nulls().to_numpy()
    return float(values.mean()) if values.size else None
