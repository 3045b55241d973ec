"""How do two sides compare within blocks: sessions, machines or days that shift both alike?

A run's time is that of its side times that of its block; a quality is a sum of the two. The effects
of the blocks are estimated, whatever they are, and nothing is supposed of how they are distributed:
two to five blocks do not tell a variance between them. A block with runs of one side tells nothing.

The spread of the runs of a side is taken from the residuals of all blocks, over what the fit leaves
of them (1 minus the leverages), which are its degrees of freedom; those of the difference are
Satterthwaite's (Welch 1947). One run a side and block is the paired t test.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from scipy import special

from ttastats.stats.logratio import LogTerm, safe_exp
from ttastats.stats.moments import bisect_root, t_tail
from ttastats.stats.outcomes import Estimand, Outcomes, time_term
from ttastats.stats.results import Floats

Labels = NDArray[np.intp]
"""The number of the block, or of the level, of each run, from 0; alike on both sides."""

_NOTHING = 1e-6


class BlockedSide(Struct, frozen=True, eq=False):
    """The runs of one side or level, shape (n,): residuals, and weights in the difference."""

    residuals: Floats
    weights: Floats
    one_minus_leverage: Floats

    def variance(self, least: float = 0.0) -> tuple[float | None, float]:
        """Return this side's part of the variance of the difference, and its degrees of freedom.

        ``least``: the smallest variance of one run. None where the fit leaves nothing of the runs.
        """
        squares, df = float((self.weights**2).sum()), float(self.one_minus_leverage.sum())
        if not squares or df < _NOTHING:
            return None, 0.0
        return max(float((self.residuals**2).sum()) / df, least) * squares, df


class ByBlock(Struct, frozen=True):
    """The difference in each block that has both sides, and the p of "all are one"."""

    differences: Mapping[int, float]
    p_value: float | None

    def p_over_blocks(self) -> float | None:
        """Return the p of a t test of the differences over blocks; None of fewer than three."""
        gaps = np.array(list(self.differences.values()))
        if gaps.size < 3:
            return None
        spread = float(gaps.std(ddof=1)) / np.sqrt(gaps.size)
        if not spread:
            return 0.0 if gaps.mean() else 1.0
        return min(1.0, 2 * t_tail(gaps.size - 1, abs(float(gaps.mean())) / spread))


def block_terms(a: Outcomes, b: Outcomes, estimand: Estimand) -> tuple[LogTerm, LogTerm]:
    """Return the mean times of both sides, adjusted for blocks; their ratio is A over B.

    Where a run failed they are expected times to a success; where no block has time of both sides
    those of all runs, without a variance.
    """
    if a.blocks is None or b.blocks is None:
        raise ValueError("the runs have no blocks")
    if not set(a.blocks[a.times > 0]) & set(b.blocks[b.times > 0]):
        mean_a, mean_b = (time_term(side, estimand).estimate for side in (a, b))
        return LogTerm(mean_a, None, 0.0), LogTerm(mean_b, None, 0.0)
    if estimand == "geomean":
        logs = np.log(a.times), np.log(b.times)
        gap, *parts = difference_within_blocks(*logs, (a.blocks, b.blocks))
        ratio = safe_exp(-gap)
    else:
        ratio, *parts = _ratio_within_blocks(a, b, a.blocks, b.blocks)
    return LogTerm(ratio, *parts[0].variance()), LogTerm(1.0, *parts[1].variance())


def _ratio_within_blocks(
    a: Outcomes, b: Outcomes, blocks_a: Labels, blocks_b: Labels
) -> tuple[float, BlockedSide, BlockedSide]:
    """Return the ratio of times per success within blocks, and each side's variance parts.

    The estimate solves the score of a gamma distribution with a log link (McCullagh and Nelder
    1989, chapter 8); in one block a side's is its time over its successes.
    """
    count = int(max(blocks_a.max(), blocks_b.max())) + 1
    (time_a, hits_a), (time_b, hits_b) = (
        [
            np.bincount(blocks, numbers, count).astype(np.float64)
            for numbers in (side.times, side.reached)
        ]
        for side, blocks in ((a, blocks_a), (b, blocks_b))
    )
    hits = hits_a + hits_b
    informative = (time_a > 0) & (time_b > 0) & (hits > 0)
    gaps = np.log(time_a[informative] / time_b[informative])
    solution = bisect_root(
        lambda log: float(
            hits_a[informative].sum() - hits[informative] @ special.expit(gaps - log)
        ),
        float(gaps.min(initial=0.0)) - 40.0,
        float(gaps.max(initial=0.0)) + 40.0,
    )
    ratio = safe_exp(solution)
    scaled = time_a / ratio + time_b
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = np.where(hits > 0, scaled / hits, np.inf)
        share = np.where(scaled > 0, time_a / ratio / scaled, 0.0)
    information = float((hits * share * (1 - share)).sum())
    design, inverse = _least_squares(blocks_a, blocks_b)
    one_minus_leverage = np.split(1 - np.einsum("ij,ji->i", design, inverse), [a.n])
    part_a, part_b = (
        BlockedSide(
            _without_rounding_noise(side.times / (mean * scale[blocks]) - side.reached, 1.0),
            other_shares[blocks] / information if information else np.zeros(side.n),
            left_of_side,
        )
        for side, blocks, mean, other_shares, left_of_side in (
            (a, blocks_a, ratio, 1 - share, one_minus_leverage[0]),
            (b, blocks_b, 1.0, share, one_minus_leverage[1]),
        )
    )
    return ratio, part_a, part_b


def difference_within_blocks(
    a: Floats, b: Floats, blocks: tuple[Labels, Labels]
) -> tuple[float, BlockedSide, BlockedSide]:
    """Return mean of B minus mean of A within blocks, and each side's part of its variance.

    Least squares of side plus block: blocks weigh n_a n_b / (n_a + n_b).
    """
    if not np.intersect1d(*blocks).size:
        raise ValueError("no block has runs of both sides")
    design, inverse = _least_squares(*blocks)
    y = np.concatenate([a, b])
    effects = inverse @ y
    residuals = _without_rounding_noise(y - design @ effects, float(np.abs(y).max()))
    numbers = residuals, np.abs(inverse[0]), 1 - np.einsum("ij,ji->i", design, inverse)
    of_a, of_b = ([values[side] for values in numbers] for side in np.s_[: a.size, a.size :])
    return float(effects[0]), BlockedSide(*of_a), BlockedSide(*of_b)


def _least_squares(blocks_a: Labels, blocks_b: Labels) -> tuple[Floats, Floats]:
    """Return the design of side B plus block, and its pseudoinverse."""
    labels = np.concatenate([blocks_a, blocks_b])
    of_b = np.arange(labels.size) >= blocks_a.size
    design = np.column_stack([of_b, np.equal.outer(labels, np.unique(labels))]).astype(np.float64)
    return design, np.asarray(np.linalg.pinv(design), dtype=np.float64)


def _without_rounding_noise(residuals: Floats, size: float) -> Floats:
    """Return residuals with 0 in place of what only rounding leaves."""
    return np.where(np.abs(residuals) < 1e-12 * size, 0.0, residuals)


def differences_by_block(a: Floats, b: Floats, blocks: tuple[Labels, Labels]) -> ByBlock:
    """Return mean of B minus mean of A in each block, and the p of "all blocks are alike".

    The F test of side by block: what differences add to the spread of runs of one side and block.
    """
    count = int(max(labels.max() for labels in blocks)) + 1
    n_a, n_b = (np.bincount(labels, minlength=count) for labels in blocks)
    means = [
        np.bincount(labels, weights=values, minlength=count) / np.maximum(n, 1)
        for labels, values, n in zip(blocks, (a, b), (n_a, n_b), strict=True)
    ]
    usable = np.flatnonzero((n_a > 0) & (n_b > 0))
    gaps = (means[1] - means[0])[usable]
    differences = dict(zip(usable.tolist(), gaps.tolist(), strict=True))
    ss_within = sum(
        float(((values - mean[labels]) ** 2).sum())
        for values, mean, labels in zip((a, b), means, blocks, strict=True)
    )
    df = a.size + b.size - int((n_a > 0).sum() + (n_b > 0).sum())
    if usable.size < 2 or df < 1 or not ss_within:
        return ByBlock(differences, None)
    weights = (n_a * n_b)[usable] / (n_a + n_b)[usable]
    ss_between = float(weights @ (gaps - np.average(gaps, weights=weights)) ** 2)
    k = usable.size - 1
    return ByBlock(differences, float(special.fdtrc(k, df, ss_between / k / (ss_within / df))))
