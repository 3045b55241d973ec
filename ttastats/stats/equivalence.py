"""Whether B is as fast as A, or not slower, within a margin.

"Not significantly different" says nothing of the kind; two one-sided tests do (Schuirmann
1987). With margin d all claims are about the speedup S and the limits 1/(1+d) and 1+d, so
that they do not change when A and B trade places.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ttastats.stats.quantiles import t_tail
from ttastats.stats.results import Ratio
from ttastats.stats.speedup import Speedup


@dataclass(frozen=True, slots=True)
class Equivalence:
    """One-sided p values of "B is not slower by more than d" and "not faster by more".

    ``p_same`` is the larger of both: B is as fast as A within d. ``low`` and ``high`` are
    the interval at ``confidence`` (0.90 for alpha 0.05) that has to lie within the limits.
    p values are None without a variance.
    """

    p_not_slower: float | None
    p_not_faster: float | None
    p_same: float | None
    low: float | None
    high: float | None
    confidence: float
    margin: float


def check_margin(margin: float) -> float:
    """Return the margin; ValueError unless it is positive and finite (0.01 is 1 %)."""
    if not 0.0 < margin < math.inf:
        raise ValueError(f"a margin is a positive fraction such as 0.01, not {margin}")
    return margin


def equivalence(speedup: Speedup, margin: float = 0.01) -> Equivalence:
    """Two one-sided tests on the log of the speedup that is shown, at ``margin``."""
    limit = math.log1p(check_margin(margin))
    not_slower = _one_sided_p(speedup.ratio, limit, 1.0)
    not_faster = _one_sided_p(speedup.ratio, limit, -1.0)
    both = [p for p in (not_slower, not_faster) if p is not None]
    return Equivalence(
        p_not_slower=not_slower,
        p_not_faster=not_faster,
        p_same=max(both) if len(both) == 2 else None,
        low=speedup.tost.low,
        high=speedup.tost.high,
        confidence=speedup.tost.confidence,
        margin=margin,
    )


def _one_sided_p(ratio: Ratio, limit: float, direction: float) -> float | None:
    """P of "the speedup is at or beyond the limit on this side": -limit for +1, else +limit."""
    if ratio.estimate is None or not ratio.se_log or ratio.df is None:
        return None
    distance = direction * math.log(ratio.estimate) + limit
    return t_tail(ratio.df, distance / ratio.se_log)
