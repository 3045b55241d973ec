"""Were runs stopped at one length whether or not they met the target? Then another question fits.

Who fixes the steps asks what quality they give. Read as times to a target, runs that end a little
short of it are failures, and their whole time is paid for nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from ttastats.base.note import Note, note
from ttastats.outcomes import at_budget
from ttastats.outcomes.budget import Lengths, lengths
from ttastats.sides.pairing import Pair, Side
from ttastats.table import schema


def notes(
    baseline: Side, other: Side, pairs: Sequence[Pair], names: Sequence[str]
) -> Iterator[Note]:
    """Yield for pairs whose runs all had one length that qualities can be compared there."""
    for pair, name in zip(pairs, names, strict=True):
        failed = [runs.filter(~pl.col("reached")).height for runs in (pair.a, pair.b)]
        if not any(failed):
            continue
        ends = [_ends(side, runs) for side, runs in ((baseline, pair.a), (other, pair.b))]
        if any(end is None for end in ends):
            continue
        long = [end.said(end.most) for end in ends if end is not None]
        yield note(
            "fixed_length",
            of=f"{name}: " if len(pairs) > 1 else "",
            length=long[0] if long[0] == long[1] else f"{long[0]} of A, {long[1]} of B",
            failed=sum(failed),
            n=pair.a.height + pair.b.height,
        )


def _ends(side: Side, runs: pl.DataFrame) -> Lengths | None:
    """Return the one length of all runs; None where they have several, or ended without a value."""
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
