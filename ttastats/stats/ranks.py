"""Which side wins when a run of A meets a run of B.

Ranks ask who is first, not by how much: with two-valued epochs they may call a difference
where the mean times are equal. An effect size and a second opinion, never the verdict.
Failed runs rank behind every success.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ttastats.stats.moments import as_outcomes, as_side
from ttastats.stats.permutation import DRAWS, permute_scores
from ttastats.stats.quantiles import check_confidence, two_sided_t
from ttastats.stats.results import Flag, Floats, Significance

RUNS_FOR_INTERVAL = 10
"""Runs per side from which the logit interval holds its confidence."""


@dataclass(frozen=True, slots=True)
class PairWins:
    """Pairs of runs that B wins, ties counted half: ``estimate`` = ``wins`` / ``pairs``."""

    estimate: float
    low: float | None
    high: float | None
    confidence: float
    wins: float
    pairs: int
    n_a: int
    n_b: int
    flags: tuple[Flag, ...]


def midranks(values: Floats) -> Floats:
    """Ranks from 1, ties sharing the mean of theirs; infinite values are tied last."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks: Floats = ((last - counts + 1 + last) / 2)[inverse]
    return ranks


def worst_rank_times(times: ArrayLike, reached: ArrayLike | None, name: str = "A") -> Floats:
    """Put infinity for the runs of one side that failed."""
    if reached is None:
        return as_side(times, name)
    sample, success = as_outcomes(times, reached, name)
    return np.where(success, sample, math.inf)


def mann_whitney(
    times_a: ArrayLike,
    times_b: ArrayLike,
    *,
    reached_a: ArrayLike | None = None,
    reached_b: ArrayLike | None = None,
    rng: np.random.Generator | None = None,
    draws: int = DRAWS,
) -> Significance:
    """Mann-Whitney test with ties, exact by enumeration (1947), sampled for large samples.

    Failed runs (``reached`` false) rank last and tie.
    """
    a = worst_rank_times(times_a, reached_a, "A")
    b = worst_rank_times(times_b, reached_b, "B")
    return permute_scores(midranks(np.concatenate([a, b])), a.size, rng=rng, draws=draws)


def pair_wins(
    times_a: ArrayLike,
    times_b: ArrayLike,
    *,
    reached_a: ArrayLike | None = None,
    reached_b: ArrayLike | None = None,
    confidence: float = 0.95,
) -> PairWins:
    """P(B faster) and the won pairs; an interval from 10 runs a side on.

    The interval is Brunner and Munzel's (2000) on the logit scale. When the sides are
    completely separated, where that has no variance, it comes from the fact that
    min(n_A, n_B) independent pairs all had the same winner (Clopper and Pearson 1934).
    """
    a = worst_rank_times(times_a, reached_a, "A")
    b = worst_rank_times(times_b, reached_b, "B")
    placement = _placements(a, b)
    limits, flags = _win_limits(placement, check_confidence(confidence))
    return PairWins(
        estimate=placement.wins / (a.size * b.size),
        low=limits[0],
        high=limits[1],
        confidence=confidence,
        wins=placement.wins,
        pairs=a.size * b.size,
        n_a=a.size,
        n_b=b.size,
        flags=flags,
    )


@dataclass(frozen=True, slots=True)
class _Placement:
    """Wins of B and the standard error and df of their share, after Brunner and Munzel."""

    wins: float
    share: float
    se: float | None
    df: float | None
    n_a: int
    n_b: int


def _placements(a: Floats, b: Floats) -> _Placement:
    ranks = midranks(np.concatenate([a, b]))
    wins = float(ranks[: a.size].sum()) - a.size * (a.size + 1) / 2
    share = wins / (a.size * b.size)
    if min(a.size, b.size) < 2:
        return _Placement(wins, share, None, None, a.size, b.size)
    # Of every run, the share of the other side that it beats; the variances of those.
    part_a = float(np.var((ranks[: a.size] - midranks(a)) / b.size, ddof=1)) / a.size
    part_b = float(np.var((ranks[a.size :] - midranks(b)) / a.size, ddof=1)) / b.size
    if part_a + part_b == 0.0:
        return _Placement(wins, share, 0.0, None, a.size, b.size)
    df = (part_a + part_b) ** 2 / (part_a**2 / (a.size - 1) + part_b**2 / (b.size - 1))
    return _Placement(wins, share, math.sqrt(part_a + part_b), df, a.size, b.size)


def _win_limits(
    placement: _Placement, confidence: float
) -> tuple[tuple[float | None, float | None], tuple[Flag, ...]]:
    fewest = min(placement.n_a, placement.n_b)
    if fewest < RUNS_FOR_INTERVAL:
        message = f"{RUNS_FOR_INTERVAL} runs per side needed for an interval, have {fewest}"
        return (None, None), (Flag("few_runs", message),)
    share = placement.share
    if share in (0.0, 1.0):
        bound = ((1 - confidence) / 2) ** (1 / fewest)
        return ((bound, 1.0) if share else (0.0, 1 - bound)), (_separated(),)
    if placement.se is None or placement.df is None:
        return (None, None), (Flag("zero_variance", "all runs are tied: no interval"),)
    half = two_sided_t(placement.df, confidence) * placement.se / (share * (1 - share))
    logit = math.log(share / (1 - share))
    return (_expit(logit - half), _expit(logit + half)), ()


def _expit(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x > -700 else 0.0


def _separated() -> Flag:
    message = "every run of one side beats every run of the other: use the exact p"
    return Flag("separated", message)
