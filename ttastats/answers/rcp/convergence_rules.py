"""Does an entry pass the official check of its convergence, and which factor scales its time?

The rules of MLPerf Training as `mlperf_logging.rcp_checker` 4.1 applies them, written anew from
its behaviour. An entry may converge in fewer samples or epochs than the reference only as far as
chance could explain; what it gains by that is taken back by a factor on its time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ttastats.answers.rcp.convergence_records import Record
from ttastats.stats.quantiles import two_sided_t

#: One-sided level of the test behind the limit, as a confidence of a two-sided interval.
_CONFIDENCE = 0.9
#: The official limit is found by bisection from zero to the mean, down to this width.
_WIDTH = 1e-4
#: How many samples earlier than the limit llama31_405b may converge: one evaluation in v5.0.
_SLACK = 46_080

Reason = Literal[
    "RCP found",
    "RCP Interpolation",
    "RCP not found but slower convergence on smaller batch size",
    "Missing RCP",
    "Cannot find any RCPs",
    "Could not detect global_batch_size",
    "Insufficient convergence",
    "too few runs",
]
"""Why a check ends as it does, in the words of the official checker, but for the last."""

#: What `--rcp_bypass` lets pass all the same.
_BYPASSED: tuple[Reason, ...] = ("RCP found", "RCP Interpolation", "Missing RCP")


@dataclass(frozen=True, slots=True)
class ConvergenceRules:
    """What differs by benchmark and ruleset.

    A submission makes `runs` runs; the `dropped` fastest and slowest leave its mean, and as many
    may fail. `slack` is by how much the mean may fall below the limit.
    """

    runs: int
    dropped: int = 1
    slack: float = 0.0


@dataclass(frozen=True, slots=True)
class Point:
    """Reference convergence at a batch size; `limit` is the lowest mean that chance explains."""

    batch_size: int
    mean: float
    std: float
    limit: float


@dataclass(frozen=True, slots=True)
class ConvergenceVerdict:
    """What the check says.

    `mean` is the olympic mean of the entry; `point` what it was held against and `limit` what it
    had to reach, None where there was nothing to hold it against.
    """

    passed: bool
    reason: Reason
    factor: float = 1.0
    mean: float | None = None
    limit: float | None = None
    point: Point | None = None
    bypassed: bool = False


def rules(benchmark: str, ruleset: str | None, runs: int) -> ConvergenceRules:
    """Return the convergence rules of a benchmark.

    The rules allow llama31_405b one evaluation (46,080 samples) before the limit in v5.0 only;
    the code does so in every ruleset from 5.0.0 on, and the code is followed.
    """
    dropped = 4 if benchmark == "unet3d" else 1
    major = (ruleset or "").partition(".")[0]
    from_v5 = major.isdecimal() and int(major) >= 5
    slack = _SLACK if benchmark == "llama31_405b" and from_v5 else 0.0
    return ConvergenceRules(runs, dropped, slack)


def as_written(rules: ConvergenceRules, ruleset: str | None) -> ConvergenceRules:
    """Return the rules as written, without where the official code deviates from them."""
    return rules if ruleset == "5.0.0" else replace(rules, slack=0.0)


def points(records: Sequence[Record], rules: ConvergenceRules) -> tuple[Point, ...]:
    """Return the valid points of the records of one benchmark, by batch size."""
    measured = []
    for record in records:
        values = np.array(record.values)
        counted = values[rules.dropped : len(values) - rules.dropped]
        counted = counted if counted.size else values  # the official checker has no mean then
        mean, std = float(np.mean(counted)), float(np.std(values))
        limit = _lower_limit(mean, std, counted.size, rules.runs)
        measured.append(Point(record.batch_size, mean, std, limit))
    return _prune_points(measured, rules)


def _lower_limit(mean: float, std: float, n_reference: int, runs: int) -> float:
    """Return the lowest mean that a one-sided pooled t test accepts as the reference's.

    Both groups are given the standard deviation of the reference. The bisection is repeated since
    where it stops is up to 0.00005 away from the answer, which counts where epochs are fractions.
    """
    n_entry = runs - 2
    if std == 0.0 or n_entry < 1:
        return mean
    t = two_sided_t(n_reference + n_entry - 2, _CONFIDENCE)
    exact = mean - t * std * math.sqrt(1 / n_reference + 1 / n_entry)
    low, high = 0.0, mean
    while high - low > _WIDTH:
        middle = (low + high) / 2
        low, high = (low, middle) if middle > exact else (middle, high)
    return (low + high) / 2


def _prune_points(measured: Sequence[Point], rules: ConvergenceRules) -> tuple[Point, ...]:
    """Return the points without those slower than a smaller batch or their neighbours.

    One pass, which never steps back: it need not end in a convex curve.
    """
    fastest = min(measured, key=lambda point: point.mean)
    kept = [point for point in measured if point.batch_size >= fastest.batch_size]
    place = 1
    while place < len(kept) - 1:
        low, here, high = kept[place - 1 : place + 2]
        if here.mean > _interpolate(here.batch_size, low, high, rules).mean:
            del kept[place]
        else:
            place += 1
    sizes = {point.batch_size for point in kept}
    return tuple(point for point in measured if point.batch_size in sizes)


def _interpolate(batch_size: int, low: Point, high: Point, rules: ConvergenceRules) -> Point:
    """Return the point between two measured ones, counted as two submissions' runs."""
    sizes = [low.batch_size, high.batch_size]
    mean = float(np.interp(batch_size, sizes, [low.mean, high.mean]))
    std = float(np.interp(batch_size, sizes, [low.std, high.std]))
    return Point(batch_size, mean, std, _lower_limit(mean, std, 2 * rules.runs, rules.runs))


