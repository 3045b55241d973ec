"""How many runs are needed, and what can so many runs detect.

Times of both sides are taken as lognormal with the same CV and compared by Welch's two-sided t
test on the log ratio. The noncentral t distribution gives its power for the degrees of freedom of a
ratio of sample variances, averaged over the F distribution of that ratio. Where runs fail, samples
of both sides are simulated and judged as `compare` does: what failures add to the variance of an
expected time is not lognormal.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from functools import lru_cache
from typing import Literal

import numpy as np
from msgspec import Struct
from numpy.polynomial import chebyshev
from scipy import special

from ttastats.stats.moments import gauss_nodes, two_sided_t
from ttastats.stats.outcomes import Outcomes
from ttastats.stats.results import Floats
from ttastats.stats.unseen import STRAGGLER, unseen_share

_POWER = 0.8
#: Equally likely variances of each side over which a power is integrated.
_VARIANCES = 200

Shifts = tuple[float, float]

LEAST_RUNS = 3
"""Two runs a side give no interval of their CV, by which to tell whether the plan was right."""

MOST_RUNS = 10_000_000
"Upper limit of the search for a number of runs."


def runs_needed(
    ratio: float,
    cv: float,
    *,
    power: float,
    alpha: float,
    epoch_shifts: Shifts = (0.0, 0.0),
) -> int | None:
    """Return the smallest number of runs per side that shows ``ratio`` at this power, or None.

    ``epoch_shifts``: those of :class:`ttastats.stats.speedup.Speedup`; the claim then has to hold
    for epochs not seen as well. For a claim that a side is not slower by more than a margin, when
    both are equally fast, ``ratio`` is 1 + margin and ``alpha`` twice the one-sided level.
    """
    effect = abs(math.log(ratio))

    def enough(n: int) -> bool:
        return _least_effect(n, cv, power, alpha, epoch_shifts) < effect

    start = MOST_RUNS
    if effect:
        runs = 2 * math.log1p(cv**2) * (_normal_shift(power, alpha) / effect) ** 2
        start = math.ceil(min(runs + 1, MOST_RUNS))  # the t test needs about one more
    return _first_enough(enough, LEAST_RUNS, MOST_RUNS, start)


def detectable_ratio(
    n: int, cv: float, *, power: float, alpha: float, epoch_shifts: Shifts = (0.0, 0.0)
) -> float | None:
    """Return the smallest ratio above 1 that ``n`` runs per side show with this power.

    None of one run, or where nothing bounds what epochs not seen could change.
    """
    if n < 2:
        return None
    if cv == 0.0:
        return 1.0
    effect = _least_effect(n, cv, power, alpha, epoch_shifts)
    return None if math.isinf(effect) else math.exp(effect)


def _least_effect(n: int, cv: float, power: float, alpha: float, epoch_shifts: Shifts) -> float:
    """Return the smallest log ratio that `n` runs per side show with this power.

    With unseen epochs the limit is hardly that of the spread seen, and a normal tail will do.
    """
    se = standard_error(n, cv)
    if not any(epoch_shifts):
        return _least_shift(n, power, alpha) * se
    critical = two_sided_t(2 * (n - 1), 1 - alpha) * se
    unseen = _unseen_shift(epoch_shifts, n, alpha)
    return max(float(special.ndtri(power)) * se + math.hypot(critical, unseen), 0.0)


def standard_error(n: int, cv: float) -> float:
    """Return the standard error of the log ratio of ``n`` runs per side."""
    return math.sqrt(2 * math.log1p(cv**2) / n)


@lru_cache(maxsize=2**16)  # the same for every spread
def _least_shift(n: int, power: float, alpha: float) -> float:
    """Return the smallest effect, in standard errors, that has this power."""
    start = _normal_shift(power, alpha)
    return _smallest_effect(lambda shift: power_of_shift(shift, n, alpha), power, start)


#: Simulated samples of both sides: a power is known to about a hundredth.
_SAMPLES = 2000
#: Runs per side from which each search begins: samples of so many serve all effects.
_ANCHOR = 256
#: Of the polynomial for Student's quantile: good to 1e-9 for 2 runs per side, alpha .0002.
_DEGREE = 13


class Failing(Struct, frozen=True):
    """How the runs of a side end: the share that `reached` the target, and the `cv` of their times.

    The others stop after `stopped` mean times of a success, with a CV of their own.
    """

    reached: float
    cv: float
    stopped: float = 0.0
    stopped_cv: float = 0.0

    @property
    def cost(self) -> float:
        """Return the expected time to a success in mean times of a success."""
        return 1 + (1 / self.reached - 1) * self.stopped


def failing_like(side: Outcomes) -> Failing | None:
    """Return the failure pattern of a side's runs; None if fewer than two reached the target."""
    if side.n_reached < 2:
        return None
    successes, failures = side.times[side.reached], side.times[~side.reached]
    mean, stopped = float(successes.mean()), float(failures.mean()) if failures.size else 0.0
    spread = float(failures.std(ddof=1)) / stopped if failures.size > 1 and stopped else 0.0
    cv = float(successes.std(ddof=1)) / mean
    return Failing(side.n_reached / side.n, cv, stopped / mean, spread)


