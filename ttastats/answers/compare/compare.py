"""Is B faster than A, by how much, why, and how sure? One row per benchmark (Table 7, beyond)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from ttastats.answers.anomalies import stalls
from ttastats.answers.compare import compare_cells, compare_notes, fixed_length, same
from ttastats.answers.compare.also import Also, lines, measured, numbers, sentences
from ttastats.answers.compare.also import notes as also_notes
from ttastats.answers.compare.compare_notes import Shown
from ttastats.answers.compare.step_factors import Explained, explained
from ttastats.answers.compare.verdicts import verdict_numbers
from ttastats.base import percentages, units
from ttastats.base.errors import TtastatsError
from ttastats.base.note import Note
from ttastats.outcomes import axis as axes
from ttastats.outcomes import left_out
from ttastats.outcomes.axis import Axis
from ttastats.outcomes.left_out import BothSides
from ttastats.report import fields, grouping
from ttastats.report.answer import Against, Report
from ttastats.report.cells import Cell, Column, Line, Quantity, Table, Text
from ttastats.report.keys import LeftOutOfA, LeftOutOfB
from ttastats.sides import blocking, comparison, setups
from ttastats.sides.comparison import Comparison
from ttastats.sides.options import Options, View
from ttastats.sides.pairing import Pair, Pairing, Side, pairings
from ttastats.stats.multiplicity import MeanSpeedup, geometric_mean_speedup
from ttastats.stats.results import Ratio
from ttastats.stats.speedup import equivalence_confidence, time_saved
from ttastats.table import schema


@dataclass(frozen=True, slots=True)
class _Side:
    """One table to judge against the baseline, and what became of it."""

    label: str
    pairing: Pairing
    found: tuple[Comparison, ...]
    rows: tuple[Mapping[str, Any], ...]
    mean: MeanSpeedup | None
    also: Sequence[tuple[Also, ...]]
    left_out: tuple[BothSides, ...]


def report(
    baseline: Side,
    others: Sequence[Side],
    by: Sequence[str] = (),
    options: Options | None = None,
    view: View | None = None,
    *,
    pool: bool = False,
    also: Sequence[str] = (),
    profiles: Sequence[pl.DataFrame] = (),
    block: Sequence[str] = (),
) -> Report:
    """Give the report of one or more tables of runs against a baseline, each with its label.

    All p-values of a report are adjusted together. `by` and `pool` are those of
    `pairing.pairings`. `also` names metrics to compare where the times of runs ended, `block`
    what tells the blocks within which runs are compared (`blocking`). `profiles` are rows of the
    two systems, where one comparison is made, and say why it came out so.

    Raises
    ------
    TtastatsError
        A table has no group in common with the baseline, or profiles explain several comparisons.
    """
    options, view = options or Options(), view or View()
    paired = blocking.within(pairings(baseline, others, by, pool=pool), block)
    if axes.of(baseline.runs).is_time:
        paired = [
            _with_stalls(each, baseline, other) for other, each in zip(others, paired, strict=True)
        ]
    sides = _compared(baseline, others, paired, options, also)
    why = _explained(sides, profiles, options.confidence)
    rows = tuple(row for side in sides for row in side.rows)
    axis = axes.of(baseline.runs)
    tables = tuple(_table(side, baseline.label, view, options, axis) for side in sides)
    found = [one for side in sides for one in side.found]
    by = grouping.row_keys(sides[0].pairing.by)  # the same for all sides
    if view.same:
        rows = same.of_times(rows, found, by, options.confidence)
    unmatched = tuple(dict.fromkeys(one.text for side in sides for one in side.pairing.alone))
    has_mean = any(side.mean is not None for side in sides)
    notes = (
        *_fixed_lengths(baseline, others, sides, by),
        *_varying(baseline, others, sides, block, by),
        *_remarks(sides),
        *compare_notes.notes(_shown(found, rows, by, view), options, unmatched, has_mean),
        *also_notes([one for side in sides for one in side.also]),
    )
    if why is not None:
        rows = ({**rows[0], **why.numbers()},)
        tables += tuple(why.tables(options.confidence))
        notes += tuple(why.notes)
    each = [
        _sentence(
            side, (baseline.label, side.label) if view.named else ("A", "B"), by, view, options
        )
        for side in sides
    ]
    if len(sides) > 1:
        each = [f"{side.label}: {text}" for side, text in zip(sides, each, strict=True)]
    said = " ".join(filter(None, (*each, why.sentence() if why else "")))
    return Report(
        "compare", rows, tables, notes, said, _only_a(sides), by=by, against=_against(sides)
    )


#: A run that stood still for an hour, within so many seconds, may have changed its clock.
_HOUR, _NEAR = 3600.0, 60.0


def _with_stalls(pairing: Pairing, baseline: Side, other: Side) -> Pairing:
    """Flag the pairs of which a run stood still, since that time is part of its result."""
    still = [
        runs.select(*schema.RUN, "pair").join(
            stalls(runs.drop("pair"), side.evaluations), on=schema.RUN, how="inner"
        )
        for runs, side in ((pairing.a, baseline), (pairing.b, other))
    ]
    pairs, remarks = list(pairing.pairs), []
    names = grouping.row_names([pair.keys for pair in pairs], pairing.by)
    for number, pair in enumerate(pairs):
        for name, spans in zip("AB", (each.filter(pair=number) for each in still), strict=True):
            if spans.is_empty():
                continue
            longest = spans.sort("seconds").row(-1, named=True)
            usual = longest["seconds"] / longest["times"]
            runs = units.plural(spans.n_unique(list(schema.RUN)), "run")
            text = (
                f"{names[number]}: {runs} of {name} stood still for up to "
                f"{units.seconds(longest['seconds'])} between two evaluations "
                f"({units.seconds(usual)} is usual); that is part of the time."
            )
            if abs(longest["seconds"] - usual - _HOUR) < _NEAR:
                text += " It is an hour: the clock of the log may have changed to summer time."
            remarks.append(Note("stalled_runs", text))
            pairs[number] = replace(pair, flags=tuple(dict.fromkeys((*pair.flags, "stalled_runs"))))
    return replace(pairing, pairs=tuple(pairs), remarks=(*pairing.remarks, *remarks))


def _against(sides: Sequence[_Side]) -> tuple[Against, ...]:
    """Give the runs behind each row, as they were compared."""
    return tuple(
        Against(side.rows, tuple((one.a.outcomes, one.b.outcomes) for one in side.found), side.mean)
        for side in sides
    )


def _explained(
    sides: Sequence[_Side], profiles: Sequence[pl.DataFrame], confidence: float
) -> Explained | None:
    if not profiles:
        return None
    found = [one for side in sides for one in side.found]
    if len(found) > 1:
        raise TtastatsError(
            f"the profiles match {len(found)} comparisons",
            where="--profile-a",
            remedy="Select one comparison, for example with --where benchmark=resnet.",
        )
    return explained(found[0], sides[0].pairing.pairs[0], profiles, confidence)


def _sentence(
    side: _Side, names: tuple[str, str], by: Sequence[str], view: View, options: Options
) -> str:
    """Say the verdicts on one table, and what they leave out where that was asked for."""
    said = compare_notes.sentence(
        _shown(side.found, side.rows, by, view), *names, options.confidence
    )
    several = len(side.rows) > 1
    beside = (
        f"{name}, {text}" if several else text
        for also_of, row, name in zip(
            side.also, side.rows, grouping.row_names(side.rows, by), strict=True
        )
        for text in sentences(also_of, row, *names)
    )
    return " ".join((said, *beside))


def _shown(
    found: Sequence[Comparison], rows: Sequence[Mapping[str, Any]], by: Sequence[str], view: View
) -> list[Shown]:
    return [
        Shown(one, row, name, view.margin_claims or row["verdict"] != "undecided")
        for one, row, name in zip(found, rows, grouping.row_names(rows, by), strict=True)
    ]


def _only_a(sides: Sequence[_Side]) -> tuple[str, ...]:
    """Name the groups of the baseline that a side lacks, and the side where there are several."""
    several = len(sides) > 1
    return tuple(
        f"{side.label}: {one.name}" if several else one.name
        for side in sides
        for one in side.pairing.alone
        if one.side == "a"
    )


def _compared(
    baseline: Side,
    others: Sequence[Side],
    paired: Sequence[Pairing],
    options: Options,
    also: Sequence[str],
) -> list[_Side]:
    found = comparison.compare([pair for each in paired for pair in each.pairs], options)
    asked = [(baseline, other, each.pairs) for other, each in zip(others, paired, strict=True)]
    sides, start = [], 0
    beside = measured(asked, also, options)
    for other, each, worth in zip(others, paired, beside, strict=True):
        mine = found[start : start + len(each.pairs)]
        gone = left_out.of_pairs(baseline.runs, other.runs, each.pairs)
        start += len(each.pairs)
        labels = (baseline.label, other.label)
        rows = tuple(
            _row_of(one, pair, labels, each.by, lost)
            | numbers(also_of)
            | _planned(one, options)
            | blocking.ratios(pair, one.by_block)
            for one, pair, also_of, lost in zip(mine, each.pairs, worth, gone, strict=True)
        )
        # A mean over benchmarks has no plan of its own.
        mean = None if options.max_runs else _mean_speedup(mine, options.confidence)
        sides.append(_Side(other.label, each, mine, rows, mean, worth, gone))
    return sides


def _mean_speedup(found: Sequence[Comparison], confidence: float) -> MeanSpeedup | None:
    ratios = [one.speedup.ratio for one in found if one.speedup is not None]
    if len(ratios) < 2 or len(ratios) < len(found):
        return None
    return geometric_mean_speedup(ratios, confidence=confidence)


def _varying(
    baseline: Side,
    others: Sequence[Side],
    sides: Sequence[_Side],
    block: Sequence[str],
    by: Sequence[str],
) -> list[Note]:
    """Return what varies inside the groups of each side, and which of its runs are left out."""
    keys = ("pair", *(name for name in block if name in baseline.runs.columns))
    several = len(sides) > 1
    labels = [grouping.row_names(each.rows, by) for each in sides]
    a, b = ("", "") if several else ("A", "B")
    named = [
        (a or baseline.label, baseline, each.pairing.a, names)
        for each, names in zip(sides, labels, strict=True)
    ]
    named += [
        (b or other.label, other, each.pairing.b, names)
        for other, each, names in zip(others, sides, labels, strict=True)
    ]
    notes = [
        Note(note.code, f"{name}: {note.text}")
        for name, side, paired, names in named
        for note in (
            *grouping.group_notes(paired, keys, names),
            *grouping.set_aside_notes(side.runs),
        )
    ]
    return list(dict.fromkeys(notes))


def _remarks(sides: Sequence[_Side]) -> list[Note]:
    """Give what was said of the pairs, with the name of a side where there are several."""
    return [
        Note(remark.code, f"{side.label}: {remark.text}" if len(sides) > 1 else remark.text)
        for side in sides
        for remark in side.pairing.remarks
    ]


def _fixed_lengths(
    baseline: Side, others: Sequence[Side], sides: Sequence[_Side], by: Sequence[str]
) -> list[Note]:
    return [
        note
        for other, side in zip(others, sides, strict=True)
        for note in fixed_length.notes(
            baseline, other, side.pairing.pairs, grouping.row_names(side.rows, by)
        )
    ]


def _row_of(
    one: Comparison, pair: Pair, labels: tuple[str, str], by: Sequence[str], lost: BothSides
) -> dict[str, Any]:
    """Give the numbers of one benchmark for programs."""
    ratio = one.speedup.ratio if one.speedup else None
    verdict, plan, fraction = one.verdict, one.plan, one.fraction
    one_sided = _one_sided_limits(one)
    shifts = one.speedup.epoch_shifts if one.speedup else (0.0, 0.0)
    row: dict[str, Any] = {name: one.keys.get(name) for name in grouping.row_keys(by)}
    row |= {"a": labels[0], "b": labels[1], "axis": one.axis.name}
    for name, side in (("a", one.a), ("b", one.b)):
        row |= {
            f"n_{name}": side.n,
            f"reached_{name}": side.n_reached,
            f"tta_{name}_seconds": side.mean_seconds,
            f"cv_{name}": side.cv,
            f"cv_{name}_low": side.cv_low,
            f"cv_{name}_high": side.cv_high,
            f"ert_{name}_seconds": side.ert_seconds,
            f"setups_{name}": len(side.design.setups),
        }
    row |= {"estimand": one.estimand, **_limits("speedup", ratio)}
    row |= {
        "time_saved": time_saved(ratio.estimate) if ratio and ratio.estimate else None,
        **_allowing("epoch_safe", one),
        **_allowing("robust", one, stragglers=True),
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
        **verdict_numbers(verdict),
        "claim": verdict.claim,
        "flags": list(
            dict.fromkeys((*pair.flags, *(flag.code for flag in one.flags), *lost.flags))
        ),
        **LeftOutOfA(*lost.a.counts).numbers(),
        **LeftOutOfB(*lost.b.counts).numbers(),
        **left_out.exceptions_of(pair.a, pair.b),
        **_judged_by(pair),
    }


def _planned(one: Comparison, options: Options) -> dict[str, Any]:
    """Give the look and its plan, where one was asked for."""
    if options.max_runs is None:
        return {}
    look = one.speedup.look if one.speedup else None
    return {
        "sequential": True,
        "max_runs": options.max_runs,
        "look": look.n if look else None,
        "look_level": look.level(1 - options.confidence) if look else None,
    }


def _judged_by(pair: Pair) -> dict[str, Any]:
    """Give the setup and the target that both sides have, as far as they are one."""
    targets = pl.concat(
        [runs.select("target_metric", "target_value") for runs in (pair.a, pair.b)],
        how="vertical_relaxed",
    ).unique()
    metric, value = targets.row(0) if targets.height == 1 else (None, None)
    return {
        **{name: setups.common(pair.a, pair.b, name) for name in setups.COLUMNS},
        "target_metric": metric,
        "target_value": value,
    }


def _allowing(name: str, one: Comparison, *, stragglers: bool = False) -> dict[str, float | None]:
    """Give the interval that allows for unseen epochs and more; None where nothing bounds it."""
    found = one.speedup
    asked = found is not None and (stragglers or found.unseen_epochs)
    limits = None
    if found is not None and asked:
        limits = found.limits(found.ratio.confidence, epochs=True, stragglers=stragglers)
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


def _table(side: _Side, baseline: str, view: View, options: Options, axis: Axis) -> Table:
    by = side.pairing.by
    keys = grouping.shown_keys(side.rows, by)
    columns = (
        *(field.column for field in fields.keys(keys, heads=False)),
        Column("A: mean ±CV", "right", rank=2),
        Column("B: mean ±CV", "right", rank=2),
        Column("reached", rank=1),
        Column(f"{axis.ratio} [{percentages.text(options.confidence)} CI]"),
        *(compare_cells.wide_columns(options.confidence, axis) if view.wide else ()),
        Column("p", "right", rank=3),
        Column("verdict"),
    )
    body = [
        Line(
            (
                *_key_cells(pair, row, keys),
                *compare_cells.cells(one, view.wide, view.margin_claims),
            ),
            grouping.with_line((*compare_cells.why(one, dots=view.strips), *lines(also_of)), lost),
        )
        for one, pair, row, also_of, lost in zip(
            side.found, side.pairing.pairs, side.rows, side.also, side.left_out, strict=True
        )
    ]
    if side.mean is not None:
        constant = any(one.speedup and one.speedup.unseen_epochs for one in side.found)
        mark = compare_notes.CONSTANT if constant else ""
        body.append(_mean_row(side.mean, columns, len(keys), mark))
    ratio = "speedup = A/B" if axis.is_time else axis.ratio
    does = axis.does(axis.better)
    sides = f"A = {baseline}   B = {side.label}   {ratio}: >1 means B {does}"
    shared = " ".join(
        part for part in (grouping.common_title(side.rows, by), side.pairing.shared) if part
    )
    about = ": ".join(part for part in (shared, side.pairing.apart) if part)
    title = "   ".join(part for part in (about, sides) if part)
    return Table(columns, tuple(body), title)


def _key_cells(pair: Pair, row: Mapping[str, Any], keys: Sequence[str]) -> list[Text]:
    """Give the cells of some keys; of a setup in which the sides differ, both."""
    return [
        Text(f"{setups.said(pair.a, name)} | {setups.said(pair.b, name)}")
        if name in setups.COLUMNS and row[name] is None
        else fields.key(name, row)
        for name in keys
    ]


def _mean_row(mean: MeanSpeedup, columns: Sequence[Column], keys: int, mark: str) -> Line:
    cells: list[Cell] = [Text("")] * len(columns)
    cells[0] = Text(f"geo-mean of {mean.n}")
    cells[keys + 3] = Quantity(mean.estimate, "ratio", mean.low, mean.high, mark=mark)
    return Line(tuple(cells), of_all=True)
