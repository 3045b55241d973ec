"""How may one look at a comparison after every pair of runs, and still be right?

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
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from msgspec import Struct
from scipy import special

from ttastats.stats.quantiles import bisect_root, gauss_nodes, two_sided_t
from ttastats.stats.results import Floats

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
    places, weights = np.zeros(1), np.ones(1)
    before, last = 0.0, 0
    for runs, by_now in zip(looks, spending, strict=True):
        step = math.sqrt(runs - last)
        end = _tail_cut(places, weights, step, by_now - before)
        before, last = by_now, runs
        critical.append(end / math.sqrt(runs))
        # Places between the ends, and the probability that each stands for after the step.
        density = np.exp(-(((end * nodes[:, None] - places) / step) ** 2) / 2) @ weights
        places = end * nodes
        weights = density * shares * end / (step * math.sqrt(2 * math.pi))
    return tuple(critical)


def _tail_cut(places: Floats, weights: Floats, step: float, spent: float) -> float:
    """Return the sum beyond which, on either side, so much probability lies."""
    far = float(np.abs(places).max()) + _FAR * step
    # The density is symmetric: twice the tail above is both.
    return bisect_root(
        lambda end: spent - 2 * float(weights @ special.ndtr((places - end) / step)), 0.0, far
    )


_REPLICATES = 4000


@lru_cache(maxsize=256)
def simulate_plan(ratio: float, cv: float, most: int) -> Expected:
    """Return the average runs and decisions of 4,000 simulated plans at 5 % for a true ratio.

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
        critical = two_sided_t(2 * n - 2, 1 - Look(n, most).level(0.05))
        times_a, times_b = a[:, :n], b[:, :n]
        spread = np.sqrt((times_a.var(axis=1, ddof=1) + times_b.var(axis=1, ddof=1)) / n)
        now = open_yet & (np.abs(times_a.mean(axis=1) - times_b.mean(axis=1)) / spread > critical)
        stops[now] = n
        open_yet &= ~now
    return Expected(float(stops.mean()), 1 - float(open_yet.mean()))
