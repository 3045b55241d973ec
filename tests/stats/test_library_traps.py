"""Where common library calls give a wrong answer or none, and what we say instead.

Each test first holds our answer against the right one. What the library says is asserted
too, through ``still``: when a release has put it right, the test is skipped with the advice
that our own code may go.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Iterator

import numpy as np
import pytest
from scipy import stats

from ttastats.stats import permutation, power, speedup
from ttastats.stats.variation import cv_interval


@pytest.fixture(autouse=True)
def _library_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def still(wrong: bool) -> None:
    if not wrong:
        pytest.skip("this release of the library answers correctly: our own code may go")


def test_mann_whitney_ignores_ties_in_scipys_exact_method() -> None:
    a, b = [3.0, 3, 4, 3, 3], [3.0, 4, 4, 3, 4]
    assert permutation.mann_whitney_p(a, b) == pytest.approx(11 / 21)
    still(stats.mannwhitneyu(a, b, method="exact").pvalue == pytest.approx(0.42063492063))
    still(stats.mannwhitneyu(a, b).pvalue == pytest.approx(0.27034414065))


def test_a_t_test_without_variance_is_nan_or_certain() -> None:
    ours = speedup.ratio_of_means([100.0] * 5, [50.0] * 5)
    assert (ours.p_value, ours.low, ours.high) == (None, 2.0, 2.0)
    assert speedup.ratio_of_means([100.0] * 5, [100.0] * 5).p_value == 1.0
    still(not 0 < stats.ttest_ind([100.0] * 5, [50.0] * 5, equal_var=False).pvalue < 1)
    still(math.isnan(stats.ttest_ind([100.0] * 5, [100.0] * 5, equal_var=False).pvalue))


def test_the_bca_bootstrap_is_nan_on_equal_times_where_ours_is_left_out() -> None:
    ours = cv_interval([0.1] * 5)
    assert (ours.low, ours.withheld) == (None, "repeated_times")
    theirs = stats.bootstrap(([0.1] * 5,), np.mean, method="BCa", rng=np.random.default_rng(0))
    still(math.isnan(theirs.confidence_interval.low))


def test_the_noncentral_t_is_nan_far_out() -> None:
    # Log standard deviations of 1 and 10 runs per side: the noncentrality is 38 and 50.
    for shift in (38.0, 50.0):
        found = power.power_of_effect(shift / math.sqrt(5), 10, math.sqrt(math.e - 1), 0.05)
        assert found == pytest.approx(1.0)
    tails = [
        stats.nct.cdf(x, df, shift)
        for x in (-2.1, 2.1)
        for df in (4, 8, 18)
        for shift in (38.0, 40.0, 50.0)
    ]
    still(any(math.isnan(tail) for tail in tails))


def test_the_noncentral_t_we_do_use_is_nan_in_tails_that_are_zero() -> None:
    from scipy import special

    tails = [special.nctdtr(18, shift, -2.1) for shift in np.linspace(5, 45, 200)]
    still(any(math.isnan(tail) for tail in tails))
    powers = [
        power.power_of_effect(shift / math.sqrt(5), 10, math.sqrt(math.e - 1), 0.05)
        for shift in np.linspace(5, 45, 200)
    ]
    assert min(powers) > 0.99


def test_two_sided_permutation_means_twice_the_smaller_tail_in_scipy() -> None:
    a, b = [5026.956, 4206.159, 4245.258], [3547.2, 3721.3, 3701.0, 3442.5, 3531.1, 3600.5, 4150.3]
    ours = permutation.permute_scores(np.log([*a, *b]), len(a))
    assert ours == pytest.approx(1 / 120)
    theirs = stats.permutation_test(
        (np.log(a), np.log(b)), lambda x, y: np.mean(x) - np.mean(y), n_resamples=np.inf
    )
    still(theirs.pvalue == pytest.approx(2 / 120))


def test_a_strict_comparison_loses_the_mirrored_split_to_rounding() -> None:
    """The mirrored split of 90..95 against five times 100 differs by an ulp: 1/252 is wrong."""
    a, b = [90.0, 92, 95, 91, 93], [100.0] * 5
    assert permutation.permutation_test(a, b) == pytest.approx(2 / 252)
    logs = np.log(np.array(a + b))
    gaps = []
    for chosen in itertools.combinations(range(10), 5):
        rest = [k for k in range(10) if k not in chosen]
        gaps.append(abs(logs[list(chosen)].sum() / 5 - logs[rest].sum() / 5))
    observed = abs(np.mean(np.log(a)) - np.mean(np.log(b)))
    assert sum(gap >= observed - 1e-9 for gap in gaps) == 2
