"""What interval and p a ratio has whose log is a sum of independent terms.

Speedups, expected times, decompositions, scaling slopes and means over benchmarks are all a log
estimate, with a variance and degrees of freedom of every independent term (Welch 1947;
Satterthwaite 1946).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike
from scipy import special

from ttastats.stats.moments import t_tail, two_sided_t
from ttastats.stats.results import Flag, Floats, Ratio


class LogTerm(Struct, frozen=True):
    """A positive estimate, and the variance and degrees of freedom of its log."""

    estimate: float
    variance: float | None
    df: float


class LogScale(Struct, frozen=True):
    """A log estimate and the half-width of its interval; None where there is no variance."""

    value: float
    half_width: float | None
    se: float | None
    df: float | None
    p_value: float | None


def safe_exp(exponent: float) -> float:
    """Return the exponential, infinite instead of an OverflowError."""
    return math.exp(exponent) if exponent < 709.0 else math.inf


def satterthwaite(variances: Sequence[float], dfs: Sequence[float]) -> float:
    """Return the degrees of freedom of a sum of independent variances; infinite if all are 0."""
    total = sum(variances)
    if total == 0.0:
        return math.inf
    # Shares first: squares of small variances would underflow.
    inverse = sum((v / total) ** 2 / df for v, df in zip(variances, dfs, strict=True) if v > 0)
    return math.inf if inverse == 0.0 else 1.0 / inverse


def combine_terms(value: float, terms: Sequence[LogTerm], confidence: float) -> LogScale:
    """Return half-width and two-sided p of a log estimate from the variances of its terms.

    Without a variance for every term there is neither; with zero variance p is 1 or undefined.
    """
    variances = [term.variance for term in terms if term.variance is not None]
    if len(variances) < len(terms):
        return LogScale(value, None, None, None, None)
    se = math.sqrt(sum(variances))
    if se == 0.0:
        return LogScale(value, 0.0, 0.0, None, 1.0 if value == 0.0 else None)
    df = satterthwaite(variances, [term.df for term in terms])
    half_width = two_sided_t(df, confidence) * se
    p_value = min(1.0, 2 * t_tail(df, abs(value) / se))
    return LogScale(value, half_width, se, df, p_value)


#: Estimates with the variances and the degrees of freedom of their logs, shape (pairs,) each.
Terms = tuple[Floats, Floats, Floats]


def log_ratios(a: Terms, b: Terms, confidence: float) -> tuple[Floats, Floats, Floats]:
    """Return the logs of ratios with their half-widths and p, where a term at least varies."""
    total = a[1] + b[1]
    se, logs = np.sqrt(total), np.log(a[0]) - np.log(b[0])
    df = 1.0 / ((a[1] / total) ** 2 / a[2] + (b[1] / total) ** 2 / b[2])
    half_widths: Floats = -special.stdtrit(df, (1 - confidence) / 2) * se
    return logs, half_widths, np.minimum(1.0, 2 * special.stdtr(df, -np.abs(logs) / se))


def interval_around(estimate: float, scale: LogScale) -> tuple[float, float] | tuple[None, None]:
    """Return the interval around a positive estimate whose log has the given half-width."""
    if scale.half_width is None:
        return None, None
    factor = safe_exp(scale.half_width)
    return estimate / factor, estimate * factor


def ratio_of(a: LogTerm, b: LogTerm, confidence: float, n_a: int, n_b: int) -> Ratio:
    """Return the ratio of two independent positive estimates with its interval."""
    log = math.log(a.estimate) - math.log(b.estimate)
    return ratio_of_log(log, (a, b), confidence, n_a, n_b, a.estimate / b.estimate)


def ratio_of_log(
    log: float,
    terms: Sequence[LogTerm],
    confidence: float,
    n_a: int,
    n_b: int,
    estimate: float | None = None,
) -> Ratio:
    """Return the ratio whose log is given, with the interval from its independent terms."""
    scale = combine_terms(log, terms, confidence)
    estimate = safe_exp(log) if estimate is None else estimate
    low, high = interval_around(estimate, scale)
    if 1 in {n_a, n_b}:
        flags: tuple[Flag, ...] = (Flag("one_run", too_few_runs(n_a, n_b)),)
    elif scale.se == 0.0:
        message = "zero variance on both sides: p of the t test is undefined, use the permutation p"
        flags = (Flag("zero_variance", message), *unbalanced_flag(n_a, n_b))
    else:
        flags = unbalanced_flag(n_a, n_b)
    return Ratio(
        estimate, low, high, confidence, scale.p_value, scale.se, scale.df, n_a, n_b, flags
    )


def term_of(ratio: Ratio, weight: float = 1.0) -> LogTerm:
    """Return a ratio as a term of a sum in which its log has a weight."""
    variance = None if ratio.se_log is None else (weight * ratio.se_log) ** 2
    return LogTerm(1.0, variance, math.inf if ratio.df is None else ratio.df)


def too_few_runs(n_a: int, n_b: int) -> str:
    """Return the reason why there is no interval if a side has a single run."""
    if n_a == n_b == 1:
        return "n=1 on both sides: no inference possible, 2 runs needed per side"
    return f"n_{'A' if n_a == 1 else 'B'}=1: no variance, no CI; 2 runs needed"


def unbalanced_flag(n_a: int, n_b: int) -> tuple[Flag, ...]:
    """Return a flag if one side has at least twice the runs of the other."""
    if 0.5 < n_a / n_b < 2.0:
        return ()
    message = f"unbalanced: {n_a} vs {n_b} runs; the coverage of the intervals is lower"
    return (Flag("unbalanced", message),)


#: Sums that differ by less than this share of them are equal, but for rounding.
_EQUAL = 1e-6


def sum_factors(a: ArrayLike, b: ArrayLike, *, confidence: float) -> list[Ratio]:
    """Return the factor of each term in the change of a sum from A to B, and last that of the sum.

    `a` has shape (n_a, terms) and `b` (n_b, terms): samples of terms that are not below 0. The
    factors multiply to the ratio of the sums: the additive logarithmic mean Divisia index (Ang
    2005, "The LMDI approach to decomposition analysis", Energy Policy 33). Intervals are Welch's,
    of the log, by the delta method; a side of one sample leaves none.
    """
    terms_a, terms_b = (np.column_stack((x, x.sum(axis=1))) for x in map(np.asarray, (a, b)))
    means = terms_a.mean(axis=0), terms_b.mean(axis=0)
    logs = ((means[0] - means[1]) * _inverse_log_mean(means[0][-1], means[1][-1])[0]).tolist()
    slopes = [_influence(terms_a, *means), -_influence(terms_b, *means[::-1])]
    ratios = []
    for log, *sides in zip(logs, *(slope.T for slope in slopes), strict=True):
        terms = [
            LogTerm(1.0, float(x.var(ddof=1)) / x.size if x.size > 1 else None, x.size - 1.0)
            for x in sides
        ]
        ratios.append(ratio_of_log(log, terms, confidence, sides[0].size, sides[1].size))
    return ratios


def remaining_factor(whole: Ratio, part: Ratio) -> Ratio:
    """Return the part of a ratio not explained by another factor, measured separately."""
    if not whole.estimate or not part.estimate:
        return Ratio(None, None, None, whole.confidence, None, None, None, whole.n_a, whole.n_b)
    log, terms = math.log(whole.estimate / part.estimate), (term_of(whole), term_of(part))
    return ratio_of_log(log, terms, whole.confidence, whole.n_a, whole.n_b)


def _inverse_log_mean(total: float, other_total: float) -> tuple[float, float]:
    """Return the inverse of the logarithmic mean of two sums, and its derivative."""
    gap = total - other_total
    if abs(gap) < _EQUAL * total:
        return 2 / (total + other_total), -2 / (total + other_total) ** 2
    inverse = math.log(total / other_total) / gap
    return inverse, (1 / total - inverse) / gap


def _influence(samples: Floats, means: Floats, other_means: Floats) -> Floats:
    """Return each sample's contribution to the log of each factor, up to a constant."""
    inverse, slope = _inverse_log_mean(means[-1], other_means[-1])
    influence: Floats = samples * inverse + (means - other_means) * slope * samples[:, -1:]
    return influence
