"""How uncertain a coefficient of variation is."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from ttastats.stats.means import RUNS_FOR_INTERVAL
from ttastats.stats.moments import as_pair, as_sample, coefficient_of_variation, is_constant
from ttastats.stats.quantiles import check_confidence, chi2_quantile, two_sided_t
from ttastats.stats.results import Estimate, Floats, Withheld
from ttastats.stats.unseen import cv_epochs_high

RUNS_FOR_MOMENTS = 10
"""From here on a rare value has shown up often enough for the moment-based intervals."""

RUNS_FOR_REPEATS = 5
"""Of fewer runs, equal times may hide most of the spread: rounding to 1 SD leaves 80 % coverage."""

_UNUSUAL = 0.05
"""Level of the test for one run that is unlike the others."""


def cv_interval(
    times: ArrayLike,
    *,
    epochs: ArrayLike | None = None,
    evaluation_interval: float | None = None,
    confidence: float = 0.95,
    ddof: int = 1,
) -> Estimate:
    """Coefficient of variation (a fraction) with its interval, for runs like those seen.

    Modified McKay limits; from 10 runs on their union with the moment-based limits, of which the
    delta method's hold for two-valued times and Bonett's for heavy tails; when every run took the
    same ``epochs``, an upper limit that allows for epochs not yet seen (``evaluation_interval``:
    the epochs between two evaluations). ``ddof`` changes the estimate only.

    No interval below 3 runs, of fewer than 5 of which two took the same time, of times that are
    all equal, and of fewer than 10 runs of which one is unlike the others: how often such a run
    comes is then unknown.
    """
    check_confidence(confidence)
    sample = as_sample(times)
    estimate = coefficient_of_variation(sample, ddof)
    progress = None if epochs is None else as_pair(sample, epochs)[1]
    withheld = _withheld(sample, progress, evaluation_interval)
    if withheld is not None:
        return Estimate(estimate, None, None, confidence, sample.size, withheld)
    cv = _cv(sample) if estimate is None or ddof != 1 else estimate
    low, high = vangel_limits(cv, sample.size, confidence)
    plain = Estimate(estimate, low, high, confidence, sample.size)
    if sample.size >= RUNS_FOR_MOMENTS:
        lows, highs = zip(
            (low, high),
            delta_limits(sample, confidence),
            bonett_limits(sample, confidence),
            strict=True,
        )
        plain = replace(plain, low=min(lows), high=max(highs))
    if progress is None or evaluation_interval is None or not is_constant(progress):
        return plain
    unseen = cv_epochs_high(float(progress[0]), plain.n, evaluation_interval, confidence)
    # Time is epochs times time per epoch, independent: 1 + CV^2 multiplies (Goodman 1960).
    safe = math.sqrt((1 + unseen**2) * (1 + high**2) - 1)
    return replace(plain, high=max(plain.high or 0.0, safe))


def _withheld(
    times: Floats, epochs: Floats | None, evaluation_interval: float | None
) -> Withheld | None:
    """Return why the CV of these runs has no interval, None where it has."""
    if times.size < RUNS_FOR_INTERVAL:
        return "few_runs"
    # Unseen epochs bound what equal times hide where the epochs are equal too.
    bounded = epochs is not None and is_constant(epochs) and evaluation_interval is not None
    repeats = times.size < RUNS_FOR_REPEATS and np.unique(times).size < times.size
    if not bounded and (repeats or is_constant(times)):
        return "repeated_times"
    if RUNS_FOR_REPEATS <= times.size < RUNS_FOR_MOMENTS:
        # One evaluation interval is the least by which epochs differ.
        near = epochs is not None and np.ptp(epochs) <= (evaluation_interval or 0.0) * (1 + 1e-9)
        if has_outlier(times / epochs if epochs is not None and near else times):
            return "unusual_run"
    return None


def has_outlier(values: Floats) -> bool:
    """Return whether one positive value is an outlier, by Grubbs' test (1950) of the logs."""
    logs, n = np.log(values), values.size
    if is_constant(values):
        return False
    furthest = float(np.max(np.abs(logs - logs.mean())) / np.std(logs, ddof=1))
    t = two_sided_t(n - 2, 1 - _UNUSUAL / n)
    return furthest > (n - 1) / math.sqrt(n) * math.sqrt(t**2 / (n - 2 + t**2))


def _cv(sample: Floats) -> float:
    cv = coefficient_of_variation(sample)
    if cv is None:
        raise ValueError("2 runs needed for a coefficient of variation")
    return cv


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


def bonett_limits(times: Floats, confidence: float = 0.95) -> tuple[float, float]:
    """Limits of the CV of 5 or more times whose tails may be heavy.

    Bonett's limits of a standard deviation (2006, Comput. Stat. Data Anal. 50, 775), with a t
    quantile in place of the normal one and the variance of the log mean added.
    """
    n, cv = times.size, _cv(times)
    if cv == 0.0:
        return 0.0, 0.0
    # About a trimmed mean the kurtosis of skewed times is less underestimated.
    cut = int(n / (2 * math.sqrt(n - 4)))
    centre = float(np.mean(np.sort(times)[cut : n - cut]))
    second = float(np.sum((times - times.mean()) ** 2))
    kurtosis = n * float(np.sum((times - centre) ** 4)) / second**2
    correction = n / (n - two_sided_t(math.inf, confidence))
    variance = max(kurtosis - (n - 3) / n, 0.0) / (n - 1)
    se = math.hypot(correction * math.sqrt(variance) / 2, cv / math.sqrt(n))
    half = two_sided_t(n - 1, confidence) * se
    middle = cv * math.sqrt(correction)
    return middle * math.exp(-half), middle * math.exp(half)
