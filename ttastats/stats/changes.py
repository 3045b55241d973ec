"""After which night did a series change, when it is looked at every night?

A series is one number a night. The statistic of a look is the largest Student's t over all splits
into the nights before and after, of values that are clipped at 2.5 times their noise round the
median (winsorised). A look raises an alarm where its p is below a constant that was found by
simulation (`benchmarks/history.py`): the p of a largest t is no p of a test.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import ArrayLike, NDArray
from scipy import special

from ttastats.stats.moments import t_tail, two_sided_t
from ttastats.stats.outcomes import newcombe_difference
from ttastats.stats.results import Floats

#: The p of a look that raises an alarm: in 1 of 100 series of 100 unchanged nights, for two
#: continuous series and one of failures together.
ALARM = 10**-5.25
ALARM_OF_FAILURES = 10**-4.55
#: The p above which the nights before a new alarm hold no change: that of the last came later.
_NO_CHANGE = 10**-4
#: Nights before the first look, after a change as at the beginning, and on each side of a split.
WAIT, SIDE = 10, 3
#: Nights after a change for which a gate waits: four bad ones look like a change until they end.
LASTS = 7
#: Runs on each side of a split of failures.
_RUNS = 2
#: Clipping, and what makes a standard deviation of the median and the mean of absolute differences.
_CLIP, _OF_MEDIAN, _OF_MEAN = 2.5, 0.9539, 1.128
#: How much farther a night counts where a change is located: beyond 4 times the noise it is an
#: outlier on either side of a split. At 2.5 times it would hide which night a large step came in.
_FAR = 1.6
#: Nights for which a change that cannot be seen is told, and the share of such that are found.
UNSEEN_NIGHTS, _POWER = 20, 0.8
#: Lag-1 autocorrelation below which nights count as independent, and the nights that show it.
_ALIKE, _NIGHTS = 0.1, 30


Standing = Literal["new", "shows", "fades"]


class Change(Struct, frozen=True):
    """What the nights known today say of a change.

    It lies after one of the nights `first` to `last`, at the confidence of the interval, and as
    likely before as after `median`. The interval of `size` allows for the unknown night; of a
    `drift`, which a straight line fits better than any step, it is the change from the first to the
    last of its `nights`.
    Where these are not `independent`, false alarms are more frequent than promised. The look after
    so many nights raised the `alarm`, placed it before the night `announced`, and `p_value` is its
    p. It is `new` until it has lasted some nights; then a look at the nights known today `shows` it
    too, or it `fades`.
    """

    split: int
    first: int
    last: int
    median: int | None
    size: float
    low: float
    high: float
    drift: bool
    autocorrelation: float | None
    independent: bool
    nights: int
    alarm: int | None = None
    p_value: float | None = None
    announced: int | None = None
    standing: Standing = "shows"


def winsorised(values: ArrayLike) -> Floats:
    """Return series (nights on the last axis) clipped round their medians."""
    x = np.asarray(values, dtype=np.float64)
    return _clipped(x, _reach(x))


def _reach(x: Floats) -> Floats:
    """Return how far from the median a night counts, by the differences of successive nights."""
    gaps = np.abs(np.diff(x))
    noise = np.median(gaps, axis=-1, keepdims=True) / _OF_MEDIAN
    return _CLIP * np.where(noise > 0, noise, gaps.mean(axis=-1, keepdims=True) / _OF_MEAN)


def _clipped(x: Floats, reach: Floats) -> Floats:
    centre = np.median(x, axis=-1, keepdims=True)
    return np.clip(x, centre - reach, centre + reach)


def split_statistics(clipped: Floats) -> tuple[Floats, Floats, Floats]:
    """Return all splits, the residual sums of squares of each, and Student's t of each."""
    n = clipped.shape[-1]
    splits = np.arange(SIDE, n - SIDE + 1)
    y = _centred(clipped)
    total = (y * y).sum(axis=-1, keepdims=True)
    sums_before = np.cumsum(y, axis=-1)[..., SIDE - 1 : n - SIDE]
    ss_between = sums_before**2 * n / (splits * (n - splits))
    ss_within = np.maximum(total - ss_between, 1e-9 * total + 1e-300)
    return splits, ss_within, np.sqrt((n - 2) * ss_between / ss_within)


def _centred(values: Floats) -> Floats:
    """Return values without their mean; equal ones are zeros, not what rounding leaves of them."""
    y = values - values[..., :1]
    return np.asarray(y - y.mean(axis=-1, keepdims=True), np.float64)


def change_test(values: ArrayLike) -> tuple[float, int]:
    """Return the p of the largest t over all splits, and the split."""
    x = np.asarray(values, dtype=np.float64)
    splits, _, t = split_statistics(winsorised(x))
    best = int(t.argmax())
    return 2 * t_tail(x.size - 2.0, float(t[best])), int(splits[best])


