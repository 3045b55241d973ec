"""Which factor each term of a sum contributes to the ratio of two sums."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ttastats.stats.logratio import LogTerm, ratio_of, remaining_factor, sum_factors
from ttastats.stats.moments import two_sided_t

A, B = [[6.0, 3.0, 1.0], [6.2, 3.1, 1.0]], [[4.0, 3.5, 0.0], [4.1, 3.3, 0.0], [4.2, 3.4, 0.0]]


def test_a_factor_is_that_of_the_published_formula() -> None:
    first = sum_factors([[6.0, 4.0]], [[5.0, 3.0]], confidence=0.95)[0]
    mean = (10 - 8) / (math.log(10) - math.log(8))
    assert first.estimate == pytest.approx(math.exp((6 - 5) / mean))
    assert (first.low, first.p_value) == (None, None)
    assert first.flags[0].code == "one_run"


def test_sums_that_are_equal_leave_changes_that_cancel() -> None:
    up, down, whole = sum_factors(
        [[6.0, 4.0], [6.1, 3.9]], [[5.0, 5.0], [5.1, 4.9]], confidence=0.95
    )
    assert whole.estimate == pytest.approx(1)
    assert up.estimate == pytest.approx(math.exp(0.1), rel=1e-3)
    assert up.estimate * (down.estimate or 0) == pytest.approx(1)
    near = sum_factors([[6.0, 4.0], [6.1, 3.9]], [[5.0, 5.0001], [5.1, 4.9001]], confidence=0.95)
    assert near[0].estimate == pytest.approx(up.estimate, rel=1e-4)
    assert near[0].se_log == pytest.approx(up.se_log, rel=1e-3)


def test_the_interval_of_the_sum_is_that_of_a_ratio_of_means() -> None:
    sums = [np.sum(side, axis=1) for side in (A, B)]
    terms = [LogTerm(x.mean(), x.var(ddof=1) / x.size / x.mean() ** 2, x.size - 1) for x in sums]
    other = ratio_of(*terms, 0.95, 2, 3)
    whole = sum_factors(A, B, confidence=0.95)[-1]
    assert (whole.low, whole.high, whole.df) == pytest.approx((other.low, other.high, other.df))


def test_what_is_left_of_a_ratio_has_the_noise_of_both() -> None:
    whole, part = (
        ratio_of(LogTerm(x, 0.01, 4), LogTerm(1, 0.02, 6), 0.9, 5, 7) for x in (1.3, 1.2)
    )
    left = remaining_factor(whole, part)
    assert left.estimate == pytest.approx(1.3 / 1.2)
    assert left.se_log == pytest.approx(math.sqrt(0.06))
    assert left.df is not None
    assert left.high == pytest.approx(
        1.3 / 1.2 * math.exp(two_sided_t(left.df, 0.9) * math.sqrt(0.06))
    )
    alone = ratio_of(LogTerm(1.2, None, 0), LogTerm(1, None, 0), 0.9, 1, 1)
    assert remaining_factor(whole, alone).low is None
    assert remaining_factor(whole, part).n_a == 5
