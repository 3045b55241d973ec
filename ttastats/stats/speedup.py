"""How much faster B is than A, and how sure that is.

The speedup is S = mean time of A over mean time of B: above 1 means that B is faster.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from numpy.typing import ArrayLike

from ttastats.stats.epoch_safety import log_half_widths, unseen_share
from ttastats.stats.logratio import LogTerm, ratio_of, safe_exp
from ttastats.stats.moments import (
    as_pair,
    as_side,
    coefficient_of_variation,
    geometric_mean,
    is_constant,
    log_standard_deviation,
    mean,
)
from ttastats.stats.quantiles import check_confidence
from ttastats.stats.results import Flag, Floats, Ratio

Estimand = Literal["mean", "geomean"]


@dataclass(frozen=True, slots=True)
class Speedup:
    """The speedup shown, and the intervals that decide about it.

    ``ratio`` is shown; ``tost`` is the same ratio at confidence ``1 - 2 alpha`` for claims
    of equivalence. ``unseen_epochs`` says that every run of a side took the same number of
    epochs and nobody declared them fixed: then ``epoch_safe`` and ``epoch_safe_tost``
    allow for epochs not yet seen (None when the evaluation quantum is unknown).
    """

    ratio: Ratio
    tost: Ratio
    unseen_epochs: bool = False
    epoch_safe: Ratio | None = None
    epoch_safe_tost: Ratio | None = None
    flags: tuple[Flag, ...] = ()


@dataclass(frozen=True, slots=True)
class Epochs:
    """Epochs to target of one side's runs, and the epochs between two evaluations."""

    epochs: Floats
    quantum: float | None = None


def ratio_of_means(times_a: ArrayLike, times_b: ArrayLike, *, confidence: float = 0.95) -> Ratio:
    """Ratio of mean times with the delta-Welch interval on its log.

    S = mean(T_A) / mean(T_B), SE^2 = cv_A^2/n_A + cv_B^2/n_B, Satterthwaite df. Times in
    any common unit, shapes (n_A,) and (n_B,). With one run on a side there is no interval;
    with no variance on either the interval is the point. ValueError for an empty side.
    """
    a, b = as_side(times_a, "A"), as_side(times_b, "B")
    return ratio_of(mean_term(a), mean_term(b), check_confidence(confidence), a.size, b.size)


def ratio_of_geometric_means(
    times_a: ArrayLike, times_b: ArrayLike, *, confidence: float = 0.95
) -> Ratio:
    """Ratio of geometric means with Welch's t interval on the logs (Welch 1947)."""
    a, b = as_side(times_a, "A"), as_side(times_b, "B")
    return ratio_of(log_term(a), log_term(b), check_confidence(confidence), a.size, b.size)


def ratio_from_summaries(
    mean_a: float,
    cv_a: float,
    n_a: int,
    mean_b: float,
    cv_b: float,
    n_b: int,
    *,
    confidence: float = 0.95,
) -> Ratio:
    """As :func:`ratio_of_means`, from published means, CVs (ddof=1, fractions) and counts."""
    for name, n in (("A", n_a), ("B", n_b)):
        if n < 1:
            raise ValueError(f"no runs for side {name}")
    a = _summary_term(mean_a, cv_a, n_a)
    b = _summary_term(mean_b, cv_b, n_b)
    return ratio_of(a, b, check_confidence(confidence), n_a, n_b)


def _summary_term(mean_seconds: float, cv: float | None, n: int) -> LogTerm:
    variance = cv**2 / n if n > 1 and cv is not None else None
    return LogTerm(mean_seconds, variance, n - 1)


def mean_term(times: Floats) -> LogTerm:
    """Mean of positive values, delta-method variance and df of its log."""
    return _summary_term(mean(times), coefficient_of_variation(times), times.size)


def log_term(times: Floats) -> LogTerm:
    """Geometric mean of positive values, variance and df of its log, the mean log."""
    spread = log_standard_deviation(times)
    variance = None if spread is None else spread**2 / times.size
    return LogTerm(geometric_mean(times), variance, times.size - 1)


