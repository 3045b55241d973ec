"""How often a comparison repeated after every pair of runs is wrong, and what it costs.

All replicates are looked at together: what a look shows of them are arrays. The interval is that
of `ratio_of_means`, the epoch-safe one where every run of a side took the same number of epochs;
a test holds the two against what `ttastats.stats` says of single samples.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from benchmarks.coverage.figures import Figure, Rate, rate
from benchmarks.coverage.shapes import (
    ALIKE,
    CONST,
    GNMT,
    LN15,
    LN45,
    MIXED,
    SSD,
    TRF,
    TRF2,
    Bools,
    Floats,
    Pair,
    Shape,
    generator,
)
from benchmarks.coverage.simulations import Plan
from ttastats.stats.multiplicity import FIRST_LOOK, Look, critical_values
from ttastats.stats.power import runs_needed
from ttastats.stats.unseen import unseen_share

ALPHA = 0.05
MOST = (10, 20, 40)

Level = Callable[[int, int], float]
"""Two-sided level of the look at so many runs a side, of so many at most."""


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Times and epochs of one side, shape (replicates, runs)."""

    times: Floats
    epochs: Floats
    evaluation_interval: float

    def first(self, n: int) -> Sample:
        """Return the first runs of every replicate."""
        return Sample(self.times[:, :n], self.epochs[:, :n], self.evaluation_interval)


def drawn(pair: Pair, runs: int, plan: Plan, *names: str) -> tuple[Sample, Sample]:
    """Draw replicates of two sides."""
    rng = generator(plan.seed, "sequential", pair.name, f"{pair.ratio:g}", *names)
    size = (plan.replicates, runs)
    a, b = (_sample(shape, size, rng) for shape in (pair.a, pair.b))
    return replace(a, times=pair.ratio * a.times), b


def _sample(shape: Shape, size: tuple[int, int], rng: np.random.Generator) -> Sample:
    times, epochs = shape.successes(size, rng)
    if epochs is None:
        raise ValueError("epochs are needed")
    return Sample(times, epochs, shape.evaluation_interval)


def decides(a: Sample, b: Sample, level: float, *, epoch_safe: bool) -> Bools:
    """Return whether the interval of each replicate excludes 1."""
    if level <= 0:
        return np.zeros(a.times.shape[0], dtype=np.bool_)
    log_ratio = np.log(a.times.mean(axis=1) / b.times.mean(axis=1))
    variance_a, variance_b = _variance(a), _variance(b)
    variance = variance_a + variance_b
    df = (a.times.shape[1] - 1) * variance**2 / (variance_a**2 + variance_b**2)
    printed: Floats = -special.stdtrit(df, level / 2) * np.sqrt(variance)
    if not epoch_safe:
        outside: Bools = np.abs(log_ratio) > printed
        return outside
    unseen = _constant(a) | _constant(b)
    (below_a, above_a), (below_b, above_b) = (_half_widths(side, level) for side in (a, b))
    below = np.where(unseen, np.maximum(printed, np.hypot(below_a, above_b)), printed)
    above = np.where(unseen, np.maximum(printed, np.hypot(above_a, below_b)), printed)
    safe: Bools = (log_ratio > below) | (-log_ratio > above)
    return safe


def _variance(side: Sample) -> Floats:
    """Variance of the log of the mean of every replicate."""
    variances: Floats = (side.times.std(axis=1, ddof=1) / side.times.mean(axis=1)) ** 2
    return variances / side.times.shape[1]


def _constant(side: Sample) -> Bools:
    """Return whether all runs of a replicate took the same number of epochs, for each replicate."""
    constant: Bools = np.ptp(side.epochs, axis=1) == 0
    return constant


def _half_widths(side: Sample, level: float) -> tuple[Floats, Floats]:
    """Half-widths below and above the log of the mean, with epochs not seen allowed for."""
    n = side.times.shape[1]
    half = -special.stdtrit(n - 1, level / 2) * np.sqrt(_variance(side))
    shift = np.where(_constant(side), side.evaluation_interval / side.epochs[:, 0], 0.0)
    shift *= unseen_share(n, 1 - level)
    return np.hypot(half, np.log1p(-shift)), np.hypot(half, np.log1p(shift))


def stops(
    a: Sample, b: Sample, most: int, level: Level, *, epoch_safe: bool = True
) -> tuple[Floats, Bools]:
    """Return the runs a side at which each replicate stops, and whether it was decided by then."""
    lengths = np.full(a.times.shape[0], float(most))
    decided = np.zeros(lengths.size, dtype=np.bool_)
    for n in range(FIRST_LOOK, most + 1):
        deciding = decides(a.first(n), b.first(n), level(n, most), epoch_safe=epoch_safe) & ~decided
        lengths[deciding] = n
        decided |= deciding
    return lengths, decided


def repeated(_n: int, _most: int) -> float:
    """Look at 5 % every time, as if each look were the only one."""
    return ALPHA


def planned(n: int, most: int) -> float:
    """Look as `compare --sequential` does."""
    return Look(n, most).level(ALPHA)


def mixture(scale: float) -> Level:
    """Return the levels of a test valid for ever: Student's t mixed over normal effects.

    The Bayes factor of the two-sample t statistic with effects ~ N(0, scale) in deviations of one
    run is a martingale under the null (Lai 1976; Hendriksen, de Heide and Gruenwald 2021); it
    decides where it exceeds 1/alpha.
    """

    def level(n: int, _: int) -> float:
        df, spread = 2 * n - 2, 1 + scale * n / 2
        needed = math.exp(2 * (math.log(1 / ALPHA) + math.log(spread) / 2) / (df + 1))
        if needed >= spread:
            return 0.0
        t = math.sqrt(df * (needed - 1) / (1 - needed / spread))
        return 2 * float(special.stdtr(df, -t))

    return level


