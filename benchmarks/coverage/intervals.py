"""How often the other intervals hold what is true of made-up runs, cell by cell."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy import stats

from benchmarks.coverage.figures import Figure, Kind, Rate, rate
from benchmarks.coverage.judging import Limits, limits
from benchmarks.coverage.shapes import (
    ALIKE,
    GNMT,
    LN15,
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
from ttastats.stats.outcomes import newcombe_difference, wilson_interval
from ttastats.stats.speedup import ratio_of_geometric_means, ratio_of_means
from ttastats.stats.variation import RUNS_FOR_REPEATS, cv_interval, has_outlier, variance_shares


def variations(plan: Plan) -> Iterator[Figure]:
    """Measure the interval of the CV."""
    for shape in SHAPES:
        for n in (5, 10, 30):
            rng = generator(plan.seed, "cv", shape.name, str(n))
            runs = draw(shape, (plan.replicates, n), rng)
            rows = [runs.row(index) for index in range(plan.replicates)]
            cvs = [
                cv_interval(
                    r.times,
                    epochs=r.epochs,
                    evaluation_interval=r.evaluation_interval,
                    confidence=0.95,
                    ddof=1,
                )
                for r in rows
            ]
            intervals = [(e.low, e.high) for e in cvs if e.low is not None and e.high is not None]
            hits = hit_rate(intervals, shape.cv)
            yield Figure("CV", shape.name, str(n), hits, "coverage")
            yield Figure("CV, printed", shape.name, str(n), rate(len(intervals), len(cvs)), _FREE)
    yield from _unlike(plan)


#: Where a sample of few runs need not show how they vary, nothing is promised.
_FREE: Kind = "no promise"


@dataclass(frozen=True, slots=True)
class Unlike:
    """Times that are not lognormal: `draw` gives those of a sample, whose true CV is `cv`."""

    name: str
    cv: float
    draw: Callable[[np.random.Generator, tuple[int, int]], Floats]


def _t(rng: np.random.Generator, size: tuple[int, int]) -> Floats:
    return np.maximum(1 + 0.05 * rng.standard_t(3, size) / math.sqrt(3), 0.01)


def _mixed(share: float, factor: float) -> Callable[[np.random.Generator, tuple[int, int]], Floats]:
    """Return a function that draws times with a CV of 3 %, a share of them longer by `factor`."""

    def draw(rng: np.random.Generator, size: tuple[int, int]) -> Floats:
        return rng.lognormal(0, 0.03, size) * np.where(rng.random(size) < share, factor, 1.0)

    return draw


def _cv_of_mixed(share: float, factor: float) -> float:
    second = (1 + share * (factor**2 - 1)) / (1 + share * (factor - 1)) ** 2
    return math.sqrt(math.exp(0.03**2) * second - 1)


UNLIKE = (
    Unlike("t, 3 df", 0.05, _t),
    Unlike("Pareto, exponent 3", math.sqrt(1 / 3), lambda rng, size: 1 + rng.pareto(3, size)),
    Unlike(
        "10 % with 3 SD", 0.03 * math.sqrt(1.8),
        lambda rng, size: 1
        + 0.03 * rng.standard_normal(size) * np.where(rng.random(size) < 0.1, 3, 1),
    ),
    Unlike("10 % take 1.5 times as long", _cv_of_mixed(0.1, 1.5), _mixed(0.1, 1.5)),
    Unlike("5 % take 3 times as long", _cv_of_mixed(0.05, 3), _mixed(0.05, 3)),
    Unlike("two machines, 90:10, 1.3 times", _cv_of_mixed(0.1, 1.3), _mixed(0.1, 1.3)),
    Unlike("3 epochs, 3 % take 6", _cv_of_mixed(0.03, 2), _mixed(0.03, 2)),
    Unlike(
        "rounded to 1 SD", 0.05 * math.sqrt(13 / 12),
        lambda rng, size: np.round((1 + 0.05 * rng.standard_normal(size)) / 0.05) * 0.05,
    ),
)  # fmt: skip


def _unlike(plan: Plan) -> Iterator[Figure]:
    """Measure the interval of times that are not lognormal, by whether a sample shows it.

    A sample shows it if Grubbs' test finds a run that is unlike the others.
    """
    for shape in UNLIKE:
        for n in (3, 5, 10, 20):
            rng = generator(plan.seed, "cv", shape.name, str(n))
            times = shape.draw(rng, (plan.replicates, n))
            cvs = [cv_interval(row, confidence=0.95, ddof=1) for row in times]
            shows = [n >= RUNS_FOR_REPEATS and has_outlier(row) for row in times]
            hits = [
                None if e.low is None or e.high is None else e.low <= shape.cv <= e.high
                for e in cvs
            ]
            for name, is_marked in (("seen", True), ("unseen", False)):
                marked_hits = [
                    hit
                    for hit, marked in zip(hits, shows, strict=True)
                    if hit is not None and marked is is_marked
                ]
                covered = rate(sum(marked_hits), len(marked_hits))
                yield Figure(f"unlike runs: {name}", shape.name, str(n), covered, _FREE)
            printed = rate(sum(hit is not None for hit in hits), len(hits))
            yield Figure("unlike runs: printed", shape.name, str(n), printed, _FREE)
            wrong = rate(sum(hit is False for hit in hits), len(hits))
            yield Figure("unlike runs: wrong", shape.name, str(n), wrong, _FREE)


def parts(plan: Plan) -> Iterator[Figure]:
    """Measure the two parts of a speedup, as the line "why" shows them."""
    logged_pairs = [
        pair for pair in (*ALIKE, *MIXED) if pair.a.epochs_logged and pair.b.epochs_logged
    ]
    for pair in logged_pairs:
        for runs, size in SIZES.items():
            throughput, epochs = [], []
            for a, b in samples(pair, size, plan):
                e_a, e_b = _logged_epochs(a), _logged_epochs(b)
                throughput.append(
                    limits(ratio_of_means(a.times / e_a, b.times / e_b, confidence=0.95))
                )
                epochs.append(limits(ratio_of_means(e_a, e_b, confidence=0.95)))
            hits = hit_rate(throughput, pair.throughput)
            yield Figure("throughput", pair.name, runs, hits, "coverage")
            hits = hit_rate(epochs, pair.epochs)
            yield Figure("epochs", pair.name, runs, hits, "coverage")


def _logged_epochs(side: Runs) -> Floats:
    if side.epochs is None:
        raise ValueError("a shape without epochs has no parts")
    return side.epochs


def geometric_means(plan: Plan) -> Iterator[Figure]:
    """Measure the interval of the ratio of geometric means (`--estimand geomean`)."""
    for pair in (*ALIKE, *MIXED):
        for runs, size in SIZES.items():
            pairs = samples(pair, size, plan)
            intervals = [
                limits(ratio_of_geometric_means(a.times, b.times, confidence=0.95))
                for a, b in pairs
            ]
            hits = hit_rate(intervals, pair.geometric)
            yield Figure("geometric means", pair.name, runs, hits, "coverage")


def shares(plan: Plan) -> Iterator[Figure]:
    """Measure the interval of the share of the variance that is due to epochs."""
    paced = replace(LN15, name="LN15, time per epoch ±5%", cv_epoch_time=0.05)
    straggling = [
        replace(shape, name=f"{shape.name}, 5% straggle", stragglers=0.05) for shape in (TRF, paced)
    ]
    for shape in (TRF, GNMT, RARE10, SSD, TRF2, paced, *straggling):
        for n in (10, 30):
            rng = generator(plan.seed, "share", shape.name, str(n))
            runs = draw(shape, (plan.replicates, n), rng)
            intervals = [_share(runs.row(index)) for index in range(plan.replicates)]
            hits = hit_rate(intervals, shape.share_epochs)
            kind: Kind = "no promise" if shape.stragglers else "coverage"
            yield Figure("share of epochs", shape.name, str(n), hits, kind)
            printed = rate(sum(interval is not None for interval in intervals), len(intervals))
            yield Figure("share of epochs, printed", shape.name, str(n), printed, _FREE)


def _share(row: Runs) -> Limits | None:
    shares = variance_shares(row.times[None], _logged_epochs(row)[None], 0.95)
    low, high = float(shares.low[0, 0]), float(shares.high[0, 0])
    return None if math.isnan(low) else (low, high)


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
    _, low, high = wilson_interval(k, n, confidence=0.95)
    return low <= truth <= high


def _newcombe_covers(i: int, j: int, n: int) -> bool:
    """Both sides reach the target equally often, so the true difference is 0."""
    limit = newcombe_difference(i, n, j, n, confidence=0.95)
    return limit.low is not None and limit.high is not None and limit.low <= 0 <= limit.high
