"""When did each run first reach its target? One row per run, runs that failed included.

Definitions. *Time to accuracy* is the length of the run where the suite's rules say so (MLPerf:
`run_stop - run_start`, for a run that says success and meets its target); with a target of the
user's, and in suites without such a rule, it is the time of the first evaluation that meets the
target. A run that did not reach it is right-censored at `run_seconds`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from ttastats import quality, schema
from ttastats.errors import TtastatsError

#: What identifies a run in a table: equal bytes may lie in two places.
RUN = ("run_id", "source")

_TARGET = re.compile(
    r"\s*(?:(?P<metric>[A-Za-z]\w*)\s*)?(?P<meets>>=|<=|=)?\s*(?P<value>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*"
)


@dataclass(frozen=True, slots=True)
class UserTarget:
    """A target set by the user; `metric` None means the benchmark's only one."""

    value: float
    metric: str | None = None
    higher_is_better: bool | None = None


def parse_target(text: str) -> UserTarget:
    """Read `0.75`, `map=0.2`, `eval_loss<=0.9`.

    Raises
    ------
    TtastatsError
        The text is none of these.
    """
    match = _TARGET.fullmatch(text)
    if not match:
        raise TtastatsError(
            f"{text!r} is not a quality target", remedy="Write 0.75, or eval_loss<=0.92."
        )
    direction = {">=": True, "<=": False}.get(match["meets"] or "")
    return UserTarget(float(match["value"]), match["metric"], direction)


def runs(frame: pl.LazyFrame | pl.DataFrame, targets: Sequence[UserTarget] = ()) -> pl.DataFrame:
    """Give one row per run with `reached`, `tta_seconds` and how far it trained until then.

    Parameters
    ----------
    frame
        A table as `ingest` writes it.
    targets
        Replace the targets in the table; all must be met at one checkpoint.

    Returns
    -------
    DataFrame
        The run columns of the schema and: `reached`; `tta_seconds`, null unless reached;
        `observed_seconds`, which is `tta_seconds`, or `run_seconds` of a run that did not reach;
        `epochs`, `samples` and `steps` trained by then; `epoch_seconds` = observed seconds per
        epoch; `epoch_quantum`, `sample_quantum` and `step_quantum`, the least progress between two
        evaluations; `value_final` and `target_value` of the first target metric; `cost`, in US
        dollars.
    """
    rows = frame.lazy()
    judged = _judged(rows, targets)
    checkpoints = _checkpoints(judged)
    heads = rows.group_by(RUN, maintain_order=True).agg(
        pl.col(name).first() for name in schema.RUN_NAMES if name not in RUN
    )
    table = (
        heads.join(_crossings(checkpoints), on=RUN, how="left", maintain_order="left")
        .join(_last(checkpoints), on=RUN, how="left", maintain_order="left")
        .with_columns(_ends_at_run_stop(official=not targets))
        .with_columns(time=_time())
        .with_columns(reached=_reached() & (pl.col("time") > 0.0).fill_null(value=False))
        .with_columns(tta_seconds=pl.when("reached").then("time"))
        .with_columns(pl.coalesce("tta_seconds", "run_seconds").alias("observed_seconds"))
    )
    at_end = {name: _at_end(name) for name in ("epochs", "samples", "steps", "value_final")}
    return (
        table.with_columns(**at_end)
        .with_columns(
            epoch_seconds=_ratio("observed_seconds", "epochs"),
            cost=pl.col("tta_seconds") / 3600.0 * pl.col("cost_per_hour"),
        )
        .select(
            *schema.RUN_NAMES,
            *("reached", "tta_seconds", "observed_seconds", "epochs", "samples", "steps"),
            *("epoch_seconds", "epoch_quantum", "sample_quantum", "step_quantum"),
            *("value_final", "target_metric", "target_value", "evaluations", "cost"),
        )
        .collect()
    )


def _judged(rows: pl.LazyFrame, targets: Sequence[UserTarget]) -> pl.LazyFrame:
    """Give the evaluations with whether each meets its metric's target, and when."""
    evaluations = rows.filter(pl.col("metric").is_not_null())
    if targets:
        evaluations = _with_user_targets(evaluations, targets)
    else:
        evaluations = _with_expected_metrics(evaluations)
    value, target = pl.col("value"), pl.col("target_value")
    slack = target.abs() * quality.TOLERANCE
    higher = pl.col("higher_is_better").fill_null(value=True)
    known_late = pl.col("seconds") > pl.col("run_seconds")
    return evaluations.with_columns(
        meets=pl.when(higher).then(value >= target - slack).otherwise(value <= target + slack),
        at=pl.when(known_late)
        .then(pl.coalesce("weights_seconds", "seconds"))
        .otherwise(pl.col("seconds")),
    )


def _with_expected_metrics(evaluations: pl.LazyFrame) -> pl.LazyFrame:
    """Add how many metrics the rules ask for, so that a metric never logged is not met."""
    kinds = evaluations.select("suite", "benchmark", "edition").unique().collect()
    counted = kinds.with_columns(
        expected=pl.Series(
            [len(quality.targets(*_strings(row))) for row in kinds.iter_rows()], dtype=pl.Int64
        )
    )
    return evaluations.join(
        counted.lazy(), on=["suite", "benchmark", "edition"], how="left", nulls_equal=True
    )


def _strings(row: tuple[str | None, str | None, str | None]) -> tuple[str, str, str | None]:
    suite, benchmark, edition = row
    return suite or "", benchmark or "", edition


