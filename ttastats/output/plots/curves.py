"""The quality of runs over training, small enough to be drawn."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
from msgspec import Struct

from ttastats.output.plots.material import MOST_POINTS, Panel

#: Words of metrics that are not written as they are spelled.
_SPELLINGS = {
    "auc": "AUC", "bleu": "BLEU", "ca": "Cα", "clip": "CLIP", "f1": "F1", "fid": "FID",
    "iou": "IoU", "lddt": "lDDT", "lm": "LM",
    "lr": "learning rate", "map": "mAP", "top1": "top-1", "top5": "top-5",
}  # fmt: skip
#: Spans of time or epochs in which evaluations are drawn together.
SPANS = 48
#: Fewer runs show no spread, and bands over more bands than these cannot be told apart.
_FEWEST, _MOST_SPREADS = 3, 3
_SERIES = ("order", "series", "colour")


class DrawnMetric(Struct, frozen=True):
    """A metric with its direction, None if unknown, and target, None if it has none or several."""

    name: str
    higher_is_better: bool | None
    target: float | None

    @property
    def words(self) -> str:
        """Return the name of the metric as in a sentence."""
        return " ".join(_SPELLINGS.get(word, word) for word in self.name.split("_"))


def drawn_metrics(panel: Panel, rows: pl.LazyFrame, metric: str = "") -> list[DrawnMetric]:
    """Return the metric of that name, or those with a target, or the first."""
    target = pl.col("target_value")
    logged = (
        rows.group_by("metric")
        .agg(
            pl.col("higher_is_better").first(),
            targets=target.filter(target.is_finite()).unique(),
            n=pl.len(),
        )
        .sort("n", "metric", descending=[True, False])
        .collect()
    )
    # The targets by which the runs were judged, those of the user before all.
    aims = panel.runs.select("target_metric", "target_value").drop_nulls().unique()
    targets = dict(aims.iter_rows()) if aims.height == 1 else {}
    only, by_user = next(iter(targets), None), panel.sides[0].targets
    targets |= {target.metric or only: target.value for target in by_user}
    targets.pop(None, None)
    candidates = [
        DrawnMetric(name, higher, targets.get(name) or (values[0] if len(values) == 1 else None))
        for name, higher, values, _ in logged.iter_rows()
    ]
    if metric:
        return [candidate for candidate in candidates if candidate.name == metric]
    if targets and by_user:
        return [candidate for candidate in candidates if candidate.name in targets]
    aimed = zip(candidates, logged["targets"].list.len(), strict=True)
    return [candidate for candidate, several in aimed if several] or candidates[:1]


def curve_table(
    rows: pl.LazyFrame, metric: DrawnMetric, over: str = "seconds"
) -> tuple[pl.DataFrame, str]:
    """Return one metric's evaluations in order, thinned if many, and a text on what was left out.

    Of each run the first, the last, the best and evenly spaced evaluations between are kept.
    """
    numbers = pl.col(*dict.fromkeys(("seconds", "epoch", over, "value")))
    values = (
        rows.filter(pl.col("metric") == metric.name)
        # What is drawn later lies above: the fastest, which have a colour, last.
        .sort("run", "seconds", "eval_index", descending=[True, False, False])
        .select("run", numbers.cast(pl.Float64).round_sig_figs(6))
        .collect()
    )
    if values.height <= MOST_POINTS:
        return values, ""
    most, value = max(4, MOST_POINTS // max(1, values["run"].n_unique())), pl.col("value")
    best = value.min() if metric.higher_is_better is False else value.max()
    thinned = values.filter(evenly_spaced(most, ["run"]) | (value == best.over("run")))
    return thinned, f"{thinned.height:,} of {values.height:,} values are drawn, evenly spaced. "


def quantiles_over_time(
    rows: pl.LazyFrame, metric: DrawnMetric, over: str, *, log: bool
) -> pl.DataFrame:
    """Return quantiles of the quality of each series in intervals of time or epochs.

    Columns: `series`, `colour`, `at` (the middle of the span), `low`, `lower`, `median`, `upper`,
    `high` (5, 25, 50, 75 and 95 % of the evaluations), `n`.
    """
    x = pl.col(over).log() if log else pl.col(over)
    values = rows.filter(pl.col("metric") == metric.name, pl.col(over) > 0)
    low, high = x.min().over("series"), x.max().over("series")
    step = ((high - low) / SPANS).clip(1e-12)
    middle = low + (((x - low) / step).floor().clip(0, SPANS - 1) + 0.5) * step
    return (
        values.with_columns(at=middle.exp() if log else middle)
        .group_by(*_SERIES, "at")
        .agg(_quantile_columns(0.05), n=pl.len())
        .sort("order", "at")
        .collect()
    )


def _quantile_columns(share: float) -> list[pl.Expr]:
    """Return the expressions of quantiles that leave out a share at each end."""
    shares = {"low": share, "lower": 0.25, "median": 0.5, "upper": 0.75, "high": 1 - share}
    return [pl.col("value").quantile(at, "linear").alias(name) for name, at in shares.items()]


def quantiles_by_epoch(panel: Panel, rows: pl.LazyFrame, metric: DrawnMetric) -> pl.DataFrame:
    """Return quantiles of the quality after each epoch with three or more evaluated runs.

    As Coleman et al. 2019, Figure 2. Columns: `series`, `colour`, `epoch`, `n`, `low` and `high`
    (all runs), `lower`, `median` and `upper` (quartiles), `std` (ddof 1), and those a reader
    chooses rows by; of the series with the most runs.
    """
    value = pl.col("value")
    epochs = (
        rows.filter(pl.col("metric") == metric.name, pl.col("epoch").is_not_null())
        .with_columns(epoch=pl.col("epoch").round(3))
        .group_by(*_SERIES, "epoch", "run")
        .agg(value.sort_by("eval_index").last())
        .group_by(*_SERIES, "epoch")
        # The last digits of a deviation depend on how the rows were spread over threads.
        .agg(pl.len().alias("n"), *_quantile_columns(0.0), std=value.std().round_sig_figs(6))
        .filter(pl.col("n") >= _FEWEST)
        .filter(pl.len().over("order") >= 2)
        .sort("order", "epoch")
        .collect()
    )
    most = epochs.group_by("order").agg(pl.col("n").max())
    ranked = most.sort(["n", "order"], descending=[True, False]).head(_MOST_SPREADS)
    visible = epochs.join(ranked.select("order"), on="order", how="semi")
    return panel.with_owners(visible).drop("order")


def evenly_spaced(most: int, over: Sequence[str]) -> pl.Expr:
    """Return an expression that selects evenly spaced rows of each group, ends included.

    About `most` stay of each group, all of one that has no more; the rows are in order.
    """
    position, count = pl.int_range(pl.len()).over(over), pl.len().over(over)
    step = ((count - 1) / (most - 1)).clip(1.0)
    return ((position / step).floor() != ((position - 1) / step).floor()) | (position == count - 1)
