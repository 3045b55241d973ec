"""Does a gain in time cost quality on data that did not choose the stopping point?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice

import polars as pl

from ttastats.outcomes.at_budget import at_stop
from ttastats.outcomes.direction import is_upwards
from ttastats.sides import contrast
from ttastats.sides.contrast import Contrast
from ttastats.sides.design.side import setup_names
from ttastats.sides.numbers import both_blocks, share_a_block
from ttastats.sides.options import Options
from ttastats.sides.pairing import Pair, Side
from ttastats.sides.quality_comparison import step_of
from ttastats.stats.decision import Decision
from ttastats.stats.means import difference
from ttastats.stats.moments import mean, standard_deviation
from ttastats.stats.verdict import Verdict
from ttastats.table import schema


@dataclass(frozen=True, slots=True)
class Worth:
    """What a metric was worth to one side: runs with a value, and how many reached without."""

    n: int
    missing: int
    mean: float | None
    sd: float | None


@dataclass(frozen=True, slots=True, eq=False)
class Also:
    """Another metric of one pair where the time of its runs ended.

    `chose`: it is the metric whose target the runs had to meet.
    """

    contrast: Contrast[Worth]
    metric: str
    chose: bool


def measured(
    sides: Sequence[tuple[Side, Side, Pair]], metrics: Sequence[str], options: Options
) -> list[tuple[Also, ...]]:
    """Return for the pairs of two sides each what the metrics were worth, judged together."""
    every = [_measured(*each, metric, options) for each in sides for metric in metrics]
    judged = contrast.judged([one.contrast for one in every], options)
    rest = (replace(one, contrast=each) for one, each in zip(every, judged, strict=True))
    return [tuple(islice(rest, len(metrics))) for _ in sides]


def _measured(baseline: Side, other: Side, pair: Pair, metric: str, options: Options) -> Also:
    a, b = (
        at_stop(side.evaluations, runs, metric).join(runs, on=schema.RUN, how="left")
        for side, runs in ((baseline, pair.a), (other, pair.b))
    )
    both = pl.concat([a.select(_USED), b.select(_USED)])
    of_a, of_b = (
        _worth(found, runs.filter("reached").height) for found, runs in ((a, pair.a), (b, pair.b))
    )
    made = Contrast(pair.keys, of_a, of_b, higher_is_better=is_upwards(both))
    if a.is_empty() or b.is_empty() or not share_a_block(a, b):
        made = replace(made, verdict=_NO_VALUE)
    else:
        gap = difference(
            a["quality"].to_numpy(),
            b["quality"].to_numpy(),
            clusters=(setup_names(a).to_numpy(), setup_names(b).to_numpy()),
            blocks=both_blocks(a, b),
            resolution=step_of(both),
            confidence=options.confidence,
        )
        made = replace(made, difference=gap, p_value=gap.p_value)
    targets = pl.concat([runs["target_metric"] for runs in (pair.a, pair.b)]).drop_nulls()
    return Also(made, metric, metric in targets.to_list())


_NO_VALUE = Decision(Verdict.UNAVAILABLE, "no value", 0.0, reason="no value")
_USED = ("quality", "quality_step", "higher_is_better")


def _worth(found: pl.DataFrame, reached: int) -> Worth:
    values = found["quality"].to_numpy()
    centre = mean(values) if values.size else None
    return Worth(values.size, reached - values.size, centre, standard_deviation(values))
