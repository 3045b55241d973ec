"""How often any claim is false when many benchmarks are compared at once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from benchmarks.coverage.cases import Q8
from benchmarks.coverage.figures import Figure, rate
from benchmarks.coverage.judging import Limits, directed, measured, not_slower
from benchmarks.coverage.shapes import (
    CONST,
    GNMT,
    LN15,
    LN45,
    RARE10,
    SHAPES,
    SSD,
    TRF,
    TRF2,
    Pair,
)
from benchmarks.coverage.simulations import BALANCED, Plan, hit_rate, samples
from ttastats.answers.compare import headline
from ttastats.answers.compare.rows import TimesRow, verdict_numbers
from ttastats.report.answer import Against
from ttastats.sides import contrast
from ttastats.sides.comparison import Comparison
from ttastats.sides.options import Options
from ttastats.stats.decision import Decision
from ttastats.stats.multiplicity import geometric_mean_speedup

MARGIN = 0.05

Family = Sequence[Comparison]

#: Sets of benchmarks compared at once.
FAMILIES = {
    "CONST, TRF, GNMT, SSD, LN15": tuple(Pair(s, s) for s in (CONST, TRF, GNMT, SSD, LN15)),
    "five times LN45": (Pair(LN45, LN45),) * 5,
    "five times RARE10": (Pair(RARE10, RARE10),) * 5,
    "five times RARE10 / CONST": (Pair(RARE10, CONST),) * 5,
    "twelve times LN15": (Pair(LN15, LN15),) * 12,
    "twelve kinds": (*(Pair(s, s) for s in (*SHAPES, Q8)), Pair(TRF, CONST), Pair(TRF2, GNMT)),
}
#: The same for the one sentence on all of them.
HEADLINES = {
    "three times CONST / RARE10": (Pair(CONST, RARE10),) * 3,
    "three times RARE10": (Pair(RARE10, RARE10),) * 3,
    "three times LN15": (Pair(LN15, LN15),) * 3,
}
_STEADY = replace(LN15, name="LN02", cv_epochs=0.02)
#: The same for claims about a margin: spreads at which such a claim can be made at all.
AT_THE_MARGIN = {
    "twelve times CONST": (Pair(CONST, CONST),) * 12,
    "twelve times LN02": (Pair(_STEADY, _STEADY),) * 12,
    "twelve times LN15": (Pair(LN15, LN15),) * 12,
}


def families(plan: Plan) -> Iterator[Figure]:
    """Measure benchmarks none of which differs: the mean row, and any false claim after Holm."""
    for name, pairs in FAMILIES.items():
        for runs, size in BALANCED.items():
            means, false = [], 0
            for family in _family(pairs, size, plan, name):
                means.append(_mean_row(family))
                false += any(
                    directed(v) and not v.assumes_constant_epochs for v in judged(family, 0.01)
                )
            yield Figure("geometric mean row", name, runs, hit_rate(means, 1.0), "coverage")
            any_false = rate(false, plan.replicates)
            yield Figure("any claim after Holm", name, runs, any_false, "false claim")


def at_the_margin(plan: Plan) -> Iterator[Figure]:
    """Measure benchmarks that are all slower by just the margin: any claim that one is not."""
    for name, pairs in AT_THE_MARGIN.items():
        slower = [replace(pair, ratio=1 / (1 + MARGIN)) for pair in pairs]
        for runs, size in BALANCED.items():
            false = sum(
                any(not_slower(v) and not v.assumes_constant_epochs for v in judged(family, MARGIN))
                for family in _family(slower, size, plan, name)
            )
            any_false = rate(false, plan.replicates)
            yield Figure("any claim about the margin", name, runs, any_false, "false claim")


def headlines(plan: Plan) -> Iterator[Figure]:
    """Measure benchmarks none of which differs: a headline with a claim that needs no condition."""
    for name, pairs in HEADLINES.items():
        for runs, size in BALANCED.items():
            false = sum(_claims_freely(family) for family in _family(pairs, size, plan, name))
            share = rate(false, plan.replicates)
            yield Figure("headlines of several benchmarks", name, runs, share, "false claim")


def _claims_freely(family: Family) -> bool:
    """Return whether the headline says faster or slower, in its word or of any row, with no `if`.

    The interval of the mean is a figure of its own.
    """
    decided = contrast.with_verdicts(family, Options(margin=0.01), 0.01)
    rows = tuple(
        TimesRow(
            n_a=contrast.a.n, n_b=contrast.b.n,
            reached_a=contrast.a.n_reached, reached_b=contrast.b.n_reached,
            speedup=contrast.speedup.ratio.estimate if contrast.speedup else None,
            **verdict_numbers(contrast.verdict),
        )
        for contrast in decided
    )  # fmt: skip
    names = [f"benchmark {number}" for number in range(len(rows))]
    lead = headline.lead(Against(rows, (), None), names, "", 0.95)
    word = re.search("FASTER|SLOWER", lead.word) and not lead.word.endswith("WITH CONDITIONS")
    has_claim = any(row.word.directed and not row.conditions for row in rows)
    return bool(word) or has_claim


def judged(family: Family, margin: float) -> list[Decision]:
    """Judge benchmarks together, as `compare` does."""
    return [row.verdict for row in contrast.with_verdicts(family, Options(margin=margin), margin)]


def _mean_row(family: Family) -> Limits | None:
    mean = geometric_mean_speedup(
        [row.speedup.ratio for row in family if row.speedup], confidence=0.95
    )
    return None if mean.low is None or mean.high is None else (mean.low, mean.high)


def _family(
    pairs: Sequence[Pair], size: tuple[int, int], plan: Plan, name: str
) -> Iterator[Family]:
    pairs_of_runs = [
        samples(pair, size, plan, name, str(number)) for number, pair in enumerate(pairs)
    ]
    for replicate in zip(*pairs_of_runs, strict=True):
        yield tuple(measured(a, b) for a, b in replicate)
