"""What `ttastats compare` shows and says about two samples.

The functions of `ttastats.comparison` that decide are called as they stand. The permutation test
is left out where it cannot change the word: it decides only where there is no variance at all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.coverage.shapes import Runs
from ttastats.comparison import second_opinion
from ttastats.stats.outcomes import Epochs, Outcomes, outcomes
from ttastats.stats.results import Ratio
from ttastats.stats.speedup import Speedup, speedup
from ttastats.stats.verdict import Verdict, decide, decide_by_fraction

Limits = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Shown:
    """The interval that is printed, the one that decides, and the verdict.

    They differ where a side's epochs did not vary: then the epoch-safe interval decides.
    """

    printed: Limits | None
    deciding: Limits | None
    verdict: Verdict


Judge = Callable[[Runs, Runs, float], Shown]


def judge(a: Runs, b: Runs, margin: float = 0.01) -> Shown:
    """Judge B against A as `compare` judges a single benchmark."""
    one, other = side(a), side(b)
    if not (one.n_reached and other.n_reached):
        counts = (one.n_reached, one.n, other.n_reached, other.n)
        return Shown(None, None, decide_by_fraction(*counts, margin=margin))
    found = speedup(one, other)
    p = found.ratio.p_value
    verdict = decide(
        found,
        margin=margin,
        p_value=p,
        p_permutation=None if p is not None else second_opinion(one, other, 0),
    )
    deciding = found.limits(found.ratio.confidence, epochs=True)
    return Shown(limits(found.ratio), deciding, verdict)


def side(runs: Runs) -> Outcomes:
    """Give one side as `compare` makes it from a table."""
    if runs.epochs is None:
        return outcomes(runs.times, runs.reached, clusters=runs.clusters)
    progress = Epochs(runs.epochs[runs.reached], runs.quantum)
    return outcomes(runs.times, runs.reached, progress=progress, clusters=runs.clusters)


def measured(a: Runs, b: Runs) -> Speedup:
    """Give the speedup that `compare` shows: of means, or of expected times if runs failed."""
    return speedup(side(a), side(b))


def limits(ratio: Ratio) -> Limits | None:
    """Give the ends of an interval, None where there is none."""
    return None if ratio.low is None or ratio.high is None else (ratio.low, ratio.high)
