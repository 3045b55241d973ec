"""How much faster is B than A, and how sure is that?

The speedup is the mean time of A over that of B or, where a run failed, of expected times.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import ArrayLike

from ttastats.stats import blocks
from ttastats.stats.logratio import LogTerm, combine_terms, ratio_of, safe_exp
from ttastats.stats.moments import is_constant
from ttastats.stats.multiplicity import Look
from ttastats.stats.outcomes import Estimand, Outcomes, make_outcomes, time_term
from ttastats.stats.results import Estimate, Flag, Ratio
from ttastats.stats.unseen import (
    Bounded,
    epoch_shift,
    outcome_flags,
    share_of_successes,
    unseen_share,
)

Limits = tuple[float, float]
"""Low and high of a speedup."""


class Turning(Struct, frozen=True):
    """A claim that one side is faster is no longer shown if this `share` of its runs fails.

    `possible` is the largest share that its runs do not exclude, of which so many reached.
    """

    side: Literal["A", "B"]
    share: float
    possible: float
    n_reached: int
    n: int


class Speedup(Struct, frozen=True):
    """The speedup that is shown, and the intervals that decide about it.

    ``a`` and ``b`` say what runs that were not seen could change; ``unseen_epochs``, that their
    epochs could: every run of a side took the same number, or nobody knows, and nobody declared
    them fixed. With a ``look`` all intervals and the p hold at every look of its plan. ``doubts``
    are the reasons to allow for failures and stragglers that were not seen.
    """

    ratio: Ratio
    a: Bounded | None
    b: Bounded | None
    unseen_epochs: bool
    flags: tuple[Flag, ...]
    look: Look | None = None
    doubts: tuple[Flag, ...] = ()

    @property
    def epoch_shifts(self) -> tuple[float, float]:
        """Return by what share one evaluation interval more in every run changes A's and B's time.

        0 where epochs vary, or cannot by design; infinite where nobody knows.
        """
        a, b = (
            side.epoch_shift if side is not None and self.unseen_epochs else 0.0
            for side in (self.a, self.b)
        )
        return a, b

    def limits(
        self, confidence: float, *, epochs: bool = False, stragglers: bool = False
    ) -> Limits | None:
        """Return the interval, widened on request for unseen ``epochs`` or ``stragglers``.

        The sides' own limits are combined by MOVER on the log scale (Zou and Donner 2008). Where
        evaluation intervals differ, both ends move by how much earlier than seen a side may have
        met its target. None without a variance.
        """
        if self.a is None or self.b is None:
            return None
        ratio = self.ratio
        level = confidence_at(confidence, self.look)
        if confidence != ratio.confidence:
            ratio = ratio_of(self.a.term, self.b.term, level, ratio.n_a, ratio.n_b)
        if ratio.estimate is None or ratio.low is None or ratio.high is None:
            return None
        low, high = ratio.low, ratio.high
        guarded = epochs and self.unseen_epochs
        if guarded or stragglers:
            below_a, above_a = self.a.half_widths(level, epochs=guarded, stragglers=stragglers)
            below_b, above_b = self.b.half_widths(level, epochs=guarded, stragglers=stragglers)
            low = min(low, ratio.estimate / safe_exp(math.hypot(below_a, above_b)))
            high = max(high, ratio.estimate * safe_exp(math.hypot(above_a, below_b)))
        return low * (1 - self.a.late), high / (1 - self.b.late) if self.b.late < 1 else math.inf

    def turning(self, *, epochs: bool) -> Turning | None:
        """Return the failures of the faster side at which the interval of `limits` includes 1.

        The inverse of what `limits` adds for stragglers; None where it includes 1 as it is.
        """
        limits = self.limits(self.ratio.confidence, epochs=epochs)
        if limits is None or limits[0] <= 1 <= limits[1] or self.a is None or self.b is None:
            return None
        b_faster, guarded = limits[0] > 1, epochs and self.unseen_epochs
        side, slower_side = (self.b, self.a) if b_faster else (self.a, self.b)
        level = confidence_at(self.ratio.confidence, self.look)
        _, half_above = side.half_widths(level, epochs=guarded, stragglers=False)
        half_below, _ = slower_side.half_widths(level, epochs=guarded, stragglers=False)
        gap = math.log(slower_side.term.estimate * (1 - slower_side.late) / side.term.estimate)
        slower = math.sqrt(max(0.0, gap**2 - half_below**2 - half_above**2))
        return Turning("B" if b_faster else "A", side.share_of(slower), side.straggler_share(level),
                       side.n_reached, side.n)  # fmt: skip


def ratio_of_means(times_a: ArrayLike, times_b: ArrayLike, *, confidence: float) -> Ratio:
    """Return the ratio of mean times, in any common unit, with the delta-Welch interval on its log.

    SE^2 = cv_A^2/n_A + cv_B^2/n_B, with Satterthwaite's df.
    """
    a, b = make_outcomes(times_a), make_outcomes(times_b)
    return ratio_between(a, b, estimand="mean", confidence=confidence)


def ratio_of_geometric_means(times_a: ArrayLike, times_b: ArrayLike, *, confidence: float) -> Ratio:
    """Return the ratio of geometric means with Welch's t interval on the logs (Welch 1947)."""
    a, b = make_outcomes(times_a), make_outcomes(times_b)
    return ratio_between(a, b, estimand="geomean", confidence=confidence)


def ratio_between(a: Outcomes, b: Outcomes, *, estimand: Estimand, confidence: float) -> Ratio:
    """Return A over B of mean times, geometric means, or expected times if a run failed.

    The interval is Welch's on the log, by setups where several are pooled, or within blocks.
    Without a success on one side the ratio is a bound, 0 or infinite; None when neither has one.
    """
    return _ratio(a, b, _side_terms(a, b, estimand), confidence)


