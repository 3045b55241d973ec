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
_HOUR, _NEAR, _STEADY = 3600.0, 60.0, 360.0
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
    """Return the evaluated checkpoints of runs, with the span before each.

    Columns: those that name the run and its entry; `at`, the second at which the first metric of
    the checkpoint was known; `since` and `seconds`, the checkpoint before and the time from there;
    `trained` until then, in the best unit that rises from each checkpoint to the next, and
    `meanwhile`.
    """
    chosen = runs.lazy().select(_RUN).unique()
    checkpoints = (
        rows.join(chosen, on=_RUN, how="semi")
        .filter(schema.is_evaluation())
        .group_by(*_RUN, *schema.BENCHMARK, "entry", "eval_index")
        .agg(pl.col(*_TRAINED).max().cast(pl.Float64), at=time_to_target.evaluated_at().min())
        .sort(*_RUN, "eval_index")
    )
    rises = {name: (pl.col(name).diff() > 0).fill_null(value=True).all() for name in _TRAINED}
    known = {name: pl.col(name).is_not_null().all() for name in _TRAINED}
    best = (pl.when((rises[name] & known[name]).over(_RUN)).then(name) for name in _TRAINED)
    return checkpoints.with_columns(trained=pl.coalesce(best)).with_columns(
        since=pl.col("at").shift().over(_RUN),
        seconds=pl.col("at").diff().over(_RUN),
        meanwhile=pl.col("trained").diff().over(_RUN),
    )


def of_runs(runs: pl.DataFrame, rows: pl.LazyFrame) -> pl.DataFrame:
    """Return each run once, with `startup_seconds` and `clock_jump_seconds` by its evaluations.

    `startup_seconds` is null where the start of the clock is unknown, and of official runs, whose
    clock is that of the rules; 0 where it does not stand out of the noise. `clock_jump_seconds` is
    by how much the one span before the target that is an hour off is longer than the others, else
    0.
    """
    runs = runs.unique(_RUN, keep="first", maintain_order=True)
    ends = runs.lazy().select(*_RUN, "observed_seconds")
    pace = pl.col("seconds") / pl.col("meanwhile")
    paced = spans(runs, rows).join(ends, on=_RUN, how="left").with_columns(
        pace=pl.when(pace > 0).then(pace)
    )  # fmt: skip
    usual = pl.col("pace").median()
    expected = pl.coalesce(usual.over(_RUN) * pl.col("meanwhile"), pl.median("seconds").over(_RUN))
    counts = paced.with_columns(off=pl.col("seconds") - expected).group_by(_RUN).agg(
        startup_seconds=_startup(usual), clock_jump_seconds=_clock_jump()
    )  # fmt: skip
    starts = ~pl.col("clock_zero").is_in([ESTIMATED_START, UNKNOWN_START]).fill_null(value=False)
    told = starts & pl.col("suite").is_null()
    return runs.join(counts.collect(), on=_RUN, how="left", maintain_order="left").with_columns(
        startup_seconds=pl.when(told).then("startup_seconds"),
        clock_jump_seconds=pl.col("clock_jump_seconds").fill_null(0.0),
    )


def _startup(usual: pl.Expr) -> pl.Expr:
    """Return the start-up of a run by its first evaluation of trained weights."""
    paces, positive = pl.col("pace"), pl.col("trained") > 0
    first, trained = (pl.col(name).filter(positive).first() for name in ("at", "trained"))
    untrained = pl.col("at").filter(pl.col("trained") == 0).last()
    noise = _NOISE * (paces - paces.median()).abs().median() * trained
    startup = first - usual * trained
    from_zero = (untrained / (usual * trained)).is_between(*_FROM_ZERO).fill_null(value=False)
    known = (paces.count() >= _PACED) & ~from_zero
    return pl.when(known).then(pl.when(startup > noise).then(startup).otherwise(0.0))


def _clock_jump() -> pl.Expr:
    """Return by how much the clock of a run changed in one span before its time ended, or 0."""
    off, before = pl.col("off"), pl.col("since") < pl.col("observed_seconds")
    hour = (off.abs() - _HOUR).abs() < _NEAR
    others_are_steady = (off.abs() < _STEADY).sum() == off.count() - 1
    once = (hour.sum() == 1) & others_are_steady & (off.count() >= _SPANS)
    return pl.when(once).then(off.filter(hour & before).sum()).otherwise(0.0)


def first_place(runs: pl.DataFrame, rows: pl.LazyFrame) -> str:
    """Return where the first evaluation of runs is: `epoch 9`; empty if no log tells."""
    first = (
        rows.join(runs.lazy().select(_RUN), on=_RUN, how="semi")
        .filter(schema.is_evaluation())
        .select(pl.col(*_TRAINED).min().cast(pl.Float64))
        .collect()
    )
    places = ((unit, first[name][0]) for name, unit in _TRAINED.items())
    return next((f"{unit} {units.count(at)}" for unit, at in places if at is not None), "")
