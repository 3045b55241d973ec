"""Which runs of a group count?"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl


def counted(runs: pl.DataFrame, by: Sequence[str] = ()) -> pl.DataFrame:
    """Keep the runs that count: of copies of one run in a group the first.

    Without a digest of its content no run is a copy. A spread over copies would be wrong.
    """
    first = pl.struct("content_digest", *by).is_first_distinct()
    return runs.filter(pl.col("content_digest").is_null() | first)