def _with_user_targets(evaluations: pl.LazyFrame, targets: Sequence[UserTarget]) -> pl.LazyFrame:
    _refuse_nameless_target(evaluations, targets)
    value: pl.Expr = pl.lit(None, dtype=pl.Float64)
    higher: pl.Expr = pl.col("higher_is_better")
    for target in targets:
        named = (
            pl.col("target_value").is_not_null() | _only_metric_of_run()
            if target.metric is None
            else pl.col("metric") == target.metric
        )
        value = pl.when(named).then(pl.lit(target.value)).otherwise(value)
        if target.higher_is_better is not None:
            higher = pl.when(named).then(pl.lit(target.higher_is_better)).otherwise(higher)
    return evaluations.with_columns(
        target_value=value, higher_is_better=higher, expected=pl.lit(len(targets), pl.Int64)
    )


def _only_metric_of_run() -> pl.Expr:
    return pl.col("metric").n_unique().over(RUN) == 1


def _refuse_nameless_target(evaluations: pl.LazyFrame, targets: Sequence[UserTarget]) -> None:
    """A bare number says nothing where a benchmark has two target metrics."""
    if all(target.metric for target in targets):
        return
    by_metric = (
        evaluations.filter(pl.col("target_value").is_not_null())
        .select("benchmark", "metric")
        .unique()
        .collect()
    )
    several = by_metric.filter(pl.len().over("benchmark") > 1).sort("benchmark", "metric")
    if not several.is_empty():
        names = several.get_column("metric").to_list()
        raise TtastatsError(
            f"{several.get_column('benchmark')[0]} has several target metrics",
            where="--target",
            remedy=f"Name each: {' '.join(f'--target {name}=...' for name in names[:2])}",
        )


def _checkpoints(judged: pl.LazyFrame) -> pl.LazyFrame:
    """Give one row per evaluated checkpoint; it meets the target if all its metrics do."""
    targeted = pl.col("target_value").is_not_null()
    return judged.group_by(*RUN, "eval_index").agg(
        met=pl.col("meets").filter(targeted).fill_null(value=False).all()
        & (pl.col("metric").filter(targeted).n_unique() >= pl.col("expected").first())
        & targeted.any(),
        at=pl.col("at").max(),
        epoch=pl.col("epoch").max(),
        samples_then=pl.col("samples").max(),
        step=pl.col("step").max(),
        # The first target metric speaks for the checkpoint; without a target, the first metric.
        value=pl.coalesce(pl.col("value").filter(targeted).first(), pl.col("value").first()),
        target_metric=pl.col("metric").filter(targeted).first(),
        target_value=pl.col("target_value").filter(targeted).first(),
    )


def _crossings(checkpoints: pl.LazyFrame) -> pl.LazyFrame:
    """Give the first checkpoint that meets the target; before the start of a run none does."""
    return (
        checkpoints.filter("met", pl.col("at") >= 0)
        .sort("at", "eval_index")
        .group_by(RUN, maintain_order=True)
        .agg(
            crossing_seconds=pl.col("at").first(),
            crossing_epochs=pl.col("epoch").first(),
            crossing_samples=pl.col("samples_then").first(),
            crossing_steps=pl.col("step").first(),
            crossing_value_final=pl.col("value").first(),
        )
    )


def _last(checkpoints: pl.LazyFrame) -> pl.LazyFrame:
    """Give what the whole curve tells: how far the run got, and how often it was evaluated."""
    return (
        checkpoints.sort("at", "eval_index", nulls_last=True)
        .group_by(RUN, maintain_order=True)
        .agg(
            last_epochs=pl.col("epoch").max(),
            last_samples=pl.col("samples_then").max(),
            last_steps=pl.col("step").max(),
            last_value_final=pl.col("value").last(),
            epoch_quantum=_smallest_gap("epoch"),
            sample_quantum=_smallest_gap("samples_then"),
            step_quantum=_smallest_gap("step"),
            target_metric=pl.col("target_metric").drop_nulls().first(),
            target_value=pl.col("target_value").drop_nulls().first(),
            evaluations=pl.len(),
        )
    )


def _smallest_gap(name: str) -> pl.Expr:
    return pl.col(name).drop_nulls().unique().sort().diff().drop_nulls().min()


def _ends_at_run_stop(*, official: bool) -> pl.Expr:
    suites = quality.suites_ending_at_run_stop() if official else ()
    return pl.col("suite").is_in(suites).fill_null(value=False).alias("ends_at_run_stop")


def _reached() -> pl.Expr:
    """Success and target met. A log without a status is believed if its target is met.

    Where no target is known, success decides; a run in which no quality was ever measured has
    reached nothing.
    """
    crossed = pl.col("crossing_seconds").is_not_null()
    no_target = pl.col("target_value").is_null() & pl.col("evaluations").is_not_null()
    status = pl.col("run_status")
    by_run_stop = ((status == "success") & (crossed | no_target)) | (
        (status == "unknown") & crossed
    )
    return pl.when("ends_at_run_stop").then(by_run_stop).otherwise(crossed)


def _time() -> pl.Expr:
    """Give the time to accuracy of a run that reached; without one, or at none, none has."""
    length = pl.coalesce("run_seconds", "crossing_seconds")
    return pl.when("ends_at_run_stop").then(length).otherwise("crossing_seconds")


def _at_end(name: str) -> pl.Expr:
    crossing, last = pl.col(f"crossing_{name}"), pl.col(f"last_{name}")
    return pl.when("reached").then(pl.coalesce(crossing, last)).otherwise(last)


def _ratio(above: str, below: str) -> pl.Expr:
    return pl.when(pl.col(below) > 0).then(pl.col(above) / pl.col(below))
