"""Is B's quality at a budget better than A's, how sure, and what was spent? A row per benchmark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ttastats import percentages, units
from ttastats.budget import Budget
from ttastats.comparison import Options
from ttastats.pairing import Pairing, Side, pairings
from ttastats.quality_comparison import QualityComparison, SideAt, compare
from ttastats.report import fields
from ttastats.report.answer import Report
from ttastats.report.cells import Column, Note, PValue, Row, Table, Text, Tone
from ttastats.report.compare import View
from ttastats.report.digits import Digits, digits_of
from ttastats.report.grouping import (
    common_title,
    left_out_notes,
    row_keys,
    set_aside_notes,
    shown_keys,
)
from ttastats.report.qualities import best_note, rare_note, short_notes, with_value
from ttastats.report.verdicts import row_names
from ttastats.stats.means import MeanDifference

Numbers = Mapping[str, Any]

_TONES: dict[str, Tone] = {"better": "good", "worse": "bad"}


@dataclass(frozen=True, slots=True)
class _Compared:
    """One table held against the baseline."""

    label: str
    pairing: Pairing
    found: tuple[QualityComparison, ...]
    rows: tuple[dict[str, Any], ...]


def report(
    baseline: Side,
    others: Sequence[Side],
    budget: Budget,
    by: Sequence[str] = (),
    options: Options | None = None,
    view: View | None = None,
    *,
    pool: bool = False,
    unit: str = "",
) -> Report:
    """Give the report of one or more tables of runs at a budget against a baseline.

    All p-values of a report are adjusted together. `by` and `pool` are those of
    `pairing.pairings`, `unit` says in what it is counted what was spent.

    Raises
    ------
    TtastatsError
        A table has no group in common with the baseline.
    """
    options, view = options or Options(), view or View()
    paired = pairings(baseline, others, by, pool=pool)
    margin = options.margin if view.margin_claims else None
    pairs = [pair for each in paired for pair in each.pairs]
    found = compare(pairs, budget, options, unit=unit, margin=margin)
    sides, start = [], 0
    for other, each in zip(others, paired, strict=True):
        mine = found[start : start + len(each.pairs)]
        start += len(each.pairs)
        labels = (baseline.label, other.label)
        rows = tuple(_row(one, labels, each.by, budget) for one in mine)
        sides.append(_Compared(other.label, each, mine, rows))
    rows = tuple(row for side in sides for row in side.rows)
    keys = row_keys(sides[0].pairing.by)
    names = ("A", "B") if not view.named else None
    said = [
        _sentence(one, row, name, budget, names or (baseline.label, side.label), options)
        for side in sides
        for one, row, name in zip(side.found, side.rows, row_names(rows, keys), strict=False)
    ]
    tables = tuple(_table(side, baseline.label, budget, options) for side in sides)
    notes = (*_of_runs(sides, budget), *_notes(found, budget, margin, options.confidence))
    only_a = tuple(one.name for side in sides for one in side.pairing.alone if one.side == "a")
    return Report("compare", rows, tables, notes, " ".join(said), only_a, by=keys)


def _row(
    one: QualityComparison, labels: tuple[str, str], by: Sequence[str], budget: Budget
) -> dict[str, Any]:
    """Give the numbers of one benchmark for programs."""
    gap, ratio = one.difference, one.ratio
    row: dict[str, Any] = {name: one.keys.get(name) for name in row_keys(by)}
    row |= {
        "a": labels[0], "b": labels[1], "estimand": "quality", "at": str(budget),
        "metric": one.metric, "higher_is_better": one.higher_is_better, "axis": one.axis.name,
    }  # fmt: skip
    for name, side in (("a", one.a), ("b", one.b)):
        meets = side.meets
        row |= {
            f"n_{name}": side.n,
            f"missing_{name}": side.missing,
            f"quality_{name}": side.mean,
            f"sd_{name}": side.sd,
            f"target_{name}": meets.threshold if meets else None,
            f"p_target_{name}": meets.p_value if meets else None,
            f"seconds_{name}": side.spent,
        }
    return row | {
        "difference": gap.estimate if gap else None,
        "difference_low": gap.low if gap else None,
        "difference_high": gap.high if gap else None,
        "p_value": gap.p_value if gap else None,
        "p_adjusted": one.p_adjusted,
        "verdict": one.verdict,
        "why": one.why or None,
        "runs_needed": gap.needed if gap else None,
        "speedup": ratio.estimate if ratio else None,
        "speedup_low": ratio.low if ratio else None,
        "speedup_high": ratio.high if ratio else None,
        "p_speedup": ratio.p_value if ratio else None,
        "flags": [flag.code for flag in gap.flags] if gap else [],
    }


# ------------------------------------------------------------------------------------------ cells


def _table(side: _Compared, baseline: str, budget: Budget, options: Options) -> Table:
    keys = shown_keys(side.rows, side.pairing.by)
    metrics = {row["metric"] for row in side.rows}
    of = ["metric"] if len(metrics) > 1 else []
    columns = (
        *(field.column for field in fields.keys([*keys, *of], heads=False)),
        Column("A: mean ±sd", "right", rank=2),
        Column("B: mean ±sd", "right", rank=2),
        Column("runs", "right", rank=1),
        Column(f"B − A [{percentages.text(options.confidence)} CI]"),
        Column("p", "right", rank=3),
        Column("verdict"),
    )
    body = tuple(
        Row(
            (*(fields.key(name, row) for name in (*keys, *of)), *_cells(one)),
            tuple(_beside(one)),
        )
        for one, row in zip(side.found, side.rows, strict=True)
    )
    metric = next(iter(metrics)) if len(metrics) == 1 else None
    ways = {one.higher_is_better for one in side.found}
    way = "" if len(ways) > 1 else f", {'higher' if ways == {True} else 'lower'} is better"
    about = f"{metric or 'quality'} {budget}{way}"
    shared = [common_title(side.rows, side.pairing.by), side.pairing.shared, side.pairing.apart]
    parts = [*(part for part in shared if part), about, f"A = {baseline}   B = {side.label}"]
    return Table(columns, body, "   ".join(parts))


def _cells(one: QualityComparison) -> tuple[Any, ...]:
    return (
        Text(_mean(one, one.a)),
        Text(_mean(one, one.b)),
        Text(" ".join(with_value(side.n, side.missing) for side in (one.a, one.b))),
        Text(_difference(one)),
        PValue(one.p_adjusted),
        Text(_verdict(one), _TONES.get(one.verdict, "plain")),
    )


def _digits(one: QualityComparison) -> Digits:
    spreads = [side.sd for side in (one.a, one.b) if side.sd]
    return digits_of([], min(spreads, default=None), one.a.mean)


def _mean(one: QualityComparison, side: SideAt) -> str:
    if side.mean is None:
        return "–"
    digits = _digits(one)
    return digits.of(side.mean) + ("" if side.sd is None else f" ±{digits.of(side.sd)}")


def _difference(one: QualityComparison) -> str:
    gap = one.difference
    if gap is None:
        return "–"
    digits = _digits(one)
    if gap.low is None or gap.high is None:
        return digits.signed(gap.estimate)
    return f"{digits.signed(gap.estimate)} [{digits.signed(gap.low)}, {digits.signed(gap.high)}]"


def _verdict(one: QualityComparison) -> str:
    if one.verdict == "undecided":
        return "~ undecided"
    if one.verdict == "unavailable":
        return f"no verdict: {one.why}"
    return "same" if one.verdict == "same" else f"B {one.verdict}"


def _beside(one: QualityComparison) -> Iterator[str]:
    """Give what stands below a row: what was spent by then, and the target."""
    if one.a.spent is not None and one.b.spent is not None:
        a, b = (units.amount(side.spent or 0.0, one.axis.unit) for side in (one.a, one.b))
        yield f"{one.axis.noun}  A {a}  B {b}  {one.axis.ratio} {_ratio(one)}"
    if one.a.meets is not None and one.b.meets is not None:
        sign = "≥" if one.higher_is_better else "≤"
        target = one.a.meets.threshold
        same = target == one.b.meets.threshold
        limit = f"{target:g}" if same else f"{target:g} | {one.b.meets.threshold:g}"
        yield f"mean {sign} {limit}  A {_meets(one.a)}  B {_meets(one.b)}"


def _ratio(one: QualityComparison) -> str:
    ratio = one.ratio
    if ratio is None or ratio.estimate is None:
        return "–"
    if ratio.low is None or ratio.high is None:
        return f"{ratio.estimate:.4g}"
    p_value = "" if ratio.p_value is None else f", p {_p(ratio.p_value)}"
    return f"{ratio.estimate:.4f} [{ratio.low:.4f}, {ratio.high:.4f}]{p_value}"


def _meets(side: SideAt) -> str:
    if side.meets is None or side.meets.p_value is None:
        return "–"
    shown = side.meets.holds and not side.missing
    return f"{'shown' if shown else 'not shown'} (p {_p(side.meets.p_value)})"


def _p(value: float) -> str:
    return f"{value:.2g}"


# ------------------------------------------------------------------------------------------ words


def _sentence(
    one: QualityComparison,
    row: Numbers,
    name: str,
    budget: Budget,
    sides: tuple[str, str],
    options: Options,
) -> str:
    """Say what became of one benchmark aloud."""
    a, b = sides
    metric = one.metric or "quality"
    about = f"{name}, {metric} {budget}" if name != "these runs" else f"{metric} {budget}"
    gap = one.difference
    if gap is None:
        return f"{about}: {one.why}."
    said = {
        "better": f"{b} is better than {a}",
        "worse": f"{b} is worse than {a}",
        "same": f"{b} is as good as {a} within {options.margin:g}",
        "undecided": f"{b} is not shown to differ from {a}",
        "unavailable": "no verdict",
    }[one.verdict]
    if one.why == "runs missing":
        said = f"{b} is not called {'better' if _better(one, gap) else 'worse'} than {a}"
    p_value = "" if gap.p_value is None else f", p = {_p(row['p_adjusted'] or gap.p_value)}"
    text = f"{about}: {said} (B − A = {_difference(one)}{p_value})"
    return " ".join(part for part in (f"{text}{_because(one)}.", _spent(one, a, b)) if part)


def _better(one: QualityComparison, gap: MeanDifference) -> bool:
    return (gap.estimate > 0) == one.higher_is_better


def _because(one: QualityComparison) -> str:
    gap = one.difference
    if one.why == "runs missing":
        return ", since some of the better side's runs have no value"
    if one.why == "ends differ":
        return ", since the runs of a side end at different lengths"
    if one.why == "one run":
        return ": a verdict takes 2 runs a side, and a good one 5"
    if one.verdict != "undecided" or gap is None or gap.needed is None:
        return "" if not one.why else f": {one.why}"
    if gap.needed <= min(gap.n_a, gap.n_b):
        return ""
    return f"; to show a difference of this size would take {gap.needed:,} runs a side"


def _spent(one: QualityComparison, a: str, b: str) -> str:
    ratio = one.ratio
    if ratio is None or ratio.estimate is None or one.a.spent is None or one.b.spent is None:
        return ""
    of_a, of_b = (units.amount(side.spent or 0.0, one.axis.unit) for side in (one.a, one.b))
    return f"{b} took {of_b}, {a} {of_a}: {one.axis.ratio} {_ratio(one)}."


def _of_runs(sides: Sequence[_Compared], budget: Budget) -> list[Note]:
    notes = []
    several = len(sides) > 1
    for each in sides:
        for letter, runs in (("A", each.pairing.a), ("B", each.pairing.b)):
            who = each.label if several and letter == "B" else letter
            notes += short_notes(runs, budget, who)
            notes += [
                Note(note.code, f"{who}: {note.text}")
                for note in (*left_out_notes(runs, ("pair",)), *set_aside_notes(runs))
            ]
        notes += [Note(one.code, one.text) for one in each.pairing.remarks]
    unmatched = [one.text for side in sides for one in side.pairing.alone]
    if unmatched:
        text = f"without a partner, and left out: {units.listed(unmatched, 6, '; ')}."
        notes.append(Note("unmatched", text))
    return list(dict.fromkeys(notes))


def _notes(
    found: Sequence[QualityComparison],
    budget: Budget,
    margin: float | None,
    confidence: float,
) -> Iterator[Note]:
    for one in found:
        yield from _length_notes(one, budget)
        if one.difference is not None:
            yield from (Note(flag.code, f"{flag.message}.") for flag in one.difference.flags)
    tested = sum(one.p_adjusted is not None for one in found)
    if tested > 1:
        yield Note("adjusted", f"p: adjusted together over {tested} comparisons.")
    if any(one.verdict == "undecided" for one in found):
        asks = " --margin 0.001 asks whether they are equal within that."
        equal = asks if margin is None else ""
        yield Note("undecided", f'~ undecided is not "equal".{equal}')
    decided = [one for one in found if one.verdict in {"better", "worse", "same"}]
    yield from rare_note([side.n for one in decided for side in (one.a, one.b)], confidence)
    if any(one.separate_sessions for one in found):
        text = (
            "all runs of one side were started before those of the other: if sessions or machines "
            "differ, that is part of the difference."
        )
        yield Note("separate_sessions", text)
    if budget.best:
        yield best_note()


def _length_notes(one: QualityComparison, budget: Budget) -> Iterator[Note]:
    if budget.amount is not None:
        return
    for name, side in (("A", one.a), ("B", one.b)):
        ends = side.lengths
        if side.n and not ends.one:
            able = f" {ends.all_reach}." if ends.all_reach else ""
            text = (
                f"{name}: {ends.n_longest} of {units.plural(ends.n, 'run')} end at "
                f"{ends.said(ends.most)}, the shortest at {ends.said(ends.least)}: where runs "
                f"ended is no one budget, and no verdict is given.{able}"
            )
            yield Note("ends_differ", text)
    a, b = one.a.lengths, one.b.lengths
    if a.one and b.one and a.unit == b.unit and one.a.n and one.b.n:
        short, long = sorted((a.most, b.most))
        if a.unit is not None and a.unit != "seconds" and short < long:
            text = (
                f"A ends at {a.said(a.most)}, B at {b.said(b.most)}: their ends are compared; at "
                f"equal cost, --at {a.unit}={short:.15g}."
            )
            yield Note("lengths_differ", text)
