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
from ttastats.stats.results import Floats


@dataclass(frozen=True, slots=True)
class PairWins:
    """Pairs of runs that B wins, ties counted half: ``estimate`` = ``wins`` / ``pairs``."""

    estimate: float
    wins: float
    pairs: int


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
) -> float:
    """Two-sided p of the Mann-Whitney test with ties (1947), sampled for large samples.

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
) -> PairWins:
    """P(B faster) and the won pairs (Brunner and Munzel 2000): an effect size, no test."""
    a = worst_rank_times(times_a, reached_a, "A")
    b = worst_rank_times(times_b, reached_b, "B")
    ranks, pairs = midranks(np.concatenate([a, b])), a.size * b.size
    wins = float(ranks[: a.size].sum()) - a.size * (a.size + 1) / 2
    return PairWins(wins / pairs, wins, pairs)
