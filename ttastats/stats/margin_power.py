"""How many runs a side would show that B is not slower by more than a margin?

A test of non-inferiority, planned for sides that do not differ: times lognormal with one CV on
both sides, as in `ttastats.stats.power`, and, where epochs look constant, as many runs as bound
what epochs not seen yet could change.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence

from ttastats.stats.power import MOST_RUNS, runs_needed
from ttastats.stats.quantiles import two_sided_t
from ttastats.stats.unseen import unseen_share

_Z_80 = 0.8416212335729143  # the 80 % quantile of the normal distribution


def runs_to_show(
    margin: float,
    cv: float,
    epoch_shifts: Sequence[float] = (0.0, 0.0),
    *,
    alpha: float = 0.05,
) -> int | None:
    """Smallest number of runs a side that shows it with a power of 80 %, one-sided at ``alpha``.

    ``epoch_shifts``: by what share of a side's mean time one evaluation interval more in every
    run would change it; 0 where epochs vary, infinite where nobody knows. None if no number of
    runs would do.
    """
    # The other side of a two-sided test at 2 alpha adds less than a thousandth of power.
    least = runs_needed(1 + margin, cv, alpha=2 * alpha).n
    if least is None or not any(epoch_shifts):
        return least

    def enough(n: int) -> bool:
        share, se = unseen_share(n, 1 - 2 * alpha), cv * math.sqrt(2 / n)
        a, b = (share * shift for shift in epoch_shifts)
        if a >= 1 or math.isinf(b):
            return False
        half = math.hypot(two_sided_t(2 * n - 2, 1 - 2 * alpha) * se, math.log1p(-a), math.log1p(b))
        return half + _Z_80 * se <= math.log1p(margin)

    n = least + bisect_left(range(least, MOST_RUNS), True, key=enough)
    return n if n < MOST_RUNS else None
