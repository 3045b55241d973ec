"""What do the complete blocks of a race show, who leaves it, and is it over?

A look is that of the plan of `compare --sequential`: a pair of setups is compared within blocks, at
the level of the look among all pairs (Holm). What is shown
once stays shown. Of more than two setups, one shown to be slower than another leaves.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from functools import cache
from itertools import combinations

import polars as pl
from msgspec import Struct
from msgspec.structs import replace
from scipy import special

from ttastats.sides import numbers
from ttastats.sides.design import BLOCK, design
from ttastats.sides.numbers import SideNumbers
from ttastats.sides.options import CONFIDENCE, POWER, Options
from ttastats.sides.order import judge_pair
from ttastats.stats.moments import two_sided_t
from ttastats.stats.multiplicity import FIRST_LOOK, Look, boundaries, step_down
from ttastats.stats.power import runs_needed
from ttastats.stats.results import Ratio, Verdict

#: A pair is hopeless if its last look decides with less than this chance, at the difference by
#: which this interval of it is most favourable.
_HOPE, _FAVOURABLE = 0.1, 0.9


class Rules(Struct, frozen=True):
    """When a race ends: by looks up to `most` blocks, or at `most` of them (`fixed`)."""

    most: int
    fixed: bool = False
    confidence: float = CONFIDENCE

    @property
    def first(self) -> int:
        """Return after how many blocks one looks first."""
        return self.most if self.fixed else FIRST_LOOK

    def level(self, n: int, alpha: float | None = None) -> float:
        """Return the level of tests after `n` blocks, if all looks together use `alpha`."""
        alpha = round(1 - self.confidence, 12) if alpha is None else alpha
        return alpha if self.fixed else Look(n, self.most).level(alpha)


class Pair(Struct, frozen=True):
    """Two setups at their latest look: `ratio` is time of `a` over `b`, valid at all looks.

    `conditions` are those under which `verdict` holds; a claim with some ends nothing.
    """

    a: str
    b: str
    n: int = 0
    ratio: Ratio | None = None
    verdict: Verdict = Verdict.UNDECIDED
    conditions: tuple[str, ...] = ()
    reached: tuple[int, int] = (0, 0)
    hopeless: bool = False

    @property
    def shown(self) -> bool:
        """Return whether a direction is shown without conditions."""
        return self.verdict.directed and not self.conditions

    def closed(self, dropouts: Collection[str]) -> bool:
        """Return whether the pair is finished: it is shown, or a setup dropped out."""
        return self.shown or self.a in dropouts or self.b in dropouts

    @property
    def slower(self) -> str:
        """Return the setup that is shown to be slower."""
        return self.a if self.verdict is Verdict.FASTER else self.b


class Standing(Struct, frozen=True):
    """What is known after `n` blocks; `left` has the number of blocks of each setup that left."""

    setups: tuple[str, ...]
    pairs: tuple[Pair, ...]
    left: dict[str, int] = {}
    n: int = 0
    ended: str = ""

    @property
    def active(self) -> list[str]:
        """Return the setups that are still in the race."""
        return [setup for setup in self.setups if setup not in self.left]


def before_any(setups: Sequence[str]) -> Standing:
    """Return the standing before the first run."""
    return Standing(tuple(setups), tuple(Pair(a, b) for a, b in combinations(setups, 2)))


def judge(runs: pl.DataFrame, rules: Rules, before: Standing, n: int) -> Standing:
    """Return the standing after `n` blocks, looks in between included.

    `runs` is a table of runs with `entry`, the setup, and `seed`, that of the block.
    """
    for look in range(max(rules.first, before.n + 1), n + 1):
        if not before.ended:
            before = _at_look(runs, rules, before, look)
    return before if before.ended else replace(before, n=n)


def _at_look(runs: pl.DataFrame, rules: Rules, before: Standing, n: int) -> Standing:
    sides = {setup: _side(runs, setup, n) for setup in before.active}

    @cache
    def at_level(index: int, level: float) -> Pair:
        pair = before.pairs[index]
        if pair.closed(before.left):
            return pair
        options = Options(confidence=1 - rules.level(n, level))
        contrast = judge_pair(sides[pair.a], sides[pair.b], options)
        ratio = contrast.speedup.ratio if contrast.speedup else None
        return replace(
            pair,
            n=n,
            ratio=ratio,
            verdict=contrast.verdict.word,
            conditions=contrast.verdict.conditions,
            reached=(contrast.a.n_reached, contrast.b.n_reached),
            hopeless=not rules.fixed
            and ratio is not None
            and is_hopeless(ratio, Look(n, rules.most), level),
        )

    def is_decided(index: int, level: float) -> bool:
        levels[index] = level
        return at_level(index, level).shown

    levels: dict[int, float] = {}
    step_down(range(len(before.pairs)), is_decided, round(1 - rules.confidence, 12))
    pairs = tuple(at_level(index, level) for index, level in sorted(levels.items()))
    dropouts = {pair.slower: n for pair in pairs if pair.shown} | before.left
    standing = replace(before, pairs=pairs, left=dropouts, n=n)
    return replace(standing, ended=_end(standing, rules))


def _end(standing: Standing, rules: Rules) -> str:
    """Return the reason of the end, or nothing."""
    open_pairs = [pair for pair in standing.pairs if not pair.closed(standing.left)]
    if not open_pairs:
        return "decided"
    if standing.n >= rules.most:
        return "maximum"
    return "hopeless" if all(pair.hopeless for pair in open_pairs) else ""


def _side(runs: pl.DataFrame, setup: str, n: int) -> SideNumbers:
    """Return the numbers of the runs of a setup in the first blocks."""
    setup_runs = runs.filter(pl.col("entry") == setup).sort("seed").head(n)
    setup_runs = setup_runs.with_columns(
        (pl.col("seed") - pl.col("seed").min()).cast(pl.UInt32).alias(BLOCK)
    )
    outcomes = numbers.outcomes_of(setup_runs)
    return SideNumbers(setup_runs.height, outcomes, design=design(setup_runs))


def is_hopeless(ratio: Ratio, look: Look, alpha: float) -> bool:
    """Return whether the last look of a plan will hardly show a difference.

    Its chance is that of the score of a normal mean at the end (stochastic curtailment: Lan, Simon
    and Halperin 1982), of a difference at the favourable end of the interval of what was seen.
    """
    if not ratio.estimate or not ratio.se_log or not ratio.df:
        return False
    information, remaining = ratio.se_log**-2, ratio.se_log**-2 * (look.most / look.n - 1)
    drift = abs(math.log(ratio.estimate))
    hoped = drift + ratio.se_log * two_sided_t(ratio.df, 2 * _FAVOURABLE - 1)
    critical = boundaries(alpha, look.most, look.most)[-1]
    gap = drift * information + hoped * remaining - critical * math.sqrt(information + remaining)
    return remaining > 0 and float(special.ndtr(gap / math.sqrt(remaining))) < _HOPE


def fixed_runs(ratio: float | None, cv: float) -> int | None:
    """Return the runs a side of a fixed plan that shows a ratio; None of no difference."""
    return runs_needed(ratio or 1.0, cv, power=POWER, alpha=1 - CONFIDENCE)
