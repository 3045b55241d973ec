"""Does each entry converge as the reference does, and what does the official check make of it?

Two answers stand side by side and apart: a ratio with an interval, from the scatter of both sides,
and the verdict and factor of the official rules.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import polars as pl

from ttastats.answers.rcp import convergence_rules, rcp_words
from ttastats.answers.rcp.convergence_records import Library, ruleset_of
from ttastats.answers.rcp.convergence_rules import ConvergenceRules
from ttastats.answers.rcp.convergence_sides import (
    BenchmarkReference,
    Entry,
    Unit,
    batch_size_of,
    benchmark_of,
    entry_of,
    reference_at,
)
from ttastats.base import units
from ttastats.base.errors import TtastatsError
from ttastats.outcomes.counted import RESULT
from ttastats.report import fields
from ttastats.report.answer import Report
from ttastats.report.cells import Column, Quantity, Text
from ttastats.report.fields import Field
from ttastats.report.grouping import (
    ENTRY,
    common_title,
    group_notes,
    groups,
    key_row,
    row_keys,
    shown_keys,
    unknown_last,
    with_left_out,
)
from ttastats.stats.convergence import Reference, convergence, passes, stopped_early
from ttastats.stats.decision import side_of
from ttastats.stats.moments import coefficient_of_variation
from ttastats.stats.outcomes import Outcomes
from ttastats.stats.verdict import Verdict

#: Truly faster setups whose chance to pass is told.
_FASTER = (0.05, 0.1)
#: Sides that differ by more than this factor are counted in different units.
_FAR = 20.0
#: Answers of more entries show the numbers behind each verdict only if asked.
FEW = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class RcpOptions:
    """How entries are held against the reference.

    `ruleset` replaces that of each entry's round. `bypass` is the official `--rcp_bypass`.
    `draws` of a whole submission tell the error rates of the check; `seed` is theirs.
    """

    ruleset: str = ""
    confidence: float = 0.95
    bypass: bool = False
    draws: int = 10_000
    seed: int = 1
    verbose: bool = False


def report(
    runs: pl.DataFrame,
    library: Library,
    options: RcpOptions,
    by: Sequence[str] = RESULT,
) -> Report:
    """Give the report of a table of runs, judged by the official targets.

    Raises
    ------
    TtastatsError
        No entry has a reference.
    """
    known = cache(lambda *kind: benchmark_of(library, *kind))
    rates = cache(lambda *point: _rates(options, *point))
    rows = []
    for keys, group in groups(runs, by):
        rows.append(key_row(keys) | _numbers(group, known, rates, options))
    _expect_any(rows)
    rows.sort(key=_place)
    every = options.verbose or len(rows) <= FEW
    details = [rcp_words.details(row, every=every) for row in rows]
    table = fields.table(rows, _fields(rows, by, options), common_title(rows, by), details)
    notes = (*group_notes(runs, by), *rcp_words.notes(rows, options.confidence, every=every))
    report = Report("rcp", tuple(rows), (table,), notes, by=row_keys(by, ENTRY))
    return with_left_out(report, runs, by)


def unanswered(found: Report) -> int:
    """Count the entries that have no reference to be held against."""
    return sum(row["reference_n"] is None for row in found.rows)


def _expect_any(rows: Sequence[Mapping[str, Any]]) -> None:
    if any(row["reference_n"] is not None for row in rows):
        return
    reasons = sorted({str(row["status"]) for row in rows})
    raise TtastatsError(
        f"no entry has a reference: {units.listed(reasons, between='; ')}",
        where="rcp",
        remedy="--ruleset 5.0.0 selects the records of a round, --records FOLDER other records.",
    )


# ------------------------------------------------------------------------------ numbers of an entry


def _numbers(
    group: pl.DataFrame,
    known: Callable[..., BenchmarkReference | str],
    rates: Callable[..., dict[str, float | None]],
    options: RcpOptions,
) -> dict[str, Any]:
    """Give the numbers of one entry; `status` says why some are unknown."""
    reached = int(group.get_column("reached").sum())
    empty = dict.fromkeys(_NAMES) | {
        "confidence": options.confidence,
        "draws": options.draws,
        "seed": options.seed,
        "n": group.height,
        "reached": reached,
        "batch_size": batch_size_of(group),
        "published_factor": _published(group),
        "verdict": "no reference",
    }
    kinds = group.select("suite", "round", "benchmark").unique()
    if kinds.height > 1:
        return empty | {"status": "several benchmarks or rounds in one group"}
    suite, round_, benchmark = kinds.row(0)
    ruleset = options.ruleset or ruleset_of(round_)
    held = known(suite, ruleset, benchmark)
    if isinstance(held, str):
        return empty | {"ruleset": ruleset, "status": held}
    entry = entry_of(group, held)
    found = empty | {
        "ruleset": ruleset,
        "unit": held.unit,
        **_official(entry, held, options),
    }
    found |= _compared(entry, reached, held, options)
    if entry.batch_size is None:
        return found
    return found | rates(held, entry.batch_size, entry.interval)


_NAMES = (
    *("ruleset", "batch_size", "unit", "n", "reached", "entry_mean", "entry_cv"),
    *("reference", "reference_n", "reference_mean", "reference_cv", "reference_records"),
    *("ratio", "low", "high", "confidence", "verdict", "status"),
    *("interval", "reference_interval", "early", "reference_early"),
    *("submission_runs", "reference_fails", "faster_5_passes", "faster_10_passes"),
    *("draws", "seed", "official_verdict", "official_factor", "official_reason", "official_mean"),
    *("official_limit", "official_reference_mean", "official_as_written", "published_factor"),
)


def _published(group: pl.DataFrame) -> float | None:
    """Give the factor of the entry's own `scaling.json`, 1 if there is none."""
    factors = group.get_column("scaling_factor").fill_null(1.0).unique().to_list()
    return float(factors[0]) if len(factors) == 1 else None


