"""How often `effects` is right: intervals of settings in thirty designs, and tests of failures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from benchmarks.coverage.figures import Figure, Kind, rate
from benchmarks.coverage.shapes import Floats, generator
from benchmarks.coverage.simulations import Plan
from ttastats.stats.effects import Design, Setting, fit_part, setting_p_values

Cells = Sequence[tuple[int, ...]]
Noise = Callable[[np.random.Generator, int], Floats]
#: The deviation of the log of a run.
SIGMA = 0.03


def _normal(rng: np.random.Generator, n: int) -> Floats:
    return rng.standard_normal(n)


def _heavy(rng: np.random.Generator, n: int) -> Floats:
    return rng.standard_t(5, n) / np.sqrt(5 / 3)


def _skewed(rng: np.random.Generator, n: int) -> Floats:
    return (rng.gamma(2.0, 1.0, n) - 2) / np.sqrt(2)


@dataclass(frozen=True, slots=True)
class Case:
    """Runs by the levels of settings; the effect of the first is asked about, and is none.

    `numbers` act by doublings. Runs of a level of the first setting deviate `noisy` times as much
    as those of the level before. Sessions vary by `between` times what runs do.
    """

    name: str
    cells: Cells
    numbers: tuple[int, ...] = ()
    noisy: float = 1.0
    noise: Noise = _normal
    sessions: NDArray[np.intp] | None = None
    between: float = 0.0
    nested: bool = False
    pairs: tuple[tuple[int, int], ...] = ()
    kind: Kind = "coverage"
    whole: bool = field(default=False)

    @property
    def design(self) -> Design:
        """Return the design as the program makes it."""
        columns = np.array(self.cells).T
        settings = tuple(
            Setting(levels, levels.astype(float) if number in self.numbers else None)
            for number, levels in enumerate(columns)
        )
        return Design(settings, self.pairs, self.sessions, self.nested)

    def drawn(self, rng: np.random.Generator) -> Floats:
        """Return the logs of a replicate; other settings change them by a quarter a level."""
        levels = np.array(self.cells)
        y = SIGMA * self.noisy ** levels[:, 0] * self.noise(rng, len(levels))
        y += np.log(1.25) * levels[:, 1:].sum(axis=1)
        if self.sessions is not None:
            effects = self.between * SIGMA * rng.standard_normal(int(self.sessions.max()) + 1)
            y += effects[self.sessions]
        # Epochs are whole, about twenty of them.
        return np.log(np.round(20 * np.exp(y))) if self.whole else y


def _grid(*sizes: int, runs: int) -> list[tuple[int, ...]]:
    return [cell for cell in np.ndindex(*sizes) for _ in range(runs)]


def _nested(a: int, b: int, runs: int) -> tuple[Cells, NDArray[np.intp]]:
    sessions = np.repeat(np.arange(a + b), runs)
    return [(int(s >= a), n % 3) for n, s in enumerate(sessions)], sessions


def _cases() -> Iterator[Case]:
    for runs in (3, 5, 8):
        yield Case(f"2 × 3, {runs} a cell", _grid(2, 3, runs=runs))
        yield Case(f"2 × 3, {runs} a cell, one level 4×", _grid(2, 3, runs=runs), noisy=4)
    for runs in (3, 5):
        yield Case(f"2 × 2, {runs} a cell", _grid(2, 2, runs=runs))
        yield Case(f"2 × 2, {runs} a cell, interaction", _grid(2, 2, runs=runs), pairs=((0, 1),))
    yield Case("3 × 2, 3 a cell, each level 2×", _grid(3, 2, runs=3), noisy=2)
    yield Case("2 × 2 × 2, 2 a cell", _grid(2, 2, 2, runs=2))
    half = [cell for cell in _grid(2, 2, 2, runs=4) if sum(cell) % 2 == 0]
    yield Case("half of 2 × 2 × 2, 4 a cell", half)
    single = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
    yield Case("one at a time, 4 a cell", [cell for cell in single for _ in range(4)])
    uneven = [(0, n % 2) for n in range(12)] + [(1, n % 2) for n in range(5)]
    yield Case("12 + 5 runs", uneven)
    yield Case("12 + 5 runs, the 12 vary 4×", [(1 - a, b) for a, b in uneven], noisy=4)
    yield Case("12 + 5 runs, the 5 vary 4×", uneven, noisy=4, kind="no promise")
    yield Case("2 × 3, 4 a cell, heavy tails", _grid(2, 3, runs=4), noise=_heavy)
    yield Case("2 × 3, 4 a cell, skewed", _grid(2, 3, runs=4), noise=_skewed)
    yield Case("2 × 3, 4 a cell, whole epochs", _grid(2, 3, runs=4), whole=True)
    for runs in (3, 6):
        yield Case(f"number of 4 × 2, {runs} a cell", _grid(4, 2, runs=runs), (0,))
    yield Case("number of 3, 5 each", _grid(3, runs=5), (0,))
    yield Case("number of 4 × 2, 3 a cell, 2× a doubling", _grid(4, 2, runs=3), (0,), noisy=2)
    for sessions, between in ((4, 1.0), (6, 3.0)):
        labels = np.repeat(np.arange(sessions), 6)
        cells = _grid(2, 3, runs=1) * sessions
        yield Case(f"{sessions} sessions of 2 × 3, vary {between:g}×", cells, (), 1, _normal,
                   labels, between)  # fmt: skip
    for a, b, runs, between in ((3, 3, 4, 1.0), (3, 3, 4, 3.0), (6, 6, 3, 1.0), (4, 4, 3, 1.0)):
        cells, labels = _nested(a, b, runs)
        name = f"{a} + {b} sessions of {runs}, constant in each, vary {between:g}×"
        yield Case(name, cells, (), 1, _normal, labels, between, nested=True)


CASES = tuple(_cases())


def intervals(plan: Plan) -> Iterator[Figure]:
    """Measure the intervals of the first effect: the one that decides, and plain least squares."""
    for case in CASES:
        rng, design = generator(plan.seed, "effects", case.name), case.design
        hits = np.zeros(2, dtype=int)
        for _ in range(plan.replicates):
            part = fit_part(case.drawn(rng), design, confidence=0.95)
            effect = part.effects[len(design.settings) if case.pairs else 0][0]
            for number, ratio in enumerate((effect.ratio, effect.plain)):
                if ratio.low is not None and ratio.high is not None:
                    hits[number] += ratio.low <= 1 <= ratio.high
        runs = str(len(case.cells))
        covered, plain = (rate(int(count), plan.replicates) for count in hits)
        yield Figure("effects: covered", case.name, runs, covered, case.kind)
        yield Figure("effects: least squares", case.name, runs, plain, "no promise")


def failures(plan: Plan) -> Iterator[Figure]:
    """Measure claims about the fraction reached at 5 %, of equal and of unequal levels."""
    for runs, other_levels in ((12, 1), (24, 1), (12, 3)):
        cells = np.array(_grid(2, other_levels, runs=runs // other_levels)).T
        settings = [Setting(levels) for levels in cells[: min(other_levels, 2)]]
        for rates in ((0.1, 0.1), (0.3, 0.3), (0.1, 0.5)):
            name = f"{rates[0]:.0%} and {rates[1]:.0%} fail" + (", × 3" if other_levels > 1 else "")
            rng = generator(plan.seed, "effects of failures", name, str(runs))
            claims = 0
            for _ in range(plan.replicates):
                reached = rng.random(cells.shape[1]) >= np.array(rates)[cells[0]]
                p = setting_p_values(reached, settings)[0]
                claims += p is not None and p < 0.05
            kind: Kind = "false claim" if rates[0] == rates[1] else "no promise"
            claimed = rate(claims, plan.replicates)
            yield Figure("effects: failures", name, f"{runs}+{runs}", claimed, kind)


def figures(plan: Plan) -> Iterator[Figure]:
    """Measure all of it; exact tests take long."""
    yield from intervals(plan)
    yield from failures(plan.few(4))
