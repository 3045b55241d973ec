"""How one comparison is shown in a table: its cells, and the lines beneath that say why."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from ttastats.answers.compare.rows import Qualities, QualitiesRow, Times
from ttastats.answers.qualities import with_value
from ttastats.base import percentages, units
from ttastats.base.units import Digits, digits_of
from ttastats.outcomes.axis import Axis
from ttastats.report import strips
from ttastats.report.cells import Column, PValue, Quantity, Text
from ttastats.report.fields import Field
from ttastats.sides.comparison import Comparison
from ttastats.sides.design import findings
from ttastats.sides.options import Options, View
from ttastats.sides.quality_comparison import QualityComparison, SideAt
from ttastats.stats.results import Ratio
from ttastats.stats.verdict import Verdict

CONSTANT, FAILED = "ᵉ", "ᶠ"
#: The place of the speedup among the columns of times.
RATIO = 3
_MOST_VALUES = 4  # a multiset of more values is shown as a range


def of_times(options: Options, view: View, axis: Axis) -> Sequence[Field[Any]]:
    """Return the columns of times after the keys."""
    level = percentages.text(options.confidence)
    wide: Sequence[Field[Any]] = (
        Field(Column(f"{axis.noun} saved", "right", rank=4),
              lambda s: Quantity(s.row.time_saved, "fraction")),
        Field(Column("other mean", "right", rank=6),
              lambda s: Quantity(s.row.other_mean_ratio, "ratio")),
        Field(Column("B wins", "right", rank=5), _wins),
        Field(Column(f"CV A [{level}]", "right", rank=7),
              lambda s: Quantity(s.row.cv_a, "fraction", s.row.cv_a_low, s.row.cv_a_high)),
        Field(Column(f"CV B [{level}]", "right", rank=7),
              lambda s: Quantity(s.row.cv_b, "fraction", s.row.cv_b_low, s.row.cv_b_high)),
        Field(Column("p perm", "right", rank=5), lambda s: PValue(s.row.p_permutation)),
    )  # fmt: skip
    return (
        Field(Column("A: mean ±CV", "right", rank=2),
              lambda s: Quantity(s.row.tta_a_seconds, axis.unit, spread=s.row.cv_a)),
        Field(Column("B: mean ±CV", "right", rank=2),
              lambda s: Quantity(s.row.tta_b_seconds, axis.unit, spread=s.row.cv_b)),
        Field(Column("reached", rank=1),
              lambda s: Text(f"{s.row.reached_a}/{s.row.n_a} {s.row.reached_b}/{s.row.n_b}")),
        Field(Column(f"{axis.ratio} [{level} CI]"), _speedup),
        *(wide if view.wide else ()),
        _P,
        Field(Column("verdict"), lambda s: _verdict(s, view)),
    )  # fmt: skip


def of_qualities(options: Options) -> Sequence[Field[Any]]:
    """Return the columns of qualities after the keys."""
    return (
        Field(Column("A: mean ±sd", "right", rank=2),
              lambda s: Text(_digits(s.one).mean(s.row.quality_a, s.row.sd_a))),
        Field(Column("B: mean ±sd", "right", rank=2),
              lambda s: Text(_digits(s.one).mean(s.row.quality_b, s.row.sd_b))),
        Field(Column("runs", "right", rank=1),
              lambda s: Text(" ".join(with_value(x.n, x.missing) for x in (s.one.a, s.one.b)))),
        Field(Column(f"B − A [{percentages.text(options.confidence)} CI]"),
              lambda s: Text(difference(s.one))),
        _P,
        Field(Column("verdict"), _quality_verdict),
    )  # fmt: skip


_P: Field[Any] = Field(Column("p", "right", rank=3), lambda s: PValue(s.row.p_adjusted))


def marks(one: Comparison) -> str:
    """Return the footnote marks of one benchmark's speedup."""
    found = one.speedup
    constant = found is not None and found.unseen_epochs and found.ratio.low is not None
    return (CONSTANT if constant else "") + (FAILED if one.estimand == "ert" else "")


def _speedup(s: Times) -> Quantity:
    row = s.row
    return Quantity(row.speedup, "ratio", row.speedup_low, row.speedup_high, mark=marks(s.one))


def _wins(s: Times) -> Text:
    wins = s.one.wins
    return Text(f"{units.count(wins.wins)}/{wins.pairs}" if wins else "")


def _verdict(s: Times, view: View) -> Text:
    row, word, claim = s.row, s.row.word, s.row.claim or "n/a"
    if row.estimand == "none":
        return Text(row.on.claim(claim))
    if word is Verdict.UNAVAILABLE:
        return Text(claim if row.why else "n/a")
    carried = findings.words(row.conditions)
    marked = (f", {carried}" if carried else "") + (f" {row.marks}" if row.marks else "")
    if word.directed:
        tone = "bad" if findings.POOLED in row.conditions else word.tone
        return Text(f"B {row.on.claim(word)}{marked}", tone)
    if word is Verdict.SAME:
        return Text(f"{claim}{marked}")
    if view.margin_claims and claim.startswith("not "):
        return Text(f"~ {row.on.claim(claim)}{marked}")
    return Text(word.signed)


