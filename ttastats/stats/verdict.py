"""What may be said in one word about B against A.

The verdict is about B: "faster" means that B needs less time. It follows from the interval
of the speedup, never from a point estimate; where all runs of a side took the same number
of epochs, from the interval that allows for epochs not yet seen.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

from ttastats.stats.equivalence import check_margin
from ttastats.stats.fraction import fisher
from ttastats.stats.permutation import smallest_p
from ttastats.stats.results import Flag, Ratio
from ttastats.stats.speedup import Speedup

Word = Literal["faster", "slower", "same", "undecided", "unavailable"]

Limits = tuple[float, float]
"""Low and high of a speedup."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """One word for a table, and the claim in full.

    ``dagger``: true only if epochs to target really are constant, which equal epochs in a
    few runs do not prove. ``claim`` starts with no subject: "B is" or "B:" goes before it.
    """

    word: Word
    dagger: bool
    claim: str
    margin: float
    alpha: float
    flags: tuple[Flag, ...] = ()


def decide(
    speedup: Speedup,
    *,
    margin: float = 0.01,
    p_value: float | None = None,
    p_permutation: float | None = None,
) -> Verdict:
    """Judge a speedup; all runs of both sides count, alpha is 1 minus its confidence.

    ``p_value``: a p that a claim of "faster" or "slower" has to meet besides the interval,
    such as one adjusted for many benchmarks. ``p_permutation``: the robustness p; it stands
    in where there is no variance for a t test, and a disagreement about alpha is flagged.
    Without an interval the verdict is "unavailable".
    """
    check_margin(margin)
    ratio = speedup.ratio
    alpha = round(1 - ratio.confidence, 12)
    shown, weaker = _limits(ratio), _limits(speedup.tost)
    if shown is None or weaker is None:
        claim = "no verdict: " + _reason(ratio.flags)
        return Verdict("unavailable", False, claim, margin, alpha, ratio.flags)
    required = _required_p(ratio, p_value, p_permutation)
    flags = _borderline(ratio, p_permutation, alpha)
    if required is not None and required < alpha:
        verdict = _directed(shown, _hull(shown, speedup, speedup.epoch_safe), margin, alpha)
        if verdict is not None:
            return replace(verdict, flags=flags)
    verdict = _within_margin(_hull(weaker, speedup, speedup.epoch_safe_tost), margin, alpha)
    return replace(verdict, flags=flags)


def _limits(ratio: Ratio) -> Limits | None:
    if ratio.low is None or ratio.high is None:
        return None
    return ratio.low, ratio.high


def _reason(flags: tuple[Flag, ...]) -> str:
    return "; ".join(flag.message for flag in flags) or "no interval"


def _required_p(ratio: Ratio, p_value: float | None, p_permutation: float | None) -> float | None:
    """P that has to be below alpha; None, which nothing is, when there is none at all."""
    if p_value is not None:
        return p_value
    return ratio.p_value if ratio.p_value is not None else p_permutation


def _hull(limits: Limits, speedup: Speedup, safe: Ratio | None) -> Limits:
    """Limits that also hold for unseen epochs; unbounded where those cannot be judged."""
    if not speedup.unseen_epochs:
        return limits
    wider = None if safe is None else _limits(safe)
    if wider is None:
        return 0.0, math.inf
    return min(limits[0], wider[0]), max(limits[1], wider[1])


def _directed(shown: Limits, safe: Limits, margin: float, alpha: float) -> Verdict | None:
    """Return "faster" or "slower", with a dagger where only the shown interval says so."""
    for limits, dagger in ((safe, False), (shown, True)):
        low, high = limits
        by_margin = f" by more than {_percent(margin)}"
        if low > 1:
            claim = "faster" + (by_margin if low > 1 + margin else "")
            return Verdict("faster", dagger, claim + _caveat(dagger), margin, alpha)
        if high < 1:
            claim = "slower" + (by_margin if high < 1 / (1 + margin) else "")
            return Verdict("slower", dagger, claim + _caveat(dagger), margin, alpha)
    return None


def _caveat(dagger: bool) -> str:
    return " if epochs to target really are constant" if dagger else ""


def _within_margin(limits: Limits, margin: float, alpha: float) -> Verdict:
    """Return "same" or what can be excluded, from the interval of two one-sided tests."""
    low, high = limits
    not_slower, not_faster = low > 1 / (1 + margin), high < 1 + margin
    d = _percent(margin)
    if not_slower and not_faster:
        return Verdict("same", False, f"same within {d}", margin, alpha)
    if not_slower:
        return Verdict("undecided", False, f"not slower by more than {d}", margin, alpha)
    if not_faster:
        return Verdict("undecided", False, f"not faster by more than {d}", margin, alpha)
    return Verdict("undecided", False, "undecided", margin, alpha)


def _percent(margin: float) -> str:
    return f"{100 * margin:g}%"


def _borderline(ratio: Ratio, p_permutation: float | None, alpha: float) -> tuple[Flag, ...]:
    """Flag two p values on different sides of alpha, if the exact test could reach it."""
    if ratio.p_value is None or p_permutation is None:
        return ()
    if smallest_p(ratio.n_a, ratio.n_b) > alpha:
        return ()
    if (ratio.p_value < alpha) == (p_permutation < alpha):
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
    alpha: float = 0.05,
    p_value: float | None = None,
    margin: float = 0.01,
) -> Verdict:
    """Judge by the fraction reached, for a side without any success to time.

    By Fisher's exact test unless an adjusted ``p_value`` is given. "unavailable" when no
    run of either side reached the target. ValueError for an empty side.
    """
    test = fisher(successes_a, n_a, successes_b, n_b)
    p = test.p_value if p_value is None else p_value
    reached = f"fraction reached {successes_a}/{n_a} vs {successes_b}/{n_b}"
    if successes_a == successes_b == 0:
        claim = "no runs reached the target on either side"
        return Verdict("unavailable", False, claim, margin, alpha)
    if p is None or p >= alpha:
        return Verdict("undecided", False, f"undecided ({reached})", margin, alpha)
    word: Word = "slower" if successes_b / n_b < successes_a / n_a else "faster"
    return Verdict(word, False, f"{word} ({reached})", margin, alpha)
