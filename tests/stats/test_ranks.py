"""Rank statistics against counting pairs and walking through all splits."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from statsmodels.stats.nonparametric import rank_compare_2indep

from ttastats.stats.permutation import mann_whitney_p, midranks, pair_wins


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


def test_midranks_share_ties_and_put_infinity_last() -> None:
    ranks = midranks(np.array([5.0, math.inf, 1.0, 5.0, math.inf, 2.0]))
    assert ranks.tolist() == [3.5, 5.5, 1.0, 3.5, 5.5, 2.0]


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


def test_separated_sides_and_tied_ones_have_an_effect_size_too() -> None:
    fast, slow = np.arange(1.0, 11.0), np.arange(101.0, 113.0)
    assert (pair_wins(slow, fast).estimate, pair_wins(fast, slow).estimate) == (1.0, 0.0)
    tied = pair_wins([7.0] * 10, [7.0] * 10)
    assert (tied.estimate, tied.wins, tied.pairs) == (0.5, 50.0, 100)
