"""What more accelerators buy: speedup, efficiency, and where efficiency is lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ttastats.stats.logratio import combine_terms
from ttastats.stats.outcomes import Outcomes, time_term
from ttastats.stats.results import Estimate, Floats, Ratio
from ttastats.stats.speedup import ratio_of_geometric_means, ratio_of_means


@dataclass(frozen=True, slots=True, eq=False)
class ScalePoint:
    """Runs on one number of accelerators: seconds and epochs to target, shape (n,)."""

    accelerators: int
    times: Floats
    epochs: Floats


@dataclass(frozen=True, slots=True)
class Scaling:
    """One scale against the base; efficiencies are fractions, 1 for a perfect scaling.

    ``efficiency`` is that of the ratio of means; in geometric means it is
    ``throughput_efficiency`` x ``statistical_efficiency`` exactly.
    """

    speedup: Ratio
    efficiency: Ratio
    throughput_speedup: Ratio
    throughput_efficiency: Ratio
    statistical_efficiency: Ratio


def compare_scale(base: ScalePoint, point: ScalePoint) -> Scaling:
    """Return speedup and efficiency of one scale over the base: S(N) = T(N0) / T(N), S N0/N.

    Statistical efficiency is epochs(N0) / epochs(N): what larger batches cost.
    """
    fair = base.accelerators / point.accelerators
    speedup = ratio_of_means(base.times, point.times)
    per_epoch = (base.times / base.epochs, point.times / point.epochs)
    throughput = ratio_of_geometric_means(*per_epoch)
    epochs = ratio_of_geometric_means(base.epochs, point.epochs)
    return Scaling(
        speedup=speedup,
        efficiency=_scale_ratio(speedup, fair),
        throughput_speedup=throughput,
        throughput_efficiency=_scale_ratio(throughput, fair),
        statistical_efficiency=epochs,
    )


def _scale_ratio(ratio: Ratio, factor: float) -> Ratio:
    """Return a ratio times a known number, without its p of "the ratio is 1"."""

    def times(value: float | None) -> float | None:
        return None if value is None else value * factor

    return replace(
        ratio,
        estimate=times(ratio.estimate),
        low=times(ratio.low),
        high=times(ratio.high),
        p_value=None,
    )


def loglog_slope(accelerators: Sequence[int], sides: Sequence[Outcomes]) -> Estimate:
    """Return the slope of log speedup over log accelerators: 1 is linear scaling, 0 is none.

    Least squares through the log mean times of the runs of each number of accelerators, of which
    failed ones count (ERT). The interval carries
    the variances of those means (delta method, Satterthwaite df) and no lack of fit. None with
    fewer than two different scales.
    """
    confidence = 0.95
    runs = sum(side.n for side in sides)
    if len(set(accelerators)) < 2:
        return Estimate(None, None, None, confidence, runs)
    x = np.log(np.asarray(accelerators, dtype=np.float64))
    weights = -(x - x.mean()) / np.sum((x - x.mean()) ** 2)
    terms = [time_term(side) for side in sides]
    slope = float(np.dot(weights, np.log([term.estimate for term in terms])))
    weighted = [
        replace(term, variance=None if term.variance is None else weight**2 * term.variance)
        for term, weight in zip(terms, weights.tolist(), strict=True)
    ]
    half = combine_terms(slope, weighted, confidence).half_width
    if half is None:
        return Estimate(slope, None, None, confidence, runs)
    return Estimate(slope, slope - half, slope + half, confidence, runs)
