"""Where common library calls give a wrong answer or none, so that our own code stands instead."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import special, stats

from ttastats.stats.permutation import permute_scores

EQUAL, HALF = [100.0] * 5, [50.0] * 5
A, B = [5026.956, 4206.159, 4245.258], [3547.2, 3721.3, 3701.0, 3442.5, 3531.1, 3600.5, 4150.3]


def permuted() -> float:
    def statistic(x: np.ndarray, y: np.ndarray) -> float:
        return float(np.mean(x) - np.mean(y))

    return float(
        stats.permutation_test((np.log(A), np.log(B)), statistic, n_resamples=np.inf).pvalue
    )


#: What a library answers now, and whether that is (still) wrong.
TRAPS: dict[str, Callable[[], bool]] = {
    "the exact Mann-Whitney test ignores ties: 11/21": lambda: (
        stats.mannwhitneyu([3, 3, 4, 3, 3], [3, 4, 4, 3, 4], method="exact").pvalue
        == pytest.approx(0.42063492063)
    ),
    "a t test without variance is certain": lambda: (
        not 0 < stats.ttest_ind(EQUAL, HALF, equal_var=False).pvalue < 1
    ),
    "a t test of equal times is nan": lambda: math.isnan(
        stats.ttest_ind(EQUAL, EQUAL, equal_var=False).pvalue
    ),
    "the BCa bootstrap of equal times is nan": lambda: math.isnan(
        stats.bootstrap((EQUAL,), np.mean, method="BCa", rng=np.random.default_rng(0))
        .confidence_interval.low
    ),
    "the noncentral t is nan far out": lambda: bool(
        np.isnan(stats.nct.cdf([-2.1, 2.1], 18, [[38.0], [40.0], [50.0]])).any()
    ),
    "the noncentral t that we use is nan in tails of zero": lambda: bool(
        np.isnan(special.nctdtr(18, np.linspace(5, 45, 200), -2.1)).any()
    ),
    "a two-sided permutation test doubles the smaller tail": lambda: (
        permuted() == pytest.approx(2 / 120)
    ),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("trap", TRAPS)
def test_our_own_code_is_still_needed(trap: str) -> None:
    if not TRAPS[trap]():
        pytest.skip("this release of the library answers correctly: our own code may go")


def test_a_two_sided_p_counts_splits_by_their_size() -> None:
    assert permute_scores(np.log([*A, *B]), len(A)) == pytest.approx(1 / 120)