def late(n: int, most: int) -> float:
    """Spend little early: about the boundaries of O'Brien and Fleming (Lan and DeMets 1983)."""
    return _LATE[n, most]


def _late_levels(most: int) -> dict[tuple[int, int], float]:
    def spent(n: int) -> float:
        edge = float(special.ndtri(ALPHA / 2)) / math.sqrt(n / most)
        return 0.5 * 2 * float(special.ndtr(edge))

    looks = range(FIRST_LOOK, most + 1)
    edges = critical_values(looks, [spent(n) for n in looks])
    return {(n, most): 2 * float(special.ndtr(-edge)) for n, edge in zip(looks, edges, strict=True)}


_LATE = {key: level for most in MOST for key, level in _late_levels(most).items()}

#: What was held against each other; the second is what `compare --sequential` does.
CANDIDATES: dict[str, Level] = {
    "5 % at every look": repeated,
    "spending in proportion": planned,
    "spending late": late,
    "mixture, effects of 1 deviation": mixture(1.0),
    "mixture, effects of 2 deviations": mixture(4.0),
}

_STEADY = replace(LN15, name="LN05", cv_epochs=0.05)


def errors(plan: Plan) -> Iterator[Figure]:
    """Measure how often any look decides although both means are equal."""
    for pair in (*ALIKE, *MIXED):
        for most in MOST:
            a, b = drawn(pair, most, plan, str(most))
            runs = f"3 to {most}"
            for quantity, level in (("any look", repeated), ("sequential", planned)):
                for safe in (False, True):
                    _, decided = stops(a, b, most, level, epoch_safe=safe)
                    share = rate(int(decided.sum()), plan.replicates)
                    promised = safe and level is planned
                    name = f"{quantity}, {'deciding' if safe else 'printed'}"
                    kind = "false claim" if promised else "no promise"
                    yield Figure(name, pair.name, runs, share, kind)


#: Runs a side that a fixed plan needs for 80 % power.
FIXED = (3, 5, 8, 12, 16)
_MOST_OF_PRICES = 20


def prices(plan: Plan) -> Iterator[Figure]:
    """Measure what each candidate costs where B is faster, beside a fixed number of runs."""
    for needed in FIXED:
        pair = Pair(_STEADY, _STEADY, ratio_needing(needed, _STEADY))
        a, b = drawn(pair, _MOST_OF_PRICES, plan, "price")
        column = f"fixed {needed}"
        for name, level in CANDIDATES.items():
            runs, decided = stops(a, b, _MOST_OF_PRICES, level, epoch_safe=False)
            decided_share = rate(int(decided.sum()), plan.replicates)
            yield Figure("sequential, decided", name, column, decided_share, "no promise")
            share = _mean(runs / needed)
            yield Figure("sequential, runs made", name, column, share, "no promise")


def candidates(plan: Plan) -> Iterator[Figure]:
    """Measure how often each candidate is wrong where both sides are alike."""
    for shape in (_STEADY, LN15):
        a, b = drawn(Pair(shape, shape), _MOST_OF_PRICES, plan, "candidates")
        for name, level in CANDIDATES.items():
            _, decided = stops(a, b, _MOST_OF_PRICES, level, epoch_safe=False)
            share = rate(int(decided.sum()), plan.replicates)
            yield Figure("sequential, candidates", name, shape.name, share, "no promise")


def ratio_needing(runs: int, shape: Shape) -> float:
    """Bisect for the smallest ratio that so many runs a side show with 80 % power."""
    low, high = 1.0, 10.0
    for _ in range(50):
        middle = math.sqrt(low * high)
        needed = runs_needed(middle, shape.cv, power=0.8, alpha=0.05)
        low, high = (low, middle) if needed is not None and needed <= runs else (middle, high)
    return high


def _mean(values: Floats) -> Rate:
    se = float(values.std(ddof=1)) / math.sqrt(values.size)
    return Rate(float(values.mean()), se, values.size)


#: Benchmarks of one answer, none of which differs.
FAMILIES = {
    "CONST, TRF, GNMT, SSD, LN15, TRF / CONST": (CONST, TRF, GNMT, SSD, LN15),
    "five times LN15": (LN15,) * 5,
    "five times LN45": (LN45,) * 5,
    "five times TRF2": (TRF2,) * 5,
    "twelve times LN15": (LN15,) * 12,
}


def families(plan: Plan) -> Iterator[Figure]:
    """Measure how often any look decides falsely about any of several benchmarks, with Holm.

    The first false claim is of the smallest p: it has to be below alpha over their number, which
    it is at its look if the interval at the level of that error excludes 1. What decides has to
    exclude 1 at the whole alpha as well.
    """
    for name, shapes in FAMILIES.items():
        pairs = [Pair(shape, shape) for shape in shapes]
        pairs += [Pair(TRF, CONST)] if name.startswith("CONST") else []
        for most in MOST[:2]:
            false = np.zeros(plan.replicates, dtype=np.bool_)
            for number, pair in enumerate(pairs):
                a, b = drawn(pair, most, plan, "family", name, str(number), str(most))
                for n in range(FIRST_LOOK, most + 1):
                    look, x, y = Look(n, most), a.first(n), b.first(n)
                    tested = decides(x, y, look.level(ALPHA / len(pairs)), epoch_safe=False)
                    decided = decides(x, y, look.level(ALPHA), epoch_safe=True)
                    false |= tested & decided
            share = rate(int(false.sum()), plan.replicates)
            yield Figure("sequential, any after Holm", name, f"3 to {most}", share, "false claim")


def figures(plan: Plan) -> Iterator[Figure]:
    """Measure all of it."""
    for measurement in (errors, candidates, prices):
        yield from measurement(plan)
