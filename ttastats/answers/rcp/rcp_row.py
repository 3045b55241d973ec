"""What does an entry come to beside the reference, by its ratio and by the official check?"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Annotated, Any

import numpy as np
import polars as pl
from msgspec import Struct, structs

from ttastats.answers.rcp import convergence_rules, convergence_sides
from ttastats.answers.rcp.convergence_rules import Library, ruleset_of
from ttastats.answers.rcp.convergence_sides import BenchmarkReference, Entry, FoundReference, Unit
from ttastats.answers.score import scaling_factor
from ttastats.report.keys import High, LeftOutKeys, Low, ReachedCount, RunCount
from ttastats.report.row import Key, Number, Row
from ttastats.stats.convergence import convergence_ratio, pass_rate, stopped_early
from ttastats.stats.moments import coefficient_of_variation
from ttastats.stats.results import Verdict

#: Sides that differ by more than this factor are counted in different units.
_FAR = 20.0
_WORDS = {True: "passed", False: "failed"}

_Mean = Annotated[Number, Key("mean of what runs needed to the target", "unit")]
_Cv = Annotated[Number, Key("its coefficient of variation", "fraction")]
_Interval = Annotated[Number, Key("distance of two evaluations", "unit")]
_Early = Annotated[
    int | None, Key("runs that stopped an evaluation or more before the reference's median", "runs")
]
_Share = Annotated[Number, Key("share of simulated submissions", "fraction")]


class RcpOptions(Struct, frozen=True, kw_only=True):
    """How entries are held against the reference: the options of `api.rcp`."""

    ruleset: str = ""
    confidence: float = 0.95
    bypass: bool = False
    draws: int = 10_000
    seed: int = 1
    verbose: bool = False


class RcpRow(Row, frozen=True, kw_only=True):
    """An entry beside the reference runs at its batch size; `status` says why some are unknown."""

    ruleset: Annotated[str | None, Key("ruleset of the reference records")] = None
    batch_size: Annotated[int | None, Key("global batch size of all runs", "samples")]
    unit: Annotated[Unit | None, Key("what is counted to the target")] = None
    n: RunCount
    reached: ReachedCount
    entry_mean: _Mean = None
    entry_cv: _Cv = None
    reference: Annotated[str | None, Key("`measured`, `interpolated` or `smallest`")] = None
    reference_n: Annotated[int | None, Key("runs of the reference", "runs")] = None
    reference_mean: _Mean = None
    reference_cv: _Cv = None
    reference_records: Annotated[tuple[str, ...] | None, Key("names of its records")] = None
    ratio: Annotated[Number, Key("mean of the entry over that of the reference", "ratio")] = None
    low: Low = None
    high: High = None
    confidence: Annotated[float, Key("confidence of the interval", "fraction")]
    verdict: Annotated[str, Key("whether the entry converges earlier or later")] = (
        Verdict.NO_REFERENCE.value
    )
    status: Annotated[str | None, Key("why there is no verdict, interval or reference")] = None
    interval: _Interval = None
    reference_interval: _Interval = None
    early: _Early = None
    reference_early: _Early = None
    submission_runs: Annotated[int | None, Key("runs of a submission", "runs")] = None
    reference_fails: _Share = None
    faster_5_passes: _Share = None
    faster_10_passes: _Share = None
    draws: Annotated[int, Key("simulated submissions", "submissions")]
    seed: Annotated[int, Key("seed of the simulation")]
    official_verdict: Annotated[
        str | None, Key("`passed`, `failed` or `passed by bypass` by the official check")
    ] = None
    official_factor: Annotated[Number, Key("factor on the time by the check", "ratio")] = None
    official_reason: Annotated[str | None, Key("reason of the official checker")] = None
    official_mean: Annotated[Number, Key("olympic mean of the entry", "unit")] = None
    official_limit: Annotated[Number, Key("lowest mean that is passed", "unit")] = None
    official_reference_mean: Annotated[
        Number, Key("mean of the reference by the check", "unit")
    ] = None
    official_as_written: Annotated[str | None, Key("verdict by the rules as they are written")] = (
        None
    )
    published_factor: Annotated[Number, Key("factor of `scaling.json`", "ratio")]
    left_out: LeftOutKeys = LeftOutKeys()


def row_maker(
    library: Library, options: RcpOptions
) -> Callable[[dict[str, Any], pl.DataFrame], RcpRow]:
    """Return a function that makes the row of an entry from its keys and runs."""
    known = cache(lambda *kind: convergence_sides.benchmark_of(library, *kind))
    rates = cache(lambda *point: _pass_rates(options, *point))
    reference_at = cache(convergence_sides.reference_at)

    def row_of(keys: dict[str, Any], group: pl.DataFrame) -> RcpRow:
        row = RcpRow(
            keys=keys,
            confidence=options.confidence,
            draws=options.draws,
            seed=options.seed,
            n=group.height,
            reached=int(group.get_column("reached").sum()),
            batch_size=convergence_sides.batch_size_of(group),
            published_factor=scaling_factor(group),
        )
        kinds = [group.get_column(name) for name in ("suite", "round", "benchmark")]
        if any(kind.n_unique() > 1 for kind in kinds):
            return structs.replace(row, status="several benchmarks or rounds in one group")
        suite, round_, benchmark = (kind[0] for kind in kinds)
        ruleset = options.ruleset or ruleset_of(round_)
        held = known(suite, ruleset, benchmark)
        if isinstance(held, str):
            return structs.replace(row, ruleset=ruleset, status=held)
        entry = convergence_sides.entry_of(group, held)
        official = _official_numbers(entry, held, bypass=options.bypass)
        row = structs.replace(row, ruleset=ruleset, unit=held.unit, **official)
        if entry.batch_size is None:
            return structs.replace(row, status="batch size unknown, or several batch sizes")
        match = reference_at(held, entry.batch_size, entry.interval)
        if isinstance(match, str):
            return structs.replace(row, status=match)
        error_rates = rates(held, entry.batch_size, match)
        return structs.replace(row, **_compared_numbers(row, entry, match), **error_rates)

    return row_of


def _official_numbers(entry: Entry, held: BenchmarkReference, *, bypass: bool) -> dict[str, Any]:
    """Return the official verdict; none in divisions with rules of their own."""
    if (entry.division or "closed").lower() == "open":
        return {"official_reason": "open division: not checked"}
    if entry.converged is None:
        return {"official_reason": f"the runs do not log their {held.unit}"}
    failed, size = entry.n - len(entry.converged), entry.batch_size
    verdict, as_written = (
        convergence_rules.check(entry.converged, failed, size, held.points, rules, bypass=bypass)
        for rules in (held.rules, convergence_rules.as_written(held.rules, held.ruleset))
    )
    if verdict.reason == "too few runs":
        return {"official_reason": f"too few runs: {held.rules.runs} required"}
    return {
        "official_verdict": "passed by bypass" if verdict.bypassed else _WORDS[verdict.passed],
        "official_reason": verdict.reason,
        "official_factor": verdict.factor,
        "official_mean": verdict.mean,
        "official_limit": verdict.limit,
        "official_reference_mean": verdict.point.mean if verdict.point else None,
        "official_as_written": _WORDS[as_written.passed],
    }


def _compared_numbers(row: RcpRow, entry: Entry, match: FoundReference) -> dict[str, Any]:
    """Return the ratio of an entry over the reference at its batch size."""
    reference, of = match.reference, match.reference.pool()[0]
    numbers: dict[str, Any] = {
        "reference": match.how,
        "reference_records": match.records,
        "reference_n": reference.n,
        "reference_mean": reference.mean,
        "reference_cv": coefficient_of_variation(of),
        "reference_interval": reference.interval,
        "interval": entry.interval,
        "verdict": Verdict.UNAVAILABLE.value,
    }
    if entry.outcomes is None:
        unlogged = f"the runs do not log their {row.unit}"
        return numbers | {"status": unlogged if row.reached else "no run reached the target"}
    compared = convergence_ratio(entry.outcomes, reference, confidence=row.confidence)
    solved = entry.outcomes.times[entry.outcomes.reached]
    ratio = compared.ratio.estimate or 0.0
    numbers |= {
        "entry_mean": compared.a.term.estimate if compared.a else None,
        "entry_cv": coefficient_of_variation(solved),
        "early": stopped_early(solved, reference),
        "reference_early": stopped_early(of, reference),
    }
    if not 1 / _FAR < ratio < _FAR:
        return numbers | {"status": "entry and reference use different units"}
    numbers["ratio"], limits = ratio, compared.limits(row.confidence, epochs=True)
    if limits is None or not math.isfinite(limits[1]):
        bounded = {"the entry": compared.a, "the reference": compared.b}
        alike = [
            f" of {name}" for name, one in bounded.items() if one and math.isinf(one.epoch_shift)
        ]
        runs = "all runs" if len(alike) > 1 else f"all runs{''.join(alike)}"
        why = f"{runs} stopped at the same evaluation, and the evaluation interval is unknown"
        if any(one is None or one.n < 2 for one in bounded.values()):
            why = "2 runs are needed on each side"
        elif reference.misfit is not None and reference.misfit[0] is None:
            why = "the interpolation error between only two records is unknown"
        return numbers | {"status": why}
    low, high = limits
    verdict = Verdict.EARLIER if high < 1 else Verdict.LATER if low > 1 else Verdict.UNDECIDED
    return numbers | {"low": low, "high": high, "verdict": verdict.value}


def _pass_rates(
    options: RcpOptions, held: BenchmarkReference, batch_size: int, match: FoundReference
) -> dict[str, float | None]:
    """Return how often the reference itself and truly faster setups pass the official check."""
    rules = held.rules
    point, _ = convergence_rules.reference(batch_size, held.points, rules)
    if point is None:
        return {}
    same, faster_5, faster_10 = (
        pass_rate(
            match.reference,
            point.limit - rules.slack,
            rules.runs,
            dropped=rules.dropped,
            faster=faster,
            draws=options.draws,
            rng=np.random.default_rng((options.seed, batch_size)),
        )
        for faster in (0.0, 0.05, 0.1)
    )
    return {
        "submission_runs": rules.runs,
        "reference_fails": None if same is None else 1 - same,
        "faster_5_passes": faster_5,
        "faster_10_passes": faster_10,
    }
