"""At which budget is a quality asked for, and which budgets do runs of some length reach?"""

from __future__ import annotations

import math
import re
from typing import Literal

import polars as pl
from msgspec import Struct

from ttastats.base import units
from ttastats.base.errors import TtastatsError, raise_if
from ttastats.base.percentages import parse_number

Unit = Literal["end", "step", "samples", "epoch", "seconds"]

#: What an amount of each is written in.
AMOUNTS: dict[Unit, units.Amount] = {
    "step": "steps",
    "samples": "samples",
    "epoch": "epochs",
    "seconds": "seconds",
}
#: Where tables of runs tell how far they trained, best first.
SPENT: dict[Unit, str] = {"step": "steps", "samples": "samples", "epoch": "epochs"}
#: Runs of one fixed time differ by the length of a step.
_SAME_SECONDS = 0.02
_OPTION = "--at"
_WRITE = "Write --at-end, --at step=3325, --at epoch=10, --at samples=1e6 or --at seconds=600."


class Budget(Struct, frozen=True):
    """What may be spent; `amount` is None at the end.

    `best`: the best value so far in place of the last. `interpolate`: on the line between the
    evaluations around the budget.
    """

    unit: Unit = "end"
    amount: float | None = None
    best: bool = False
    interpolate: bool = False

    @property
    def option(self) -> str:
        """Return the budget as written on the command line."""
        if self.amount is None:
            return "--at-end"
        return f"{_OPTION} {self.unit}={self.amount:.15g}"

    @property
    def place(self) -> str:
        """Return the budget in words: `at the end`, `at step 3,325`, `after 600 s`."""
        if self.amount is None:
            return "at the end"
        if self.unit in {"step", "epoch"}:
            return f"at {self.unit} {units.count(self.amount)}"
        if self.unit == "seconds":
            return f"after {self.amount:g} s"
        return f"after {units.amount(self.amount, AMOUNTS[self.unit])}"

    def __str__(self) -> str:
        """Return the place, and the rule for the value there."""
        rule = ", best so far" if self.best else ", interpolated" if self.interpolate else ""
        return f"{self.place}{rule}"


END = Budget()


def parse(
    at: str = "", *, at_end: bool = False, best: bool = False, interpolate: bool = False
) -> Budget | None:
    """Return the budget in the options; None if there is none."""
    if not at and not at_end:
        option = "--best" if best else "--interpolate"
        raise_if(best or interpolate, "no budget given", option, _WRITE)
        return None
    raise_if(at and at_end, "two budgets given", f"{_OPTION} {at} --at-end", "Give one.")
    for conflict, option, why in (
        (best, "--best", "--best takes measured values"),
        (at_end, "--at-end", "there is no evaluation after the end"),
    ):
        location, remedy = f"--interpolate {option}", "Remove one of the two."
        raise_if(interpolate and conflict, f"cannot interpolate: {why}", location, remedy)
    if not at:
        return Budget(best=best)
    match = re.fullmatch(r"\s*(step|sample|epoch|second)s?\s*=\s*(\S+)\s*", at)
    amount = parse_number(match[2]) if match and "%" not in match[2] else None
    if match is None or amount is None or amount <= 0:
        raise TtastatsError(f"{at!r} is not a budget", where=_OPTION, remedy=_WRITE)
    units_by_name: dict[str, Unit] = {unit.removesuffix("s"): unit for unit in AMOUNTS}
    return Budget(units_by_name[match[1]], amount, best, interpolate)


class Lengths(Struct, frozen=True):
    """How long runs are: in which unit, from which to which amount, and how many are longest.

    `unit` is None where runs tell no common one.
    """

    unit: Unit | None
    least: float
    most: float
    n: int
    n_longest: int

    @property
    def equal(self) -> bool:
        """Return whether all runs have one length; seconds may differ a little."""
        if self.unit == "seconds":
            return self.most - self.least <= _SAME_SECONDS * self.most
        return self.least == self.most

    def text(self, amount: float) -> str:
        """Return an amount in words: `1,390 steps`."""
        unit = AMOUNTS[self.unit] if self.unit else "evaluations"
        return units.amount(amount, unit)

    @property
    def budget(self) -> Budget | None:
        """Return the largest budget reached by every run."""
        if self.unit is None or not self.least:
            return None
        fine = self.unit == "seconds"  # no clock is read to more than milliseconds
        return Budget(self.unit, math.floor(self.least * 1e3) / 1e3 if fine else self.least)

    @property
    def all_reach(self) -> str:
        """Return the largest budget reached by every run in words, or an empty text."""
        return f"{self.budget.option} is the largest budget that all reach" if self.budget else ""


def lengths(at_end: pl.DataFrame) -> Lengths:
    """Return the lengths of runs, from their table at the end.

    The first of steps, samples and epochs that all tell counts, unless they differ in it and are
    as long in seconds: those were stopped by the clock. Without any of these, evaluations count, as
    they do of finished runs that tell nothing but their last value.
    """
    trained: list[tuple[Unit | None, pl.Series]] = [
        (unit, at_end[name]) for unit, name in SPENT.items() if not at_end[name].null_count()
    ]
    amounts = trained[:1]
    is_last = (pl.col("run_status") == "success") & (pl.col("evaluations") == 1)
    only_ends = not trained and at_end.select(is_last.all()).item()
    if not only_ends and not (seconds := at_end["observed_seconds"]).null_count():
        amounts.append(("seconds", seconds))
    amounts = amounts or [(None, at_end["evaluations"].fill_null(0))]
    common = []
    for unit, amount in amounts:
        values = amount.cast(pl.Float64).to_list() or [0.0]
        longest = max(values)
        common.append(Lengths(unit, min(values), longest, len(values), values.count(longest)))
    return next((extent for extent in common if extent.equal), common[0])
