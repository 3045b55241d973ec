"""After which night did a series change, when it is looked at every night?

A series is one number a night. The statistic of a look is Student's t of the nights before a split
against those after it, the largest over all splits, of values that are clipped at 2.5 times their
noise round the median (winsorised), so that no outlier makes an alarm. A look raises an alarm where
its p is below a constant, the same every night, which was found by simulation
(`benchmarks/history.py`): the p of a largest t is no p of a test.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from ttastats.stats.fraction import newcombe_difference
from ttastats.stats.quantiles import t_tail, two_sided_t
from ttastats.stats.results import Floats

#: The p of a look that raises an alarm: in 1 of 100 series of 100 unchanged nights, for two
#: continuous series and one of failures together.
ALARM = 10**-5.25
ALARM_OF_FAILURES = 10**-4.55
#: Nights before the first look, after a change as at the beginning, and on each side of a split.
WAIT, SIDE = 10, 3
#: Runs on each side of a split of failures.
_RUNS = 2
#: The level of sets of nights and of intervals.
_CONFIDENCE = 0.95
#: Clipping, and what makes a standard deviation of the median and the mean of absolute differences.
_CLIP, _OF_MEDIAN, _OF_MEAN = 2.5, 0.9539, 1.128
#: Nights for which a change that cannot be seen is told, and the share of such that are found.
UNSEEN_NIGHTS, _POWER = 20, 0.8
#: Lag-1 autocorrelation below which nights count as independent, and the nights that show it.
_ALIKE, _SHOWN = 0.1, 30


@dataclass(frozen=True, slots=True)
class Alarm:
    """A look that raised an alarm: after so many nights, of a change after the night `split`."""

    nights: int
    split: int
    p_value: float


@dataclass(frozen=True, slots=True)
class Change:
    """What the nights known today say of a change.

    It lies after one of the nights `first` to `last` (at 95 %), and as likely before as after
    `median`. `size` is the change of the values, with an interval that allows for the unknown
    night; of a `drift`, which a straight line fits better than any step, that from the first to the
    last of its `nights`. `autocorrelation` is that of successive nights round the change. Of one
    that is not `independent`, false alarms are more frequent than promised.
    """

    split: int
    first: int
    last: int
    median: int
    size: float
    low: float
    high: float
    drift: bool
    autocorrelation: float
    independent: bool
    nights: int


def winsorised(values: ArrayLike) -> Floats:
    """Return series (nights on the last axis) clipped round their medians.

    Differences of nights measure the noise: a change of level leaves them alone.
    """
    x = np.asarray(values, dtype=np.float64)
    gaps = np.abs(np.diff(x))
    noise = np.median(gaps, axis=-1, keepdims=True) / _OF_MEDIAN
    noise = np.where(noise > 0, noise, gaps.mean(axis=-1, keepdims=True) / _OF_MEAN)
    centre = np.median(x, axis=-1, keepdims=True)
    return np.clip(x, centre - _CLIP * noise, centre + _CLIP * noise)


def split_statistics(clipped: Floats) -> tuple[Floats, Floats, Floats]:
    """Return all splits, the residual sums of squares of each, and Student's t of each."""
    n = clipped.shape[-1]
    splits = np.arange(SIDE, n - SIDE + 1)
    y = _centred(clipped)
    total = (y * y).sum(axis=-1, keepdims=True)
    before = np.cumsum(y, axis=-1)[..., SIDE - 1 : n - SIDE]
    between = before**2 * n / (splits * (n - splits))
    inside = np.maximum(total - between, 1e-9 * total + 1e-300)
    return splits, inside, np.sqrt((n - 2) * between / inside)


def _centred(values: Floats) -> Floats:
    """Return values without their mean; equal ones are zeros, not what rounding leaves of them."""
    y: Floats = values - values[..., :1]
    return np.asarray(y - y.mean(axis=-1, keepdims=True))


def change_test(values: ArrayLike) -> tuple[float, int]:
    """Return the p of the largest t over all splits, and the split."""
    x = np.asarray(values, dtype=np.float64)
    splits, _, t = split_statistics(winsorised(x))
    best = int(t.argmax())
    return 2 * t_tail(x.size - 2.0, float(t[best])), int(splits[best])


