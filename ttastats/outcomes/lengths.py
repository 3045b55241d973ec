"""How long are runs, and is that one length?"""

from __future__ import annotations

import math
from dataclasses import dataclass

import polars as pl

from ttastats.base import units
from ttastats.outcomes.budget import AMOUNTS, Budget, Unit

#: Where tables of runs tell how far they trained, best first.
SPENT: dict[Unit, str] = {"step": "steps", "samples": "samples", "epoch": "epochs"}
#: Runs of one fixed time differ by the length of a step.
_SAME_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class Lengths:
    """How long runs are: in which unit, from which to which amount, and how many are longest.

    `unit` is None where runs tell no common one.
    """

    unit: Unit | None
    least: float
    most: float
    n: int
    n_longest: int

    @property
    def one(self) -> bool:
        """Tell whether all have one length; seconds may differ a little."""
        if self.unit == "seconds":
            return self.most - self.least <= _SAME_SECONDS * self.most
        return self.least == self.most

    def said(self, amount: float) -> str:
        """Give an amount in words: `1,390 steps`."""
        unit = AMOUNTS[self.unit] if self.unit else "evaluations"
        return units.amount(amount, unit)

    @property
    def budget(self) -> Budget | None:
        """Give the largest budget that every run reached."""
        if self.unit is None or not self.least:
            return None
        fine = self.unit == "seconds"  # no clock is read to more than milliseconds
        return Budget(self.unit, math.floor(self.least * 1e3) / 1e3 if fine else self.least)

    @property
    def all_reach(self) -> str:
        """Say which budget that is; empty where there is none."""
        if self.budget is None:
            return ""
        return f"{self.budget.option} is the largest budget that all reach"


def lengths(at_end: pl.DataFrame) -> Lengths:
    """Give how long runs are, from their table at the end.

    The first of steps, samples and epochs that all tell counts, unless they differ in it and are
    as long in seconds: those were stopped by the clock. Without any of these, evaluations count.
    """
    told: list[Unit] = [unit for unit, name in SPENT.items() if not at_end[name].null_count()]
    found = [_lengths(at_end[SPENT[unit]], unit) for unit in told[:1]]
    seconds = at_end["observed_seconds"]
    if not seconds.null_count():
        found.append(_lengths(seconds, "seconds"))
    found.append(_lengths(at_end["evaluations"].fill_null(0), None))
    some = found[:-1] or found
    return next((one for one in some if one.one), some[0])


def _lengths(amounts: pl.Series, unit: Unit | None) -> Lengths:
    values = amounts.cast(pl.Float64).to_list() or [0.0]
    most = max(values)
    return Lengths(unit, min(values), most, len(values), values.count(most))
