"""What is claimed where runs fail that the sample does not show, and what a table says of them.

Expected times to a success are equal, or B is faster and no run fails. The clues of a comparison
are asked as `compare` asks them: other rows of the benchmark, and a length at which all runs end.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import polars as pl
from msgspec.structs import replace

from benchmarks.coverage.figures import FREE, UNMARKED, UNSEEN, Figure, by_mark, rate
from benchmarks.coverage.judging import directed, measured
from benchmarks.coverage.shapes import Bools, Floats, Runs, generator
from benchmarks.coverage.simulations import Plan
from ttastats.sides import comparison, contrast
from ttastats.sides.design import near_end
from ttastats.sides.numbers import SideNumbers
from ttastats.sides.options import Options
from ttastats.sides.pairing import Pair
from ttastats.stats.decision import Decision
from ttastats.stats.power import detectable_ratio
from ttastats.table import schema

#: How runs are drawn: times of so many, in mean times of a success, and which of them reached.
Law = Callable[[int, np.random.Generator], tuple[Floats, Bools]]

_INFORMATION = ("alone", "with 4 more rows", "all of one length")
_NO_OTHERS = Pair({}, pl.DataFrame(), pl.DataFrame())

#: Evaluations up to a mean time, of which epochs are counted, and the CV of the time per epoch.
_EVALUATIONS, _CV_PER_EPOCH = 100.0, 0.0025
_ROWS = 4


@dataclass(frozen=True, slots=True)
class Kind:
    """Runs of one setup; `end` is where all of them end, in mean times, if they go on so far."""

    name: str
    law: Law
    end: float | None = None

    @property
    def expected_time(self) -> float:
        """Return the expected time to a success."""
        times, reached = self.law(400_000, generator(1, self.name))
        return float(times.mean() / reached.mean())


def _sigma(cv: float) -> float:
    return math.sqrt(math.log1p(cv**2))


def lognormal(cv: float) -> Law:
    """Return lognormal times."""
    sigma = _sigma(cv)
    return lambda n, rng: (rng.lognormal(-(sigma**2) / 2, sigma, n), np.ones(n, dtype=np.bool_))


def _gamma(cv: float) -> Law:
    shape = cv**-2
    return lambda n, rng: (rng.gamma(shape, 1 / shape, n), np.ones(n, dtype=np.bool_))


def _grid(cv: float, interval: float) -> Law:
    def law(n: int, rng: np.random.Generator) -> tuple[Floats, Bools]:
        times, reached = lognormal(cv)(n, rng)
        return np.ceil(times / interval) * interval, reached

    return law


def cut_off(cv: float, end: float) -> Law:
    """Return lognormal times of which those beyond an end fail there."""

    def law(n: int, rng: np.random.Generator) -> tuple[Floats, Bools]:
        times, _ = lognormal(cv)(n, rng)
        return np.minimum(times, end), times <= end

    return law


def _failing(cv: float, share: float, end: float | None) -> Law:
    """Return lognormal times of which a share fails, at an end or anywhere before its own."""

    def law(n: int, rng: np.random.Generator) -> tuple[Floats, Bools]:
        times, _ = lognormal(cv)(n, rng)
        reached = rng.random(n) >= share
        return np.where(reached, times, times * rng.random(n) if end is None else end), reached

    return law


def _slowed(cv: float, share: float, factor: float) -> Law:
    def law(n: int, rng: np.random.Generator) -> tuple[Floats, Bools]:
        times, reached = lognormal(cv)(n, rng)
        return times * np.where(rng.random(n) < share, factor, 1.0), reached

    return law


_STEADY = Kind("LN19", lognormal(0.189))
_LN10 = Kind("LN10", lognormal(0.1))
_CUT = Kind("LN19 cut off at 1.15 means", cut_off(0.189, 1.15), 1.15)
FALSE = (
    (_STEADY, _CUT),
    (_LN10, Kind("LN10, 30% diverge up to 2 means", _failing(0.1, 0.3, 2.0), 2.0)),
    (_CUT, Kind("LN19, 10% crash", _failing(0.189, 0.1, None))),
    (_LN10, Kind("LN10, 10% take 1.5 times", _slowed(0.1, 0.1, 1.5))),
)
#: Runs of which none fails, with their CV; all would end where one of 10,000 fails.
RIGHT = (
    (Kind("LN02", lognormal(0.02), math.exp(3.72 * 0.02)), 0.02),
    (Kind("LN10", lognormal(0.1), math.exp(3.72 * 0.1)), 0.1),
    (Kind("gamma 30%", _gamma(0.3), 2.44), 0.3),
    (Kind("LN10, each eighth evaluated", _grid(0.1, 0.125), 1.5), 0.1),
)
SIZES = (3, 5, 10)


def figures(plan: Plan) -> Iterator[Figure]:
    """Measure false claims where runs fail unseen, and right claims where none does."""
    for (a, b), n in product(FALSE, SIZES):
        truth, fails = b.expected_time / a.expected_time, bool(a.end or b.end)
        verdicts = list(_verdicts((a, b), n, truth, plan))
        for information, decisions in zip(
            _INFORMATION[: 3 if fails else 2], zip(*verdicts, strict=True), strict=False
        ):
            kinds = UNMARKED if fails and information == _INFORMATION[1] else UNSEEN
            name = f"{a.name} / {b.name}, {information}"
            yield from by_mark("cut off: claims", name, f"{n}", decisions, directed, kinds)
    for (kind, cv), n in product(RIGHT, SIZES):
        verdicts = list(
            _verdicts((kind, kind), n, detectable_ratio(n, cv, power=0.8, alpha=0.05) or 1.0, plan)
        )
        for information, decisions in zip(_INFORMATION, zip(*verdicts, strict=True), strict=True):
            name = f"{kind.name}, 80% power, {information}"
            yield from by_mark("cut off: right", name, f"{n}", decisions, _faster, FREE)
    yield from _throughput(plan)


def _faster(verdict: Decision) -> bool:
    return verdict.word == "faster"


def _verdicts(
    kinds: tuple[Kind, Kind], n: int, ratio: float, plan: Plan
) -> Iterator[tuple[Decision, Decision, Decision]]:
    """Yield the verdicts on each replicate, in the order of `_INFORMATION`."""
    rng = generator(plan.seed, *(kind.name for kind in kinds), f"{n}")
    for _ in range(plan.replicates):
        a, b = (_draw(kind, n, mean, rng) for kind, mean in zip(kinds, (ratio, 1.0), strict=True))
        rows = [[kind.law(n, rng)[1] for kind in kinds] for _ in range(_ROWS)]
        base = measured(a, b)
        bare = _decision(base, [])
        if not directed(bare) or bare.conditions:  # what is known only adds a condition
            yield bare, bare, bare
            continue
        ended = replace(base, a=_ended(base.a, kinds[0], a), b=_ended(base.b, kinds[1], b))
        yield bare, _decision(base, [[a.reached, b.reached], *rows]), _decision(ended, [])


def _decision(base: comparison.Comparison, rows: Sequence[Sequence[Bools]]) -> Decision:
    pairs = _pairs(rows) if rows else [_NO_OTHERS]
    return contrast.with_verdicts([comparison.with_clues(base, pairs, 0)], Options())[0].verdict


def _draw(kind: Kind, n: int, mean: float, rng: np.random.Generator) -> Runs:
    times, reached = kind.law(n, rng)
    pace = rng.lognormal(0.0, _CV_PER_EPOCH, n)
    return Runs(mean * times * pace, reached, times * _EVALUATIONS, 1.0)


def _ended(side: SideNumbers, kind: Kind, runs: Runs) -> SideNumbers:
    """Return a side all of whose runs went on to the end of their kind, as its design says."""
    if kind.end is None or runs.epochs is None:
        return side
    end = round(kind.end * _EVALUATIONS)
    met = np.minimum(np.ceil(runs.epochs), end)
    logged = {"evaluations": np.full(met.size, end), "evaluations_to_target": met}
    where = near_end(pl.DataFrame(logged))
    return replace(side, design=dataclasses.replace(side.design, near_end=where))


def _pairs(rows: Sequence[Sequence[Bools]]) -> list[Pair]:
    return [
        Pair({"benchmark": "made up"}, _runs(f"{row} a", a), _runs(f"{row} b", b))
        for row, (a, b) in enumerate(rows)
    ]


def _runs(name: str, reached: Bools) -> pl.DataFrame:
    identity = {key: pl.lit(None, pl.String) for key in schema.RUN if key != "source"}
    names = [f"{name} {number}" for number in range(reached.size)]
    return pl.DataFrame({"source": names, "reached": reached}).with_columns(**identity)


def _throughput(plan: Plan) -> Iterator[Figure]:
    """Measure the throughput of "why" where one run in ten of B takes 1.5 times as long."""
    slow = _slowed(_CV_PER_EPOCH, 0.1, 1.5)
    truth = 1.05
    for n in SIZES:
        rng, missed = generator(plan.seed, "throughput", f"{n}"), {"": 0, " ‡": 0}
        for _ in range(plan.replicates):
            epochs = lognormal(0.1)(2 * n, rng)[0].reshape(2, n)
            pace = np.stack([lognormal(_CV_PER_EPOCH)(n, rng)[0] * truth, slow(n, rng)[0]])
            a, b = (
                Runs(e * p, np.ones(n, dtype=np.bool_), e * _EVALUATIONS, 1.0)
                for e, p in zip(epochs, pace, strict=True)
            )
            base = measured(a, b)
            base = replace(
                base, a=replace(base.a, progress=a.epochs), b=replace(base.b, progress=b.epochs)
            )
            parts = comparison.speedup_parts(base, Options())
            if parts and parts.throughput.low and parts.throughput.high:
                holds = parts.throughput.low <= 1.0 <= parts.throughput.high
                missed[" ‡" if parts.conditions else ""] += not holds
        for mark, count in missed.items():
            name, hits = "LN10 / 10% take 1.5 times", rate(count, plan.replicates)
            yield Figure(f"cut off: throughput{mark}", name, f"{n}", hits, "no promise")