def runs_with_failures(
    ratio: float,
    sides: tuple[Failing, Failing],
    *,
    certain: bool = False,
    power: float = 0.8,
    alpha: float = 0.05,
    epoch_shifts: Shifts = (0.0, 0.0),
) -> int | None:
    """Return the runs per side that show ``ratio`` where runs fail, or None.

    ``certain``: by a claim that holds too if further runs fail or straggle.
    """
    effect = abs(math.log(ratio))

    def detectable(n: int) -> float:
        ratio_ = detectable_with_failures(
            n, sides, certain=certain, power=power, alpha=alpha, epoch_shifts=epoch_shifts
        )
        return math.inf if ratio_ is None else math.log(ratio_)

    if not effect:
        return None
    start = _ANCHOR  # what is detected falls with the root of the runs
    for _ in range(20):
        at = detectable(start)
        start = 2 * start if math.isinf(at) else math.ceil(1.02 * start * (at / effect) ** 2)
        start = min(max(start, LEAST_RUNS), MOST_RUNS)
        if detectable(start) <= effect or start == MOST_RUNS:
            break
    return _first_enough(lambda n: detectable(n) <= effect, LEAST_RUNS, MOST_RUNS, start, 1 / 32)


def detectable_with_failures(
    n: int,
    sides: tuple[Failing, Failing],
    *,
    certain: bool = False,
    power: float = 0.8,
    alpha: float = 0.05,
    epoch_shifts: Shifts = (0.0, 0.0),
) -> float | None:
    """Return the smallest ratio above 1 that ``n`` runs per side show where runs fail, or None."""
    unseen = _unseen_shift(epoch_shifts, n, alpha)
    if n < 2 or math.isinf(unseen):
        return None
    effect = _least_of_samples(n, sides, power, alpha, unseen, certain=certain)
    return None if math.isinf(effect) else math.exp(max(effect, 0.0))


@lru_cache(maxsize=2**14)
def _least_of_samples(
    n: int, sides: tuple[Failing, Failing], power: float, alpha: float, unseen: float, *,
    certain: bool,
) -> float:  # fmt: skip
    """Return the log ratio from which this share of simulated samples shows a B that is faster.

    By the interval, or the one that allows for further failures where a run failed; infinite where
    too many samples have a side without a success.
    """
    rng = np.random.default_rng(0)
    (logs_a, of_a, hits_a), (logs_b, of_b, hits_b) = (_samples(n, side, rng) for side in sides)
    total, df = of_a + of_b, float(n - 1)
    flat = total <= 0
    shares = np.divide(of_a, total, out=np.full_like(total, 0.5), where=~flat)
    # Welch's degrees of freedom lie between df and 2 df: a polynomial is as good as the quantile.
    welch = chebyshev.chebinterpolate(
        lambda x: -special.stdtrit(df / (0.75 + x / 4), alpha / 2), _DEGREE
    )
    critical = chebyshev.chebval(4 * (shares**2 + (1 - shares) ** 2) - 3, welch)
    half = np.hypot(critical * np.sqrt(total), unseen)
    if certain:
        # As `Bounded.half_widths`: the slower that B may be, should more of its runs fail.
        counts, of_sample = np.unique(np.maximum(hits_b, 1), return_inverse=True)
        low = special.betaincinv(counts, n - counts + 1, alpha)
        slower = np.log1p((STRAGGLER - 1) * (counts / n / low - 1))[of_sample]
        half_of_times = two_sided_t(df, 1 - alpha) * np.sqrt(total)
        wide = np.maximum(half, np.hypot(np.hypot(half_of_times, slower), unseen))
        half = np.where((hits_a == n) & (hits_b == n), half, wide)
    nobody_reached = (hits_a == 0) | (hits_b == 0)
    effects = np.where(nobody_reached, np.inf, half - (logs_a - logs_b))
    return float(np.quantile(effects, power, method="inverted_cdf"))


