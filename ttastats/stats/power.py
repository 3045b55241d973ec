"""How many runs are needed, and what can so many runs detect.

Times are taken as lognormal with the given CVs and compared by the two-sided t test on the
log ratio with Welch's df; the noncentral t distribution answers in closed form.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from ttastats.stats.logratio import satterthwaite
from ttastats.stats.moments import as_side, coefficient_of_variation
from ttastats.stats.quantiles import two_sided_t
from ttastats.stats.results import Flag, Floats

MOST_RUNS = 10_000_000
"""Nobody trains more often than this; the search for a number of runs ends here."""

RUNS_FOR_RESAMPLING = 10
"""Fewer observed runs do not show how times are distributed."""

RESAMPLED_RUNS_AT_ONCE = 1_000_000
"""Bounds the memory of simulated power."""


@dataclass(frozen=True, slots=True)
class Power:
    """A plan: with ``n`` runs per side a true ``ratio`` is found with probability ``power``.

    ``ratio`` and its inverse are equally hard. CVs and alpha are fractions.
    """

    power: float | None
    n: int | None
    ratio: float | None
    cv_a: float
    cv_b: float
    alpha: float
    flags: tuple[Flag, ...] = ()


def power_of(
    ratio: float, n: int, cv_a: float, cv_b: float | None = None, *, alpha: float = 0.05
) -> Power:
    """Probability that ``n`` runs per side show a true ``ratio`` of mean times.

    ``cv_b`` is ``cv_a`` unless given. None and a flag for fewer than 2 runs. ValueError for
    a ratio that is not positive, a negative CV, or alpha outside (0, 1).
    """
    cv_b = cv_a if cv_b is None else cv_b
    _check(ratio, cv_a, cv_b, alpha)
    plan = Power(None, n, ratio, cv_a, cv_b, alpha)
    if n < 2:
        flag = Flag("few_runs", f"2 runs needed per side for a test, have {n}")
        return replace(plan, flags=(flag,))
    return replace(plan, power=_power(abs(math.log(ratio)), n, cv_a, cv_b, alpha))


def runs_needed(
    ratio: float,
    cv_a: float,
    cv_b: float | None = None,
    *,
    power: float = 0.8,
    alpha: float = 0.05,
) -> Power:
    """Smallest number of runs per side that shows ``ratio`` with at least this power."""
    cv_b = cv_a if cv_b is None else cv_b
    _check(ratio, cv_a, cv_b, alpha)
    _check_power(power)
    effect = abs(math.log(ratio))

    def enough(n: int) -> bool:
        return _power(effect, n, cv_a, cv_b, alpha) >= power

    n = _first(enough, 2, MOST_RUNS)
    if n is None:
        message = f"no number of runs up to {MOST_RUNS} shows a ratio of {ratio:g}"
        flag = Flag("out_of_reach", message)
        return Power(None, None, ratio, cv_a, cv_b, alpha, (flag,))
    return Power(_power(effect, n, cv_a, cv_b, alpha), n, ratio, cv_a, cv_b, alpha)


def detectable_ratio(
    n: int,
    cv_a: float,
    cv_b: float | None = None,
    *,
    power: float = 0.8,
    alpha: float = 0.05,
) -> Power:
    """Smallest ratio above 1 that ``n`` runs per side show with this power."""
    cv_b = cv_a if cv_b is None else cv_b
    _check(1.0, cv_a, cv_b, alpha)
    _check_power(power)
    plan = Power(None, n, None, cv_a, cv_b, alpha)
    if n < 2:
        flag = Flag("few_runs", f"2 runs needed per side for a test, have {n}")
        return replace(plan, flags=(flag,))
    if cv_a == cv_b == 0.0:
        flag = Flag("zero_variance", "without any variation every ratio above 1 is detectable")
        return replace(plan, power=1.0, ratio=1.0, flags=(flag,))
    effect = _smallest_effect(lambda x: _power(x, n, cv_a, cv_b, alpha) >= power)
    return replace(plan, power=_power(effect, n, cv_a, cv_b, alpha), ratio=math.exp(effect))


def _check(ratio: float, cv_a: float, cv_b: float, alpha: float) -> None:
    if not 0 < ratio < math.inf:
        raise ValueError(f"a ratio is positive and finite, not {ratio}")
    if not (0 <= cv_a < math.inf and 0 <= cv_b < math.inf):
        raise ValueError(f"a CV is a fraction of 0 or more: {cv_a}, {cv_b}")
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must lie between 0 and 1, not {alpha}")


def _check_power(power: float) -> None:
    if not 0 < power < 1:
        raise ValueError(f"power must lie between 0 and 1, not {power}")


def _power(effect: float, n: int, cv_a: float, cv_b: float, alpha: float) -> float:
    """Power for a log ratio of ``effect`` >= 0, from the noncentral t distribution."""
    variances = [math.log1p(cv**2) / n for cv in (cv_a, cv_b)]
    if sum(variances) == 0.0:
        return 1.0 if effect > 0 else alpha
    df = satterthwaite(variances, [n - 1, n - 1])
    shift = effect / math.sqrt(sum(variances))
    critical = two_sided_t(df, 1 - alpha)
    return 1 - _lower_tail(critical, df, shift) + _lower_tail(-critical, df, shift)


def _lower_tail(t: float, df: float, shift: float) -> float:
    """P(T <= t) of the noncentral t; SciPy gives NaN where it is too small to compute."""
    tail = float(special.nctdtr(df, shift, t))
    return 0.0 if math.isnan(tail) else tail


def _first(enough: Callable[[int], bool], low: int, most: int) -> int | None:
    """Find the smallest n >= low for which a claim that stays true becomes true."""
    high = low
    while not enough(high):
        if high >= most:
            return None
        low, high = high + 1, min(2 * high, most)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle + 1, high)
    return low


def _smallest_effect(enough: Callable[[float], bool]) -> float:
    """Bisect for the smallest effect that is enough; 60 halvings leave rounding only."""
    low, high = 0.0, 1e-3
    while not enough(high):
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def simulated_power(
    times_a: ArrayLike,
    times_b: ArrayLike,
    ratio: float,
    n: int,
    *,
    rng: np.random.Generator,
    replicates: int = 2000,
    alpha: float = 0.05,
) -> Power:
    """Power of the delta-Welch test when ``n`` runs per side are drawn from those observed.

    Whole runs are drawn with replacement, epochs and time per epoch together, after scaling
    B to a true ``ratio`` of means: a check of the closed form on two-valued times. None and
    a flag with fewer than 10 observed runs on a side.
    """
    a, b = as_side(times_a, "A"), as_side(times_b, "B")
    cv_a, cv_b = (coefficient_of_variation(x) or 0.0 for x in (a, b))
    _check(ratio, cv_a, cv_b, alpha)
    plan = Power(None, n, ratio, cv_a, cv_b, alpha)
    if n < 2:
        raise ValueError(f"2 runs needed per side for a test, not {n}")
    if min(a.size, b.size) < RUNS_FOR_RESAMPLING:
        message = f"{RUNS_FOR_RESAMPLING} observed runs per side needed to resample"
        return replace(plan, flags=(Flag("few_runs", message),))
    a, b = a / np.mean(a) * ratio, b / np.mean(b)
    at_once = max(1, RESAMPLED_RUNS_AT_ONCE // n)
    found = 0
    for start in range(0, replicates, at_once):
        shape = (min(at_once, replicates - start), n)
        found += _rejections(rng.choice(a, shape), rng.choice(b, shape), alpha)
    return replace(plan, power=found / replicates)


def _rejections(a: Floats, b: Floats, alpha: float) -> int:
    """Count the rows of two arrays (replicates, n) with a significant delta-Welch test."""
    n = a.shape[1]
    gap = np.log(a.mean(axis=1)) - np.log(b.mean(axis=1))
    parts = [(x.std(axis=1, ddof=1) / x.mean(axis=1)) ** 2 / n for x in (a, b)]
    variance = parts[0] + parts[1]
    # Equal draws leave a variance of rounding noise; then every gap counts as found.
    safe = np.maximum(variance, 1e-30)
    shares = (parts[0] / safe) ** 2 + (parts[1] / safe) ** 2
    df = (n - 1) / np.maximum(shares, 0.5)
    p_values = 2 * special.stdtr(df, -np.abs(gap) / np.sqrt(safe))
    return int(np.count_nonzero((p_values < alpha) & (np.abs(gap) > 1e-12)))
