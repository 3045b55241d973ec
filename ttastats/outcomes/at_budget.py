"""What quality had each run at a budget: at its end, at a step, an epoch, a second?

Where time to accuracy fixes the quality and compares what it took, a budget fixes what may be
spent and compares the quality. A run has the value of its last evaluation at or before the budget.
One that did not get as far has none, and `short` says why: it stays in the table, to be counted.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from ttastats.base import units
from ttastats.base.codes import TEXTS
from ttastats.base.errors import TtastatsError
from ttastats.base.metrics import TOLERANCE
from ttastats.outcomes import left_out, target, time_to_target
from ttastats.outcomes.budget import END, SPENT, Budget, Unit, lengths
from ttastats.outcomes.target import UserTarget, expect_metric, with_user_targets
from ttastats.table import schema

#: Where an evaluation stands on each budget.
_PROGRESS_COLUMNS: dict[Unit, str] = {
    "end": "at", "step": "step", "samples": "samples", "epoch": "epoch", "seconds": "at"
}  # fmt: skip
#: Fewer decimals than these were written so.
_MOST_DECIMALS = 8

#: Why a run has no value at a budget, in words that follow "3 runs".
SHORT = {
    code: TEXTS[code]
    for code in (
        "ended_before", "evaluated_later", "evaluated_before", "not_a_number", "never_evaluated",
        "no_place",
    )
}  # fmt: skip


def runs(
    frame: pl.LazyFrame | pl.DataFrame,
    budget: Budget = END,
    *,
    targets: Sequence[UserTarget] = (),
    metric: str = "",
) -> pl.DataFrame:
    """Return one row per run with its quality at the budget, and what it had spent there.

    The quality is that of `metric`; else of the metric with a target, in `targets` or in the table
    if there are none; else of the only one.

    The columns are those of `time_to_target.runs`, with `reached` for "has a value at the budget"
    and `tta_seconds` for the time of its last evaluation there, the length of the run at the end;
    and: `quality`, null if `short` says why; `quality_seen`, how many evaluations it is the best or
    last of; `quality_step`, that in which a run logged it, where it tells; and `higher_is_better`.
    Of the best also `quality_noise`, the deviation of an evaluation by its neighbours in the later
    half, and `quality_near`, how many are within four of it from the best.
    `value_final` is the quality, `target_value` the metric's target. Of a budget that is an amount
    also, in its unit and null where there are too few evaluations: `taken_at`, where the last one
    up to it is; `taken_interval` from there to the next one, or else from the one before;
    `quality_change` to the next one; `bend_before` and `bend_after`, by how much a line through the
    two evaluations before the budget, and the two after it, differs there from the line between
    those around it, 0 where an evaluation is at the budget; and `places` of all evaluations.
    """
    rows = frame.lazy()
    values = _evaluations_of_metric(rows, targets, metric)
    length = time_to_target.run_length()
    furthest: pl.Expr = pl.lit(None, pl.Float64)
    if budget.unit in SPENT:
        furthest = time_to_target.finite(_PROGRESS_COLUMNS[budget.unit]).max().cast(pl.Float64)
    elif budget.unit == "seconds":
        furthest = pl.max_horizontal(length.first(), time_to_target.evaluated_at().max())
        furthest = pl.when(~time_to_target.begins_late().first()).then(furthest)
    heads = rows.group_by(schema.RUN, maintain_order=True).agg(
        *(pl.col(name).first() for name in schema.RUN_NAMES if name not in schema.RUN),
        furthest=furthest,
    )
    table = heads.join(
        _quality_at_budget(values, budget), on=schema.RUN, how="left", maintain_order="left"
    ).with_columns(short=_missing_reason(budget))
    # The runs of an entry that logs other metrics alone have not failed, nor have those of a
    # benchmark with several metrics, of which none is meant more than the others.
    never = pl.col("short").eq_missing(pl.lit("never_evaluated"))
    rows_of_others = rows.filter(schema.is_evaluation()).select(schema.RUN).unique().collect()
    other_metric = never.all().over(_ENTRY) & pl.struct(schema.RUN).is_in(
        rows_of_others.to_struct().implode()
    )
    has = pl.col("short").is_null()
    spent = pl.coalesce(length, "at") if budget.amount is None else pl.col("at")
    spent = pl.when(~time_to_target.begins_late()).then(spent)
    trained = {
        name: pl.when(pl.col(column) > 0).then(pl.col(column).cast(pl.Float64))
        for column, name in SPENT.items()
    }
    return (
        table.with_columns(quality=pl.when(has).then("quality"), reached=has, run_seconds=length)
        .with_columns(
            tta_seconds=pl.when("reached").then(spent),
            observed_seconds=pl.when("reached").then(spent).otherwise("run_seconds"),
            **trained,
            value_final="quality",
            evaluations_to_target="quality_seen",
            target_metric="metric",
            target=pl.lit(None, pl.String),
            set_aside=pl.coalesce(
                left_out.set_aside(), pl.when(other_metric).then(pl.lit("other_metric"))
            ),
        )
        .with_columns(
            epoch_seconds=pl.col("observed_seconds") / pl.col("epochs"),
            cost=pl.col("tta_seconds") / 3600.0 * pl.col("cost_per_hour"),
            **{interval: pl.lit(None, pl.Float64) for _, interval in time_to_target.PROGRESS},
        )
        .drop("at", "step", "epoch", "metric", "furthest")
        .collect()
    )  # fmt: skip


#: What logs the same metrics; a table may hold many kinds of runs of no known benchmark.
_ENTRY = (*schema.BENCHMARK, "entry")


def _evaluations_of_metric(
    rows: pl.LazyFrame, targets: Sequence[UserTarget], metric: str
) -> pl.LazyFrame:
    """Return the evaluations by one metric of each entry: the given one, or that with a target."""
    evaluations = rows.filter(schema.is_evaluation())
    if metric:
        expect_metric(rows, metric, "--metric")
    if targets:
        evaluations = with_user_targets(evaluations, targets)
    logged = (
        evaluations.group_by(*_ENTRY, "metric")
        .agg(aimed=pl.col("target_value").is_not_null().any())
        .sort(*_ENTRY, "metric")
        .with_columns(pl.col("aimed").any().over(*schema.BENCHMARK, "metric"))
        .collect()
    )
    if metric:
        metric_of_entry = logged.filter(pl.col("metric") == metric)
    else:
        # Where the user set targets, no other metric is meant.
        has_no_target = ~pl.col("aimed").any().over(_ENTRY) & (not targets)
        metric_of_entry = _only_metrics(logged.filter(pl.col("aimed") | has_no_target))
    return evaluations.join(
        metric_of_entry.lazy(), on=[*_ENTRY, "metric"], how="semi", nulls_equal=True
    ).select(
        *schema.RUN, "eval_index", "metric", "value", "higher_is_better", "target_value",
        "step", "samples", epoch=time_to_target.finite("epoch"), at=time_to_target.evaluated_at(),
    )  # fmt: skip


def _only_metrics(candidates: pl.DataFrame) -> pl.DataFrame:
    """Return the metrics of entries with one; raise an error where all have several."""
    only = pl.len().over(_ENTRY) == 1
    ambiguous = candidates.filter(~only)
    if ambiguous.is_empty() or candidates.filter(only).height:
        return candidates.filter(only)
    benchmark = ambiguous["benchmark"][0]
    of_benchmark = ambiguous.filter(pl.col("benchmark").eq_missing(pl.lit(benchmark, pl.String)))
    names = of_benchmark["metric"].unique(maintain_order=True).to_list()
    raise TtastatsError(
        f"{benchmark or 'these runs'}: several metrics: {units.join_names(names)}",
        remedy=f"Select one: --metric {names[0]}.",
    )


def _quality_at_budget(values: pl.LazyFrame, budget: Budget) -> pl.LazyFrame:
    """Return each run's values at its last evaluation at or before the budget."""
    order = _PROGRESS_COLUMNS[budget.unit]
    position = pl.lit(0.0) if budget.unit == "end" else pl.col(order)
    limit = float("inf") if budget.amount is None else budget.amount * (1 + TOLERANCE)
    within = (pl.col("place") <= limit).fill_null(value=False)
    finite_values = pl.col("value").filter(within & pl.col("value").is_finite())
    last_values = {name: pl.col(name).filter(within).last() for name in ("at", *SPENT)}
    quality = (
        pl.when(target.is_higher_better()).then(finite_values.max()).otherwise(finite_values.min())
    )
    if not budget.best:
        quality = pl.col("value").filter(within).last()
    if budget.interpolate and budget.amount is not None:
        last_values = {name: _interpolated(name, within, budget.amount) for name in last_values}
        quality = _interpolated("value", within, budget.amount)
    return (
        values.with_columns(place=position.cast(pl.Float64))
        .unique((*schema.RUN, "eval_index"), keep="first")
        .sort(order, "eval_index", nulls_last=True)
        .group_by(schema.RUN)
        .agg(
            pl.col("metric").first(),
            **last_values,
            higher_is_better=target.is_higher_better(),
            target_value=pl.col("target_value").filter(pl.col("target_value").is_finite()).first(),
            quality=quality,
            quality_step=_resolution(),
            quality_seen=within.sum(),
            **_noise(finite_values, quality, budget),
            **_neighbours(within, budget),
            evaluations=pl.len(),
        )
    )