def failure_change_test(failed: Sequence[int], runs: Sequence[int]) -> tuple[float, int]:
    """Return the smallest p over all splits by Fisher's exact test of failures, and the split.

    It is the doubled smaller tail of the hypergeometric distribution, and 1 without such a split.
    """
    n, a = (np.cumsum(each)[:-1] for each in (runs, failed))
    total, bad = int(np.sum(runs)), int(np.sum(failed))
    known = (n >= _RUNS) & (total - n >= _RUNS)
    if not known.any() or not bad:
        return 1.0, 0
    from scipy.stats import hypergeom  # takes a second to import

    tails = np.minimum(hypergeom.cdf(a, total, bad, n), hypergeom.sf(a - 1, total, bad, n))
    p = np.where(known, np.minimum(1.0, 2 * tails), np.inf)
    best = int(p.argmin())
    return float(p[best]), best + 1


def find_alarms(
    nights: int, p_of: Callable[[int, int], tuple[float, int]], level: float
) -> list[Alarm]:
    """Return the alarms of a test made after every night; each starts the series anew.

    `p_of` gives the p and the split of the nights from one number up to another.
    """
    raised: list[Alarm] = []
    start = 0
    for end in range(WAIT, nights + 1):
        if end - start < WAIT:
            continue
        p_value, split = p_of(start, end)
        if p_value < level:
            raised.append(Alarm(end, start + split, p_value))
            start += split
    return raised


def find_changes(values: ArrayLike) -> list[tuple[Alarm, Change]]:
    """Return the alarms of a continuous series, each with the change as all nights show it."""
    x = np.asarray(values, dtype=np.float64)
    raised = find_alarms(x.size, lambda start, end: change_test(x[start:end]), ALARM)
    return _with_changes(raised, x.size, lambda start, end: locate_change(x[start:end]))


def find_changes_of_failures(
    failed: Sequence[int], runs: Sequence[int]
) -> list[tuple[Alarm, Change]]:
    """Return the alarms of a series of failure counts, each with its change."""

    def part(start: int, end: int) -> tuple[Sequence[int], Sequence[int]]:
        return failed[start:end], runs[start:end]

    raised = find_alarms(
        len(runs), lambda start, end: failure_change_test(*part(start, end)), ALARM_OF_FAILURES
    )
    return _with_changes(
        raised, len(runs), lambda start, end: locate_change_of_failures(*part(start, end))
    )


def _with_changes(
    raised: Sequence[Alarm], nights: int, change_of: Callable[[int, int], Change]
) -> list[tuple[Alarm, Change]]:
    """Return each alarm with the change between the alarm before it and the one after."""
    starts = [0, *(alarm.split for alarm in raised)]
    ends = [*(alarm.split for alarm in raised[1:]), nights]
    every = []
    for alarm, start, end in zip(raised, starts, ends, strict=False):
        of_part = change_of(start, end)
        names = ("split", "first", "last", "median")
        places = {name: getattr(of_part, name) + start for name in names}
        every.append((alarm, replace(of_part, **places)))
    return every


def locate_change(values: ArrayLike) -> Change:
    """Return when the one change in a series happened and how large it is: a step or a drift."""
    x = np.asarray(values, dtype=np.float64)
    y, n = winsorised(x), x.size
    splits, inside, t = split_statistics(y)
    best = int(inside.argmin())
    # Of a flat prior for the night and the levels, and one over the noise for that.
    log = -(n - 2) / 2 * np.log(inside / inside[best]) - 0.5 * np.log(splits * (n - splits) / n)
    weights = np.exp(log - log.max())
    weights /= weights.sum()
    within = _credible_set(weights)
    median = int(np.searchsorted(np.cumsum(weights), 0.5))
    night = np.arange(n) / (n - 1) - 0.5  # the slope is the change from the first to the last
    slope = float(night @ y / (night @ night))
    drift = bool(np.sum((y - y.mean() - slope * night) ** 2) < inside[best])
    split = int(splits[best])
    if drift:
        sizes = [_drift_size(x, night)]
    else:
        sizes = [_step_size(x, int(splits[place])) for place in (best, *within)]
    r = _autocorrelation(y, split)
    return Change(
        split, int(splits[within.min()]), int(splits[within.max()]), int(splits[median]),
        sizes[0][0], min(low for _, low, _ in sizes), max(high for _, _, high in sizes), drift,
        r, _false_alarms_hold(float(t[best]), r, n), n,
    )  # fmt: skip


def _step_size(x: Floats, split: int) -> tuple[float, float, float]:
    """Return the step in the mean at a split, with its interval."""
    a, b = x[:split], x[split:]
    inside = float(((a - a.mean()) ** 2).sum() + ((b - b.mean()) ** 2).sum())
    se = math.sqrt(inside / (x.size - 2) * (1 / a.size + 1 / b.size))
    size, half = float(b.mean() - a.mean()), two_sided_t(x.size - 2, _CONFIDENCE) * se
    return size, size - half, size + half