# -------------------------------------------------------------------------------- the official word


def _official(entry: Entry, held: BenchmarkReference, options: RcpOptions) -> dict[str, Any]:
    """Give the official verdict of an entry; none in a division that sets rules of its own."""
    if (entry.division or "closed").lower() == "open":
        return {"official_reason": "open division: not checked"}
    if (converged := entry.converged) is None:
        return {"official_reason": f"the runs do not log their {held.unit}"}

    def check(found: ConvergenceRules) -> convergence_rules.ConvergenceVerdict:
        return convergence_rules.check(
            converged,
            entry.n - len(converged),
            entry.batch_size,
            held.points,
            found,
            bypass=options.bypass,
        )

    said = check(held.rules)
    word = "passed by bypass" if said.bypassed else "passed" if said.passed else "failed"
    if said.reason == "too few runs":
        return {"official_reason": f"too few runs: {held.rules.runs} required"}
    written = check(convergence_rules.as_written(held.rules, held.ruleset))
    return {
        "official_verdict": word,
        "official_reason": said.reason,
        "official_factor": said.factor,
        "official_mean": said.mean,
        "official_limit": said.limit,
        "official_reference_mean": said.point.mean if said.point else None,
        "official_as_written": "passed" if written.passed else "failed",
    }


# ------------------------------------------------------------------------------ ratio with interval


def _compared(
    entry: Entry, reached: int, held: BenchmarkReference, options: RcpOptions
) -> dict[str, Any]:
    """Give the ratio of an entry over the reference at its batch size, as far as there is one."""
    if entry.batch_size is None:
        return {"status": "batch size unknown, or several batch sizes"}
    found = reference_at(held, entry.batch_size, entry.interval)
    if isinstance(found, str):
        return {"status": found}
    told = _told(found.reference) | {
        "reference": found.how,
        "reference_records": found.records,
        "interval": entry.interval,
        "verdict": "undecided",
    }
    if entry.outcomes is None:
        untold = f"the runs do not log their {held.unit}"
        status = untold if reached else "no run reached the target"
        return told | {"status": status, "verdict": "unavailable"}
    return told | _ratio(entry.outcomes, found.reference, options)


def _told(reference: Reference) -> dict[str, Any]:
    values, _ = reference.pool()
    return {
        "reference_n": reference.n,
        "reference_mean": reference.mean,
        "reference_cv": coefficient_of_variation(values),
        "reference_interval": reference.interval,
    }


