"""Which targets to ask about, and what other targets and unseen runs could change.

A variance knows nothing of what happens in one run of ten and happened in none of five. By the
share of runs that may differ although so few did (Clopper and Pearson 1934), where every run took
the same number of epochs, others may take one evaluation interval more or less; and others may fail
and be started again, or take three times as long.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from decimal import Decimal
from functools import lru_cache

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike

from ttastats.stats.logratio import LogTerm, unbalanced_flag
from ttastats.stats.moments import has_straggler, is_constant, mean, two_sided_t
from ttastats.stats.outcomes import Outcomes, reached_at_least
from ttastats.stats.results import Flag, FlagCode, Floats

STRAGGLER = 3.0
"""An unseen straggler takes this many times as long as the mean run, as a failed run may cost."""


class Bounded(Struct, frozen=True):
    """The mean (or expected) time of one side, and what could be unseen in it.

    ``epoch_shift``: relative change of the mean if every run took one evaluation interval more.
    ``late``: the share of the mean by which the target may have been met before the evaluation that
    shows it; 0 where the other side is evaluated as often.
    """

    term: LogTerm
    n: int
    n_reached: int
    epoch_shift: float
    late: float = 0.0

    def straggler_share(self, confidence: float) -> float:
        """Return the largest share of runs that may fail or straggle beyond those that did."""
        low = reached_at_least(self.n_reached, self.n, confidence=confidence)
        return self.n_reached / self.n - low

    def share_of(self, slower: float) -> float:
        """Return the share of runs that have to fail so that the log of the mean rises so far."""
        # A success takes 1/p runs in place of 1/p of those seen, and every further run fails
        # after so many mean times. As many stragglers would raise the expected time less.
        odds = math.expm1(slower) / (STRAGGLER - 1)
        return self.n_reached / self.n * odds / (1 + odds)

    def half_widths(
        self, confidence: float, *, epochs: bool, stragglers: bool
    ) -> tuple[float, float]:
        """Return the half widths of the log of the mean time, below and above the observed one."""
        if self.term.variance is None:
            raise ValueError("2 runs needed per side for an interval")
        half = two_sided_t(self.term.df, confidence) * math.sqrt(self.term.variance)
        shift = unseen_share(self.n_reached, confidence) * self.epoch_shift if epochs else 0.0
        slower = 0.0
        if stragglers:  # the inverse of `share_of`
            reached_share = self.n_reached / self.n
            odds = reached_share / (reached_share - self.straggler_share(confidence)) - 1
            slower = math.log1p((STRAGGLER - 1) * odds)
        half_below = math.inf if shift >= 1 else math.hypot(half, math.log1p(-shift))
        half_above = math.hypot(half, math.log1p(shift), slower)
        return half_below, half_above


#: Codes of the reasons to expect failures or stragglers beyond those seen.
DOUBTS: frozenset[FlagCode] = frozenset(
    {"failed_runs", "failures_likely", "straggler", "unbalanced"}
)


def outcome_flags(a: Outcomes, b: Outcomes) -> tuple[Flag, ...]:
    """Return flags for the reasons to expect failures or stragglers beyond those seen.

    A run that failed, a run that took far longer than the others of its side, or one side with at
    least twice the runs of the other, from which a rare slow run is missing less often.
    """
    flags = [
        Flag("failed_runs", f"{side.n - side.n_reached} of {side.n} runs of {name} failed")
        for name, side in (("A", a), ("B", b))
        if not side.all_reached
    ]
    flags += [
        Flag("straggler", f"one run of {name} took far longer than the other {side.n_reached - 1}")
        for name, side in (("A", a), ("B", b))
        if _has_straggler(side)
    ]
    return (*flags, *unbalanced_flag(a.n, b.n))


@lru_cache(maxsize=128)  # a league asks of each entry beside every other
def _has_straggler(side: Outcomes) -> bool:
    """Return whether one success took far longer than the others, also per epoch."""
    times = side.times[side.reached]
    return has_straggler(times if side.progress is None else times / side.progress.epochs)


def unseen_share(n: int, confidence: float) -> float:
    """Return the largest share of runs that may deviate though none of ``n`` did: 0.52 for n=5."""
    return -math.expm1(math.log((1 - confidence) / 2) / n)


@lru_cache(maxsize=128)  # as of `time_term`
def epoch_shift(side: Outcomes) -> float:
    """Return by what share one evaluation interval more in every run changes the mean time.

    0 where the epochs of the runs that reached vary; infinite where epochs or their interval are
    unknown: to know less must never allow to claim more.
    """
    if side.progress is None:
        return math.inf
    epochs, evaluation_interval = side.progress.epochs, side.progress.evaluation_interval
    if not is_constant(epochs):
        return 0.0
    if evaluation_interval is None:
        return math.inf
    return share_of_successes(side) * evaluation_interval / float(epochs[0])


def unseen_epochs(side: Outcomes, level: float) -> float:
    """Return by how much the mean time may be longer by epochs of runs not seen, one-sided."""
    return unseen_share(side.n, 1 - 2 * level) * epoch_shift(side) * mean(side.times)


def share_of_successes(side: Outcomes) -> float:
    """Return the share of successful runs in the time of all runs."""
    successes = side.times[side.reached]
    return mean(successes) * successes.size / float(side.times.sum())


def cv_epochs_high(
    epochs: ArrayLike, n: int, evaluation_interval: ArrayLike, confidence: float
) -> Floats:
    """Return the largest CV of epochs compatible with ``n`` equal values, by group.

    The deviating runs are one evaluation interval earlier, or later where nothing can be earlier.
    """
    epochs, interval = np.asarray(epochs), np.asarray(evaluation_interval)
    can_be_earlier = epochs > interval
    # Later runs raise the mean too, so that fewer than half of them make the CV largest.
    worst = np.where(can_be_earlier, 0.5, epochs / (2 * epochs + interval))
    share = np.minimum(unseen_share(n, confidence), worst)
    mean_epochs = np.where(can_be_earlier, epochs - share * interval, epochs + share * interval)
    high: Floats = np.sqrt(share * (1 - share)) * interval / mean_epochs
    return high


class TargetRange(Struct, frozen=True):
    """Targets around one of them over which the verdict stays the same, ends included."""

    word: str
    lowest: float
    highest: float


def stable_range(words: Mapping[float, str], target: float) -> TargetRange:
    """Return the range of targets around ``target`` over which its verdict holds.

    ``words``: the verdict at each target compared.
    """
    ordered = sorted(words)
    low = high = ordered.index(target)
    while low > 0 and words[ordered[low - 1]] == words[target]:
        low -= 1
    while high + 1 < len(ordered) and words[ordered[high + 1]] == words[target]:
        high += 1
    return TargetRange(words[target], ordered[low], ordered[high])


def target_grid(easiest: float, hardest: float, points: int) -> tuple[float, ...]:
    """Return round targets between the worst first value and the best value all runs reached.

    The multiples of 1, 2 or 5 times a power of ten, of the smallest such step that makes no more
    than ``points`` of them, easiest first; the best value alone when no such multiple lies between.
    """
    rising = _round_values(min(easiest, hardest), max(easiest, hardest), points) or [hardest]
    return tuple(rising if easiest <= hardest else rising[::-1])


def _round_values(low: float, high: float, limit: int) -> list[float]:
    """Return the multiples of the smallest round step with at most so many from low to high."""
    # Decimals, by their shortest form: 0.15 is three times 0.05, and no range overflows.
    lowest, highest = Decimal(repr(low)), Decimal(repr(high))
    if lowest == highest:
        return []
    values: list[float] = []
    for exponent in itertools.count(-(highest - lowest).adjusted()):
        for factor in (10, 5, 2):
            step = Decimal(factor).scaleb(-exponent)
            numbers = range(math.ceil(lowest / step), math.floor(highest / step) + 1)
            if len(numbers) > limit:
                return values
            # Between neighbouring floats several multiples are the same number.
            values = [*dict.fromkeys(float(number * step) for number in numbers)]
    return values
