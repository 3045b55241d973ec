"""What came of a race: why it is over, what a fixed plan would have cost, and its report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from ttastats.api import answers, comparing
from ttastats.base import units
from ttastats.race import judge
from ttastats.race.judge import Rules, Standing
from ttastats.report.answer import Report
from ttastats.sides.options import Options
from ttastats.stats.multiplicity import FIRST_LOOK

_ENDS = {
    "decided": "decided",
    "maximum": "undecided at the most runs",
    "hopeless": "undecided, and no further run would decide it",
    "budget": "over the budget",
}


def standing_text(standing: Standing) -> str:
    """Return the standing of the pairs in one line."""
    texts = []
    for pair in standing.pairs:
        if pair.n == standing.n and pair.ratio and pair.ratio.estimate:
            ratio = units.ratio_interval(pair.ratio.estimate, pair.ratio.low, pair.ratio.high)
            texts.append(f"{pair.b} against {pair.a} {ratio} {pair.verdict.value}")
    runs = units.plural(standing.n, "run")
    return f"{runs} each: {'; '.join(texts) or 'no interval yet'}"


def end_text(standing: Standing, rules: Rules, runs: pl.DataFrame) -> str:
    """Return the reason of the end, and the cost of a fixed plan."""
    after = f"after {units.plural(standing.n, 'run')} each"
    end = f"{_ENDS[standing.ended]} {after}, of at most {rules.most}"
    if rules.fixed and standing.n == rules.most:
        end = f"{rules.most} runs each, as planned"
    return "; ".join(filter(None, [end, _fixed_plan_text(standing, runs)]))


def _fixed_plan_text(standing: Standing, runs: pl.DataFrame) -> str:
    """Return the cost of a fixed plan for the pair with most runs."""
    costs, time = [], pl.col("tta_seconds")
    for pair in standing.pairs:
        pair_runs = runs.filter(pl.col("entry").is_in([pair.a, pair.b]) & pl.col("reached"))
        spread = pair_runs.group_by("entry").agg(cv=time.std() / time.mean(), mean=time.mean())
        if spread.height < 2 or spread["cv"].null_count() or not pair.ratio:
            continue
        cv = float(spread.select((pl.col("cv") ** 2).mean().sqrt()).item())
        costs.append((judge.fixed_runs(pair.ratio.estimate, cv), float(spread["mean"].sum())))
    if not costs:
        return ""
    plans = [(needed, needed * seconds) for needed, seconds in costs if needed is not None]
    if not plans:
        return "no fixed number of runs detects a difference of 0"
    needed, seconds = max(plans)
    cost = f"{needed:,} runs each, {units.seconds(seconds)}"
    return f"a fixed plan would have taken {cost} (80% power)"


def final_report(
    runs: pl.DataFrame, standing: Standing, rules: Rules, first: int, fail_on: Sequence[str] = ()
) -> Report:
    """Return the comparison of two setups within blocks, the rank of more.

    `first` is the seed of the first block. With conditions of a gate, all are compared with the
    first setup.
    """
    n = standing.n
    if len(standing.setups) > 2 and not fail_on:
        # Of one look: all looks together keep the level of the race.
        return answers.rank(runs, confidence=1 - rules.level(max(n, FIRST_LOOK)))
    complete = runs.filter(pl.col("seed") < first + max(n, 1))
    sides = [complete.filter(pl.col("entry") == setup) for setup in standing.setups]
    options = Options(max_runs=None if rules.fixed else rules.most)
    gates: Any = tuple(fail_on) or None
    labels = list(standing.setups)
    report: Report = comparing.compare(
        *sides, labels=labels, options=options, block=["seed"], fail_on=gates
    )
    return report
