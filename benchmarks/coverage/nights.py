"""How often `ttastats history` is right about series of 100 nights: alarms, nights and sizes.

The part that is looked at is the log of a time, with noise between nights. A gate judges every
night by the last change, as far as the nights known then go.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import product

import numpy as np

from benchmarks.coverage.figures import Figure, covers, rate
from benchmarks.coverage.shapes import generator
from benchmarks.coverage.simulations import Plan
from ttastats.stats import changes
from ttastats.stats.results import Floats

NIGHTS = 100
SIZES, NOISES = (0.03, 0.05, 0.1, 0.2, 0.3), (0.01, 0.02)
#: The night of a step, one after another.
_STEPS = (15, 40, 60)
#: Nights of a burst, how high it is, and the chance that a night begins one.
_BURST, _HIGH, _BEGINS = 4, 3.0, 0.01


def _alike(rng: np.random.Generator) -> Floats:
    x = rng.normal(size=NIGHTS)
    for night in range(1, NIGHTS):
        x[night] = 0.2 * x[night - 1] + math.sqrt(1 - 0.2**2) * x[night]
    return x


def _bursts(rng: np.random.Generator) -> Floats:
    begins = rng.random(NIGHTS) < _BEGINS
    high = np.convolve(begins, np.ones(_BURST))[:NIGHTS] > 0
    return rng.normal(size=NIGHTS) + _HIGH * high


#: Series that no change is in, of noise 1.
UNCHANGED: dict[str, Callable[[np.random.Generator], Floats]] = {
    "normal": lambda rng: rng.normal(size=NIGHTS),
    "skewed (gamma, shape 2)": lambda rng: (rng.gamma(2, size=NIGHTS) - 2) / math.sqrt(2),
    "heavy tails (t, 2.5 df)": lambda rng: rng.standard_t(2.5, size=NIGHTS),
    "autocorrelation .2": _alike,
    "bursts of 4 nights, 3 noises high": _bursts,
}


def figures(plan: Plan) -> Iterator[Figure]:
    """Measure false alarms of unchanged series, and what is said of one true step."""
    for name, make in UNCHANGED.items():
        rng = generator(plan.seed, "nights", name)
        series = [make(rng) for _ in range(plan.replicates)]
        changes_found = [changes.find_changes(x, 0.95) for x in series]
        gated = [
            bool(steps) and _fails_gate(x, steps[0])
            for x, steps in zip(series, changes_found, strict=True)
        ]
        alarms = rate(sum(map(bool, changes_found)), len(series))
        yield Figure("history: alarms", name, f"{NIGHTS}", alarms, "no promise")
        yield Figure(
            "history: gate", name, f"{NIGHTS}", rate(sum(gated), len(series)), "no promise"
        )
    for size, noise in product(SIZES, NOISES):
        setup = f"+{size:.0%}, noise {noise:.0%}"
        rng, true, hits_by_series = generator(plan.seed, "nights", setup), math.log1p(size), []
        for number in range(plan.replicates):
            at = _STEPS[number % len(_STEPS)]
            x = rng.normal(0, noise, NIGHTS) + true * (np.arange(NIGHTS) >= at)
            steps = [step for step in changes.find_changes(x, 0.95) if (step.alarm or 0) > at]
            if steps:
                first = steps[0]
                nights = first.first <= at <= first.last
                hits_by_series.append(
                    (covers((first.low, first.high), true), nights, len(steps) > 1)
                )
        right, nights, second_changes = (
            rate(sum(hits), len(hits_by_series)) for hits in zip(*hits_by_series, strict=True)
        )
        yield Figure("history: size", setup, f"{NIGHTS}", right, "coverage")
        yield Figure("history: nights", setup, f"{NIGHTS}", nights, "coverage")
        yield Figure("history: second", setup, f"{NIGHTS}", second_changes, "no promise")


def _fails_gate(x: Floats, first: changes.Change) -> bool:
    """Return whether a gate fails on any night from the first alarm on."""
    for end in range(first.alarm or NIGHTS, NIGHTS + 1):
        last = changes.find_changes(x[:end], 0.95)[-1]
        if last.low > 0 and last.independent and last.standing == "shows":
            return True
    return False
