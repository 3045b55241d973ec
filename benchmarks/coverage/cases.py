"""Cases in which few runs do not show what can happen, and what is claimed of them all the same.

Both sides of a case are equal: in mean times, or where runs fail in expected times to a success.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy import special

from benchmarks.coverage.dependent import Session, StartUp, Systems, Throttled
from benchmarks.coverage.figures import FREE, UNMARKED, UNSEEN, Figure, Kind, by_mark
from benchmarks.coverage.judging import Judge, Judgement, Mark, directed, judge, not_slower
from benchmarks.coverage.shapes import (
    CONST,
    GNMT,
    LN15,
    RARE10,
    SSD,
    TRF,
    TRF2,
    Failing,
    Pair,
    Shape,
    Sides,
    Source,
)
from benchmarks.coverage.simulations import Plan, hit_rate, samples, sizes

GATE_MARGIN = 0.02
RUNS_PER_SYSTEM = 5


@dataclass(frozen=True, slots=True)
class Case:
    """Two equal sides: how their runs fail, and how many runs they have."""

    group: str
    a: Source
    b: Source
    sizes: tuple[str, ...]
    failing: tuple[Failing, Failing] = (Failing(), Failing())
    promise: Mapping[Mark, Kind] = field(default_factory=lambda: UNMARKED)

    @property
    def name(self) -> str:
        """Return the names of both sources and of their failures."""
        sides = self.a.name if self.a == self.b else f"{self.a.name} / {self.b.name}"
        return f"{sides}{_failing(*self.failing)}"

    @property
    def ratio(self) -> float:
        """Return the mean time of a success of A over that of B which makes both sides equal."""
        a, b = self.failing
        return b.expected_time / a.expected_time


def _failing(a: Failing, b: Failing) -> str:
    if not b.share:
        return ""
    prefix = "" if a.share else "only B: "
    return f", {prefix}{b.share:.0%} fail after {b.stopped_at:g} mean times"


def _unlogged(shape: Shape) -> Shape:
    return replace(shape, name=f"{shape.name}, epochs not logged", epochs_logged=False)


def _straggling(shape: Shape) -> Shape:
    return replace(shape, name=f"{shape.name} with stragglers", stragglers=0.05)


def _evaluated(name: str, epochs: float, cv: float, evaluation_interval: float) -> Shape:
    """Return lognormal epochs of that median, rounded up to the next evaluation."""
    last = math.ceil(epochs * math.exp(6 * cv) / evaluation_interval)
    grid = evaluation_interval * np.arange(1, last + 1)
    chances = np.diff(special.ndtr(np.log(grid / epochs) / cv), prepend=0.0)
    likely = chances > 1e-9
    chances = chances[likely] / chances[likely].sum()
    return Shape(
        name, tuple(grid[likely].tolist()), tuple(chances.tolist()), 0.003, evaluation_interval
    )


Q8 = _evaluated("10 epochs ±8 %, all evaluated", 10.0, 0.08, 1.0)
Q8_RARELY = _evaluated("10 epochs ±8 %, each 4th evaluated", 10.0, 0.08, 4.0)
FAR = Shape("FAR 3/6", (3.0, 6.0), (0.9, 0.1), 0.0025)
FAR62 = Shape("FAR 62/90", (62.0, 90.0), (0.9, 0.1), 0.0025)
EVERY4 = Shape(
    "41/45, each 4th evaluated", (41.0, 45.0), (0.9, 0.1), 0.0025, evaluation_interval=4.0
)
CONST41 = Shape("41, each 4th evaluated", (41.0,), (1.0,), 0.0025, evaluation_interval=4.0)
CONST14 = Shape("14", (14.0,), (1.0,), 0.003)
LN05 = replace(LN15, name="LN05", cv_epochs=0.05)
#: Epochs of the 165 runs of Mask R-CNN of one published round.
MASK = Shape(
    "Mask R-CNN",
    tuple(map(float, (13, 14, 15, 16, 17, 18, 19, 24))),
    tuple(count / 165 for count in (3, 148, 6, 3, 1, 1, 2, 1)),
    0.003,
)
_LATE = Shape(
    "13 to 18 epochs", tuple(map(float, range(13, 19))), (0.1, 0.2, 0.3, 0.2, 0.1, 0.1), 0.01
)
_GROWING = Shape("3 to 5 epochs", (3.0, 4.0, 5.0), (0.5, 0.3, 0.2), 0.01)

_FEW = ("5", "10")
_ALIKE = ("5", "10", "30")
_UNEQUAL = ("5+30", "30+5", "3+100", "100+3")
_STRAGGLING = (*_ALIKE, "3+100", "100+3")


def _failures() -> Iterator[Case]:
    for shape in (RARE10, TRF):
        for share in (0.1, 0.2):
            crashing = Failing(share, 0.01)
            yield Case("failures", shape, CONST, _FEW, (crashing, crashing), UNSEEN)
    for shape in (LN15, TRF, CONST, _unlogged(LN15)):
        for share in (0.2, 0.4):
            failing = (Failing(), Failing(share, 1.5))
            yield Case("failures", shape, shape, ("3", *_ALIKE, "5+30"), failing, UNSEEN)


def _stragglers() -> Iterator[Case]:
    const, trf, ln05 = map(_straggling, (CONST, TRF, LN05))
    unlogged, steady = _unlogged(ln05), _unlogged(LN05)
    against_steady = ((const, CONST), (trf, TRF), (ln05, LN05), (unlogged, steady))
    for a, b in against_steady:
        yield Case("stragglers", a, b, _STRAGGLING, promise=UNSEEN)
    for shape in (const, trf, ln05, unlogged):
        yield Case("stragglers", shape, shape, _STRAGGLING, promise=UNSEEN)


def _unequal() -> Iterator[Case]:
    alike = (LN15, TRF, SSD, Q8, Q8_RARELY)
    for a, b in (*zip(alike, alike, strict=True), (TRF2, GNMT), (Q8, Q8_RARELY)):
        yield Case("unequal", a, b, _UNEQUAL)


def _epochs() -> Iterator[Case]:
    yield Case("epochs", MASK, CONST14, _ALIKE, promise=UNSEEN)
    yield Case("epochs", MASK, MASK, _ALIKE, promise=UNSEEN)
    for shape in (RARE10, TRF):
        yield Case("epochs", _unlogged(shape), _unlogged(CONST), _ALIKE)
    yield Case("epochs", EVERY4, CONST41, _ALIKE)
    for a, b in ((Q8, Q8), (Q8_RARELY, Q8_RARELY), (Q8, Q8_RARELY)):
        yield Case("epochs", a, b, _ALIKE)
    for source in (StartUp(_LATE, 3.0), Throttled(_GROWING, 0.1)):
        yield Case("epochs", source, source, _ALIKE)
    for a, b in ((FAR, FAR), (FAR, CONST), (FAR62, CONST)):
        yield Case("epochs", a, b, _ALIKE, promise=UNSEEN)


def _sessions() -> Iterator[Case]:
    for runs, between in ((0.005, 0.01), (0.002, 0.003)):
        source = Session(replace(CONST, cv_epoch_time=runs), between)
        yield Case("sessions", source, source, ("3", "5", "10"), promise=UNSEEN)


CASES = (*_failures(), *_stragglers(), *_unequal(), *_epochs(), *_sessions())


def cases(plan: Plan, judge_runs: Judge = judge) -> Iterator[Figure]:
    """Measure intervals and claims of every case."""
    for case in CASES:
        for runs, size in sizes(*case.sizes).items():
            pairs = samples(case, size, plan, case.group, case.name, failing=case.failing)
            judgements = [judge_runs(a, b, 0.01) for a, b in pairs]
            yield from _row(case, runs, judgements)


def _row(case: Case, runs: str, judgements: Sequence[Judgement]) -> Iterator[Figure]:
    """Yield intervals and claims; the one interval that leaves no condition is to cover 1."""
    group, setup = case.group, case.name
    for name in ("printed", "deciding"):
        hits = hit_rate([getattr(judgement, name) for judgement in judgements], 1.0)
        yield Figure(f"{group}: {name}", setup, runs, hits, "no promise")
    hits = hit_rate([judgement.robust for judgement in judgements], 1.0)
    yield Figure(f"{group}: robust", setup, runs, hits, "coverage")
    verdicts = [judgement.verdict for judgement in judgements]
    yield from by_mark(f"{group}: claims", setup, runs, verdicts, directed, case.promise)


def systems(plan: Plan, judge_runs: Judge = judge) -> Iterator[Figure]:
    """Measure pooled systems, whose runs are not independent, whether this is known or not."""
    for count in (3, 5, 10):
        source = Systems(replace(LN15, cv_epochs=0.02), count, 0.2)
        labels = np.repeat(np.arange(count), RUNS_PER_SYSTEM)
        size = (labels.size, labels.size)
        case = Case("systems", source, source, ())
        independent = list(samples(case, size, plan, case.group))
        pooled = [
            (replace(a, clusters=labels), replace(b, clusters=labels)) for a, b in independent
        ]
        for assumption, pairs in (("by system", pooled), ("by run", independent)):
            judgements = [judge_runs(a, b, 0.01) for a, b in pairs]
            hits = hit_rate([judgement.deciding for judgement in judgements], 1.0)
            setup, runs = f"{source.name}, {assumption}", f"{labels.size}"
            known_so = pairs is pooled
            kind: Kind = "coverage" if known_so else "no promise"
            yield Figure("systems: deciding", setup, runs, hits, kind)
            verdicts = [judgement.verdict for judgement in judgements]
            kinds = UNMARKED if known_so else FREE
            yield from by_mark("systems: claims", setup, runs, verdicts, directed, kinds)


def _gates() -> Iterator[Sides]:
    for a, b in ((CONST, CONST), (LN05, LN05), (TRF, TRF)):
        slow = _straggling(b)
        yield Pair(a, slow, 1 / (1 + GATE_MARGIN))
        yield Pair(slow, slow, 1 / (1 + GATE_MARGIN))
    yield Pair(_unlogged(LN05), _unlogged(_straggling(LN05)), 1 / (1 + GATE_MARGIN))


def gates(plan: Plan, judge_runs: Judge = judge) -> Iterator[Figure]:
    """Measure claims that B is not slower by more than 2 %, which it just is, by stragglers."""
    for pair in _gates():
        for runs, size in sizes(*_STRAGGLING).items():
            pairs = samples(pair, size, plan, "gate")
            verdicts = [judge_runs(a, b, GATE_MARGIN).verdict for a, b in pairs]
            yield from by_mark("gate", pair.name, runs, verdicts, not_slower, UNSEEN)