def reference(
    batch_size: int, pruned: Sequence[Point], rules: ConvergenceRules
) -> tuple[Point | None, Reason]:
    """Return the point to compare a batch size with, and how it was found."""
    for point in pruned:
        if point.batch_size == batch_size:
            return point, "RCP found"
    below = [point for point in pruned if point.batch_size < batch_size]
    above = [point for point in pruned if point.batch_size > batch_size]
    if below and above:
        return _interpolate(batch_size, below[-1], above[0], rules), "RCP Interpolation"
    if above:
        return above[0], "RCP not found but slower convergence on smaller batch size"
    return None, "Missing RCP" if below else "Cannot find any RCPs"


def check(
    values: Sequence[float],
    failed: int,
    batch_size: int | None,
    pruned: Sequence[Point],
    rules: ConvergenceRules,
    *,
    bypass: bool = False,
) -> ConvergenceVerdict:
    """Return the official verdict on an entry's convergence.

    `values` are samples or epochs to the target of the runs that converged; each of the `failed`
    counts as a slowest. `batch_size` is None if it is unknown or differs. What the official
    `--rcp_bypass` lets pass is passed with a mark by `bypass`.
    """
    if batch_size is None:
        return ConvergenceVerdict(passed=False, reason="Could not detect global_batch_size")
    if failed > rules.dropped:
        return ConvergenceVerdict(passed=False, reason="Insufficient convergence")
    every = np.array(sorted([*values, *[math.inf] * failed]))
    kept = every[rules.dropped : len(every) - rules.dropped]
    if not kept.size:
        return ConvergenceVerdict(passed=False, reason="too few runs")
    point, reason = reference(batch_size, pruned, rules)
    mean = float(np.mean(kept))
    limit = None if point is None else point.limit - rules.slack
    passed = limit is not None and mean >= limit
    if not passed and reason.startswith("RCP not found"):
        reason = "Missing RCP"
    bypassed = bypass and not passed and reason in _BYPASSED
    factor = 1.0 if point is None else max(1.0, point.mean / mean)
    return ConvergenceVerdict(passed or bypassed, reason, factor, mean, limit, point, bypassed)
