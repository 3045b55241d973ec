"""What `ttastats compare` shows and says about two samples.

The functions of `ttastats.sides.comparison` that decide are called as they stand. The permutation
test is left out where it cannot change the word: it decides only where there is no variance at all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from benchmarks.coverage.shapes import Runs
from ttastats.sides.comparison import in_blocks, second_opinion
from ttastats.sides.design import checks, findings
from ttastats.sides.design import side as side_design
from ttastats.stats.decision import Decision, decide, decide_by_fraction
from ttastats.stats.outcomes import Epochs, Outcomes, outcomes
from ttastats.stats.results import Ratio
from ttastats.stats.speedup import Speedup, speedup

Limits = tuple[float, float]

Mark = Literal["", "‡", "†"]
"""What a claim depends on: nothing, no stragglers alone, or constant epochs (and the rest)."""


@dataclass(frozen=True, slots=True)
class Shown:
    """The interval that is printed, two that allow for more, and the verdict.

    `deciding` allows for unseen epochs, `robust` for unseen stragglers and failures too: a
    claim that it supports carries no mark.
    """

    printed: Limits | None
    deciding: Limits | None
    robust: Limits | None
    verdict: Decision


Judge = Callable[[Runs, Runs, float], Shown]


def judge(a: Runs, b: Runs, margin: float = 0.01) -> Shown:
    """Judge B against A as `compare` judges a single benchmark."""
    one, other = side(a), side(b)
    if not (one.n_reached and other.n_reached):
        counts = (one.n_reached, one.n, other.n_reached, other.n)
        return Shown(None, None, None, decide_by_fraction(*counts, margin=margin))
    found = measured(a, b)
    p = found.ratio.p_value
    verdict = decide(
        found,
        margin=margin,
        p_value=p,
        p_permutation=None if p is not None else second_opinion(one, other, 0),
    )
    level = found.ratio.confidence
    if one.blocks is not None and other.blocks is not None:
        blocks = findings.these_blocks(in_blocks(one, other), p, p, round(1 - level, 12))
        verdict = findings.judged(verdict, list(blocks))
    return Shown(
        limits(found.ratio),
        found.limits(level, epochs=True),
        found.limits(level, epochs=True, stragglers=True),
        verdict,
    )


def directed(verdict: Decision) -> bool:
    """Whether a verdict says faster or slower."""
    return verdict.word in {"faster", "slower"}


def not_slower(verdict: Decision) -> bool:
    """Whether a verdict says that B is not slower by more than the margin."""
    return verdict.word in {"faster", "same"} or verdict.claim.startswith("not slower")


def mark(verdict: Decision) -> Mark:
    """Give the mark that says most of what a claim depends on."""
    if verdict.dagger:
        return "†"
    return "‡" if verdict.conditions else ""


def side(runs: Runs) -> Outcomes:
    """Give one side as `compare` makes it from a table."""
    if runs.epochs is None:
        return outcomes(runs.times, runs.reached, clusters=runs.clusters, blocks=runs.blocks)
    progress = Epochs(runs.epochs[runs.reached], runs.evaluation_interval)
    return outcomes(
        runs.times, runs.reached, progress=progress, clusters=runs.clusters, blocks=runs.blocks
    )


def measured(a: Runs, b: Runs) -> Speedup:
    """Give the speedup that `compare` shows: of means, or of expected times if runs failed."""
    return speedup(side(a), side(b), late=checks.late(_design(a), _design(b)))


def _design(runs: Runs) -> side_design.Design:
    """Return how often runs were evaluated, as `compare` reads it from a table."""
    if runs.epochs is None or not runs.evaluation_interval or not runs.reached.any():
        return side_design.Design()
    interval = runs.evaluation_interval
    share = float(interval / runs.epochs[runs.reached].mean())
    return side_design.Design(grids={"epochs": side_design.Grid(interval, share)})


def limits(ratio: Ratio) -> Limits | None:
    """Give the ends of an interval, None where there is none."""
    return None if ratio.low is None or ratio.high is None else (ratio.low, ratio.high)
