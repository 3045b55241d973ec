"""Have two setups made enough runs to be told apart? Seeds are added only while they have not.

The looks are those of a plan (`stats.sequential`), each at the first seeds of both setups. A
verdict that holds only if epochs are constant ends no plan: further runs show if they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import polars as pl
from msgspec import Struct

from ttastats import api
from ttastats.answers.compare.rows import LookKeys, TimesRow
from ttastats.base import units
from ttastats.base.errors import raise_if
from ttastats.report.answer import Report
from ttastats.report.row import expect_kind
from ttastats.sides import comparison
from ttastats.sides.options import Options
from ttastats.stats.power import runs_needed
from ttastats.stats.results import Verdict
from ttastats.stats.sequential import FIRST_LOOK
from ttastats.trainer import parallel

#: Gives the table of all logs, once both setups have runs of so many seeds.
Made = Callable[[int], pl.DataFrame]


class Decided(Struct, frozen=True):
    """The last look: its answer, and in words what came of the plan."""

    report: Report
    remark: str


def expect_two_setups(setups: Sequence[str], max_runs: int) -> None:
    """Raise an error for requests that no plan of looks can follow."""
    comparison.check_plan(max_runs)
    pair = f"--until-decided compares two setups, not {len(setups)}"
    values = "Give one option two values, such as --batch-size 32,512."
    raise_if(len(setups) != 2, pair, None, values)
    alone = "--until-decided does not run under torchrun"
    raise_if(parallel.is_worker(), alone, None, "Use --workers instead.")


def run_until_decided(made: Made, setups: Mapping[str, str], seed: int, max_runs: int) -> Decided:
    """Add a run to each setup after every undecided look; return the decision."""
    n = FIRST_LOOK
    while True:
        table = made(n).filter(pl.col("seed").is_between(seed, seed + n - 1))
        sides = [table.filter(pl.col("system") == system) for system in setups.values()]
        report = api.compare(*sides, labels=list(setups), options=Options(max_runs=max_runs))
        (row,) = expect_kind(report.records, TimesRow)
        if not isinstance(row.look, LookKeys) or row.look.look is None:
            remark = f"stopped after {n} runs per side: the plan does not cover these runs"
            return Decided(report, remark)
        undecided = row.verdict == Verdict.UNDECIDED or row.dagger
        if n == max_runs or not undecided:
            outcome = f"{'undecided' if undecided else 'decided'} after {n} runs per side"
            remark = f"{outcome}, of at most {max_runs}; {_fixed_plan_runs(row)}"
            return Decided(report, remark)
        n += 1


def _fixed_plan_runs(row: TimesRow) -> str:
    """Return how many runs a plan without looks would have needed."""
    cv = (((row.cv_a or 0.0) ** 2 + (row.cv_b or 0.0) ** 2) / 2) ** 0.5
    needed = runs_needed(row.speedup or 1.0, cv)
    if needed is None:
        return "no fixed number of runs detects a difference of 0"
    ratio = units.factor(row.speedup or 1.0)
    return f"with a fixed number, {ratio} would have needed {needed:,} (80% power)"
