"""How uncertain a coefficient of variation is."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from ttastats.stats.moments import as_pair, as_sample, coefficient_of_variation, is_constant
from ttastats.stats.quantiles import check_confidence, chi2_quantile, two_sided_t
from ttastats.stats.results import Estimate, Floats
from ttastats.stats.sample import RUNS_FOR_INTERVAL
from ttastats.stats.unseen import cv_epochs_high

RUNS_FOR_DELTA = 10
"""From here on a rare value has shown up often enough for the moment-based interval."""


def cv_interval(
    times: ArrayLike,
    *,
    epochs: ArrayLike | None = None,
    evaluation_interval: float | None = None,
    confidence: float = 0.95,
    ddof: int = 1,
) -> Estimate:
    """Coefficient of variation (a fraction) with an interval that may be trusted.

    Modified McKay limits; from 10 runs on their union with the moment-based limits, which
    hold for two-valued times; when every run took the same ``epochs``, an upper limit that
    allows for epochs not yet seen (``evaluation_interval``: the epochs between two evaluations).
    ``ddof`` changes the estimate only. No interval below 3 runs.
    """
    check_confidence(confidence)
    sample = as_sample(times)
    estimate = coefficient_of_variation(sample, ddof)
    if sample.size < RUNS_FOR_INTERVAL:
        return Estimate(estimate, None, None, confidence, sample.size)
    cv = _cv(sample) if estimate is None or ddof != 1 else estimate
    low, high = vangel_limits(cv, sample.size, confidence)
    plain = Estimate(estimate, low, high, confidence, sample.size)
    if sample.size >= RUNS_FOR_DELTA:
        delta_low, delta_high = delta_limits(sample, confidence)
        plain = replace(plain, low=min(low, delta_low), high=max(high, delta_high))
    if epochs is None:
        return plain
    _, progress = as_pair(sample, epochs)
    return _allow_unseen_epochs(plain, high, progress, evaluation_interval)


def _cv(sample: Floats) -> float:
    cv = coefficient_of_variation(sample)
    if cv is None:
        raise ValueError("2 runs needed for a coefficient of variation")
    return cv


def _allow_unseen_epochs(
    plain: Estimate, vangel_high: float, epochs: Floats, evaluation_interval: float | None
) -> Estimate:
    """Widen the interval when every run took the same number of epochs."""
    if not is_constant(epochs) or plain.high is None or evaluation_interval is None:
        return plain
    unseen = cv_epochs_high(float(epochs[0]), plain.n, evaluation_interval, plain.confidence)
    # Time is epochs times time per epoch, independent: 1 + CV^2 multiplies (Goodman 1960).
    safe = math.sqrt((1 + unseen**2) * (1 + vangel_high**2) - 1)
    return replace(plain, high=max(plain.high, safe))


def vangel_limits(cv: float, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """Limits of a CV (ddof=1) by the modified McKay method (Vangel 1996); high may be inf."""
    tail = (1 - check_confidence(confidence)) / 2

    def limit(chi2: float) -> float:
        radicand = ((chi2 + 2) / n - 1) * cv**2 + chi2 / (n - 1)
        return math.inf if radicand <= 0 else cv / math.sqrt(radicand)

    return limit(chi2_quantile(1 - tail, n - 1)), limit(chi2_quantile(tail, n - 1))


def delta_limits(times: Floats, confidence: float = 0.95) -> tuple[float, float]:
    """Limits of the CV from the influence function of its log (delta method, t quantile)."""
    cv = _cv(times)
    if cv == 0.0:
        return 0.0, 0.0
    deviation = times - np.mean(times)
    second = np.mean(deviation**2)
    influence = (deviation**2 / second - 1) / 2 - deviation / np.mean(times)
    se = math.sqrt(float(np.mean(influence**2)) / times.size)
    half = two_sided_t(times.size - 1, confidence) * se
    return cv * math.exp(-half), cv * math.exp(half)
