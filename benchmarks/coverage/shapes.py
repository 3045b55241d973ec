"""How made-up runs vary, and what is true of them.

A run takes a number of epochs, drawn from a few, times a lognormal time per epoch. Both are
known, so every ratio, CV and share that `ttastats` estimates has a true value here. Times are
scaled to a mean of 1, so that two shapes have equal means unless a ratio is asked for.
"""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ttastats.stats.unseen import STRAGGLER

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


Size = tuple[int, int]
"""Replicates, and runs of each."""


class Source(Protocol):
    """What runs of one setup come from."""

    @property
    def name(self) -> str:
        """Return its name."""
        ...

    @property
    def evaluation_interval(self) -> float:
        """Return the epochs between two evaluations where a run ends."""
        ...

    def successes(self, size: Size, rng: np.random.Generator) -> tuple[Floats, Floats | None]:
        """Draw times, whose expected value is 1, and epochs if logs tell them."""
        ...


@dataclass(frozen=True, slots=True)
class Shape:
    """How the runs of one setup vary: epochs with their probabilities, CV of time per epoch.

    `cv_epochs` spreads the epochs continuously about those given, as samples or steps do.
    `stragglers` is the share of runs that take `slowed` times as long. `epochs_logged` false
    stands for logs that do not tell epochs: the times alone are seen.
    """

    name: str
    epochs: tuple[float, ...]
    probabilities: tuple[float, ...]
    cv_epoch_time: float
    evaluation_interval: float = 1.0
    epochs_logged: bool = True
    cv_epochs: float = 0.0
    stragglers: float = 0.0
    slowed: float = STRAGGLER

    @property
    def mean_epochs(self) -> float:
        """Return the expected epochs to the target."""
        return self._mean(self.epochs)

    @property
    def sigma(self) -> float:
        """Return the standard deviation of the log of the time per epoch."""
        return _sigma(self.cv_epoch_time)

    @property
    def cv(self) -> float:
        """Return the CV of the time to the target."""
        second = self._mean(tuple(e**2 for e in self.epochs)) / self.mean_epochs**2
        second *= (1 + self.cv_epochs**2) * (1 + self.cv_epoch_time**2)
        slow = (1 + self.stragglers * (self.slowed**2 - 1)) / self._slowness**2
        return math.sqrt(second * slow - 1)

    @property
    def log_mean(self) -> float:
        """Return the expected log of the time to the target, whose mean is 1."""
        spread = self.sigma**2 / 2 + _sigma(self.cv_epochs) ** 2 / 2
        slow = self.stragglers * math.log(self.slowed) - math.log(self._slowness)
        return self._mean_log() - math.log(self.mean_epochs) - spread + slow

    @property
    def share_epochs(self) -> float:
        """Return the share of the variance of log time that is due to epochs."""
        squares = self._mean(tuple(math.log(e) ** 2 for e in self.epochs))
        epochs = squares - self._mean_log() ** 2 + _sigma(self.cv_epochs) ** 2
        slow = self.stragglers * (1 - self.stragglers) * math.log(self.slowed) ** 2
        return epochs / (epochs + self.sigma**2 + slow)

    @property
    def _slowness(self) -> float:
        return 1 + self.stragglers * (self.slowed - 1)

    def _mean(self, values: tuple[float, ...]) -> float:
        return sum(p * v for p, v in zip(self.probabilities, values, strict=True))

    def _mean_log(self) -> float:
        return self._mean(tuple(math.log(e) for e in self.epochs))

    def successes(self, size: Size, rng: np.random.Generator) -> tuple[Floats, Floats | None]:
        """Draw times, whose expected value is 1, and epochs if logs tell them."""
        epochs: Floats = rng.choice(self.epochs, size=size, p=self.probabilities)
        per_epoch = rng.lognormal(-(self.sigma**2) / 2, self.sigma, size=size)
        if self.cv_epochs:
            sigma = _sigma(self.cv_epochs)
            epochs = epochs * rng.lognormal(-(sigma**2) / 2, sigma, size=size)
        if self.stragglers:
            slow = rng.random(size) < self.stragglers
            per_epoch = per_epoch * np.where(slow, self.slowed, 1.0) / self._slowness
        times = epochs / self.mean_epochs * per_epoch
        return times, epochs if self.epochs_logged else None


def _sigma(cv: float) -> float:
    """Return the standard deviation of the log of a lognormal variable."""
    return math.sqrt(math.log1p(cv**2))