def _side_terms(a: Outcomes, b: Outcomes, estimand: Estimand) -> list[LogTerm | None]:
    """Return the mean of each side; None of one without a success or a known time."""
    estimand_ = estimand if a.all_reached and b.all_reached else "mean"
    if a.blocks is not None and b.blocks is not None and a.n_reached and b.n_reached:
        return [*blocks.block_terms(a, b, estimand_)]
    return [time_term(side, estimand_) if side.n_reached else None for side in (a, b)]


def _ratio(a: Outcomes, b: Outcomes, terms: Sequence[LogTerm | None], confidence: float) -> Ratio:
    term_a, term_b = terms
    if term_a is not None and term_b is not None:
        return ratio_of(term_a, term_b, confidence, a.n, b.n)
    bound = None  # on a ratio of which a side has no success
    if a.n_reached or b.n_reached:
        bound = 0.0 if a.n_reached else math.inf
    messages = (
        f"{name}: 0/{side.n} runs reached the target, {side.times.sum():g} s spent"
        for name, side in (("A", a), ("B", b))
        if not side.n_reached
    )
    flags = tuple(Flag("no_success", message) for message in messages)
    return Ratio(bound, None, None, confidence, None, None, None, a.n, b.n, flags=flags)


def compute_speedup(
    a: Outcomes,
    b: Outcomes,
    *,
    epochs_fixed: bool = False,
    estimand: Estimand,
    confidence: float,
    look: Look | None = None,
    late: tuple[float, float] = (0.0, 0.0),
) -> Speedup:
    """Return the speedup of B over A, ready for a verdict; at a ``look`` of a plan if given.

    ``epochs_fixed`` asserts that the schedule is deterministic. ``late``: by which share of the
    mean time of the successes A and B may have met the target before the evaluation that shows it.
    """
    equivalence_confidence(confidence)
    terms = _side_terms(a, b, estimand)
    ratio = _ratio(a, b, terms, confidence_at(confidence, look))
    if look is not None:
        p_value = None if ratio.p_value is None else look.p_value(ratio.p_value)
        ratio = replace(ratio, confidence=confidence, p_value=p_value)
    flags = () if epochs_fixed else epoch_flags(a, b, confidence)
    unseen = any(flag.code in {"constant_epochs", "unknown_epochs"} for flag in flags)
    bounded_a, bounded_b = (
        Bounded(
            term,
            side.n,
            side.n_reached,
            0.0 if epochs_fixed else epoch_shift(side),
            share_of_successes(side) * share,
        )
        if term
        else None
        for side, term, share in zip((a, b), terms, late, strict=True)
    )
    reasons = outcome_flags(a, b)
    all_flags = tuple(dict.fromkeys((*ratio.flags, *flags, *reasons)))
    return Speedup(ratio, bounded_a, bounded_b, unseen, all_flags, look, reasons)


def equivalence_confidence(confidence: float) -> float:
    """Return the confidence of the interval behind two one-sided tests: 0.90 for 0.95."""
    if not 0.5 < confidence < 1.0:
        raise ValueError(f"confidence must lie between 0.5 and 1, not {confidence}")
    return round(2 * confidence - 1, 12)


def epoch_flags(a: Outcomes, b: Outcomes, confidence: float) -> tuple[Flag, ...]:
    """Return flags for what is unknown about the epochs of either side."""
    flags = []
    for name, side in (("A", a), ("B", b)):
        if side.n_reached and side.progress is None:
            message = f"epochs of side {name} are not logged, so it is unknown whether they vary"
            flags.append(Flag("unknown_epochs", message))
        if side.progress is None or not is_constant(epochs := side.progress.epochs):
            continue
        share = 100 * unseen_share(epochs.size, confidence)
        message = (
            f"all {epochs.size} runs of side {name} took {epochs[0]:g} epochs; "
            f"up to {share:.0f}% of runs could differ"
        )
        flags.append(Flag("constant_epochs", message))
        if side.progress.evaluation_interval is None:
            message = f"evaluation interval of side {name} unknown: no epoch-safe interval"
            flags.append(Flag("unknown_evaluation_interval", message))
    return tuple(flags)


def confidence_at(confidence: float, look: Look | None) -> float:
    """Return the confidence of one interval so that those of all looks hold together."""
    return confidence if look is None else 1 - look.level(1 - confidence)


def time_saved(ratio: float) -> float:
    """Return the share of A's time that B saves: 0.2 for a speedup of 1.25."""
    return 1 - 1 / ratio


def loglog_slope(
    accelerators: Sequence[int], sides: Sequence[Outcomes], confidence: float
) -> Estimate:
    """Return the slope of log speedup over log accelerators: 1 is linear scaling, 0 is none.

    Least squares through the log expected times at each number of accelerators. The interval
    carries their variances (delta method, Satterthwaite df) and no lack of fit.
    """
    runs = sum(side.n for side in sides)
    if len(set(accelerators)) < 2:
        return Estimate(None, None, None, confidence, runs)
    x = np.log(np.asarray(accelerators, dtype=np.float64))
    weights = -(x - x.mean()) / np.sum((x - x.mean()) ** 2)
    terms = [time_term(side, "mean") for side in sides]
    slope = float(np.dot(weights, np.log([term.estimate for term in terms])))
    weighted = [
        replace(term, variance=None if term.variance is None else weight**2 * term.variance)
        for term, weight in zip(terms, weights.tolist(), strict=True)
    ]
    half = combine_terms(slope, weighted, confidence).half_width
    if half is None:
        return Estimate(slope, None, None, confidence, runs)
    return Estimate(slope, slope - half, slope + half, confidence, runs)
