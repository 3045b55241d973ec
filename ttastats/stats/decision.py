"""What may be claimed about B against A, in one word and in full?

The verdict is about B, and follows from the interval of the speedup. Every claim assumes that
further runs are like those seen. Where these give a reason to doubt that, what could be unseen is
allowed for, and a claim that does not survive it carries the condition under which it holds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from ttastats.stats.means import MeanDifference
from ttastats.stats.multiplicity import step_down
from ttastats.stats.outcomes import fisher_p
from ttastats.stats.permutation import smallest_p
from ttastats.stats.results import Flag, FlagCode, Ratio, Verdict
from ttastats.stats.speedup import Speedup, equivalence_confidence

#: Conditions of a claim that stragglers or failures on one side could undo.
OF_STRAGGLERS = frozenset({"no_stragglers", "unbalanced"})

Assumption = Literal["constant_epochs", "no_stragglers"]
"""What has to be true for a claim to hold, since the runs at hand cannot show it."""

Conditions = tuple[Assumption | FlagCode, ...]
"""Assumptions of a claim, and codes of what else it carries."""

MARKS: dict[Assumption, str] = {"constant_epochs": "†", "no_stragglers": "‡"}


class Bounds(Struct, frozen=True):
    """The conditions of each one-sided claim of B against a margin; None where it is not shown."""

    not_slower: Conditions | None = None
    not_faster: Conditions | None = None


class Decision(Struct, frozen=True):
    """One word for a table, and the claim in full, before which "B is" or "B:" goes.

    ``conditions``: what must be true for the claim to hold, and codes of what else it carries.
    ``reason``: why a verdict is unavailable. ``why``: what in the design leaves it undecided.
    """

    word: Verdict
    claim: str
    margin: float
    conditions: Conditions = ()
    flags: tuple[Flag, ...] = ()
    reason: str = ""
    why: str = ""

    @property
    def assumes_constant_epochs(self) -> bool:
        """Return whether the claim assumes that epochs to target really are constant."""
        return "constant_epochs" in self.conditions

    @property
    def marks(self) -> str:
        """Return the footnote marks of the conditions of the claim."""
        return marks_of(self.conditions)


def marks_of(conditions: Conditions) -> str:
    """Return the footnote marks of conditions."""
    return "".join(mark for condition, mark in MARKS.items() if condition in conditions)


def side_of(value: float, low: float | None, high: float | None) -> int:
    """Return 1 if an interval lies above a value, -1 if below, else 0."""
    if low is None or high is None:
        return 0
    return 1 if low > value else -1 if high < value else 0


def decide(
    speedup: Speedup,
    *,
    margin: float,
    p_value: float | None = None,
    p_permutation: float | None = None,
    bounds: Bounds | None = None,
) -> Decision:
    """Return the verdict on a speedup; alpha is 1 minus its confidence.

    ``p_value``: a p that a claim of "faster" or "slower" has to meet besides the interval, such as
    one adjusted for many benchmarks. ``p_permutation`` stands in where there is no variance, and a
    disagreement about alpha is flagged. ``bounds``: those of :func:`margin_bounds`, if many
    benchmarks share alpha. ValueError unless the ``margin`` is a positive fraction.
    """
    if not 0.0 < margin < math.inf:
        raise ValueError(f"a margin is a positive fraction such as 0.01, not {margin}")
    ratio = speedup.ratio
    alpha = round(1 - ratio.confidence, 12)
    if ratio.low is None or ratio.high is None:
        reason = "; ".join(flag.message for flag in ratio.flags) or "no interval"
        claim = f"no verdict: {reason}"
        return Decision(Verdict.UNAVAILABLE, claim, margin, flags=ratio.flags, reason=reason)
    required = next((p for p in (p_value, ratio.p_value, p_permutation) if p is not None), None)
    flags = _borderline_flags(ratio, p_permutation, alpha)
    if required is not None and required < alpha:
        verdict = _decide_direction(speedup, margin, flags)
        if verdict is not None:
            return verdict
    bounds = bounds or margin_bounds([speedup], margin)[0]
    return _decide_equivalence(bounds, margin, flags)


def _decide_direction(speedup: Speedup, margin: float, flags: tuple[Flag, ...]) -> Decision | None:
    """Return "faster" or "slower" with its conditions if the interval shows that, else None."""
    # What the interval allows for, from most to least; stragglers where these runs have any.
    for epochs, stragglers in product((True, False), (True, False) if speedup.doubts else (False,)):
        limits = speedup.limits(speedup.ratio.confidence, epochs=epochs, stragglers=stragglers)
        if limits is None:
            return None
        if way := side_of(1.0, *limits):
            word = Verdict.FASTER if way > 0 else Verdict.SLOWER
            beyond = side_of(1 + margin if way > 0 else 1 / (1 + margin), *limits) == way
            claim = f"{word} by more than {100 * margin:g}%" if beyond else word.value
            conditions: list[Assumption | FlagCode] = [] if epochs else ["constant_epochs"]
            if speedup.doubts and not stragglers:
                conditions.append(_doubted(speedup))
            return Decision(word, claim, margin, tuple(conditions), flags)
    return None


def _doubted(speedup: Speedup) -> Assumption | FlagCode:
    """Return the condition of a claim sensitive to unseen stragglers.

    Where nothing failed or straggled, it is that a side has many more runs than the other.
    """
    only_uneven = all(flag.code == "unbalanced" for flag in speedup.doubts)
    return "unbalanced" if only_uneven else "no_stragglers"


def margin_bounds(
    speedups: Sequence[Speedup | None], margin: float, waiting: int = 0
) -> tuple[Bounds, ...]:
    """Return the bounds on a margin shown for each of several speedups, judged together.

    Two one-sided tests each (Schuirmann 1987), by the interval at ``1 - 2 alpha``; Holm's
    step-down keeps the chance of any false claim in a direction at alpha. Epochs not seen are
    allowed for; a claim that stragglers not seen would undo carries that condition where these
    runs give a reason to expect them. ``waiting`` counts those that share alpha at another look.
    """
    estimable = [
        speedup for speedup in speedups if speedup is not None and speedup.ratio.low is not None
    ]
    if not estimable:
        return tuple(Bounds() for _ in speedups)
    alpha = round(1 - estimable[0].ratio.confidence, 12)

    def holding(direction: int, stragglers: bool) -> list[bool]:
        def within(speedup: Speedup | None, level: float) -> bool:
            if speedup is None:
                return False
            confidence = equivalence_confidence(1 - level)
            limits = speedup.limits(confidence, epochs=True, stragglers=stragglers)
            if limits is None:
                return False
            return limits[0] > 1 / (1 + margin) if direction < 0 else limits[1] < 1 + margin

        return step_down([*estimable, *[None] * waiting], within, alpha)

    def conditions(direction: int) -> Iterator[Conditions | None]:
        for speedup, holds, certain in zip(
            estimable, holding(direction, False), holding(direction, True), strict=False
        ):
            doubted = speedup.doubts and not certain
            yield ((_doubted(speedup),) if doubted else ()) if holds else None

    bounds = map(Bounds, conditions(-1), conditions(1))
    return tuple(
        Bounds() if speedup is None or speedup.ratio.low is None else next(bounds)
        for speedup in speedups
    )


def _decide_equivalence(bounds: Bounds, margin: float, flags: tuple[Flag, ...]) -> Decision:
    """Return "same" if the interval lies within the margin, else what can be excluded."""
    d, not_slower, not_faster = f"{100 * margin:g}%", bounds.not_slower, bounds.not_faster
    if not_slower is not None and not_faster is not None:
        conditions = tuple(dict.fromkeys((*not_slower, *not_faster)))
        return Decision(Verdict.SAME, f"same within {d}", margin, conditions, flags)
    claim_conditions = not_faster if not_slower is None else not_slower
    word = "faster" if not_slower is None else "slower"
    claim = "undecided" if claim_conditions is None else f"not {word} by more than {d}"
    return Decision(Verdict.UNDECIDED, claim, margin, claim_conditions or (), flags)


def _borderline_flags(ratio: Ratio, p_permutation: float | None, alpha: float) -> tuple[Flag, ...]:
    """Return a flag if the two p values lie on different sides of alpha."""
    if ratio.p_value is None or p_permutation is None:
        return ()
    agree = (ratio.p_value < alpha) == (p_permutation < alpha)
    if agree or smallest_p(ratio.n_a, ratio.n_b) >= alpha:
        return ()
    message = (
        f"borderline: p={ratio.p_value:.3g} by t, {p_permutation:.3g} by permutation; "
        "distribution-sensitive, more runs needed"
    )
    return (Flag("borderline", message),)


def decide_by_fraction(
    successes_a: int,
    n_a: int,
    successes_b: int,
    n_b: int,
    *,
    alpha: float,
    p_value: float | None = None,
    margin: float,
) -> Decision:
    """Return the verdict by the fraction that reached the target, where times cannot be compared.

    By Fisher's exact test unless an adjusted ``p_value`` is given.
    """
    p = fisher_p(successes_a, n_a, successes_b, n_b) if p_value is None else p_value
    reached = f"fraction reached {successes_a}/{n_a} vs {successes_b}/{n_b}"
    if successes_a == successes_b == 0:
        claim = "no runs reached the target on either side"
        return Decision(Verdict.UNAVAILABLE, claim, margin, reason=claim)
    if p >= alpha:
        return Decision(Verdict.UNDECIDED, f"undecided ({reached})", margin)
    word = Verdict.SLOWER if successes_b / n_b < successes_a / n_a else Verdict.FASTER
    return Decision(word, f"{word} ({reached})", margin)


def decide_difference(
    gap: MeanDifference,
    *,
    higher_is_better: bool,
    p_value: float | None = None,
    margin: float | None = None,
    slack: tuple[float, float] = (0.0, 0.0),
    allowance: str = "",
) -> Decision:
    """Return the verdict on B minus A of values without a ratio, such as accuracies.

    ``p_value``, where there is one, has to be below alpha besides the interval. ``slack`` is by how
    much the ends of the interval lie lower and higher for the reason that ``allowance`` tells.
    """
    undecided = Decision(Verdict.UNDECIDED, "undecided", margin or 0.0)
    if gap.low is None or gap.high is None:
        return replace(undecided, why="one run")
    significant = p_value is not None and p_value < 1 - gap.confidence
    if significant or p_value is None:
        way = side_of(0.0, gap.low + slack[0], gap.high + slack[1])
        if way:
            word = Verdict.BETTER if (way > 0) == higher_is_better else Verdict.WORSE
            return replace(undecided, word=word, claim=word.value)
        if significant:
            return replace(undecided, why=allowance)
    limits = gap.one_sided(slack)
    if margin is not None and limits and -margin < limits[0] and limits[1] < margin:
        return replace(undecided, word=Verdict.SAME, claim=f"same within {margin:g}")
    return undecided