def _drift_size(x: Floats, night: Floats) -> tuple[float, float, float]:
    """Return the change along a straight line, with its interval."""
    slope = float(night @ x / (night @ night))
    inside = float(np.sum((x - x.mean() - slope * night) ** 2))
    half = two_sided_t(x.size - 2, _CONFIDENCE) * math.sqrt(
        inside / (x.size - 2) / float(night @ night)
    )
    return slope, slope - half, slope + half


def _autocorrelation(y: Floats, split: int) -> float:
    """Return the lag-1 autocorrelation round the means of both sides, corrected for bias."""
    parts = [y[:split], y[split:]]
    e = np.concatenate([_centred(part) for part in parts if part.size])
    if not float(e @ e):
        return 0.0
    r = float(e[1:] @ e[:-1] / (e @ e))
    return r + (2 + 4 * max(r, 0.0)) / e.size


def _false_alarms_hold(t: float, r: float, n: int) -> bool:
    """Return whether the false alarm rate holds: nights are independent, or t allows for it."""
    if n >= _SHOWN and r < _ALIKE:
        return True
    r = min(max(r + 1 / math.sqrt(n), 0.0), 0.9)
    return 2 * t_tail(n - 2.0, t / math.sqrt((1 + r) / (1 - r))) < ALARM


def shown_autocorrelation(values: ArrayLike, splits: Sequence[int]) -> float | None:
    """Return the lag-1 autocorrelation round segment means if it is significant, else None."""
    x = np.asarray(values, dtype=np.float64)
    ends = [*splits, x.size]
    if x.size < WAIT:
        return None
    parts = (x[a:b] for a, b in zip([0, *splits], ends, strict=True) if b - a > 1)
    y = np.concatenate([_centred(winsorised(part)) for part in parts])
    r = _autocorrelation(y, y.size)
    return r if r > 1.65 / math.sqrt(y.size) else None


def night_noise(values: ArrayLike, splits: Sequence[int]) -> float | None:
    """Return the standard deviation of nights round segment means, outliers clipped."""
    x = np.asarray(values, dtype=np.float64)
    parts = [x[a:b] for a, b in zip([0, *splits], [*splits, x.size], strict=True) if b - a > 1]
    df = sum(part.size - 1 for part in parts)
    if not df:
        return None
    squares = sum(float((y := _centred(winsorised(part))) @ y) for part in parts)
    return math.sqrt(squares / df)


def detectable_change(noise: float, nights: int) -> float:
    """Return the change found with 80 % power within 20 nights after so many nights.

    The largest t of a look is at least that at the change, so that this is a little too large.
    """
    after = UNSEEN_NIGHTS
    critical = -float(special.stdtrit(nights + after - 2, ALARM / 2))
    return noise * (critical + float(special.ndtri(_POWER))) * math.sqrt(1 / nights + 1 / after)


def locate_change_of_failures(failed: Sequence[int], runs: Sequence[int]) -> Change:
    """Return after which night the share of failed runs changed, and by how much.

    The weight of a night is its likelihood, averaged over both shares (Jeffreys' prior).
    """
    bad, n = np.cumsum(failed), np.cumsum(runs)
    splits = np.flatnonzero((n >= _RUNS) & (n[-1] - n >= _RUNS)) + 1
    before, of = bad[splits - 1], n[splits - 1]
    after, rest = bad[-1] - before, n[-1] - of
    sides = ((before, of), (after, rest))
    log = np.sum([special.betaln(f + 0.5, t - f + 0.5) for f, t in sides], axis=0)
    weights = np.exp(log - log.max())
    weights /= weights.sum()
    within = _credible_set(weights)
    counts = [[int(each[i]) for each in (after, rest, before, of)] for i in within]
    sizes = [newcombe_difference(*each) for each in counts]
    return Change(
        int(splits[within[0]]), int(splits[within.min()]), int(splits[within.max()]),
        int(splits[np.searchsorted(np.cumsum(weights), 0.5)]), sizes[0].estimate or 0.0,
        min(size.low or 0.0 for size in sizes), max(size.high or 0.0 for size in sizes),
        drift=False,
        autocorrelation=0.0, independent=True, nights=len(runs),
    )  # fmt: skip


def _credible_set(weights: Floats) -> NDArray[np.intp]:
    """Return the fewest indices whose weights sum to 95 %, the largest first."""
    ranked = np.argsort(-weights, kind="stable")
    return ranked[: int(np.searchsorted(np.cumsum(weights[ranked]), _CONFIDENCE)) + 1]
