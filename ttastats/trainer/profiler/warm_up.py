"""How many steps at the start are left out? They are slow, which says nothing of the others.

The first step always is: it imports what nobody imported before and allocates all memory. A median
over windows of steps would hide it, so that the rule looks at each step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

#: A step has warmed up when it takes at most so much longer than the last half of the steps.
TOLERANCE = 0.05


@dataclass(frozen=True, slots=True)
class WarmUp:
    """How many steps are left out; `settled` is False where the rule found no end."""

    steps: int
    settled: bool

    @property
    def rule(self) -> str:
        """Return the rule in words."""
        found = "" if self.settled else "; there was none, so half of them are excluded"
        return (
            f"step 1 and all steps before the first within {TOLERANCE:.0%} of the median of the "
            f"last half{found}"
        )


def of(seconds: Sequence[float]) -> WarmUp:
    """Return how many of some steps, in their order, were warming up.

    Raises
    ------
    ValueError
        There are fewer than four steps.
    """
    if len(seconds) < 4:
        raise ValueError("no rule for fewer than four steps")
    half = len(seconds) // 2
    limit = median(seconds[half:]) * (1 + TOLERANCE)
    for number in range(1, half + 1):
        if seconds[number] <= limit:
            return WarmUp(number, settled=True)
    return WarmUp(half, settled=False)
