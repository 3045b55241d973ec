"""How fast was each run once under way, how long did it take to start, and did its clock jump?

The pace is the median time per epoch (sample, step) between two evaluations. What the first
evaluation took beyond its epochs at that pace is the start-up: imports, compilation, data.
"""

from __future__ import annotations

import polars as pl

from ttastats.base import units
from ttastats.base.records import ESTIMATED_START, UNKNOWN_START
from ttastats.outcomes import time_to_target
from ttastats.table import schema

#: A span that is longer or shorter by an hour than at the pace of its run, within so many seconds,
#: is a changed clock, if no other span of the run is off by a tenth of that.
HOUR, NEAR_HOUR, _STEADY = 3600.0, 60.0, 360.0
#: So many spans tell a pace, and so many that a clock changed in one of them.
_PACED, _SPANS = 2, 3
#: Start-up is longer than so many median deviations of the pace.
_NOISE = 3.0
#: An evaluation at 0 that took about as long as the first epoch counts epochs from 0.
_FROM_ZERO = (0.5, 1.5)

#: What `of_runs` adds to runs.
COLUMNS = ("startup_seconds", "clock_jump_seconds")
_RUN, _TRAINED = schema.RUN, {"epoch": "epoch", "samples": "sample", "step": "step"}


def spans(runs: pl.DataFrame, rows: pl.LazyFrame) -> pl.LazyFrame:
    """Return the evaluated checkpoints of runs, each once in the table, with the span before each.

    Columns: `number`, that of the run in the table; `at`, the second at which the first metric of
    the checkpoint was known; `since` and `seconds`, the checkpoint before and the time from there;
    `trained` until then, in the best unit that rises from each checkpoint to the next, and
    `meanwhile`.
    """
    numbers = runs.lazy().select(_RUN).with_row_index("number")
    checkpoints = (
        rows.filter(schema.is_evaluation())
        .join(numbers, on=_RUN, how="inner")
        .group_by("number", "eval_index")
        .agg(pl.col(*_TRAINED).max().cast(pl.Float64), at=time_to_target.evaluated_at().min())
        .sort("number", "eval_index")
    )
    rises = {name: (pl.col(name).diff() > 0).fill_null(value=True).all() for name in _TRAINED}
    is_complete = {name: pl.col(name).is_not_null().all() for name in _TRAINED}
    best = (
        pl.when((rises[name] & is_complete[name]).over("number")).then(name) for name in _TRAINED
    )
    return checkpoints.with_columns(trained=pl.coalesce(best)).with_columns(
        since=pl.col("at").shift().over("number"),
        seconds=pl.col("at").diff().over("number"),
        meanwhile=pl.col("trained").diff().over("number"),
    )


def of_runs(runs: pl.DataFrame, rows: pl.LazyFrame) -> pl.DataFrame:
    """Return each run once, with `startup_seconds` and `clock_jump_seconds` by its evaluations.

    `startup_seconds` is null where the start of the clock is unknown, and of official runs, whose
    clock is that of the rules; 0 where it does not stand out of the noise. `clock_jump_seconds` is
    by how much the one span before the target that is an hour off is longer than the others, else
    0.
    """
    runs = runs.unique(_RUN, keep="first", maintain_order=True).with_row_index("number")
    ends = runs.select("number", "suite", "clock_zero", "observed_seconds")
    pace = pl.col("seconds") / pl.col("meanwhile")
    median_pace, span = pl.col("pace").median().over("number"), pl.median("seconds").over("number")
    paced = (
        spans(runs, rows)
        .join(ends.lazy(), on="number", how="left")
        .with_columns(pace=pl.when(pace > 0).then(pace))
        .with_columns(usual=median_pace, span=span)
        .with_columns(
            noise=(pl.col("pace") - pl.col("usual")).abs(),
            off=pl.col("seconds") - pl.coalesce(pl.col("usual") * pl.col("meanwhile"), "span"),
        )
    )
    facts = paced.group_by("number").agg(**_STARTUP_FACTS, **_JUMP_FACTS)
    starts = ~pl.col("clock_zero").is_in([ESTIMATED_START, UNKNOWN_START]).fill_null(value=False)
    needs_estimate = starts & pl.col("suite").is_null()
    paces = ends.join(facts.collect(), on="number", how="left").select(
        "number",
        startup_seconds=pl.when(needs_estimate).then(_startup()),
        clock_jump_seconds=_clock_jump(),
    )
    return runs.join(paces, on="number", how="left", maintain_order="left").drop("number")


#: What the first evaluation of trained weights took, after how much training, and what is usual.
_TRAINED_THEN = pl.col("trained") > 0
_STARTUP_FACTS = {
    "first": pl.col("at").filter(_TRAINED_THEN).first(),
    "trained": pl.col("trained").filter(_TRAINED_THEN).first(),
    "untrained": pl.col("at").filter(pl.col("trained") == 0).last(),
    "usual": pl.col("usual").first(),
    "noise": pl.col("noise").median(),
    "paces": pl.col("pace").count(),
}  # fmt: skip


def _startup() -> pl.Expr:
    """Return the start-up of a run from its facts, or null."""
    epochs = pl.col("usual") * pl.col("trained")
    startup, noise = pl.col("first") - epochs, _NOISE * pl.col("noise") * pl.col("trained")
    from_zero = (pl.col("untrained") / epochs).is_between(*_FROM_ZERO).fill_null(value=False)
    is_measurable = (pl.col("paces") >= _PACED) & ~from_zero
    return pl.when(is_measurable).then(pl.when(startup > noise).then(startup).otherwise(0.0))


#: Which spans are an hour off, and how many are steady.
_IS_HOUR = (pl.col("off").abs() - HOUR).abs() < NEAR_HOUR
_JUMP_FACTS = {
    "hours": _IS_HOUR.sum(),
    "steady": (pl.col("off").abs() < _STEADY).sum(),
    "spans": pl.col("off").count(),
    "jump": pl.col("off").filter(_IS_HOUR & (pl.col("since") < pl.col("observed_seconds"))).sum(),
}


def _clock_jump() -> pl.Expr:
    """Return by how much the clock of a run changed in one span before its time ended, or 0."""
    others_are_steady = pl.col("steady") == pl.col("spans") - 1
    is_single_jump = (pl.col("hours") == 1) & others_are_steady & (pl.col("spans") >= _SPANS)
    return pl.when(is_single_jump.fill_null(value=False)).then("jump").otherwise(0.0)


def first_place(runs: pl.DataFrame, rows: pl.LazyFrame) -> str:
    """Return the position of the first evaluation of runs: `epoch 9`; empty if unknown."""
    minima = (
        rows.join(runs.lazy().select(_RUN), on=_RUN, how="semi")
        .filter(schema.is_evaluation())
        .select(pl.col(*_TRAINED).min().cast(pl.Float64))
        .collect()
    )
    positions = ((unit, minima[name][0]) for name, unit in _TRAINED.items())
    return next((f"{unit} {units.count(at)}" for unit, at in positions if at is not None), "")