def failure_change_test(failed: Sequence[int], runs: Sequence[int]) -> tuple[float, int]:
    """Return the smallest p over all splits by Fisher's exact test of failures, and the split."""
    n, a = (np.cumsum(counts)[:-1] for counts in (runs, failed))
    total, n_failed = int(np.sum(runs)), int(np.sum(failed))
    is_testable = (n >= _RUNS) & (total - n >= _RUNS)
    if not is_testable.any() or not n_failed:
        return 1.0, 0
    from scipy.stats import hypergeom  # takes a second to import

    tails = np.minimum(
        hypergeom.cdf(a, total, n_failed, n), hypergeom.sf(a - 1, total, n_failed, n)
    )
    p = np.where(is_testable, np.minimum(1.0, 2 * tails), np.inf)
    best = int(p.argmin())
    return float(p[best]), best + 1


def find_changes(values: ArrayLike, confidence: float) -> list[Change]:
    """Return the changes of a continuous series, each with its alarm."""
    x = np.asarray(values, dtype=np.float64)
    return _find_changes((x,), change_test, locate_change, ALARM, confidence)


def find_changes_of_failures(
    failed: Sequence[int], runs: Sequence[int], confidence: float
) -> list[Change]:
    """Return the changes of a series of failure counts, each with its alarm."""
    tests = (failure_change_test, locate_change_of_failures)
    return _find_changes((failed, runs), *tests, ALARM_OF_FAILURES, confidence)


def _find_changes(
    series: Sequence[Any],
    test: Callable[..., tuple[float, int]],
    locate: Callable[..., Change],
    level: float,
    confidence: float,
) -> list[Change]:
    """Return the changes of a series tested after every night.

    `test` gives the p and the split of some nights. An alarm starts the series anew. Where the
    nights before the next alarm's split hold no change, its change is that of the alarm before,
    which was placed too early by the few nights known then. A change is located among all nights
    between its neighbours.
    """

    def nights(start: int, end: int) -> list[Any]:
        return [values[start:end] for values in series]

    splits, alarms = [0], list[dict[str, Any]]()
    for end in range(WAIT, len(series[0]) + 1):
        if end - splits[-1] < WAIT:
            continue
        p_value = test(*(data := nights(splits[-1], end)))[0]
        if p_value >= level:
            continue
        split = splits[-1] + locate(*data, confidence).split
        if alarms and test(*nights(splits[-2], split))[0] > _NO_CHANGE:
            splits[-1] = split
            continue
        splits.append(split)
        alarms.append({"alarm": end, "p_value": p_value, "announced": split})
    changes = []
    for alarm, start, end in zip(alarms, splits, [*splits[2:], len(series[0])], strict=False):
        change = locate(*nights(start, end), confidence)
        standing: Standing = "new"
        if end - start - change.split >= LASTS:
            standing = "shows" if test(*nights(start, end))[0] < level else "fades"
        names = ("split", "first", "last", "median")
        positions = {name: getattr(change, name) + start for name in names}
        changes.append(replace(change, **alarm, **positions, standing=standing))
    return changes


def locate_change(values: ArrayLike, confidence: float) -> Change:
    """Return the night and the size of the one change in a series: a step or a drift."""
    x = np.asarray(values, dtype=np.float64)
    reach, n = _reach(x), x.size
    y = _clipped(x, reach)
    splits, flat, t = split_statistics(y)
    # Round the median of all nights, the few after a large step would be clipped to a small one.
    farthest = _FAR * reach
    around = [[_centred(_clipped(side, farthest)) for side in np.split(x, [at])] for at in splits]
    ss_within = np.array([sum(float(side @ side) for side in sides) for sides in around])
    ss_within = np.maximum(ss_within, 1e-9 * float(np.sum(_centred(x) ** 2)) + 1e-300)
    best = int(ss_within.argmin())
    # Of a flat prior for the night and the levels, and one over the noise for that.
    log = -(n - 2) / 2 * np.log(ss_within / ss_within[best]) - 0.5 * np.log(
        splits * (n - splits) / n
    )
    within, median = _credible_set(log, confidence)
    night = np.arange(n) / (n - 1) - 0.5  # the slope is the change from the first to the last
    slope = float(night @ y / (night @ night))
    drift = bool(np.sum((y - y.mean() - slope * night) ** 2) < flat[best])
    split = int(splits[best])
    shapes = [night] if drift else [np.arange(n) >= splits[i] for i in (best, *within)]
    sizes = [_fitted_size(x, _centred(shape.astype(np.float64)), confidence) for shape in shapes]
    r = _autocorrelation(y, split)
    # The false alarm rate holds where nights are independent, or t allows for how they are not.
    highest = min(max(r + 1 / math.sqrt(n), 0.0), 0.9)
    corrected = float(t[best]) / math.sqrt((1 + highest) / (1 - highest))
    independent = (n >= _NIGHTS and r < _ALIKE) or 2 * t_tail(n - 2.0, corrected) < ALARM
    return Change(
        split, int(splits[within.min()]), int(splits[within.max()]), int(splits[median]),
        sizes[0][0], min(low for _, low, _ in sizes), max(high for _, _, high in sizes), drift,
        r, independent, n,
    )  # fmt: skip


