"""What share of a variance each of several parts has, and how sure that is."""

from __future__ import annotations

import numpy as np

from ttastats.stats.results import Floats

RUNS_FOR_BOOTSTRAP = 10
"""Below, the bootstrap interval of a share covers as little as 12 % instead of 95 %."""

RESAMPLED_RUNS = 20_000_000
"""Bounds the time of the bootstrap: of very many runs, fewer resamples say as much."""

RESAMPLED_RUNS_AT_ONCE = 1_000_000
"""Bounds the memory of the bootstrap."""

Limits = tuple[float | None, float | None]


def covariance_shares(logs: Floats) -> Floats:
    """Covariance shares of the parts: ``logs`` (parts, resamples, n) -> (parts, resamples).

    NaN where the sum of the parts does not vary.
    """
    centred = logs - logs.mean(axis=2, keepdims=True)
    total = centred.sum(axis=0)
    whole = np.sum(total**2, axis=1)
    # Below this, what is left of the variance is rounding.
    varies = whole > 1e-24 * logs.shape[2]
    with np.errstate(divide="ignore", invalid="ignore"):
        shares: Floats = np.where(varies, np.sum(centred * total, axis=2) / whole, np.nan)
    return shares


def bootstrap_limits(logs: Floats, rng: np.random.Generator, confidence: float) -> list[Limits]:
    """Percentile limits of each share; None where too few resamples vary at all.

    ``logs``: shape (parts, n). Of 2000 resamples, fewer beyond 10 000 runs.
    """
    n = logs.shape[1]
    resamples = min(2000, max(200, RESAMPLED_RUNS // n))
    at_once = max(1, RESAMPLED_RUNS_AT_ONCE // n)
    drawn: list[Floats] = []
    for start in range(0, resamples, at_once):
        count = min(at_once, resamples - start)
        drawn.append(covariance_shares(logs[:, rng.integers(0, n, size=(count, n))]))
    shares = np.concatenate(drawn, axis=1)
    shares = shares[:, np.isfinite(shares[0])]
    if shares.shape[1] < resamples // 2:
        return [(None, None)] * logs.shape[0]
    tail = (1 - confidence) / 2
    low, high = np.quantile(shares, [tail, 1 - tail], axis=1)
    return [(float(lo), float(hi)) for lo, hi in zip(low, high, strict=True)]
