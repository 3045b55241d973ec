"""The quality of runs over training, small enough to be drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from ttastats.outcomes.time_to_target import evaluated_at
from ttastats.output.plots.material import MOST_POINTS, MOST_RUNS, Panel
from ttastats.table import schema
from ttastats.table.schema import RUN

#: Spans of time or epochs in which evaluations are drawn together.
SPANS = 48


@dataclass(frozen=True, slots=True)
class DrawnMetric:
    """A metric with its direction, None if unknown, and target, None if it has none or several."""

    name: str
    higher_is_better: bool | None
    target: float | None


def evaluations(panel: Panel, metric: str = "") -> pl.LazyFrame:
    """Return the evaluations of a panel's runs, or all that was logged of one metric.

    Columns: `run`, `series`, `order`, `colour`, `metric`, `value`, `higher_is_better`,
    `target_value`, `epoch`, `step`, `samples`, `evaluation` (from 1), and `seconds`: when the
    weights existed if the evaluation was logged after the run, as the time to accuracy counts.
    """
    chosen = panel.runs.lazy().select(*RUN, "side", "run", "series", "order", "colour")
    measured = (
        "metric", "value", "higher_is_better", "target_value", "epoch", "step", "samples",
        "eval_index",
    )  # fmt: skip
    wanted = pl.col("metric") == metric if metric else schema.of_evaluations()
    parts = [
        side.evaluations.filter(wanted, pl.col("value").is_finite())
        .with_columns(
            seconds=evaluated_at(),
            side=pl.lit(number, pl.Int32),
            evaluation=pl.col("eval_index") + 1,
        )
        .select(*RUN, "side", *measured, "seconds", "evaluation")
        for number, side in enumerate(panel.sides)
    ]
    return pl.concat(parts).join(chosen, on=[*RUN, "side"], how="inner").drop(*RUN, "side")


def metrics(panel: Panel, rows: pl.LazyFrame, asked: str = "") -> tuple[DrawnMetric, ...]:
    """Return the metric asked for, or those that have a target; the first of all where none has."""
    found = (
        rows.group_by("metric")
        .agg(
            pl.col("higher_is_better").first(),
            pl.col("target_value")
            .filter(pl.col("target_value").is_finite())
            .unique()
            .alias("targets"),
            pl.len().alias("n"),
        )
        .sort("n", "metric", descending=[True, False])
        .collect()
    )
    targets = _targets(panel)
    known = [
        DrawnMetric(name, higher, targets.get(name) or (own[0] if len(own) == 1 else None))
        for name, higher, own, _ in found.iter_rows()
    ]
    if asked:
        return tuple(one for one in known if one.name == asked)
    if targets and panel.targets:
        return tuple(one for one in known if one.name in targets)
    judged = tuple(
        one for one, own in zip(known, found.get_column("targets"), strict=True) if len(own)
    )
    return judged or tuple(known[:1])


def _targets(panel: Panel) -> dict[str, float]:
    """Return the targets by which the runs were judged, those of the user before all."""
    judged = panel.runs.select("target_metric", "target_value").drop_nulls().unique()
    known = dict(judged.iter_rows()) if judged.height == 1 else {}
    only = next(iter(known), None)
    given = {target.metric or only: target.value for target in panel.targets}
    return {name: value for name, value in (known | given).items() if name is not None}


def table(
    rows: pl.LazyFrame, metric: DrawnMetric, over: str = "seconds"
) -> tuple[pl.DataFrame, str]:
    """Return one metric's evaluations in order, thinned if they are many, and what was left out.

    Of each run the first, the last, the best and evenly spaced evaluations between are kept.
    """
    found = (
        rows.filter(pl.col("metric") == metric.name)
        # What is drawn later lies above: the fastest, which have a colour, last.
        .sort("run", "seconds", "eval_index", descending=[True, False, False])
        .select(
            "run",
            pl.col(*dict.fromkeys(("seconds", "epoch", over, "value")))
            .cast(pl.Float64)
            .round_sig_figs(6),
        )
        .collect()
    )
    if found.height <= MOST_POINTS:
        return found, ""
    each = max(4, MOST_POINTS // max(1, found.get_column("run").n_unique()))
    best = pl.col("value").min() if metric.higher_is_better is False else pl.col("value").max()
    kept = found.filter(evenly(each, ["run"]) | (pl.col("value") == best.over("run")))
    return kept, f"{kept.height:,} of {found.height:,} values are drawn, evenly spaced. "


def too_many(panel: Panel) -> bool:
    """Return whether runs are so many that they must be drawn together."""
    return panel.runs.height > MOST_RUNS


def spans(rows: pl.LazyFrame, metric: DrawnMetric, over: str, *, log: bool) -> pl.DataFrame:
    """Return quantiles of the quality of each series in spans of time or epochs.

    Columns: `series`, `colour`, `at` (the middle of the span), `low`, `lower`, `median`, `upper`,
    `high` (5, 25, 50, 75 and 95 % of the evaluations), `n`.
    """
    x = pl.col(over).log() if log else pl.col(over)
    known = rows.filter(pl.col("metric") == metric.name, pl.col(over) > 0).with_columns(x=x)
    low, width = pl.col("x").min().over("series"), pl.col("x").max() - pl.col("x").min()
    step = (width.over("series") / SPANS).clip(1e-12)
    number = ((pl.col("x") - low) / step).floor().clip(0, SPANS - 1)
    middle = low + (number + 0.5) * step
    value = pl.col("value")
    return (
        known.with_columns(at=middle.exp() if log else middle)
        .group_by("order", "series", "colour", "at")
        .agg(
            low=value.quantile(0.05, "linear"),
            lower=value.quantile(0.25, "linear"),
            median=value.median(),
            upper=value.quantile(0.75, "linear"),
            high=value.quantile(0.95, "linear"),
            n=pl.len(),
        )
        .sort("order", "at")
        .collect()
    )


def evenly(most: int, over: Sequence[str]) -> pl.Expr:
    """Return which rows stay: of each group the first, the last, and evenly spaced ones between.

    About `most` stay of each group, all of one that has no more; the rows are in order.
    """
    place, count = pl.int_range(pl.len()).over(over), pl.len().over(over)
    step = ((count - 1) / (most - 1)).clip(1.0)
    return ((place / step).floor() != ((place - 1) / step).floor()) | (place == count - 1)
