"""How often the other intervals hold what is true of made-up runs, cell by cell."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import stats

from benchmarks.coverage.figures import Figure, Rate
from benchmarks.coverage.judging import Limits, limits
from benchmarks.coverage.shapes import (
    ALIKE,
    GNMT,
    MIXED,
    RARE10,
    SHAPES,
    SSD,
    TRF,
    TRF2,
    Floats,
    Runs,
    draw,
    generator,
)
from benchmarks.coverage.simulations import SIZES, Plan, hit_rate, samples
from ttastats.stats.decompose import decompose_variance
from ttastats.stats.fraction import newcombe, wilson
from ttastats.stats.speedup import ratio_of_geometric_means, ratio_of_means
from ttastats.stats.variation import cv_interval


def variations(plan: Plan) -> Iterator[Figure]:
    """Measure the interval of the CV."""
    for shape in SHAPES:
        for n in (5, 10, 30):
            rng = generator(plan.seed, "cv", shape.name, str(n))
            drawn = draw(shape, (plan.replicates, n), rng)
            rows = [drawn.row(index) for index in range(plan.replicates)]
            found = [
                cv_interval(r.times, epochs=r.epochs, evaluation_interval=r.evaluation_interval)
                for r in rows
            ]
            intervals = [(e.low, e.high) for e in found if e.low is not None and e.high is not None]
            hits = hit_rate(intervals, shape.cv)
            yield Figure("CV", shape.name, str(n), hits, "coverage")


def parts(plan: Plan) -> Iterator[Figure]:
    """Measure the two parts of a speedup, as the line "why" shows them."""
    counted = [pair for pair in (*ALIKE, *MIXED) if pair.a.epochs_logged and pair.b.epochs_logged]
    for pair in counted:
        for runs, size in SIZES.items():
            throughput, epochs = [], []
            for a, b in samples(pair, size, plan):
                e_a, e_b = _known(a), _known(b)
                throughput.append(limits(ratio_of_means(a.times / e_a, b.times / e_b)))
                epochs.append(limits(ratio_of_means(e_a, e_b)))
            hits = hit_rate(throughput, pair.throughput)
            yield Figure("throughput", pair.name, runs, hits, "coverage")
            hits = hit_rate(epochs, pair.epochs)
            yield Figure("epochs", pair.name, runs, hits, "coverage")


def _known(side: Runs) -> Floats:
    if side.epochs is None:
        raise ValueError("a shape without epochs has no parts")
    return side.epochs


def geometric_means(plan: Plan) -> Iterator[Figure]:
    """Measure the interval of the ratio of geometric means (`--estimand geomean`)."""
    for pair in (*ALIKE, *MIXED):
        for runs, size in SIZES.items():
            drawn = samples(pair, size, plan)
            found = [limits(ratio_of_geometric_means(a.times, b.times)) for a, b in drawn]
            hits = hit_rate(found, pair.geometric)
            yield Figure("geometric means", pair.name, runs, hits, "coverage")


def shares(plan: Plan) -> Iterator[Figure]:
    """Measure the bootstrap interval of the share of the variance that is due to epochs."""
    for shape in (TRF, GNMT, RARE10, SSD, TRF2):
        for n in (10, 30):
            rng = generator(plan.seed, "share", shape.name, str(n))
            drawn = draw(shape, (plan.replicates, n), rng)
            found = [_share(drawn.row(index), rng) for index in range(plan.replicates)]
            hits = hit_rate(found, shape.share_epochs)
            yield Figure("share of epochs", shape.name, str(n), hits, "coverage")


def _share(row: Runs, rng: np.random.Generator) -> Limits | None:
    found = decompose_variance(row.times, _known(row), rng=rng).share_epochs
    return None if found.low is None or found.high is None else (found.low, found.high)


def fractions() -> Iterator[Figure]:
    """Compute, without drawing, how often the intervals of a fraction hold the true one."""
    for reached in (0.6, 0.8, 0.9, 0.95):
        for n in (5, 10, 30):
            weights = stats.binom.pmf(np.arange(n + 1), n, reached)
            setup, runs = f"{reached:.0%} reach", str(n)
            hits = np.array([_wilson_covers(k, n, reached) for k in range(n + 1)])
            exact = Rate(float(weights @ hits), 0.0, 0)
            yield Figure("Wilson", setup, runs, exact, "coverage")
            pairs = np.array(
                [[_newcombe_covers(i, j, n) for j in range(n + 1)] for i in range(n + 1)]
            )
            exact = Rate(float(weights @ pairs @ weights), 0.0, 0)
            yield Figure("Newcombe", setup, runs, exact, "coverage")


def _wilson_covers(k: int, n: int, truth: float) -> bool:
    found = wilson(k, n)
    return found.low is not None and found.high is not None and found.low <= truth <= found.high


def _newcombe_covers(i: int, j: int, n: int) -> bool:
    """Both sides reach the target equally often, so the true difference is 0."""
    found = newcombe(i, n, j, n)
    return found.low is not None and found.high is not None and found.low <= 0 <= found.high
