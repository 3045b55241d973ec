"""How often speedups and verdicts are right about made-up runs, cell by cell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from benchmarks.coverage.figures import Figure, Kind, Rate, covers, rate
from benchmarks.coverage.judging import Judge, Limits, judge, limits, measured, side
from benchmarks.coverage.shapes import (
    ALIKE,
    CONST,
    GNMT,
    LN15,
    LN45,
    MIXED,
    RARE10,
    SHAPES,
    SSD,
    TRF,
    TRF2,
    Failing,
    Pair,
    Runs,
    draw,
    generator,
)
from ttastats.stats.multiplicity import geometric_mean_speedup, holm
from ttastats.stats.outcomes import outcomes
from ttastats.stats.speedup import Speedup, ratio_between, speedup
from ttastats.stats.verdict import Verdict, decide

#: Runs of A and of B, by what a column is called.
SIZES = {
    "5": (5, 5),
    "10": (10, 10),
    "30": (30, 30),
    "5+10": (5, 10),
    "10+5": (10, 5),
    "5+30": (5, 30),
}
BALANCED = {name: size for name, size in SIZES.items() if size[0] == size[1]}

MARGIN = 0.10


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is simulated: replicates of every cell, and the seed all cells derive from."""

    replicates: int
    seed: int

    def few(self, share: int) -> Plan:
        """Give a plan for what costs more, with a part of the replicates but at least two."""
        return replace(self, replicates=max(2, self.replicates // share))


def samples(
    pair: Pair,
    size: tuple[int, int],
    plan: Plan,
    *names: str,
    failing: tuple[Failing, Failing] | None = None,
) -> Iterator[tuple[Runs, Runs]]:
    """Give replicate after replicate of two sides; `names` tell the cells that draw alike."""
    rng = generator(plan.seed, pair.name, f"{pair.ratio:g}", str(size), *names)
    fail_a, fail_b = failing or (Failing(), Failing())
    a = draw(pair.a, (plan.replicates, size[0]), rng, mean=pair.ratio, failing=fail_a)
    b = draw(pair.b, (plan.replicates, size[1]), rng, failing=fail_b)
    for index in range(plan.replicates):
        yield a.row(index), b.row(index)


def hit_rate(intervals: Sequence[Limits | None], truth: float) -> Rate | None:
    """Give the share of the intervals, where there is one, that hold the truth."""
    known = [interval for interval in intervals if interval is not None]
    return rate(sum(covers(interval, truth) for interval in known), len(known))


def claims(verdict: Verdict, *, dagger: bool) -> bool:
    """Whether a verdict says faster or slower, with or without the dagger."""
    return verdict.word in {"faster", "slower"} and verdict.dagger == dagger


def speedups(plan: Plan, judge_runs: Judge = judge) -> Iterator[Figure]:
    """Measure interval and verdict at a true speedup of 1, when every run reaches the target."""
    for pair in (*ALIKE, *MIXED):
        for runs, size in SIZES.items():
            shown = [judge_runs(a, b, 0.01) for a, b in samples(pair, size, plan)]
            verdicts = [one.verdict for one in shown]
            printed = hit_rate([one.printed for one in shown], pair.ratio)
            deciding = hit_rate([one.deciding for one in shown], pair.ratio)
            yield Figure("speedup, printed", pair.name, runs, printed, "coverage")
            yield Figure("speedup, deciding", pair.name, runs, deciding, "coverage")
            for dagger, name in ((False, "claims"), (True, "claims with a dagger")):
                said = rate(sum(claims(v, dagger=dagger) for v in verdicts), len(verdicts))
                kind: Kind = "no promise" if dagger else "false claim"
                yield Figure(name, pair.name, runs, said, kind)


def power(plan: Plan, judge_runs: Judge = judge) -> Iterator[Figure]:
    """Measure how often a true speedup of 1.1 or 1.2 is called faster."""
    for shape in (CONST, TRF, GNMT, RARE10, SSD, TRF2, LN15):
        for ratio in (1.1, 1.2):
            pair = Pair(shape, shape, ratio)
            for runs, size in BALANCED.items():
                found = [judge_runs(a, b, 0.01).verdict for a, b in samples(pair, size, plan)]
                for dagger, name in ((False, "faster"), (True, "faster with a dagger")):
                    hits = sum(v.word == "faster" and v.dagger == dagger for v in found)
                    setup = f"{shape.name} {ratio:g}×"
                    yield Figure(name, setup, runs, rate(hits, len(found)), "no promise")


def margins(plan: Plan, judge_runs: Judge = judge) -> Iterator[Figure]:
    """Measure how often B, slower by just the margin, is claimed not to be slower by as much."""
    for shape in SHAPES:
        pair = Pair(shape, shape, 1 / (1 + MARGIN))
        for runs, size in BALANCED.items():
            found = [judge_runs(a, b, MARGIN).verdict for a, b in samples(pair, size, plan)]
            false = sum(
                v.word in {"faster", "same"} or v.claim.startswith("not slower") for v in found
            )
            yield Figure("margin", pair.name, runs, rate(false, len(found)), "false claim")


@dataclass(frozen=True, slots=True)
class Failures:
    """A row of the tables about failed runs: how runs of A and of B fail."""

    name: str
    pair: Pair
    a: Failing
    b: Failing


def _alike(pair: Pair, share: float, stopped_at: float = 2.0) -> Failures:
    failing = Failing(share, stopped_at)
    early = "" if stopped_at >= 1 else " early"
    return Failures(f"{pair.name}, {share:.0%} fail{early}", pair, failing, failing)


_TRF, _LN15, _RARE = Pair(TRF, TRF), Pair(LN15, LN15), Pair(RARE10, CONST)
FAILURES = (
    *(_alike(pair, share) for pair in (_TRF, _LN15) for share in (0.0, 0.1, 0.2, 0.4)),
    *(_alike(_TRF, share, stopped_at=0.3) for share in (0.2, 0.4)),
    Failures("TRF, 40% against none", _TRF, Failing(0.4), Failing()),
    Failures("LN15, 40% against 10%", _LN15, Failing(0.4), Failing(0.1)),
    *(_alike(_RARE, share) for share in (0.1, 0.2, 0.4)),
)


def failures(plan: Plan, judge_runs: Judge = judge) -> Iterator[Figure]:
    """Measure the interval of the ratio of expected times, and the verdict when both are equal."""
    for row in FAILURES:
        truth = row.pair.ratio * row.a.expected_time / row.b.expected_time
        for runs, size in SIZES.items():
            drawn = list(samples(row.pair, size, plan, row.name, failing=(row.a, row.b)))
            ratios = [ratio_between(side(a), side(b)) for a, b in drawn]
            every = [limits(ratio) for ratio in ratios]
            # `compare` shows expected times where a run failed, and mean times otherwise.
            shown = [
                interval
                for interval, (a, b) in zip(every, drawn, strict=True)
                if not (a.reached.all() and b.reached.all())
            ]
            none = rate(sum(interval is None for interval in every), len(every))
            yield Figure("ERT, shown", row.name, runs, hit_rate(shown, truth), "coverage")
            yield Figure("ERT, always", row.name, runs, hit_rate(every, truth), "coverage")
            yield Figure("ERT, none", row.name, runs, none, "no promise")
            if truth == 1.0:
                verdicts = [judge_runs(a, b, 0.01).verdict for a, b in drawn]
                said = rate(sum(claims(v, dagger=False) for v in verdicts), len(verdicts))
                yield Figure("ERT, claims", row.name, runs, said, "false claim")


#: Sets of benchmarks compared at once.
FAMILIES = {
    "CONST, TRF, GNMT, SSD, LN15": tuple(Pair(s, s) for s in (CONST, TRF, GNMT, SSD, LN15)),
    "five times LN45": (Pair(LN45, LN45),) * 5,
    "five times RARE10": (Pair(RARE10, RARE10),) * 5,
    "five times RARE10 / CONST": (Pair(RARE10, CONST),) * 5,
}


def families(plan: Plan) -> Iterator[Figure]:
    """Measure five benchmarks at once: the mean row, and any false claim after Holm."""
    for name, pairs in FAMILIES.items():
        for runs, size in BALANCED.items():
            means, false = [], 0
            for found in _family(pairs, size, plan, name):
                mean = geometric_mean_speedup([one.ratio for one in found])
                if mean.low is not None and mean.high is not None:
                    means.append((mean.low, mean.high))
                adjusted = holm([one.ratio.p_value for one in found])
                said = [decide(one, p_value=p) for one, p in zip(found, adjusted, strict=True)]
                false += any(claims(verdict, dagger=False) for verdict in said)
            yield Figure("geometric mean row", name, runs, hit_rate(means, 1.0), "coverage")
            any_false = rate(false, plan.replicates)
            yield Figure("any claim after Holm", name, runs, any_false, "false claim")


def _family(
    pairs: Sequence[Pair], size: tuple[int, int], plan: Plan, name: str
) -> Iterator[tuple[Speedup, ...]]:
    drawn = [samples(pair, size, plan, name, str(place)) for place, pair in enumerate(pairs)]
    for replicate in zip(*drawn, strict=True):
        yield tuple(measured(a, b) for a, b in replicate)


def targets(plan: Plan) -> Iterator[Figure]:
    """Measure the verdict at a quality target (`ttastats targets`), which knows no epochs."""
    for pair in (*ALIKE, *MIXED):
        for runs, size in BALANCED.items():
            false = 0
            for a, b in samples(pair, size, plan):
                found = decide(speedup(outcomes(a.times), outcomes(b.times)))
                false += claims(found, dagger=False)
            yield Figure("targets", pair.name, runs, rate(false, plan.replicates), "false claim")
