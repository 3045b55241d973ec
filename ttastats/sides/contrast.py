"""A against B in one number: what was measured, and the one place where it is decided."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Generic, Literal, TypeVar

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from ttastats.base import units
from ttastats.base.codes import CONDITIONS, SHORT
from ttastats.outcomes.axis import SECONDS, Axis
from ttastats.sides import checks
from ttastats.sides.findings import Finding, adjusted_alike, condition_names, these_blocks
from ttastats.sides.numbers import SideNumbers
from ttastats.sides.options import Options
from ttastats.sides.proposals import Proposal
from ttastats.stats.blocks import ByBlock
from ttastats.stats.decision import (
    Bounds,
    Conditions,
    Decision,
    decide,
    decide_by_fraction,
    decide_difference,
    margin_bounds,
)
from ttastats.stats.means import MeanDifference
from ttastats.stats.multiplicity import Look, adjust_p_values
from ttastats.stats.outcomes import number_clusters
from ttastats.stats.permutation import PairWins
from ttastats.stats.results import Difference, Flag, Ratio, Verdict
from ttastats.stats.speedup import Speedup, compute_speedup

Sample = TypeVar("Sample")
AnyContrast = TypeVar("AnyContrast", bound="Contrast[Any]")

#: What is compared: mean times, geometric means, expected times to a success (when runs failed),
#: times per epoch (when both sides converge alike), or fractions that reached; "none" where nothing
#: is judged.
Estimand = Literal["mean", "geomean", "ert", "throughput", "fraction", "none"]

#: The verdict before judgement.
NOT_JUDGED = Decision(Verdict.UNAVAILABLE, "", 0.0)


class Startup(Struct, frozen=True):
    """The start-up times of both sides, and their factor in the speedup."""

    a_seconds: float
    b_seconds: float
    ratio: Ratio

    @property
    def texts(self) -> list[str]:
        """Return the start-up times of A and of B, in one unit."""
        return units.amounts((self.a_seconds, self.b_seconds), "seconds")


class Parts(Struct, frozen=True):
    """Why: the speedup of the successes is `throughput` x `progress` x that of the `startup`.

    All are ratios of the same means as the speedup: exact for geometric means, and for arithmetic
    ones where epochs and time per epoch are independent. `cv_epoch_time_*` tell how steady the
    time per epoch was. Without a `startup`, it is part of the time per epoch. `conditions` are
    those under which the throughput differs as it does.
    """

    throughput: Ratio
    progress: Ratio
    cv_epoch_time_a: float | None
    cv_epoch_time_b: float | None
    startup: Startup | None = None
    conditions: Conditions = ()


class PowerPlan(Struct, frozen=True):
    """The detectable speedup of the runs at hand at 80 % power, and the runs for the observed one.

    Both among the `tests` that are not decided yet, with unseen epochs allowed for. `certain`:
    where a run failed, the runs for a claim that holds too if further runs fail. `blocks`: within
    which the same runs would detect `detectable_within`.
    """

    cv: float
    n: int
    detectable: float | None
    needed: int | None
    tests: int
    certain: int | None = None
    blocks: Proposal | None = None
    detectable_within: float | None = None


class Contrast(Struct, Generic[Sample], frozen=True, eq=False):
    """A against B of one benchmark, metric or part, with what is claimed of it.

    `by_block` is the difference in each block, `within_blocks`: there are blocks.
    """

    keys: Mapping[str, Any]
    a: Sample
    b: Sample
    axis: Axis = SECONDS
    p_value: float | None = None
    p_adjusted: float | None = None
    verdict: Decision = NOT_JUDGED
    findings: tuple[Finding, ...] = ()
    flags: tuple[Flag, ...] = ()
    by_block: ByBlock | None = None
    within_blocks: bool = False


class TimesContrast(Contrast[Sample], frozen=True, eq=False):
    """A over B of what the `axis` counts to the target: above 1 means that B is faster.

    Without a `speedup`, the fractions that reached decide. An `axis` of progress has no `parts`.
    """

    estimand: Estimand = "none"
    speedup: Speedup | None = None
    p_permutation: float | None = None
    progress_unit: str | None = None
    parts: Parts | None = None
    fraction: Difference | None = None
    fraction_p: float | None = None
    wins: PairWins | None = None
    other_mean: Ratio | None = None
    epochs_p: float | None = None
    plan: PowerPlan | None = None


class ValuesContrast(Contrast[Sample], frozen=True, eq=False):
    """B minus A of values of a metric, or of parts of a step.

    `slack` is by how much the ends of the `difference` may lie lower and higher because of where
    runs were evaluated, `incomplete` which sides have runs without a value, `ratio` A over B of
    what was spent on the `axis`, and `blocks` those within which the same runs would find less.
    """

    difference: MeanDifference | None = None
    metric: str | None = None
    higher_is_better: bool = False
    incomplete: tuple[bool, bool] = (False, False)
    slack: tuple[float, float] = (0.0, 0.0)
    ratio: Ratio | None = None
    blocks: Proposal | None = None

    @property
    def one_sided(self) -> tuple[float, float] | None:
        """Return the one-sided bounds of the difference, with what the evaluations allow for."""
        return self.difference.one_sided(self.slack) if self.difference else None

    @property
    def allowed_for(self) -> str:
        """Return the allowances of the verdict for the positions of evaluations."""
        return condition_names(
            finding.code for finding in self.findings if finding.effect == "allowance"
        )


def speedup_of(
    contrast: TimesContrast[SideNumbers], options: Options, look: Look | None = None
) -> Speedup:
    """Return the speedup of B over A; times alone have no varying epochs."""
    a, b = contrast.a, contrast.b
    return compute_speedup(
        a.outcomes,
        b.outcomes,
        epochs_fixed=options.epochs_fixed or contrast.axis.alone,
        estimand=options.estimand,
        confidence=options.confidence,
        look=look,
        late=checks.late(a.design, b.design),
    )


def no_verdict(reason: str, options: Options) -> Decision:
    """Return a decision without a verdict, for a reason in the design of the runs."""
    claim = f"no verdict: {reason}"
    return Decision(Verdict.UNAVAILABLE, claim, options.margin, reason=reason, why=reason)


def refused(contrast: AnyContrast, options: Options) -> AnyContrast:
    """Return a contrast without a verdict if a finding forbids one."""
    reasons = condition_names(
        finding.code for finding in contrast.findings if finding.effect == "undecided"
    )
    if reasons and contrast.verdict is NOT_JUDGED:
        return replace(contrast, verdict=no_verdict(reasons, options))
    return contrast


def with_verdicts(
    contrasts: Sequence[AnyContrast], options: Options, margin: float | None = None
) -> tuple[AnyContrast, ...]:
    """Return contrasts with their verdicts; p values and margin claims share one alpha.

    One that has a verdict keeps it. Its p takes part in the adjustment of the others unless it is
    unavailable. A difference of values up to `margin` does not matter; without one no values are
    called the same.
    """
    contrasts = [refused(contrast, options) for contrast in contrasts]
    own_p_values = [None if contrast.verdict.reason else contrast.p_value for contrast in contrasts]
    times = [
        contrast.speedup if isinstance(contrast, TimesContrast) else None for contrast in contrasts
    ]
    waiting = times.count(None) if options.max_runs is not None else 0
    bounds = margin_bounds(times, options.margin, waiting)
    p_values = adjust_p_values(own_p_values, fdr=options.fdr)
    return tuple(
        with_verdict(contrast, p, within, options, margin)
        for contrast, p, within in zip(contrasts, p_values, bounds, strict=True)
    )


def with_verdict(
    contrast: AnyContrast,
    p: float | None,
    within: Bounds,
    options: Options,
    margin: float | None = None,
) -> AnyContrast:
    """Return a contrast with its verdict, by a p among those of others, unless it has one."""
    verdict, findings, has_interval = contrast.verdict, [*contrast.findings], True
    if verdict is not NOT_JUDGED:
        return contrast
    if isinstance(contrast, TimesContrast):
        verdict = decided(contrast, p, within, options)
        findings = [_cluster_note(contrast, p, finding, verdict, options) for finding in findings]
    elif isinstance(contrast, ValuesContrast) and contrast.difference is not None:
        verdict = _decide_values(contrast, contrast.difference, p, margin)
        has_interval = contrast.difference.low is not None
    if contrast.within_blocks and has_interval:
        alpha = 1 - options.confidence
        findings += these_blocks(contrast.by_block, contrast.p_value, p, alpha)
    if verdict.word.decided or verdict.claim.startswith("not "):  # slower by more than a margin
        codes = (finding.code for finding in findings if finding.effect == "condition")
        conditions = tuple(dict.fromkeys((*verdict.conditions, *codes)))
        verdict = replace(verdict, conditions=conditions)
    flags = dict.fromkeys(
        (*contrast.flags, *verdict.flags, *(finding.flag for finding in findings))
    )
    return replace(
        contrast, p_adjusted=p, verdict=verdict, findings=tuple(findings), flags=tuple(flags)
    )


def decided(
    contrast: TimesContrast[Any], p: float | None, bounds: Bounds, options: Options
) -> Decision:
    """Return the verdict on a contrast of times, or of the fractions that reached."""
    times = contrast.speedup
    if times is None:
        return decide_by_fraction(
            contrast.a.n_reached, contrast.a.n, contrast.b.n_reached, contrast.b.n,
            alpha=1 - options.confidence, p_value=p, margin=options.margin,
        )  # fmt: skip

    def by(evidence: Speedup, bounds: Bounds) -> Decision:
        second = contrast.p_permutation
        return decide(
            evidence, margin=options.margin, p_value=p, p_permutation=second, bounds=bounds
        )

    verdict = by(times, bounds)
    if verdict.word.directed and _turns_with_clocks(contrast):
        return replace(verdict, word=Verdict.UNDECIDED, claim="undecided", conditions=(),
                       why=SHORT["clock_changed"])  # fmt: skip
    if verdict.word is Verdict.UNDECIDED and times.a and times.b and (times.a.late or times.b.late):
        # Would a direction be shown if evaluation intervals did not differ?
        on_one_grid = replace(times, a=replace(times.a, late=0.0), b=replace(times.b, late=0.0))
        if by(on_one_grid, Bounds()).word.directed:
            return replace(verdict, why=CONDITIONS["grids_differ"])
    return verdict


def _turns_with_clocks(contrast: TimesContrast[Any]) -> bool:
    """Return whether the faster side changes without the jumps of clocks."""
    a, b = contrast.a, contrast.b
    if not (contrast.axis.is_time and (a.jump_seconds or b.jump_seconds)):
        return False
    gap, steady = (
        a.mean_seconds - b.mean_seconds - jumps for jumps in (0.0, a.jump_seconds - b.jump_seconds)
    )
    return bool(gap * steady <= 0)


def _decide_values(
    contrast: ValuesContrast[Any], gap: MeanDifference, p: float | None, margin: float | None
) -> Decision:
    """Return the verdict on a difference of values; failed runs exclude "better" and "same"."""
    verdict = decide_difference(
        gap,
        higher_is_better=contrast.higher_is_better,
        p_value=p,
        margin=margin,
        slack=contrast.slack,
        allowance=contrast.allowed_for,
    )
    incomplete_a, incomplete_b = contrast.incomplete
    undecided = replace(verdict, word=Verdict.UNDECIDED, claim="undecided")
    if (verdict.word is Verdict.WORSE and incomplete_a) or (
        verdict.word is Verdict.BETTER and incomplete_b
    ):
        return replace(undecided, why="runs missing")
    return undecided if verdict.word is Verdict.SAME and (incomplete_a or incomplete_b) else verdict


def _cluster_note(
    contrast: TimesContrast[SideNumbers],
    p: float | None,
    finding: Finding,
    verdict: Decision,
    options: Options,
) -> Finding:
    """Return a finding as a note if its clusters, two or more a side, agree with the verdict."""
    clusters, ratio = finding.clusters, contrast.speedup.ratio if contrast.speedup else None
    if finding.effect != "condition" or clusters is None or ratio is None or ratio.p_value is None:
        return finding
    too_few = any(np.unique(labels).size < 2 for labels in clusters)
    if too_few or contrast.estimand == "throughput" or contrast.a.pooled or contrast.b.pooled:
        return finding
    a, b = (
        replace(
            side,
            outcomes=dataclasses.replace(
                side.outcomes, clusters=number_clusters(labels, labels.size)
            ),
        )
        for side, labels in zip((contrast.a, contrast.b), clusters, strict=True)
    )
    by_cluster = speedup_of(replace(contrast, a=a, b=b), options)
    p_value = adjusted_alike(by_cluster.ratio.p_value, ratio.p_value, p)
    agrees = decide(by_cluster, margin=options.margin, p_value=p_value).word is verdict.word
    return dataclasses.replace(finding, effect="note") if agrees else finding
