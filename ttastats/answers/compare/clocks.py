"""Which stalls, jumps and start-ups are in the clocks of both sides?"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
from msgspec.structs import replace

from ttastats.answers.problems import stalls
from ttastats.base import units
from ttastats.base.codes import Note, wording
from ttastats.outcomes import pace
from ttastats.report import grouping
from ttastats.sides.pairing import Pairing, Side
from ttastats.table import schema


def with_paces(pairing: Pairing, sides: Sequence[Side]) -> Pairing:
    """Return the pairs with the pace of their runs, and a flag for each with a stalled run."""
    pairing = _flag_stalls(pairing, sides)
    names = (*schema.RUN, "suite", "clock_zero", "observed_seconds")
    runs_of_sides = (pl.concat([pair.a.select(names) for pair in pairing.pairs]),
             pl.concat([pair.b.select(names) for pair in pairing.pairs]))  # fmt: skip
    a, b = (
        pace.of_runs(runs, side.evaluations).select(*schema.RUN, *pace.COLUMNS)
        for runs, side in zip(runs_of_sides, sides, strict=True)
    )
    pairs = (
        replace(pair, a=pair.a.join(a, on=schema.RUN, how="left", maintain_order="left"),
                b=pair.b.join(b, on=schema.RUN, how="left", maintain_order="left"))
        for pair in pairing.pairs
    )  # fmt: skip
    return replace(pairing, pairs=tuple(pairs))


def _flag_stalls(pairing: Pairing, sides: Sequence[Side]) -> Pairing:
    """Return the pairs with a flag for each with a stalled run."""
    stalls_of_sides = [
        runs.select(*schema.RUN, "pair").join(
            stalls(runs.drop("pair"), side.evaluations), on=schema.RUN, how="inner"
        )
        for runs, side in zip((pairing.a, pairing.b), sides, strict=True)
    ]
    pairs, remarks = [], []
    names = grouping.row_names([pair.keys for pair in pairing.pairs], pairing.by)
    for number, (name, pair) in enumerate(zip(names, pairing.pairs, strict=True)):
        flags = pair.flags
        for side, spans in zip(
            "AB", (side_stalls.filter(pair=number) for side_stalls in stalls_of_sides), strict=True
        ):
            if spans.is_empty():
                continue
            longest = spans.sort("seconds").row(-1, named=True)
            seconds, usual_seconds = longest["seconds"], longest["seconds"] / longest["times"]
            runs, length = spans.n_unique([*schema.RUN]), units.seconds(seconds)
            fields = {
                "n": runs,
                "side": side,
                "longest": length,
                "usual": units.seconds(usual_seconds),
            }
            text = wording("stalled_runs", name=name, **fields)
            if abs(seconds - usual_seconds - pace.HOUR) < pace.NEAR_HOUR:
                text += wording("stalled_runs.hour")
            if spans["together"].any():
                text += wording("stalled_runs.together")
            remarks.append(Note("stalled_runs", text))
            flags = (*flags, "stalled_runs")
        pairs.append(replace(pair, flags=tuple(dict.fromkeys(flags))))
    return replace(pairing, pairs=tuple(pairs), remarks=(*pairing.remarks, *remarks))
