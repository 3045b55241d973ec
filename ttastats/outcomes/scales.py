"""Are values of a metric fractions in some runs and percent in others?

Qualities that are compared have to be of one scale, and values have to be on that of their target:
65 is no accuracy that meets 0.72.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import polars as pl

from ttastats.base.codes import wording
from ttastats.base.errors import TtastatsError

#: What may be above 1 although another run is below: rewards; and what is a share although less of
#: it is better: rates of errors.
_UNBOUNDED = re.compile(r"(?i)(?<![a-z])(rew|rewards?|returns?|scores?|gain|psnr|elo)(?![a-z])")
_ERRORS = re.compile(r"(?i)(?<![a-z])(err|errors?|[wct]er)(?![a-z])|(?<=[a-z])(Err|Error)")
#: No fraction is larger, noise and rounding included.
FRACTION = 1.5
#: Qualities in percent are about a hundred times those in fractions.
_RATIOS = (10.0, 1000.0)


def is_bounded(metric: str) -> bool:
    """Return whether a metric of which more is better may be a share, by its name."""
    return _UNBOUNDED.search(metric) is None


def mixture(metric: str, higher_is_better: bool, values: pl.Series) -> str:
    """Return words for values of a metric that are fractions and percent; empty if of one scale."""
    share = is_bounded(metric) if higher_is_better else _ERRORS.search(metric)
    values = values.drop_nulls()
    if not share or (values < 0).any():
        return ""
    low = np.array(values.filter((values > 0) & (values <= FRACTION)))
    high = np.array(values.filter(values > FRACTION))
    if not (low.size and high.size):
        return ""
    typical = float(np.median(low)), float(np.median(high))
    if not _RATIOS[0] <= typical[1] / typical[0] <= _RATIOS[1]:
        return ""
    return wording("scale_mixed", metric=metric, low=typical[0], high=typical[1])


def expect_one(tables: Sequence[pl.DataFrame], option: str) -> None:
    """Raise an error if the qualities of runs at a budget, on all sides together, have two."""
    names = ("benchmark", "target_metric", "higher_is_better", "quality", "source")
    runs = pl.concat([runs.select(names) for runs in tables], how="vertical_relaxed")
    known = runs.filter(pl.col("quality").is_not_null() & pl.col("target_metric").is_not_null())
    for same in known.partition_by("benchmark", "target_metric"):
        metric, higher = same["target_metric"][0], bool(same["higher_is_better"].all())
        if text := mixture(metric, higher, same["quality"]):
            raise TtastatsError(
                text, where=option, remedy=wording("scale_mixed.remedy", metric=metric)
            )


def off_target(judged: pl.DataFrame, run: str) -> pl.Series:
    """Return which judged evaluations are of a run in percent with a target below 1.

    `run` is the column that tells the runs apart. One value far above 1 shows it, and then none of
    the metric meets the target.
    """
    share = pl.col("target_value").is_between(0.0, 1.0, closed="none")
    above = (pl.col("meets") & share & (pl.col("value") > FRACTION)).fill_null(value=False)
    rows = judged.select(above)["meets"]
    if not rows.any():
        return rows
    bounded = [*filter(is_bounded, judged["metric"].unique().drop_nulls())]
    off = above.any().over(run, "metric") & pl.col("metric").is_in(bounded)
    return judged.select(off)["meets"]
