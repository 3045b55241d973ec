"""Which of several sides are faster than which others, each pair as judged by `compare`?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct

from ttastats.outcomes import axis as axes
from ttastats.sides import checks
from ttastats.sides.comparison import Comparison, measure, with_clues
from ttastats.sides.contrast import refused, with_verdict
from ttastats.sides.numbers import SideNumbers
from ttastats.sides.options import Options
from ttastats.stats.decision import Bounds
from ttastats.stats.logratio import log_ratios
from ttastats.stats.multiplicity import adjust_p_values
from ttastats.stats.outcomes import time_term
from ttastats.stats.results import Bools, Verdict, none_for_nan


class Order(Struct, frozen=True, eq=False):
    """The matrix of significantly faster sides, shape (sides, sides).

    `faster` holds without a condition; `conditions` are those of the other claims, by the indexes
    of the faster and of the slower side.
    """

    faster: Bools
    conditions: Mapping[tuple[int, int], tuple[str, ...]]

    @property
    def conditional(self) -> Bools:
        """Return the matrix of faster sides if all conditions are true."""
        faster = self.faster.copy()
        for pair in self.conditions:
            faster[pair] = True
        return faster


def measure_pair(
    a: SideNumbers, b: SideNumbers, options: Options, axis: axes.Axis = axes.SECONDS
) -> Comparison:
    """Return the comparison of two sides with the basis of their verdict, before judgement."""
    findings = checks.conditions(a.design, b.design, timed=axis.progress is None)
    base = Comparison({}, a, b, axis, findings=findings)
    return with_clues(measure(base, options, brief=True))


def judge_pair(
    a: SideNumbers,
    b: SideNumbers,
    options: Options,
    axis: axes.Axis = axes.SECONDS,
    p_value: float | None = None,
) -> Comparison:
    """Return the comparison of two sides with the verdict of its own level."""
    contrast = refused(measure_pair(a, b, options, axis), options)
    p = contrast.p_value if p_value is None else p_value
    return with_verdict(contrast, p, Bounds(), options)


def order(sides: Sequence[SideNumbers], confidence: float, axis: axes.Axis = axes.SECONDS) -> Order:
    """Return the order of sides: each pair as `compare` judges it.

    What was not seen makes an interval wider and never turns it: the narrowest tells which pairs
    may have a direction, and their p among those of all pairs; only these are judged, each at its
    level among all, so that what is allowed for holds at once too.
    """
    options, alpha = Options(confidence=confidence), round(1 - confidence, 12)
    # The time of a side, if it is times that are compared.
    terms = [time_term(side.outcomes, "mean") if side.n_reached and not side.n_untimed else None
             for side in sides]  # fmt: skip
    estimates, variances, dfs = np.array(
        [(term.estimate, term.variance, term.df) if term else (1.0, 0.0, 1.0) for term in terms],
        dtype=np.float64,
    ).reshape(-1, 3).T  # fmt: skip
    a, b = np.triu_indices(len(sides), 1)
    times = np.array([term is not None for term in terms], dtype=np.bool_)
    both_timed, total = times[a] & times[b], variances[a] + variances[b]  # NaN of a single run
    time_pairs = np.flatnonzero(both_timed & (total > 0))
    p_values, logs, half_widths = (np.full(a.size, np.nan) for _ in range(3))
    logs[time_pairs], half_widths[time_pairs], p_values[time_pairs] = log_ratios(
        (estimates[a[time_pairs]], variances[a[time_pairs]], dfs[a[time_pairs]]),
        (estimates[b[time_pairs]], variances[b[time_pairs]], dfs[b[time_pairs]]),
        confidence,
    )

    # Fractions that reached, and times of which none varies: few, and their p is of a test.
    comparisons = {
        index: measure_pair(sides[a[index]], sides[b[index]], options, axis)
        for index in np.flatnonzero(~both_timed | (total == 0)).tolist()
    }
    for index, contrast in comparisons.items():
        p_values[index] = np.nan if contrast.p_value is None else contrast.p_value
    p_adjusted = adjust_p_values(none_for_nan(p_values))
    # The level of each pair by Holm (1979): intervals are wider than that of a p may tell.
    tests = np.count_nonzero(~np.isnan(p_values)) - np.argsort(np.argsort(p_values))
    candidates = time_pairs[np.abs(logs[time_pairs]) > half_widths[time_pairs]].tolist()
    faster: Bools = np.zeros((len(sides), len(sides)), dtype=np.bool_)
    conditions: dict[tuple[int, int], tuple[str, ...]] = {}
    for index in sorted((*comparisons, *candidates)):
        p = p_adjusted[index]
        if p is None or p >= alpha:
            continue
        own_options = Options(confidence=1 - alpha / int(tests[index]))
        pair = sides[a[index]], sides[b[index]]
        verdict = judge_pair(*pair, own_options, axis, float(p_values[index])).verdict
        if not verdict.word.directed:
            continue
        slow, fast = int(a[index]), int(b[index])
        direction = (fast, slow) if verdict.word is Verdict.FASTER else (slow, fast)
        faster[direction] = not verdict.conditions
        if verdict.conditions:
            conditions[direction] = verdict.conditions
    return Order(faster, conditions)
