"""What happens to a verdict when the runs break its assumptions.

Nothing here is promised: these are the ways to fool oneself, with what each of them costs. A
decision counts whatever its mark: the condition that it names is not what goes wrong here.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.coverage.figures import Figure, Rate, rate
from benchmarks.coverage.judging import directed, judge
from benchmarks.coverage.shapes import CONST, LN15, TRF, Floats, Pair, Runs, generator
from benchmarks.coverage.simulations import Plan, samples
from ttastats.stats.means import mean_interval, olympic_mean
from ttastats.stats.permutation import mann_whitney_p

QUANTITY = "pitfalls"


def figures(plan: Plan) -> Iterator[Figure]:
    """Measure each pitfall."""
    yield from peeking(plan)
    yield from choosing(plan)
    yield from sessions(plan)
    yield from ranks(plan.few(4))
    yield from overlap(plan)


def _figure(setup: str, runs: str, share: Rate | None) -> Figure:
    return Figure(QUANTITY, setup, runs, share, "no promise")


def _part(side: Runs, n: int) -> Runs:
    epochs = None if side.epochs is None else side.epochs[:n]
    return Runs(side.times[:n], side.reached[:n], epochs, side.evaluation_interval)


def _decided(a: Runs, b: Runs) -> bool:
    return directed(judge(a, b).verdict)


def peeking(plan: Plan) -> Iterator[Figure]:
    """Add a run a side after each look, from 5 on, until there is a verdict."""
    pair = Pair(LN15, LN15)
    for most in (5, 10, 20, 50):
        pairs = samples(pair, (most, most), plan, "peeking")
        hits = sum(
            any(_decided(_part(a, n), _part(b, n)) for n in range(5, most + 1)) for a, b in pairs
        )
        setup = "equal sides, a look after every further run a side"
        yield _figure(setup, f"5 to {most}", rate(hits, plan.replicates))


def choosing(plan: Plan) -> Iterator[Figure]:
    """Keep the fastest runs of B, or the fastest of its sets of runs."""
    for pair in (Pair(TRF, TRF), Pair(LN15, LN15)):
        for n, of in ((5, 8), (10, 20)):
            pairs = [(a, _fastest(b, n)) for a, b in samples(pair, (n, of), plan, "best runs")]
            hits = sum(judge(a, b).verdict.word == "faster" for a, b in pairs)
            setup = f"{pair.name}, equal sides, B keeps its fastest {n} of {of} runs"
            yield _figure(setup, str(n), rate(hits, plan.replicates))
        pairs = [(a, _best_set(b, 5)) for a, b in samples(pair, (5, 15), plan, "best set")]
        hits = sum(judge(a, b).verdict.word == "faster" for a, b in pairs)
        setup = f"{pair.name}, equal sides, B keeps the best of 3 sets of 5 runs"
        yield _figure(setup, "5", rate(hits, plan.replicates))


def _subset(side: Runs, indices: np.ndarray[tuple[int], np.dtype[np.intp]]) -> Runs:
    epochs = None if side.epochs is None else side.epochs[indices]
    return Runs(side.times[indices], side.reached[indices], epochs, side.evaluation_interval)


def _fastest(side: Runs, n: int) -> Runs:
    return _subset(side, np.argsort(side.times)[:n])


def _best_set(side: Runs, n: int) -> Runs:
    best = int(np.argmin(side.times.reshape(-1, n).mean(axis=1)))
    return _subset(side, np.arange(best * n, (best + 1) * n))


def sessions(plan: Plan) -> Iterator[Figure]:
    """Draw sides that each ran in one session, of which one is a little slower."""
    for n in (5, 10):
        rng = generator(plan.seed, "sessions", str(n))
        hits = by_margin = 0
        for _ in range(plan.replicates):
            a, b = (_session(n, rng) for _ in range(2))
            verdict = judge(a, b).verdict
            hits += directed(verdict)
            by_margin += directed(verdict) and "by more than" in verdict.claim
        setup = "equal sides, runs vary by 0.2%, sessions by 0.3%"
        yield _figure(setup, str(n), rate(hits, plan.replicates))
        yield _figure(f"{setup}: by more than 1%", str(n), rate(by_margin, plan.replicates))


def _session(n: int, rng: np.random.Generator) -> Runs:
    """Draw one side, whose epochs are unknown."""
    slowness = 1.0 + 0.003 * rng.standard_normal()
    times: Floats = slowness * (1.0 + 0.002 * rng.standard_normal(n))
    return Runs(times, np.ones(n, dtype=np.bool_), None, None)


def ranks(plan: Plan) -> Iterator[Figure]:
    """Ask the Mann-Whitney test whether two equal means differ."""
    pair = Pair(TRF, CONST)
    for n in (5, 10, 30):
        rng = generator(plan.seed, "ranks", str(n))
        hits = 0
        for a, b in samples(pair, (n, n), plan, "ranks"):
            p = mann_whitney_p(a.times, b.times, rng=rng, draws=999)
            hits += p is not None and p < 0.05
        setup = f"{pair.name}, equal means, Mann-Whitney p < .05"
        yield _figure(setup, str(n), rate(hits, plan.replicates))


def overlap(plan: Plan) -> Iterator[Figure]:
    """Count decided differences whose two intervals of the mean overlap all the same."""
    pair = Pair(LN15, LN15, 1.2)
    for n in (10, 30):
        decided = [(a, b) for a, b in samples(pair, (n, n), plan, "overlap") if _decided(a, b)]
        hits = sum(_overlap(a.times, b.times) for a, b in decided)
        setup = "LN15 1.2×, decided, yet the intervals of the two means overlap"
        yield _figure(setup, str(n), rate(hits, len(decided)))


def _overlap(a: Floats, b: Floats) -> bool:
    mean_a, mean_b = mean_interval(a, confidence=0.95), mean_interval(b, confidence=0.95)
    ends = (mean_a.low, mean_a.high, mean_b.low, mean_b.high)
    low_a, high_a, low_b, high_b = (0.0 if end is None else end for end in ends)
    return low_a <= high_b and low_b <= high_a


#: Setups of one mean time: CV, and how many times as long one in ten runs takes.
_SCORED = {"LN10 / LN10": (0.1, 1.0), "LN02 / LN02, 10% take 2 times": (0.02, 2.0)}


def scores(plan: Plan) -> Iterator[Figure]:
    """Score two setups of equal mean time."""
    for name, (cv, factor) in _SCORED.items():
        for n in (5, 10):
            rng, size = generator(plan.seed, "scores", name, str(n)), (plan.replicates, n)
            a, b = (rng.lognormal(-(cv**2) / 2, cv, size) for _ in "ab")
            b *= np.where(rng.random(size) < 0.1, factor, 1.0) / (1 + 0.1 * (factor - 1))
            ratios = np.array([olympic_mean(x) for x in a]) / [olympic_mean(x) for x in b]
            hits = int((np.maximum(ratios, 1 / ratios) > 1.05).sum())
            yield Figure("scores", name, str(n), rate(hits, ratios.size), "no promise")
