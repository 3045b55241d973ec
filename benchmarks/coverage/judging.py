"""What `ttastats compare` shows and says about two samples.

It calls the functions that `ttastats.comparison` calls, in its order. The permutation test is
left out where it cannot change the word: it decides only where there is no variance at all.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks.coverage.shapes import Runs
from ttastats.stats.failures import ert_speedup
from ttastats.stats.permutation import permutation_test
from ttastats.stats.ranks import mann_whitney
from ttastats.stats.results import Ratio
from ttastats.stats.speedup import Epochs, Speedup, speedup
from ttastats.stats.verdict import Verdict, decide, decide_by_fraction

Limits = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Shown:
    """The interval that is printed, the one that decides, and the verdict.

    They differ where a side's epochs did not vary: then the epoch-safe interval decides.
    """

    printed: Limits | None
    deciding: Limits | None
    verdict: Verdict


Judge = Callable[[Runs, Runs, float], Shown]


def judge(a: Runs, b: Runs, margin: float = 0.01) -> Shown:
    """Judge B against A as `compare` judges a single benchmark."""
    if not (a.reached.any() and b.reached.any()):
        counts = (int(a.reached.sum()), a.reached.size, int(b.reached.sum()), b.reached.size)
        return Shown(None, None, decide_by_fraction(*counts, margin=margin))
    found = measured(a, b)
    verdict = decide(
        found, margin=margin, p_value=found.ratio.p_value, p_permutation=_stand_in_p(found, a, b)
    )
    return Shown(limits(found.ratio), _deciding(found), verdict)


def measured(a: Runs, b: Runs) -> Speedup:
    """Give the speedup that `compare` shows: of means, or of expected times if runs failed."""
    if not (a.reached.all() and b.reached.all()):
        return ert_speedup(a.times, a.reached, b.times, b.reached)
    if a.epochs is None or b.epochs is None:
        # What only one side tells is not used.
        return speedup(a.times, b.times)
    epochs = Epochs(a.epochs, a.quantum), Epochs(b.epochs, b.quantum)
    return speedup(a.times, b.times, epochs_a=epochs[0], epochs_b=epochs[1])


def _stand_in_p(found: Speedup, a: Runs, b: Runs) -> float | None:
    if found.ratio.p_value is not None:
        return None
    rng = np.random.default_rng(0)
    if a.reached.all() and b.reached.all():
        return permutation_test(a.times, b.times, rng=rng).p_value
    return mann_whitney(a.times, b.times, reached_a=a.reached, reached_b=b.reached, rng=rng).p_value


def limits(ratio: Ratio) -> Limits | None:
    """Give the ends of an interval, None where there is none."""
    return None if ratio.low is None or ratio.high is None else (ratio.low, ratio.high)


def _deciding(found: Speedup) -> Limits | None:
    if not found.unseen_epochs:
        return limits(found.ratio)
    # With an unknown quantum nothing is excluded, which is how the verdict reads it too.
    return (0.0, math.inf) if found.epoch_safe is None else limits(found.epoch_safe)
