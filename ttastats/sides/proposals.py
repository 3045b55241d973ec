"""Should runs be compared within blocks: days, hosts or slots that differ beyond chance?"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl
from msgspec import Struct

from ttastats.outcomes import settings
from ttastats.stats.blocks import Labels
from ttastats.stats.drift import Spread, spread_of_blocks
from ttastats.stats.power import detectable_ratio
from ttastats.stats.results import Floats

#: Blocks are proposed at this level over all columns that may be blocks.
LEVEL = 0.01
#: Settings that say where or when a run was made, and not how it trained or ended.
_PLACE = re.compile(
    r"(^|[._/-])(host(_?name)?|nodes?(_?(name|list|id))?|machine|server|slot|worker|rack|zone"
    r"|partition|queue|cluster|location|session)$",
    re.IGNORECASE,
)


class Proposal(Struct, frozen=True):
    """The blocks that differ most surely, and `runs`: as many on each of two sides tell as much.

    `spread` is that of the logarithms of times, or of qualities.
    """

    name: str
    spread: Spread
    runs: float

    def detectable(self, *, power: float, alpha: float, runs: float = 0.0) -> float | None:
        """Return the detectable difference within blocks, of these runs or so many a side."""
        n = max(self.spread.df // 2 + 1, 2)  # the runs a side of these degrees of freedom
        cv = math.sqrt(math.expm1(n / (runs or self.runs)))  # of a deviation of 1 within blocks
        ratio = detectable_ratio(n, cv, power=power, alpha=alpha)
        return ratio and self.spread.within * math.log(ratio)


def propose(sides: Sequence[pl.DataFrame], values: Sequence[Floats]) -> Proposal | None:
    """Return the shared blocks of sides with differences beyond chance in the `values` of runs."""
    all_values = np.concatenate(values)
    side = np.repeat(np.arange(len(sides)), [runs.height for runs in sides])
    columns = [side_runs.select(pl.col("^(started_at|extra)$")) for side_runs in sides]
    runs = pl.concat(columns, how="vertical_relaxed")
    proposals, tests = list[Proposal](), 0
    for name, blocks in _candidates(runs):
        counts = np.array([np.bincount(blocks[side == of], minlength=blocks.max() + 1)
                           for of in range(len(sides))])  # fmt: skip
        if np.count_nonzero((counts > 0).all(0)) < 2:
            continue
        if (spread := spread_of_blocks(all_values, side, blocks)) is not None:
            tests += 1
            # A block weighs n_a n_b / (n_a + n_b); of n runs a side without blocks it is n / 2.
            weight = float((counts.prod(0) / counts.sum(0)).sum()) if len(sides) == 2 else 0.0
            proposals.append(Proposal(name, spread, 2 * weight))
    best = min(proposals, key=lambda proposal: proposal.spread.p_value, default=None)
    return best if best and best.spread.p_value * tests < LEVEL else None


def _candidates(runs: pl.DataFrame) -> Iterator[tuple[str, Labels]]:
    """Yield the days of the starts, and each recorded setting that is a place, by run."""
    columns = [("day", runs["started_at"].dt.date())]
    if "extra" in runs.columns:
        names = filter(_PLACE.search, settings.setting_names(runs["extra"]))
        columns += [(name, settings.column(runs["extra"], name)) for name in names]
    for name, labels in columns:
        if not labels.null_count():
            yield name, (labels.cast(pl.String).rank("dense") - 1).to_numpy().astype(np.intp)
