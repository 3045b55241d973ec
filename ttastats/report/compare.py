"""Is B faster than A, by how much, why, and how sure? One row per benchmark (Table 7, beyond)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from ttastats import comparison, units
from ttastats.comparison import Comparison, Side
from ttastats.errors import TtastatsError
from ttastats.report import compare_notes
from ttastats.report.cells import (
    Cell,
    Column,
    Note,
    PValue,
    Quantity,
    Report,
    Row,
    Table,
    Text,
    Tone,
)
from ttastats.report.grouping import (
    BENCHMARK,
    common_title,
    groups,
    key_cells,
    key_columns,
    shown_keys,
    varying_notes,
)
from ttastats.stats.multiplicity import MeanSpeedup, geometric_mean_speedup
from ttastats.stats.results import Ratio

#: Side A, side B.
Labels = tuple[str, str]

_MOST_VALUES = 4  # a multiset of more values is shown as a range


def report(
    runs_a: pl.DataFrame,
    runs_b: pl.DataFrame,
    *,
    labels: Labels,
    by: Sequence[str] = BENCHMARK,
    ddof: int = 1,
    margin: float = 0.01,
) -> Report:
    """Give the report of two tables of runs.

    Raises
    ------
    TtastatsError
        The two have no group in common.
    """
    pairs, unmatched = _matched(runs_a, runs_b, by)
    if not pairs:
        raise _nothing_in_common(runs_a, runs_b, labels, by)
    found = comparison.compare(pairs, ddof=ddof, margin=margin)
    mean = _mean_speedup(found, len(unmatched))
    rows = tuple(_row_of(one, labels, by) for one in found)
    notes = (
        *_side_notes(runs_a, runs_b, by),
        *compare_notes.notes(found, rows, unmatched, mean),
    )
    table = _table(found, rows, labels, by, mean)
    return Report("compare", rows, (table,), notes, compare_notes.sentence(found, rows))


def _matched(
    runs_a: pl.DataFrame, runs_b: pl.DataFrame, by: Sequence[str]
) -> tuple[list[tuple[dict[str, Any], pl.DataFrame, pl.DataFrame]], list[str]]:
    """Give the groups both sides have, and the names of those only one has."""
    a, b = (
        {tuple(keys.values()): (keys, group) for keys, group in groups(runs, by)}
        for runs in (runs_a, runs_b)
    )
    pairs = [(a[key][0], a[key][1], b[key][1]) for key in a if key in b]
    alone = [key for key in (*a, *b) if (key in a) != (key in b)]
    names = [" ".join(str(part) for part in key if part is not None) for key in alone]
    return pairs, names


def _nothing_in_common(
    runs_a: pl.DataFrame, runs_b: pl.DataFrame, labels: Labels, by: Sequence[str]
) -> TtastatsError:
    def held(runs: pl.DataFrame) -> str:
        names = [" ".join(map(str, keys.values())) for keys, _ in groups(runs, by)]
        return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")

    return TtastatsError(
        f"nothing in common by {', '.join(by)}: "
        f"{labels[0]} has {held(runs_a)}; {labels[1]} has {held(runs_b)}",
        remedy="Group by what they share, such as --by benchmark.",
    )


def _mean_speedup(found: Sequence[Comparison], unmatched: int) -> MeanSpeedup | None:
    ratios = [one.speedup.ratio for one in found if one.speedup is not None]
    if len(ratios) < 2 or len(ratios) < len(found):
        return None
    return geometric_mean_speedup(ratios, unmatched=unmatched)


def _side_notes(runs_a: pl.DataFrame, runs_b: pl.DataFrame, by: Sequence[str]) -> list[Note]:
    notes = []
    for name, runs in (("A", runs_a), ("B", runs_b)):
        notes += [Note(note.code, f"{name}: {note.text}") for note in varying_notes(runs, by)]
    return notes


def _row_of(one: Comparison, labels: Labels, by: Sequence[str]) -> dict[str, Any]:
    ratio = one.speedup.ratio if one.speedup else None
    safe = one.speedup.epoch_safe if one.speedup else None
    throughput = one.parts.throughput if one.parts else None
    epochs = one.parts.progress if one.parts else None
    verdict = one.verdict
    row: dict[str, Any] = {name: one.keys.get(name) for name in dict.fromkeys((*BENCHMARK, *by))}
    row |= {"a": labels[0], "b": labels[1]}
    for name, side in (("a", one.a), ("b", one.b)):
        row |= {
            f"n_{name}": side.n,
            f"reached_{name}": side.n_reached,
            f"tta_{name}_seconds": side.mean_seconds,
            f"cv_{name}": side.cv,
            f"ert_{name}_seconds": side.ert_seconds,
        }
    row |= {"estimand": one.estimand, **_limits("speedup", ratio)}
    row |= {
        "epoch_safe_low": safe.low if safe else None,
        "epoch_safe_high": safe.high if safe else None,
        "p_value": one.p_value,
        "p_adjusted": one.p_adjusted,
        "p_permutation": one.p_permutation,
        "progress_unit": one.progress_unit,
    }
    row |= _limits("throughput_speedup", throughput, "throughput")
    row |= _limits("epochs_ratio", epochs, "epochs")
    return row | {
        "verdict": verdict.word if verdict else "unavailable",
        "dagger": verdict.dagger if verdict else False,
        "claim": verdict.claim if verdict else None,
        "flags": [flag.code for flag in one.flags],
    }


def _limits(name: str, ratio: Ratio | None, stem: str | None = None) -> dict[str, float | None]:
    stem = stem or name
    if ratio is None:
        return {name: None, f"{stem}_low": None, f"{stem}_high": None}
    return {name: ratio.estimate, f"{stem}_low": ratio.low, f"{stem}_high": ratio.high}


def _table(
    found: Sequence[Comparison],
    rows: Sequence[Mapping[str, Any]],
    labels: Labels,
    by: Sequence[str],
    mean: MeanSpeedup | None,
) -> Table:
    keys = shown_keys(rows, by)
    columns = (
        *key_columns(keys),
        Column("A: mean ±CV", "right", rank=2),
        Column("B: mean ±CV", "right", rank=2),
        Column("reached", "left", rank=1),
        Column("speedup [95% CI]", "left"),
        Column("p", "right", rank=3),
        Column("verdict", "left"),
    )
    body = [
        Row((*key_cells(row, keys), *_cells(one)), tuple(_why(one)))
        for one, row in zip(found, rows, strict=True)
    ]
    if mean is not None:
        body.append(_mean_row(mean, len(keys)))
    sides = f"A = {labels[0]}   B = {labels[1]}   speedup = A/B: >1 means B is faster"
    title = "   ".join(part for part in (common_title(rows, by), sides) if part)
    return Table(columns, tuple(body), title)


def _cells(one: Comparison) -> tuple[Cell, ...]:
    ratio = one.speedup.ratio if one.speedup else None
    return (
        Quantity(one.a.mean_seconds, "seconds", spread=one.a.cv),
        Quantity(one.b.mean_seconds, "seconds", spread=one.b.cv),
        Text(f"{one.a.n_reached}/{one.a.n} {one.b.n_reached}/{one.b.n}"),
        Quantity(
            ratio.estimate if ratio else None,
            "ratio",
            ratio.low if ratio else None,
            ratio.high if ratio else None,
            mark=compare_notes.marks(one),
        ),
        PValue(one.p_adjusted),
        _verdict(one),
    )


_TONES: dict[str, Tone] = {"faster": "good", "slower": "bad"}


def _verdict(one: Comparison) -> Text:
    verdict = one.verdict
    if verdict is None or verdict.word == "unavailable":
        return Text("n/a")
    if verdict.word in _TONES:
        dagger = " †" if verdict.dagger else ""
        return Text(f"B {verdict.word}{dagger}", _TONES[verdict.word])
    if verdict.word == "same":
        return Text(verdict.claim)
    return Text("~ undecided")


def _mean_row(mean: MeanSpeedup, keys: int) -> Row:
    blank = Text("")
    cells: list[Cell] = [Text(f"geo-mean of {mean.n}"), *[blank] * (keys - 1)]
    ratio = Quantity(mean.estimate, "ratio", mean.low, mean.high)
    return Row((*cells, blank, blank, blank, ratio, blank, blank))


def _why(one: Comparison) -> list[str]:
    """Give the lines beneath a benchmark: throughput x epochs, and what is behind them."""
    if one.parts is None:
        return [_fractions(one)] if one.estimand != "mean" else ["why  progress is not in the logs"]
    unit = one.progress_unit or "epochs"
    line = f"why  throughput {_ratio(one.parts.throughput)} × {unit} "
    constant = _constant(one.a, one.b)
    if constant is not None:
        line += f"{_bare(one.parts.progress)} ({units.count(constant)} in every run)"
    else:
        line += _ratio(one.parts.progress)
    lines = [line + (" (successes)" if one.estimand == "ert" else "")]
    if one.estimand == "ert":
        lines[0] += f" · {_fractions(one)}"
    if constant is None:
        lines.append(f"     {unit}  A {_multiset(one.a)} | B {_multiset(one.b)}")
    return lines


def _ratio(ratio: Ratio) -> str:
    interval = (
        f" [{ratio.low:.3f}, {ratio.high:.3f}]"
        if ratio.low is not None and ratio.high is not None
        else ""
    )
    return _bare(ratio) + interval


def _bare(ratio: Ratio) -> str:
    if ratio.estimate is None or not math.isfinite(ratio.estimate):
        return "–"
    return f"{ratio.estimate:.3f}" if ratio.estimate < 10 else f"{ratio.estimate:.2f}"


def _constant(a: Side, b: Side) -> float | None:
    values = {*a.multiset(), *b.multiset()}
    return next(iter(values)) if len(values) == 1 else None


def _multiset(side: Side) -> str:
    counts = sorted(side.multiset().items())
    if len(counts) <= _MOST_VALUES:
        return " ".join(f"{units.count(value)}×{number}" for value, number in counts)
    return f"{units.count(counts[0][0])} to {units.count(counts[-1][0])}"


def _fractions(one: Comparison) -> str:
    """Give the difference of the fractions reached, in percentage points."""
    difference = one.fraction
    if difference.estimate is None:
        return ""
    text = f"reached {difference.estimate * 100:+.0f} pp"
    if difference.low is not None and difference.high is not None:
        text += f" [{difference.low * 100:+.1f}, {difference.high * 100:+.1f}]"
    return text
