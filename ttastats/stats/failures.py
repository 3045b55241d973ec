"""What failed runs cost: the expected time to a success.

Expected running time assumes what one would do in practice: start again, with the same
stopping rule, until a run succeeds (Auger and Hansen 2005).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from numpy.typing import ArrayLike

from ttastats.stats.outcomes import outcomes, time_term


@dataclass(frozen=True, slots=True)
class ExpectedTime:
    """Expected running time: the seconds of all runs over the number of successes.

    ``estimate`` is infinite without a success; all seconds were then spent in vain.
    ``variance_log`` is the delta-method variance of its log, None where there is none.
    """

    estimate: float | None
    n: int
    variance_log: float | None


def expected_time(times: ArrayLike, reached: ArrayLike) -> ExpectedTime:
    """Mean seconds to a success with failures paid for.

    ``times``: seconds to success, or spent until the run stopped, shape (n,); ``reached``:
    booleans. With s_i the successes, IF_i = T_i/mean(T) - s_i/mean(s) and the variance of
    log ERT is sum(IF^2)/(n(n-1)).
    """
    side = outcomes(times, reached)
    if not side.n:
        return ExpectedTime(None, 0, None)
    if not side.n_reached:
        return ExpectedTime(math.inf, side.n, None)
    term = time_term(side)
    return ExpectedTime(term.estimate, side.n, term.variance)
