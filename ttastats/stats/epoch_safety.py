"""What unseen epochs could change when every run took the same number.

If all n runs took e epochs, a share of up to ``1 - (alpha/2)**(1/n)`` of all possible runs
may take another number without contradicting the data (Clopper and Pearson 1934, 0 of n).
A variance estimated from the sample is blind to them. What is assumed instead: the epochs
of any run lie within one evaluation quantum of those observed.
"""

from __future__ import annotations

import math

from ttastats.stats.moments import coefficient_of_variation, is_constant
from ttastats.stats.quantiles import check_confidence, two_sided_t
from ttastats.stats.results import Floats


def unseen_share(n: int, confidence: float = 0.95) -> float:
    """Largest share of runs that may deviate though none of ``n`` did: 0.52 for n=5."""
    if n < 1:
        raise ValueError(f"at least 1 run needed, not {n}")
    return -math.expm1(math.log((1 - check_confidence(confidence)) / 2) / n)


def mean_epochs_limits(
    epochs: float, n: int, quantum: float, confidence: float = 0.95
) -> tuple[float, float]:
    """Limits of the mean epochs to target when all ``n`` runs took ``epochs``."""
    shift = quantum * unseen_share(n, confidence)
    return epochs - shift, epochs + shift


def cv_epochs_high(epochs: float, n: int, quantum: float, confidence: float = 0.95) -> float:
    """Largest CV of epochs to target that is compatible with ``n`` equal values.

    The deviating runs, at most half of all, are placed one quantum earlier, which makes the
    CV largest, unless nothing can be earlier (``epochs <= quantum``).
    """
    earlier = epochs > quantum
    # Later runs raise the mean too, so that fewer than half of them make the CV largest.
    worst = 0.5 if earlier else epochs / (2 * epochs + quantum)
    share = min(unseen_share(n, confidence), worst)
    mean = epochs - share * quantum if earlier else epochs + share * quantum
    return math.sqrt(share * (1 - share)) * quantum / mean


def log_half_widths(
    times: Floats, epochs: Floats, quantum: float | None, confidence: float
) -> tuple[float, float]:
    """How far the log of the mean time may lie below and above the observed one.

    ``times`` and ``epochs``: shape (n,) with n >= 2. Where the epochs vary it is the t
    half-width on both sides. ValueError for constant epochs without a ``quantum``.
    """
    n = times.size
    cv = coefficient_of_variation(times)
    if cv is None:
        raise ValueError("2 runs needed per side for an interval")
    half = two_sided_t(n - 1, confidence) * cv / math.sqrt(n)
    if not is_constant(epochs):
        return half, half
    if quantum is None:
        raise ValueError("constant epochs need the evaluation quantum")
    shift = unseen_share(n, confidence) * quantum / float(epochs[0])
    below = math.inf if shift >= 1 else math.hypot(half, math.log1p(-shift))
    return below, math.hypot(half, math.log1p(shift))
