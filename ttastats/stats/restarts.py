"""How long one waits for a success when failed runs are started again.

COCO's simulated restarts (Hansen et al. 2021): draw runs with replacement until one has
succeeded and add up their times. The mean is the expected running time; the distribution
is what runtime profiles are drawn from.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ttastats.stats.moments import as_outcomes
from ttastats.stats.results import Flag, Floats

MOST_POINTS = 100_000
"""Sums of failure times multiply quickly; past this many jumps sample instead."""


@dataclass(frozen=True, slots=True, eq=False)
class RestartDistribution:
    """Exact distribution of the waiting time: jumps at ``seconds`` up to ``cumulative``.

    ``cumulative`` ends at ``covered`` or above; what is left lies beyond. ``mean`` is exact
    and infinite without a success; ``median`` None where the jumps end below one half.
    """

    seconds: Floats
    cumulative: Floats
    mean: float
    median: float | None
    flags: tuple[Flag, ...]


def restart_distribution(
    times: ArrayLike, reached: ArrayLike, *, covered: float = 0.999
) -> RestartDistribution:
    """Exact distribution of the time to a success with restarts, for a handful of runs.

    Seconds, shape (n,). ``covered``: how much of the probability to follow. ValueError for
    no runs. With so many different failure times that the jumps would exceed 100 000 the
    distribution is cut there, and flagged: use :func:`simulated_restarts`.
    """
    if not 0 < covered < 1:
        raise ValueError(f"covered must lie between 0 and 1, not {covered}")
    sample, success = as_outcomes(times, reached)
    if sample.size == 0:
        raise ValueError("no runs")
    if not success.any():
        flag = Flag("no_success", f"0/{sample.size} runs reached the target: one waits forever")
        return RestartDistribution(np.empty(0), np.empty(0), math.inf, None, (flag,))
    jumps, complete = _jumps(sample[success], sample[~success], covered)
    seconds, weights = np.asarray(jumps, dtype=np.float64).reshape(-1, 2).T
    cumulative = np.cumsum(weights)
    flags: tuple[Flag, ...] = ()
    if not complete:
        message = f"more than {MOST_POINTS} jumps: sample with simulated_restarts instead"
        flags = (Flag("too_many_restarts", message),)
    half = int(np.searchsorted(cumulative, 0.5 - 1e-12))
    return RestartDistribution(
        seconds=seconds,
        cumulative=cumulative,
        mean=float(np.sum(sample)) / int(success.sum()),
        median=float(seconds[half]) if half < seconds.size else None,
        flags=flags,
    )


def _jumps(
    successes: Floats, failures: Floats, covered: float
) -> tuple[list[tuple[float, float]], bool]:
    """Walk through the sums in ascending order; a failure puts the walk one time further on.

    Entries are (seconds, whether this is the end, probability); equal ones merge.
    """
    n = successes.size + failures.size
    outcomes = [(t, True, c / n) for t, c in _counted(successes)]
    outcomes += [(t, False, c / n) for t, c in _counted(failures)]
    queue: list[tuple[float, bool, float]] = [(0.0, False, 1.0)]
    jumps: list[tuple[float, float]] = []
    reached = 0.0
    while queue and reached < covered:
        if len(jumps) + len(queue) > MOST_POINTS:
            return jumps, False
        seconds, ended, weight = heapq.heappop(queue)
        while queue and queue[0][1] == ended and _same(queue[0][0], seconds):
            weight += heapq.heappop(queue)[2]
        if ended:
            jumps.append((seconds, weight))
            reached += weight
        else:
            for more, ends, share in outcomes:
                heapq.heappush(queue, (seconds + more, ends, weight * share))
    return jumps, True


def _counted(times: Floats) -> list[tuple[float, int]]:
    values, counts = np.unique(times, return_counts=True)
    return list(zip(values.tolist(), counts.tolist(), strict=True))


def _same(a: float, b: float) -> bool:
    return math.isclose(a, b, rel_tol=1e-12)


def simulated_restarts(
    times: ArrayLike, reached: ArrayLike, size: int, *, rng: np.random.Generator
) -> Floats:
    """Draw ``size`` waiting times in seconds; all infinite when no run succeeded."""
    sample, success = as_outcomes(times, reached)
    if sample.size == 0:
        raise ValueError("no runs")
    if not success.any():
        return np.full(size, math.inf)
    waited = np.zeros(size)
    waiting = np.arange(size)
    while waiting.size:
        drawn = rng.integers(0, sample.size, size=waiting.size)
        waited[waiting] += sample[drawn]
        waiting = waiting[~success[drawn]]
    return waited


def share_done(waiting_times: ArrayLike, seconds: ArrayLike) -> Floats:
    """Share of waiting times up to each of ``seconds``: COCO's runtime profile.

    Pool the waiting times of several benchmarks or targets, infinite where never solved.
    """
    waits = np.sort(np.asarray(waiting_times, dtype=np.float64))
    if waits.size == 0:
        raise ValueError("no waiting times")
    at = np.asarray(seconds, dtype=np.float64)
    share: Floats = np.searchsorted(waits, at, side="right") / waits.size
    return share