def _ratio(entry: Outcomes, reference: Reference, options: RcpOptions) -> dict[str, Any]:
    found = convergence(entry, reference, confidence=options.confidence)
    solved = entry.times[entry.reached]
    numbers = {
        "entry_mean": found.a.term.estimate if found.a else None,
        "entry_cv": coefficient_of_variation(solved),
        "ratio": found.ratio.estimate,
        "early": stopped_early(solved, reference),
        "reference_early": stopped_early(reference.pool()[0], reference),
    }
    if not 1 / _FAR < (found.ratio.estimate or 0.0) < _FAR:
        unit = "entry and reference use different units"
        return numbers | {"ratio": None, "status": unit, "verdict": "unavailable"}
    limits = found.limits(options.confidence, epochs=True)
    if limits is None or not math.isfinite(limits[1]):
        return numbers | {"status": _no_interval(entry, reference), "verdict": "unavailable"}
    low, high = limits
    verdict = (Verdict.UNDECIDED, Verdict.LATER, Verdict.EARLIER)[side_of(1.0, low, high)].value
    return numbers | {"low": low, "high": high, "verdict": verdict}


def _no_interval(entry: Outcomes, reference: Reference) -> str:
    if entry.n < 2 or reference.n < 2:
        return "2 runs are needed on each side"
    if reference.misfit is not None and reference.misfit[0] is None:
        return "the interpolation error between only two records is unknown"
    return "all runs stopped at the same evaluation, and the evaluation interval is unknown"


# ---------------------------------------------------------------- error rates of the official check


def _rates(
    options: RcpOptions, held: BenchmarkReference, batch_size: int, interval: float | None
) -> dict[str, float | None]:
    """Give how often the reference fails its own check, and truly faster setups pass."""
    point, _ = convergence_rules.reference(batch_size, held.points, held.rules)
    found = reference_at(held, batch_size, interval)
    if point is None or isinstance(found, str):
        return {}

    def share(faster: float) -> float | None:
        return passes(
            found.reference,
            point.limit - held.rules.slack,
            held.rules.runs,
            dropped=held.rules.dropped,
            faster=faster,
            draws=options.draws,
            rng=np.random.default_rng((options.seed, batch_size)),
        )

    same = share(0.0)
    return {
        "submission_runs": held.rules.runs,
        "reference_fails": None if same is None else 1 - same,
        **{f"faster_{faster * 100:.0f}_passes": share(faster) for faster in _FASTER},
    }


# ---------------------------------------------------------------------------------------- the table


def _place(row: Mapping[str, Any]) -> tuple[Any, ...]:
    names = ("suite", "round", "benchmark", "batch_size", "ratio")
    return unknown_last(*map(row.get, names))


def _fields(
    rows: Sequence[Mapping[str, Any]], by: Sequence[str], options: RcpOptions
) -> list[Field]:
    hidden = {"entry"} if {"submitter", "system", "entry"} <= set(by) and _named(rows) else set()
    if len({row.get("division") for row in rows}) == 1:
        hidden.add("division")
    names = [name for name in shown_keys(rows, by) if name not in hidden]
    names.sort(key=lambda name: name not in {"suite", "round", "benchmark"})
    level = f"{options.confidence * 100:g}%"
    return [
        *fields.keys(names),
        fields.words("BS", lambda row: _size(row["batch_size"])),
        fields.reached(),
        Field(Column("entry", "right", rank=2), _amount("entry")),
        Field(Column("reference", "right", rank=2), _amount("reference")),
        Field(
            Column(f"entry/reference [{level}]", "right"),
            lambda row: Quantity(row["ratio"], "ratio", row["low"], row["high"]),
        ),
        Field(Column("converges"), rcp_words.word),
        Field(Column("official"), lambda row: Text(row["official_verdict"] or "–")),
        fields.words("factor", _factor),
    ]


def _named(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Tell whether submitter and system name each entry of a benchmark."""
    keys = ("suite", "round", "division", "submitter", "system", "benchmark")
    names = {tuple(row.get(key) for key in keys) for row in rows}
    return len(names) == len(rows) and all(row.get("submitter") for row in rows)


def _size(batch_size: int | None) -> str:
    return "–" if batch_size is None else f"{batch_size:,}"


def _amount(side: str) -> Callable[[Mapping[str, Any]], Quantity]:
    def cell(row: Mapping[str, Any]) -> Quantity:
        unit: Unit = row["unit"] or "epochs"
        return Quantity(row[f"{side}_mean"], unit, spread=row[f"{side}_cv"])

    return cell


def _factor(row: Mapping[str, Any]) -> str:
    factor = row["official_factor"]
    if factor is None or row["official_verdict"] == "failed":
        return "–"
    return f"{factor:.4f}".removesuffix("0000").removesuffix(".")