def _quality_verdict(s: Qualities) -> Text:
    word = s.row.word
    if word is Verdict.UNDECIDED:
        return Text(word.signed)
    if word is Verdict.UNAVAILABLE:
        return Text(f"no verdict: {s.row.why}")
    text = word if word is Verdict.SAME else f"B {word}"
    return Text(f"{text}, {s.row.carried}" if s.row.carried else text, word.colour)


# ------------------------------------------------------------------------------ lines below a row


def why(s: Times, *, dots: bool) -> Iterator[str]:
    """Yield the lines below times: throughput x epochs, and what is behind them."""
    one = s.one
    if one.estimand == "none":
        return
    values = [side.multiset() for side in (one.a, one.b)]
    a, b = (_range(sorted(counts.items())) for counts in values)
    unit = one.progress_unit or "epochs"
    if one.axis.progress and one.estimand != "fraction":
        failed = f" · {_fractions(one)}" if one.estimand == "ert" else ""
        yield f"     {one.axis.noun}  A {a} | B {b}{failed}"
    elif one.parts is None:
        yield f"why  {_fractions(one)}" if one.estimand != "mean" else "why  epochs are not logged"
    else:
        steady = {*values[0], *values[1]}
        ratio = one.parts.progress
        known = ratio.estimate is not None and math.isfinite(ratio.estimate)
        text = units.ratio(ratio.estimate or 0.0) if known else "–"
        if len(steady) == 1:
            text += f" ({units.count(next(iter(steady)))} in every run)"
        elif CONSTANT in marks(one):
            # An interval of epochs that were never seen to vary would be too narrow by far.
            text += CONSTANT
        else:
            text = _interval(ratio)
        failed = f" (successes) · {_fractions(one)}" if one.estimand == "ert" else ""
        yield f"why  throughput {_interval(one.parts.throughput)} × {unit} {text}{failed}"
        if len(steady) != 1:
            yield f"     {unit}  A {a} | B {b}"
    if dots:
        yield from _strips(one)


def _strips(one: Comparison) -> Iterator[str]:
    """Yield the runs of both sides on one axis, and the axis."""
    times = [*one.a.outcomes.times.tolist(), *one.b.outcomes.times.tolist()]
    if not times:
        return
    low, high = min(times), max(times)
    for name, side in (("A", one.a), ("B", one.b)):
        failed = side.outcomes.times[~side.outcomes.reached].tolist()
        yield f"     {name}  {strips.strip(side.times.tolist(), failed, low, high)}"
    left, right = (units.amount(end, one.axis.unit) for end in (low, high))
    yield f"        {left}{right.rjust(strips.WIDTH - len(left))}"


def _interval(ratio: Ratio) -> str:
    return units.ratio_interval(ratio.estimate, ratio.low, ratio.high)


def _range(counts: Sequence[tuple[float, int]]) -> str:
    if len(counts) <= _MOST_VALUES:
        return " ".join(f"{units.count(value)}×{number}" for value, number in counts)
    return f"{units.count(counts[0][0])} to {units.count(counts[-1][0])}"


def _fractions(one: Comparison) -> str:
    """Return the difference of the fractions reached, in percentage points."""
    difference = one.fraction
    if difference is None or difference.estimate is None:
        return "no data"
    text = f"reached {difference.estimate * 100:+.0f} pp"
    if difference.low is not None and difference.high is not None:
        text += f" [{difference.low * 100:+.1f}, {difference.high * 100:+.1f}]"
    return text


def cost(s: Qualities) -> Iterator[str]:
    """Yield the lines below qualities: what was spent by then, and the target."""
    one, row = s.one, s.row
    if one.a.spent is not None and one.b.spent is not None:
        a, b = (units.amount(spent, one.axis.unit) for spent in (one.a.spent, one.b.spent))
        yield f"{one.axis.noun}  A {a}  B {b}  {one.axis.ratio} {ratio(row)}"
    if row.target_a is not None and row.target_b is not None and row.verdict != "unavailable":
        sign = "≥" if one.higher_is_better else "≤"
        same = row.target_a == row.target_b
        limit = f"{row.target_a:g}" if same else f"{row.target_a:g} | {row.target_b:g}"
        yield f"mean {sign} {limit}  A {_meets(one.a)}  B {_meets(one.b)}"


def _meets(side: SideAt) -> str:
    if side.meets is None or side.meets.p_value is None:
        return "–"
    shown = side.meets.holds and not side.missing
    return f"{'shown' if shown else 'not shown'} ({units.p_text(side.meets.p_value)})"


def ratio(row: QualitiesRow) -> str:
    """Return A over B of what was spent, with its interval and p."""
    p = "" if row.p_speedup is None else f", {units.p_text(row.p_speedup)}"
    return units.ratio_interval(row.speedup, row.speedup_low, row.speedup_high) + p


def _digits(one: QualityComparison) -> Digits:
    spreads = [side.sd for side in (one.a, one.b) if side.sd]
    return digits_of([], min(spreads, default=None), one.a.mean)


def difference(one: QualityComparison) -> str:
    """Return B minus A with its interval."""
    gap = one.difference
    return "–" if gap is None else _digits(one).gap(gap.estimate, gap.low, gap.high)
