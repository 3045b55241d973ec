"""Which runs were evaluated and have no quality target, what is their best, and how is one set?"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from ttastats.base.codes import Note, note
from ttastats.base.metrics import metric_rank
from ttastats.base.records import TIMES_ALONE
from ttastats.outcomes.target import is_higher_better, metric_text
from ttastats.table import schema, tables

#: Why no verdict is given, in a few words.
NO_TARGET = "no target given"
_BEST = ("best_metric", "best_value", "best_is_higher")
#: The problem of a target that was left out, as it is in another unit than the values.
_DROPPED = "percent_or_fraction"


def is_aimless() -> pl.Expr:
    """Return whether a run was evaluated to its end and has no target: it has missed none."""
    has_ended = pl.col("run_status").is_in(["unknown", "success"])
    return has_ended & ~pl.col("reached") & _is_untargeted()


def _is_untargeted() -> pl.Expr:
    return pl.col("target_value").is_null() & pl.col("evaluations").is_not_null()


def lack_target(*tables: pl.DataFrame) -> bool:
    """Return whether no run of some tables has a target or reached one, though some have none."""
    of_none = pl.col("target_value").is_null().all() & ~pl.col("reached").any()
    return all(runs.select(of_none).item() for runs in tables) and any(
        runs.select(is_aimless().any()).item() for runs in tables
    )


def unlike_times(*tables: pl.DataFrame) -> str | None:
    """Return why no verdict is given where some runs are times alone, and others are not."""
    suites = {suite for runs in tables for suite in runs["suite"].unique()}
    mixed = TIMES_ALONE in suites and len(suites) > 1
    return "times alone say nothing of times to a quality" if mixed else None


def with_best(runs: pl.DataFrame, rows: pl.LazyFrame) -> pl.DataFrame:
    """Return the runs with the best value of their likeliest quality, if any has no target."""
    aimless = runs.filter(is_aimless()).select(schema.RUN)
    if aimless.is_empty():
        return runs
    value, higher = pl.col("value").filter(pl.col("value").is_finite()), is_higher_better()
    logged = (
        rows.filter(schema.is_evaluation())
        .join(aimless.lazy(), on=schema.RUN, how="semi")
        .group_by(*schema.RUN, "metric")
        .agg(
            pl.col("higher_is_better").first(),
            best=pl.when(higher).then(value.max()).otherwise(value.min()),
        )
        .collect()
    )
    metrics = sorted(logged["metric"].unique().sort(), key=metric_rank)
    ranks = {name: rank for rank, name in enumerate(metrics)}
    by_rank = pl.col("metric").replace_strict(ranks, return_dtype=pl.Int64)
    best = logged.sort(by_rank).unique(schema.RUN, keep="first", maintain_order=True)
    names: dict[str, str] = dict(zip(("metric", "best", "higher_is_better"), _BEST, strict=True))
    return runs.join(best.rename(names), on=schema.RUN, how="left", maintain_order="left")


def advice(*tables: pl.DataFrame) -> Note:
    """Return a note on runs without a target, with their best and the option to set one."""
    aimless = [runs.filter(is_aimless()) for runs in tables]
    if dropped := [text for runs in aimless for text in _dropped(runs)]:
        return note("no_target.dropped", why=dropped[0])
    best_values = [runs.select(_BEST) for runs in aimless if set(_BEST) <= {*runs.columns}]
    best = pl.concat(best_values).drop_nulls("best_metric") if best_values else pl.DataFrame()
    if best.is_empty():
        return note("no_target")
    metric = best["best_metric"].mode().sort()[0]
    of_metric = best.filter(best_metric=metric)
    higher, values = of_metric["best_is_higher"][0], of_metric["best_value"]
    value, name = values.max() if higher else values.min(), metric_text(metric)
    if higher is None or value is None:
        return note("no_target.direction", name=name)
    sign = ">=" if higher else "<="
    return note("no_target.best", metric=metric, value=value, name=name, sign=sign)


def _dropped(runs: pl.DataFrame) -> Sequence[str]:
    problems = tables.run_problems(runs.lazy()) if runs.height else ()
    return [problem.message for problem in problems if problem.code == _DROPPED]
