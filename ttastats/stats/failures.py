"""What failed runs cost, and how two sides compare when some runs fail.

Expected running time assumes what one would do in practice: start again, with the same
stopping rule, until a run succeeds (Auger and Hansen 2005).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from ttastats.stats.fraction import fisher, newcombe
from ttastats.stats.logratio import LogTerm, around, combine, ratio_of
from ttastats.stats.moments import as_outcomes, mean
from ttastats.stats.multiplicity import holm
from ttastats.stats.quantiles import check_confidence
from ttastats.stats.results import Bools, Difference, Estimate, Flag, Floats, Ratio, Significance
from ttastats.stats.sample import mean_interval, size_flags
from ttastats.stats.speedup import Speedup, equivalence_confidence, ratio_of_means


@dataclass(frozen=True, slots=True)
class ExpectedTime:
    """Expected running time: ``total_seconds`` of all runs over the number of successes.

    ``estimate`` is infinite without a success; ``total_seconds`` were then spent in vain.
    ``variance_log`` is the delta-method variance of its log, None where there is none.
    """

    estimate: float | None
    low: float | None
    high: float | None
    confidence: float
    n: int
    n_censored: int
    total_seconds: float
    variance_log: float | None
    flags: tuple[Flag, ...]


@dataclass(frozen=True, slots=True)
class TwoParts:
    """Two questions kept apart: how many runs succeed, and how fast those are.

    The p values are adjusted by Holm for asking both. ``given_success`` compares survivors
    only; its estimate is None when a side has none.
    """

    fraction: Difference
    fraction_test: Significance
    given_success: Ratio
    p_fraction_adjusted: float | None
    p_given_success_adjusted: float | None
    flags: tuple[Flag, ...]


def expected_time(
    times: ArrayLike, reached: ArrayLike, *, confidence: float = 0.95
) -> ExpectedTime:
    """Mean seconds to a success with failures paid for, and its delta-t interval.

    ``times``: seconds to success, or spent until the run stopped, shape (n,); ``reached``:
    booleans. With s_i the successes, IF_i = T_i/mean(T) - s_i/mean(s) and the variance of
    log ERT is sum(IF^2)/(n(n-1)).
    """
    check_confidence(confidence)
    sample, success = as_outcomes(times, reached)
    failures = int(np.sum(~success))
    if sample.size == 0:
        flag = Flag("no_runs", "no runs: at least 1 run needed for an expected time")
        return ExpectedTime(None, None, None, confidence, 0, 0, 0.0, None, (flag,))
    total = float(np.sum(sample))
    if failures == sample.size:
        flag = _no_success(sample.size, total)
        return ExpectedTime(
            math.inf, None, None, confidence, sample.size, failures, total, None, (flag,)
        )
    term = ert_term(sample, success)
    low, high = around(term.estimate, combine(math.log(term.estimate), (term,), confidence))
    return ExpectedTime(
        estimate=term.estimate,
        low=low,
        high=high,
        confidence=confidence,
        n=sample.size,
        n_censored=failures,
        total_seconds=total,
        variance_log=term.variance,
        flags=size_flags(sample.size, 2),
    )


def _no_success(n: int, total: float, where: str = "") -> Flag:
    return Flag("no_success", f"{where}0/{n} runs reached the target, {total:g} s spent")


def ert_term(times: Floats, success: Bools) -> LogTerm:
    """ERT of at least one success, with the variance and df of its log."""
    n = times.size
    hits = success.astype(np.float64)
    estimate = mean(times) / mean(hits)
    if n < 2:
        return LogTerm(estimate, None, 0)
    influence = times / mean(times) - hits / mean(hits)
    return LogTerm(estimate, float(np.sum(influence**2)) / (n * (n - 1)), n - 1)


def ert_ratio(
    times_a: ArrayLike,
    reached_a: ArrayLike,
    times_b: ArrayLike,
    reached_b: ArrayLike,
    *,
    confidence: float = 0.95,
) -> Ratio:
    """Ratio of expected running times, A over B, with its delta-t interval.

    Equals :func:`ttastats.stats.speedup.ratio_of_means` when nothing failed. Without a
    success on one side it is 0 or infinite, a bound and no estimate: no interval, no p and
    the flag ``no_success``; None when neither side has one.
    """
    check_confidence(confidence)
    a, hits_a = as_outcomes(times_a, reached_a, "A")
    b, hits_b = as_outcomes(times_b, reached_b, "B")
    failed_a, failed_b = int(np.sum(~hits_a)), int(np.sum(~hits_b))
    if hits_a.any() and hits_b.any():
        ratio = ratio_of(ert_term(a, hits_a), ert_term(b, hits_b), confidence, a.size, b.size)
        return replace(ratio, n_censored_a=failed_a, n_censored_b=failed_b)
    flags = tuple(
        _no_success(times.size, float(np.sum(times)), f"{name}: ")
        for name, times, hits in (("A", a, hits_a), ("B", b, hits_b))
        if not hits.any()
    )
    bound = (0.0 if hits_a.any() else math.inf) if hits_a.any() or hits_b.any() else None
    unknown = Ratio(bound, None, None, confidence, None, None, None, a.size, b.size, flags=flags)
    return replace(unknown, n_censored_a=failed_a, n_censored_b=failed_b)


def ert_speedup(
    times_a: ArrayLike,
    reached_a: ArrayLike,
    times_b: ArrayLike,
    reached_b: ArrayLike,
    *,
    confidence: float = 0.95,
) -> Speedup:
    """Speedup of B over A in expected running time, ready for a verdict."""
    sides = (times_a, reached_a, times_b, reached_b)
    shown = ert_ratio(*sides, confidence=confidence)
    tost = ert_ratio(*sides, confidence=equivalence_confidence(confidence))
    return Speedup(shown, tost, flags=shown.flags)


def two_parts(
    times_a: ArrayLike,
    reached_a: ArrayLike,
    times_b: ArrayLike,
    reached_b: ArrayLike,
    *,
    confidence: float = 0.95,
) -> TwoParts:
    """Compare the fraction reached, and apart from it the mean time of the successes.

    Fractions by Newcombe's interval and Fisher's test, times by the delta-Welch ratio.
    """
    a, hits_a = as_outcomes(times_a, reached_a, "A")
    b, hits_b = as_outcomes(times_b, reached_b, "B")
    counts = (int(hits_a.sum()), a.size, int(hits_b.sum()), b.size)
    test = fisher(*counts)
    ratio = _survivors(a[hits_a], b[hits_b], confidence)
    adjusted = holm([test.p_value, ratio.p_value])
    message = "times compare survivors only: failed runs are left out"
    some_failed = not (hits_a.all() and hits_b.all())
    return TwoParts(
        fraction=newcombe(*counts, confidence=confidence),
        fraction_test=test,
        given_success=replace(
            ratio, n_censored_a=a.size - counts[0], n_censored_b=b.size - counts[2]
        ),
        p_fraction_adjusted=adjusted[0],
        p_given_success_adjusted=adjusted[1],
        flags=(Flag("survivors_only", message),) if some_failed else (),
    )


def _survivors(a: Floats, b: Floats, confidence: float) -> Ratio:
    if a.size and b.size:
        return ratio_of_means(a, b, confidence=confidence)
    flags = tuple(
        Flag("no_success", f"{name}: no run reached the target, no mean time")
        for name, times in (("A", a), ("B", b))
        if not times.size
    )
    return Ratio(None, None, None, confidence, None, None, None, a.size, b.size, flags=flags)


def penalised_mean(
    times: ArrayLike,
    reached: ArrayLike,
    cap: float,
    *,
    factor: float = 1.0,
    confidence: float = 0.95,
) -> Estimate:
    """Mean seconds with every run that fails or exceeds ``cap`` counted ``factor`` x cap.

    PAR-k of the algorithm competitions (Hutter et al. 2009), AlgoPerf's rule for k = 1. It
    depends on the cap as much as on the runs: an option, not the headline.
    """
    if not cap > 0:
        raise ValueError(f"the cap is a positive time, not {cap}")
    sample, success = as_outcomes(times, reached)
    in_time = success & (sample <= cap)
    penalised = np.where(in_time, sample, factor * cap)
    return replace(
        mean_interval(penalised, confidence=confidence), n_censored=int(np.sum(~in_time))
    )
