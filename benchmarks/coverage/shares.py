"""How often `ttastats variance --sources` covers the share of a source of five sessions."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from benchmarks.coverage.figures import Figure, covers, rate
from benchmarks.coverage.shapes import generator
from benchmarks.coverage.simulations import Plan
from ttastats.stats.results import Floats
from ttastats.stats.sources import variance_parts

_SESSIONS, _RUNS, _SHARE, _GAMMA = 5, 5, 0.5, 0.5

#: Effects of sessions, of variance 1; runs vary as much.
EFFECTS: dict[str, Callable[[np.random.Generator], Floats]] = {
    "normal sessions": lambda rng: rng.normal(size=_SESSIONS),
    "skewed sessions (gamma, shape 0.5)": lambda rng: (
        (rng.gamma(_GAMMA, size=_SESSIONS) - _GAMMA) / np.sqrt(_GAMMA)
    ),
}


def figures(plan: Plan) -> Iterator[Figure]:
    """Measure the interval of the share of sessions that make half of the variance."""
    sessions = np.repeat(np.arange(_SESSIONS), _RUNS)
    fixed = np.ones((sessions.size, 1))
    for name, make in EFFECTS.items():
        rng, hits = generator(plan.seed, "shares of sources", name), 0
        for _ in range(plan.replicates):
            y = make(rng)[sessions] + rng.normal(size=sessions.size)
            part = variance_parts(y, [sessions], fixed, 0.95)[0]
            if part.low is not None and part.high is not None:
                hits += covers((part.low, part.high), _SHARE)
        coverage = rate(hits, plan.replicates)
        yield Figure("share of a source", name, f"{_SESSIONS} × {_RUNS}", coverage, "no promise")