def epoch_safe_ratio(
    times_a: ArrayLike,
    times_b: ArrayLike,
    epochs_a: Epochs,
    epochs_b: Epochs,
    *,
    confidence: float = 0.95,
) -> Ratio:
    """Ratio of mean times with an interval that allows for epochs not seen yet.

    Where a side's runs all took the same number of epochs its own limits are widened by
    what one evaluation quantum more or less would do in the largest share of runs that
    could have escaped; the sides are combined by MOVER on the log scale (Zou and Donner
    2008). ``low`` is 0 where the quantum is so coarse that nothing bounds the time below.
    No p. ValueError for a side with constant epochs and no quantum.
    """
    check_confidence(confidence)
    a, e_a = as_pair(as_side(times_a, "A"), epochs_a.epochs, "A")
    b, e_b = as_pair(as_side(times_b, "B"), epochs_b.epochs, "B")
    estimate = mean(a) / mean(b)
    if min(a.size, b.size) < 2:
        flag = Flag("one_run", "2 runs needed per side for an interval")
        return Ratio(
            estimate, None, None, confidence, None, None, None, a.size, b.size, flags=(flag,)
        )
    below_a, above_a = log_half_widths(a, e_a, epochs_a.quantum, confidence)
    below_b, above_b = log_half_widths(b, e_b, epochs_b.quantum, confidence)
    return Ratio(
        estimate=estimate,
        low=estimate / safe_exp(math.hypot(below_a, above_b)),
        high=estimate * safe_exp(math.hypot(above_a, below_b)),
        confidence=confidence,
        p_value=None,
        se_log=None,
        df=None,
        n_a=a.size,
        n_b=b.size,
    )


def speedup(
    times_a: ArrayLike,
    times_b: ArrayLike,
    *,
    epochs_a: Epochs | None = None,
    epochs_b: Epochs | None = None,
    epochs_fixed: bool = False,
    estimand: Estimand = "mean",
    confidence: float = 0.95,
) -> Speedup:
    """Speedup of B over A when all runs reached the target, ready for a verdict.

    ``epochs_fixed`` asserts that the schedule is deterministic, so that constant epochs
    are no surprise and the epoch-safe interval is left out; that one is for the ratio of
    means whatever the ``estimand``. ``confidence`` above 0.5.
    """
    ratio = ratio_of_means if estimand == "mean" else ratio_of_geometric_means
    weaker = equivalence_confidence(confidence)
    shown = ratio(times_a, times_b, confidence=confidence)
    tost = ratio(times_a, times_b, confidence=weaker)
    flags = () if epochs_fixed else epoch_flags(epochs_a, epochs_b, confidence)
    codes = {flag.code for flag in flags}
    unseen = "constant_epochs" in codes
    if not unseen or "unknown_quantum" in codes or epochs_a is None or epochs_b is None:
        return Speedup(shown, tost, unseen, flags=shown.flags + flags)
    safe, safe_tost = (
        epoch_safe_ratio(times_a, times_b, epochs_a, epochs_b, confidence=level)
        for level in (confidence, weaker)
    )
    return Speedup(shown, tost, unseen, safe, safe_tost, shown.flags + flags)


def equivalence_confidence(confidence: float) -> float:
    """Confidence of the interval behind two one-sided tests at level alpha: 0.90 for 0.95."""
    if not 0.5 < confidence < 1.0:
        raise ValueError(f"confidence must lie between 0.5 and 1, not {confidence}")
    return round(2 * confidence - 1, 12)


def epoch_flags(a: Epochs | None, b: Epochs | None, confidence: float) -> tuple[Flag, ...]:
    """Flag what is unknown about the epochs of either side."""
    flags: list[Flag] = []
    for name, side in (("A", a), ("B", b)):
        if side is None:
            message = f"epochs of side {name} unknown: cannot tell whether they vary"
            flags.append(Flag("unknown_epochs", message))
        elif side.epochs.size > 1 and is_constant(side.epochs):
            n = side.epochs.size
            share = 100 * unseen_share(n, confidence)
            message = (
                f"all {n} runs of side {name} took {side.epochs[0]:g} epochs; "
                f"up to {share:.0f}% of runs could differ"
            )
            flags.append(Flag("constant_epochs", message))
            if side.quantum is None:
                message = f"evaluation quantum of side {name} unknown: no epoch-safe interval"
                flags.append(Flag("unknown_quantum", message))
    return tuple(flags)


def time_saved(ratio: float) -> float:
    """Share of A's time that B saves: 0.2 for a speedup of 1.25."""
    if ratio <= 0:
        raise ValueError(f"a speedup is positive, not {ratio}")
    return 1 - 1 / ratio