CONST = Shape("CONST", (62.0,), (1.0,), 0.0025)
TRF = Shape("TRF", (3.0, 4.0), (0.7, 0.3), 0.0025)
GNMT = Shape("GNMT", (2.0, 3.0), (0.2, 0.8), 0.0025)
RARE10 = Shape("RARE10", (3.0, 4.0), (0.9, 0.1), 0.0025)
RARE03 = Shape("RARE03", (3.0, 4.0), (0.97, 0.03), 0.0025)
SSD = Shape("SSD", (49.0, 55.0, 60.0), (0.3, 0.5, 0.2), 0.0025, evaluation_interval=5.0)
TRF2 = Shape("TRF2", (4.0, 5.0, 6.0, 7.0), (0.5, 0.3, 0.1, 0.1), 0.0025)
LN15 = Shape("LN15", (62.0,), (1.0,), 0.0025, cv_epochs=0.15)
LN45 = Shape("LN45", (62.0,), (1.0,), 0.0025, cv_epochs=0.45)

SHAPES = (CONST, TRF, GNMT, RARE10, RARE03, SSD, TRF2, LN15, LN45)


class Sides(Protocol):
    """Two setups: `ratio` is the mean time of A over that of B, the true speedup of B."""

    @property
    def name(self) -> str:
        """Return the name of the two."""
        ...

    @property
    def a(self) -> Source:
        """Return the source of the runs of A."""
        ...

    @property
    def b(self) -> Source:
        """Return the source of the runs of B."""
        ...

    @property
    def ratio(self) -> float:
        """Return the mean time of a success of A over that of B."""
        ...


@dataclass(frozen=True, slots=True)
class Pair:
    """Two setups of which everything is known, as in :class:`Sides`."""

    a: Shape
    b: Shape
    ratio: float = 1.0

    @property
    def name(self) -> str:
        """Return the names of both shapes, or the name that they share."""
        return self.a.name if self.a == self.b else f"{self.a.name} / {self.b.name}"

    @property
    def throughput(self) -> float:
        """Return the true ratio of mean times per epoch."""
        return self.ratio / self.epochs

    @property
    def epochs(self) -> float:
        """Return the true ratio of mean epochs."""
        return self.a.mean_epochs / self.b.mean_epochs

    @property
    def geometric(self) -> float:
        """Return the true ratio of geometric mean times."""
        return self.ratio * math.exp(self.a.log_mean - self.b.log_mean)


ALIKE = tuple(Pair(shape, shape) for shape in SHAPES)
#: Equal means and different shapes: where methods that assume one shape fail.
MIXED = (Pair(TRF, CONST), Pair(RARE10, CONST), Pair(TRF2, GNMT), Pair(LN15, CONST))


@dataclass(frozen=True, slots=True)
class Failing:
    """Runs that miss the target: how many, and after how many mean times they are stopped."""

    share: float = 0.0
    stopped_at: float = 2.0

    @property
    def expected_time(self) -> float:
        """Return the expected time to a success, in mean times of a success."""
        return 1.0 + self.share * self.stopped_at / (1.0 - self.share)


@dataclass(frozen=True, slots=True, eq=False)
class Runs:
    """Runs of one side. `epochs` is None where unknown, and of failed runs means nothing."""

    times: Floats
    reached: Bools
    epochs: Floats | None
    evaluation_interval: float | None
    clusters: NDArray[np.intp] | None = None
    blocks: NDArray[np.intp] | None = None

    def row(self, index: int) -> Runs:
        """Return one replicate of many."""
        epochs = None if self.epochs is None else self.epochs[index]
        return Runs(self.times[index], self.reached[index], epochs, self.evaluation_interval)


def draw(
    source: Source,
    size: Size,
    rng: np.random.Generator,
    *,
    mean: float = 1.0,
    failing: Failing | None = None,
) -> Runs:
    """Draw (replicates, runs) whose successes take `mean` on average."""
    failing = failing or Failing()
    times, epochs = source.successes(size, rng)
    reached = rng.random(size) >= failing.share
    relative = np.where(reached, times, failing.stopped_at)
    return Runs(mean * relative, reached, epochs, source.evaluation_interval)


def generator(seed: int, *names: str) -> np.random.Generator:
    """Return the random generator of a cell, whichever other cells are measured."""
    return np.random.default_rng([seed, zlib.crc32("|".join(names).encode())])
