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
from ttastats.base.metrics import LARGEST_FRACTION, may_be_share

#: The code of runs with values above 1 that a target below 1 does not take.
OFF_SCALE = "off_scale"
#: Metrics that are shares although less of them is better.
_ERRORS = re.compile(r"(?i)(?<![a-z])(err|errors?|[wct]er)(?![a-z])|(?<=[a-z])(Err|Error)")
#: Qualities in percent are about a hundred times those in fractions.
_RATIOS = (10.0, 1000.0)


def mixture(metric: str, higher_is_better: bool, values: pl.Series) -> str:
    """Return words for values of a metric that are fractions and percent; empty if of one scale."""
    share = may_be_share(metric) if higher_is_better else _ERRORS.search(metric)
    values = values.drop_nulls()
    if not share or (values < 0).any():
        return ""
    low = np.array(values.filter((values > 0) & (values <= LARGEST_FRACTION)))
    high = np.array(values.filter(values > LARGEST_FRACTION))
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
    with_quality = runs.filter(
        pl.col("quality").is_not_null() & pl.col("target_metric").is_not_null()
    )
    for group in with_quality.partition_by("benchmark", "target_metric"):
        metric, higher = group["target_metric"][0], bool(group["higher_is_better"].all())
        if text := mixture(metric, higher, group["quality"]):
            raise TtastatsError(
                text, where=option, remedy=wording("scale_mixed.remedy", metric=metric)
            )


def without_percent(
    runs: pl.DataFrame, judged: pl.DataFrame, number: str
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return runs and judged evaluations of which none in percent meets a fraction.

    `number` is the column that tells the runs apart. One value far above 1 shows that a run is in
    percent; then none of the metric meets the target, and the run has the problem `OFF_SCALE`.
    """
    share = pl.col("target_value").is_between(0.0, 1.0, closed="none")
    is_percent = (pl.col("meets") & share & (pl.col("value") > LARGEST_FRACTION)).fill_null(
        value=False
    )
    if not judged.select(is_percent.any()).item():
        return runs, judged
    bounded = [*filter(may_be_share, judged["metric"].unique().drop_nulls())]
    judged = judged.with_columns(
        off=is_percent.any().over(number, "metric") & pl.col("metric").is_in(bounded)
    )
    text = wording(OFF_SCALE, who="this run")
    problem = f'{{"code":"{OFF_SCALE}","severity":"error","message":"{text}"}}]'
    prefix = pl.coalesce(pl.col("problems").str.strip_suffix("]") + ",", pl.lit("["))
    of_run = pl.col(number).is_in(judged.filter("off")[number].unique().implode())
    return (
        runs.with_columns(problems=pl.when(of_run).then(prefix + problem).otherwise("problems")),
        judged.with_columns(meets=pl.col("meets") & ~pl.col("off")),
    )
