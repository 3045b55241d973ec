"""How is a comparison made, and what of it is shown?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ttastats.stats.outcomes import Estimand


@dataclass(frozen=True, slots=True)
class Options:
    """How a comparison is made.

    `margin` is the difference (a fraction) that does not matter. `estimand` chooses the mean of
    times. `same_convergence` asserts that both sides need the same epochs, as equal recipes do;
    `epochs_fixed` that a side's epochs cannot vary. `fdr` controls the false discovery rate
    (Benjamini-Hochberg) in place of any false claim (Holm). `seed` is that of random splits.
    `max_runs` plans looks after every run a side up to so many: interval and verdict hold at each.
    """

    ddof: int = 1
    margin: float = 0.01
    estimand: Estimand = "mean"
    same_convergence: bool = False
    epochs_fixed: bool = False
    fdr: bool = False
    confidence: float = 0.95
    seed: int = 0
    max_runs: int | None = None


@dataclass(frozen=True, slots=True)
class View:
    """What is shown: more columns, a strip of dots per side, claims about a margin.

    `named`: sentences call the sides by their labels, not A and B. `same`: they are sets of runs of
    one setup, and rows tell how much sessions vary.
    """

    wide: bool = False
    strips: bool = False
    margin_claims: bool = False
    named: bool = False
    same: bool = False
