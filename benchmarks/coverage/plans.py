"""How often plans of `ttastats power` keep their 80 % where runs fail.

A plan is made from the true failure rate and spread, without the error of a pilot, and so many runs
a side are compared.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import product

import numpy as np

from benchmarks.coverage.figures import Figure, rate
from benchmarks.coverage.shapes import generator
from benchmarks.coverage.simulations import Plan
from ttastats.stats.decision import decide
from ttastats.stats.outcomes import Epochs, Outcomes, make_outcomes
from ttastats.stats.power import failing_like, runs_with_failures
from ttastats.stats.results import Floats, Verdict
from ttastats.stats.speedup import compute_speedup

#: The spread of a time that is not cut short.
_SIGMA = 0.1
_LIMIT = math.exp(0.8416 * _SIGMA)  # a fifth takes longer
_PILOT = 100_000

Draw = Callable[[Floats, np.random.Generator], tuple[Floats, np.ndarray]]


def _crash(share: float) -> Draw:
    def draw(times: Floats, rng: np.random.Generator) -> tuple[Floats, np.ndarray]:
        fails = rng.random(times.size) < share
        return np.where(fails, times * rng.random(times.size), times), ~fails

    return draw


def _diverge(times: Floats, rng: np.random.Generator) -> tuple[Floats, np.ndarray]:
    fails = rng.random(times.size) < 0.3
    return np.where(fails, 2.0, times), ~fails


def _time_out(times: Floats, _: np.random.Generator) -> tuple[Floats, np.ndarray]:
    return np.minimum(times, _LIMIT), times < _LIMIT


KINDS: dict[str, Draw] = {
    "30% diverge to the end": _diverge,
    "timeout, 20% fail": _time_out,
    "10% crash": _crash(0.1),
    "50% crash": _crash(0.5),
}


def figures(plan: Plan) -> Iterator[Figure]:
    """Measure how often planned runs show the difference that they were planned for."""
    for (name, draw), ratio in product(KINDS.items(), (1.5, 2.0, 3.0)):
        rng = generator(plan.seed, "plans", name, f"{ratio:g}")
        like = failing_like(_side(draw, _PILOT, 1.0, rng))
        for certain, quantity in ((False, "plans: any claim"), (True, "plans: unmarked")):
            n = runs_with_failures(ratio, (like, like), certain=certain) if like else None
            if n is None:
                continue
            verdicts = [
                decide(
                    compute_speedup(
                        _side(draw, n, ratio, rng),
                        _side(draw, n, 1.0, rng),
                        estimand="mean",
                        confidence=0.95,
                    ),
                    margin=0.01,
                )
                for _ in range(plan.replicates)
            ]
            right = [
                verdict.word is Verdict.FASTER and not (certain and verdict.conditions)
                for verdict in verdicts
            ]
            hits = rate(sum(right), len(right))
            yield Figure(quantity, f"{name}, {ratio:g}×", f"{n}", hits, "no promise")


def _side(draw: Draw, n: int, mean: float, rng: np.random.Generator) -> Outcomes:
    times, reached = draw(rng.lognormal(0, _SIGMA, n), rng)
    progress = Epochs(times[reached], 0.01) if reached.any() else None
    return make_outcomes(mean * times, reached, progress=progress)
