"""What share of a variance each of several parts has, and how sure that is."""

from __future__ import annotations

import math

import numpy as np

from ttastats.stats.quantiles import two_sided_t
from ttastats.stats.results import Floats

RUNS_FOR_SHARES = 3
"""Two runs always give one part all of the variance but for the other's noise."""

RUNS_FOR_INTERVAL = 10
"""Below, a jackknife of a share rests on too few values of epochs."""

FARTHEST_SHARE = 2.0
"""Beyond, or below its mirror image -1, parts cancel each other and a share of their sum means
nothing: the sum varies less than either part."""


def covariance_shares(logs: Floats) -> Floats | None:
    """Covariance shares of the parts of a sum: ``logs`` (parts, n) -> (parts,), adding up to 1.

    None where the sum of the parts does not vary.
    """
    products, squares = _centred(logs)
    whole = float(squares.sum())
    # Below this, what is left of the variance is rounding.
    if not whole > 1e-24 * logs.shape[1]:
        return None
    shares: Floats = products.sum(axis=1) / whole
    return shares


def jackknife_limits(logs: Floats, confidence: float) -> list[tuple[float, float]] | None:
    """Limits of each share: the share, plus and minus Student's t times its jackknife error.

    ``logs``: shape (parts, n). With n - 1 degrees of freedom (Tukey 1958; Efron and Stein 1981).
    None where the sum does not vary without one of the runs.
    """
    shares = covariance_shares(logs)
    products, squares = _centred(logs)
    n = logs.shape[1]
    # Without a run, a sum of centred products loses its own times n / (n - 1).
    left = squares.sum() - n / (n - 1) * squares
    if shares is None or not bool(np.all(left > 1e-12 * squares.sum())):
        return None
    without = (products.sum(axis=1, keepdims=True) - n / (n - 1) * products) / left
    errors = np.sqrt((n - 1) / n * np.sum((without - without.mean(axis=1, keepdims=True)) ** 2, 1))
    half = two_sided_t(n - 1, confidence) * errors
    return [(float(s - h), float(s + h)) for s, h in zip(shares, half, strict=True)]


def _centred(logs: Floats) -> tuple[Floats, Floats]:
    """Return the products of each part with the sum, (parts, n), and the squares of the sum, (n,).

    All about their means.
    """
    centred = logs - logs.mean(axis=1, keepdims=True)
    total = centred.sum(axis=0)
    return centred * total, total**2


def cancels(share: float) -> bool:
    """Return whether parts of which one has this share cancel each other."""
    return math.isnan(share) or not 1 - FARTHEST_SHARE <= share <= FARTHEST_SHARE
