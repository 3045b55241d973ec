"""Measure the intervals and error rates of `ttastats rcp`; prints the tables of benchmarks/rcp.md.

    python benchmarks/rcp.py --replicates 4000 --draws 20000 --seed 1

The official package `mlperf_logging` must be installed, or `--records` name a folder like its
`rcp_checker`.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

import numpy as np

from ttastats.answers.rcp import convergence_rules
from ttastats.answers.rcp.convergence_rules import Library, Record
from ttastats.base import benchmarks
from ttastats.stats.convergence import (
    Reference,
    WeightedRuns,
    convergence_ratio,
    interpolate_reference,
    interpolation_errors,
    pass_rate,
    smallest_step,
)
from ttastats.stats.moments import mean
from ttastats.stats.outcomes import Epochs, make_outcomes
from ttastats.stats.results import Floats
from ttastats.stats.speedup import Limits

#: Runs of the entry and of the reference.
SIZES = ((3, 6), (5, 20), (10, 20))
#: Coefficient of variation of what a run truly needs.
SPREADS = (0.02, 0.05, 0.1)
#: One evaluation, as a share of the mean: of the entry, and of the reference.
GRIDS = ((0.01, 0.01), (0.05, 0.05), (0.12, 0.12), (0.25, 0.25), (0.055, 0.009))
RULESETS = ("5.0.0", "5.1.0", "6.0.0", "6.1.0")
CONFIDENCE = 0.95
_TRUTH = 400_000


def main(arguments: Sequence[str]) -> int:
    """Print the tables; return the exit code."""
    parser = argparse.ArgumentParser(prog="python benchmarks/rcp.py", description=__doc__)
    parser.add_argument("--replicates", type=int, default=4000)
    parser.add_argument("--draws", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--records", type=Path)
    options = parser.parse_args(arguments)
    library = convergence_rules.library(options.records)
    for table in (
        coverage(options.replicates, options.seed),
        interpolations(library),
        error_rates(library, options.draws, options.seed),
    ):
        print("\n".join(table), end="\n\n", flush=True)
    return 0


# -------------------------------------------------- intervals on a grid of evaluations


def coverage(replicates: int, seed: int) -> Iterator[str]:
    """Yield how often both intervals hold the true ratio of two setups that converge alike."""
    yield "| runs | CV | one evaluation | plain | that is shown |"
    yield "|---|---|---|---|---|"
    for cell, (sizes, spread, grids) in enumerate(product(SIZES, SPREADS, GRIDS)):
        rng = np.random.default_rng((seed, cell))
        plain, with_epochs = _covered(sizes, spread, grids, replicates, rng)
        grid = " / ".join(f"{100 * size:g} %" for size in dict.fromkeys(grids))
        name = f"{sizes[0]} / {sizes[1]} | {100 * spread:g} % | {grid}"
        yield f"| {name} | {_percent(plain, replicates)} | {_percent(with_epochs, replicates)} |"


def _percent(share: float, number: int) -> str:
    error = math.sqrt(share * (1 - share) / number)
    return f"{100 * share:.1f} ±{100 * error:.1f}"


def _covered(
    sizes: tuple[int, int],
    spread: float,
    grids: tuple[float, float],
    replicates: int,
    rng: np.random.Generator,
) -> tuple[float, float]:
    """Draw the epochs of a run from a lognormal distribution, rounded up to an evaluation."""
    scale = 1 + rng.random() * grids[0]  # where the mean lies between two evaluations
    entry, reference = (
        _stopped((replicates, n), spread, grid, scale, rng)
        for n, grid in zip(sizes, grids, strict=True)
    )
    ends = [_stopped((1, _TRUTH), spread, grid, scale, rng).mean() for grid in grids]
    truth = float(ends[0] / ends[1])
    hits = np.zeros(2)
    for a, b in zip(entry, reference, strict=True):
        side = make_outcomes(a, progress=Epochs(a, grids[0]))
        ratio = convergence_ratio(side, _reference(b, grids[1]), confidence=CONFIDENCE)
        for number, epochs in enumerate((False, True)):
            hits[number] += _holds(ratio.limits(CONFIDENCE, epochs=epochs), truth)
    return float(hits[0] / replicates), float(hits[1] / replicates)


def _stopped(
    shape: tuple[int, int], spread: float, grid: float, scale: float, rng: np.random.Generator
) -> Floats:
    sigma = math.sqrt(math.log1p(spread**2))
    needed = scale * np.exp(rng.normal(-(sigma**2) / 2, sigma, shape))
    return np.asarray(np.ceil(needed / grid) * grid)


def _reference(values: Floats, interval: float) -> Reference:
    return Reference((WeightedRuns(values),), smallest_step(values) or interval)


def _holds(limits: Limits | None, truth: float) -> bool:
    return limits is not None and limits[0] <= truth * (1 + 1e-9) <= limits[1] * (1 + 2e-9)


# -------------------------------------------------- interpolation


def interpolations(library: Library) -> Iterator[str]:
    """Yield how often a record lies in the interval of a line between its neighbours."""
    coverages = {
        (records[index].benchmark, records[index].values): hits
        for ruleset in RULESETS
        for records in library("mlperf", ruleset).values()
        for index in range(1, len(records) - 1)
        if (hits := _left_out(records, index)) is not None
    }
    by_runs, by_both = (sum(hits[number] for hits in coverages.values()) for number in (0, 1))
    yield "| records | within the scatter of the runs | within the interval that is shown |"
    yield "|---|---|---|"
    yield f"| {len(coverages)} | {by_runs} | {by_both} |"


def _left_out(records: Sequence[Record], index: int) -> tuple[bool, bool] | None:
    """Compare an inner record with its neighbours, as if it were an entry."""
    neighbours = [*records[:index], *records[index + 1 :]]
    sizes = [record.batch_size for record in neighbours]
    low, middle, high = records[index - 1 : index + 2]
    off = interpolation_errors(sizes, [mean(np.array(record.values)) for record in neighbours])
    if not off.size or len(set(sizes)) < len(sizes):
        return None
    position = (middle.batch_size - low.batch_size) / (high.batch_size - low.batch_size)

    def covers_mean(misfit: Floats) -> bool:
        line = interpolate_reference(np.array(low.values), np.array(high.values), position, misfit)
        values = np.array(middle.values)
        side = make_outcomes(values, progress=Epochs(values, line.interval))
        return _holds(
            convergence_ratio(side, line, confidence=0.95).limits(CONFIDENCE, epochs=True), 1.0
        )

    return covers_mean(np.zeros(1000)), covers_mean(off)


# -------------------------------------------------- error rates of the official check


def error_rates(library: Library, draws: int, seed: int) -> Iterator[str]:
    """Yield how often runs of the reference fail the check, and truly faster ones pass it."""
    yield "| ruleset | records | fails itself: median, most, never | 5 % faster passes: median, most | 10 % faster passes: median, most |"  # noqa: E501
    yield "|---|---|---|---|---|"
    for ruleset in RULESETS:
        rates = np.array(list(_rates(library, ruleset, draws, seed)))
        fails, five, ten = 100 * rates.T
        yield (
            f"| {ruleset} | {len(rates)} "
            f"| {np.median(fails):.1f} %, {fails.max():.1f} %, {np.sum(fails == 0)} "
            f"| {np.median(five):.0f} %, {five.max():.0f} % "
            f"| {np.median(ten):.0f} %, {ten.max():.0f} % |"
        )


def _rates(library: Library, ruleset: str, draws: int, seed: int) -> Iterator[list[float]]:
    round_ = f"v{ruleset.removesuffix('.0')}"
    for benchmark, records in library("mlperf", ruleset).items():
        goals = benchmarks.targets("mlperf", benchmark, round_)
        runs = goals[0].runs if goals else max(len(record.values) for record in records) // 2
        rules = convergence_rules.rules(benchmark, ruleset, runs)
        points = convergence_rules.points(records, rules)
        for record in records:
            point, _ = convergence_rules.reference(record.batch_size, points, rules)
            if point is None:
                continue
            values = np.array(record.values)
            shares = [
                pass_rate(
                    Reference((WeightedRuns(values),), smallest_step(values)),
                    point.limit - rules.slack,
                    rules.runs,
                    dropped=rules.dropped,
                    faster=faster,
                    draws=draws,
                    rng=np.random.default_rng((seed, record.batch_size)),
                )
                or 0.0
                for faster in (0.0, 0.05, 0.1)
            ]
            yield [1 - shares[0], *shares[1:]]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
