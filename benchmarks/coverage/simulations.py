"""How often speedups and verdicts are right about made-up runs, cell by cell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from benchmarks.coverage.figures import (
    FREE,
    STEADY,
    UNMARKED,
    UNSEEN,
    Figure,
    Rate,
    by_mark,
    covers,
    rate,
)
from benchmarks.coverage.judging import (
    Judge,
    Limits,
    directed,
    judge,
    limits,
    not_slower,
    side,
)
from benchmarks.coverage.shapes import (
    ALIKE,
    CONST,
    GNMT,
    LN15,
    MIXED,
    RARE10,
    SHAPES,
    SSD,
    TRF,
    TRF2,
    Failing,
    Pair,
    Runs,
    Sides,
    draw,
    generator,
)
from ttastats.stats.speedup import ratio_between


def sizes(*names: str) -> dict[str, tuple[int, int]]:
    """Return the numbers of runs of A and of B by the name of a column: "5", or "5+30"."""
    numbers = {}
    for name in names:
        a, _, b = name.partition("+")
        numbers[name] = (int(a), int(b or a))
    return numbers


SIZES = sizes("5", "10", "30", "5+10", "10+5", "5+30")
BALANCED = {name: size for name, size in SIZES.items() if size[0] == size[1]}

MARGIN = 0.10


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is simulated: replicates of every cell, and the seed all cells derive from."""

    replicates: int
    seed: int

    def few(self, share: int) -> Plan:
        """Return a plan for what costs more, with a part of the replicates but at least two."""
        return replace(self, replicates=max(2, self.replicates // share))


def samples(
    pair: Sides,
    size: tuple[int, int],
    plan: Plan,
    *names: str,
    failing: tuple[Failing, Failing] | None = None,
) -> Iterator[tuple[Runs, Runs]]:
    """Yield replicates of two sides; cells with the same `names` draw the same runs."""
    rng = generator(plan.seed, pair.name, f"{pair.ratio:g}", str(size), *names)
    fail_a, fail_b = failing or (Failing(), Failing())
    a = draw(pair.a, (plan.replicates, size[0]), rng, mean=pair.ratio, failing=fail_a)
    b = draw(pair.b, (plan.replicates, size[1]), rng, failing=fail_b)
    for index in range(plan.replicates):
        yield a.row(index), b.row(index)


def hit_rate(intervals: Sequence[Limits | None], truth: float) -> Rate | None:
    """Return the share of the intervals, where there is one, that hold the truth."""
    finite = [interval for interval in intervals if interval is not None]
    return rate(sum(covers(interval, truth) for interval in finite), len(finite))


def speedups(plan: Plan, judge_runs: Judge = judge) -> Iterator[Figure]:
    """Measure interval and verdict at a true speedup of 1, when every run reaches the target."""
    for pair in (*ALIKE, *MIXED):
        for runs, size in SIZES.items():
            judgements = [judge_runs(a, b, 0.01) for a, b in samples(pair, size, plan)]
            printed = hit_rate([judgement.printed for judgement in judgements], pair.ratio)
            deciding = hit_rate([judgement.deciding for judgement in judgements], pair.ratio)
            yield Figure("speedup, printed", pair.name, runs, printed, "coverage")
            yield Figure("speedup, deciding", pair.name, runs, deciding, "coverage")
            verdicts = [judgement.verdict for judgement in judgements]
            yield from by_mark("claims", pair.name, runs, verdicts, directed, STEADY)


#: The last has logs that do not tell epochs: whatever it claims carries a †.
POWER = (
    CONST, TRF, GNMT, RARE10, SSD, TRF2, LN15,
    replace(LN15, name="LN15, epochs not logged", epochs_logged=False),
)  # fmt: skip


def power(plan: Plan, judge_runs: Judge = judge) -> Iterator[Figure]:
    """Measure how often a true speedup is called faster, and with which mark."""
    for shape in POWER:
        for ratio in (1.1, 1.2, 2.0, 3.0):
            pair = Pair(shape, shape, ratio)
            for runs, size in BALANCED.items():
                words = [judge_runs(a, b, 0.01).verdict for a, b in samples(pair, size, plan)]
                setup = f"{shape.name} {ratio:g}×"
                yield from by_mark("faster", setup, runs, words, lambda v: v.word == "faster", FREE)


def margins(plan: Plan, judge_runs: Judge = judge) -> Iterator[Figure]:
    """Measure how often B, slower by just the margin, is claimed not to be slower by as much."""
    for shape in SHAPES:
        pair = Pair(shape, shape, 1 / (1 + MARGIN))
        for runs, size in BALANCED.items():
            words = [judge_runs(a, b, MARGIN).verdict for a, b in samples(pair, size, plan)]
            yield from by_mark("margin", pair.name, runs, words, not_slower, STEADY)


_LN02 = replace(LN15, name="LN02", cv_epochs=0.02)
_SLOWED = replace(_LN02, name="LN02, 10% take 1.3 times", stragglers=0.1, slowed=1.3)
UNEQUAL = sizes("5+15", "15+5")


def unequal_margins(plan: Plan, judge_runs: Judge = judge) -> Iterator[Figure]:
    """Measure the same where a side has three times the runs, and of equal sides what is right."""
    for shape in (_LN02, LN15, _SLOWED):
        for runs, size in UNEQUAL.items():
            for ratio, quantity in ((1 / (1 + MARGIN), "unequal margin"), (1.0, "unequal right")):
                pair = Pair(shape, shape, ratio)
                words = [judge_runs(a, b, MARGIN).verdict for a, b in samples(pair, size, plan)]
                kinds = UNSEEN if shape.stragglers else UNMARKED
                kinds = FREE if ratio == 1 else kinds
                yield from by_mark(quantity, pair.name, runs, words, not_slower, kinds)


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
            pairs = list(samples(row.pair, size, plan, row.name, failing=(row.a, row.b)))
            ratios = [
                ratio_between(side(a), side(b), estimand="mean", confidence=0.95) for a, b in pairs
            ]
            all_limits = [limits(ratio) for ratio in ratios]
            # `compare` shows expected times where a run failed, and mean times otherwise.
            marked_limits = [
                interval
                for interval, (a, b) in zip(all_limits, pairs, strict=True)
                if not (a.reached.all() and b.reached.all())
            ]
            missing_rate = rate(sum(interval is None for interval in all_limits), len(all_limits))
            yield Figure("ERT, shown", row.name, runs, hit_rate(marked_limits, truth), "coverage")
            yield Figure("ERT, always", row.name, runs, hit_rate(all_limits, truth), "coverage")
            yield Figure("ERT, none", row.name, runs, missing_rate, "no promise")
            if truth == 1.0:
                verdicts = [judge_runs(a, b, 0.01).verdict for a, b in pairs]
                yield from by_mark("ERT, claims", row.name, runs, verdicts, directed)
