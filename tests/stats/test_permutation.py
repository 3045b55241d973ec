"""The permutation test against one that literally walks through all splits."""

from __future__ import annotations

import itertools
import math
import tracemalloc
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from scipy import stats

from ttastats.stats import permutation
from ttastats.stats.permutation import permutation_test, permute_scores


def walk(a: list[float], b: list[float], *, studentised: bool = False, logs: bool = True) -> float:
    """Return the two-sided p value by trying every split, in plain Python."""
    pooled = [math.log(x) if logs else x for x in a + b]

    def statistic(chosen: set[int]) -> float:
        left = [x for k, x in enumerate(pooled) if k in chosen]
        right = [x for k, x in enumerate(pooled) if k not in chosen]
        gap = abs(math.fsum(left) / len(left) - math.fsum(right) / len(right))
        if not studentised:
            return gap
        se2 = variance(left) / len(left) + variance(right) / len(right)
        if gap < 1e-12:
            return 0.0
        return math.inf if se2 == 0 else gap / math.sqrt(se2)

    def variance(x: list[float]) -> float:
        m = math.fsum(x) / len(x)
        return 0.0 if len(set(x)) == 1 else math.fsum((v - m) ** 2 for v in x) / (len(x) - 1)

    observed = statistic(set(range(len(a))))
    every = [
        statistic(set(chosen)) for chosen in itertools.combinations(range(len(pooled)), len(a))
    ]
    return sum(value >= observed * (1 - 1e-9) - 1e-12 for value in every) / len(every)


def of_logs(a: Sequence[float], b: Sequence[float], *, studentised: bool = False) -> float:
    return permute_scores(np.log([*a, *b]), len(a), studentised=studentised)


@pytest.mark.parametrize("sizes", [(1, 1), (1, 4), (4, 1), (3, 3), (3, 6), (6, 3), (5, 4)])
@pytest.mark.parametrize("tied", [False, True])
def test_p_is_the_share_of_all_splits_at_least_as_extreme(
    sizes: tuple[int, int], tied: bool
) -> None:
    rng = np.random.default_rng([*sizes, tied])
    for _ in range(5):
        pooled = rng.integers(2, 5, sum(sizes)) * 1.0 if tied else rng.lognormal(5, 0.3, sum(sizes))
        a, b = pooled[: sizes[0]].tolist(), pooled[sizes[0] :].tolist()
        plain = of_logs(a, b)
        assert plain == pytest.approx(walk(a, b))
        if min(sizes) > 1:
            studentised = of_logs(a, b, studentised=True)
            assert studentised == pytest.approx(walk(a, b, studentised=True))


@pytest.mark.parametrize(("size", "n"), [(6, 3), (7, 2), (9, 1), (5, 2)])
def test_random_splits_draw_every_choice_equally_often(size: int, n: int) -> None:
    names = np.array([[2.0**k for k in range(size)]])  # a sum names its members
    draws = 20_000
    sums = permutation._random_sums(names, n, np.random.default_rng(7), draws)
    seen = Counter(np.concatenate([chunk[0] for chunk in sums]).tolist())
    choices = [sum(2.0**k for k in c) for c in itertools.combinations(range(size), n)]
    assert set(seen) == set(choices)
    assert stats.chisquare([seen[c] for c in choices]).pvalue > 1e-4


def test_a_hundred_thousand_runs_a_side_fit_in_bounded_memory() -> None:
    rng = np.random.default_rng(3)
    a, b = rng.lognormal(0, 1, 100_000), rng.lognormal(0.012, 1, 100_000)
    tracemalloc.start()
    rng = np.random.default_rng(1)
    test = permute_scores(np.log([*a, *b]), len(a), rng=rng, draws=199)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    expected = stats.ttest_ind(np.log(a), np.log(b)).pvalue
    assert test == pytest.approx(expected, abs=0.05)
    assert peak < 60e6


def test_more_splits_than_can_be_enumerated_need_a_generator() -> None:
    values = np.linspace(1, 2, 11)
    with pytest.raises(ValueError, match="random generator"):
        permutation_test(values, values)


def test_equal_times_that_binary_fractions_cannot_hold_are_ties() -> None:
    assert permutation_test([0.1] * 4, [0.1] * 3) == 1.0
    assert permutation_test([0.1] * 4, [0.3] * 3) == pytest.approx(1 / 35)
    assert permute_scores(np.full(7, 1 / 3), 4, studentised=True) == 1.0


def test_the_number_of_splits_is_known_however_many_they_are() -> None:
    assert permutation.number_of_splits(10, 10) == math.comb(20, 10)
    exact = math.comb(1010, 30)
    assert permutation.number_of_splits(30, 980) == pytest.approx(float(exact), rel=1e-9)
    assert permutation.number_of_splits(100_000, 100_000) == 1e300
    assert permutation.number_of_splits(1, 2000) == pytest.approx(2001)
    assert 0 < permutation.smallest_p(10**6, 10**6) < 1e-299


def welch(a: list[float], b: list[float]) -> float:
    scores = np.log([*a, *b])
    features = np.stack([scores - scores.mean(), (scores - scores.mean()) ** 2])
    sums, totals = (part.sum(axis=1, keepdims=True) for part in (features[:, : len(a)], features))
    return float(permutation._difference(sums, totals, len(a), len(b))[0])


def test_a_studentised_split_is_welchs_t_and_infinite_without_spread() -> None:
    a, b = [3.0, 4.0, 3.5], [5.0, 9.0, 4.0, 7.0, 5.5]
    assert welch(a, b) == pytest.approx(stats.ttest_ind(*map(np.log, (a, b)), equal_var=False)[0])
    assert [welch([low] * 3, [0.7] * 5) for low in (0.1, 0.2, 0.6)] == [-math.inf] * 3
