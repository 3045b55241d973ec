"""How many runs are needed, and what can so many runs detect.

Times of both sides are taken as lognormal with the same CV and compared by the two-sided t
test on the log ratio; the noncentral t distribution answers in closed form.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

from scipy import special

from ttastats.stats.quantiles import two_sided_t
from ttastats.stats.unseen import unseen_share

_POWER = 0.8

Shifts = tuple[float, float]

MOST_RUNS = 10_000_000
"Upper limit of the search for a number of runs."


def runs_needed(
    ratio: float,
    cv: float,
    *,
    power: float = 0.8,
    alpha: float = 0.05,
    epoch_shifts: Shifts = (0.0, 0.0),
) -> int | None:
    """Smallest number of runs per side that shows ``ratio`` with at least this power, or None.

    ``ratio`` and its inverse are equally hard.

    ``epoch_shifts``: by what share of each side's mean time one evaluation interval more in every
    run would change it, 0 where epochs vary, infinite where nobody knows; the claim then has to
    hold for epochs not seen as well (:mod:`ttastats.stats.unseen`). For a claim that a side is
    not slower by more than a margin, when both are equally fast, ``ratio`` is 1 + margin and
    ``alpha`` twice the one-sided level: the other tail adds less than a thousandth of power.
    """
    _check(ratio, cv, alpha)
    _check_power(power)
    effect = abs(math.log(ratio))

    def enough(n: int) -> bool:
        return power_of(effect, n, cv, alpha, epoch_shifts) >= power

    return _first(enough, 2, MOST_RUNS)


def detectable_ratio(
    n: int, cv: float, *, power: float = 0.8, alpha: float = 0.05, epoch_shifts: Shifts = (0.0, 0.0)
) -> float | None:
    """Smallest ratio above 1 that ``n`` runs per side show with this power.

    None where no ratio is: of one run, or because nothing bounds what epochs not seen could change.
    """
    _check(1.0, cv, alpha)
    _check_power(power)
    if n < 2:
        return None
    if cv == 0.0:
        return 1.0
    if math.isinf(_unseen(epoch_shifts, n, alpha)):
        return None
    return math.exp(_smallest_effect(lambda x: power_of(x, n, cv, alpha, epoch_shifts) >= power))


def runs_for_mean(
    effect: float, sd: float, *, samples: Literal[1, 2], level: float, sigma_known: bool = False
) -> int | None:
    """Smallest number of runs, of each sample, that shows a mean to be better by ``effect``.

    With a power of 80 %, by a t test at a one-sided ``level``, or a z test; of a two-sided one it
    is half, whose other tail adds next to no power. Of one sample against a number, or of two
    against each other. None where no number of runs does.
    """

    def enough(n: int) -> bool:
        df = math.inf if sigma_known else samples * (n - 1.0)
        shift = effect / sd * math.sqrt(n / samples)
        critical = two_sided_t(df, 1 - 2 * level)
        if math.isinf(df):
            return float(special.ndtr(shift - critical)) >= _POWER
        return 1 - _lower_tail(critical, df, shift) >= _POWER

    return _first(enough, 1 if sigma_known else 2, MOST_RUNS)


def _check(ratio: float, cv: float, alpha: float) -> None:
    if not 0 < ratio < math.inf:
        raise ValueError(f"a ratio is positive and finite, not {ratio}")
    if not 0 <= cv < math.inf:
        raise ValueError(f"a CV is a fraction of 0 or more: {cv}")
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must lie between 0 and 1, not {alpha}")


def _check_power(power: float) -> None:
    if not 0 < power < 1:
        raise ValueError(f"power must lie between 0 and 1, not {power}")


def power_of(
    effect: float, n: int, cv: float, alpha: float, epoch_shifts: Shifts = (0.0, 0.0)
) -> float:
    """Power for a log ratio of ``effect`` >= 0, from the noncentral t distribution.

    With unseen epochs the limit is hardly that of the spread seen, and a normal tail will do.
    """
    variance = 2 * math.log1p(cv**2) / n
    extra = _unseen(epoch_shifts, n, alpha)
    if math.isinf(extra):
        return 0.0
    if variance == 0.0:
        return 1.0 if effect > extra else alpha
    df, se = 2 * (n - 1), math.sqrt(variance)
    shift, critical = effect / se, two_sided_t(df, 1 - alpha)
    if extra:
        return float(special.ndtr(shift - math.hypot(critical, extra / se)))
    return 1 - _lower_tail(critical, df, shift) + _lower_tail(-critical, df, shift)


def _unseen(epoch_shifts: Shifts, n: int, alpha: float) -> float:
    """How far epochs not seen could move the log ratio against the claim."""
    less, more = (unseen_share(n, 1 - alpha) * shift for shift in epoch_shifts)
    if less >= 1 or math.isinf(more):
        return math.inf
    return math.hypot(math.log1p(-less), math.log1p(more))


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
