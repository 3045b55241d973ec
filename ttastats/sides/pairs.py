"""Which of several sides are shown to be faster than which others?

Times of all pairs are judged at once. The word of a pair is that of `compare`: an allowance for
what was not seen makes an interval wider and never turns it, so that the narrowest tells a
direction, and its p among those of all pairs whether it is shown.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ttastats.sides.comparison import measured
from ttastats.sides.contrast import Contrast, decided
from ttastats.sides.design import checks
from ttastats.sides.numbers import SideNumbers
from ttastats.sides.options import Options
from ttastats.stats.decision import Bounds
from ttastats.stats.logratio import log_ratios
from ttastats.stats.multiplicity import adjusted
from ttastats.stats.outcomes import time_term
from ttastats.stats.results import Bools, known
from ttastats.stats.verdict import Verdict


def faster(sides: Sequence[SideNumbers], confidence: float) -> Bools:
    """Return whether each side is shown to be faster than each other, shape (sides, sides)."""
    options, alpha = Options(confidence=confidence), round(1 - confidence, 12)
    # The time of a side, if it is times that are compared.
    terms = [time_term(side.outcomes) if side.n_reached and not side.n_untimed else None
             for side in sides]  # fmt: skip
    estimates, variances, dfs = np.array(
        [(term.estimate, term.variance, term.df) if term else (1.0, 0.0, 1.0) for term in terms],
        dtype=np.float64,
    ).reshape(-1, 3).T  # fmt: skip
    a, b = np.triu_indices(len(sides), 1)
    times = np.array([term is not None for term in terms], dtype=np.bool_)
    of_times, total = times[a] & times[b], variances[a] + variances[b]  # NaN of a single run
    usual = np.flatnonzero(of_times & (total > 0))
    p_values, logs, half_widths = (np.full(a.size, np.nan) for _ in range(3))
    logs[usual], half_widths[usual], p_values[usual] = log_ratios(
        (estimates[a[usual]], variances[a[usual]], dfs[a[usual]]),
        (estimates[b[usual]], variances[b[usual]], dfs[b[usual]]),
        confidence,
    )
    # Fractions that reached, and times of which none varies: few, and judged one by one.
    single = {
        place: measured(Contrast({}, sides[a[place]], sides[b[place]]), options, brief=True)
        for place in np.flatnonzero(~of_times | (total == 0)).tolist()
    }
    for place, contrast in single.items():
        p_values[place] = np.nan if contrast.p_value is None else contrast.p_value
    every = adjusted(known(p_values))
    shown: Bools = np.zeros((len(sides), len(sides)), dtype=np.bool_)
    for place in usual.tolist():
        one, other = a[place], b[place]
        if (p := every[place]) is not None and p < alpha:
            late_a, late_b = checks.late(sides[one].design, sides[other].design)
            shown[other, one] = np.exp(logs[place] - half_widths[place]) * (1 - late_a) > 1
            shown[one, other] = np.exp(logs[place] + half_widths[place]) < 1 - late_b
    for place, contrast in single.items():
        word = decided(contrast, every[place], Bounds(), options).word
        shown[b[place], a[place]] = word is Verdict.FASTER
        shown[a[place], b[place]] = word is Verdict.SLOWER
    return shown