def _neighbours(within: pl.Expr, budget: Budget) -> dict[str, pl.Expr]:
    """Return the positions of the evaluations around a budget, and the bend of values there."""
    if budget.amount is None:
        names = ("taken_at", "taken_interval", "quality_change", "bend_before", "bend_after")
        number = pl.lit(None, pl.Float64)
        return {**dict.fromkeys(names, number), "places": pl.lit(None, pl.List(pl.Float64))}
    x, v = _around("place", within), _around("value", within)
    line = v[0] + (v[1] - v[0]) / (x[1] - x[0]) * (budget.amount - x[0])
    from_left = v[0] + (v[0] - v[-1]) / (x[0] - x[-1]) * (budget.amount - x[0])
    from_right = v[1] + (v[2] - v[1]) / (x[2] - x[1]) * (budget.amount - x[1])
    is_at_budget = x[0] >= budget.amount * (1 - TOLERANCE)
    return {
        "taken_at": x[0],
        "taken_interval": pl.coalesce(x[1] - x[0], x[0] - x[-1]),
        "quality_change": v[1] - v[0],
        "bend_before": pl.when(is_at_budget).then(0.0).otherwise(from_left - line),
        "bend_after": pl.when(is_at_budget).then(0.0).otherwise(from_right - line),
        "places": pl.col("place").drop_nulls().unique().sort(),
    }


