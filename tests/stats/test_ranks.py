"""Rank statistics against counting pairs and walking through all splits."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from statsmodels.stats.nonparametric import rank_compare_2indep

from ttastats.stats.permutation import mann_whitney_p, pair_wins


def count_wins(a: list[float], b: list[float]) -> Fraction:
    return sum(
        (Fraction(1) if y < x else Fraction(1, 2) if y == x else Fraction(0)) for x in a for y in b
    ) + Fraction(0)


def walk(a: list[float], b: list[float]) -> float:
    pooled, n = a + b, len(a)
    middle = Fraction(n * len(b), 2)

    def distance(chosen: tuple[int, ...]) -> Fraction:
        left = [pooled[k] for k in chosen]
        right = [pooled[k] for k in range(len(pooled)) if k not in chosen]
        return abs(count_wins(left, right) - middle)

    observed = distance(tuple(range(n)))
    every = [distance(c) for c in itertools.combinations(range(len(pooled)), n)]
    return sum(value >= observed for value in every) / len(every)


@pytest.mark.parametrize("sizes", [(1, 1), (2, 4), (4, 4), (5, 3)])
@pytest.mark.parametrize("values", [3, 1000])
def test_exact_p_and_wins_are_those_of_counting(sizes: tuple[int, int], values: int) -> None:
    rng = np.random.default_rng([*sizes, values])
    for _ in range(5):
        a = rng.integers(1, values + 1, sizes[0]).astype(float).tolist()
        b = rng.integers(1, values + 1, sizes[1]).astype(float).tolist()
        test, wins = mann_whitney_p(a, b), pair_wins(a, b)
        assert test == pytest.approx(walk(a, b))
        assert (wins.wins, wins.pairs) == (count_wins(a, b), len(a) * len(b))
        assert wins.estimate == pytest.approx(float(count_wins(a, b)) / (len(a) * len(b)))


def test_failed_runs_rank_behind_every_success_whatever_their_time() -> None:
    wins = pair_wins([9.0, 8.0], [1.0, 2.0], reached_b=[False, False])
    assert wins.wins == 0
    both_failed = pair_wins([1.0], [2.0], reached_a=[False], reached_b=[False])
    assert both_failed.wins == 0.5


def test_the_share_of_wins_is_that_of_statsmodels() -> None:
    rng = np.random.default_rng(4)
    for sizes in ((10, 12), (15, 30)):
        a, b = rng.integers(1, 9, sizes[0]) * 1.0, rng.integers(2, 10, sizes[1]) * 1.0
        theirs = rank_compare_2indep(a, b)
        assert pair_wins(a, b).estimate == pytest.approx(theirs.prob1)
