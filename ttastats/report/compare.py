"""Is B faster than A, by how much, why, and how sure? One row per benchmark (Table 7, beyond)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from ttastats import comparison
from ttastats.comparison import Comparison, Options
from ttastats.errors import TtastatsError
from ttastats.pairing import Pair
from ttastats.report import compare_cells, compare_notes
from ttastats.report.cells import Cell, Column, Note, Quantity, Report, Row, Table, Text
from ttastats.report.compare_notes import Shown
from ttastats.report.grouping import (
    BENCHMARK,
    common_title,
    group_notes,
    groups,
    key_cells,
    key_columns,
    shown_keys,
)
from ttastats.report.verdicts import row_names
from ttastats.stats.multiplicity import MeanSpeedup, geometric_mean_speedup
from ttastats.stats.results import Ratio
from ttastats.stats.speedup import equivalence_confidence, time_saved

Runs = pl.DataFrame


@dataclass(frozen=True, slots=True)
class View:
    """What is shown: more columns, a strip of dots per side, claims about a margin.

    `named`: sentences call the sides by their labels, not A and B.
    """

    wide: bool = False
    strips: bool = False
    margin_claims: bool = False
    named: bool = False


@dataclass(frozen=True, slots=True)
class _Side:
    """One table to judge against the baseline, and what became of it."""

    label: str
    found: tuple[Comparison, ...]
    rows: tuple[Mapping[str, Any], ...]
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    mean: MeanSpeedup | None


def report(
    baseline: tuple[str, Runs],
    others: Sequence[tuple[str, Runs]],
    by: Sequence[str] = BENCHMARK,
    options: Options | None = None,
    view: View | None = None,
) -> Report:
    """Give the report of one or more tables of runs against a baseline, each with its label.

    All p-values of a report are adjusted together.

    Raises
    ------
    TtastatsError
        A table has no group in common with the baseline.
    """
    options, view = options or Options(), view or View()
    sides = _compared(baseline, others, by, options)
    rows = tuple(row for side in sides for row in side.rows)
    tables = tuple(_table(side, baseline[0], by, view, options) for side in sides)
    found = [one for side in sides for one in side.found]
    unmatched = tuple(
        dict.fromkeys(name for side in sides for name in (*side.only_a, *side.only_b))
    )
    has_mean = any(side.mean is not None for side in sides)
    notes = (
        *_varying(baseline, others, by),
        *compare_notes.notes(_shown(found, rows), options, unmatched, has_mean),
    )
    sentences = [
        compare_notes.sentence(
            _shown(side.found, side.rows),
            *((baseline[0], side.label) if view.named else ("A", "B")),
            options.confidence,
        )
        for side in sides
    ]
    if len(sides) > 1:
        pairs = zip(sides, sentences, strict=True)
        sentences = [f"{side.label}: {sentence}" for side, sentence in pairs]
    return Report("compare", rows, tables, notes, " ".join(sentences), _only_a(sides))


def _shown(found: Sequence[Comparison], rows: Sequence[Mapping[str, Any]]) -> list[Shown]:
    names = row_names(rows)
    return [Shown(one, row, name) for one, row, name in zip(found, rows, names, strict=True)]


def _only_a(sides: Sequence[_Side]) -> tuple[str, ...]:
    """Name the groups of the baseline that a side lacks, and the side where there are several."""
    several = len(sides) > 1
    return tuple(
        f"{side.label}: {name}" if several else name for side in sides for name in side.only_a
    )


def _compared(
    baseline: tuple[str, Runs],
    others: Sequence[tuple[str, Runs]],
    by: Sequence[str],
    options: Options,
) -> list[_Side]:
    matched = [_matched(baseline, other, by) for other in others]
    found = comparison.compare([pair for pairs, _, _ in matched for pair in pairs], options)
    sides, start = [], 0
    for (label, _), (pairs, only_a, only_b) in zip(others, matched, strict=True):
        mine = found[start : start + len(pairs)]
        start += len(pairs)
        rows = tuple(_row_of(one, (baseline[0], label), by) for one in mine)
        mean = _mean_speedup(mine, len(only_a) + len(only_b), options.confidence)
        sides.append(_Side(label, mine, rows, only_a, only_b, mean))
    return sides


def _matched(
    baseline: tuple[str, Runs], other: tuple[str, Runs], by: Sequence[str]
) -> tuple[list[Pair], tuple[str, ...], tuple[str, ...]]:
    """Give the groups both sides have, and the names of those only A or only B has."""
    a, b = (
        {tuple(keys.values()): (keys, group) for keys, group in groups(runs, by)}
        for _, runs in (baseline, other)
    )
    pairs = [Pair(a[key][0], a[key][1], b[key][1]) for key in a if key in b]
    if not pairs:
        raise _nothing_in_common(baseline, other, by)
    only_a = tuple(_name(key) for key in a if key not in b)
    only_b = tuple(_name(key) for key in b if key not in a)
    return pairs, only_a, only_b


def _name(key: Sequence[Any]) -> str:
    return " ".join(str(part) for part in key if part is not None)


def _nothing_in_common(
    baseline: tuple[str, Runs], other: tuple[str, Runs], by: Sequence[str]
) -> TtastatsError:
    def held(runs: Runs) -> str:
        names = [" ".join(map(str, keys.values())) for keys, _ in groups(runs, by)]
        return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")

    return TtastatsError(
        f"nothing in common by {', '.join(by)}: "
        f"{baseline[0]} has {held(baseline[1])}; {other[0]} has {held(other[1])}",
        remedy="Group by what they share, such as --by benchmark.",
    )


def _mean_speedup(
    found: Sequence[Comparison], unmatched: int, confidence: float
) -> MeanSpeedup | None:
    ratios = [one.speedup.ratio for one in found if one.speedup is not None]
    if len(ratios) < 2 or len(ratios) < len(found):
        return None
    return geometric_mean_speedup(ratios, unmatched=unmatched, confidence=confidence)


def _varying(
    baseline: tuple[str, Runs], others: Sequence[tuple[str, Runs]], by: Sequence[str]
) -> list[Note]:
    notes = []
    names = ("A", "B") if len(others) == 1 else (baseline[0], *(label for label, _ in others))
    for name, (_, runs) in zip(names, (baseline, *others), strict=True):
        notes += [Note(note.code, f"{name}: {note.text}") for note in group_notes(runs, by)]
    return notes


def _row_of(one: Comparison, labels: tuple[str, str], by: Sequence[str]) -> dict[str, Any]:
    """Give the numbers of one benchmark for programs."""
    ratio = one.speedup.ratio if one.speedup else None
    verdict, plan, fraction = one.verdict, one.plan, one.fraction
    one_sided = _one_sided_limits(one)
    shifts = one.speedup.epoch_shifts if one.speedup else (0.0, 0.0)
    row: dict[str, Any] = {name: one.keys.get(name) for name in dict.fromkeys((*BENCHMARK, *by))}
    row |= {"a": labels[0], "b": labels[1]}
    for name, side in (("a", one.a), ("b", one.b)):
        row |= {
            f"n_{name}": side.n,
            f"reached_{name}": side.n_reached,
            f"tta_{name}_seconds": side.mean_seconds,
            f"cv_{name}": side.cv,
            f"cv_{name}_low": side.cv_low,
            f"cv_{name}_high": side.cv_high,
            f"ert_{name}_seconds": side.ert_seconds,
            f"setups_{name}": len(side.setups),
        }
    row |= {"estimand": one.estimand, **_limits("speedup", ratio)}
    row |= {
        "time_saved": time_saved(ratio.estimate) if ratio and ratio.estimate else None,
        **_allowing("epoch_safe", one, epochs=True),
        **_allowing("robust", one, epochs=True, stragglers=True),
        "non_inferiority_low": one_sided[0],
        "inferiority_high": one_sided[1],
        "planning_cv": plan.cv if plan else None,
        "epoch_shift_a": shifts[0],
        "epoch_shift_b": shifts[1],
        "p_value": one.p_value,
        "p_adjusted": one.p_adjusted,
        "p_permutation": one.p_permutation,
        "progress_unit": one.progress_unit,
    }
    row |= _limits("throughput_speedup", one.parts.throughput if one.parts else None, "throughput")
    row |= _limits("epochs_ratio", one.parts.progress if one.parts else None, "epochs")
    row |= {
        "reached_difference": fraction.estimate if fraction else None,
        "reached_difference_low": fraction.low if fraction else None,
        "reached_difference_high": fraction.high if fraction else None,
        "p_reached": one.fraction_p,
        "prob_b_faster": one.wins.estimate if one.wins else None,
        "other_mean_ratio": one.other_mean.estimate if one.other_mean else None,
        "detectable_ratio": plan.detectable if plan else None,
        "runs_needed": plan.needed if plan else None,
    }
    return row | {
        "verdict": verdict.word if verdict else "unavailable",
        "dagger": verdict.dagger if verdict else False,
        "conditions": list(verdict.conditions) if verdict else [],
        "marks": verdict.marks if verdict else "",
        "claim": verdict.claim if verdict else None,
        "flags": [flag.code for flag in one.flags],
    }


def _allowing(
    name: str, one: Comparison, *, epochs: bool, stragglers: bool = False
) -> dict[str, float | None]:
    """Give the interval that allows for what was not seen; None where nothing bounds it."""
    found = one.speedup
    asked = found is not None and (stragglers or found.unseen_epochs)
    limits = None
    if found is not None and asked:
        limits = found.limits(found.ratio.confidence, epochs=epochs, stragglers=stragglers)
    if limits is None or not math.isfinite(limits[1]):
        return {f"{name}_low": None, f"{name}_high": None}
    return {f"{name}_low": limits[0], f"{name}_high": limits[1]}


def _one_sided_limits(one: Comparison) -> tuple[float | None, float | None]:
    """Give the interval whose ends are those of one-sided claims, unseen epochs allowed for."""
    if one.speedup is None:
        return None, None
    confidence = equivalence_confidence(one.speedup.ratio.confidence)
    return one.speedup.limits(confidence, epochs=True) or (None, None)


def _limits(name: str, ratio: Ratio | None, stem: str | None = None) -> dict[str, float | None]:
    stem = stem or name
    if ratio is None:
        return {name: None, f"{stem}_low": None, f"{stem}_high": None}
    return {name: ratio.estimate, f"{stem}_low": ratio.low, f"{stem}_high": ratio.high}


def _table(side: _Side, baseline: str, by: Sequence[str], view: View, options: Options) -> Table:
    keys = shown_keys(side.rows, by)
    columns = (
        *key_columns(keys),
        Column("A: mean ±CV", "right", rank=2),
        Column("B: mean ±CV", "right", rank=2),
        Column("reached", rank=1),
        Column(f"speedup [{options.confidence:.0%} CI]"),
        *(compare_cells.wide_columns(options.confidence) if view.wide else ()),
        Column("p", "right", rank=3),
        Column("verdict"),
    )
    body = [
        Row(
            (*key_cells(row, keys), *compare_cells.cells(one, view.wide, view.margin_claims)),
            tuple(compare_cells.why(one, dots=view.strips)),
        )
        for one, row in zip(side.found, side.rows, strict=True)
    ]
    if side.mean is not None:
        constant = any(one.speedup and one.speedup.unseen_epochs for one in side.found)
        mark = compare_notes.CONSTANT if constant else ""
        body.append(_mean_row(side.mean, columns, len(keys), mark))
    sides = f"A = {baseline}   B = {side.label}   speedup = A/B: >1 means B is faster"
    title = "   ".join(part for part in (common_title(side.rows, by), sides) if part)
    return Table(columns, tuple(body), title)


def _mean_row(mean: MeanSpeedup, columns: Sequence[Column], keys: int, mark: str) -> Row:
    cells: list[Cell] = [Text("")] * len(columns)
    cells[0] = Text(f"geo-mean of {mean.n}")
    cells[keys + 3] = Quantity(mean.estimate, "ratio", mean.low, mean.high, mark=mark)
    return Row(tuple(cells), of_all=True)
