"""Two sides of runs in qualities: which has the better one at a budget, or where its time ended?

The mean qualities are compared, and beside them what each side had spent by then. A run without a
value is in no mean; since it may be one that failed, no side is called better that has such runs.
Beside times, another metric says whether a gain costs quality on data that did not choose the
stopping point.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from ttastats.outcomes import axis as axes
from ttastats.outcomes import scales
from ttastats.outcomes.at_budget import at_stop
from ttastats.outcomes.axis import SECONDS, Axis
from ttastats.outcomes.budget import END, Budget, Lengths, lengths
from ttastats.outcomes.target import is_upwards
from ttastats.sides.budget_checks import at_budget
from ttastats.sides.contrast import ValuesContrast, no_verdict, with_verdicts
from ttastats.sides.design import setup_names
from ttastats.sides.numbers import both_blocks, outcomes_of
from ttastats.sides.options import POWER, Options
from ttastats.sides.pairing import MIXED_SIZES, Pair, Side
from ttastats.sides.proposals import Proposal, propose
from ttastats.stats.blocks import differences_by_block
from ttastats.stats.decision import Decision
from ttastats.stats.means import (
    AgainstNumber,
    MeanDifference,
    compare_with_number,
    mean_difference,
    smallest_change,
)
from ttastats.stats.moments import mean, standard_deviation
from ttastats.stats.power import detectable_difference
from ttastats.stats.results import Floats, Ratio, Verdict
from ttastats.stats.speedup import ratio_between
from ttastats.table import schema

#: The axes of costs, where a budget fixes the time.
_INSTEAD_OF_TIME = ("steps", "epochs", "samples")
_NO_LENGTHS = Lengths(None, 0.0, 0.0, 0, 0)


class SideQuality(Struct, frozen=True, eq=False):
    """The runs of one side that have a value, and how many have none.

    At a budget, `spent` is what those with a value had spent on the axis of the comparison, None
    where a run does not tell. `meets` tests their mean against the target, where there is one.
    """

    n: int
    missing: int
    mean: float | None
    sd: float | None
    spent: float | None = None
    lengths: Lengths = _NO_LENGTHS
    meets: AgainstNumber | None = None


QualityComparison = ValuesContrast[SideQuality]


class OtherMetric(Struct, frozen=True, eq=False):
    """Another metric of a pair where its time ended; `chose`: runs had to meet a target of it."""

    contrast: QualityComparison
    metric: str
    chose: bool


def compare(
    pairs: Sequence[Pair],
    budget: Budget,
    options: Options,
    *,
    unit: str = "",
    margin: float | None = None,
) -> tuple[QualityComparison, ...]:
    """Return the comparisons of pairs of groups at a budget, judged together.

    `unit` is the axis of what was spent, by default seconds, or progress where the budget is a
    time. `margin` does not matter, in the unit of the metric; without one no sides are the same.
    """
    comparisons = [_compare_pair(pair, budget, options, unit) for pair in pairs]
    return tuple(
        replace(comparison, blocks=_proposal(comparison, pair, 1 - options.confidence))
        for comparison, pair in zip(with_verdicts(comparisons, options, margin), pairs, strict=True)
    )


def _proposal(contrast: QualityComparison, pair: Pair, alpha: float) -> Proposal | None:
    """Return the blocks of the runs with a smaller detectable difference, if any."""
    a, b = contrast.a, contrast.b
    if contrast.verdict.word is not Verdict.UNDECIDED or contrast.within_blocks:
        return None
    sides = [runs.filter(pl.col("quality").is_not_null()) for runs in (pair.a, pair.b)]
    if not a.sd or not b.sd or any(side.height < 2 for side in sides):
        return None
    blocks = propose(sides, [runs["quality"].to_numpy() for runs in sides])
    detectable = blocks and blocks.detectable(power=POWER, alpha=alpha)
    return (
        blocks
        if detectable and detectable < detectable_difference(min(a.n, b.n), (a.sd, b.sd))
        else None
    )


def _compare_pair(pair: Pair, budget: Budget, options: Options, unit: str) -> QualityComparison:
    """Return the comparison of a pair at a budget, before judgement among others."""
    valued_a, valued_b = (runs.filter(pl.col("quality").is_not_null()) for runs in (pair.a, pair.b))
    with_value = valued_a, valued_b
    axis = _cost_axis(with_value, budget, unit)
    metrics = pl.concat([runs["target_metric"] for runs in (pair.a, pair.b)]).drop_nulls().unique()
    higher = is_upwards(pair.a, pair.b)
    step = step_of(pl.concat(with_value, how="vertical_relaxed"))
    level = 1 - options.confidence
    a = _side_at_budget(pair.a, valued_a, axis, higher, step, level)
    b = _side_at_budget(pair.b, valued_b, axis, higher, step, level)
    reason = _unavailable_reason(pair, a, b, budget, metrics.len())
    findings, slack = at_budget(*with_value, budget)
    comparison = QualityComparison(
        pair.keys, a, b, axis,
        metric=metrics[0] if metrics.len() == 1 else None,
        higher_is_better=higher,
        incomplete=(a.missing > 0, b.missing > 0),
        findings=findings,
        slack=slack,
    )  # fmt: skip
    if a.n and b.n and metrics.len() < 2 and MIXED_SIZES not in pair.flags:
        gap = _quality_difference(*with_value, step, options)
        if gap is None:
            reason = reason or "no block has values of both sides"
        else:
            ratio = _cost_ratio(with_value, axis, options)
            comparison = replace(comparison, difference=gap, p_value=gap.p_value, ratio=ratio)
    if comparison.difference and (blocks := both_blocks(*with_value)) is not None:
        values_a, values_b = (runs["quality"].to_numpy() for runs in with_value)
        by_block = differences_by_block(values_a, values_b, blocks)
        comparison = replace(comparison, by_block=by_block, within_blocks=True)
    return replace(comparison, verdict=no_verdict(reason, options)) if reason else comparison


def _quality_difference(
    a: pl.DataFrame, b: pl.DataFrame, step: float, options: Options
) -> MeanDifference | None:
    """Return B minus A; None if there are blocks, and none has values of both."""
    blocks = both_blocks(a, b)
    if blocks is not None and set(blocks[0]).isdisjoint(blocks[1]):
        return None
    return mean_difference(
        a["quality"].to_numpy(),
        b["quality"].to_numpy(),
        clusters=(setup_names(a).to_numpy(), setup_names(b).to_numpy()),
        blocks=blocks,
        resolution=step,
        confidence=options.confidence,
    )


def step_of(runs: pl.DataFrame) -> float:
    """Return the step in which the qualities of some runs were logged (`stats.means`)."""
    steps = runs["quality_step"].drop_nulls().to_list()
    return min([*steps, *smallest_change(runs["quality"].drop_nulls().to_numpy())], default=0.0)


def _cost_axis(with_value: Sequence[pl.DataFrame], budget: Budget, unit: str) -> Axis:
    """Return the axis of costs: seconds, or progress if the budget is a time."""
    if unit:
        axes.on_common_axis(with_value, unit)  # refuses what no side tells
        return axes.AXES[unit]
    for name in _INSTEAD_OF_TIME if budget.unit == "seconds" else ():
        if not any(runs[name].null_count() for runs in with_value):
            return axes.AXES[name]
    return SECONDS


def _costs(runs: pl.DataFrame, axis: Axis) -> Floats | None:
    """Return the cost of each run with a value; None if one is unknown."""
    spent = axes.converted(runs, axis)["observed_seconds"].cast(pl.Float64)
    all_known = not (runs.is_empty() or spent.null_count()) and (spent > 0).all()
    return spent.to_numpy() if all_known else None


def _cost_ratio(with_value: Sequence[pl.DataFrame], axis: Axis, options: Options) -> Ratio | None:
    if any(_costs(runs, axis) is None for runs in with_value):
        return None
    a, b = (outcomes_of(axes.converted(runs, axis)) for runs in with_value)
    ratio = ratio_between(a, b, estimand=options.estimand, confidence=options.confidence)
    if options.estimand != "mean" or not ratio.se_log or a.blocks is not None:
        return ratio
    # The p of people who compare means in seconds, which that of the logs differs from by little.
    clusters = (a.clusters, b.clusters)
    of_means = mean_difference(a.times, b.times, clusters=clusters, confidence=ratio.confidence)
    return replace(ratio, p_value=of_means.p_value)


def _side_at_budget(
    runs: pl.DataFrame,
    with_value: pl.DataFrame,
    axis: Axis,
    higher: bool,
    step: float,
    level: float,
) -> SideQuality:
    values, costs = with_value["quality"].to_numpy(), _costs(with_value, axis)
    spent = None if costs is None else mean(costs)
    targets, meets = with_value["target_value"].drop_nulls().unique(), None
    if targets.len() == 1 and values.size:
        meets = compare_with_number(
            values, float(targets[0]), higher_is_better=higher, level=level, resolution=step
        )
    side = _side_of(values, runs.height - with_value.height)
    # A run without a value has failed and is counted: where it ended says nothing of the others.
    return replace(side, spent=spent, lengths=lengths(with_value), meets=meets)


def _side_of(values: Floats, missing: int) -> SideQuality:
    centre = mean(values) if values.size else None
    return SideQuality(values.size, missing, centre, standard_deviation(values))


def _unavailable_reason(
    pair: Pair, a: SideQuality, b: SideQuality, budget: Budget, metrics: int
) -> str:
    if pair.unavailable is not None:
        return pair.unavailable
    if not a.n or not b.n:
        return "no run with a value"
    if metrics > 1:
        return "the sides log different metrics"
    if budget.unit == END.unit and not (a.lengths.equal and b.lengths.equal):
        return "ends differ"
    return ""


def other_metrics(
    sides: Sequence[tuple[Side, Side, Pair]], metrics: Sequence[str], options: Options
) -> list[tuple[OtherMetric, ...]]:
    """Return for each pair the comparisons of other metrics, judged together."""
    metric_comparisons = [
        _compare_at_stop(*sides_and_pair, metric, options)
        for sides_and_pair in sides
        for metric in metrics
    ]
    contrasts = with_verdicts([other.contrast for other in metric_comparisons], options)
    comparisons = (
        replace(other, contrast=contrast)
        for other, contrast in zip(metric_comparisons, contrasts, strict=True)
    )
    return [tuple(islice(comparisons, len(metrics))) for _ in sides]


def _compare_at_stop(
    baseline: Side, other: Side, pair: Pair, metric: str, options: Options
) -> OtherMetric:
    """Return the comparison of another metric where the time of each run ended."""
    a, b = (
        at_stop(side.evaluations, runs, metric).join(runs, on=schema.RUN, how="left")
        for side, runs in ((baseline, pair.a), (other, pair.b))
    )
    columns = ("quality", "quality_step", "higher_is_better")
    evaluations = pl.concat([a.select(columns), b.select(columns)])
    side_a, side_b = (
        _side_of(valued["quality"].to_numpy(), int(runs["reached"].sum()) - valued.height)
        for valued, runs in ((a, pair.a), (b, pair.b))
    )
    contrast = QualityComparison(
        pair.keys, side_a, side_b, higher_is_better=is_upwards(evaluations)
    )
    gap, reason = None, scales.mixture(metric, contrast.higher_is_better, evaluations["quality"])
    if not (a.is_empty() or b.is_empty() or reason):
        gap = _quality_difference(a, b, step_of(evaluations), options)
    if gap is None:
        no_value = Decision(Verdict.UNAVAILABLE, "no value", 0.0, reason=reason or "no value")
        contrast = replace(contrast, verdict=no_value)
    else:
        contrast = replace(contrast, difference=gap, p_value=gap.p_value)
    targets = pl.concat([runs["target_metric"] for runs in (pair.a, pair.b)]).drop_nulls()
    return OtherMetric(contrast, metric, metric in targets.to_list())
