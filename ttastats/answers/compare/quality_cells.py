"""How a comparison of qualities is shown: its cells, and the lines beneath."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ttastats.answers.qualities import with_value
from ttastats.base import units
from ttastats.base.units import Digits, digits_of
from ttastats.report.cells import Cell, PValue, Text
from ttastats.sides.design.findings import words
from ttastats.sides.quality_comparison import QualityComparison, SideAt
from ttastats.stats.verdict import Verdict


def cells(one: QualityComparison) -> tuple[Cell, ...]:
    """Give the cells after the keys, in the order of the columns."""
    return (
        *(Text(_digits(one).mean(side.mean, side.sd)) for side in (one.a, one.b)),
        Text(" ".join(with_value(side.n, side.missing) for side in (one.a, one.b))),
        Text(difference(one)),
        PValue(one.p_adjusted),
        Text(_verdict(one), one.verdict.word.colour),
    )


def _digits(one: QualityComparison) -> Digits:
    spreads = [side.sd for side in (one.a, one.b) if side.sd]
    return digits_of([], min(spreads, default=None), one.a.mean)


def difference(one: QualityComparison) -> str:
    """Give B minus A with its interval."""
    gap = one.difference
    return "–" if gap is None else _digits(one).gap(gap.estimate, gap.low, gap.high)


def _verdict(one: QualityComparison) -> str:
    if one.verdict.word is Verdict.UNDECIDED:
        return one.verdict.word.signed
    if one.verdict.word is Verdict.UNAVAILABLE:
        return one.verdict.claim
    carried = words(one.verdict.conditions)
    said = "same" if one.verdict.word is Verdict.SAME else f"B {one.verdict.word}"
    return f"{said}, {carried}" if carried else said


def beside(one: QualityComparison, row: Mapping[str, Any]) -> Iterator[str]:
    """Give what stands below a row: what was spent by then, and the target."""
    if one.a.spent is not None and one.b.spent is not None:
        a, b = (units.amount(side.spent or 0.0, one.axis.unit) for side in (one.a, one.b))
        yield f"{one.axis.noun}  A {a}  B {b}  {one.axis.ratio} {ratio(row)}"
    if (
        one.a.meets is not None
        and one.b.meets is not None
        and one.verdict.word is not Verdict.UNAVAILABLE
    ):
        sign = "≥" if one.higher_is_better else "≤"
        target = one.a.meets.threshold
        same = target == one.b.meets.threshold
        limit = f"{target:g}" if same else f"{target:g} | {one.b.meets.threshold:g}"
        yield f"mean {sign} {limit}  A {_meets(one.a)}  B {_meets(one.b)}"


def ratio(row: Mapping[str, Any]) -> str:
    """Give A over B of what was spent, with its interval and p."""
    told = "" if row["p_speedup"] is None else f", {units.p_text(row['p_speedup'])}"
    numbers = (row[name] for name in ("speedup", "speedup_low", "speedup_high"))
    return units.ratio_interval(*numbers) + told


def _meets(side: SideAt) -> str:
    if side.meets is None or side.meets.p_value is None:
        return "–"
    shown = side.meets.holds and not side.missing
    return f"{'shown' if shown else 'not shown'} ({units.p_text(side.meets.p_value)})"