def _fitted_size(x: Floats, shape: Floats, confidence: float) -> tuple[float, float, float]:
    """Return the size of a change of some shape, whose mean is 0, with its interval."""
    size, df = float(shape @ x / (shape @ shape)), x.size - 2
    ss_residual = float(np.sum((x - x.mean() - size * shape) ** 2))
    half = two_sided_t(df, confidence) * math.sqrt(ss_residual / df / float(shape @ shape))
    return size, size - half, size + half


def _autocorrelation(y: Floats, split: int) -> float:
    """Return the lag-1 autocorrelation round the means of both sides, corrected for bias."""
    parts = [y[:split], y[split:]]
    e = np.concatenate([_centred(part) for part in parts if part.size])
    if not float(e @ e):
        return 0.0
    r = float(e[1:] @ e[:-1] / (e @ e))
    return r + (2 + 4 * max(r, 0.0)) / e.size


def shown_autocorrelation(values: ArrayLike, splits: Sequence[int]) -> float | None:
    """Return the lag-1 autocorrelation round segment means if it is significant, else None."""
    if np.size(values) < WAIT:
        return None
    y = np.concatenate(_residuals(values, splits))
    r = _autocorrelation(y, y.size)
    return r if r > 1.65 / math.sqrt(y.size) else None


def night_noise(values: ArrayLike, splits: Sequence[int]) -> float | None:
    """Return the standard deviation of nights round segment means, outliers clipped."""
    parts = _residuals(values, splits)
    df = sum(part.size - 1 for part in parts)
    return math.sqrt(sum(float(part @ part) for part in parts) / df) if df else None


def _residuals(values: ArrayLike, splits: Sequence[int]) -> list[Floats]:
    """Return the nights of each segment of two or more round its mean, outliers clipped."""
    segments = np.split(np.asarray(values, dtype=np.float64), splits)
    return [_centred(winsorised(part)) for part in segments if part.size > 1]


def detectable_change(noise: float, nights: int) -> float:
    """Return the change found with at least 80 % power within 20 nights after so many nights."""
    n_after = UNSEEN_NIGHTS
    critical = -float(special.stdtrit(nights + n_after - 2, ALARM / 2))
    return noise * (critical + float(special.ndtri(_POWER))) * math.sqrt(1 / nights + 1 / n_after)


def locate_change_of_failures(
    failed: Sequence[int], runs: Sequence[int], confidence: float
) -> Change:
    """Return after which night the share of failed runs changed, and by how much.

    The weight of a night is its likelihood, averaged over both shares (Jeffreys' prior).
    """
    failures, n = np.cumsum(failed), np.cumsum(runs)
    splits = np.flatnonzero((n >= _RUNS) & (n[-1] - n >= _RUNS)) + 1
    failed_before, runs_before = failures[splits - 1], n[splits - 1]
    failed_after, runs_after = failures[-1] - failed_before, n[-1] - runs_before
    sides = ((failed_before, runs_before), (failed_after, runs_after))
    log = np.sum([special.betaln(f + 0.5, t - f + 0.5) for f, t in sides], axis=0)
    within, median = _credible_set(log, confidence)
    counts = [
        [int(numbers[i]) for numbers in (failed_after, runs_after, failed_before, runs_before)]
        for i in within
    ]
    sizes = [newcombe_difference(*numbers, confidence=confidence) for numbers in counts]
    return Change(
        int(splits[within[0]]), int(splits[within.min()]), int(splits[within.max()]),
        int(splits[median]), sizes[0].estimate or 0.0,
        min(size.low or 0.0 for size in sizes), max(size.high or 0.0 for size in sizes),
        drift=False,
        autocorrelation=0.0, independent=True, nights=len(runs),
    )  # fmt: skip


def _credible_set(log: Floats, confidence: float) -> tuple[NDArray[np.intp], int]:
    """Return the fewest splits that hold such a weight, the largest first, and the median."""
    weights = np.exp(log - log.max())
    weights /= weights.sum()
    ranked = np.argsort(-weights, kind="stable")
    within = ranked[: int(np.searchsorted(np.cumsum(weights[ranked]), confidence)) + 1]
    return within, int(np.searchsorted(np.cumsum(weights), 0.5))
