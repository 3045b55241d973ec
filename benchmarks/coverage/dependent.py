"""Runs whose times depend on their epochs, on their session or on their system."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.coverage.shapes import Floats, Shape, Size


@dataclass(frozen=True, slots=True)
class StartUp:
    """Runs that start up first, for `epochs` epochs on average with a CV of 50 %."""

    run: Shape
    epochs: float

    @property
    def name(self) -> str:
        """Return its name."""
        return f"{self.run.name}, start-up of {self.epochs:g} epochs"

    @property
    def evaluation_interval(self) -> float:
        """Return the epochs between two evaluations."""
        return self.run.evaluation_interval

    def successes(self, size: Size, rng: np.random.Generator) -> tuple[Floats, Floats | None]:
        """Draw times, whose expected value is 1, and epochs."""
        times, epochs = self.run.successes(size, rng)
        start = self.epochs * rng.gamma(4.0, 0.25, size)
        mean = self.run.mean_epochs
        return (start + times * mean) / (self.epochs + mean), epochs


@dataclass(frozen=True, slots=True)
class Throttled:
    """Runs whose epochs take longer, by `growth` of their time, with every epoch more."""

    run: Shape
    growth: float

    @property
    def name(self) -> str:
        """Return its name."""
        return f"{self.run.name}, epochs {self.growth:.0%} slower per epoch more"

    @property
    def evaluation_interval(self) -> float:
        """Return the epochs between two evaluations."""
        return self.run.evaluation_interval

    def successes(self, size: Size, rng: np.random.Generator) -> tuple[Floats, Floats | None]:
        """Draw times, whose expected value is 1, and epochs."""
        times, epochs = self.run.successes(size, rng)
        if epochs is None:
            raise ValueError("epochs are needed")
        values = np.array(self.run.epochs)
        costs = values * self._slowness(values)
        mean = float(costs @ np.array(self.run.probabilities)) / self.run.mean_epochs
        return times * self._slowness(epochs) / mean, epochs

    def _slowness(self, epochs: Floats) -> Floats:
        return 1 + self.growth * (epochs - self.run.epochs[0])


@dataclass(frozen=True, slots=True)
class Session:
    """All runs of a side in one session, which makes everything a little slower or faster."""

    run: Shape
    cv: float

    @property
    def name(self) -> str:
        """Return its name."""
        return f"{self.run.name}, runs vary by {self.run.cv_epoch_time:.1%}, sessions {self.cv:.1%}"

    @property
    def evaluation_interval(self) -> float:
        """Return the epochs between two evaluations."""
        return self.run.evaluation_interval

    def successes(self, size: Size, rng: np.random.Generator) -> tuple[Floats, Floats | None]:
        """Draw times, whose expected value is 1, and epochs."""
        times, epochs = self.run.successes(size, rng)
        return times * _lognormal(self.cv, (size[0], 1), rng), epochs


@dataclass(frozen=True, slots=True)
class Systems:
    """Pooled systems that differ, with the same number of runs each, one system after another."""

    run: Shape
    systems: int
    cv: float

    @property
    def name(self) -> str:
        """Return its name."""
        return f"{self.systems} systems"

    @property
    def evaluation_interval(self) -> float:
        """Return the epochs between two evaluations."""
        return self.run.evaluation_interval

    def successes(self, size: Size, rng: np.random.Generator) -> tuple[Floats, Floats | None]:
        """Draw times, whose expected value is 1, and epochs."""
        times, epochs = self.run.successes(size, rng)
        factors = _lognormal(self.cv, (size[0], self.systems), rng)
        return times * np.repeat(factors, size[1] // self.systems, axis=1), epochs


def _lognormal(cv: float, size: Size, rng: np.random.Generator) -> Floats:
    """Draw lognormal factors of mean 1."""
    sigma = float(np.sqrt(np.log1p(cv**2)))
    return rng.lognormal(-(sigma**2) / 2, sigma, size)
