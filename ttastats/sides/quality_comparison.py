"""Two sides of runs at one budget in numbers: which has the better quality, and how sure?

The mean qualities are compared, and beside them what each side had spent by then. A run without a
value is in no mean; since it may be one that failed, no side is called better that has such runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from ttastats.outcomes import axis as axes
from ttastats.outcomes.axis import SECONDS, Axis
from ttastats.outcomes.budget import END, Budget, Lengths, lengths
from ttastats.outcomes.direction import is_upwards
from ttastats.sides.design.at_budget import at_budget, slack
from ttastats.sides.design.findings import Finding, these_blocks, words
from ttastats.sides.design.side import setup_names
from ttastats.sides.numbers import both_blocks, share_a_block, side
from ttastats.sides.options import Options
from ttastats.sides.pairing import Pair
from ttastats.stats.blocks import ByBlock, by_block
from ttastats.stats.means import AgainstNumber, MeanDifference, against, difference, smallest_change
from ttastats.stats.moments import mean, standard_deviation
from ttastats.stats.multiplicity import adjusted
from ttastats.stats.results import Floats, Ratio
from ttastats.stats.speedup import ratio_between
from ttastats.stats.verdict import Verdict

#: On which axis it is told what was spent, where a budget fixes the time.
_INSTEAD_OF_TIME = ("steps", "epochs", "samples")


@dataclass(frozen=True, slots=True, eq=False)
class SideAt:
    """The runs of one side at a budget: those with a value, and how many have none.

    `spent` is what those with a value had spent on the axis of the comparison, None where a run
    does not tell. `meets` tests their mean against the target, where there is one.
    """

    n: int
    missing: int
    mean: float | None
    sd: float | None
    spent: float | None
    lengths: Lengths
    meets: AgainstNumber | None = None


@dataclass(frozen=True, slots=True, eq=False)
class QualityComparison:
    """One benchmark on two sides at a budget. `difference` is B minus A.

    `ratio` is A over B of what was spent on the `axis`. `why` says why there is no verdict,
    `findings` what is wrong with the design of the runs. `slack` is by how much the ends of the
    difference may lie lower and higher because of where runs were evaluated.
    """

    keys: Mapping[str, Any]
    metric: str | None
    higher_is_better: bool
    a: SideAt
    b: SideAt
    axis: Axis
    why: str
    findings: tuple[Finding, ...]
    difference: MeanDifference | None = None
    ratio: Ratio | None = None
    p_adjusted: float | None = None
    verdict: Verdict = Verdict.UNAVAILABLE
    by_block: ByBlock | None = None
    slack: tuple[float, float] = (0.0, 0.0)

    @property
    def one_sided(self) -> tuple[float, float] | None:
        """Return the one-sided bounds of the difference, with what the evaluations allow for."""
        limits = self.difference.one_sided() if self.difference else None
        return None if limits is None else (limits[0] + self.slack[0], limits[1] + self.slack[1])

    @property
    def allowed_for(self) -> str:
        """Return what the verdict allows for because of where runs were evaluated."""
        return words(found.code for found in self.findings if found.effect == "allowance")

    @property
    def conditions(self) -> tuple[str, ...]:
        """Return the codes of what a claim carries."""
        if not self.verdict.decided:
            return ()
        return tuple(one.code for one in self.findings if one.effect == "condition")


def compare(
    pairs: Sequence[Pair],
    budget: Budget,
    options: Options,
    *,
    unit: str = "",
    margin: float | None = None,
) -> tuple[QualityComparison, ...]:
    """Compare pairs of groups of runs at a budget and judge them together.

    Parameters
    ----------
    pairs
        Their runs are tables of `at_budget.runs`.
    unit
        The axis of what was spent; by default seconds, or progress where the budget is a time.
    margin
        The difference that does not matter, in the unit of the metric; without one no sides are
        called the same.
    """
    measured = [_measured(pair, budget, options, unit) for pair in pairs]
    gaps = [None if one.why else one.difference for one in measured]
    p_values = adjusted([gap.p_value if gap else None for gap in gaps], fdr=options.fdr)
    return tuple(
        _judged(replace(one, p_adjusted=p), options, margin)
        for one, p in zip(measured, p_values, strict=True)
    )


def _measured(pair: Pair, budget: Budget, options: Options, unit: str) -> QualityComparison:
    with_value = [runs.filter(pl.col("quality").is_not_null()) for runs in (pair.a, pair.b)]
    axis = _axis(with_value, budget, unit)
    found = at_budget(with_value[0], with_value[1], budget)
    metrics = pl.concat([runs["target_metric"] for runs in (pair.a, pair.b)]).drop_nulls().unique()
    higher = is_upwards(pair.a, pair.b)
    step = step_of(pl.concat(with_value, how="vertical_relaxed"))
    a, b = (
        _side_at(runs, some, axis, higher, step, 1 - options.confidence)
        for runs, some in zip((pair.a, pair.b), with_value, strict=True)
    )
    one, other = (runs["quality"].to_numpy() for runs in with_value)
    made = QualityComparison(
        pair.keys, metrics[0] if metrics.len() == 1 else None, higher, a, b, axis,
        why=_why_not(pair, a, b, budget, metrics.len()) or _by_design(found),
        findings=found,
        slack=slack(with_value[0], with_value[1], budget),
    )  # fmt: skip
    if not a.n or not b.n or metrics.len() > 1:
        return made
    labels = (setup_names(with_value[0]).to_numpy(), setup_names(with_value[1]).to_numpy())
    if not share_a_block(*with_value):
        return replace(made, why=made.why or "no block has values of both sides")
    blocks = both_blocks(*with_value)
    gap = difference(
        one, other, clusters=labels, blocks=blocks, resolution=step, confidence=options.confidence
    )
    each = None if blocks is None else by_block(one, other, blocks)
    return replace(made, difference=gap, ratio=_ratio(with_value, axis, options), by_block=each)


def step_of(runs: pl.DataFrame) -> float:
    """Give the step in which the qualities of some runs were logged (`stats.means`)."""
    told = runs["quality_step"].drop_nulls().to_list()
    return min([*told, *smallest_change(runs["quality"].drop_nulls().to_numpy())], default=0.0)


def _axis(with_value: Sequence[pl.DataFrame], budget: Budget, unit: str) -> Axis:
    """Choose what is told to have been spent: seconds, or where the budget is a time, progress."""
    if unit:
        axes.settled(with_value, unit)  # refuses what no side tells
        return axes.AXES[unit]
    if budget.unit != "seconds":
        return SECONDS
    told = (
        name for name in _INSTEAD_OF_TIME if not any(runs[name].null_count() for runs in with_value)
    )
    return axes.AXES[next(told, "seconds")]


def _spent(runs: pl.DataFrame, axis: Axis) -> Floats | None:
    """Give what runs with a value had spent; None where one does not tell, or tells none."""
    spent = axes.on(runs, axis)["observed_seconds"]
    if runs.is_empty() or spent.null_count() or not (spent > 0).all():
        return None
    found: Floats = spent.cast(pl.Float64).to_numpy()
    return found


def _ratio(with_value: Sequence[pl.DataFrame], axis: Axis, options: Options) -> Ratio | None:
    if any(_spent(runs, axis) is None for runs in with_value):
        return None
    a, b = (side(axes.on(runs, axis), None, None).outcomes for runs in with_value)
    found = ratio_between(a, b, estimand=options.estimand, confidence=options.confidence)
    if options.estimand != "mean" or not found.se_log or a.blocks is not None:
        return found
    # The p of people who compare means in seconds, which that of the logs differs from by little.
    of_means = difference(a.times, b.times, clusters=(a.clusters, b.clusters))
    return replace(found, p_value=of_means.p_value)


def _side_at(
    runs: pl.DataFrame,
    with_value: pl.DataFrame,
    axis: Axis,
    higher: bool,
    step: float,
    level: float,
) -> SideAt:
    values, spent = with_value["quality"].to_numpy(), _spent(with_value, axis)
    targets = with_value["target_value"].drop_nulls().unique()
    meets = None
    if targets.len() == 1 and values.size:
        meets = against(
            values, float(targets[0]), higher_is_better=higher, level=level, resolution=step
        )
    return SideAt(
        n=with_value.height,
        missing=runs.height - with_value.height,
        mean=mean(values) if values.size else None,
        sd=standard_deviation(values),
        spent=None if spent is None else mean(spent),
        lengths=lengths(runs),
        meets=meets,
    )


def _why_not(pair: Pair, a: SideAt, b: SideAt, budget: Budget, metrics: int) -> str:
    """Say why a pair cannot be judged; empty if it can."""
    if pair.unavailable is not None:
        return pair.unavailable
    if not a.n or not b.n:
        return "no run with a value"
    if metrics > 1:
        return "the sides log different metrics"
    if budget.unit == END.unit and not (a.lengths.one and b.lengths.one):
        return "ends differ"
    return ""


def _by_design(found: Sequence[Finding]) -> str:
    return words(one.code for one in found if one.effect == "undecided")


def _judged(one: QualityComparison, options: Options, margin: float | None) -> QualityComparison:
    found = one.difference
    if one.why or found is None:
        return one
    if found.low is None:
        return replace(one, verdict=Verdict.UNDECIDED, why="one run")
    if one.by_block is not None:
        alpha = 1 - options.confidence
        blocks = these_blocks(one.by_block, found.p_value, one.p_adjusted, alpha)
        one = replace(one, findings=(*one.findings, *blocks))
    if one.p_adjusted is not None and one.p_adjusted < 1 - options.confidence:
        return _directed(one, found)
    if margin is not None and _within(one, margin) and not one.a.missing + one.b.missing:
        return replace(one, verdict=Verdict.SAME)
    return replace(one, verdict=Verdict.UNDECIDED)


def _directed(one: QualityComparison, found: MeanDifference) -> QualityComparison:
    """Call B better or worse, unless the better side has runs without a value."""
    low, high = (end or 0.0 for end in (found.low, found.high))
    if low + one.slack[0] <= 0 <= high + one.slack[1]:
        return replace(one, verdict=Verdict.UNDECIDED, why=one.allowed_for)
    better = (found.estimate > 0) == one.higher_is_better
    if (one.b if better else one.a).missing:
        return replace(one, verdict=Verdict.UNDECIDED, why="runs missing")
    return replace(one, verdict=Verdict.BETTER if better else Verdict.WORSE)


def _within(one: QualityComparison, margin: float) -> bool:
    """Tell whether two one-sided tests show the difference to be less than the margin."""
    limits = one.one_sided
    return limits is not None and -margin < limits[0] and limits[1] < margin
