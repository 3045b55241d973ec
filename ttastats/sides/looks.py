"""Which look of a plan is a comparison, and why is it none?

With `Options.max_runs` a comparison may be repeated after every run a side: `stats.sequential`.
"""

from __future__ import annotations

from ttastats.base.errors import raise_if
from ttastats.base.units import plural
from ttastats.sides.numbers import SideNumbers
from ttastats.stats.sequential import FIRST_LOOK, MOST_LOOKS, Look

#: Runs a side of a plan that names none.
MAX_RUNS = 20


def look(a: SideNumbers, b: SideNumbers, most: int) -> Look | str:
    """Return the look of a plan at these runs, or the reason why the plan has none."""
    if a.pooled or b.pooled:
        return "several setups are pooled, and their runs are not independent"
    if not (a.all_reached and b.all_reached):
        failed = a.n - a.n_reached + b.n - b.n_reached
        return f"{failed} of {a.n + b.n} runs failed; sequential tests support only successful runs"
    if a.n != b.n:
        return f"{a.n} vs {b.n} runs: a look needs equal numbers of runs"
    if a.n < FIRST_LOOK:
        return f"{plural(a.n, 'run')} per side: the first look is at {FIRST_LOOK}"
    if a.n > most:
        return f"{a.n} runs per side: the plan ended at {most}; its verdict there is final"
    return Look(a.n, most)


def check(max_runs: int | None) -> None:
    """Raise an error for options that no plan of looks allows."""
    raise_if(
        max_runs is not None and not FIRST_LOOK <= max_runs <= MOST_LOOKS,
        f"the maximum must be {FIRST_LOOK} to {MOST_LOOKS} runs per side",
        f"--max-runs {max_runs}",
        f"Omit it for {MAX_RUNS}, or fix the number of runs in advance.",
    )
