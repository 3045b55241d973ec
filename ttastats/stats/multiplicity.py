"""What holds over many benchmarks, or many looks at one: p values, means, how systems compare?

A test at 5 % that is repeated after every further run is wrong in about 20 % of the cases, since
each look is another chance. A plan declares the largest number of runs a side and shares the error
among the looks up to it: that much of it is spent by the n-th run of a side as n is of the plan's
(alpha spending: Lan and DeMets 1983; in proportion: Kim and DeMets 1987). Looks may be left out
and the runs may end early for any reason: that spends less, never more. The interval at every look
is the one whose level is that of the look (repeated confidence intervals: Jennison and Turnbull
1989), so that all of them hold together.

Boundaries are those of a normal mean with known variance, by recursive integration (Armitage,
McPherson and Rowe 1969), carried to Student's t as levels (Jennison and Turnbull 2000, section
3.6). With all of the error spent, looks at skewed times against constant ones were wrong in up to
9 %, so that half of it is spent (docs/statistics.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TypeVar

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike
from scipy import special

from ttastats.stats.logratio import combine_terms, interval_around, safe_exp, term_of
from ttastats.stats.moments import bisect_root, gauss_nodes, two_sided_t
from ttastats.stats.results import Floats, Ratio

PValues = Sequence[float | None]
Case = TypeVar("Case")


class MeanSpeedup(Struct, frozen=True):
    """Geometric mean of the speedups of ``n`` benchmarks, each weighing the same."""

    estimate: float | None
    low: float | None
    high: float | None
    n: int


def adjust_p_values(p_values: PValues, *, fdr: bool = False) -> tuple[float | None, ...]:
    """Return p values adjusted for multiple tests (Holm 1979), None where there was no test.

    With ``fdr`` they are adjusted to the false discovery rate (Benjamini and Hochberg 1995).
    """
    tested = [p for p in p_values if p is not None]
    order, m = np.argsort(tested, kind="stable"), len(tested)
    ascending = np.asarray(tested, dtype=np.float64)[order]
    if fdr:
        steps = np.minimum.accumulate((ascending * m / np.arange(1, m + 1))[::-1])[::-1]
    else:
        steps = np.maximum.accumulate(ascending * (m - np.arange(m)))
    adjusted = np.empty(m)
    adjusted[order] = steps
    values = iter(np.minimum(adjusted, 1.0).tolist())
    return tuple(None if p is None else next(values) for p in p_values)


def step_down(
    cases: Sequence[Case], shown: Callable[[Case, float], bool], alpha: float
) -> list[bool]:
    """Return whether each claim holds at ``alpha``, by Holm's step-down without p values.

    ``shown(case, level)`` says whether a case's claim holds at a level; a claim that holds at
    one level holds at every larger one.
    """
    rejected = [False] * len(cases)
    while True:
        n_open = rejected.count(False)
        rejections = [
            k for k, case in enumerate(cases) if not rejected[k] and shown(case, alpha / n_open)
        ]
        if not rejections:
            return rejected
        for k in rejections:
            rejected[k] = True


def geometric_mean_speedup(ratios: Sequence[Ratio], *, confidence: float) -> MeanSpeedup:
    """Return the geometric mean of speedups over matched benchmarks, with its interval.

    SE = sqrt(sum SE_k^2) / K: for these benchmarks, not for others one might have chosen.
    """
    speedups = [ratio.estimate for ratio in ratios]
    usable = [s for s in speedups if s is not None and 0 < s < math.inf]
    if not usable or len(usable) < len(ratios):
        return MeanSpeedup(None, None, None, len(ratios))
    terms = [term_of(ratio, 1 / len(ratios)) for ratio in ratios]
    scale = combine_terms(float(np.mean(np.log(usable))), terms, confidence)
    estimate = safe_exp(scale.value)
    low, high = interval_around(estimate, scale)
    return MeanSpeedup(estimate, low, high, len(ratios))


class PerformanceProfile(Struct, frozen=True, eq=False):
    """Share of benchmarks, one row per system, solved within so many times the best.

    ``scores`` integrate that over [1, tau_max], scaled to [0, 1].
    """

    shares: Floats
    scores: Floats


def performance_profile(
    times: ArrayLike, taus: ArrayLike, *, tau_max: float = 4.0
) -> PerformanceProfile:
    """Return the performance profile of Dolan and More (2002) and AlgoPerf's score.

    ``times``: shape (systems, benchmarks), seconds, infinite where the target was missed;
    ``taus``: factors of 1 or more. A benchmark nobody solved counts for nobody.
    """
    table = np.asarray(times, dtype=np.float64)
    factors = np.asarray(taus, dtype=np.float64)
    best = table.min(axis=0)
    solved = np.isfinite(best)
    ratios = np.full(table.shape, math.inf)
    ratios[:, solved] = table[:, solved] / best[solved]
    # Rounding of a quotient must not push a system past a factor it meets exactly.
    within = ratios[:, :, np.newaxis] <= factors * (1 + 1e-12)
    distances = np.maximum(tau_max - ratios, 0.0)
    return PerformanceProfile(
        shares=within.mean(axis=1), scores=distances.mean(axis=1) / (tau_max - 1)
    )


FIRST_LOOK = 3
"""Runs a side before which nothing is said."""

MOST_LOOKS = 200
"""No plan is longer than this many runs a side."""

_SHARE = 0.5
_NODES = 96
_FAR = 38.0  # the tail beyond so many deviations is no double


class Expected(Struct, frozen=True):
    """Runs a side that a plan takes on average, and the share of plans that end decided."""

    runs: float
    decided: float


class Look(Struct, frozen=True):
    """A look at `n` runs a side of a plan of at most `most`."""

    n: int
    most: int

    def level(self, alpha: float) -> float:
        """Return the level of a two-sided test at this look if all looks together use `alpha`."""
        return 2 * float(special.ndtr(-boundaries(alpha, self.n, self.most)[-1]))

    def p_value(self, p_value: float) -> float:
        """Return the p over all looks: the smallest total error at which this look decides, or 1.

        The chance that that of any look is below alpha is at most alpha.
        """
        smallest = max(p_value, _SMALLEST_P)
        alpha = smallest
        for _ in range(60):
            reached = self.level(alpha)
            if alpha == 1.0 and reached < smallest:
                return 1.0
            closer = min(1.0, alpha * smallest / reached)
            if math.isclose(closer, alpha, rel_tol=1e-10):
                break
            alpha = closer
        return alpha


_SMALLEST_P = 1e-15


@lru_cache(maxsize=4096)
def boundaries(alpha: float, n: int, most: int) -> tuple[float, ...]:
    """Return the critical values of |Z| at the looks from the first to `n` runs a side."""
    looks = range(FIRST_LOOK, n + 1)
    return critical_values(looks, [_SHARE * alpha * runs / most for runs in looks])


def critical_values(looks: Sequence[int], spending: Sequence[float]) -> tuple[float, ...]:
    """Return the critical values of |Z| that spend so much error up to each look.

    Z is the sum of so many independent standard normal steps over its deviation. What is followed
    from look to look is the density of sums that crossed no boundary yet.
    """
    critical: list[float] = []
    nodes, shares = gauss_nodes(_NODES)
    points, weights = np.zeros(1), np.ones(1)
    spent_before, runs_before = 0.0, 0
    for runs, by_now in zip(looks, spending, strict=True):
        step = math.sqrt(runs - runs_before)
        end = _tail_cut(points, weights, step, by_now - spent_before)
        spent_before, runs_before = by_now, runs
        critical.append(end / math.sqrt(runs))
        # Points between the ends, and the probability that each stands for after the step.
        density = np.exp(-(((end * nodes[:, None] - points) / step) ** 2) / 2) @ weights
        points = end * nodes
        weights = density * shares * end / (step * math.sqrt(2 * math.pi))
    return tuple(critical)


def _tail_cut(points: Floats, weights: Floats, step: float, spent: float) -> float:
    """Return the sum beyond which, on either side, so much probability lies."""
    far = float(np.abs(points).max()) + _FAR * step
    # The density is symmetric: twice the tail above is both.
    return bisect_root(
        lambda end: spent - 2 * float(weights @ special.ndtr((points - end) / step)), 0.0, far
    )


_REPLICATES = 4000


@lru_cache(maxsize=256)
def simulate_plan(ratio: float, cv: float, most: int, alpha: float) -> Expected:
    """Return the average runs and decisions of 4,000 simulated plans for a true ratio.

    The draws are always the same; the standard error of the runs is at most a hundredth of
    ``most``, that of the share below 0.01.
    """
    rng = np.random.default_rng(0)
    sigma = math.sqrt(math.log1p(cv**2))
    shift = abs(math.log(ratio))
    if sigma == 0.0:
        return Expected(FIRST_LOOK, 1.0) if shift else Expected(most, 0.0)
    a = rng.standard_normal((_REPLICATES, most)) + shift / sigma
    b = rng.standard_normal((_REPLICATES, most))
    stops = np.full(_REPLICATES, float(most))
    open_yet = np.ones(_REPLICATES, dtype=np.bool_)
    for n in range(FIRST_LOOK, most + 1):
        critical = two_sided_t(2 * n - 2, 1 - Look(n, most).level(alpha))
        times_a, times_b = a[:, :n], b[:, :n]
        spread = np.sqrt((times_a.var(axis=1, ddof=1) + times_b.var(axis=1, ddof=1)) / n)
        stops_here = open_yet & (
            np.abs(times_a.mean(axis=1) - times_b.mean(axis=1)) / spread > critical
        )
        stops[stops_here] = n
        open_yet &= ~stops_here
    return Expected(float(stops.mean()), 1 - float(open_yet.mean()))
