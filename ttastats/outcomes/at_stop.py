"""What was another metric worth where the time of each run ended?

A run stops when its target is met, so that the quality that decided is what was asked for. Data
that did not choose the stopping point tell whether it is as good elsewhere.
"""

from __future__ import annotations

import polars as pl

from ttastats.outcomes import time_to_target
from ttastats.table import schema

#: What had been trained by an evaluation.
_TRAINED = ("step", "samples", "epoch")


def values(rows: pl.LazyFrame, runs: pl.DataFrame, metric: str) -> pl.DataFrame:
    """Give the runs that reached and have it, with `quality` of a metric where their time ended.

    Parameters
    ----------
    rows
        The tidy table of the evaluations of the runs.
    runs
        A table of `time_to_target.runs`.

    Returns
    -------
    DataFrame
        The identity of each run, its `quality`, its `quality_step` and `higher_is_better`. The
        value is that of the checkpoint that met the target, or of a later evaluation before which
        nothing more was trained, as one that follows the end of a run.
    """
    reached = runs.filter("reached").select(*schema.RUN, "evaluations_to_target")
    evaluations = (
        rows.filter(schema.of_evaluations())
        .join(reached.lazy(), on=schema.RUN, how="inner")
        .with_columns(
            epoch=time_to_target.finite("epoch"),
            number=pl.col("eval_index").rank("dense").over(schema.RUN),
        )
    )
    stop = pl.col("number") == pl.col("evaluations_to_target")
    trained = {f"{name}_then": pl.col(name).filter(stop).max() for name in _TRAINED}
    stopped = evaluations.group_by(schema.RUN).agg(**trained)
    more = pl.any_horizontal(pl.col(name) > pl.col(f"{name}_then") for name in _TRAINED)
    return (
        evaluations.join(stopped, on=schema.RUN, how="left")
        .filter(
            pl.col("metric") == metric,
            pl.col("value").is_finite(),
            pl.col("number") >= pl.col("evaluations_to_target"),
            ~more.fill_null(value=False),
        )
        .sort(*schema.RUN, "eval_index")
        .group_by(schema.RUN, maintain_order=True)
        .agg(
            quality=pl.col("value").first(),
            quality_step=pl.lit(None, pl.Float64),
            higher_is_better=pl.col("higher_is_better").first(),
        )
        .collect()
    )