def _samples(n: int, side: Failing, rng: np.random.Generator) -> tuple[Floats, Floats, Floats]:
    """Return the log of the expected time in samples, its variance, and their successes.

    Of means and variances, not of runs, so that a thousand runs take no longer than three.
    """
    hits = rng.binomial(n, side.reached, _SAMPLES).astype(np.float64)

    def means(count: Floats, cv: float) -> tuple[Floats, Floats]:
        """Return the mean of so many times whose mean is 1, and their squares around it."""
        count = np.maximum(count, 1.0)
        if not cv:
            return np.ones_like(count), np.zeros_like(count)
        shape = count / cv**2
        squares = cv**2 * rng.chisquare(np.maximum(count - 1, 1e-9))
        return rng.gamma(shape) / shape, np.where(count > 1, squares, 0.0)

    (reached, ss_of_times), (stopped, ss_of_stopped) = (
        means(hits, side.cv),
        means(n - hits, side.stopped_cv),
    )
    stopped, ss_of_stopped = stopped * side.stopped, ss_of_stopped * side.stopped**2
    mean = np.where(hits > 0, hits * reached + (n - hits) * stopped, n) / n
    share = np.maximum(hits, 1.0) / n
    squares = (
        ss_of_times + ss_of_stopped + (n - hits) * stopped**2 + hits * (reached - mean / share) ** 2
    )
    return np.log(mean / share / side.cost), squares / mean**2 / (n * (n - 1)), hits


def runs_for_mean(
    effect: float, sd: float, *, samples: Literal[1, 2], level: float, sigma_known: bool = False
) -> int | None:
    """Return the smallest number of runs that shows a mean to be better by ``effect``, or None.

    With a power of 80 %, by a t test (or z test) at a one-sided ``level``: of one sample against a
    number, or of two against each other.
    """

    def enough(n: int) -> bool:
        df = math.inf if sigma_known else samples * (n - 1.0)
        shift = effect / sd * math.sqrt(n / samples)
        critical = two_sided_t(df, 1 - 2 * level)
        if math.isinf(df):
            return float(special.ndtr(shift - critical)) >= _POWER
        return 1 - _lower_tail(critical, df, shift) >= _POWER

    return _first_enough(enough, 1 if sigma_known else 2, MOST_RUNS)


def detectable_difference(n: int, sds: tuple[float, float]) -> float:
    """Return the smallest difference of two means that Welch's t test shows with 80 % power.

    The test is two-sided, at 5 %, of ``n`` runs per side with the standard deviations ``sds``. Its
    power is integrated over the variances that samples of normal values show: a noncentral t with
    Welch's degrees of freedom would have a power of 70 % with 3 runs per side of equal spread.
    """
    df, quantiles = n - 1, (np.arange(_VARIANCES) + 0.5) / _VARIANCES
    variances = 2 * special.gammaincinv(df / 2, quantiles) / df / n  # of a mean of unit variance
    a, b = np.meshgrid(sds[0] ** 2 * variances, sds[1] ** 2 * variances)
    critical = special.stdtrit(df * (a + b) ** 2 / (a**2 + b**2), 0.975) * np.sqrt(a + b)
    se = math.hypot(*sds) / math.sqrt(n)

    def power_at(effect: float) -> float:
        powers = special.ndtr((effect - critical) / se) + special.ndtr((-effect - critical) / se)
        return float(powers.mean())

    return _smallest_effect(power_at, _POWER, se * _normal_shift(_POWER, 0.05))


