"""Does a gain in time cost quality on data that did not choose the stopping point?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import polars as pl

from ttastats.answers.qualities import with_value
from ttastats.base import units
from ttastats.base.note import Note
from ttastats.base.units import Digits, digits_of
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
class _Worth:
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

    contrast: Contrast[_Worth]
    metric: str
    chose: bool


def measured(
    sides: Sequence[tuple[Side, Side, Sequence[Pair]]], metrics: Sequence[str], options: Options
) -> Iterator[list[tuple[Also, ...]]]:
    """Yield for every two sides what the metrics of each pair were worth, judged together."""
    found = [
        _measured(baseline, other, pair, metric, options)
        for baseline, other, pairs in sides
        for pair in pairs
        for metric in metrics
    ]
    judged = contrast.judged([one.contrast for one in found], options)
    every = (replace(one, contrast=each) for one, each in zip(found, judged, strict=True))
    for _, _, pairs in sides:
        yield [tuple(islice(every, len(metrics))) for _ in pairs]


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


def _worth(found: pl.DataFrame, reached: int) -> _Worth:
    values = found["quality"].to_numpy()
    centre = mean(values) if values.size else None
    return _Worth(values.size, reached - values.size, centre, standard_deviation(values))


# --------------------------------------------------------------------------------- how it is said


def numbers(found: Sequence[Also]) -> dict[str, Any]:
    """Give the keys of a row for programs, each after the name of its metric."""
    row: dict[str, Any] = {}
    for one in found:
        judged, gap = one.contrast, one.contrast.difference
        row |= {
            f"{one.metric}_a": judged.a.mean,
            f"{one.metric}_b": judged.b.mean,
            f"{one.metric}_difference": gap.estimate if gap else None,
            f"{one.metric}_difference_low": gap.low if gap else None,
            f"{one.metric}_difference_high": gap.high if gap else None,
            f"{one.metric}_p_value": gap.p_value if gap else None,
            f"{one.metric}_p_adjusted": judged.p_adjusted,
            f"{one.metric}_verdict": judged.verdict.word.value,
        }
    return row


def lines(found: Sequence[Also]) -> Iterator[str]:
    """Give a line below a row for each metric that some run has."""
    for one in _told(found):
        worth = "  ".join(
            f"{name} {_digits(one).mean(side.mean, side.sd)}"
            for name, side in (("A", one.contrast.a), ("B", one.contrast.b))
        )
        yield f"also {one.metric}  {worth}  {_gap(one)}"


def sentences(found: Sequence[Also], row: Mapping[str, Any], a: str, b: str) -> Iterator[str]:
    """Say of each metric what the comparison in time leaves out."""
    for one in _told(found):
        there = f"{one.metric} at the end of the runs"
        word, gap = one.contrast.verdict.word, one.contrast.difference
        if gap is None:
            yield f"{there}: unknown, as {_who_lacks(one, a, b)}."
        elif gap.low is None:
            yield f"{there}: no verdict; it needs 2 runs per side ({_gap(one)})."
        elif word is Verdict.UNDECIDED:
            yield f"{there}: no significant difference ({_gap(one)})."
        elif row["verdict"] == "faster" and word is Verdict.WORSE and not one.chose:
            yield (
                f"{there}: the faster setup has lower quality on data that were not used to stop "
                f"the runs ({_gap(one)})."
            )
        else:
            yield f"{there}: {b} is {word} than {a} ({_gap(one)})."


def notes(found: Sequence[Sequence[Also]]) -> Iterator[Note]:
    """Say what a second metric cannot show."""
    every = [one for some in found for one in some]
    chose = list(dict.fromkeys(one.metric for one in every if one.chose))
    if chose:
        text = (
            f"{', '.join(chose)} determined when the runs stopped, so its value there is not an "
            "unbiased estimate of quality on other data."
        )
        yield Note("chose_the_stop", text)
    metrics = dict.fromkeys(one.metric for one in every)
    lacking = [text for metric in metrics if (text := _missing(every, metric))]
    if lacking:
        yield Note("also_missing", f"--also: {'; '.join(lacking)}.")


def _told(found: Sequence[Also]) -> list[Also]:
    return [one for one in found if one.contrast.a.n or one.contrast.b.n]


def _missing(found: Sequence[Also], metric: str) -> str:
    """Say of how many runs a metric is known, of rows that log it; empty if of all that reached."""
    rows = [one for one in found if one.metric == metric]
    rows = _told(rows) or rows
    a, b = ([one.contrast.a for one in rows], [one.contrast.b for one in rows])
    if not any(side.missing for side in (*a, *b)):
        return ""
    known = f"{_known(a)} run" if _known(a) == "1" else f"{_known(a)} runs"
    return f"{metric} is known of {known} of A and {_known(b)} of B that reached the target"


def _known(sides: Sequence[_Worth]) -> str:
    return with_value(sum(one.n for one in sides), sum(one.missing for one in sides))


def _who_lacks(one: Also, a: str, b: str) -> str:
    name, side = (a, one.contrast.a) if not one.contrast.a.n else (b, one.contrast.b)
    does = "logs it there" if side.missing else "reached the target"
    return f"no run of {name} {does}"


def _digits(one: Also) -> Digits:
    a, b = one.contrast.a, one.contrast.b
    spreads = [side.sd for side in (a, b) if side.sd]
    return digits_of([], min(spreads, default=None), a.mean or b.mean)


def _gap(one: Also) -> str:
    gap, p = one.contrast.difference, one.contrast.p_adjusted
    if gap is None:
        return ""
    text = f"B − A {_digits(one).gap(gap.estimate, gap.low, gap.high)}"
    return text + ("" if p is None else f", {units.p_text(p)}")