#: The best is chosen among the evaluations within so many deviations of it.
_NEAR = 4.0


def _noise(values: pl.Expr, best: pl.Expr, budget: Budget) -> dict[str, pl.Expr]:
    """Return the noise of one evaluation, and the number of evaluations near the best.

    Second differences of independent noise have six times its variance, and no trend.
    """
    if not budget.best:
        return {"quality_noise": pl.lit(None, pl.Float64), "quality_near": pl.lit(None, pl.UInt32)}
    second_half = values.slice(values.len() // 2)
    noise = ((second_half.diff().diff() ** 2).mean() / 6).sqrt()
    return {"quality_noise": noise, "quality_near": ((values - best).abs() <= _NEAR * noise).sum()}


def _around(name: str, within: pl.Expr) -> dict[int, pl.Expr]:
    """Return a column at the last two evaluations within a budget (-1, 0) and the next (1, 2)."""
    column, is_after = pl.col(name).cast(pl.Float64), ~within & pl.col("place").is_not_null()
    ends = {-1: (within, -2), 0: (within, -1), 1: (is_after, 0), 2: (is_after, 1)}
    return {n: column.filter(mask).get(at, null_on_oob=True) for n, (mask, at) in ends.items()}


def _interpolated(name: str, within: pl.Expr, amount: float) -> pl.Expr:
    """Return a column on the line between the evaluations around an amount."""
    x, v = _around("place", within), _around(name, within)
    line = v[0] + (v[1] - v[0]) * ((amount - x[0]) / (x[1] - x[0]))
    return pl.when(x[0] >= amount * (1 - TOLERANCE)).then(v[0]).otherwise(line)


def _resolution() -> pl.Expr:
    """Return the resolution of a run's logged quality: its last decimal, or smallest change.

    Values of more decimals than anybody writes are quotients, such as shares of so many images.
    """
    values = pl.col("value").filter(pl.col("value").is_finite())
    sizes = values.unique().sort()
    changes = sizes.diff().filter(sizes.diff() > sizes.abs() * 1e-12)

    def unit_at(decimals: int) -> pl.Expr:
        scaled = values * 10.0**decimals
        is_integer = ((scaled - scaled.round()).abs() < 1e-6).all() & values.count().gt(0)
        return pl.when(is_integer).then(pl.lit(10.0**-decimals))

    return pl.coalesce(*map(unit_at, range(_MOST_DECIMALS)), changes.min())


def _missing_reason(budget: Budget) -> pl.Expr:
    """Return why a run has no value at a budget, as a key of `SHORT`; null if it has one."""
    reasons = [(pl.col("evaluations").is_null(), "never_evaluated")]
    if budget.amount is not None:
        furthest = pl.col("furthest")
        reasons += [
            (furthest.is_null(), "no_place"),
            (furthest < budget.amount * (1 - TOLERANCE), "ended_before"),
            (pl.col("quality_seen") == 0, "evaluated_later"),
        ]
    if budget.interpolate:
        reasons.append((pl.col("quality").is_null(), "evaluated_before"))
    reasons.append((~pl.col("quality").is_finite().fill_null(value=False), "not_a_number"))
    return pl.coalesce(pl.when(applies).then(pl.lit(reason)) for applies, reason in reasons)


def at_stop(rows: pl.LazyFrame, runs: pl.DataFrame, metric: str) -> pl.DataFrame:
    """Return the runs that reached the target, with a metric's `quality` where their time ended.

    A run stops when its target is met, so that the quality that decided is what was asked for. Data
    that did not choose the stopping point tell whether it is as good elsewhere. The value is that
    of the checkpoint that met the target, or of a later evaluation before which nothing more was
    trained, as one that follows the end of a run. `rows` is the tidy table of the `runs`.
    """
    reached = runs.filter("reached").select(*schema.RUN, "evaluations_to_target")
    evaluations = (
        rows.filter(schema.is_evaluation())
        .join(reached.lazy(), on=schema.RUN, how="inner")
        .with_columns(
            epoch=time_to_target.finite("epoch"),
            number=pl.col("eval_index").rank("dense").over(schema.RUN),
        )
    )
    stop = pl.col("number") == pl.col("evaluations_to_target")
    trained = {f"{name}_then": pl.col(name).filter(stop).max() for name in SPENT}
    ends = evaluations.group_by(schema.RUN).agg(**trained)
    goes_on = pl.any_horizontal(pl.col(name) > pl.col(f"{name}_then") for name in SPENT)
    return (
        evaluations.join(ends, on=schema.RUN, how="left")
        .filter(
            pl.col("metric") == metric,
            pl.col("value").is_finite(),
            pl.col("number") >= pl.col("evaluations_to_target"),
            ~goes_on.fill_null(value=False),
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


def expect_some(judged: pl.DataFrame, rows: pl.LazyFrame, budget: Budget, who: str = "") -> None:
    """Raise an error if no run that counts has a value at a budget; `who` names the side."""
    standing = left_out.standing(judged)
    if standing.is_empty() or standing["reached"].any():
        return
    why = ", ".join(
        f"{number} {SHORT[reason]}"
        for reason, number in standing["short"].value_counts(sort=True).iter_rows()
    )
    metrics = judged["target_metric"].drop_nulls().unique()
    metric = str(metrics[0]) if metrics.len() == 1 else ""
    reach = lengths(left_out.standing(runs(rows, END, metric=metric)))
    longest = f"The longest has {reach.text(reach.most)}" if reach.most else "None logs its length"
    able = f"; {reach.all_reach}" if reach.all_reach else ""
    side = f" of {who}" if who else ""
    raise TtastatsError(
        f"no run{side} has a value {budget.place}: of {units.plural(standing.height, 'run')} {why}",
        where=budget.option,
        remedy=f"{longest}{able}. For the value at the end of each run, use --at-end.",
    )


def common_length(rows: pl.LazyFrame, judged: pl.DataFrame) -> str:
    """Return the one length of all judged runs, such as `1,390 steps`, empty if there is none."""
    metrics = judged["target_metric"].drop_nulls().unique()
    if metrics.len() != 1:
        return ""
    of_runs = rows.join(judged.lazy().select(schema.RUN), on=schema.RUN, how="semi")
    ends = runs(of_runs.filter(pl.col("metric") == metrics[0]))
    extent = lengths(ends) if ends["reached"].all() and ends.height == judged.height else None
    return extent.text(extent.most) if extent and extent.equal and extent.unit else ""
