"""Differences within blocks: against other programs, without blocks, and where there is little."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats

from ttastats.stats.blocks import difference_within_blocks, differences_by_block
from ttastats.stats.means import mean_difference
from ttastats.stats.outcomes import Outcomes, make_outcomes
from ttastats.stats.permutation import (
    number_of_splits_within,
    permute_within_blocks,
)
from ttastats.stats.speedup import compute_speedup

BLOCKS_A = np.array([0, 0, 0, 1, 1, 2])
BLOCKS_B = np.array([0, 1, 1, 2])
A = np.array([3.1, 2.8, 3.3, 4.1, 4.4, 2.2])
B = np.array([2.9, 3.9, 4.2, 2.4])
Y, OF_B = np.concatenate([A, B]), np.repeat([0.0, 1.0], [6, 4])
DESIGN = np.column_stack(
    [OF_B, *((np.concatenate([BLOCKS_A, BLOCKS_B]) == k).astype(float) for k in range(3))]
)


def both() -> tuple[Outcomes, Outcomes]:
    return make_outcomes(A, blocks=BLOCKS_A), make_outcomes(B, blocks=BLOCKS_B)


def slow_se(y: np.ndarray) -> float:
    """Return the standard error by matrices, with a variance for each side from its residuals."""
    projection = np.linalg.pinv(DESIGN)
    left = np.eye(10) - DESIGN @ projection
    residuals, weights = left @ y, projection[0]
    variance = 0.0
    for side in (OF_B == 0, OF_B == 1):
        spread = (residuals[side] ** 2).sum() / np.diag(left)[side].sum()
        variance += spread * (weights[side] ** 2).sum()
    return float(np.sqrt(variance))


def test_a_difference_is_least_squares_with_a_variance_a_side() -> None:
    fitted = sm.OLS(Y, DESIGN).fit()
    difference = mean_difference(A, B, blocks=(BLOCKS_A, BLOCKS_B), confidence=0.95)
    assert (difference.estimate, difference.se) == pytest.approx((fitted.params[0], slow_se(Y)))
    assert 3 < difference.df < fitted.df_resid
    logs = compute_speedup(*both(), estimand="geomean", confidence=0.95).ratio
    assert logs.estimate == pytest.approx(np.exp(-sm.OLS(np.log(Y), DESIGN).fit().params[0]))
    assert logs.se_log == pytest.approx(slow_se(np.log(Y)))


def test_a_ratio_of_means_is_that_of_a_gamma_model() -> None:
    family = sm.families.Gamma(sm.families.links.Log())
    fitted = sm.GLM(Y, DESIGN, family=family).fit(tol=1e-14)
    ratio = compute_speedup(*both(), estimand="mean", confidence=0.95).ratio
    assert ratio.estimate == pytest.approx(np.exp(-fitted.params[0]))


def test_whether_blocks_differ_is_the_f_test_of_an_interaction() -> None:
    more = np.column_stack([DESIGN, DESIGN[:, [0]] * DESIGN[:, [2, 3]].reshape(-1, 2)])
    test = sm.OLS(Y, more).fit().compare_f_test(sm.OLS(Y, DESIGN).fit())
    result = differences_by_block(A, B, (BLOCKS_A, BLOCKS_B))
    assert result.p_value == pytest.approx(test[1])
    assert result.differences[1] == pytest.approx(4.05 - 4.25)


@pytest.mark.parametrize("estimand", ["mean", "geomean"])
@pytest.mark.parametrize("fails", [False, True])
def test_one_block_is_no_block(estimand: str, fails: bool) -> None:
    reached = A > 2.5 if fails else np.ones(6, dtype=bool)
    plain = compute_speedup(
        make_outcomes(A, reached), make_outcomes(B), estimand=estimand, confidence=0.95
    )  # type: ignore[arg-type]
    zeros = (np.zeros(6, dtype=np.intp), np.zeros(4, dtype=np.intp))
    sides = make_outcomes(A, reached, blocks=zeros[0]), make_outcomes(B, blocks=zeros[1])
    speedup = compute_speedup(*sides, estimand=estimand, confidence=0.95)  # type: ignore[arg-type]
    for name in ("estimate", "low", "high", "p_value", "df"):
        assert getattr(speedup.ratio, name) == pytest.approx(getattr(plain.ratio, name)), name
    limits = speedup.limits(0.95, epochs=True, stragglers=True)
    assert limits == pytest.approx(plain.limits(0.95, epochs=True, stragglers=True))
    apart, together = (
        mean_difference(A, B, confidence=0.95),
        mean_difference(A, B, blocks=zeros, confidence=0.95),
    )
    assert (together.low, together.p_value) == pytest.approx((apart.low, apart.p_value))


def test_pairs_are_students_paired_t() -> None:
    pairs = np.arange(4)
    difference = mean_difference(A[:4], B, blocks=(pairs, pairs), confidence=0.95)
    paired = stats.ttest_rel(A[:4], B)
    assert difference.p_value == pytest.approx(paired.pvalue)
    assert difference.df == pytest.approx(3.0)


def test_an_effect_of_blocks_on_both_sides_changes_nothing() -> None:
    factor = np.array([1.0, 7.0, 0.2])
    slow = (
        make_outcomes(A * factor[BLOCKS_A], blocks=BLOCKS_A),
        make_outcomes(B * factor[BLOCKS_B], blocks=BLOCKS_B),
    )
    ratio, of_slow = (
        compute_speedup(*both(), estimand="mean", confidence=0.95).ratio,
        compute_speedup(*slow, estimand="mean", confidence=0.95).ratio,
    )
    assert (of_slow.estimate, of_slow.low, of_slow.p_value) == pytest.approx(
        (ratio.estimate, ratio.low, ratio.p_value)
    )


def test_blocks_of_one_side_tell_nothing() -> None:
    more = np.append(A, 99.0), np.append(BLOCKS_A, 3)
    ratio = compute_speedup(
        make_outcomes(more[0], blocks=more[1]), both()[1], estimand="mean", confidence=0.95
    ).ratio
    assert ratio.estimate == pytest.approx(
        compute_speedup(*both(), estimand="mean", confidence=0.95).ratio.estimate
    )
    assert ratio.se_log == pytest.approx(
        compute_speedup(*both(), estimand="mean", confidence=0.95).ratio.se_log
    )
    with pytest.raises(ValueError, match="no block"):
        difference_within_blocks(A, B, (BLOCKS_A, BLOCKS_B + 3))


def test_without_spread_there_is_none_and_with_one_run_no_interval() -> None:
    steady = (
        make_outcomes([2.0, 4.0], blocks=np.arange(2)),
        make_outcomes([1.0, 2.0], blocks=np.arange(2)),
    )
    ratio = compute_speedup(*steady, estimand="mean", confidence=0.95).ratio
    assert ratio.estimate == pytest.approx(2.0)
    assert (ratio.se_log, ratio.p_value) == (0.0, None)
    single = make_outcomes([2.0], blocks=np.zeros(1, dtype=np.intp))
    assert compute_speedup(single, both()[1], estimand="mean", confidence=0.95).ratio.low is None


def test_rounding_leaves_a_spread_within_blocks_too() -> None:
    flat = np.array([1.0, 1.0, 2.0, 2.0]), np.array([0, 0, 1, 1])
    plain = mean_difference(flat[0], flat[0], blocks=(flat[1], flat[1]), confidence=0.95)
    rounded = mean_difference(
        flat[0], flat[0], blocks=(flat[1], flat[1]), resolution=1.0, confidence=0.95
    )
    assert plain.se == 0.0
    assert rounded.se == pytest.approx(np.sqrt(2 / 12 / 4))


def test_splits_of_pairs_are_counted_by_hand() -> None:
    scores = np.array([1.0, 2.0, 3.0, 0.0, 0.0, 0.0])
    pairs = np.array([0, 1, 2, 0, 1, 2])
    assert number_of_splits_within(pairs, 3) == 8
    assert permute_within_blocks(scores, 3, pairs, rng=np.random.default_rng(0)) == 2 / 8
