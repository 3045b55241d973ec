"""What was measured: rates with their Monte-Carlo error, and which of them break a promise."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from benchmarks.coverage.judging import Limits, Mark, mark
from ttastats.stats.decision import Decision

#: What a rate promises: to cover at least 94 %, to claim falsely at most 6 %, or nothing. What is
#: "excluded" is so by what every claim assumes: that further runs are like those seen.
Kind = Literal["coverage", "false claim", "excluded", "no promise"]

#: What false claims promise, by their mark.
UNMARKED: Mapping[Mark, Kind] = {"": "false claim", "‡": "no promise", "†": "no promise"}
#: The same of runs whose fault a sample may not hold.
UNSEEN: Mapping[Mark, Kind] = {"": "excluded", "‡": "no promise", "†": "no promise"}
#: The same where no run can fail or straggle, so that the condition of ‡ is true.
STEADY: Mapping[Mark, Kind] = {"": "false claim", "‡": "false claim", "†": "no promise"}
#: Claims that are not false.
FREE: Mapping[Mark, Kind] = {"": "no promise", "‡": "no promise", "†": "no promise"}

LEAST_COVERAGE = 0.94
MOST_FALSE_CLAIMS = 0.06


@dataclass(frozen=True, slots=True)
class Rate:
    """A share of trials and its standard error; `trials` is 0 for one computed exactly."""

    value: float
    se: float
    trials: int


@dataclass(frozen=True, slots=True)
class Figure:
    """One cell of a table: what was measured, of which setups, with how many runs a side."""

    quantity: str
    setup: str
    runs: str
    rate: Rate | None
    kind: Kind


def rate(hits: int, trials: int) -> Rate | None:
    """Return the rate of independent trials, or None without trials."""
    if not trials:
        return None
    value = hits / trials
    return Rate(value, math.sqrt(value * (1 - value) / trials), trials)


def by_mark(
    quantity: str,
    setup: str,
    runs: str,
    verdicts: Sequence[Decision],
    counts: Callable[[Decision], bool],
    kinds: Mapping[Mark, Kind] = UNMARKED,
) -> Iterator[Figure]:
    """Yield how often a claim was made without a mark, with ‡ alone and with †."""
    marks = [mark(verdict) for verdict in verdicts if counts(verdict)]
    for word, kind in kinds.items():
        hits = rate(marks.count(word), len(verdicts))
        yield Figure(f"{quantity} {word}".strip(), setup, runs, hits, kind)


def clustered_rate(hits: Sequence[int], trials: Sequence[int]) -> Rate | None:
    """Return the mean rate of groups whose trials share their data; its error is that of groups.

    Of a few groups that happen to agree it is not less than that of independent trials.
    """
    rates = [h / t for h, t in zip(hits, trials, strict=True) if t]
    if not rates:
        return None
    value = float(np.mean(rates))
    least = math.sqrt(value * (1 - value) / sum(trials))
    between = float(np.std(rates, ddof=1)) / math.sqrt(len(rates)) if len(rates) > 1 else math.inf
    return Rate(value, max(least, between), sum(trials))


def covers(interval: Limits, truth: float) -> bool:
    """Whether an interval holds the truth; one of zero width may differ in the last digit."""
    low, high = interval
    return low * (1 - 1e-12) <= truth <= high * (1 + 1e-12)


def breaks_promise(figure: Figure) -> bool:
    """Whether a figure misses what its kind promises."""
    if figure.rate is None:
        return False
    if figure.kind == "coverage":
        return figure.rate.value < LEAST_COVERAGE
    return figure.kind == "false claim" and figure.rate.value > MOST_FALSE_CLAIMS


def could_be_chance(figure: Figure) -> bool:
    """Whether a broken promise lies within two standard errors of being kept."""
    if figure.rate is None:
        return False
    goal = LEAST_COVERAGE if figure.kind == "coverage" else MOST_FALSE_CLAIMS
    # Of a file both are rounded, so that the limit itself may differ in the last digit.
    return abs(figure.rate.value - goal) <= 2 * figure.rate.se + 1e-9
