"""Is B's quality at a budget better than A's, how sure, and what was spent? A row per benchmark."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from ttastats.answers.compare import same
from ttastats.answers.compare.quality_cells import beside, cells
from ttastats.answers.compare.quality_notes import notes, sentence
from ttastats.answers.qualities import short_notes
from ttastats.base import percentages, units
from ttastats.base.note import Note
from ttastats.outcomes import left_out
from ttastats.outcomes.budget import Budget
from ttastats.outcomes.left_out import BothSides
from ttastats.report import fields
from ttastats.report.answer import Report
from ttastats.report.cells import Column, Line, Table
from ttastats.report.grouping import (
    common_title,
    left_out_notes,
    row_keys,
    row_names,
    set_aside_notes,
    shown_keys,
    with_line,
)
from ttastats.report.keys import LeftOutOfA, LeftOutOfB
from ttastats.sides.blocking import numbers, within
from ttastats.sides.options import Options, View
from ttastats.sides.pairing import Pairing, Side, pairings
from ttastats.sides.quality_comparison import QualityComparison, compare


@dataclass(frozen=True, slots=True)
class _Compared:
    """One table held against the baseline."""

    label: str
    pairing: Pairing
    found: tuple[QualityComparison, ...]
    rows: tuple[dict[str, Any], ...]
    left_out: tuple[BothSides, ...]


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
    block: Sequence[str] = (),
) -> Report:
    """Give the report of one or more tables of runs at a budget against a baseline.

    All p-values of a report are adjusted together. `by` and `pool` are those of
    `pairing.pairings`, `unit` says in what it is counted what was spent, `block` within which
    blocks runs are compared (`blocking`).

    Raises
    ------
    TtastatsError
        A table has no group in common with the baseline.
    """
    options, view = options or Options(), view or View()
    margin = options.margin if view.margin_claims else None
    paired = within(pairings(baseline, others, by, pool=pool), block)
    pairs = [pair for each in paired for pair in each.pairs]
    found = compare(pairs, budget, options, unit=unit, margin=margin)
    sides = _by_side(baseline, others, paired, found, budget)
    rows: same.Rows = tuple(row for side in sides for row in side.rows)
    keys = row_keys(paired[0].by)
    called = row_names(rows, keys)
    if view.same:
        rows = same.of_qualities(rows, found, keys, options.confidence)
    named = view.named or len(sides) > 1
    said = [
        sentence(one, row, name, budget, (row["a"], row["b"]) if named else ("A", "B"), options)
        for one, row, name in zip(found, rows, called, strict=True)
    ]
    prefixes = [f"{name}: " if len(rows) > 1 else "" for name in called]
    below = (
        *_of_runs(baseline, others, sides, budget),
        *notes(list(zip(prefixes, found, strict=True)), budget, margin, options),
    )
    tables = tuple(_table(side, baseline.label, budget, options) for side in sides)
    only_a = tuple(
        f"{side.label}: {one.name}" if len(sides) > 1 else one.name
        for side in sides
        for one in side.pairing.alone
        if one.side == "a"
    )
    return Report("compare", rows, tables, below, " ".join(said), only_a, by=keys)


def _by_side(
    baseline: Side,
    others: Sequence[Side],
    paired: Sequence[Pairing],
    found: Sequence[QualityComparison],
    budget: Budget,
) -> list[_Compared]:
    sides, rest = [], iter(found)
    for other, each in zip(others, paired, strict=True):
        mine = tuple(islice(rest, len(each.pairs)))
        labels = (baseline.label, other.label)
        gone = left_out.of_pairs(baseline.runs, other.runs, each.pairs)
        rows = tuple(
            _row(one, labels, each.by, budget, lost)
            | numbers(pair, one.by_block)
            | left_out.exceptions_of(pair.a, pair.b)
            for one, pair, lost in zip(mine, each.pairs, gone, strict=True)
        )
        sides.append(_Compared(other.label, each, mine, rows, gone))
    return sides


def _row(
    one: QualityComparison,
    labels: tuple[str, str],
    by: Sequence[str],
    budget: Budget,
    lost: BothSides,
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
        **_worse_by(one),
        "p_value": gap.p_value if gap else None,
        "p_adjusted": one.p_adjusted,
        "verdict": one.verdict.word.value,
        "why": one.verdict.why or None,
        "runs_needed": gap.needed if gap else None,
        "speedup": ratio.estimate if ratio else None,
        "speedup_low": ratio.low if ratio else None,
        "speedup_high": ratio.high if ratio else None,
        "p_speedup": ratio.p_value if ratio else None,
        "conditions": list(one.verdict.conditions),
        "flags": [
            *(flag.code for flag in (gap.flags if gap else ())),
            *(found.code for found in one.findings),
            *lost.flags,
        ],
        **LeftOutOfA(*lost.a.counts).numbers(),
        **LeftOutOfB(*lost.b.counts).numbers(),
    }


def _worse_by(one: QualityComparison) -> dict[str, float | None]:
    """Give by how much B is worse than A, between one-sided bounds."""
    limits = one.one_sided
    if limits is None or not all(map(math.isfinite, limits)):
        return {"worse_by_low": None, "worse_by_high": None}
    low, high = sorted(-end if one.higher_is_better else end for end in limits)
    return {"worse_by_low": low, "worse_by_high": high}


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
        Line(
            (*(fields.key(name, row) for name in (*keys, *of)), *cells(one)),
            with_line(tuple(beside(one, row)), lost),
        )
        for one, row, lost in zip(side.found, side.rows, side.left_out, strict=True)
    )
    metric = next(iter(metrics)) if len(metrics) == 1 else None
    ways = {one.higher_is_better for one in side.found}
    way = "" if len(ways) > 1 else f", {'higher' if ways == {True} else 'lower'} is better"
    about = f"{metric or 'quality'} {budget}{way}"
    shared = [common_title(side.rows, side.pairing.by), side.pairing.shared, side.pairing.apart]
    parts = [*(part for part in shared if part), about, f"A = {baseline}   B = {side.label}"]
    return Table(columns, body, "   ".join(parts))


def _of_runs(
    baseline: Side, others: Sequence[Side], sides: Sequence[_Compared], budget: Budget
) -> list[Note]:
    """Say of each side which runs have no value, and which do not count."""
    found: list[Note] = []
    several = len(sides) > 1
    for other, each in zip(others, sides, strict=True):
        who_b = each.label if several else "B"
        for who, side, runs in (
            ("A", baseline, each.pairing.a), (who_b, other, each.pairing.b)
        ):  # fmt: skip
            found += short_notes(runs, budget, who)
            found += [
                Note(note.code, f"{who}: {note.text}")
                for note in (*left_out_notes(runs, ("pair",)), *set_aside_notes(side.runs))
            ]
        found += [Note(one.code, one.text) for one in each.pairing.remarks]
    unmatched = [one.text for side in sides for one in side.pairing.alone]
    if unmatched:
        text = f"excluded, no match on the other side: {units.listed(unmatched, 6, '; ')}."
        found.append(Note("unmatched", text))
    return list(dict.fromkeys(found))