def power_of_shift(shift: float, n: int, alpha: float) -> float:
    """Return the power of Welch's test for a log ratio of ``shift`` >= 0 standard errors.

    Welch's statistic is the pooled one, but its degrees of freedom, (n-1)(1+r)^2/(1+r^2), depend on
    the ratio r of the sample variances, which is independent of it.
    """
    df = 2 * (n - 1)
    if n > _POOLED_FROM:
        critical = two_sided_t(df, 1 - alpha)
        return 1 - _lower_tail(critical, df, shift) + _lower_tail(-critical, df, shift)
    limits, weights = _welch_limits(n, alpha)
    tails = special.nctdtr(df, shift, np.concatenate((-limits, limits)))
    lower, upper = np.where(np.isnan(tails), 0.0, tails).reshape(2, -1)
    return float(weights @ (1 - upper + lower))


@lru_cache(maxsize=256)
def _welch_limits(n: int, alpha: float) -> tuple[Floats, Floats]:
    """Return the critical values by the ratios of variances that samples show, and their weights.

    Half of the nodes between 0 and 1: a ratio and its inverse have the same degrees of freedom.
    """
    nodes, weights = (values[:16] for values in gauss_nodes(32))
    ratio = special.fdtri(n - 1, n - 1, (nodes + 1) / 2)
    welch_df = (n - 1) * (1 + ratio) ** 2 / (1 + ratio**2)
    return special.stdtrit(welch_df, 1 - alpha / 2), weights


_POOLED_FROM = 30
"""With more runs Welch's degrees of freedom are near 2(n-1), and the power differs by < .003."""


def _unseen_shift(epoch_shifts: Shifts, n: int, alpha: float) -> float:
    """Return the largest shift of the log ratio against the claim by unseen epochs."""
    share_below, share_above = (unseen_share(n, 1 - alpha) * shift for shift in epoch_shifts)
    if share_below >= 1 or math.isinf(share_above):
        return math.inf
    return math.hypot(math.log1p(-share_below), math.log1p(share_above))


def _lower_tail(t: float, df: float, shift: float) -> float:
    """Return P(T <= t) of the noncentral t; SciPy gives NaN where it is too small to compute."""
    tail = float(special.nctdtr(df, shift, t))
    return 0.0 if math.isnan(tail) else tail


def _normal_shift(power: float, alpha: float) -> float:
    """Return the effect of this power in standard errors of a two-sided normal test."""
    return float(special.ndtri(1 - alpha / 2)) + max(float(special.ndtri(power)), 0.0)


def _first_enough(
    enough: Callable[[int], bool], low: int, highest: int, start: int = 0, stride: float = 0.0
) -> int | None:
    """Return the smallest n from `low` to `highest` for which a monotone condition holds.

    The search goes from `start`, up or down, in growing steps, the first a `stride` of it. With a
    stride the number is one of every few: an eighth of the stride, far less than samples tell.
    """
    high = min(max(start, low), highest)
    step = max(int(stride * high), 1)
    stride_ = max(step // 8, 1)
    while not enough(high):
        if high == highest:
            return None
        low, high, step = high + 1, min(high + step, highest), 2 * step
    while high - step >= low and enough(high - step):
        high, step = high - step, 2 * step
    candidates = range(max(low, high - step + 1), high, stride_)
    index = bisect_left(candidates, True, key=enough)
    return candidates[index] if index < len(candidates) else high


def _smallest_effect(power_at: Callable[[float], float], power: float, start: float) -> float:
    """Return the smallest effect with the given power; the search begins around `start`.

    It goes by regula falsi, in which an end that stays twice counts half (Illinois: Dowell and
    Jarratt 1971, BIT 11, 168-174).
    """
    low, high = 0.9 * start, 1.1 * start or 1e-3
    at_low, at_high = power_at(low) - power, power_at(high) - power
    if at_low > 0:
        high, at_high, low, at_low = low, at_low, 0.0, power_at(0.0) - power
    while at_high < 0:
        low, at_low, high = high, at_high, 2 * high
        at_high = power_at(high) - power
    if at_low >= 0:
        return low
    was_above: bool | None = None
    for _ in range(60):
        middle = high - at_high * (high - low) / (at_high - at_low)
        excess = power_at(middle) - power
        if abs(excess) < 1e-13 or high - low < 1e-13 * high:
            return middle
        if excess > 0:
            high, at_high, at_low = middle, excess, at_low / 2 if was_above is True else at_low
        else:
            low, at_low, at_high = middle, excess, at_high / 2 if was_above is False else at_high
        was_above = excess > 0
    return high
