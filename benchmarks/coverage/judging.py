"""What `ttastats compare` shows and says about two samples.

The functions of `ttastats.sides` that measure and judge are called as they stand, without what does
not change the word.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from benchmarks.coverage.shapes import Runs
from ttastats.sides import comparison
from ttastats.sides import design as side_design
from ttastats.sides.contrast import with_verdicts
from ttastats.sides.numbers import SideNumbers
from ttastats.sides.options import Options
from ttastats.stats.decision import Decision
from ttastats.stats.outcomes import Epochs, Outcomes, make_outcomes
from ttastats.stats.results import Ratio

Limits = tuple[float, float]

Mark = Literal["", "‡", "†"]
"""What a claim depends on: nothing, no stragglers or unequal sides, constant epochs and all."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """The interval that is printed, two that allow for more, and the verdict.

    `deciding` allows for unseen epochs, `robust` for unseen stragglers and failures too: a
    claim that it supports carries no mark.
    """

    printed: Limits | None
    deciding: Limits | None
    robust: Limits | None
    verdict: Decision


Judge = Callable[[Runs, Runs, float], Judgement]


def judge(a: Runs, b: Runs, margin: float = 0.01) -> Judgement:
    """Judge B against A as `compare` judges a single benchmark."""
    (contrast,) = with_verdicts([measured(a, b)], Options(margin=margin), margin)
    speedup = contrast.speedup
    if speedup is None:
        return Judgement(None, None, None, contrast.verdict)
    level = speedup.ratio.confidence
    return Judgement(
        limits(speedup.ratio),
        speedup.limits(level, epochs=True),
        speedup.limits(level, epochs=True, stragglers=True),
        contrast.verdict,
    )


def directed(verdict: Decision) -> bool:
    """Whether a verdict says faster or slower."""
    return verdict.word.directed


def not_slower(verdict: Decision) -> bool:
    """Whether a verdict says that B is not slower by more than the margin."""
    return verdict.word in {"faster", "same"} or verdict.claim.startswith("not slower")


def mark(verdict: Decision) -> Mark:
    """Return the mark of the strongest condition of a claim."""
    if verdict.assumes_constant_epochs:
        return "†"
    return "‡" if verdict.conditions else ""


def side(runs: Runs) -> Outcomes:
    """Return one side as `compare` makes it from a table."""
    if runs.epochs is None:
        return make_outcomes(runs.times, runs.reached, clusters=runs.clusters, blocks=runs.blocks)
    progress = Epochs(runs.epochs[runs.reached], runs.evaluation_interval)
    return make_outcomes(
        runs.times, runs.reached, progress=progress, clusters=runs.clusters, blocks=runs.blocks
    )


def measured(a: Runs, b: Runs) -> comparison.Comparison:
    """Return the comparison behind a verdict of `compare`."""
    return comparison.measure(
        comparison.Comparison({}, numbers(a), numbers(b)), Options(), brief=True
    )


def numbers(runs: Runs) -> SideNumbers:
    """Return the numbers of one side with its evaluation interval, as `compare` reads them."""
    grids, interval = {}, runs.evaluation_interval
    if runs.epochs is not None and interval and runs.reached.any():
        share = float(interval / runs.epochs[runs.reached].mean())
        grids = {"epochs": side_design.Grid(interval, share)}
    design = side_design.Design(grids=grids, blocked=runs.blocks is not None)
    outcomes = side(runs)
    return SideNumbers(outcomes.n, outcomes, design=design)


def limits(ratio: Ratio) -> Limits | None:
    """Return the ends of an interval, None where there is none."""
    return None if ratio.low is None or ratio.high is None else (ratio.low, ratio.high)
