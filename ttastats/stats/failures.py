"""What failed runs cost: the expected time to a success.

Expected running time assumes what one would do in practice: start again, with the same
stopping rule, until a run succeeds (Auger and Hansen 2005).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ttastats.stats.logratio import around, combine
from ttastats.stats.outcomes import outcomes, time_term
from ttastats.stats.quantiles import check_confidence
from ttastats.stats.results import Bools, Flag, Floats
from ttastats.stats.sample import size_flags


@dataclass(frozen=True, slots=True)
class ExpectedTime:
    """Expected running time: the seconds of all runs over the number of successes.

    ``estimate`` is infinite without a success; all seconds were then spent in vain.
    ``variance_log`` is the delta-method variance of its log, None where there is none.
    """

    estimate: float | None
    low: float | None
    high: float | None
    confidence: float
    n: int
    variance_log: float | None
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
    side = outcomes(times, reached)
    if side.n == 0:
        flag = Flag("no_runs", "no runs: at least 1 run needed for an expected time")
        return ExpectedTime(None, None, None, confidence, 0, None, (flag,))
    if not side.n_reached:
        flags = (_no_success(side.n, float(np.sum(side.times))),)
        return ExpectedTime(math.inf, None, None, confidence, side.n, None, flags)
    term = time_term(side)
    low, high = around(term.estimate, combine(math.log(term.estimate), (term,), confidence))
    return ExpectedTime(
        estimate=term.estimate,
        low=low,
        high=high,
        confidence=confidence,
        n=side.n,
        variance_log=term.variance,
        flags=size_flags(side.n, 2),
    )


def no_success_flags(
    times_a: Floats, reached_a: Bools, times_b: Floats, reached_b: Bools
) -> tuple[Flag, ...]:
    """Flag the sides of which no run reached the target."""
    return tuple(
        _no_success(times.size, float(np.sum(times)), f"{name}: ")
        for name, times, hits in (("A", times_a, reached_a), ("B", times_b, reached_b))
        if not hits.any()
    )


def _no_success(n: int, total: float, where: str = "") -> Flag:
    return Flag("no_success", f"{where}0/{n} runs reached the target, {total:g} s spent")
