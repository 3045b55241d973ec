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
from ttastats.report.grouping import (
    BENCHMARK,
    common_title,
    group_notes,
    groups,
    key_cells,
    key_columns,
    shown_keys,
)
from ttastats.stats.multiplicity import MeanSpeedup, geometric_mean_speedup
from ttastats.stats.results import Ratio
from ttastats.stats.speedup import time_saved

Runs = pl.DataFrame


@dataclass(frozen=True, slots=True)
class View:
    """What is shown: more columns, a strip of dots per side, claims about a margin."""

    wide: bool = False
    strips: bool = False
    margin_claims: bool = False


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
    tables = tuple(_table(side, baseline[0], by, view) for side in sides)
    found = [one for side in sides for one in side.found]
    unmatched = tuple(
        dict.fromkeys(name for side in sides for name in (*side.only_a, *side.only_b))
    )
    has_mean = any(side.mean is not None for side in sides)
    notes = (
        *_varying(baseline, others, by),
        *compare_notes.notes(found, rows, options, unmatched, has_mean),
    )
    sentences = [compare_notes.sentence(side.found, side.rows) for side in sides]
    if len(sides) > 1:
        pairs = zip(sides, sentences, strict=True)
        sentences = [f"{side.label}: {sentence}" for side, sentence in pairs]
    return Report("compare", rows, tables, notes, " ".join(sentences), _only_a(sides))


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
        mean = _mean_speedup(mine, len(only_a) + len(only_b))
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


def _mean_speedup(found: Sequence[Comparison], unmatched: int) -> MeanSpeedup | None:
    ratios = [one.speedup.ratio for one in found if one.speedup is not None]
    if len(ratios) < 2 or len(ratios) < len(found):
        return None
    return geometric_mean_speedup(ratios, unmatched=unmatched)


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
    safe = one.speedup.epoch_safe if one.speedup else None
    verdict, plan, one_sided = one.verdict, one.plan, _one_sided_limits(one)
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
        }
    row |= {"estimand": one.estimand, **_limits("speedup", ratio)}
    row |= {
        "time_saved": time_saved(ratio.estimate) if ratio and ratio.estimate else None,
        "epoch_safe_low": safe.low if safe else None,
        "epoch_safe_high": safe.high if safe else None,
        "non_inferiority_low": one_sided[0],
        "inferiority_high": one_sided[1],
        "planning_cv": plan.cv if plan else None,
        "epoch_shift_a": _epoch_shift(one, one.a),
        "epoch_shift_b": _epoch_shift(one, one.b),
        "p_value": one.p_value,
        "p_adjusted": one.p_adjusted,
        "p_permutation": one.p_permutation,
        "progress_unit": one.progress_unit,
    }
    row |= _limits("throughput_speedup", one.parts.throughput if one.parts else None, "throughput")
    row |= _limits("epochs_ratio", one.parts.progress if one.parts else None, "epochs")
    row |= {
        "reached_difference": one.fraction.estimate,
        "reached_difference_low": one.fraction.low,
        "reached_difference_high": one.fraction.high,
        "p_reached": one.fraction_p,
        "prob_b_faster": one.wins.estimate if one.wins else None,
        "other_mean_ratio": one.other_mean.estimate if one.other_mean else None,
        "detectable_ratio": plan.detectable if plan else None,
        "runs_needed": plan.needed if plan else None,
    }
    return row | {
        "verdict": verdict.word if verdict else "unavailable",
        "dagger": verdict.dagger if verdict else False,
        "claim": verdict.claim if verdict else None,
        "flags": [flag.code for flag in one.flags],
    }


def _one_sided_limits(one: Comparison) -> tuple[float | None, float | None]:
    """Give the interval whose ends are those of one-sided claims, unseen epochs allowed for."""
    speedup = one.speedup
    if speedup is None or speedup.tost.low is None or speedup.tost.high is None:
        return None, None
    low, high, safe = speedup.tost.low, speedup.tost.high, speedup.epoch_safe_tost
    if not speedup.unseen_epochs:
        return low, high
    if safe is None or safe.low is None or safe.high is None:
        return 0.0, math.inf
    return min(low, safe.low), max(high, safe.high)


def _epoch_shift(one: Comparison, side: comparison.Side) -> float:
    """Give the share by which one evaluation interval more in every run would change a side's time.

    0 where the epochs vary or cannot by design, infinite where nobody knows.
    """
    if one.speedup is None or not one.speedup.unseen_epochs:
        return 0.0
    values = side.multiset()
    if len(values) > 1:
        return 0.0
    return side.quantum / next(iter(values)) if values and side.quantum else math.inf


def _limits(name: str, ratio: Ratio | None, stem: str | None = None) -> dict[str, float | None]:
    stem = stem or name
    if ratio is None:
        return {name: None, f"{stem}_low": None, f"{stem}_high": None}
    return {name: ratio.estimate, f"{stem}_low": ratio.low, f"{stem}_high": ratio.high}


def _table(side: _Side, baseline: str, by: Sequence[str], view: View) -> Table:
    keys = shown_keys(side.rows, by)
    columns = (
        *key_columns(keys),
        Column("A: mean ±CV", "right", rank=2),
        Column("B: mean ±CV", "right", rank=2),
        Column("reached", rank=1),
        Column("speedup [95% CI]"),
        *(compare_cells.WIDE if view.wide else ()),
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
    return Row(tuple(cells))
