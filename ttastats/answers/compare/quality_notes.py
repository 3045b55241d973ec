"""What is said aloud of a comparison of qualities, and what stands beneath it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ttastats.answers.compare.quality_cells import difference
from ttastats.answers.compare.verdicts import spent
from ttastats.answers.qualities import rare_note
from ttastats.base import units
from ttastats.base.note import Note, note
from ttastats.outcomes.budget import Budget, Lengths
from ttastats.sides.options import Options
from ttastats.sides.quality_comparison import QualityComparison
from ttastats.stats.means import MeanDifference
from ttastats.stats.verdict import Verdict

Numbers = Mapping[str, Any]


def sentence(
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
        return f"{about}: {one.verdict.why}."
    said = {
        "better": f"{b} is better than {a}",
        "worse": f"{b} is worse than {a}",
        "same": f"{b} is as good as {a} within {options.margin:g}",
        "undecided": f"{b} is not significantly different from {a}",
        "unavailable": "no verdict",
    }[one.verdict.word]
    by_design = one.verdict.word is Verdict.UNDECIDED and one.verdict.why == one.allowed_for
    if one.verdict.why and by_design:
        said = f"whether {b} differs from {a} is undecided"
    if one.verdict.why == "runs missing":
        said = f"{b} is not called {'better' if _better(one, gap) else 'worse'} than {a}"
    told = "" if gap.p_value is None else f", {units.p_text(row['p_adjusted'] or gap.p_value)}"
    text = f"{about}: {said} (B − A = {difference(one)}{told})"
    return " ".join(part for part in (f"{text}{_because(one)}.", spent(row, a, b)) if part)


def _better(one: QualityComparison, gap: MeanDifference) -> bool:
    return (gap.estimate > 0) == one.higher_is_better


def _because(one: QualityComparison) -> str:
    gap = one.difference
    if one.verdict.why == "runs missing":
        return ", because some runs of the better side have no value"
    if one.verdict.why == "ends differ":
        return ", because the runs of a side have different lengths"
    if one.verdict.why == "one run":
        return ": a verdict needs at least 2 runs per side; 5 are recommended"
    by_design = one.verdict.why and one.verdict.why == one.allowed_for
    if one.verdict.word is not Verdict.UNDECIDED or by_design or gap is None or gap.needed is None:
        return "" if not one.verdict.why else f": {one.verdict.why}"
    if gap.needed <= min(gap.n_a, gap.n_b):
        return ""
    return f"; {units.runs_needed(gap.needed)}"


def notes(
    named: Sequence[tuple[str, QualityComparison]],
    budget: Budget,
    margin: float | None,
    options: Options,
) -> Iterator[Note]:
    """Say what must be known of the rows, each after its name where there are several."""
    yield from _length_notes(named, budget)
    for name, one in named:
        if one.difference is not None:
            yield from (Note(flag.code, f"{name}{flag.message}.") for flag in one.difference.flags)
    found = [one for _, one in named]
    for of_design in dict.fromkeys(each for one in found for each in one.findings):
        who = ", ".join(name.removesuffix(": ") for name, one in named if of_design in one.findings)
        yield Note(of_design.code, f"{who}: {of_design.message}.".removeprefix(": "))
    if options.estimand == "geomean":
        text = "costs are compared by geometric means (--estimand geomean)."
        yield Note("geomean", text)
    tested = sum(one.p_adjusted is not None for one in found)
    if tested > 1:
        yield Note("adjusted", f"p: adjusted over {tested} comparisons.")
    undecided = [one.difference for one in found if one.verdict.word is Verdict.UNDECIDED]
    if undecided:
        known = any(gap is not None and gap.low is not None for gap in undecided)
        asks = " Use --margin 0.001 to test equality within a margin."
        equal = asks if margin is None and known else ""
        yield Note("undecided", f"~ undecided does not mean equal.{equal}")
    decided = [one for one in found if one.verdict.word.decided]
    yield from rare_note([side.n for one in decided for side in (one.a, one.b)], options.confidence)
    if budget.best:
        yield note("best_of")


def _length_notes(named: Sequence[tuple[str, QualityComparison]], budget: Budget) -> Iterator[Note]:
    """Say where runs did not end at one length, and where the two sides ended at different ones."""
    if budget.amount is not None:
        return
    apart = [
        f"{name}{letter}: {_ends(side.lengths)}"
        for name, one in named
        for letter, side in (("A", one.a), ("B", one.b))
        if side.n and not side.lengths.one
    ]
    if apart:
        listed = units.listed(apart, 6, "; ")
        text = f"runs ended at different lengths, so there is no verdict: {listed}."
        yield Note("ends_differ", text)
    differ = [
        f"{name}{_both(one.a.lengths, one.b.lengths)}"
        for name, one in named
        if _of_two_lengths(one)
    ]
    if differ:
        text = (
            "the sides ended at different lengths and are compared at their ends: "
            f"{units.listed(differ, 6, '; ')}. The --at in parentheses compares them at equal "
            "cost."
        )
        yield Note("lengths_differ", text)


def _ends(ends: Lengths) -> str:
    able = f" ({ends.budget.option} is the largest budget that all reach)" if ends.budget else ""
    longest = f"{ends.n_longest} of {units.plural(ends.n, 'run')} at {ends.said(ends.most)}"
    return f"{longest}, the shortest at {ends.said(ends.least)}{able}"


def _both(a: Lengths, b: Lengths) -> str:
    shorter = min(a.most, b.most)
    return f"A at {a.said(a.most)}, B at {b.said(b.most)} (--at {a.unit}={shorter:.15g})"


def _of_two_lengths(one: QualityComparison) -> bool:
    a, b = one.a.lengths, one.b.lengths
    steady = one.a.n and one.b.n and a.one and b.one and a.unit == b.unit
    return bool(steady) and a.unit not in {None, "seconds"} and a.most != b.most
