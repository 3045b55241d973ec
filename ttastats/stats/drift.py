"""Do runs of one side drift with time, or differ from block to block, by more than chance?

Logarithms of times are the sum of a level of each side, and of a line in time or of the effects of
blocks; least squares tell what the second adds to the first (the F test of nested models).
"""

from __future__ import annotations

import math

import numpy as np
from msgspec import Struct
from scipy import special

from ttastats.stats.blocks import Labels
from ttastats.stats.moments import t_tail
from ttastats.stats.results import Floats


class Trend(Struct, frozen=True):
    """The change of a value by one unit of time that all sides have in common, and its p."""

    slope: float
    p_value: float


class Spread(Struct, frozen=True):
    """Standard deviations between and within blocks; `p_value`: of "all blocks are alike"."""

    between: float
    within: float
    df: int
    p_value: float


def common_trend(when: Floats, values: Floats, sides: Labels) -> Trend | None:
    """Return the slope of values over time within sides, shape (n,) each; None of too few runs."""
    levels = np.equal.outer(sides, np.unique(sides)).astype(np.float64)
    x, y = when - levels @ _means(when, levels), values - levels @ _means(values, levels)
    df, square = values.size - levels.shape[1] - 1, float(x @ x)
    if df < 1 or not square:
        return None
    slope = float(x @ y) / square
    ss_residual = float(((y - slope * x) ** 2).sum())
    if not ss_residual:
        return None
    return Trend(slope, 2 * t_tail(df, abs(slope) / math.sqrt(ss_residual / df / square)))


def spread_of_blocks(values: Floats, sides: Labels, blocks: Labels) -> Spread | None:
    """Return the spread of blocks shared by the sides, shape (n,) each; None of too few runs."""
    levels, labels = (np.equal.outer(x, np.unique(x)).astype(np.float64) for x in (sides, blocks))
    terms = np.column_stack([levels, labels])
    rank = int(np.linalg.matrix_rank(terms))
    df_blocks, df = rank - levels.shape[1], values.size - rank
    if df_blocks < 1 or df < 1:
        return None
    ss_without_blocks = float(((values - levels @ _means(values, levels)) ** 2).sum())
    ss_residual = float(
        ((values - terms @ np.linalg.lstsq(terms, values, rcond=None)[0]) ** 2).sum()
    )
    if ss_residual <= 1e-12 * ss_without_blocks:
        return None
    ms_blocks, ms_residual = (ss_without_blocks - ss_residual) / df_blocks, ss_residual / df
    # The weight of the variance between blocks in the mean square of blocks (Searle 1971, 10.3).
    counts = levels.T @ labels
    weight = (
        float((labels.sum(0) - (counts**2 / counts.sum(1, keepdims=True)).sum(0)).sum()) / df_blocks
    )
    variance = max(ms_blocks - ms_residual, 0.0) / weight
    p_value = float(special.fdtrc(df_blocks, df, ms_blocks / ms_residual))
    return Spread(math.sqrt(variance), math.sqrt(ms_residual), df, p_value)


def _means(values: Floats, levels: Floats) -> Floats:
    means: Floats = levels.T @ values / levels.sum(0)
    return means
