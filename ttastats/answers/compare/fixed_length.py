"""Were runs stopped at one length whether or not they met the target? Then another question fits.

Who fixes the steps asks what quality they give. Read as times to a target, runs that end a little
short of it are failures, and their whole time is paid for nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from ttastats.base import units
from ttastats.base.note import Note
from ttastats.outcomes import at_budget
from ttastats.outcomes.budget import Lengths, lengths
from ttastats.sides.pairing import Pair, Side
from ttastats.table import schema


def notes(baseline: Side, other: Side, pairs: Sequence[Pair], names: Sequence[str]) -> list[Note]:
    """Propose to compare qualities at the end, for pairs whose runs all were of one length."""
    found = []
    for pair, name in zip(pairs, names, strict=True):
        failed = [runs.filter(~pl.col("reached")).height for runs in (pair.a, pair.b)]
        if not any(failed):
            continue
        ends = [_ends(side, runs) for side, runs in ((baseline, pair.a), (other, pair.b))]
        if any(end is None for end in ends):
            continue
        long = [end.said(end.most) for end in ends if end is not None]
        total = pair.a.height + pair.b.height
        of = f"{name}: " if len(pairs) > 1 else ""
        how = long[0] if long[0] == long[1] else f"{long[0]} of A, {long[1]} of B"
        text = (
            f"{of}all runs have the same length ({how}), and {sum(failed)} of "
            f"{units.plural(total, 'run')} did not reach the target, which counts as failure "
            "here. To compare quality and cost at that length, add --at-end."
        )
        found.append(Note("fixed_length", text))
    return found


def _ends(side: Side, runs: pl.DataFrame) -> Lengths | None:
    """Give the one length of all runs; None where they have several, or ended without a value."""
    metrics = runs["target_metric"].drop_nulls().unique()
    if metrics.len() != 1:
        return None
    rows = side.evaluations.join(runs.lazy().select(schema.RUN), on=schema.RUN, how="semi")
    if rows.head(1).collect().is_empty():  # of a table of judged runs
        return None
    ended = at_budget.runs(rows, metric=str(metrics[0]))
    if ended.height < runs.height or ended["quality"].null_count():
        return None
    found = lengths(ended)
    return found if found.one and found.unit is not None else None
