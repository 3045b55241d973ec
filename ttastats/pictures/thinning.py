"""Which of many rows are drawn? Some that are evenly spaced."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl


def evenly(most: int, over: Sequence[str]) -> pl.Expr:
    """Tell which rows stay: of each group the first, the last, and evenly spaced ones between.

    About `most` stay of each group, all of one that has no more; the rows are in order.
    """
    place, count = pl.int_range(pl.len()).over(over), pl.len().over(over)
    step = ((count - 1) / (most - 1)).clip(1.0)
    return ((place / step).floor() != ((place - 1) / step).floor()) | (place == count - 1)
