"""How one compared benchmark is shown: its cells, and the lines beneath that say why."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ttastats.answers.compare.compare_notes import CONSTANT, marks
from ttastats.base import percentages, units
from ttastats.outcomes.axis import Axis
from ttastats.report import strips
from ttastats.report.cells import Cell, Column, PValue, Quantity, Text
from ttastats.sides.comparison import Comparison
from ttastats.sides.design import findings
from ttastats.sides.numbers import SideNumbers
from ttastats.stats.results import Ratio
from ttastats.stats.verdict import Verdict

_MOST_VALUES = 4  # a multiset of more values is shown as a range


def wide_columns(confidence: float, axis: Axis) -> tuple[Column, ...]:
    """Give the columns that `--wide` adds, after the speedup."""
    return (
        Column(f"{axis.noun} saved", "right", rank=4),
        Column("other mean", "right", rank=6),
        Column("B wins", "right", rank=5),
        Column(f"CV A [{percentages.text(confidence)}]", "right", rank=7),
        Column(f"CV B [{percentages.text(confidence)}]", "right", rank=7),
        Column("p perm", "right", rank=5),
    )


def cells(one: Comparison, wide: bool, margin_claims: bool) -> tuple[Cell, ...]:
    """Give the cells after the keys, in the order of the columns."""
    ratio = one.speedup.ratio if one.speedup else None
    number, low, high = (ratio.estimate, ratio.low, ratio.high) if ratio else (None, None, None)
    shown = Quantity(number, "ratio", low, high, mark=marks(one))
    return (
        Quantity(one.a.mean_seconds, one.axis.unit, spread=one.a.cv),
        Quantity(one.b.mean_seconds, one.axis.unit, spread=one.b.cv),
        Text(f"{one.a.n_reached}/{one.a.n} {one.b.n_reached}/{one.b.n}"),
        shown,
        *(_wide(one, ratio) if wide else ()),
        PValue(one.p_adjusted),
        _verdict(one, margin_claims),
    )


def _wide(one: Comparison, ratio: Ratio | None) -> tuple[Cell, ...]:
    saved = 1 - 1 / ratio.estimate if ratio and ratio.estimate else None
    return (
        Quantity(saved, "fraction"),
        Quantity(one.other_mean.estimate if one.other_mean else None, "ratio"),
        Text(f"{units.count(one.wins.wins)}/{one.wins.pairs}" if one.wins else ""),
        Quantity(one.a.cv, "fraction", one.a.cv_low, one.a.cv_high),
        Quantity(one.b.cv, "fraction", one.b.cv_low, one.b.cv_high),
        PValue(one.p_permutation),
    )


def _verdict(one: Comparison, margin_claims: bool) -> Text:
    verdict = one.verdict
    if one.estimand == "none":
        return Text(one.axis.claim(verdict.claim))
    if verdict.word is Verdict.UNAVAILABLE:
        return Text(verdict.claim if verdict.why else "n/a")
    carried = findings.words(verdict.conditions)
    marked = (f", {carried}" if carried else "") + (f" {verdict.marks}" if verdict.marks else "")
    if verdict.word.directed:
        tone = "bad" if findings.POOLED in verdict.conditions else verdict.word.tone
        return Text(f"B {one.axis.claim(verdict.word)}{marked}", tone)
    if verdict.word is Verdict.SAME:
        return Text(f"{verdict.claim}{marked}")
    if margin_claims and verdict.claim.startswith("not "):
        return Text(f"~ {one.axis.claim(verdict.claim)}{marked}")
    return Text(Verdict.UNDECIDED.signed)


def why(one: Comparison, *, dots: bool) -> Iterator[str]:
    """Give the lines beneath a benchmark: throughput x epochs, and what is behind them."""
    if one.estimand == "none":
        return
    if one.axis.progress and one.estimand != "fraction":
        yield from _amounts(one)
    elif one.parts is None:
        yield (
            f"why  {_fractions(one)}" if one.estimand != "mean" else "why  epochs are not logged"
        )
    else:
        unit = one.progress_unit or "epochs"
        constant = _constant(one.a, one.b)
        line = f"why  throughput {_ratio(one.parts.throughput)} × {unit} "
        if constant is None and CONSTANT in marks(one):
            # An interval of epochs that were never seen to vary would be too narrow by far.
            line += _bare(one.parts.progress) + CONSTANT
        elif constant is None:
            line += _ratio(one.parts.progress)
        else:
            line += f"{_bare(one.parts.progress)} ({units.count(constant)} in every run)"
        if one.estimand == "ert":
            line += f" (successes) · {_fractions(one)}"
        yield line
        if constant is None:
            yield f"     {unit}  A {_multiset(one.a)} | B {_multiset(one.b)}"
    if dots:
        yield from _strips(one)


def _amounts(one: Comparison) -> Iterator[str]:
    """Give what the runs of each side took, where that is itself what is compared."""
    line = f"     {one.axis.noun}  A {_multiset(one.a)} | B {_multiset(one.b)}"
    yield f"{line} · {_fractions(one)}" if one.estimand == "ert" else line


def _strips(one: Comparison) -> Iterator[str]:
    """Give the runs of both sides on one axis, and the axis."""
    times = [*one.a.outcomes.times.tolist(), *one.b.outcomes.times.tolist()]
    if not times:
        return
    low, high = min(times), max(times)
    for name, side in (("A", one.a), ("B", one.b)):
        failed = side.outcomes.times[~side.outcomes.reached].tolist()
        yield f"     {name}  {strips.strip(side.times.tolist(), failed, low, high)}"
    left, right = (units.amount(end, one.axis.unit) for end in (low, high))
    yield f"        {left}{right.rjust(strips.WIDTH - len(left))}"


def _ratio(ratio: Ratio) -> str:
    return units.ratio_interval(ratio.estimate, ratio.low, ratio.high)


def _bare(ratio: Ratio) -> str:
    if ratio.estimate is None or not math.isfinite(ratio.estimate):
        return "–"
    return units.ratio(ratio.estimate)


def _constant(a: SideNumbers, b: SideNumbers) -> float | None:
    values = {*a.multiset(), *b.multiset()}
    return next(iter(values)) if len(values) == 1 else None


def _multiset(side: SideNumbers) -> str:
    counts = sorted(side.multiset().items())
    if len(counts) <= _MOST_VALUES:
        return " ".join(f"{units.count(value)}×{number}" for value, number in counts)
    return f"{units.count(counts[0][0])} to {units.count(counts[-1][0])}"


def _fractions(one: Comparison) -> str:
    """Give the difference of the fractions reached, in percentage points."""
    difference = one.fraction
    if difference is None or difference.estimate is None:
        return "no data"
    text = f"reached {difference.estimate * 100:+.0f} pp"
    if difference.low is not None and difference.high is not None:
        text += f" [{difference.low * 100:+.1f}, {difference.high * 100:+.1f}]"
    return text
