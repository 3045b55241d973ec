"""At which budget is a quality asked for: at the end of a run, a step, an epoch, a second?"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from ttastats.base import units
from ttastats.base.errors import TtastatsError
from ttastats.base.percentages import any_number

Unit = Literal["end", "step", "samples", "epoch", "seconds"]

#: What an amount of each is written in.
AMOUNTS: dict[Unit, units.Amount] = {
    "step": "steps",
    "samples": "samples",
    "epoch": "epochs",
    "seconds": "seconds",
}
_OPTION = "--at"
_WRITE = "Write --at-end, --at step=3325, --at epoch=10, --at samples=1e6 or --at seconds=600."


@dataclass(frozen=True, slots=True)
class Budget:
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
        """Give it as it is written on the command line."""
        if self.amount is None:
            return "--at-end"
        return f"{_OPTION} {self.unit}={self.amount:.15g}"

    @property
    def place(self) -> str:
        """Give `at the end`, `at step 3,325`, `after 600 s`."""
        if self.amount is None:
            return "at the end"
        if self.unit in {"step", "epoch"}:
            return f"at {self.unit} {units.count(self.amount)}"
        if self.unit == "seconds":
            return f"after {self.amount:g} s"
        return f"after {units.amount(self.amount, AMOUNTS[self.unit])}"

    def __str__(self) -> str:
        """Give the place, and which value is taken there."""
        which = ", best so far" if self.best else ", interpolated" if self.interpolate else ""
        return f"{self.place}{which}"


END = Budget()


def parse(
    at: str = "", *, at_end: bool = False, best: bool = False, interpolate: bool = False
) -> Budget | None:
    """Read the options of a budget; None if none is asked for.

    Raises
    ------
    TtastatsError
        They are no budget, or contradict each other.
    """
    if not at and not at_end:
        if best or interpolate:
            option = "--best" if best else "--interpolate"
            raise TtastatsError("no budget given", where=option, remedy=_WRITE)
        return None
    if at and at_end:
        raise TtastatsError(
            "two budgets given", where=f"{_OPTION} {at} --at-end", remedy="Give one."
        )
    if interpolate and (best or at_end):
        why = "--best takes measured values" if best else "there is no evaluation after the end"
        where = f"--interpolate {'--best' if best else '--at-end'}"
        raise TtastatsError(
            f"cannot interpolate: {why}", where=where, remedy="Remove one of the two."
        )
    if not at:
        return Budget(best=best)
    return Budget(*_placed(at), best, interpolate)


def _placed(text: str) -> tuple[Unit, float]:
    match = re.fullmatch(r"\s*(step|sample|epoch|second)s?\s*=\s*(\S+)\s*", text)
    amount = any_number(match[2]) if match and "%" not in match[2] else None
    if match is None or amount is None or amount <= 0:
        raise TtastatsError(f"{text!r} is not a budget", where=_OPTION, remedy=_WRITE)
    words: dict[str, Unit] = {
        "step": "step", "sample": "samples", "epoch": "epoch", "second": "seconds"
    }  # fmt: skip
    return words[match[1]], amount
